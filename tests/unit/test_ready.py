"""What is kept from call to call: bounded, the oldest given up first, shown, given back, and never another result."""

import numpy as np
import pytest

import footprint as fp
from footprint.errors import BackendError
from footprint.plan import ready
from footprint.plan.fit import build
from footprint.plan.ready import READY, Ready, bind
from footprint.plan.slots import Given
from footprint.spec import ArraySpec
from tests.plan_cases import LIMITS, Counting


def plan(rows):
    """A plan of so many KiB."""

    def record(b):
        out = b.out(ArraySpec((rows, 256)), "out", Given(owner="source"))
        with b.deliver(out) as y:
            b.launch("tests.plan_kernels:zero", y)

    return build(LIMITS, f"job of {rows}", record)


def test_what_is_kept_is_bounded_and_the_oldest_goes_first(monkeypatch):
    monkeypatch.setenv("FOOTPRINT_KEEP", str(10 << 10))
    store, backend = Ready(), Counting()
    for key, rows in (("a", 4), ("b", 4), ("c", 4)):
        store.put(key, plan(rows).bind(backend))
    assert store.kept() == 8 << 10 and backend.freed == 4 << 10
    assert store.take("a") is None and store.take("c") is not None
    assert (store.hits, store.misses, store.kept()) == (1, 1, 4 << 10)
    store.put("large", plan(11).bind(backend))
    assert store.take("large") is None and backend.freed == 15 << 10 and store.kept() == 4 << 10
    assert store.rows() == [("job of 4", "cpu", 4 << 10)]
    store.clear()
    assert store.kept() == 0 and backend.freed == 19 << 10


def test_what_is_kept_is_given_up_before_an_allocation_fails(monkeypatch):
    store, backend = Ready(), Counting()
    monkeypatch.setattr(ready, "READY", store)
    store.put("a", plan(4).bind(backend))
    full = backend.alloc

    def alloc(nbytes):
        if store.kept():
            raise BackendError("cpu", "the device is full")
        return full(nbytes)

    monkeypatch.setattr(backend, "alloc", alloc)
    bind(plan(8), backend, "").free()
    assert store.kept() == 0 and backend.freed == 12 << 10
    monkeypatch.setattr(backend, "alloc", lambda nbytes: (_ for _ in ()).throw(BackendError("cpu", "the device is full")))
    with pytest.raises(BackendError, match="full"):
        bind(plan(8), backend, "")


def test_drawn_calls_in_any_order_give_what_they_give_alone(rng):
    """Other shapes, masks, borders, levels and dtypes between calls of the same kind."""
    images = [rng.random(shape).astype(dtype) for shape in ((20, 31), (20, 30)) for dtype in ("f4", "f8")]
    masks = [rng.random((3, 3)), rng.random((3, 3)), rng.random((5, 1))]
    calls = [
        *(
            lambda i=i, m=m, b=b: fp.convolve(i, m, boundary=b, device="cpu")
            for i in images
            for m in masks
            for b in ("reflect", "wrap")
        ),
        *(lambda i=i, n=n: fp.threshold(i, n, device="cpu") for i in images for n in (0.2, 0.7)),
        *(lambda i=i, n=n: fp.pad(i, n, "edge", device="cpu") for i in images for n in (1, 4)),
    ]
    alone = []
    for call in calls:
        fp.clear_cache()
        alone.append(call())
    fp.clear_cache()
    order = [int(k) for k in rng.integers(0, len(calls), 3 * len(calls))]
    before = READY.hits
    for k in order:
        np.testing.assert_array_equal(calls[k](), alone[k])
    assert READY.hits > before
    assert fp.cache_info()["bytes"] == sum(nbytes for *_, nbytes in fp.cache_info()["plans"]) > 0
    fp.clear_cache()
    assert fp.cache_info()["bytes"] == 0 and fp.cache_info()["plans"] == []
