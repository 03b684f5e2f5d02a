"""Correlation by Fourier transforms of tiles, and the choice between methods."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import NoReturn

import numpy as np

from footprint.errors import ArgumentError, choose
from footprint.kernels.overlap_save.contract import CHIP, SPEED, blocks, chip_bytes, tiles
from footprint.ops.convolve import Correlate
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost, rates
from footprint.plan.slots import Number, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import format_seconds

METHODS = ("auto", "direct", "separable", "fft")
# Direct sums are nearer to the truth, so transforms have to take less than this share of their time.
_WORTH = {"cpu": 0.5, "gpu": 0.85}
# Compute units of the GPU that methods are chosen for, whatever GPU it is: the choice may not change with it.
_CORES = 132
# Numbers of blocks that are compared, at most: a mask of any size is looked at in no time.
_TRIED = 256


@dataclass(frozen=True)
class OverlapSave(Correlate):
    """The sums of `Correlate` by transforms of tiles of ``tile`` samples an axis, the mask in blocks of at most ``block`` taps.

    ``why`` is said in the plan. The grid of tiles begins at the first output and parts at a row of tiles, so the result is the same
    whatever the parts.
    """

    tile: int = 128
    block: tuple[int, int] = (1, 1)
    why: str = ""

    kernel = "overlap_save"

    def reads(self, dtype: str) -> str:
        """Sums' own dtype: transforms are of floating numbers."""
        return self.summed(dtype)

    def grain(self, *specs: ArraySpec) -> int:
        """Rows of outputs of a tile, by the largest block of the mask."""
        return self.tile + 1 - self.block[0]

    def settings(self) -> dict[str, Number]:
        """Sizes of tiles and blocks."""
        return {"tile": self.tile, "block": self.block}

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Transforms of all pairs of tiles there and back, and of the mask, for every block."""
        (out,) = self.out_specs(*specs)
        across = [-(-n // (self.tile + 1 - b)) for n, b in zip(out.shape, self.block)]
        pairs, number = across[0] * -(-across[1] // 2), math.prod(map(blocks, self.taps, self.block))
        masks = number
        if limits.cores:
            # Its compute units take their shares of tiles side by side, however few there are.
            masks = limits.cores * (max(CHIP) // self.tile) ** 2
            pairs = -(-pairs // masks) * masks
        each = 5 * self.tile**2 * math.log2(self.tile**2)
        transforms = (2 * number * pairs + masks) * each / SPEED[limits.family][self.tile]
        return Cost(sum(spec.nbytes for spec in specs) + number * out.nbytes, 0.0, number, transforms)

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
    lengths = tiles(limits, sums.itemsize) if len(op.taps) == 2 and not op.batch else []
    if method == "fft" and not lengths:
        _refuse(op, sums.name, limits)
    if not lengths or 0 in image.shape or 0 in op.taps or len(image.shape) != 2:
        return op
    weights = ArraySpec(op.taps, sums.str)
    usual = replace(limits, threads=1, cores=_CORES if limits.cores else 0)
    one = rates(usual)
    seconds = lambda some: some.cost(usual, image, weights).seconds(one)
    found: OverlapSave = min((_tiled(op, tile, image, weights) for tile in lengths), key=seconds)
    spent, direct = seconds(found), seconds(op)
    if method == "auto" and spent > _WORTH[limits.family] * direct:
        return op
    whose = f"of {_CORES} compute units" if limits.cores else "of a core"
    compared = f"{format_seconds(spent)} {whose} by prediction, direct sums {format_seconds(direct)}"
    return replace(found, why=f"method: fft, in tiles of {found.tile} x {found.tile}; {compared}")


def _refuse(op: Correlate, sums: str, limits: Limits) -> NoReturn:
    """Say why there are no transforms of tiles."""
    what = {1: "a signal of one dimension", 3: "a volume"}.get(len(op.taps), "images of a batch" if op.batch else "")
    if what:
        raise ArgumentError(
            "method", f"'fft' for {what}", "'direct' there", "transforms of tiles are made of images, one at a time"
        )
    least = chip_bytes(min(CHIP), np.dtype(sums).itemsize)
    fix = f"the smallest tile takes {least} bytes on the chip, which has {limits.local_mem}"
    raise ArgumentError("method", f"'fft' in {sums} on {limits.device}", "'direct' there", fix)


def _tiled(op: Correlate, tile: int, image: ArraySpec, weights: ArraySpec) -> OverlapSave:
    """By tiles of one size: the mask in as many blocks as make the fewest tiles."""
    out = op.out_specs(image, weights)[0].shape
    block = []
    for taps, n in zip(op.taps, out):
        fewest = blocks(taps, tile * 7 // 8)
        numbers = range(fewest, min(blocks(taps, tile // 4), fewest + _TRIED) + 1)
        number = min(numbers, key=lambda count: count * -(-n // (tile + 1 - blocks(taps, count))))
        block.append(blocks(taps, number))
    shared = {field.name: getattr(op, field.name) for field in fields(Correlate)}
    return OverlapSave(**shared, tile=tile, block=(block[0], block[1]))
