"""What is kept from call to call: bounded, the oldest given up first, shown, given back, and never another result."""

import contextlib
import dataclasses
import gc
import tracemalloc

import numpy as np
import pytest

import footprint as fp
from footprint.backend import cpu
from footprint.backend.cpu import CpuBackend
from footprint.backend.device import parse
from footprint.errors import BackendError
from footprint.ops import job
from footprint.plan import ready
from footprint.plan.bind import BoundPlan
from footprint.plan.fit import build
from footprint.plan.plan import Choice
from footprint.plan.ready import READY, Known, Ready, bind
from footprint.plan.slots import Cut, Given
from footprint.spec import ArraySpec
from tests.plan_cases import LIMITS, Counting

pytestmark = pytest.mark.usefixtures("nothing_kept")


def plan(rows):
    """A plan of so many KiB."""

    def record(b):
        out = b.out(ArraySpec((rows, 256)), "out", Given(owner="source"))
        with b.deliver(out) as y:
            b.launch("tests.plan_kernels:zero", y)

    return build(LIMITS, f"job of {rows}", record)


def test_what_is_kept_is_bounded_and_the_oldest_goes_first(monkeypatch):
    monkeypatch.setenv("FOOTPRINT_KEEP", "2500 KiB")
    store, backend = Ready(), Counting()
    for key in "abc":
        store.put(key, plan(1000).bind(backend))
    assert store.kept() == 2000 << 10 and backend.freed == 1000 << 10
    assert store.take("a") is None and store.take("c") is not None
    assert (store.hits, store.misses, store.kept()) == (1, 1, 1000 << 10)
    store.put("large", plan(2500).bind(backend))
    assert store.take("large") is None and backend.freed == 3500 << 10 and store.kept() == 1000 << 10
    ((name, device, nbytes),) = store.info()["plans"]
    assert (name, device) == ("job of 1000", "cpu") and 1000 << 10 < nbytes < 1050 << 10
    store.clear()
    assert store.kept() == 0 and backend.freed == 4500 << 10


def test_a_plan_whose_memory_is_too_large_to_keep_is_fitted_once(monkeypatch):
    """Again for another budget, and after all was given back; with nothing kept, in every call."""
    fitted, fit = [], job.fit
    monkeypatch.setattr(job, "fit", lambda *known: fitted.append(known) or fit(*known))
    sinogram = np.random.default_rng(0).random((1, 60, 256), np.float32)
    for kept, calls in (("500 KiB", [1, 1, 2, 2, 3]), ("0", [1, 2, 3, 4, 5])):
        monkeypatch.setenv("FOOTPRINT_KEEP", kept)
        fp.clear_cache()
        fitted.clear()
        results, seen = [], []
        for memory in (4_000_000, 4_000_000, 5_000_000, 4_000_000, None):
            if memory is None:
                fp.clear_cache()
            results.append(fp.fbp(sinogram, method="fourier", memory=memory or 4_000_000, device="cpu"))
            seen.append(len(fitted))
        assert seen == calls and fp.cache_info()["plans"] == [] and fp.cache_info()["bytes"] <= 500 << 10
        assert all(np.array_equal(one, results[0]) for one in results)
    fp.clear_cache()


def test_host_memory_outlives_a_plan_that_is_too_large_to_keep(monkeypatch):
    """For the next plan of the same sizes on that device; counted, bounded, and the first to go."""
    monkeypatch.setenv("FOOTPRINT_KEEP", "1000 KiB")
    store, backend = Ready(), Counting()

    def put(host):
        bound = plan(2000).bind(backend)
        bound.host = [np.zeros(nbytes, np.uint8) for nbytes in host]
        kept = list(bound.host)
        store.put("large", bound)
        return kept

    first = put([300 << 10, 64])
    assert store.kept("cpu") == store.kept() == store.info()["pinned"] == (300 << 10) + 64
    assert store.pinned("cpu", (300 << 10,)) == [] and store.pinned("cuda:0", (300 << 10, 64)) == []
    got = store.pinned("cpu", (300 << 10, 64))
    assert [one is two for one, two in zip(got, first, strict=True)] == [True, True] and store.kept() == 0
    put([300 << 10])
    put([200 << 10])
    assert store.kept() == 200 << 10
    put([501 << 10])
    assert store.kept() == 200 << 10
    store.put("small", plan(900).bind(backend))
    assert store.info()["pinned"] == 0 and store.kept() == 900 << 10
    for give_up in (store.clear, store.give_up, lambda: store.give_up(1, "cpu"), store.forget):
        store.clear()
        put([200 << 10])
        give_up()
        assert store.kept() == 0 and store.info()["pinned"] == 0


