"""Chains of operations: the bits of the whole at any cut, in any lanes, copies and budgets, on several devices; what stops them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from footprint.errors import BudgetError
from footprint.ops.base import Table
from footprint.ops.pipeline import Pipeline, Stage
from footprint.plan.builder import Builder
from footprint.plan.ledger import LifetimeError
from footprint.plan.plan import finish
from footprint.plan.slots import TURN, Cut, Given, Halo, Place
from footprint.spec import ArraySpec
from tests.plan_cases import LIMITS, SOURCE, THREADS, Case, Counting, cuts_of, scan
from tests.plan_ops import (
    HERE,
    Clipped,
    Difference,
    Flat,
    LessMean,
    MinusLog,
    Shift,
    Smooth,
    chain,
    drawn,
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
        x, out, told = b.inp(rows, "x"), b.out(rows, "out"), b.out(ArraySpec((8, 4), "float64"), "told")
        first = b.like(x, name="first")
        b.launch(HERE + "mix", first, x, salt=1)
        with b.only("end"), b.deliver(told, "float32") as y:
            b.launch(HERE + "mix", y, first, salt=7)
        second, third = b.like(x, name="second"), b.like(x, name="third")
        # What a later step reads, too, keeps the end where it is, behind all of them; what comes after might lie on it.
        b.launch(HERE + "mix", second, first, salt=2)
        b.launch(HERE + "mix", third, second, salt=3)
        b.launch(HERE + "mix", out, third, salt=4)
        return finish(b, "ends")

    x, out, told = np.ones((8, 4), "f4"), np.zeros((8, 4), "f4"), np.zeros((8, 4))
    for check in ("ledger", ""):
        with record().bind(Counting(), check) as bound:
            bound(x, out=[out, told])
        assert (told == 0.25 * 1.25).all()
    with pytest.raises(AssertionError, match=r"first holds one part, but is used in phase 0 and in .* when all parts are through"):
        record((Cut("z", 8, 3),))


@pytest.mark.parametrize("lanes", THREADS)
def test_what_two_steps_read_is_there_for_both(lanes):
    """A graph: what a step might change in place is read again later. Where they want other rows of it, these are not cut."""
    wide, narrow = Smooth(taps(random.Random(1), 3)), Smooth(taps(random.Random(2), 1))
    stages = (
        Stage(narrow, ("input",), ("x",)),
        Stage(MinusLog(), ("x",), ("log",)),
        Stage(wide, ("x",), ("smooth",)),
        Stage(narrow, ("x",), ("sharp",)),
        Stage(Difference(), ("log", "smooth"), ("between",)),
        Stage(Difference(), ("between", "sharp"), ("out",)),
    )
    for order in ((0, 1, 2, 3, 4, 5), (0, 3, 2, 1, 4, 5)):
        image = np.random.default_rng(0).random((2, 17, 4))
        case = Case(Pipeline(tuple(stages[i] for i in order)), [image], [SOURCE], [SOURCE])
        x = narrow.truth(image)
        (whole,) = case.run(case.plan())
        np.testing.assert_allclose(whole, MinusLog().truth(x) - wide.truth(x) - narrow.truth(x), rtol=1e-10, atol=1e-10)
        assert case.op.cut == "ax"
        for cuts in ((Cut("a", 2, 1),), (Cut("x", 4, 3),), (Cut("a", 2, 1), Cut("x", 4, 1))):
            np.testing.assert_array_equal(case.run(case.plan(cuts, lanes, 2))[0], whole)


def test_an_output_that_is_read_with_a_halo_is_not_cut():
    stages = (Stage(MinusLog(), ("input",), ("log",)), Stage(Smooth((1.0, 2.0, 1.0)), ("log",), ("out",)))
    assert Pipeline(stages, ("input",), ("out",)).cut == "azx"
    both = Pipeline(stages, ("input",), ("log", "out"))
    assert both.cut == "ax"


def test_scratch_of_a_part_may_not_cross_phases_unless_it_is_filled_again():
    for copied, again in ((0, 0), (1, 0), (1, 1)):
        b = Builder(LIMITS, (Cut("z", 8, 3),))
        x, out = b.inp(ArraySpec((8, 4), axes="z."), "x"), b.out(ArraySpec((8, 4), axes="z."), "out")
        passed = b.like(x, name="passed")
        for phase in range(2):
            if (copied, again)[phase]:
                b.copy(x, passed)
            elif not phase:
                b.launch(HERE + "mix", passed, x, salt=1)
            b.launch(HERE + "mix", out, passed, salt=1)
            b.next_phase()
        if again:
            assert len(finish(b, "copied twice").phases) == 2
            continue
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


LONG = scan(3, 3, 30, 5)


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
