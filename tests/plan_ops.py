"""Operations of the tests' own, each with its truth in whole-array NumPy; drawn chains of them; jobs cut in any way."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from footprint.ops.base import Op, Table
from footprint.ops.pipeline import Pipeline, Stage
from footprint.plan.slots import NOTHING, Halo
from footprint.spec import ArraySpec

HERE = "tests.plan_kernels:"


class Stack(Op):
    """On a stack (angle, row z, column x) of float64."""

    axes = ("azx",)
    cut = "azx"

    def out_specs(self, *specs):
        return (ArraySpec(specs[0].shape, "float64", "azx"),)


@dataclass(frozen=True)
class Flat(Stack):
    axes = ("azx", "zx", "zx")

    def names(self):
        return ("raw", "light", "dark"), ("out",)

    def record(self, b, *refs):
        raw, light, dark, out = refs
        x, light, dark = (b.bring(ref, "float64") for ref in (raw, light, dark))
        with b.deliver(out) as y:
            b.launch(HERE + "flat", x, light, dark, y)

    def truth(self, raw, light, dark):
        return (raw - dark) / (light - dark)


@dataclass(frozen=True)
class MinusLog(Stack):
    in_place = True

    def record(self, b, *refs):
        x = b.bring(refs[0], "float64")
        with b.deliver(refs[1]) as y:
            b.launch(HERE + "minus_log", x, y)

    def truth(self, x):
        return -np.log(np.maximum(x, 1e-6))


@dataclass(frozen=True)
class Smooth(Stack):
    taps: tuple[float, ...]
    wrap: bool = False

    def halo(self, axis):
        half = len(self.taps) // 2
        return Halo(half, half, self.wrap) if axis == "z" else NOTHING

    def record(self, b, *refs):
        x = b.bring(refs[0], "float64")
        with b.deliver(refs[1]) as y:
            y0, x0 = b.first(y, "z"), b.first(x, "z")
            if self.wrap:
                b.launch(HERE + "ripple", x, y, taps=self.taps, x0=x0, y0=y0)
            else:
                b.launch(HERE + "smooth", x, y, taps=self.taps, start=y0 - x0, y0=y0, total=refs[0].slot.spec.length("z"))

    def truth(self, x):
        half = len(self.taps) // 2
        wide = np.pad(x, ((0, 0), (half, half), (0, 0)), "wrap" if self.wrap else "edge")
        return sliding_window_view(wide, len(self.taps), 1) @ np.array(self.taps)


@dataclass(frozen=True)
class Shift(Stack):
    """Rows moved by a fraction, another in every image: the table of moves is cut with the angles."""

    moves: Table

    def halo(self, axis):
        moves = np.asarray(self.moves)
        if axis != "z":
            return NOTHING
        return Halo(int(np.ceil(max(-moves.min(), 0))), int(np.ceil(max(moves.max(), 0))))

    def record(self, b, *refs):
        x = b.bring(refs[0], "float64")
        with b.deliver(refs[1]) as y:
            moves = b.const(self.moves.array, "moves", axes="a", of=y)
            total = refs[0].slot.spec.length("z")
            b.launch(HERE + "shift", x, moves, y, x0=b.first(x, "z"), y0=b.first(y, "z"), total=total)

    def truth(self, x):
        at = np.arange(x.shape[1])
        return np.stack([np.apply_along_axis(lambda c, m=m: np.interp(at + m, at, c), 0, p) for p, m in zip(x, self.moves.array)])


@dataclass(frozen=True)
class Difference(Stack):
    axes = ("azx", "azx")

    def record(self, b, *refs):
        one, other = (b.bring(ref, "float64") for ref in refs[:2])
        with b.deliver(refs[2]) as y:
            b.launch(HERE + "subtract", one, other, y)


@dataclass(frozen=True)
class LessMean(Stack):
    """Every image less the mean of all: angles are needed whole."""

    cut = "zx"

    def record(self, b, *refs):
        x = b.bring(refs[0], "float64")
        shape = refs[0].slot.spec.shape[1:]
        middle = b.like(refs[0], "float64", "mean of angles", shape=shape, axes="zx")
        b.launch(HERE + "mean", x, middle)
        with b.deliver(refs[1]) as y:
            b.launch(HERE + "subtract", x, middle, y)

    def truth(self, x):
        return x - x.mean(0)


@dataclass(frozen=True)
class Sinograms(Stack):
    cut = "zax"

    def out_specs(self, *specs):
        a, z, x = specs[0].shape
        return (ArraySpec((z, a, x), "float64", "zax"),)

    def record(self, b, *refs):
        x = b.bring(refs[0], "float64")
        with b.deliver(refs[1]) as y:
            b.launch(HERE + "transpose", x, y)

    def truth(self, x):
        return x.transpose(1, 0, 2)


@dataclass(frozen=True)
class Gather(Op):
    """What `Sinograms` gives, added up over angles to one image a slice."""

    angles: Table
    axes = ("zax",)
    cut = "z"
    sums = "a"

    def out_specs(self, *specs):
        z, _, x = specs[0].shape
        return (ArraySpec((z, x, x), "float64", "zwx"),)

    def record(self, b, *refs):
        lines = b.bring(refs[0], "float64")
        with b.deliver(refs[1]) as y:
            with b.only("first"):
                b.launch(HERE + "zero", y)
            angles = b.const(self.angles.array, "angles", axes="a", of=lines)
            b.launch(HERE + "gather", lines, angles, y)
            with b.only("last"):
                b.launch(HERE + "scale", y, factor=0.5)

    def truth(self, lines):
        n = lines.shape[-1]
        at = np.arange(n) - (n - 1) / 2
        total = np.zeros((len(lines), n, n))
        for a, angle in enumerate(self.angles.array):
            hit = np.rint(np.add.outer(at * np.sin(angle), at * np.cos(angle) + (n - 1) / 2)).astype(int)
            total += np.where((hit >= 0) & (hit < n), lines[:, a][:, np.clip(hit, 0, n - 1)], 0)
        return 0.5 * total


@dataclass(frozen=True)
class Clipped(Stack):
    """The stack less the mean of what lies within 3 sigma of itself: passes until nothing is clipped, then a phase that uses it."""

    cut = "a"

    def out_specs(self, *specs):
        return (*super().out_specs(*specs), ArraySpec((8,), "float64"))

    def names(self):
        return ("input",), ("out", "state")

    def record(self, b, *refs):
        src, out, told = refs
        state, done = b.kept((8,), "float64", "state"), b.kept((1,), "uint8", "done")
        b.launch(HERE + "clip", b.bring(src, "float64"), state)
        with b.only("end"):
            b.launch(HERE + "clip_end", state, done, sigma=3.0)
        b.until(done)
        b.next_phase()
        x = b.bring(src, "float64")
        with b.deliver(out) as y:
            b.launch(HERE + "share", x, state, y)
        with b.only("end"), b.deliver(told) as y:
            b.copy(state, y)

    def truth(self, x):
        kept, n, turns, low, high = x.ravel(), -1, 0, -np.inf, np.inf
        while kept.size != n:
            n, turns = kept.size, turns + 1
            low, high = kept.mean() - 3 * kept.std(), kept.mean() + 3 * kept.std()
            kept = x[(x > low) & (x < high)]
        return x - x[(x > low) & (x < high)].mean(), turns


@dataclass(frozen=True)
class Nap(Stack):
    seconds: float = 0.02
    in_place = True

    def record(self, b, *refs):
        x = b.bring(refs[0], "float64")
        with b.deliver(refs[1]) as y:
            b.launch(HERE + "nap", x, y, seconds=self.seconds)


@dataclass(frozen=True)
class Failing(Stack):
    """Its kernel fails from a row on."""

    at: int = 0

    def record(self, b, *refs):
        x = b.bring(refs[0], "float64")
        with b.deliver(refs[1]) as y:
            b.launch(HERE + "fail", x, y, y0=b.first(y, "z"), at=self.at)


def chain(ops: list[Op]) -> Pipeline:
    """As `Pipeline.chain`, the further inputs of the first operation going with it."""
    line = Pipeline.chain(ops)
    (into, _), first = ops[0].names(), line.stages[0]
    if len(into) == 1:
        return line
    inputs = ("input", *into[1:])
    return Pipeline((Stage(first.op, inputs, first.writes), *line.stages[1:]), inputs)


def truth(ops: list[Op], *arrays: np.ndarray) -> np.ndarray:
    """What a chain gives, by the operations' own truths."""
    x = ops[0].truth(*(a.astype("f8") for a in arrays))
    for op in ops[1:]:
        x = op.truth(x)
    return x


def taps(r: random.Random, half: int) -> tuple[float, ...]:
    return tuple(r.uniform(-1, 1) for _ in range(2 * half + 1))


def drawn(r: random.Random, n_a: int) -> list[Op]:
    """Flat field, some steps, and sometimes sinograms and their sum."""
    makers = [
        MinusLog,
        LessMean,
        lambda: Smooth(taps(r, r.randint(1, 3))),
        lambda: Shift(Table([r.choice([r.uniform(-3, 3), float(r.randint(-2, 2))]) for _ in range(n_a)])),
    ]
    ops: list[Op] = [Flat(), *(r.choice(makers)() for _ in range(r.randint(0, 4)))]
    angles = Gather(Table([r.uniform(0, 3) for _ in range(n_a)]))
    return [*ops, *r.choice([[], [], [Sinograms()], [Sinograms(), angles], [Sinograms(), angles]])]
