"""Planning without a device: what is recorded is what is priced, the budget chooses the parts, errors show every term."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footprint.backend.null import NullBackend, limits
from footprint.errors import BudgetError, ShapeError
from footprint.plan.builder import Builder
from footprint.plan.fit import Job, build, fit
from footprint.plan.pack import check_block
from footprint.plan.plan import finish
from footprint.plan.rates import Cost
from footprint.plan.slots import TURN, Cut, Given, Halo, Place
from footprint.spec import ArraySpec, Limits

CPU, GPU = Limits(threads=2), limits("h100")
SOURCE = Given(owner="source")


def rows_job(total, width=1000, given=SOURCE, streamed=False):
    """Rows in, rows out, one scratch block and a table."""

    def record(b):
        spec = ArraySpec((total, width), "float32", "z.")
        x, y = b.inp(spec, "x", given), b.out(spec, "y", given)
        table, block = b.const(np.ones(width, "f4")), b.like(x)
        with b.deliver(y) as out:
            b.launch("first", b.bring(x), block)
            b.launch("second", block, table, out)

    return Job(record, (("z", total, "rows"),), part_bytes=8 * width, cost=Cost(8 * width * total), streamed=streamed)


@pytest.fixture(autouse=True)
def kernels_need_nothing(monkeypatch):
    monkeypatch.setattr("footprint.plan.builder.work_specs", lambda limits, kernel, specs, numbers: ())


@given(st.integers(1, 400), st.integers(1, 10**7), st.booleans(), st.sampled_from([CPU, GPU]))
def test_budget_is_kept_or_the_error_names_one_that_works(total, budget, streamed, device):
    job = rows_job(total, streamed=streamed)
    try:
        plan = fit(device, budget, "job", job)
    except BudgetError as error:
        assert sum(error.terms.values()) == error.smallest > budget
        plan = fit(device, error.smallest, "job", job)
        assert plan.footprint.total == error.smallest
        assert plan.n_parts == total
        return
    assert plan.footprint.total <= budget
    assert plan.chunks[0][0] == 0 and plan.chunks[-1][1] == (total if plan.cuts else 1)
    assert all(a[1] == b[0] for a, b in pairwise(plan.chunks))
    assert not plan.cuts or [part[0] for part in plan.parts()] == plan.chunks


def test_where_nothing_overlaps_the_largest_part_that_fits_is_taken():
    for budget in (40_000, 100_000, 333_000):
        plan = fit(CPU, budget, "job", rows_job(100))
        fewer = -(-100 // (plan.n_parts - 1))
        builder = Builder(CPU, (Cut("z", 100, fewer),))
        rows_job(100).record(builder)
        assert finish(builder, "job").footprint.total > budget >= plan.footprint.total


@pytest.mark.parametrize("device", [CPU, GPU])
@pytest.mark.parametrize("budget", [None, 50_000, 200_000, 600_000])
@pytest.mark.parametrize("streamed", [False, True])
def test_null_allocates_what_the_plan_says(device, budget, streamed):
    try:
        plan = fit(device, budget, "job", rows_job(37, streamed=streamed))
    except BudgetError:
        assert device is GPU and budget == 50_000
        return
    backend = NullBackend("h100" if device is GPU else "")
    with plan.bind(backend) as bound:
        assert backend.allocated == plan.nbytes == plan.footprint.arena + plan.footprint.constant == sum(plan.blocks)
        assert backend.hosted == plan.footprint.host == plan.host_nbytes
        assert plan.footprint.constant == (4096 if device is GPU else 4032)
        # On a host the table that it is copied from is the plan's own, too.
        tables = 0 if device is GPU else sum(table.nbytes for table in plan.constants.values())
        assert plan.footprint.library == tables
        assert bound.nbytes == plan.footprint.total == plan.nbytes + plan.host_nbytes + tables
    assert backend.allocated == 0


def test_a_gpu_stages_what_lies_on_the_host_and_the_cpu_does_not():
    cpu, gpu = fit(CPU, None, "job", rows_job(1000, given=Given())), fit(GPU, None, "job", rows_job(1000, given=Given()))
    assert [s.action for s in cpu.steps] == ["launch", "launch"]
    assert [(s.action, s.lane) for s in gpu.steps] == [
        ("fill", "read"),
        ("launch", "compute"),
        ("launch", "compute"),
        ("take", "write"),
    ]
    assert cpu.footprint.host == 0 < gpu.footprint.host


@pytest.mark.parametrize(
    ("limits_", "given_", "dtype", "actions"),
    [
        (CPU, Given(), "<f4", ["launch"]),
        (CPU, Given(), ">f4", ["fill", "launch"]),
        (CPU, Given(direct=False), "<f4", ["fill", "launch"]),
        (CPU, SOURCE, "<f4", ["fill", "launch"]),
        (GPU, Given("device"), "<f4", ["launch"]),
        (GPU, Given("device"), "<f8", ["copy", "launch"]),
        (GPU, Given(), "<f4", ["fill", "launch"]),
        (GPU, Given(), ">f4", ["fill", "launch"]),
        (GPU, Given(), "<u2", ["fill", "copy", "launch"]),
    ],
)
def test_bring_copies_only_where_it_must(limits_, given_, dtype, actions):
    def record(b):
        x = b.inp(ArraySpec((400, 500), dtype), "x", given_)
        b.launch("use", b.bring(x, "float32"))

    assert [s.action for s in build(limits_, "job", record).steps] == actions


def test_what_crosses_a_bus_is_the_smaller_dtype():
    def record(b):
        x, y = b.inp(ArraySpec((400, 500), "<u2"), "x"), b.out(ArraySpec((400, 500), "<f8"), "y")
        with b.deliver(y, "float32") as out:
            b.launch("use", b.bring(x, "float32"), out)

    plan = build(GPU, "job", record)
    assert [s.refs[1].spec.dtype for s in plan.steps if s.action == "fill"] == ["<u2"]
    assert [s.refs[0].spec.dtype for s in plan.steps if s.action == "take"] == ["<f4"]


def test_only_rows_of_the_first_axis_are_read_where_they_lie():
    """Of any other axis a part of the caller's array is not contiguous; nor is one that wraps."""
    for axes, shape, halo, where in (
        ("z.", (8, 4), Halo(), []),
        (".z", (4, 8), Halo(), ["fill"]),
        ("z.", (8, 4), Halo(1, 1, True), ["fill"]),
    ):
        b = Builder(CPU, (Cut("z", 8, 3),))
        b.bring(b.inp(ArraySpec(shape, axes=axes), "x", reach={"z": halo}))
        assert [step.action for step in b.steps] == where


