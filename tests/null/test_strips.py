"""Strips of sums down and across: on no device more work-items, or more on the chip, than it has."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from footprint.backend.null import PROFILES
from footprint.kernels.convolve.gpu import convolve_program
from footprint.kernels.separable.columns import columns_program
from footprint.kernels.separable.gpu import WIDEST, strip
from footprint.spec import ArraySpec

H100 = PROFILES["h100"]
SMALL = dataclasses.replace(H100, device="null:small", local_mem=48 << 10, group=256)


@pytest.mark.parametrize("limits", [H100, SMALL], ids=lambda limits: limits.device)
def test_they_fit_every_device(limits):
    for stored, kind in (("f4", "f4"), ("u1", "f4"), ("u2", "f4"), ("u2", "f8"), ("f8", "f8")):
        most = 256 // np.dtype(kind).itemsize
        for taps in (2, 9, 17, 25, 31, 33, 64, 88, 161, 176):
            alone = (0,) if taps * np.dtype(kind).itemsize <= WIDEST else ()
            for width in (1, 40, 512, 8192):
                for tall in (*alone, *((taps,) if taps <= most else ())):
                    t = strip(limits, ArraySpec((1, width, width), stored), np.dtype(kind), tall, taps, -(taps // 2), width)
                    chip = t.local + 8 * t.places
                    assert 32 <= t.items <= limits.group and t.results > 0 and chip <= limits.local_mem, (stored, taps, width, tall)


def test_sums_down_fit_too():
    image = ArraySpec((4000, 3000), "f4")
    for taps in (3, 33, 81, 161, 640):
        for launch in columns_program(SMALL, image, ArraySpec((taps,), "f4"), image, -(taps // 2), "reflect", 0.0).launches:
            listed = 8 * int(dict(launch.defines)["PLACES"])
            assert launch.group[0] <= SMALL.group and launch.local + listed <= SMALL.local_mem


def test_masks_of_one_column_go_down_columns_where_they_have_many_weights():
    def text(taps: int, width: int, kind: str = "f4", stored: str = "f4") -> set[str]:
        image, mask, out = ArraySpec((500, width), stored), ArraySpec((taps, 1), kind), ArraySpec((500, width), kind)
        how = {"y0": -(taps // 2), "x0": 0, "border_y": "reflect", "border_x": "reflect", "cval": 0.0}
        return {launch.source for launch in convolve_program(H100, image, mask, out, **how).launches}

    assert text(26, 3) == text(101, 500) == text(640, 500, stored="u2") == text(64, 300, "f8", "f8") == {"column.knl"}
    assert "column.knl" not in text(25, 500) | text(63, 300, "f8", "f8") | text(641, 500)