def test_several_devices_find_their_plans_again(monkeypatch):
    """One that has lost its own gets another; one of another plan is not taken for it."""
    fp.clear_cache()
    image, mask, made, init = np.random.default_rng(3).random((900, 300), np.float32), np.ones((5, 5)), [], BoundPlan.__init__
    monkeypatch.setattr(BoundPlan, "__init__", lambda self, plan, *rest: made.append(plan) or init(self, plan, *rest))
    for turn in range(3):
        got = fp.convolve(image + turn, mask, device=parse("cpu,cpu"), memory="1MB")
        assert len(made) == 2 and made[0].n_parts > 2
        np.testing.assert_array_equal(got, fp.convolve(image + turn, mask, device=parse("cpu")))
        made[:] = made[:2]
    (second,) = [key for key in READY._idle if " " in key]
    made.clear()
    READY._idle[second].plan = plan(3)
    fp.convolve(image, mask, device=parse("cpu,cpu"), memory="1MB")
    assert len(made) == 1 and made[0].n_parts > 2


def test_a_fitted_plan_serves_budgets_it_would_be_chosen_for():
    whole, parts = plan(4), dataclasses.replace(plan(4), cuts=(Cut("y", 8, 4),))
    total = whole.footprint.total
    for one, budget, does in (
        (whole, total, True), (whole, total - 1, False), (whole, None, True), (whole, 2 * total, True),
        (parts, total, True), (parts, total + 1, False), (parts, total - 1, False), (parts, None, False),
    ):  # fmt: skip
        assert ready.Fitted(one, total, 0).does(budget) == does, (one.n_parts, budget)
    assert ready.Fitted(parts, 2 * total, 0).does(total) and not ready.Fitted(parts, 2 * total, 0).does(total - 1)
    chosen = dataclasses.replace(parts, choices=(Choice(8, 1, total),))
    assert ready.Fitted(chosen, 4 * total, 0).does(5 * total) and not ready.Fitted(chosen, 4 * total - 1, 0).does(5 * total)


def test_calls_go_with_their_plans(monkeypatch):
    monkeypatch.setenv("FOOTPRINT_KEEP", "2500 KiB")
    store, backend = Ready(), Counting()
    known = {key: Known(key, "", (((3,), np.dtype("f4")),)) for key in "abc"}
    for key in "abc":
        store.put(key, plan(1000).bind(backend))
        for n in range(3):
            store.remember((key, n), known[key])
    assert [store.recall(("a", n)) for n in range(3)] == [None] * 3 and store.recall(("c", 2)) is known["c"]
    info = store.info()
    assert info["bytes"] == sum(nbytes for *_, nbytes in info["plans"]) + info["calls"] and 1000 < info["calls"] < 5000
    bound = store.take("c")
    assert store.recall(("c", 2)) is known["c"]
    store.remember(("c", 3), known["c"])
    assert store.recall(("c", 3)) is None, "a plan that is not kept may never be"
    store.put("c", bound)
    store.give_up(1, "cpu")
    assert store.recall(("b", 0)) is None and store.recall(("c", 0)) is known["c"], "as many as needed, the oldest first"
    store.clear()
    assert store.recall(("c", 0)) is None and store.info()["bytes"] == store.info()["calls"] == 0


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
    info = fp.cache_info()
    assert info["bytes"] == sum(nbytes for *_, nbytes in info["plans"]) + info["calls"] > info["calls"] > 0
    fp.clear_cache()
    assert fp.cache_info()["bytes"] == 0 and fp.cache_info()["plans"] == []


def test_images_that_come_by_rows_find_their_plan_again(rng):
    """A reader's own bytes beside a block may be other ones every time: then nothing is kept."""
    image, mask, made = rng.random((20, 31), np.float32), rng.random((3, 3)), np.empty((20, 31), np.float32)
    read = lambda start, stop, out: out.__setitem__(..., image[start:stop])
    write = lambda start, stop, block: made.__setitem__(slice(start, stop), block)
    call = lambda **how: fp.convolve_rows(read, image.shape, "f4", mask, write, memory="2 MB", device="cpu", **how)
    fp.clear_cache()
    plan, hits = call(), READY.hits
    image = 2 * image
    assert call() is plan and READY.hits == hits + 1
    np.testing.assert_array_equal(made, fp.convolve(image, mask, device="cpu"))
    call(writing=1000)
    call(reading=lambda n_rows, dtype: 100)
    assert READY.hits == hits + 1


