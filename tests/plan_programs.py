"""Random programs for the poison test: loops in loops, windows written first, filled, kept and held slots, passes, phases."""

from __future__ import annotations

import random

import numpy as np

from footprint.plan.builder import Builder
from footprint.plan.lifetime import SERIAL, Lanes
from footprint.plan.plan import Plan, finish
from footprint.plan.slots import TURN, Cut, Given, Ref
from footprint.spec import ArraySpec
from tests.plan_cases import LIMITS, THREADS, Counting, Sink, Source, apart
from tests.plan_ops import HERE


class RandomProgram:
    """Steps work row by row, so any cut must give the bits of the whole; ``cut`` leaves out what only a whole job may do."""

    def __init__(self, seed: int, cuts: tuple[Cut, ...] = (), cut: bool = True) -> None:
        self.r = random.Random(seed)
        self.rows, self.width, self.angles = self.r.randint(1, 9), self.r.randint(1, 9), self.r.randint(1, 4)
        self.summed = self.r.random() < 0.3
        self.cut, self.salt = cut, 0
        self.b = Builder(LIMITS, cuts)

    def given(self) -> Given:
        return Given(owner="source") if self.r.random() < 0.5 else Given()

    # -- steps ---------------------------------------------------------------------------------------------------------
    def mix(self, out: Ref, *sources: Ref) -> Ref:
        self.salt += 1
        self.b.launch(HERE + "mix", out, *sources, salt=self.salt)
        return out

    def step(self, known: list[Ref]) -> Ref:
        return self.mix(self.b.like(known[0], name=f"s{self.salt}"), *self.some(known))

    def some(self, known: list[Ref], most: int = 3) -> list[Ref]:
        return self.r.sample(known, min(len(known), self.r.randint(1, most)))

    def rows_of(self, known: list[Ref]) -> Ref:
        return self.r.choice([ref for ref in known if len(ref.usual) > 1])

    def windowed(self, known: list[Ref]) -> Ref:
        """A slot whose first touch is a window in a loop, and another that lives within a turn."""
        b, size = self.b, self.r.randint(1, self.rows)
        out = b.like(known[0], name=f"w{self.salt}")
        with b.repeat(known[0], size) as loop:
            window = out.window(loop, size)
            block = b.scratch((size, self.width), name=f"t{self.salt}").like_rows(window)
            for target in (block, window):
                self.mix(target, *(ref.window(loop, size) if len(ref.usual) > 1 else ref for ref in self.some(known)))
            b.launch(HERE + "add", window, block)
        return out

    def repeated(self, known: list[Ref], depth: int) -> list[Ref]:
        """An accumulator carried round a loop, and what is left of its last turn."""
        total = self.step(known)
        with self.b.repeat(self.r.randint(1, 3)) as loop:
            inner = self.block(known, depth - 1)
            self.b.launch(HERE + "add", total, self.rows_of(inner))
            if not self.cut:
                size = self.r.randint(1, self.rows)
                self.b.launch(HERE + "add", total.window(loop, size), self.rows_of(inner).window(loop, size))
        return [total, self.rows_of(inner)] if self.r.random() < 0.3 else [total]

    def block(self, known: list[Ref], depth: int) -> list[Ref]:
        known = list(known)
        for _ in range(self.r.randint(1, 4)):
            kind = self.r.random()
            if depth and kind < 0.35:
                known += self.repeated(known, depth)
            elif kind < 0.55:
                known.append(self.windowed(known))
            else:
                known.append(self.step(known))
        return known

    # -- programs ------------------------------------------------------------------------------------------------------
    def finish(self, lanes: Lanes = SERIAL, copies: int = 1) -> Plan:
        (self.sum if self.summed else self.phases)()
        return finish(self.b, "random", lanes, copies)

    def inputs(self) -> list[Ref]:
        b, r, spec = self.b, self.r, ArraySpec((self.rows, self.width), r_dtype(self.r), "z.")
        first = b.inp(spec, "x", self.given())
        side = b.side(first, ArraySpec((self.rows, self.width), "float32", "z."), "side", self.given())
        row = b.inp(ArraySpec((self.width,), "float32"), "row", self.given())
        return [first, side, row] if r.random() < 0.7 else [first]

    def phases(self) -> None:
        b, r = self.b, self.r
        spec = ArraySpec((self.rows, self.width), "float32", "z.")
        ins = self.inputs()
        out, told = (
            b.out(ArraySpec(spec.shape, r_dtype(r), "z."), "y", self.given()),
            b.out(ArraySpec((self.width,)), "told", self.given()),
        )
        late = r.random() < 0.5
        known = [b.bring(ref, "float32") for ref in (ins[:1] if late else ins)]
        known += [b.const(np.full((self.rows, self.width), 0.5, "f4"), "table", axes="z.", of=ins[0])]
        known = self.block(known, 2)
        # Filled when others have lived and died.
        known = self.block(known + [b.bring(ref, "float32") for ref in ins[1:]], 1)
        state = b.kept((self.width,), "float32", "state")
        b.launch(HERE + "tally", state, self.rows_of(known))
        if r.random() < 0.4:
            flag = b.kept((1,), "uint8", "flag")
            with b.only("end"):
                b.launch(HERE + "count", flag, turn=TURN, last=r.randint(0, 3))
            b.until(flag)
        if r.random() < 0.6:
            b.next_phase()
            passed = r.sample(known, min(len(known), 2)) if not self.cut else []
            known = self.block([b.bring(ref, "float32") for ref in ins] + passed, 1)
        with b.deliver(out, "float32") as y:
            self.mix(y, *self.some(known))
            if len(b.phases) > 1:
                b.launch(HERE + "tally", state, y)
        with b.only("end"), b.deliver(told) as y:
            b.copy(state, y)

    def sum(self) -> None:
        """Parts of an axis added up in a slot that is held, with steps of every part beside it."""
        b, r = self.b, self.r
        spec = ArraySpec((self.angles, self.rows, self.width), "float32", "az.")
        x = b.inp(spec, "x", self.given())
        out = b.out(ArraySpec((self.rows, self.width), r_dtype(r), "z."), "y", self.given())
        lines = b.bring(x, "float32")
        before = self.mix(b.like(x, "float32", "before"), lines)
        changed = self.mix(b.like(x, "float32", "changed"), before)
        with b.deliver(out, "float32") as y:
            with b.only("first"):
                self.mix(y)
            with b.repeat(lines) as loop:
                one = b.like(y, "float32", "one")
                self.mix(one, changed.row(loop), y)
                b.launch(HERE + "add", y, one)
            if r.random() < 0.5:
                with b.only("last"):
                    self.mix(b.like(y, "float32", "end"), y)
                    b.launch(HERE + "add", y, self.mix(b.like(y, "float32", "more"), y))

    def arrays(self, plan: Plan) -> list[np.ndarray]:
        rng = np.random.default_rng(self.salt)
        return [rng.random(slot.spec.shape).astype(slot.spec.dtype) for slot in plan.inputs]


