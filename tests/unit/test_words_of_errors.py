"""Sentences that are put together of parts read as if they were written at once."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp

IMAGE = np.ones((12, 14), np.float32)
SENTENCES = {
    "no data": (
        lambda: fp.find_sources(np.full((4, 5), np.nan, np.float32)),
        "image: got float32 (4, 5) without a finite pixel, wanted at least one.",
    ),
    "axes": (
        lambda: fp.median_filter(IMAGE, 3, axes=(0, 0)),
        "axes: got (0, 0), wanted axes from -2 to 1, each once.",
    ),
    "pairs": (
        lambda: fp.find_sources(
            IMAGE, pairs=True, windowed=True, fit="gaussian", residual=True, deblend=True, header=dict(SKY), device="cpu"
        ),
        "pairs: got it together with windowed, wanted it alone; ",
    ),
    "angles": (
        lambda: fp.project(IMAGE[:12, :12], 0),
        "angles: got 0, wanted radians, or how many there are, 1 or more.",
    ),
    "rows": (
        lambda: fp.steps(tilt={"degrees": 1.0, "rows": -1, "columns": 5}),
        "tilt: got -1 for rows, wanted how many rows the detector has.",
    ),
    "labels": (
        lambda: fp.measure(IMAGE, np.full(IMAGE.shape, 2**40)),
        "wanted numbers that an int32 can hold; renumber them, as `label` does.",
    ),
    "bools": (
        lambda: fp.pad(IMAGE > 0, 1, "linear_ramp"),
        "wanted a mode that makes sense for an array of bools; use edge, reflect or maximum.",
    ),
    "steps": (
        lambda: fp.steps(phase={"delta_beta": 100.0}),
        "phase: got no energy, distance or pixel_size, wanted all that it needs, as in {",
    ),
}
SKY = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 5.0, "CRPIX2": 5.0, "CRVAL1": 10.0, "CRVAL2": -30.0}
SKY |= {"CDELT1": -0.002, "CDELT2": 0.002, "BUNIT": "Jy/beam", "BMAJ": 0.008, "BMIN": 0.008, "BPA": 0.0}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_reads_as_one(name):
    call, words = SENTENCES[name]
    with pytest.raises(fp.ArgumentError) as caught:
        call()
    assert words in str(caught.value), str(caught.value)
