"""Correlation by Fourier transforms of tiles, and the choice between methods."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields, replace
from typing import NoReturn

import numpy as np

from footprint.errors import ArgumentError, choose
from footprint.kernels.convolve.contract import stored_as
from footprint.kernels.overlap_lines.contract import segments
from footprint.kernels.overlap_save.contract import CHIP, FOLD, LONG, SPECTRA, SPEED, blocks, chip_bytes, tiles
from footprint.ops.convolve import Correlate
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost, rates
from footprint.plan.slots import Number, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import format_seconds

METHODS = ("auto", "direct", "separable", "fft")
# The same as SPEED, of signals and of volumes (the CPU's by benchmarks/transforms.py, the GPU's on an H100).
_SPEED = {
    "cpu": {1: {64: 0.95, 128: 1.0, 256: 0.9, 512: 0.65, 1024: 0.47}, 3: {64: 1.1, 128: 1.1}},
    "gpu": {
        1: {32: 0.95, 64: 1.05, 128: 0.8, 256: 0.76, 512: 0.75, 1024: 0.63},
        2: SPEED["gpu"],
        3: {32: 0.5, 64: 0.73, 128: 0.62},
    },
}
# Numbers of eight bytes take so much longer where tiles do not stay on a GPU's chip (measured on an H100).
_WIDE = 0.7
# Direct sums are nearer to the truth, so transforms have to take less than this share of their time.
_WORTH = {"cpu": 0.75, "gpu": 0.85}
# A GPU's tiles that stay on the chip need no memory, so they may take this much longer than those that do not.
_MEMORY = 1.1
# Where a tile and a mask on the CPU, or a GPU's tiles in memory, take more than this share of image and result, what takes less may
# need this much longer.
_SHARE, _LONGER = 0.2, 1.25
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

    Images on the CPU have tiles of ``columns`` complex numbers a row, twice as many samples. Where what lies outside is 0,
    ``first`` is the first of the mask's rows, and columns, that fall on the image at all, ``taken`` how many do, and ``around``
    the outputs along an axis of which one tile makes all because the zeros at both of its ends are the same ones; 0 along others.
    """

    tile: int = 128
    block: tuple[int, ...] = (1, 1)
    folded: bool = False
    why: str = ""
    columns: int = 0
    first: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    around: tuple[int, ...] = (0, 0)

    kernels = ("overlap_lines", "overlap_save", "overlap_volume")
    together = ""

    def reads(self, dtype: str) -> str:
        """As it is stored: tiles are made of it."""
        return stored_as(dtype, self.summed(dtype))

    @property
    def cut(self) -> str:  # type: ignore[override]
        """As sums are, but for masks: parts of an image begin at tiles, and memory for them is that of one."""
        return super().cut.replace("m", "")

    @property
    def across(self) -> int:
        """Complex numbers of a row of an image's tile on the CPU: such that it is a square unless ``columns`` are told; else 0."""
        return self.columns or (self.tile // 2 if len(self.taps) == 2 and not self.folded else 0)

    @property
    def sides(self) -> tuple[int, ...]:
        """Samples of a tile along every axis."""
        if self.across:
            return (self.tile, 2 * self.across)
        *others, last = [self.tile] * len(self.taps) if len(self.taps) > 1 else [self.tile**2]
        return (*others, FOLD * last if self.folded else last)

    @property
    def steps(self) -> tuple[int, ...]:
        """Outputs of a tile along every axis, by the largest block of the mask."""
        usual = tuple(side + 1 - block for side, block in zip(self.sides, self.block))
        return tuple(all_of or step for all_of, step in zip(self.around, usual)) if self.across else usual

    def grain(self, *specs: ArraySpec) -> int:
        """Whole images of a batch, else rows of tiles."""
        return 1 if self.batch else self.grain_along(self.dims[0])

    def grain_along(self, axis: str, *specs: ArraySpec) -> int:
        """Rows of outputs of a tile; of a signal the segments that are transformed together."""
        if axis not in self.parted:
            return 1
        return self.steps[self.dims.index(axis)] * (2 if len(self.taps) == 1 and not self.folded else 1)

    def settings(self) -> dict[str, Number]:
        """Sizes of tiles and blocks, and how they lie."""
        found: dict[str, Number] = {"tile": self.tile, "block": self.block}
        if self.across:
            found |= {"columns": self.across, "steps": self.steps}
            found |= {"first": self.first or (0, 0), "taken": self.taken or self.taps}
        return found

    def operations(self, limits: Limits, *specs: ArraySpec) -> float:
        """Of transforms of all tiles, two at once, there and back, and of the mask, for every block."""
        (out,) = self.out_specs(*specs)
        many, one = math.prod(out.shape[: self.front]), out.shape[self.front :]
        *others, last = (-(-n // step) for n, step in zip(one, self.steps))
        alone = self.folded or self.across > 0
        both, masks = many * math.prod(others) * (last if alone else -(-last // 2)), self._launches(out)
        if limits.cores:
            # Its compute units take their shares of tiles side by side, however few there are.
            aside = max(1, limits.cores * max(CHIP) ** 2 // self.tile ** max(len(self.taps), 2))
            both, masks = -(-both // aside) * aside, max(masks, aside)
        size = self.tile * self.across or self.tile ** max(len(self.taps), 2)
        return (2 * self._blocks * both + masks) * 5 * size * math.log2(size)

    @property
    def _blocks(self) -> int:
        """That the mask is taken in."""
        return math.prod(map(blocks, self.taken or self.taps, self.block))

    def _launches(self, out: ArraySpec) -> int:
        """Transforms of blocks of the mask: signals of a batch go through one launch, images through one each."""
        return self._blocks * (1 if len(self.taps) == 1 and self.masks == "one" else math.prod(out.shape[: self.front]))

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Transforms, and results that are added to for every block."""
        (out,) = self.out_specs(*specs)
        speed = SPEED["cpu"][self.tile, self.across] if self.across else _SPEED[limits.family][len(self.taps)][self.tile]
        if self.folded and self.tile in LONG and out.itemsize == 8:
            speed *= _WIDE
        if limits.host:
            speed *= 4 / out.itemsize
        transforms = self.operations(limits, *specs) / speed
        return Cost(sum(spec.nbytes for spec in specs) + self._blocks * out.nbytes, 0.0, self._launches(out), transforms)

    def tell(self, b: Builder) -> None:
        """Say why they are taken."""
        b.note(self.why)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch, and why."""
        self.tell(b)
        super().record(b, *refs)


def by_method(method: str, op: Correlate, image: ArraySpec, limits: Limits) -> Correlate:
    """The operation that makes the sums of ``op`` by "direct" or "fft", or with "auto" by the one that is predicted to be quick.

    The choice goes by the shapes, and by what a GPU's chip holds, alone: not by values, budget, threads or parts, none of which may
    change a result.
    """
    if choose("method", method, METHODS) == "direct":
        return op
    # What is free changes from call to call. Of numbers that are equal, 0 and -0, each has its own operation.
    return _by_method(method, op, repr(op.cval), image, replace(limits, free=None))


@functools.lru_cache(64)
def _by_method(method: str, op: Correlate, cval: str, image: ArraySpec, limits: Limits) -> Correlate:
    """The same, found once for a shape: it takes a millisecond, which a call of a small image would feel."""
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
    some = [tiled(op, tile, image, weights, columns, limits.family == "gpu") for tile, columns in lengths]
    found: OverlapSave = min(some, key=seconds)
    arrays = image.size + op.out_specs(image, weights)[0].size
    if found.folded and found.tile in LONG:
        most = (_LONGER if SPECTRA > _SHARE * arrays * sums.itemsize else _MEMORY) * seconds(found)
        found = min((one for one in some if one.tile not in LONG and seconds(one) <= most), key=seconds, default=found)
    if 4 * found.tile * found.across > _SHARE * arrays:
        most = _LONGER * seconds(found)
        found = min((one for one in some if seconds(one) <= most), key=lambda one: one.tile * one.across)
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


def lengths_of(op: Correlate, limits: Limits, itemsize: int) -> list[tuple[int, int]]:
    """Lengths of tiles that a device has for a mask's dimensions, and of images on the CPU the complex numbers of a row."""
    if limits.family == "cpu":
        return list(SPEED["cpu"]) if len(op.taps) == 2 else [(tile, 0) for tile in _SPEED["cpu"].get(len(op.taps), ())]
    if len(op.taps) == 1:
        return [(tile, 0) for tile in segments(limits, itemsize)]
    return [(tile, 0) for tile in tiles(limits, itemsize) if tile in _SPEED["gpu"].get(len(op.taps), ())]


def _refuse(sums: str, limits: Limits) -> NoReturn:
    """Say why there are no transforms of tiles."""
    least = chip_bytes(min(CHIP), np.dtype(sums).itemsize)
    fix = f"the smallest tile takes {least} bytes on the chip, which has {limits.local_mem}"
    raise ArgumentError("method", f"'fft' in {sums} on {limits.device}", "'direct' there", fix)


def tiled(op: Correlate, tile: int, image: ArraySpec, weights: ArraySpec, columns: int = 0, folded: bool = False) -> OverlapSave:
    """By tiles of one size: the mask in as many blocks as make the fewest tiles."""
    shared = {field.name: getattr(op, field.name) for field in fields(Correlate)}
    found = OverlapSave(**shared, tile=tile, columns=columns, folded=folded)
    given, outs = image.shape[op.batch :], op.out_specs(image, weights)[0].shape[op.batch :]
    # Zeros outside need no room, and so does what falls on nothing else.
    zeros = columns > 0 and op.boundary == "constant" and float(op.cval) == 0
    block, around, starts, numbers = [], [], [], []
    for side, n, many, taps, begin in zip(found.sides, given, outs, op.taps, op.offsets()):
        first = min(max(1 - many - begin, 0), taps - 1) if zeros else 0
        taps = max(min(n - begin, taps) - first, 1) if zeros else taps
        round_it = zeros and _goes_round(side, many, taps, n, -begin - first)
        block.append(taps if round_it else _block(side, many, taps))
        around.append(many if round_it else 0)
        starts.append(first)
        numbers.append(taps)
    if zeros:
        found = replace(found, first=tuple(starts), taken=tuple(numbers), around=tuple(around))
    return replace(found, block=tuple(block))


def _block(side: int, many: int, taps: int) -> int:
    """Taps of a block along an axis, such that outputs take the fewest tiles."""
    fewest = blocks(taps, side * 7 // 8)
    numbers = range(fewest, min(blocks(taps, side // 4), fewest + _TRIED) + 1)
    return blocks(taps, min(numbers, key=lambda count: count * -(-many // (side + 1 - blocks(taps, count)))))


def _goes_round(side: int, many: int, taps: int, n: int, before: int) -> bool:
    """Whether a tile of ``side`` samples makes all outputs of ``n`` samples, with ``before`` zeros before them and some behind."""
    window = many + taps - 1
    image_ends, zeros = min(before + n, window), max(before, 0)
    return max(image_ends, many, taps, window - zeros) <= side
