"""Memory of results that were let go of: used again by results of that size, never while anybody sees it, and bounded."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import footprint as fp
from footprint.plan import results
from footprint.plan.ready import READY

SHAPE = (1 << 10, 1 << 10)


@pytest.fixture(autouse=True)
def kept():
    fp.clear_cache()
    yield fp.cache_info
    fp.clear_cache()


def asked(times, shape=SHAPE, dtype="f4"):
    return [results.RESULTS.new(shape, dtype) for _ in range(times)]


def test_what_is_let_go_of_is_used_again_by_results_of_that_size(kept):
    """From the second of a size on: one alone may never be followed by another."""
    first = asked(1)[0]
    at = first.ctypes.data
    del first
    assert kept()["results"] == 0
    second = asked(1)[0]
    at = second.ctypes.data
    assert kept()["results"] == 0
    del second
    assert kept()["results"] == 4 << 20
    again = results.RESULTS.new((1 << 9, 1 << 10), "f8")
    assert again.ctypes.data == at and again.dtype == np.float64 and again.shape == (1 << 9, 1 << 10)
    assert again.flags.c_contiguous and again.flags.writeable and kept()["results"] == 0
    assert asked(1, (1 << 10, 1 << 11))[0].ctypes.data != at


HOLDERS = [lambda a: a, lambda a: a[3:5, ::7], lambda a: a.T, lambda a: memoryview(a), lambda a: a.view("u1")]


@pytest.mark.parametrize("held", HOLDERS)
def test_what_anybody_sees_is_not_written_again(held):
    asked(1)
    seen = [held(a) for a in asked(6)]
    numbers = [np.asarray(a).__array_interface__["data"][0] >> 22 for a in seen]
    assert len(set(numbers)) == 6
    for i, a in enumerate(seen):
        np.asarray(a)[...] = i
    for i, a in enumerate(seen):
        assert np.all(np.asarray(a) == i)


def test_calls_give_arrays_that_stay_as_they_are(rng):
    images = [rng.random((1100, 1000), np.float32) for _ in range(7)]
    held = [fp.convolve(image, np.ones((3, 3)), device="cpu") for image in images]
    for image, one in zip(images, held):
        np.testing.assert_array_equal(one, fp.convolve(image, np.ones((3, 3)), out=np.empty_like(image), device="cpu"))
    places = {fp.convolve(images[0], np.ones((3, 3)), device="cpu").ctypes.data for _ in range(5)}
    assert len(places) == 1


def test_no_more_is_kept_than_may_be(kept, monkeypatch):
    asked(1)
    several = asked(9)
    del several
    # Three of a size, whatever was held.
    assert kept()["results"] == 3 * (4 << 20)
    monkeypatch.setenv("FOOTPRINT_KEEP", str(13 << 20))
    wide = (1 << 10, 1 << 11)
    asked(1, wide)
    asked(1, wide)
    assert kept()["results"] <= 13 << 20
    fp.clear_cache()
    assert kept()["results"] == 0
    monkeypatch.setenv("FOOTPRINT_KEEP", "0")
    for _ in range(3):
        asked(1)
    assert kept()["results"] == 0


def test_small_results_are_the_systems():
    assert all(a.flags.owndata for a in asked(3, (1 << 10, 1023)))


def test_a_budget_counts_it_as_free_and_memory_that_is_short_has_it_back(kept):
    asked(1)
    asked(1)
    assert READY.kept("cpu") == kept()["results"] == READY.kept() == 4 << 20 and READY.kept("cuda:0") == 0
    READY.give_up(1, "cuda:0")
    assert kept()["results"] == 4 << 20
    READY.give_up(1, "cpu")
    assert kept()["results"] == 0


def test_threads_have_memory_of_their_own():
    asked(1)
    wrong, start = [], threading.Barrier(4)

    def work(number):
        start.wait()
        for _ in range(200):
            mine = asked(1)[0]
            mine[::97] = number
            if not np.all(mine[::97] == number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