def test_windows_cover_every_row_and_the_last_may_be_short():
    b = Builder(CPU)
    x = b.scratch((10, 3))
    with b.repeat(4) as outer:
        w = x.window(outer, 3)
        assert [w.at({outer.id: i}, None)[0] for i in range(4)] == [0, 36, 72, 108]
        assert [w.at({outer.id: i}, None)[1].shape for i in range(4)] == [(3, 3), (3, 3), (3, 3), (1, 3)]
        with b.repeat(2) as inner:
            v = w.window(inner, 2)
            assert v.at({outer.id: 3, inner.id: 1}, None)[1].shape == (0, 3)
            assert v.at({outer.id: 1, inner.id: 1}, None)[0] == (3 + 2) * 12
        assert x.row(outer).at({outer.id: 2}, None) == (2 * 12, ArraySpec((3,)))
    assert x[2:5].reshape(-1).spec.shape == (9,)
    assert x[-1].at({}, None) == (9 * 12, ArraySpec((3,)))
    assert b.scratch((7, 3)).like_rows(x[2:5]).spec.shape == (3, 3)
    with pytest.raises(ShapeError):
        _ = x.reshape(7, 5).spec


def test_places_are_numbers_of_a_part():
    b = Builder(CPU, (Cut("z", 10, 4),))
    x = b.inp(ArraySpec((10, 3), axes="z."), "x", reach={"z": Halo(2, 1)})
    y = b.out(ArraySpec((10, 3), axes="z."), "y")
    rows = {(0, "z"): 2, (1, "z"): 4, (-1, ""): 7}
    place = b.first(y, "z") - b.first(x, "z") + 10
    assert isinstance(place, Place) and place.value(lambda slot, axis: rows[slot, axis]) == 4 - 2 + 10
    assert ((b.first(y, "z") + 1) - (b.first(x, "z") - 2)).value(lambda slot, axis: rows[slot, axis]) == 4 - 2 + 3
    assert (-place).value(lambda slot, axis: rows[slot, axis]) == -12
    assert (TURN + 1).value(lambda slot, axis: rows[slot, axis]) == 8
    assert b.first(x, "q") == 0
    assert [x.slot.window(b.cuts, (b.cuts[0].range(i),))[0] for i in range(3)] == [(0, 5), (2, 9), (6, 10)]
    assert x.usual == (7, 3) and y.usual == (4, 3)


