"""The clip's text: exact counts and medians, passes that go on where they stopped, results that repeat to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from footprint.kernels.sigma_clip.contract import rows_per_block
from footprint.reference.sigma_clip import sigma_clip as reference

from .kernels import bound, need_gpu, parts


def image_of(kind, n, rng):
    x = rng.standard_normal(n)
    if kind == "sources":
        x[::97] *= 1000
    elif kind == "offset":
        x += 1e4
    elif kind == "integers":
        x = np.round(3 * x)
    elif kind == "holes":
        x[1::5], x[3::50], x[7::33] = np.nan, np.inf, -np.inf
    elif kind == "constant":
        x[:] = 0.1
    elif kind == "two values":
        x = np.where(x > 0, 5.0, 1.0)
    elif kind == "both zeros":
        x = np.where(np.abs(x) < 2, 0.0, x) * np.where(rng.random(n) < 0.5, -1, 1)
    elif kind == "denormal":
        x *= 1e-42
    elif kind == "counts":
        x = rng.poisson(3, n).astype(float)
    elif kind == "a third zero":
        x[: n // 3] = 0
    elif kind == "skewed":
        x = np.exp(2 * x)
    elif kind == "uneven":
        x[n // 2 :] *= 100
    elif kind == "empty first":
        x[: n // 2] = np.nan
    return x


def clip(backend, x, sigma, maxiters, strict, width=0):
    stats, counts, width = np.full(8, np.nan), np.full(8, -1), width or x.size
    arrays, how = [x.reshape(-1, width), stats, counts], {"sigma": sigma, "maxiters": maxiters, "strict": strict, "zero": False}
    with bound(backend, "sigma_clip", arrays, size=x.size, width=width, turn=0, first=0, **how) as run:
        for turn in range(400):
            run(turn=turn)
            if counts[0]:
                return stats, counts
    raise AssertionError("the clip did not end")


@pytest.mark.short_runs
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "kind", ["normal", "sources", "offset", "integers", "holes", "constant", "two values", "both zeros", "denormal"]
)
def test_equals_a_sort(backend, rng, kind, dtype):
    need_gpu(backend)
    for n in (1, 2, 3, 1000, 20011):
        x = image_of(kind, n, rng).astype(dtype)
        for sigma, maxiters, strict in ((3.0, -1, True), (1.5, 2, False), (2.0, 0, True)):
            wanted = reference(x, sigma, None if maxiters < 0 else maxiters, strict)
            stats, counts = clip(backend, x, sigma, maxiters, strict)
            assert (counts[1], counts[2], stats[1]) == (wanted["count"], wanted["iterations"], wanted["median"]), (n, sigma)
            assert np.allclose(stats[[0, 2, 3, 4]], [wanted[k] for k in ("mean", "std", "low", "high")], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kind", ["sources", "counts", "a third zero", "skewed", "uneven", "empty first"])
def test_what_a_list_has_and_what_it_cannot(backend, rng, kind, dtype):
    """Steps over lists, values that many share, lists made again or given up in mid-run: the clips of a sort."""
    need_gpu(backend)
    x = image_of(kind, 150_011, rng).astype(dtype)
    for sigma, maxiters, strict in ((3.0, -1, True), (2.0, -1, False), (3.0, 1, True), (300.0, -1, True)):
        wanted = reference(x, sigma, None if maxiters < 0 else maxiters, strict)
        stats, counts = clip(backend, x, sigma, maxiters, strict)
        assert (counts[1], counts[2], stats[1]) == (wanted["count"], wanted["iterations"], wanted["median"]), sigma
        assert np.allclose(stats[[0, 2, 3, 4]], [wanted[k] for k in ("mean", "std", "low", "high")], rtol=1e-10, atol=1e-13)


def test_nothing_finite_and_nothing(backend):
    need_gpu(backend)
    for x in (np.full(7, np.nan, np.float32), np.array([np.inf, -np.inf])):
        assert clip(backend, x, 3.0, -1, True)[1][1] == 0


def test_repeats_to_the_last_bit(backend, rng):
    need_gpu(backend)
    x = image_of("sources", 50021, rng).astype(np.float32)
    first, again = clip(backend, x, 3.0, -1, True), clip(backend, x, 3.0, -1, True)
    assert np.array_equal(first[0], again[0]) and np.array_equal(first[1], again[1])


@pytest.mark.parametrize(
    ("kind", "dtype", "width"), [("sources", "f4", 61), ("holes", "f8", 64), ("far", "f4", 4096), ("counts", "f4", 64)]
)
def test_in_parts_of_rows_to_the_bits_of_the_whole(backend, rng, kind, dtype, width):
    """What a work-item has of its batches goes on in the next part, also where that begins within a batch."""
    need_gpu(backend)
    x = image_of(kind, 9 * 4096 // width * width, rng).astype(dtype).reshape(-1, width)
    if kind == "far":
        x += 1e6
        x[0] = np.nan
    numbers = {"size": x.size, "width": width, "sigma": 2.5, "maxiters": -1, "strict": True, "zero": False}
    wanted = clip(backend, x, 2.5, -1, True, width)
    for maxiters in (0, -1):
        std = reference(x, 2.5, maxiters if maxiters == 0 else None)["std"]
        assert np.isclose(clip(backend, x, 2.5, maxiters, True, width)[0][2], std, rtol=1e-9)
    grain = rows_per_block(x.size, width)
    for cuts in ((1,), (1, 2, 5), tuple(sorted(set(rng.integers(1, len(x) // grain, 4).tolist())))):
        stats, counts = np.full(8, np.nan), np.full(8, -1)
        edges = [0, *(c * grain for c in cuts), len(x)]
        with parts(backend, "sigma_clip", [x, stats, counts], edges, **numbers) as run:
            for turn in range(1000):
                run(turn=turn)
                if counts[0]:
                    break
        assert np.array_equal(stats, wanted[0]) and np.array_equal(counts, wanted[1]), cuts


def test_bounds_far_beyond_the_bulk_end_too(backend, rng):
    """Pixels beside such bounds have no fixed-point numbers."""
    need_gpu(backend)
    x = image_of("normal", 200_003, rng).astype(np.float32)
    x[[5, 77, 999]] = 69
    wanted = reference(x, 70.0)
    stats, counts = clip(backend, x, 70.0, -1, True)
    assert (counts[1], counts[2], stats[1]) == (wanted["count"], wanted["iterations"], wanted["median"])
