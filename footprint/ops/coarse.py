"""Wide Gaussians along the last two axes, by coarse rows and columns: as much work for any width."""

from __future__ import annotations

from dataclasses import dataclass, field

from footprint.kernels.coarse.contract import Wide, in_reach, tables, way_of, wide
from footprint.kernels.coarse.ways import UNITS
from footprint.kernels.common.borders import NONE
from footprint.kernels.separable.contract import read_as
from footprint.ops.base import Op
from footprint.ops.overlap_save import predicted
from footprint.ops.separable import Line, Taps, lines
from footprint.ops.windows import place, reach_of
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Number, Reach, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import format_seconds

# Operations a pixel, how many more where steps are one row, and launches, of one pass over the image and of two: of units
# estimated for an H100 of what an H200 took at 8192 x 8192 and sigmas of 17 to 390, as no H100 was there, 10 % more; of others
# measured on an H100 at 1024 x 1024 to 8192 x 8192 and sigmas of 11 to 300 (12 % off at most). Then the share more for what lies
# around an image, in sides, and launches' worth of a row of a step, as rows wait for each other however few there are.
_ONCE, _TWICE = (160.0, 1100.0, 7.0), (300.0, 630.0, 6.3)
_AROUND, _WAITS = 0.42, 0.31
# The same of a processor, whose stages are no launches (measured on two cores with AVX-512 at 128 x 128 to 6000 x 6000 and sigmas
# of 11 to 300, as shares of what direct sums took: 15 % off, but twice as much where an image is smaller than what lies around).
_CORE_WORK, _CORE_AROUND, _CORE_LAUNCHES = 200.0, 0.8, 10
# Weights from which on direct sums take so many times what they are predicted to: they no longer fit in registers, nor in the
# instructions that are kept. And seconds that they take however small an image is.
_LONG, _LEAST = (176, 1.4), 20e-6
# It is taken where it is predicted to need less than this share of the direct sums' time, on a GPU and by a processor: these are
# nearer to the truth beside a bright star, and do not mind blank pixels: a quarter of an image take half as long again here.
_QUICK, _QUICK_CORE = 0.72, 0.6


@dataclass(frozen=True)
class Coarse(Line):
    """Gaussians down and across, both wide; ``gaussians`` say which."""

    gaussians: tuple[Wide, Wide] = field(kw_only=True)
    why: str = ""

    def halo(self, axis: str) -> Reach:
        """What coarse rows around a result come from."""
        found = self._along(axis)
        return NOTHING if found is None else reach_of(-found[1].around, 2 * found[1].around + 1, found[0].border)

    def _along(self, axis: str) -> tuple[Taps, Wide] | None:
        return next(((taps, one) for taps, one in zip(self.taps, self.gaussians) if taps.axis == axis), None)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """The image is read once or twice and written once; what lies between is a share of it, gathered in parts."""
        image, (out,) = specs[0], self.out_specs(*specs)
        tall, across = self.gaussians
        around = sum(one.around / side for one, side in zip(self.gaussians, out.shape[-2:])) / 2
        if limits.family == "cpu":
            return Cost(2 * image.nbytes + out.nbytes, _CORE_WORK * (1 + _CORE_AROUND * around) * out.size, _CORE_LAUNCHES)
        once = tall.way is UNITS
        work, more, launches = _ONCE if once else _TWICE
        between = 6 * out.nbytes * (1 / tall.step + 1 / across.stride)
        flops = (work + more / tall.step) * (1 + _AROUND * around) * out.size
        seen = image.nbytes if once else 2 * image.nbytes
        return Cost(seen + out.nbytes + between, flops, round(launches + _WAITS * tall.step))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the launches; a part lies where its window begins, and coarse rows where the whole has them."""
        image, out = refs
        tall, across = self.gaussians
        if tall.way != way_of(b.limits):
            # Chosen where the image lies, and run where the result does.
            lines(list(self.taps), self.dims, self.leads).record(b, image, out)
            return
        steps = tall.step, across.stride, across.step
        b.note(f"wide Gaussians by every {steps[0]} rows and {steps[1]} columns{self.why}")
        names = ("coarse rows", "coarse rows back", "coarse columns", "coarse columns back", "weights", "what is cut off")
        consts = [b.const(one, name) for one, name in zip(tables(tall, across), names)]
        x = b.bring(image, dtype=read_as(b.limits, image.spec.dtype, "float32"))
        with b.deliver(out, dtype="float32") as y:
            how: dict[str, Number] = {"steps": steps, "reaches": (tall.reach, across.reach)}
            for name, taps, one in zip("yx", self.taps, self.gaussians):
                first, how[f"border_{name}"] = place(b, taps.axis, x, out, -one.around, taps.border)
                how[f"{name}0"] = first + one.around
                how[f"first_{name}"] = b.first(out, taps.axis)
            b.launch("coarse", x.deep(3), *consts, y.deep(3), **how)


def coarse(direct: Op, taps: list[Taps], dims: str, leads: str, image: ArraySpec, limits: Limits) -> Op:
    """The operation for such weights along the last two axes where it is quicker than ``direct``; that elsewhere."""
    if not in_reach(limits, image) or sorted(one.axis for one in taps) != sorted(dims[-2:]) or len(dims) < 2:
        return direct
    tall, across = sorted(taps, key=lambda one: dims.index(one.axis))
    if any(one.border == NONE or (one.border == "constant" and one.cval != 0) for one in (tall, across)):
        return direct
    core, way = limits.family == "cpu", way_of(limits)
    found = wide(tall.weights.array, way), wide(across.weights.array, way)
    if found[0] is None or found[1] is None or any(-one.first != w.reach for one, w in zip((tall, across), found) if w):
        return direct
    op = Coarse((tall, across), dims, leads, gaussians=(found[0], found[1]))
    longest = max(one.weights.array.size for one in taps)
    spent, other = predicted(op, limits, image), predicted(direct, limits, image)  # type: ignore[arg-type]
    if not core:
        other = _LEAST + other * (_LONG[1] if longest > _LONG[0] else 1.0)
    small = not core and min(image.shape[-2:]) < max(one.around for one in op.gaussians)
    if small or spent > (_QUICK_CORE if core else _QUICK) * other:
        return direct
    why = f"; predicted {format_seconds(spent)}, direct sums {format_seconds(other)}"
    return Coarse(op.taps, dims, leads, gaussians=op.gaussians, why=why)