def tables(count: int) -> list:
    """Calls of as many angles, levels, masks and widths as there are numbers, all different."""
    rows, image, noise = np.ones((count, 8), "f4"), np.ones((16, 16), "f4"), np.random.default_rng(0).random((16, 16))
    angles = np.linspace(0, np.pi, count, endpoint=False)
    return [
        lambda n: fp.fbp(rows, angles + 1e-6 * n, method="direct", device="cpu"),
        lambda n: fp.backproject(rows, angles, axis_shifts=angles * n / 1e3, device="cpu"),
        lambda n: fp.ramp_filter(rows, filter=np.full(9, n + 1.0), device="cpu"),
        lambda n: fp.threshold(image, float(n), device="cpu"),
        lambda n: fp.convolve(image, np.ones((3, 3)), cval=float(n), device="cpu"),
        lambda n: fp.pad(image, n % 7, "edge", constant_values=0, device="cpu"),
        lambda n: fp.sigma_clip(image, 1.0 + n, device="cpu"),
        lambda n: fp.find_sources(noise, 5.0 + n, device="cpu"),
        lambda n: fp.median_filter(image, 3, cval=float(n), mode="constant", device="cpu"),
    ]


def taken() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("number", range(9))
def test_all_that_is_kept_is_counted_and_given_back(number):
    """Python's objects among it: plans that are bound to no memory, and what is remembered of calls, are not free."""
    call = tables(5000)[number]
    # What is compiled or imported at the first call of its kind stays.
    for n in range(12):
        call(n)
    fp.clear_cache()
    tracemalloc.start()
    try:
        before = taken()
        for n in range(12):
            call(n), call(n)
        grown, info = taken() - before, fp.cache_info()
        assert len(info["plans"]) >= 7
        assert grown <= info["bytes"]
        fp.clear_cache()
        assert taken() - before < 64 << 10
    finally:
        tracemalloc.stop()


def test_what_is_kept_of_calls_stays_within_the_limit(monkeypatch):
    monkeypatch.setenv("FOOTPRINT_KEEP", "100 kB")
    fp.clear_cache()
    for n in range(40):
        for call in tables(40):
            call(n)
            assert fp.cache_info()["bytes"] <= fp.cache_info()["limit"] == 100_000
    assert fp.cache_info()["plans"]
    monkeypatch.setenv("FOOTPRINT_KEEP", "0")
    fp.clear_cache()
    for _ in range(2):
        for call in tables(40):
            call(1)
            assert fp.cache_info()["bytes"] == 0


@pytest.mark.parametrize("text, nbytes", [("", 512 << 20), ("0", 0), ("1GB", 10**9), ("2 MiB", 2 << 20), ("12345", 12345)])
def test_the_limit_is_a_size(monkeypatch, text, nbytes):
    monkeypatch.setenv("FOOTPRINT_KEEP", text)
    fp.clear_cache()
    assert fp.cache_info()["limit"] == nbytes
    fp.threshold(np.ones(3), 0.5, device="cpu")
    monkeypatch.setenv("FOOTPRINT_KEEP", "17")
    assert fp.cache_info()["limit"] == nbytes, "the one in force"
    fp.clear_cache()
    assert fp.cache_info()["limit"] == 17


@pytest.mark.parametrize("text", ["abc", "-1", "10%", "1e9", "0.5", "GB"])
def test_a_limit_that_is_no_size_is_told_in_one_sentence(monkeypatch, text):
    monkeypatch.setenv("FOOTPRINT_KEEP", text)
    fp.clear_cache()
    for call in (lambda: fp.threshold(np.ones(3), 0.5, device="cpu"), fp.cache_info):
        with pytest.raises(fp.ArgumentError, match=rf"^FOOTPRINT_KEEP: got '{text}', wanted bytes such as .*0 keeps nothing\.$"):
            call()


