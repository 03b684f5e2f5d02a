"""Chains of operations: the bits of the whole at any cut, in any lanes, copies and budgets, on several devices; what stops them."""

from __future__ import annotations

import random
import signal
import threading
import time

import numpy as np
import pytest

from footprint.backend.registry import open_backend
from footprint.errors import BudgetError
from footprint.flow.builder import Builder
from footprint.flow.done import DoneSet
from footprint.flow.drive import Job, drive
from footprint.flow.ledger import LifetimeError
from footprint.flow.lifetime import OVERLAPPED, SERIAL
from footprint.flow.plan import finish
from footprint.flow.slots import TURN, Cut, Given, Halo, Place
from footprint.ops.base import Table
from footprint.ops.pipeline import Pipeline
from footprint.spec import ArraySpec
from tests.flow_ops import (
    HERE,
    LIMITS,
    SOURCE,
    THREADS,
    Case,
    Clipped,
    Counting,
    Failing,
    Flat,
    Gather,
    LessMean,
    MinusLog,
    Nap,
    Shift,
    Sink,
    Sinograms,
    Smooth,
    Source,
    chain,
    cuts_of,
    drawn,
    scan,
    taps,
    truth,
)


def case_of(seed: int) -> tuple[random.Random, list, list[np.ndarray], Case]:
    r = random.Random(seed)
    n_a, n_z, n_x = r.randint(1, 6), r.randint(1, 14), r.randint(2, 8)
    arrays = scan(seed, n_a, n_z, n_x, r.choice(["<u2", ">u2", "<f8"]))
    ops = drawn(r, n_a)
    givens = [r.choice([SOURCE, Given(direct=a.dtype.isnative)]) for a in arrays]
    return r, ops, arrays, Case(chain(ops), arrays, givens, [r.choice([SOURCE, Given()])], r.choice(["<f8", "<f8", "<f4"]))


@pytest.mark.parametrize("block", range(8))
def test_chains(block):
    cut_along = set()
    for seed in range(block * 20, (block + 1) * 20):
        r, ops, arrays, case = case_of(seed)
        (whole,) = case.run(case.plan())
        wanted = truth(ops, *arrays)
        close = 1e-11 if whole.dtype == np.float64 else 1e-6
        np.testing.assert_allclose(whole, wanted, rtol=close, atol=close * max(np.abs(wanted).max(), 1), err_msg=f"seed {seed}")
        for check in ("ledger", "ledger", ""):
            cuts, lanes, copies = cuts_of(r, case), r.choice(THREADS), r.randint(1, 3)
            cut_along |= {cut.axis for cut in cuts if cut.count > 1}
            (got,) = case.run(case.plan(cuts, lanes, copies), check)
            np.testing.assert_array_equal(got, whole, err_msg=f"seed {seed}: {cuts}, {lanes}, {copies} copies")
    assert cut_along == set("azx")


@pytest.mark.parametrize("block", range(3))
def test_budgets(block):
    """Whatever a budget chooses gives the bits of the whole within it; the least that would do is named and does."""
    for seed in range(500 + block * 10, 510 + block * 10):
        r, _, _, case = case_of(seed)
        whole = case.run(case.plan())
        with pytest.raises(BudgetError) as refused:
            case.fit(0)
        least, most = refused.value.smallest, case.plan().footprint.total
        for budget in (least, r.randint(least, max(most, least)), None):
            plan = case.fit(budget)
            assert budget is None or plan.footprint.total <= budget
            np.testing.assert_array_equal(case.run(plan)[0], whole[0], err_msg=f"seed {seed}, budget {budget}")
        if least > 1:
            with pytest.raises(BudgetError):
                case.fit(least - 1)


def test_rows_that_wrap_come_from_the_other_end():
    """Only the first step may want them: a later one would want what was made of both ends' rows."""
    for seed in range(40):
        r = random.Random(seed)
        x = np.random.default_rng(seed).random((r.randint(1, 3), r.randint(1, 12), r.randint(2, 6)))
        ops = [Smooth(taps(r, r.randint(1, 3)), True)]
        ops += [r.choice([MinusLog(), LessMean(), Smooth(taps(r, 1)), Smooth(taps(r, 1), True)]) for _ in range(r.randint(0, 2))]
        late = any(isinstance(op, Smooth) and op.wrap for op in ops[1:])
        case = Case(chain(ops), [x], [r.choice([SOURCE, Given()])])
        assert ("z" in case.op.cut) == (not late)
        (whole,) = case.run(case.plan())
        np.testing.assert_allclose(whole, truth(ops, x), rtol=1e-11, atol=1e-12)
        for size in (1, 2, 5):
            cuts = (Cut("z", x.shape[1], size),) if not late else (Cut("x", x.shape[2], size),)
            np.testing.assert_array_equal(case.run(case.plan(cuts, r.choice(THREADS), 2))[0], whole)


