"""Correlation by Fourier transforms of tiles, and the choice between methods."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import NoReturn

import numpy as np

from footprint.errors import ArgumentError, choose
from footprint.kernels.convolve.contract import stored_as
from footprint.kernels.overlap_lines.contract import segments
from footprint.kernels.overlap_save.contract import CHIP, FOLD, LONG, SPEED, blocks, chip_bytes, tiles
from footprint.ops.convolve import Correlate
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost, rates
from footprint.plan.slots import Number, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import format_seconds

METHODS = ("auto", "direct", "separable", "fft")
# The same as SPEED, of signals and of volumes (the CPU's by benchmarks/transforms.py, the GPU's on an H100).
_SPEED = {
    "cpu": {1: {64: 0.95, 128: 1.0, 256: 0.9, 512: 0.65, 1024: 0.47}, 2: SPEED["cpu"], 3: {64: 0.95, 128: 0.95}},
    "gpu": {
        1: {32: 0.95, 64: 1.05, 128: 0.8, 256: 0.64, 512: 0.46, 1024: 0.37},
        2: SPEED["gpu"],
        3: {32: 0.5, 64: 0.73, 128: 0.62},
    },
}
# Direct sums are nearer to the truth, so transforms have to take less than this share of their time.
_WORTH = {"cpu": 0.75, "gpu": 0.85}
# A GPU's tiles that stay on the chip need no memory, so they may take this much longer than those that do not.
_MEMORY = 1.1
# Compute units of the GPU that methods are chosen for, whatever GPU it is: the choice may not change with it.
_CORES = 132
# Numbers of blocks that are compared, at most: a mask of any size is looked at in no time.
_TRIED = 256


@dataclass(frozen=True)
class OverlapSave(Correlate):
    """The sums of `Correlate` by transforms of tiles of ``tile`` samples an axis, the mask in blocks of at most ``block`` taps.

    A signal's tile is a segment of ``tile``^2 samples. Two neighbours of a row are transformed together or, where they are
    ``folded``, as GPUs have them, are one tile that is twice as long. ``why`` is said in the plan. The grid of tiles begins at the
    first output and parts at a row of tiles, so the result is the same whatever the parts.
    """

    tile: int = 128
    block: tuple[int, ...] = (1, 1)
    folded: bool = False
    why: str = ""

    kernels = ("overlap_lines", "overlap_save", "overlap_volume")

    def reads(self, dtype: str) -> str:
        """As it is stored: tiles are made of it."""
        return stored_as(dtype, self.summed(dtype))

    @property
    def cut(self) -> str:  # type: ignore[override]
        """As sums are, but for masks: parts of an image begin at tiles, and memory for them is that of one."""
        return super().cut.replace("m", "")

    @property
    def sides(self) -> tuple[int, ...]:
        """Samples of a tile along every axis."""
        *others, last = [self.tile] * len(self.taps) if len(self.taps) > 1 else [self.tile**2]
        return (*others, FOLD * last if self.folded else last)

    @property
    def steps(self) -> tuple[int, ...]:
        """Outputs of a tile along every axis, by the largest block of the mask."""
        return tuple(side + 1 - block for side, block in zip(self.sides, self.block))

    def grain(self, *specs: ArraySpec) -> int:
        """Whole images of a batch, else rows of tiles."""
        return 1 if self.batch else self.grain_along(self.dims[0])

    def grain_along(self, axis: str, *specs: ArraySpec) -> int:
        """Rows of outputs of a tile; of a signal the segments that are transformed together."""
        if axis != self.dims[0]:
            return 1
        return self.steps[0] * (2 if len(self.taps) == 1 and not self.folded else 1)

    def settings(self) -> dict[str, Number]:
        """Sizes of tiles and blocks."""
        return {"tile": self.tile, "block": self.block}

    def operations(self, limits: Limits, *specs: ArraySpec) -> float:
        """Of transforms of all tiles, two at once, there and back, and of the mask, for every block."""
        (out,) = self.out_specs(*specs)
        many, one = math.prod(out.shape[: self.front]), out.shape[self.front :]
        *others, last = (-(-n // step) for n, step in zip(one, self.steps))
        both, masks = many * math.prod(others) * (last if self.folded else -(-last // 2)), self._launches(out)
        if limits.cores:
            # Its compute units take their shares of tiles side by side, however few there are.
            aside = max(1, limits.cores * max(CHIP) ** 2 // self.tile ** max(len(self.taps), 2))
            both, masks = -(-both // aside) * aside, max(masks, aside)
        size = self.tile ** max(len(self.taps), 2)
        return (2 * self._blocks * both + masks) * 5 * size * math.log2(size)

    @property
    def _blocks(self) -> int:
        """That the mask is taken in."""
        return math.prod(map(blocks, self.taps, self.block))

    def _launches(self, out: ArraySpec) -> int:
        """Transforms of blocks of the mask: signals of a batch go through one launch, images through one each."""
        return self._blocks * (1 if len(self.taps) == 1 and self.masks == "one" else math.prod(out.shape[: self.front]))

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Transforms, and results that are added to for every block."""
        (out,) = self.out_specs(*specs)
        transforms = self.operations(limits, *specs) / _SPEED[limits.family][len(self.taps)][self.tile]
        return Cost(sum(spec.nbytes for spec in specs) + self._blocks * out.nbytes, 0.0, self._launches(out), transforms)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch, and why."""
        b.note(self.why)
        super().record(b, *refs)


def by_method(method: str, op: Correlate, image: ArraySpec, limits: Limits) -> Correlate:
    """The operation that makes the sums of ``op`` by "direct" or "fft", or with "auto" by the one that is predicted to be quick.

    The choice goes by the shapes, and by what a GPU's chip holds, alone: not by values, budget, threads or parts, none of which may
    change a result.
    """
    choose("method", method, METHODS)
    if method == "direct":
        return op
    sums = np.dtype(op.summed(image.dtype))
    lengths = lengths_of(op, limits, sums.itemsize)
    if method == "fft" and not lengths:
        _refuse(sums.name, limits)
    if not lengths or 0 in image.shape or 0 in op.taps or len(image.shape) != len(op.taps) + op.batch:
        return op
    # Of several masks one decides.
    several, weights = op.masks, ArraySpec(op.taps, sums.str)
    given, op = op, replace(op, masks="one")
    seconds = lambda one: predicted(one, limits, image, weights)
    some = [tiled(op, tile, image, weights, folded=limits.family == "gpu") for tile in lengths]
    found: OverlapSave = min(some, key=seconds)
    if found.folded and found.tile in LONG:
        most = _MEMORY * seconds(found)
        found = min((one for one in some if one.tile not in LONG and seconds(one) <= most), key=seconds, default=found)
    spent, direct = seconds(found), seconds(op)
    if method == "auto" and spent > _WORTH[limits.family] * direct:
        return given
    whose = f"of {_CORES} compute units" if limits.cores else "of a core"
    compared = f"predicted {format_seconds(spent)} {whose}, direct sums {format_seconds(direct)}"
    shape = f"{'segments' if len(op.taps) == 1 else 'tiles'} of {' x '.join(map(str, found.sides))}"
    return replace(found, masks=several, why=f"method: fft, in {shape}; {compared}")


def predicted(op: Correlate, limits: Limits, *specs: ArraySpec) -> float:
    """Seconds of an operation on one core, or on a GPU of the usual size: what methods are chosen by."""
    usual = replace(limits, threads=1, cores=_CORES if limits.cores else 0)
    return op.cost(usual, *specs).seconds(rates(usual))


def lengths_of(op: Correlate, limits: Limits, itemsize: int) -> list[int]:
    """Lengths of tiles that a device has for a mask's dimensions."""
    if limits.family == "cpu":
        return list(_SPEED["cpu"].get(len(op.taps), ()))
    if len(op.taps) == 1:
        return segments(limits, itemsize)
    return [tile for tile in tiles(limits, itemsize) if tile in _SPEED["gpu"].get(len(op.taps), ())]


def _refuse(sums: str, limits: Limits) -> NoReturn:
    """Say why there are no transforms of tiles."""
    least = chip_bytes(min(CHIP), np.dtype(sums).itemsize)
    fix = f"the smallest tile takes {least} bytes on the chip, which has {limits.local_mem}"
    raise ArgumentError("method", f"'fft' in {sums} on {limits.device}", "'direct' there", fix)


def tiled(op: Correlate, tile: int, image: ArraySpec, weights: ArraySpec, *, folded: bool = False) -> OverlapSave:
    """By tiles of one size: the mask in as many blocks as make the fewest tiles."""
    shared = {field.name: getattr(op, field.name) for field in fields(Correlate)}
    found = OverlapSave(**shared, tile=tile, folded=folded)
    block = []
    for side, taps, n in zip(found.sides, op.taps, op.out_specs(image, weights)[0].shape[op.batch :]):
        fewest = blocks(taps, side * 7 // 8)
        numbers = range(fewest, min(blocks(taps, side // 4), fewest + _TRIED) + 1)
        number = min(numbers, key=lambda count: count * -(-n // (side + 1 - blocks(taps, count))))
        block.append(blocks(taps, number))
    return replace(found, block=tuple(block))