@pytest.mark.parametrize(("total", "size"), [(10, 3), (10, 10), (1, 1), (7, 20)])
def test_cuts_make_up_the_whole(total, size):
    cut = Cut("z", total, size)
    spans = [cut.range(i) for i in range(cut.count)]
    assert spans[0][0] == 0 and spans[-1][1] == total and all(a[1] == b[0] for a, b in pairwise(spans))
    assert all(0 < stop - start <= size for start, stop in spans)


# -- what tells plans apart ------------------------------------------------------------------------------------------------
def test_plan_is_hashable_picklable_and_told_apart():
    a, b = fit(CPU, None, "job", rows_job(10)), fit(CPU, None, "job", rows_job(10))
    c = fit(CPU, None, "job", rows_job(11))
    assert a == b and a != c and len({a, b, c}) == 2
    assert pickle.loads(pickle.dumps(a)) == a
    assert fit(replace(CPU, free=1 << 30), None, "job", rows_job(10)) == fit(replace(CPU, free=1 << 31), None, "job", rows_job(10))


def one(
    number=1.5,
    table=2.0,
    name="job",
    cuts=(),
    lanes=(("read", "compute", "write"),),
    copies=1,
    dtype="<f4",
    limits_=CPU,
    kernel="use",
):
    b = Builder(limits_, cuts)
    x, y = b.inp(ArraySpec((8, 4), axes="z."), "x", SOURCE), b.out(ArraySpec((8, 4), dtype, "z."), "y")
    with b.deliver(y) as out:
        b.launch(kernel, b.bring(x), b.const(np.full(3, table, "f4")), out, number=number)
    return finish(b, name, lanes, copies)


@pytest.mark.parametrize(
    "other",
    [
        {"number": 1.25},
        {"number": "1.5"},
        {"number": (1.5,)},
        {"table": 3.0},
        {"name": "other"},
        {"kernel": "other"},
        {"cuts": (Cut("z", 8, 4),)},
        {"dtype": "<f8"},
        {"lanes": (("read",), ("compute", "write"))},
        {"lanes": (("read",), ("compute", "write")), "copies": 2},
        {"limits_": replace(CPU, threads=3)},
    ],
)
def test_whatever_decides_the_run_tells_plans_apart(other):
    assert one() == one() and hash(one()) == hash(one())
    assert one().key != one(**other).key and one() != one(**other)


def test_a_key_is_the_same_in_every_process():
    """Also of plans with sources, whose functions have addresses of their own."""
    code = (
        "import numpy as np; from footprint.plan.builder import Builder; from footprint.plan.plan import finish;"
        "from footprint.plan.slots import Cut, Given, Halo; from footprint.spec import ArraySpec, Limits;"
        "b = Builder(Limits(threads=2), (Cut('z', 8, 3),));"
        "b.bring(b.inp(ArraySpec((8, 4), '>f4', 'z.'), 'x', Given(owner='source', beside=lambda spec: 5), {'z': Halo(1, 2)}));"
        "b.const(np.arange(4)); print(finish(b, 'job').key)"
    )
    here = Path(__file__).parents[2]
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here).stdout for _ in range(2)
    ]
    assert runs[0] == runs[1] and len(runs[0]) == 65


# -- memory ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [(10, 30, 20), (30, 20, 10), (10, 20, 30)])
def test_of_libraries_of_one_name_the_largest_counts(order):
    """They do not run at once; those of other names may."""

    def record(b):
        for nbytes in order:
            b.library("reader", nbytes)
        b.library("writer", 7)

    plan = build(CPU, "job", record)
    assert plan.footprint.library == 37
    assert {one.name: one.nbytes for one in plan.libraries} == {"reader": 30, "writer": 7}


def test_what_a_source_takes_beside_a_block_is_counted_for_the_largest_part():
    asked = []

    def beside(spec):
        asked.append(spec.shape)
        return 2 * spec.nbytes

    b = Builder(CPU, (Cut("z", 8, 3),))
    b.bring(b.inp(ArraySpec((8, 4), axes="z."), "x", Given(owner="source", beside=beside), {"z": Halo(1, 0)}))
    assert finish(b, "job").footprint.library == 2 * 4 * 4 * 4 and asked == [(4, 4)]


