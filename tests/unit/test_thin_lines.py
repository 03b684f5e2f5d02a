"""Which images a processor sums by lines of their columns."""

from __future__ import annotations

from footprint.kernels.convolve.contract import thin_room
from footprint.kernels.convolve.cpu_thin import IMAGE, goes_thin


def test_rows_of_less_than_a_block_go_by_their_columns():
    def thin(columns, itemsize, tall=3):
        return goes_thin((1, tall, 3), (1, 20_000, columns), IMAGE, itemsize)

    assert all(thin(n, 4) for n in (1, 31, 33, 50, 63)) and not any(thin(n, 4) for n in (64, 65, 500))
    assert all(thin(n, 8) for n in (1, 17, 31)) and not any(thin(n, 8) for n in (32, 33, 63))
    assert not goes_thin((1, 3, 3), (1, 40, 30), IMAGE, 4), "too few for a line"
    assert thin_room((1, 9, 9), (1, 400, 50)) == 0 < thin_room((1, 9, 9), (1, 600, 50)), "small budgets have parts of fewer rows"