def r_dtype(r: random.Random) -> str:
    return r.choice(["<f4", "<f4", ">f4", "<f8"])


def run(plan: Plan, arrays: list[np.ndarray], check: str = "", times: int = 1) -> list[np.ndarray]:
    """Results of the last of some runs in the same memory."""
    backend = Counting()
    inputs = [Source(a) if s.given.owner == "source" else a for a, s in zip(arrays, plan.inputs)]
    with plan.bind(backend, check) as bound:
        for _ in range(times):
            results = [np.full(slot.spec.shape, np.nan, slot.spec.dtype) for slot in plan.outputs]
            bound(*inputs, out=[Sink(a) if s.given.owner == "source" else a for a, s in zip(results, plan.outputs)])
    assert sum(backend.blocks) == plan.nbytes == backend.freed
    return results


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def differs(seed: int, check: str = "") -> str:
    """How a program, packed, in some lanes, copies and parts, differs from the whole with nothing shared; "" if it does not."""
    r = random.Random(-1 - seed)
    cut, lanes, copies = r.random() < 0.7, r.choice(THREADS), r.randint(1, 3)
    program = RandomProgram(seed, cut=cut)
    plan = program.finish()
    arrays = program.arrays(plan)
    whole = run(apart(plan), arrays)
    assert all(np.isfinite(one).all() for one in whole), f"seed {seed}: the program itself reads what nobody wrote"
    for cuts in ((), drawn_cuts(program, r)) if cut else ((),):
        plan = RandomProgram(seed, cuts, cut).finish(lanes, copies)
        if not same(run(plan, arrays, check, 2), whole):
            return f"seed {seed}: other bits with {cuts}, {lanes}, {copies} copies"
    return ""


def drawn_cuts(program: RandomProgram, r: random.Random) -> tuple[Cut, ...]:
    rows = Cut("z", program.rows, r.randint(1, program.rows), "rows")
    if not program.summed:
        return (rows,)
    return (*((rows,) if r.random() < 0.5 else ()), Cut("a", program.angles, r.randint(1, program.angles), "angles", sums=True))