@pytest.mark.parametrize("lanes", THREADS)
def test_passes_until_a_flag_and_then_a_phase(lanes):
    """Clipping in passes over parts: the state of the whole, bit for bit, at any cut and depth, filled or in place."""
    for seed in range(12):
        r = random.Random(seed)
        x = np.abs(np.random.default_rng(seed).normal(100, 5, (r.randint(2, 6), 12, 9)))
        x[0, ::7, ::5] += 300
        wanted, turns = Clipped().truth(x)
        case = Case(Clipped(), [x], [r.choice([SOURCE, Given()])], [r.choice([SOURCE, Given()]), r.choice([SOURCE, Given()])])
        whole, state = case.run(case.plan())
        np.testing.assert_allclose(whole, wanted, rtol=1e-10)
        assert state[0] == turns + 1 > 2
        for size, copies in ((1, 1), (2, 2), (5, 3)):
            got, again = case.run(case.plan((Cut("a", len(x), size),), lanes, copies))
            assert np.array_equal(got, whole) and np.array_equal(again, state)


def test_a_flag_that_is_never_set_ends_with_an_error():
    b = Builder(LIMITS)
    flag, out = b.kept((1,), "uint8", "flag"), b.out(ArraySpec((3,)), "out")
    b.launch(HERE + "zero", out)
    b.launch(HERE + "count", flag, turn=TURN, last=5)
    b.until(flag, most=5)
    with finish(b, "endless").bind(Counting(), "ledger") as bound, pytest.raises(RuntimeError, match="endless is not done after 5"):
        bound(out=[np.zeros(3, "f4")])


# -- the record and its places ---------------------------------------------------------------------------------------------
def test_halos_add_up_and_a_fraction_counts_as_a_row():
    ops = [Smooth(taps(random.Random(1), 2)), Shift(Table([0.25, -1.5])), Smooth(taps(random.Random(2), 1))]
    line = Pipeline.chain(ops)
    assert line.halo("z") == Halo(2 + 2 + 1, 2 + 1 + 1)
    assert line.halo("a") == Halo() and line.cut == "azx"
    assert Pipeline.chain([*ops, LessMean()]).cut == "zx"


def test_what_ends_a_phase_runs_after_steps_recorded_later():
    """A slot that the end of a phase reads must not lie under one of a later step; where the job is cut it must be kept."""

    def record(cuts=()):
        b = Builder(LIMITS, cuts)
        rows = ArraySpec((8, 4), axes="z.")
        x, out, told = b.inp(rows, "x"), b.out(rows, "out"), b.out(ArraySpec((8, 4)), "told")
        first = b.like(x, name="first")
        b.launch(HERE + "mix", first, x, salt=1)
        with b.only("end"), b.deliver(told, "float32") as y:
            b.launch(HERE + "mix", y, first, salt=7)
        second, third = b.like(x, name="second"), b.like(x, name="third")
        b.launch(HERE + "mix", second, x, salt=2)
        b.launch(HERE + "mix", third, second, salt=3)
        b.launch(HERE + "mix", out, third, salt=4)
        return finish(b, "ends")

    x, out, told = np.ones((8, 4), "f4"), np.zeros((8, 4), "f4"), np.zeros((8, 4), "f4")
    for check in ("ledger", ""):
        with record().bind(Counting(), check) as bound:
            bound(x, out=[out, told])
        assert (told == 0.25 * 1.25).all()
    with pytest.raises(AssertionError, match=r"first holds one part, but is used in phase 0 and in .* when all parts are through"):
        record((Cut("z", 8, 3),))


def test_scratch_of_a_part_may_not_cross_phases():
    b = Builder(LIMITS, (Cut("z", 8, 3),))
    x, out = b.inp(ArraySpec((8, 4), axes="z."), "x"), b.out(ArraySpec((8, 4), axes="z."), "out")
    passed = b.like(x, name="passed")
    b.launch(HERE + "mix", passed, x, salt=1)
    b.next_phase()
    b.launch(HERE + "mix", out, passed, salt=1)
    with pytest.raises(AssertionError, match="passed holds one part, but is used in phase 0 and in phase 1"):
        finish(b, "crosses")