def test_table_shows_every_term():
    text = str(fit(GPU, 700_000, "job", rows_job(370)))
    for word in ("arena", "constant", "library", "host", "total", "largest block", "null:h100"):
        assert word in text, text


def test_blocks_stay_under_the_largest_allocation():
    small = Limits(max_block=50_000)
    plan = fit(small, None, "job", rows_job(10))
    assert len(plan.blocks) > 1 and max(plan.blocks) <= 50_000
    cut = fit(small, None, "job", rows_job(1000))
    assert len(cut.chunks) > 1 and max(cut.blocks) <= 50_000
    with pytest.raises(BudgetError, match="largest block"):
        fit(small, None, "job", rows_job(1, width=20_000))
    check_block("x", 10, 10)
    with pytest.raises(BudgetError):
        check_block("x", 11, 10)


def test_the_transforms_work_area_stays_under_the_largest_allocation():
    """Two lines of complex numbers a row, in one piece: 16 bytes a sample."""

    def record(b):
        rows = b.inp(ArraySpec((10, 1000), axes="z."), "x", SOURCE)
        spectrum = b.like(rows, "complex64", shape=(rows.usual[0], 501), axes="z.")
        b.fft(b.bring(rows), spectrum)
        b.launch("use", spectrum)

    job = Job(record, (("z", 10, "rows"),))
    small = Limits("opencl:0", "gpu", False, 128, max_block=100_000, fft="stockham")
    plan = fit(small, None, "job", job)
    assert plan.chunk.size == 5 and 5 * 16_000 <= plan.footprint.library < 100_000
    with pytest.raises(BudgetError, match=r"largest block, needs at least 15.8 KiB \(FFT work 15.8 KiB\)"):
        fit(replace(small, max_block=15_000), None, "job", job)


def test_a_table_no_step_reads_takes_nothing():
    def record(b):
        b.const(np.ones(1000), "unused")
        b.launch("use", b.scratch((5,)), b.const(np.ones(3), "used"))

    footprint = build(CPU, "job", record).footprint
    assert (footprint.arena, footprint.constant) == (64, 64)


def test_equal_tables_of_several_plans_are_one():
    """A job is recorded many times until it fits, and a command keeps the plan that it has shown beside the one that it runs."""
    plans = [build(CPU, "job", lambda b: b.launch("use", b.const(np.ones(300)), b.const(np.ones((3, 100))))) for _ in "ab"]
    (one, other), again = (list(plan.constants.values()) for plan in plans)
    assert again[0] is one and again[1] is other is not one


def test_copies_are_paid_for_what_crosses_threads_only():
    lanes = (("read",), ("compute",), ("write",))
    sizes = []
    for copies in (1, 2, 3):
        b = Builder(CPU, (Cut("z", 100, 10),))
        rows_job(100).record(b)
        sizes.append(finish(b, "job", lanes, copies).nbytes)
    assert sizes == [4032 + 40_000 * (2 * copies + 1) for copies in (1, 2, 3)]


@pytest.mark.parametrize("late", ["", "x", "table"])
def test_one_part_goes_straight_through_phases_and_their_ends(late):
    """But for passes, and for what ends a phase before steps were recorded that touch the same."""

    def record(b):
        x = b.bring(b.inp(ArraySpec((8, 4), axes="z."), "x", SOURCE))
        flag, table = b.kept((1,), "uint8", "flag"), b.gathered((3,), "float32", "table")
        b.launch("gather", x, table)
        with b.only("end"):
            b.launch("settle", table)
        if late:
            b.launch("more", {"x": x, "table": table}[late])
        b.next_phase()
        b.launch("pass", x, flag)
        b.until(flag)
        b.next_phase()
        b.launch("paint", x, table)
        b.next_phase()
        b.launch("last", x, table)

    b = Builder(CPU)
    record(b)
    found = [(step.kernel, step.phase, step.when) for step in finish(b, "straight").steps if step.action == "launch"]
    more = [("more", 0, "part")] if late else []
    settled = ("settle", 0, "end" if late == "table" else "part")
    want = [("gather", 0, "part"), settled, *more, ("pass", 1, "part"), ("paint", 2, "part"), ("last", 2, "part")]
    assert found == want