JOBS = {
    "fbp": lambda: fp.fbp(np.ones((4, 500, 128), "f4"), method="direct", device="cpu"),
    "convolve": lambda: fp.convolve(np.ones((800, 600), ">f4"), np.ones((5, 5)), device="cpu"),
    "stream": lambda: list(fp.stream([np.ones((200, 300), "u2")], mask=np.ones((5, 5)), device="cpu")),
    "frames": lambda: fp.convolve_frames(
        lambda k, out: out.fill(1), (2, 200, 300), "u2", np.ones((5, 5)), lambda k, block: None, device="cpu"
    ),
}


@pytest.mark.parametrize("job", JOBS)
def test_what_is_kept_is_given_up_where_a_plan_needs_it(monkeypatch, job):
    """The CPU hands out pages as they are touched, so it never refuses: what was counted as free must be given up first."""
    fp.clear_cache()
    for n in range(4):
        fp.fbp(np.ones((8, 500, 128), "f4"), center=60.0 + n, method="direct", memory="4MB", device="cpu")
    kept, free = READY.kept(), 1_200_000
    assert kept > free
    monkeypatch.setattr(cpu, "free_host_bytes", lambda: free + kept - READY.kept())
    whole, seen = CpuBackend.alloc, []

    def alloc(backend, nbytes):
        seen.append(nbytes)
        return whole(backend, nbytes)

    monkeypatch.setattr(CpuBackend, "alloc", alloc)
    bound = BoundPlan.__init__

    def init(self, plan, backend, check="", host=()):
        assert plan.footprint.total <= 0.8 * (free + kept - READY.kept())
        seen.append(plan.footprint.total)
        bound(self, plan, backend, check, host)

    monkeypatch.setattr(BoundPlan, "__init__", init)
    JOBS[job]()
    assert max(seen) > 0.8 * free, "a job that needs no more than there is free shows nothing"
    assert 0 < READY.kept() < kept, "no more than needed"
    fp.clear_cache()


def test_results_find_what_is_kept_given_up(monkeypatch):
    image, empty = np.ones((300, 7)), np.empty
    fp.clear_cache()
    fp.convolve(image, np.ones((3, 3)), device="cpu")
    assert READY.kept()

    def short(shape, *rest, **named):
        if shape == (300, 7) and READY.kept():
            raise MemoryError
        return empty(shape, *rest, **named)

    monkeypatch.setattr(np, "empty", short)
    assert fp.convolve(image, np.ones((3, 3)), device="cpu")[1, 1] == 9


@pytest.mark.parametrize("memory", [[1], np.array(5), {}, "x", True, object(), float("nan"), b"1GB", [[]]])
def test_memory_that_is_no_size_is_told_in_one_sentence(memory):
    for _ in range(2):
        with pytest.raises(fp.ArgumentError, match=r"^memory: got "):
            fp.convolve(np.ones((8, 8)), np.ones((3, 3)), memory=memory, device="cpu")


@pytest.mark.parametrize("share, byte", [(1.0, 1), (np.float64(1), np.int32(1)), (1.0, True), ("100%", "1")])
def test_a_byte_is_not_all_there_is(share, byte):
    """1 == 1.0, and the one is a byte, the other all that is free."""
    image, mask = np.ones((40, 30), "u2"), np.ones((3, 3))
    for verb in (
        lambda m: fp.convolve(image, mask, memory=m, device="cpu"),
        lambda m: fp.sigma_clip(image, memory=m, device="cpu"),
    ):
        fp.clear_cache()
        with contextlib.suppress(fp.ShapeError):
            verb(share)
        with pytest.raises((fp.BudgetError, fp.ArgumentError)):
            verb(byte)


def test_a_clip_like_an_earlier_one_goes_by_its_own_options_and_pixels(rng):
    image = rng.standard_normal((20, 30)).astype("f4")
    image[3] += 20
    cases = [{}, {"maxiters": 1}, {"sigma": 2.0}]
    alone = []
    for options in cases:
        fp.clear_cache()
        alone.append(fp.sigma_clip(image, device="cpu", **options))
    assert len({*alone}) == 3
    for _ in range(2):
        assert [fp.sigma_clip(image, device="cpu", **options) for options in cases] == alone
    assert fp.sigma_clip(np.asfortranarray(image), device="cpu") == fp.sigma_clip(image.ravel(), device="cpu") == alone[0]
    with pytest.raises(fp.ShapeError, match="without a finite pixel"):
        fp.sigma_clip(np.full_like(image, np.nan), device="cpu")
    assert fp.sigma_clip(image, device="cpu") == alone[0]