def test_a_table_is_cut_along_its_first_axis_and_not_round_an_end():
    b = Builder(LIMITS, (Cut("z", 8, 3),))
    wraps = b.inp(ArraySpec((8, 4), axes="z."), "x", reach={"z": Halo(1, 1, True)})
    plain = b.inp(ArraySpec((8, 4), axes="z."), "y")
    with pytest.raises(AssertionError, match="table t is seen in place"):
        b.const(np.ones((8, 4)), "t", axes="z.", of=wraps)
    with pytest.raises(AssertionError, match="table t is seen in place"):
        b.const(np.ones((4, 8)), "t", axes=".z", of=plain)
    wide = b.inp(ArraySpec((8, 4), axes="z."), "w", reach={"z": Halo(1, 1)})
    one, two, three = (b.const(np.ones((8, 4)), "t", axes="z.", of=ref) for ref in (plain, wide, plain))
    assert one.slot is three.slot is not two.slot


def floor(self, axis):
    moves = np.asarray(self.moves)
    return Halo(int(max(-moves.min(), 0)), int(max(moves.max(), 0))) if axis == "z" else Halo()


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (Shift, "halo", floor),
        (Shift, "halo", lambda self, axis: Halo()),
        (Halo, "then", lambda self, other: Halo(max(self.lo, other.lo), max(self.hi, other.hi))),
        (Halo, "then", lambda self, other: Halo(self.lo + other.hi, self.hi + other.lo)),
        (Smooth, "in_place", True),
        (Place, "__neg__", lambda self: self),
        (LessMean, "cut", "azx"),
    ],
    ids=[
        "floor for ceil",
        "none",
        "the largest, not the sum",
        "the wrong way round",
        "in place with one",
        "of places",
        "not whole",
    ],
)
def test_a_wrong_halo_is_caught(monkeypatch, owner, name, wrong):
    """These tests can fail: each fault gives other bits, or is refused, when the job is cut."""
    moves = Table([0.5, -2.25, 1.75])
    ops = [Flat(), Smooth((0.2, 0.5, 0.1)), Shift(moves), Smooth((0.1, 0.6, 0.3)), LessMean(), Smooth((0.1, 0.6, 0.3))]
    (whole,) = Case(chain(ops), LONG).run(Case(chain(ops), LONG).plan())
    monkeypatch.setattr(owner, name, wrong)
    case = Case(chain(ops), LONG)
    cuts = {"azx": (Cut("a", 3, 1),), True: (Cut("x", 5, 2),)}.get(wrong, (Cut("z", 30, 7),))
    try:
        (got,) = case.run(case.plan(cuts))
    except (LifetimeError, IndexError, ValueError):
        return
    assert not np.array_equal(got, whole)


# -- lanes -----------------------------------------------------------------------------------------------------------------
def naps(parts=6, nap=0.05):
    x = np.random.default_rng(0).random((1, parts, 4))
    return x, Case(Nap(seconds=nap), [x], [SOURCE], [SOURCE]), (Cut("z", parts, 1),)


def timed(case, plan, nap):
    backend, (inputs, outputs, results) = Counting(), case.faces()
    inputs[0].before = outputs[0].before = lambda: time.sleep(nap)
    with plan.bind(backend, "ledger") as bound:
        start = time.perf_counter()
        bound(*inputs, out=outputs)
        return time.perf_counter() - start, results[0]


def test_lanes_overlap():
    """Six parts of three lanes that each sleep .05 s: .9 s one after the other; with two copies .4 at best."""
    x, case, cuts = naps()
    serial, same = timed(case, case.plan(cuts, SERIAL), 0.05)
    lanes, also = timed(case, case.plan(cuts, OVERLAPPED, 2), 0.05)
    assert np.array_equal(same, x) and np.array_equal(also, x)
    assert serial >= 0.9 and lanes < 0.75 * serial


def test_two_devices_share_the_parts():
    x, case, cuts = naps(nap=0.1)
    plan = case.plan(cuts, SERIAL)
    for count in (1, 2, 3):
        bounds = [plan.bind(Counting(), "ledger") for _ in range(count)]
        inputs, outputs, results = case.faces()
        start = time.perf_counter()
        drive(bounds, bounds[0].feeds(inputs, outputs))
        took = time.perf_counter() - start
        assert np.array_equal(results[0], x) and (outputs[0].times == 1).all()
        assert (took >= 0.6) if count == 1 else (took < 0.55)


