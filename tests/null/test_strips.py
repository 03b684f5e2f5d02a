"""Strips of sums down and across: on no device more work-items, or more on the chip, than it has."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from footprint.backend.null import PROFILES
from footprint.kernels.separable.gpu import WIDEST, columns_program, strip
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
