"""Plain bytes between an array and a ring, piece by piece, by native threads."""

import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from footprint.plan import carry
from footprint.plan.carry import Carry, Cutting, lines
from footprint.spec import ArraySpec


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Pieces of some bytes, as large ones would take a while to compare."""
    for name, value in (("_LEAST", 48), ("_LARGEST", 256), ("_PAGE", 16), ("_ROW", 8)):
        monkeypatch.setattr(carry, name, value)


def crossed(array, window, ring, up, results):
    """A lane's loop: what crosses is a copy between the ring and ``block``."""
    part = array[tuple(slice(*one) for one in window)]
    where = lines(array, window, ArraySpec(part.shape, part.dtype.str))
    if where is None:
        return None
    cut = Cutting.of(ring.nbytes, part.nbytes, where)
    block = np.zeros(part.nbytes, np.uint8) if up else results
    job, sent = Carry(cut, ring, array, where, up), 0
    for number in range(cut.transfers):
        here = slice(*cut.region(number))
        if up:
            job.allow(min(number + cut.places, cut.transfers))
            job.arrive(number)
            block[here] = ring[cut.place(number)]
        else:
            while number - sent >= cut.places:
                job.arrive(sent)
                sent += 1
            ring[cut.place(number)] = block[here]
            job.allow(number + 1)
    job.join()
    assert sum(stop - start for start, stop in map(cut.region, range(cut.transfers))) == part.nbytes
    return block


@given(
    shape=st.tuples(*(st.integers(1, 9),) * 2, st.integers(1, 200)),
    cut=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 200)), min_size=3, max_size=3),
    ring=st.integers(48, 9000),
    dtype=st.sampled_from(["u1", "<f4", "<c16"]),
    up=st.booleans(),
    offset=st.integers(0, 70),
)
@example(shape=(3, 4, 200), cut=[(0, 200)] * 3, ring=2500, dtype="<f4", up=True, offset=1)
@example(shape=(3, 4, 200), cut=[(0, 200)] * 3, ring=2500, dtype="<f4", up=False, offset=7)
# In the largest pieces, which end where pages do.
@example(shape=(9, 9, 200), cut=[(0, 200)] * 3, ring=6000, dtype="<c16", up=True, offset=7)
@example(shape=(9, 9, 200), cut=[(0, 200)] * 3, ring=6000, dtype="<c16", up=False, offset=1)
@settings(max_examples=150)
def test_every_byte_comes_where_it_belongs_and_no_other_is_touched(shape, cut, ring, dtype, up, offset):
    memory = np.random.default_rng(sum(shape)).integers(1, 255, 300_000, np.uint8)
    array = memory[offset * 16 : offset * 16 + np.prod(shape) * np.dtype(dtype).itemsize].view(dtype).reshape(shape)
    window = tuple((min(first, n - 1), min(min(first, n - 1) + rows, n)) for (first, rows), n in zip(cut, shape))
    part = array[tuple(slice(*one) for one in window)]
    before, want = memory.copy(), np.ascontiguousarray(part).view(np.uint8).reshape(-1).copy()
    if up:
        got = crossed(array, window, np.zeros(ring, np.uint8), True, None)
        assert got is None or np.array_equal(got, want)
    elif crossed(array, window, np.zeros(ring, np.uint8), False, want[::-1].copy()) is not None:
        np.testing.assert_array_equal(np.ascontiguousarray(part).view(np.uint8).reshape(-1), want[::-1])
        there = np.zeros(part.shape, dtype)
        there.view(np.uint8).reshape(-1)[:] = want
        part[...] = there
    np.testing.assert_array_equal(memory, before)


def test_what_is_not_plain_bytes_goes_the_other_way():
    array = np.zeros((6, 40, 30), "<f4")
    whole = ((0, 6), (0, 40), (0, 30))
    spec = ArraySpec(array.shape, "<f4")
    assert lines(array, whole, spec) == (array.ctypes.data, array.nbytes, 0)
    assert lines(array, ((2, 4), (3, 9), (0, 30)), ArraySpec((2, 6, 30), "<f4")) == (array[2, 3].ctypes.data, 720, 4800)
    for other in (array[:, :, ::2], array[:, ::2], array[::-1], array.astype(">f4"), array.astype("f8"), array.tolist()):
        shape = np.shape(other)
        assert lines(other, tuple((0, n) for n in shape), ArraySpec(shape, "<f4")) is None
    assert lines(array, ((-1, 3), (0, 40), (0, 30)), ArraySpec((4, 40, 30), "<f4")) is None
    assert lines(array, ((3, 7), (0, 40), (0, 30)), ArraySpec((4, 40, 30), "<f4")) is None


def test_a_job_that_is_stopped_ends():
    array, ring = np.arange(5000, dtype=np.uint8), np.zeros(512, np.uint8)
    where = lines(array, ((0, 5000),), ArraySpec((5000,), "u1"))
    cut = Cutting.of(ring.nbytes, array.nbytes, where)
    job = Carry(cut, ring, array, where, True)
    job.allow(1)
    job.arrive(0)
    job.stop()
    job.join()
    assert cut.transfers > cut.places and np.array_equal(ring[cut.place(0)], array[slice(*cut.region(0))])


def test_more_loads_than_there_is_room_for_and_threads_that_have_left():
    """Every load is copied, by the threads or by who waits for it; threads with nothing to do leave, and come back."""
    crew = carry._UP
    slots = crew.code().SLOTS
    array = np.random.default_rng(0).integers(0, 255, (slots + 6, 700), np.uint8)
    for _ in range(2):
        rings = np.zeros((len(array), 1024), np.uint8)
        jobs = []
        for row, ring in zip(array, rings):
            where = lines(row, ((0, 700),), ArraySpec((700,), "u1"))
            jobs.append(Carry(Cutting.of(ring.nbytes, row.nbytes, where), ring, row, where, True))
        for job in reversed(jobs):
            job.allow(1 << 20)
            job.join()
        np.testing.assert_array_equal(rings[:, :700], array)
        until = time.monotonic() + 60
        while (inside := crew.code().count_in(crew._table, 0)) and time.monotonic() < until:
            time.sleep(0.002)
        assert inside == 0
