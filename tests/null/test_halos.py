"""Rows that operations say they need, against those that a result is made of, one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from footprint.ops.base import Table
from footprint.ops.convolve import Correlate
from footprint.ops.flatfield import ShiftSinograms
from footprint.ops.vertical_shift import split_shifts

SHIFTS = st.lists(st.one_of(st.floats(-9, 9), st.integers(-9, 9).map(float)), min_size=1, max_size=5)


@given(SHIFTS, st.integers(1, 30), st.data())
def test_shifts_want_the_rows_they_read_and_no_others(shifts, n, data):
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start + 1, n))
    read = {z + int(edge) for z in range(start, stop) for s in shifts for edge in {np.floor(s), np.ceil(s)}}
    rows = read & set(range(n))
    reach = ShiftSinograms(Table(shifts, np.float64)).halo("z")
    first, last = reach.window(start, stop, n)
    assert rows <= set(range(first, last))
    # The part's own rows come with it, though a shift may need none of them.
    assert first >= min(*read, start) and last <= max(*read, stop - 1) + 1
    assert last - first <= reach.most(stop - start, n)


@given(SHIFTS)
def test_a_shift_is_whole_rows_and_a_rest_from_0_to_1(shifts):
    whole, rest = split_shifts(np.array(shifts), 100, "float64").T
    assert (0 <= rest).all() and (rest <= 1).all()
    np.testing.assert_allclose(whole + rest, shifts, rtol=0, atol=1e-15 * 16)
    assert all(w == np.floor(s) for w, s in zip(whole, shifts))


@given(st.integers(1, 9), st.sampled_from(["same", "full", "valid"]), st.integers(9, 30), st.data())
def test_a_mask_wants_the_rows_under_it_and_no_others(taps, mode, n, data):
    op = Correlate((taps, 1), mode)
    total = op.length(n, taps)
    start = data.draw(st.integers(0, total - 1))
    stop = data.draw(st.integers(start + 1, total))
    first = {"same": -(taps // 2), "full": 1 - taps, "valid": 0}[mode]
    rows = {y + first + k for y in range(start, stop) for k in range(taps)} & set(range(n))
    assert set(range(*op.halo("y").window(start, stop, n))) == rows
