"""Planning without a device: what is recorded is what is priced, the budget chooses the shape, errors show every term."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footprint.backend.null import NullBackend, limits
from footprint.errors import ArgumentError, BackendError, BudgetError, ShapeError
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant, build, fit
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits

CPU, GPU = Limits(threads=2), limits("h100")


def rows_job(b, n, width=1000):
    """n rows in, n rows out, one scratch block and a table."""
    x = b.inp(ArraySpec((n, width)), "x", Given(owner="plan"))
    y = b.out(ArraySpec((n, width)), "y", Given(owner="plan"))
    table = b.const(np.ones(width, "f4"))
    block = b.scratch((n, width))
    with b.deliver(y) as out:
        b.launch("first", b.bring(x), block)
        b.launch("second", block, table, out)


@pytest.fixture(autouse=True)
def kernels_need_nothing(monkeypatch):
    monkeypatch.setattr("footprint.plan.builder.work_specs", lambda limits, kernel, specs, numbers: ())


def variants(total):
    return [Variant("rows", total, rows_job)]


@given(st.integers(1, 400), st.integers(1, 10**7))
def test_budget_is_kept_or_the_error_names_one_that_works(total, budget):
    try:
        plan = fit(CPU, budget, "job", variants(total))
    except BudgetError as error:
        assert sum(error.terms.values()) == error.smallest > budget
        plan = fit(CPU, error.smallest, "job", variants(total))
        assert plan.chunk.size == 1
        return
    assert plan.footprint.total <= budget
    ranges = plan.chunks
    assert ranges[0][0] == 0 and ranges[-1][1] == total
    assert all(a[1] == b[0] for a, b in pairwise(ranges))
    if len(ranges) > 1:
        with pytest.raises(BudgetError):
            fit(CPU, budget, "job", variants(total), size=-(-total // (len(ranges) - 1)))


@pytest.mark.parametrize("device", [CPU, GPU])
@pytest.mark.parametrize("budget", [None, 50_000, 200_000])
def test_null_allocates_what_the_plan_says(device, budget):
    plan = fit(device, budget, "job", variants(37))
    backend = NullBackend()
    with plan.bind(backend) as bound:
        assert backend.allocated == plan.nbytes == plan.footprint.arena + plan.footprint.constant
        assert backend.hosted == plan.footprint.host
        for start, stop in plan.chunks:
            bound(None, out=[None], size=stop - start)
    assert backend.allocated == 0


def test_a_gpu_stages_what_lies_on_the_host_and_the_cpu_does_not():
    cpu, gpu = fit(CPU, None, "job", variants(10)), fit(GPU, None, "job", variants(10))
    assert [s.action for s in cpu.steps] == ["launch", "launch"]
    assert [s.action for s in gpu.steps] == ["copy", "launch", "launch", "copy"]
    assert cpu.footprint.host == 0 and gpu.footprint.host >= 2 * 10 * 4000


@pytest.mark.parametrize(
    ("limits_", "given_", "dtype", "actions"),
    [
        (CPU, Given(), "<f4", ["launch"]),
        (CPU, Given(), ">f4", ["copy", "launch"]),
        (CPU, Given(direct=False), "<f4", ["copy", "launch"]),
        (GPU, Given("device"), "<f4", ["launch"]),
        (GPU, Given(), "<f4", ["copy", "launch"]),
        (GPU, Given(), ">f4", ["copy", "copy", "launch"]),
        (GPU, Given(), "<u2", ["copy", "copy", "launch"]),
    ],
)
def test_bring_copies_only_where_it_must(limits_, given_, dtype, actions):
    def record(b):
        x = b.inp(ArraySpec((4, 5), dtype), "x", given_)
        b.launch("use", b.bring(x, "float32"))

    assert [s.action for s in build(limits_, "job", record).steps] == actions


def test_windows_cover_every_row_and_the_last_may_be_short():
    b = Builder(CPU)
    x = b.scratch((10, 3))
    with b.repeat(4) as outer:
        w = x.window(outer, 3)
        assert [w.at({outer.id: i})[0] for i in range(4)] == [0, 36, 72, 108]
        assert [w.at({outer.id: i})[1].shape for i in range(4)] == [(3, 3), (3, 3), (3, 3), (1, 3)]
        with b.repeat(2) as inner:
            v = w.window(inner, 2)
            assert v.at({outer.id: 3, inner.id: 1})[1].shape == (0, 3)
            assert v.at({outer.id: 1, inner.id: 1})[0] == (3 + 2) * 12
    assert x[2:5].reshape(-1).spec.shape == (9,)
    assert x[-1].at({}) == (9 * 12, ArraySpec((3,)))
    with pytest.raises(ShapeError):
        _ = x.reshape(7, 5).spec


def test_plan_is_hashable_picklable_and_told_apart():
    a, b = fit(CPU, None, "job", variants(10)), fit(CPU, None, "job", variants(10))
    c = fit(CPU, None, "job", variants(11))
    assert a == b and a != c and len({a, b, c}) == 2
    assert pickle.loads(pickle.dumps(a)) == a
    assert fit(replace(CPU, free=1 << 30), None, "job", variants(10)) == fit(replace(CPU, free=1 << 31), None, "job", variants(10))


def test_table_shows_every_term():
    text = str(fit(GPU, 150_000, "job", variants(37)))
    for word in ("arena", "constant", "library", "host", "total", "largest block", "chunk", "other budgets", "null:h100"):
        assert word in text, text


def test_blocks_stay_under_the_largest_allocation():
    small = Limits(max_block=50_000)
    plan = fit(small, None, "job", [Variant("rows", 10, rows_job)])
    assert len(plan.blocks) > 1 and max(plan.blocks) <= 50_000
    cut = fit(small, None, "job", [Variant("rows", 1000, rows_job)])
    assert len(cut.chunks) > 1 and max(cut.blocks) <= 50_000
    with pytest.raises(BudgetError, match="largest block"):
        fit(small, None, "job", [Variant("rows", 1, lambda b, n: rows_job(b, n, width=20_000))])


def test_the_transforms_work_area_stays_under_the_largest_allocation():
    """Two lines of complex numbers a row, in one piece: 16 bytes a sample."""

    def record(b, n):
        rows = b.inp(ArraySpec((n, 1000)), "x", Given(owner="plan"))
        spectrum = b.scratch((n, 501), "complex64")
        b.fft(b.bring(rows), spectrum)
        b.launch("use", spectrum)

    small = Limits("opencl:0", "gpu", False, 128, max_block=100_000, fft="stockham")
    plan = fit(small, None, "job", [Variant("rows", 10, record)])
    assert plan.chunk.size == 5 and 5 * 16_000 <= plan.footprint.library < 100_000
    with pytest.raises(BudgetError, match=r"largest block, needs at least 15\.8 KiB \(FFT work 15\.8 KiB\)"):
        fit(replace(small, max_block=15_000), None, "job", [Variant("rows", 10, record)])


def test_chunk_must_make_sense():
    with pytest.raises(ArgumentError, match="chunk"):
        fit(CPU, None, "job", variants(10), size=0)


@pytest.mark.parametrize("shape", [(-1,), (4, -5), (2.5, 3), ("4", 5)])
def test_shapes_are_whole_numbers_from_0_up(shape):
    with pytest.raises(ShapeError, match=r"shape: got .* wanted whole numbers, 0 or more"):
        ArraySpec(shape)
    assert ArraySpec((np.int64(3), 0)).nbytes == 0


def test_a_table_no_step_reads_takes_nothing():
    def record(b):
        b.const(np.ones(1000), "unused")
        b.launch("use", b.scratch((5,)), b.const(np.ones(3), "used"))

    footprint = build(CPU, "job", record).footprint
    assert (footprint.arena, footprint.constant) == (64, 64)


def test_unknown_profile_is_named():
    with pytest.raises(ArgumentError, match="null:h100"):
        limits("cray")


def test_calling_with_wrong_arrays_names_the_slot():
    def record(b):
        x = b.inp(ArraySpec((4, 5)), "x")
        b.launch("use", x, b.out(ArraySpec((4, 5)), "y"))

    plan = build(CPU, "job", record)
    with plan.bind(NullBackend()) as bound:
        with pytest.raises(ShapeError, match=r"x: got shape \(4, 4\), wanted \(4, 5\)"):
            bound(np.zeros((4, 4)), out=[np.zeros((4, 5))])
        with pytest.raises(ShapeError, match="inputs"):
            bound(out=[np.zeros((4, 5))])
        x, y = np.zeros((4, 5), "f4"), np.zeros((4, 5), "f4")
        with pytest.raises(ShapeError, match="x: got dtype float64, wanted float32"):
            bound(x.astype("f8"), out=[y])
        with pytest.raises(ShapeError, match="x: got dtype >f4, wanted float32"):
            bound(x.astype(">f4"), out=[y])
        with pytest.raises(ShapeError, match="y: got strides"):
            bound(x, out=[np.asfortranarray(y)])
        bound(x, out=[y])
    with pytest.raises(BackendError, match="given back; bind the plan again"):
        bound(x, out=[y])


def test_threads_take_turns_on_a_device(monkeypatch):
    """The backend is one a process, and so is its transforms' work area."""
    backend, inside, met = NullBackend(), [], []

    def launch(kernel, arrays):
        inside.append(kernel)
        time.sleep(0.02)
        met.append(len(inside))
        inside.pop()

    monkeypatch.setattr(backend, "launch", launch)
    with build(CPU, "job", lambda b: b.launch("use", b.scratch((4, 5)))).bind(backend) as bound, ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: bound(), range(6)))
    assert met == [1] * 6


def test_a_loop_of_no_turns_does_nothing():
    def record(b):
        with b.repeat(0):
            b.launch("use", b.out(ArraySpec((4, 5)), "y"))

    backend = NullBackend()
    with build(CPU, "job", record).bind(backend) as bound:
        bound(out=[np.zeros((4, 5), "f4")])
    assert backend.launched == []
