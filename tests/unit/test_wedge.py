"""A wedge of directions that was not seen is spoken of: values of what is made by sums over the others are too low."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import footprint as fp
from footprint.io.phantom import projections

CENTER = 31.5


def reconstructed(degrees, **options):
    angles = np.deg2rad(degrees)
    lines = projections(64, np.zeros(1), angles, CENTER) * 0.02
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* has no (flats|darks)")
        scan = fp.open_scan(lines.astype(np.float32), angles=angles)
    with scan, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        volume = fp.reconstruct(scan, center=CENTER, log=False, device="cpu", **options)
    return volume, [str(one.message) for one in said]


@pytest.mark.parametrize("method", ["direct", "fourier"])
def test_a_missing_wedge_is_said_with_what_it_does(method):
    whole, said = reconstructed(np.arange(180.0), method=method)
    assert said == []
    part, said = reconstructed(np.arange(141.0), method=method)
    (words,) = said
    assert words.startswith("39 of 180 degrees of directions were not seen: values are too low, by about 22% on average")
    inside = part[0, 20:44, 20:44].mean() / whole[0, 20:44, 20:44].mean()
    assert inside == pytest.approx(1 - 0.22, abs=0.1)


@pytest.mark.parametrize(
    "degrees",
    [
        np.linspace(0, 180, 61),
        np.linspace(0, 179, 60),
        np.arange(0.0, 360, 2),
        np.array([0.0, 60, 120]),
        np.sort(np.random.default_rng(1).uniform(0, 180, 90)),
    ],
    ids=["both ends", "a step short", "turn", "few", "uneven"],
)
def test_directions_without_a_wedge_are_taken_without_a_word(degrees):
    assert reconstructed(degrees)[1] == []


def test_what_fits_what_was_seen_is_not_warned_of():
    assert reconstructed(np.arange(141.0), method="sirt", iterations=2)[1] == []


@pytest.mark.parametrize(
    ("degrees", "words"),
    [
        (np.zeros(1), "there is one projection: nothing tells where along its rays"),
        (np.full(40, 30.0), "there are 40 projections, all from one direction"),
        (np.array([0.0, 180, 360]), "there are 3 projections, all from one direction"),
        (np.array([1e-9, 180, 179.9999999]), "there are 3 projections, all from one direction"),
    ],
    ids=["one", "equal", "opposite", "about"],
)
def test_one_direction_is_said(degrees, words):
    """Its weight is that of half a turn, and nothing was said of the other directions."""
    (said,) = reconstructed(degrees)[1]
    assert said.startswith(words)
    assert reconstructed(degrees, method="sirt", iterations=1)[1] == []
