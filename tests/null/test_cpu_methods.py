"""What ``method="auto"`` takes on a processor, where one method took a core of an EPYC at least 1.8 times as long as the other."""

from __future__ import annotations

import pytest

from footprint.backend.cpu import limits
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import by_method
from footprint.ops.separated import quicker
from footprint.spec import ArraySpec

# Milliseconds of direct sums and of transforms of tiles, measured: processor time, the least of five.
MEASURED = [
    ((2_000_000,), (31,), "f4", 1.25, 2.50),
    ((2_000_000,), (151,), "f4", 5.36, 2.52),
    ((2_000_000,), (151,), "f8", 11.0, 4.92),
    ((1024, 1024), (2, 101), "f4", 6.06, 2.68),
    ((1024, 1024), (3, 48), "f4", 3.75, 1.99),
    ((1024, 1024), (64, 3), "f4", 5.78, 2.22),
    ((1024, 1024), (5, 31), "f4", 3.92, 2.03),
    ((1024, 1024), (12, 12), "f4", 3.33, 1.76),
    ((1024, 1024), (13, 13), "f8", 7.59, 3.55),
    ((1024, 1024), (5, 5), "f4", 0.64, 1.53),
    ((200, 200), (15, 15), "f4", 0.32, 0.15),
    ((100_000, 20), (9, 9), "f4", 8.47, 16.6),
    ((100_000, 20), (101, 3), "f4", 25.6, 73.1),
    ((64, 128, 128), (3, 3, 3), "f4", 3.64, 7.01),
    ((64, 128, 128), (1, 3, 3), "f4", 1.77, 5.55),
    ((64, 128, 128), (3, 9, 1), "f4", 1.67, 3.38),
    ((64, 128, 128), (101, 1, 1), "f4", 3.11, 15.0),
    ((64, 128, 128), (15, 1, 3), "f4", 11.4, 5.78),
    ((64, 128, 128), (5, 1, 31), "f4", 13.8, 6.22),
    ((64, 128, 128), (9, 1, 9), "f4", 10.9, 5.68),
    ((64, 128, 128), (3, 31, 3), "f4", 19.3, 9.90),
    ((64, 128, 128), (7, 7, 7), "f4", 18.9, 7.42),
    ((64, 128, 128), (7, 7, 7), "f8", 28.4, 15.0),
    ((100, 200, 200), (5, 5, 5), "f4", 32.5, 16.9),
    ((100, 200, 200), (15, 3, 3), "f4", 55.7, 17.7),
]


@pytest.mark.parametrize(("shape", "mask", "dtype", "direct", "tiles"), MEASURED)
def test_the_quicker_method_is_taken(shape, mask, dtype, direct, tiles):
    op = Correlate(taps=mask, boundary="reflect")
    assert (by_method("auto", op, ArraySpec(shape, dtype), limits()) is op) == (direct < tiles)


@pytest.mark.parametrize(
    ("size", "dtype", "other", "product"),
    [(9, "f4", 1.88, 0.76), (9, "f8", 3.71, 1.39), (11, "f8", 5.41, 1.70), (15, "f4", 1.93, 1.12), (15, "f8", 3.72, 2.10)],
)
def test_one_product_is_taken_where_it_is_quicker_than_both(size, dtype, other, product):
    """Milliseconds of the quicker one of both, and of the two sums of a product."""
    image, op, cpu = ArraySpec((1024, 1024), dtype), Correlate(taps=(size, size), boundary="reflect"), limits()
    assert (quicker(op, by_method("auto", op, image, cpu), image, cpu) is not None) == (product < other)
