"""What parts of a gathered axis need, against every position written out."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import footprint as fp
from footprint.ops.gather import Continued, Scattered

NUMPY = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


@settings(max_examples=400)
@given(st.integers(1, 9), st.integers(0, 40), st.integers(0, 40), st.sampled_from(["constant", *NUMPY]), st.data())
def test_a_continued_line_takes_exactly_what_its_part_shows(n, before, after, border, data):
    total = n + before + after
    start = data.draw(st.integers(0, total))
    stop = data.draw(st.integers(start, total))
    how = {"constant_values": -1} if border == "constant" else {}
    shown = np.pad(np.arange(n), (before, after), NUMPY.get(border, "constant"), **how)[start:stop]
    reach = Continued(before, border)
    low, high = reach.window(start, stop, n)
    assert high - low <= reach.most(stop - start, n)
    if border == "wrap":
        np.testing.assert_array_equal(np.arange(low, high) % n, shown)
        return
    inside = shown[shown >= 0]
    assert 0 <= low <= high <= n
    assert (high - low == 0) if not len(inside) else (low, high) == (inside.min(), inside.max() + 1)


@settings(max_examples=200)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 3600))
# Stretches of four entries: the second part begins within one, and has the first and the last of what lies far apart.
@example([0, 50, 99, *[50] * 57], 18, 55)
def test_a_list_takes_at_least_what_its_part_names(positions, repeats, size):
    listed = np.repeat(np.array(positions), repeats * 3)
    reach = Scattered.of(listed)
    size = min(size, len(listed))
    most = reach.most(size, 100)
    for start in range(0, len(listed), size):
        stop = min(start + size, len(listed))
        low, high = reach.window(start, stop, 100)
        assert low <= listed[start:stop].min() and listed[start:stop].max() < high <= 100
        assert high - low <= most


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=3),
    st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]),
    st.sampled_from([1.0, 1.5, 3.0]),
    st.data(),
)
def test_parts_of_any_size_are_numpys_whole(shape, mode, room, data):
    array = np.arange(np.prod(shape), dtype=">f8").reshape(shape) + 1
    # Of a line more than twice round it, of a volume once: the smallest part is an element.
    most = st.integers(0, (20, 12, 8)[len(shape) - 1])
    width = [data.draw(st.tuples(most, most)) for _ in shape]
    out = np.zeros(np.pad(array, width).shape, ">f8")
    try:
        fp.pad(array, width, mode, out=out, memory=1, device="cpu")
    except fp.BudgetError as error:
        fp.pad(array, width, mode, out=out, memory=int(room * error.smallest), device="cpu")
    np.testing.assert_array_equal(out, np.pad(array, width, mode))