@pytest.mark.parametrize("seed", range(600, 612))
def test_chains_on_several_devices(seed):
    r, _, _, case = case_of(seed)
    whole = case.run(case.plan())
    plan = case.plan(cuts_of(r, case), r.choice(THREADS), r.randint(1, 3))
    bounds = [plan.bind(Counting(), "ledger") for _ in range(3)]
    inputs, outputs, results = case.faces()
    drive(bounds, bounds[0].feeds(inputs, outputs))
    np.testing.assert_array_equal(results[0], whole[0])


def test_what_is_kept_stays_on_one_device():
    x = np.ones((4, 3, 2))
    case = Case(Clipped(), [x])
    plan = case.plan((Cut("a", 4, 1),))
    bounds = [plan.bind(Counting()) for _ in range(2)]
    inputs, outputs, _ = case.faces()
    with pytest.raises(AssertionError, match="keeps results from part to part: one device"):
        drive(bounds, bounds[0].feeds(inputs, outputs))


# -- errors ----------------------------------------------------------------------------------------------------------------
LONG = scan(3, 3, 30, 5)


@pytest.mark.parametrize("lanes", THREADS)
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("where", ["source", "kernel", "sink"])
def test_an_error_in_any_lane_ends_everything_and_is_raised_once(lanes, copies, where):
    ops = [Flat(), Smooth(taps(random.Random(0), 1)), *([Failing(12)] if where == "kernel" else [])]
    case = Case(chain(ops), LONG, [SOURCE] * 3, [SOURCE])
    plan, backend, before = case.plan((Cut("z", 30, 2),), lanes, copies), Counting(), threading.active_count()
    inputs, outputs, _ = case.faces(die=6 if where == "sink" else -1)
    inputs[0].die = 6 if where == "source" else -1
    kind, words = {"source": (OSError, "torn"), "kernel": (IndexError, "row"), "sink": (OSError, "no space")}[where]
    with plan.bind(backend, "ledger") as bound, pytest.raises(kind, match=words):
        bound(*inputs, out=outputs)
    assert threading.active_count() == before
    assert backend.freed == plan.nbytes
    assert outputs[0].calls < 15 and inputs[0].calls < 15


def test_the_first_error_is_the_one_that_is_raised():
    """The others follow from it."""
    _, case, cuts = naps(parts=8)
    plan = case.plan(cuts, OVERLAPPED, 3)
    inputs, outputs, _ = case.faces(die=2)
    inputs[0].before = lambda: time.sleep(0.3) if inputs[0].calls == 6 else None
    inputs[0].die = 6
    with plan.bind(Counting()) as bound, pytest.raises(OSError, match="no space"):
        bound(*inputs, out=outputs)


def test_an_error_while_parts_become_durable(tmp_path):
    case = Case(chain([Flat()]), LONG, [SOURCE] * 3, [SOURCE])
    inputs, outputs, _ = case.faces()
    outputs[0].flush = lambda: (_ for _ in ()).throw(OSError("the disk is gone"))
    with case.plan((Cut("z", 30, 2),), OVERLAPPED, 2).bind(Counting()) as bound, pytest.raises(OSError, match="the disk is gone"):
        bound(*inputs, out=outputs, done=DoneSet(tmp_path / "done"))
    assert not DoneSet(tmp_path / "done").covers(0, 2)


@pytest.mark.parametrize("lanes", [SERIAL, OVERLAPPED])
def test_ctrl_c_ends_every_thread(lanes):
    _, case, cuts = naps(parts=100)
    plan, backend, before = case.plan(cuts, lanes, 2), Counting(), threading.active_count()
    inputs, outputs, _ = case.faces()
    outputs[0].before = lambda: signal.raise_signal(signal.SIGINT) if outputs[0].calls == 3 else None
    with plan.bind(backend) as bound, pytest.raises(KeyboardInterrupt):
        bound(*inputs, out=outputs)
    assert threading.active_count() == before and backend.freed == plan.nbytes
    assert outputs[0].calls < 20


