"""What ``method="auto"`` takes on a GPU, where one method took an H100, or an H200, at least a fifth less time than the other."""

from __future__ import annotations

import pytest

from footprint.backend.null import PROFILES
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import by_method
from footprint.spec import ArraySpec

# Milliseconds of direct sums and of transforms of tiles, measured.
MEASURED = [
    ((4096, 4096), (9, 9), 0.10, 0.16),
    ((4096, 4096), (31, 1), 0.084, 0.178),
    ((4096, 4096), (2, 101), 0.636, 0.200),
    ((4096, 4096), (101, 2), 1.97, 0.262),
    ((4096, 4096), (3, 64), 0.455, 0.189),
    ((4096, 4096), (64, 3), 1.79, 0.228),
    ((4096, 4096), (401, 5), 6.20, 0.520),
    ((8192, 8192), (101, 1), 0.428, 0.692),
    ((8192, 8192), (401, 1), 1.97, 1.24),
    ((256, 512, 512), (1, 31, 1), 0.261, 1.247),
    ((256, 512, 512), (1, 1, 31), 0.292, 1.007),
    ((256, 512, 512), (1, 101, 1), 4.73, 3.55),
    ((256, 512, 512), (3, 3, 3), 0.776, 1.085),
    ((256, 512, 512), (1, 9, 9), 0.419, 1.018),
    ((256, 512, 512), (15, 3, 3), 2.78, 1.20),
    ((256, 512, 512), (9, 9, 9), 3.63, 1.14),
    ((300, 300), (101, 101), 0.359, 0.086),
    ((1_000_000, 2), (101, 2), 0.53, 3.14),
    ((1_000_000, 8), (101, 5), 1.38, 3.14),
    ((8, 1_000_000), (5, 101), 0.52, 0.85),
    ((2, 1_000_000), (2, 101), 0.18, 0.83),
    ((100_000, 24), (41, 41), 0.30, 0.22),
    ((24, 100_000), (41, 41), 0.28, 0.08),
]


@pytest.mark.parametrize(("shape", "mask", "direct", "tiles"), MEASURED)
def test_the_quicker_method_is_taken(shape, mask, direct, tiles):
    op = Correlate(taps=mask, boundary="reflect")
    assert (by_method("auto", op, ArraySpec(shape), PROFILES["h100"]) is op) == (direct < tiles)
