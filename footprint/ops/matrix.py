"""Sums along the last two axes by products of matrices of halves, on devices that have units for them."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.kernels.common.borders import NONE
from footprint.kernels.common.launch import CORES
from footprint.kernels.matrix.contract import BEYOND, LINES, SIDE, fit, in_reach, pitch_of, powers, results_of, steps_of, table
from footprint.kernels.matrix.gpu import groups_of, shares_of
from footprint.kernels.separable.contract import read_as
from footprint.ops.base import Op
from footprint.ops.overlap_save import predicted
from footprint.ops.separable import Line, Taps
from footprint.ops.windows import place, reach_of
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Number, Reach, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import format_seconds

# Operations' worth of a result along one axis, for each result that its number is in and beside them, and launches (measured at
# 1024 x 1024 to 8192 x 8192 and 41 to 161 weights on an H200, whose memory is quicker than that of the H100 that rates are of).
_RESULT, _BESIDE, _LAUNCHES = 0.13, 84.0, 5
# It is taken where it is predicted to need less than this share of the direct sums' time, which is no less than some seconds.
_QUICK, _LEAST = 1.0, 20e-6


@dataclass(frozen=True)
class Matrix(Line):
    """Weights down and across, of which the middle ones are a result's own."""

    why: str = ""

    def halo(self, axis: str) -> Reach:
        """What blocks of results around a part's first and last come from."""
        taps = next((some for some in self.taps if some.axis == axis), None)
        return NOTHING if taps is None else reach_of(taps.first - BEYOND, len(taps.weights) + 2 * BEYOND, taps.border)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """In, out, and what lies between twice; groups go along lines in turns, and sum some numbers before their first result."""
        image, (out,) = specs[0], self.out_specs(*specs)
        height, width = image.shape[-2:]
        planes, cores = out.size // max(height * width, 1), limits.cores or CORES
        flops = 0.0
        kinds = (ArraySpec(image.shape, "float32"), ArraySpec(image.shape, read_as(limits, image.dtype, "float32")))
        for some, source, lines, length in zip(self.taps, kinds, (width, height), (height, width)):
            n, tiles, strips = len(some.weights), -(-length // SIDE), -(-lines // LINES) * planes
            shares, together = shares_of(limits, source, n, tiles, strips), cores * groups_of(source, results_of(n))
            turns = -(-strips * shares // together) * together
            flops += turns * (-(-tiles // shares) + steps_of(n)) * SIDE * LINES * (_RESULT * results_of(n) + _BESIDE)
        between = 4 * planes * width * pitch_of(height)
        return Cost(image.nbytes + out.nbytes + 2 * between, flops, _LAUNCHES)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the launches; a part lies where its window begins, and its blocks where the whole has them."""
        image, out = refs
        b.note(f"products of matrices of halves, two a number{self.why}")
        weights = [some.weights.array for some in self.taps]
        taps = (weights[0].size, weights[1].size)
        tables = [b.const(table(one), "weights as halves") for one in weights]
        x = b.bring(image, dtype=read_as(b.limits, image.spec.dtype, "float32"))
        with b.deliver(out, dtype="float32") as y:
            how: dict[str, Number] = {"taps": taps, "powers": powers(*weights)}
            for name, some in zip("yx", self.taps):
                first, how[f"border_{name}"] = place(b, some.axis, x, out, some.first - BEYOND, some.border)
                how[f"{name}0"] = first + BEYOND
                how[f"first_{name}"] = b.first(out, some.axis)
            b.launch("matrix", x.deep(3), *tables, y.deep(3), **how)


def matrix(direct: Op, taps: list[Taps], dims: str, leads: str, image: ArraySpec, limits: Limits) -> Op:
    """The operation for such weights along the last two axes where it is quicker than ``direct``; that elsewhere."""
    if not in_reach(limits, image) or len(dims) < 2 or sorted(one.axis for one in taps) != sorted(dims[-2:]):
        return direct
    if any(one.border == NONE or (one.border == "constant" and one.cval != 0) for one in taps):
        return direct
    tall, across = sorted(taps, key=lambda one: dims.index(one.axis))
    weights = tall.weights.array, across.weights.array
    if any(-one.first != len(one.weights) // 2 for one in taps) or not fit(*weights):
        return direct
    op = Matrix((tall, across), dims, leads)
    spent, other = predicted(op, limits, image), _LEAST + predicted(direct, limits, image)  # type: ignore[arg-type]
    if spent > _QUICK * other:
        return direct
    return Matrix(op.taps, dims, leads, why=f"; predicted {format_seconds(spent)}, direct sums {format_seconds(other)}")