def test_a_run_that_failed_can_be_followed_by_one_that_does_not(device):
    """On a device copies and transfers may be on their way when a lane fails: nobody touches the arrays afterwards."""
    backend = open_backend(device)
    x = np.random.default_rng(0).random((64, 1000)).astype("f4")

    def plan():
        b = Builder(backend.limits, (Cut("z", 64, 4),), 64 << 10)
        spec = ArraySpec(x.shape, "float32", "z.")
        src, out = b.inp(spec, "x", SOURCE), b.out(spec, "out", SOURCE)
        with b.deliver(out) as y:
            b.copy(b.bring(src), y)
        return finish(b, "copy", OVERLAPPED, 2)

    with plan().bind(backend, "ledger") as bound:
        for fails in ({"die": 7}, {}):
            result = np.zeros_like(x)
            with pytest.raises(OSError) if fails else threading.Lock():
                bound(Source(x), out=[Sink(result, **fails)])
            assert np.array_equal(result, x) == (not fails)


# -- going on where it was -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lanes", THREADS)
@pytest.mark.parametrize("tiles", [False, True])
def test_a_job_that_was_stopped_goes_on_with_another_budget(tmp_path, lanes, tiles):
    case = Case(chain([Flat(), Smooth(taps(random.Random(0), 2)), MinusLog()]), LONG, [SOURCE] * 3, [SOURCE])
    (whole,) = case.run(case.plan())
    path = tmp_path / "done"

    def cuts(size):
        return (Cut("z", 30, size), *([Cut("x", 5, 2)] if tiles else []))

    inputs, outputs, results = case.faces(die=8 if tiles else 4)
    with case.plan(cuts(5), lanes, 2).bind(Counting(), "ledger") as bound, pytest.raises(OSError, match="no space"):
        bound(*inputs, out=outputs, done=DoneSet(path))
    with open(path, "a") as file:
        file.write("25 3")  # Torn: the machine stopped while it was written.
    left, told = DoneSet(path), []
    assert path.read_text().endswith("\n")
    assert left.covers(0, 5) and left.covers(0, 10) and not left.covers(25, 30) and not left.covers(0, 20)
    again = Sink(results[0])
    inputs, _, _ = case.faces()
    with case.plan(cuts(3), lanes, 1).bind(Counting(), "ledger") as bound:
        bound(*inputs, out=[again], done=left, progress=lambda rows, total: told.append((rows, total)))
    np.testing.assert_array_equal(results[0], whole)
    assert not again.times[:, :9].any() and (again.times[:, 15:] == 1).all() and again.flushed
    assert told[-1] == (30, 30) and [rows for rows, _ in told] == sorted(rows for rows, _ in told)
    assert DoneSet(path).covers(0, 30)
    inputs, outputs, _ = case.faces()
    with case.plan(cuts(4), lanes, 1).bind(Counting(), "ledger") as bound:
        bound(*inputs, out=outputs, done=DoneSet(path))
    assert not outputs[0].calls and not inputs[0].calls


def test_rows_are_done_when_their_last_tile_is(tmp_path):
    """On two devices tiles of the same rows end in any order."""
    case = Case(chain([Flat()]), LONG, [SOURCE] * 3, [SOURCE])
    plan = case.plan((Cut("z", 30, 15), Cut("x", 5, 1)))
    job = Job(plan, 0, 0, {slot.id: Sink(np.zeros(slot.spec.shape)) for slot in plan.outputs}, None, DoneSet(tmp_path / "done"))
    with plan.bind(Counting()) as bound:
        groups = [job.next() for _ in range(10)]
        for group in (*groups[5:], *groups[1:5]):
            assert not DoneSet(tmp_path / "done").covers(0, 15)
            job.finished(bound, group)
        assert DoneSet(tmp_path / "done").covers(15, 30) and not DoneSet(tmp_path / "done").covers(0, 30)
        job.finished(bound, groups[0])
    assert DoneSet(tmp_path / "done").covers(0, 30)


def test_a_sum_counts_all_its_parts_as_progress():
    lines = np.random.default_rng(1).random((2, 6, 4))
    case, told = Case(Gather(Table(np.linspace(0, 3, 6))), [lines], [SOURCE], [SOURCE]), []
    inputs, outputs, _ = case.faces()
    with case.plan((Cut("a", 6, 2, sums=True),)).bind(Counting(), "ledger") as bound:
        bound(*inputs, out=outputs, progress=lambda rows, total: told.append((rows, total)))
    assert told == [(6, 6)]


def test_the_whole_of_sinograms_is_their_transposition():
    x = np.arange(24.0).reshape(2, 3, 4)
    case = Case(Sinograms(), [x])
    assert np.array_equal(case.run(case.plan((Cut("a", 2, 1),)))[0], x.transpose(1, 0, 2))
