"""Direct correlation of signals, images and volumes with a mask, whole or by parts along the first axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from footprint.dtypes import sum_dtype
from footprint.errors import ArgumentError, ShapeError, choose
from footprint.kernels.common.borders import NONE
from footprint.kernels.convolve.contract import BLOCK, THIN_LONG, UNROLLED, is_thin, read_as
from footprint.kernels.separable.contract import launches_down
from footprint.kernels.separable.contract import read_as as line_reads
from footprint.kernels.volume.contract import in_columns
from footprint.ops.base import Op
from footprint.ops.windows import place
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import NOTHING, Given, Halo, Number, Reach, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import counted

AXES = "zyx"
MODES = ("same", "full", "valid")
# What is to be done where a mask is larger than the image.
SWAP = "swap the two"
# Weights of a column, as many of which take twice the time of those of a row over integers as they are stored: 101 took 4 times,
# 301 9 times, 1001 40 times. Over others they go by strips; a weight takes so much more time beside what transforms take.
_COLUMN, _STRIPS = 32, 1.65
# What a weight takes of a core beside transforms: the rates are those of a Xeon, an EPYC's core takes 1.4 times as long.
_SLOWER = 1.25
# Weights that take as long as beginning anew for every row of a volume's mask does (on a Xeon 6, on an EPYC 10); for one of one
# column; and for one that is alone in its plane, with so many more a weight (both on an EPYC).
_ROW, _SHORT, _ALONE = 8, 2, (25, 2)
# What a weight takes of lines of a thin image's columns, beside one of rows.
_LINES = 2.0
# What a weight takes of a GPU, beside one of a small mask (all measured on an H100): of one column, where its sums take several
# launches, or one that serves any number of weights; of one that is larger than a tile and comes in pieces of so many columns, and
# a few rows more; and of a volume's, whose tile is read anew for every plane, which takes as long as so many weights.
_LAUNCHES = 1.6
_LARGE, _PIECE, _ROWS = 1.6, 16, 2.5
_VOLUMES, _NEW = 1.2, 42
# Results side by side and one above the other of a GPU's tile: small images leave cores idle. And how much longer results take that
# are narrower than it, of which so many lie side by side in a tile at least; and flat ones, with what is divided by how many lie
# above each other (on an H200).
_TILE, _CORES = (112, 32), 132
_NARROW, _SIDE, _FLAT = 1.3, (4, 64), (0.9, 3)
MASKS = ("one", "all", "each")
"""How many masks there are: one; or several, all for the image, or one for each image of a batch."""


def check_origin(moves: tuple[int, ...], taps: tuple[int, ...], mode: str, flip: bool = False) -> None:
    """One number an axis, by which the middle of the mask stays on it; the other way of a mask to be turned (``flip``)."""
    if len(moves) != len(taps):
        raise ArgumentError("origin", moves, f"a number, or one for each of the mask's {len(taps)} axes")
    if any(moves) and choose("mode", mode, MODES) != "same":
        raise ArgumentError("origin", moves, f'0 in mode "{mode}"', 'the mask is moved in mode "same" only')
    # A mask of no weights is refused by what it lacks.
    if not all(0 <= n // 2 + (-move if flip else move) < max(n, 1) for n, move in zip(taps, moves)):
        raise ArgumentError("origin", moves, f"a middle within the mask of shape {taps}")


@dataclass(frozen=True)
class Correlate(Op):
    """``out[y, x] = sum of weights[i, j] image[y + y0 + i, x + x0 + j]``, the weights being in this order.

    ``taps`` is the mask's shape, ``mode`` decides the offsets y0, x0 and the size of the result, ``boundary`` what lies outside;
    ``kind`` is what sums are formed in where that is not the image's own. ``origin`` moves the mask in mode "same", along every
    axis towards smaller indices. Of an array with ``batch`` more axes in front every image is filtered. Of several ``masks`` the
    first axis counts them: "all" filter the image, and the result has one axis more in front, "each" an image of its own. Signals
    may have ``after`` more axes behind theirs, as columns of an image have: they are summed where they lie.
    """

    taps: tuple[int, ...]
    mode: str = "same"
    boundary: str = "constant"
    cval: float = 0.0
    kind: str = ""
    origin: tuple[int, ...] = ()
    batch: int = 0
    masks: str = "one"
    after: int = 0

    # By the mask's dimensions; and where a processor's filters all images of a batch in one launch.
    kernels = ("convolve", "convolve", "volume")
    together: ClassVar[str] = "planes"

    def settings(self) -> dict[str, Number]:
        """What the kernel is told beside where it begins and the borders."""
        return {}

    def summed(self, dtype: str) -> str:
        """What sums of an image of ``dtype`` are formed in."""
        return self.kind or sum_dtype(dtype)

    @property
    def dims(self) -> str:
        """Names of the axes of one image."""
        return AXES[-len(self.taps) :]

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of image and mask."""
        several = {"one": "", "all": "m", "each": "b"}[self.masks]
        behind = ("" if self.batch else "b").ljust(self.after, ".")[: self.after]
        return ("b.".ljust(self.batch, ".")[: self.batch] + self.dims + behind, several + "." * len(self.taps))

    @property
    def front(self) -> int:
        """Axes of the result before those of one image."""
        return self.batch + (self.masks == "all")

    @property
    def cut(self) -> str:  # type: ignore[override]
        """Images of a batch, or lines, and what one is `parted` by; of more axes of images than one, these alone; masks last."""
        several = "b" if self.batch or self.after else ""
        return several + (self.parted if self.batch < 2 else "") + ("m" if self.masks == "all" else "")

    @property
    def parted(self) -> str:
        """Axes that one image is cut along: the first, and of volumes rows of planes, as a few planes may be all the memory."""
        return self.dims[: max(len(self.taps) - 1, 1)]

    @property
    def units(self) -> dict[str, str]:  # type: ignore[override]
        """Rows of an image, samples of a signal."""
        return {"b": "images" if self.batch else "lines", "z": "planes", "y": "rows", "x": "samples", "m": "masks"}

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """An array on a device is read where it lies, and rows of its other end do not lie together with a part's."""
        far = self.boundary == "wrap" and ins[0].space == "device"
        return "".join(axis for axis in self.cut if axis in "bm" or not far)

    def reads(self, dtype: str) -> str:
        """What the kernel reads an image of ``dtype`` in."""
        sums = self.summed(dtype)
        return read_as(dtype, sums, self.taps) if len(self.taps) < 3 else sums

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, mask and out."""
        return ("image", "mask"), ("out",)

    def offset(self, taps: int, origin: int = 0) -> int:
        """Sample the first tap of output 0 falls on, along an axis with so many taps."""
        return {"same": -(taps // 2), "full": 1 - taps, "valid": 0}[self.mode] - origin

    def offsets(self) -> list[int]:
        """The same of every axis."""
        return [self.offset(taps, move) for taps, move in zip(self.taps, self.origin or (0,) * len(self.taps))]

    def length(self, n: int, taps: int) -> int:
        """Outputs along an axis of ``n`` samples."""
        if n == 0 or self.mode == "same":
            return n
        return n + taps - 1 if self.mode == "full" else n - taps + 1

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shape and dtype of the result."""
        image, weights = specs
        choose("mode", self.mode, MODES)
        self._check_mask(image, weights)
        check_origin(self.origin or (0,) * len(self.taps), self.taps, self.mode)
        end = len(image.shape) - self.after
        many, one, behind = image.shape[: self.batch], image.shape[self.batch : end], image.shape[end:]
        if self.mode == "valid" and any(k > n > 0 for k, n in zip(self.taps, one)):
            fix = SWAP if all(k >= n for k, n in zip(self.taps, one)) else ""
            raise ShapeError("mask", f"shape {self.taps}", f'at most the image\'s {one} in mode "valid"', fix)
        shape = tuple(self.length(n, k) for n, k in zip(one, self.taps))
        masks, name = (weights.shape[:1], "m") if self.masks == "all" else ((), "")
        return (ArraySpec((*masks, *many, *shape, *behind), self.summed(image.dtype), name + self.axes[0]),)

    def _check_mask(self, image: ArraySpec, weights: ArraySpec) -> None:
        """As many dimensions as the image, and one more where there are several."""
        choose("masks", self.masks, MASKS)
        several = self.masks != "one"
        found, wanted = len(weights.shape), len(image.shape) - self.batch - self.after + several
        if not image.shape:
            raise ShapeError("image", "a single number", "an array of 1 dimension or more")
        if not 1 <= found - several <= len(AXES):
            raise ShapeError(
                "mask", counted(found, "dimensions"), "2, 3 or 4, the first of which counts masks" if several else "1, 2 or 3"
            )
        if found != wanted:
            such = "axes=0" if found == 1 else "axes=(1, 2) for a stack of planes, or (0, 1) for a picture's colours"
            fix = f"say along which of the image's axes, as in {such}" if found < wanted and not several else ""
            fix = 'masks="all" takes its first axis for several masks' if found == wanted + 1 and not several else fix
            raise ShapeError("mask", counted(found, "dimensions"), f"{wanted}, as many as the image{' and one' * several}", fix)
        if weights.size == 0:
            raise ShapeError("mask", f"shape {weights.shape}", "at least one element")
        if weights.shape[several:] != self.taps:
            raise ShapeError("mask", f"shape {weights.shape[several:]}", f"{self.taps}, as the operation was made for")
        if self.masks == "each" and (self.batch != 1 or image.shape[0] != weights.shape[0]):
            each = f"{image.shape[0]}, one for each {('signal', 'image', 'volume')[len(self.taps) - 1]} of the batch"
            each = each if self.batch == 1 else f"an image of which one axis counts images, not {self.batch}"
            raise ShapeError("mask", counted(weights.shape[0], "masks"), each, 'masks="all" filters by all of them')

    def halo(self, axis: str) -> Reach:
        """Planes or rows before and after; borders that mirror may need one more, one that wraps needs those of the other end."""
        if axis not in self.parted:
            return NOTHING
        number = self.dims.index(axis)
        taps, first = self.taps[number], self.offsets()[number]
        lo, hi = -first, first + taps - 1
        if self.boundary in ("reflect", "mirror"):
            # What mirrors reaches as far back from an end as it reached beyond it; "full" begins up to a mask beyond.
            lo, hi = (2 * taps, 2 * taps) if self.mode == "full" else (max(lo, hi + 1), max(hi, lo + 1))
        return Halo(lo, hi, self.boundary == "wrap")

    def flops(self, *specs: ArraySpec) -> float:
        """A multiplication and an addition a tap."""
        return 2.0 * math.prod(self.taps) * self.out_specs(*specs)[0].size

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """All in and out once; what a weight takes of a GPU hangs on the mask's shape.

        A processor's, under a mask of one column, takes a new row of an image as it is stored for every weight; of volumes it
        begins anew for every row of the mask; numbers of eight bytes take it twice as long.
        """
        found, (out,) = super().cost(limits, *specs), self.out_specs(*specs)
        if limits.family == "gpu" and self.taps:
            return replace(found, flops=found.flops * _on_a_gpu(self.taps, out) / max(math.prod(self.taps), 1))
        if not limits.host:
            return found
        wide = np.dtype(out.dtype).itemsize / 4
        return replace(found, flops=found.flops * wide * self._on_a_core(specs[0], out) / max(math.prod(self.taps), 1))

    def _on_a_core(self, image: ArraySpec, out: ArraySpec) -> float:
        """As many weights of a small mask as take a processor as long as one of this shape does."""
        weights, lines = float(math.prod(self.taps)), self._in_lines(out)
        if len(self.taps) == 1 or self._is_signal(image.shape):
            return weights
        if len(self.taps) == 3 and not self.batch and in_columns(image.shape, self.taps, out.shape):
            return _STRIPS * weights
        if lines:
            return _LINES * (weights if len(self.taps) == 2 else self._of_rows())
        # Blocks of outputs are as wide however narrow an image is.
        wide = 1.0 if self.batch and len(self.taps) == 2 else max(BLOCK / max(out.shape[-1], 1), 1.0)
        if len(self.taps) == 2:
            stored = self.reads(image.dtype) != self.summed(image.dtype)
            tall = (1 + self.taps[0] / _COLUMN if stored else _STRIPS) if self.taps[1] == 1 else _SLOWER
            return weights * wide * tall
        return _SLOWER * wide * self._of_rows()

    def _of_rows(self) -> float:
        """Weights of a volume's mask, and as many as beginning anew for each of its rows takes."""
        deep, tall, wide = self.taps
        each = _SHORT if wide == 1 else _ALONE[0] + _ALONE[1] * wide if tall == 1 else _ROW
        return float(deep * tall * (wide + each))

    def _in_lines(self, out: ArraySpec) -> bool:
        """Whether a processor makes lines of the columns of such results, whose rows are short."""
        made = out.shape
        if made[-1] * out.itemsize >= 4 * BLOCK or self.batch or self.masks != "one" or len(self.taps) < 2:
            return False
        taps, sizes = ((1,) * (3 - len(self.taps)) + shape for shape in (self.taps, made))
        return max(made[:-1]) >= THIN_LONG[0] // 2 and is_thin(taps, sizes)  # type: ignore[arg-type]

    def _is_signal(self, image: tuple[int, ...]) -> bool:
        """Whether an image of one column, under a mask of one, is summed as the signal that it is."""
        return len(self.taps) == 2 and not self.batch and self.taps[1] == 1 == image[-1]

    def tell(self, b: Builder) -> None:
        """Say what the plan's reader should know: of direct sums nothing."""

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record one launch; a part's rows lie where its window begins, and its borders are the image's own."""
        image, weights, out = refs
        kind = self.summed(image.spec.dtype)
        x = b.bring(image, dtype=line_reads(b.limits, image.spec.dtype, kind) if self.after else self.reads(image.spec.dtype))
        w = b.bring(weights, dtype=kind)
        with b.deliver(out, dtype=kind) as y:
            self.launch(b, x, w, y, out)

    def launch(self, b: Builder, x: Ref, w: Ref, y: Ref, out: Ref) -> None:
        """Record the sums of ``x`` in ``y``, which lies where ``out`` does."""
        if self.masks != "one":
            one = replace(self, masks="one", batch=self.batch - (self.masks == "each"))
            with b.repeat(w) as loop:
                one.launch(b, x.row(loop) if self.masks == "each" else x, w.row(loop), y.row(loop), out)
            return
        starts: list[Any] = self.offsets()
        borders = [self.boundary] * len(self.taps)
        for number, axis in enumerate(self.parted):
            starts[number], borders[number] = place(b, axis, x, out, starts[number], self.boundary)
        if self.after:
            lines = (x.around(self.batch), y.around(self.batch))
            x, y = lines if self.batch else (one[0] for one in lines)
            down: dict[str, Any] = {"down": True, "planes": self.batch > 0, "first": starts[0], "border": borders[0]}
            b.launch("separable.line", x, w, y, cval=float(self.cval), **down)
            return
        if len(self.taps) == 1:
            w = w.reshape(1, -1)
            if self.batch != 1:
                x, y = (ref.reshape(-1, ref.spec.shape[-1]) if self.batch else ref.reshape(1, -1) for ref in (x, y))
            starts, borders = [0, *starts], [NONE, *borders]
        elif self._is_signal(x.spec.shape) and not self.settings():
            x, w, y = (ref.reshape(1, -1) for ref in (x, w, y))
            starts, borders = [0, starts[0]], [NONE, borders[0]]
        kernel = self.kernels[len(self.taps) - 1]
        how: dict[str, Any] = self.settings() | {f"{axis}0": start for axis, start in zip(AXES[-len(starts) :], starts)}
        how |= {f"border_{axis}": border for axis, border in zip(AXES[-len(starts) :], borders)}
        if not self.batch or len(self.taps) == 1:
            b.launch(kernel, x, w, y, cval=float(self.cval), **how)
            return
        if self.batch > 1:
            x, y = (ref.reshape(-1, *ref.spec.shape[self.batch :]) for ref in (x, y))
        if self.together and b.limits.host and len(self.taps) == 2:
            b.launch(self.together, x, w, y, cval=float(self.cval), **how)
            return
        with b.repeat(y) as loop:
            b.launch(kernel, x.row(loop), w, y.row(loop), cval=float(self.cval), **how)


@dataclass(frozen=True)
class OfSums(Op):
    """What is made of the sums of ``of``, and cut as they are."""

    of: Correlate

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of image and mask."""
        return self.of.axes

    @property
    def cut(self) -> str:  # type: ignore[override]
        """As the sums are."""
        return self.of.cut

    @property
    def units(self) -> dict[str, str]:  # type: ignore[override]
        """As the sums'."""
        return self.of.units

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """As the sums are."""
        return self.of.cuts_on(limits, ins)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, mask and out."""
        return self.of.names()

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Those of the sums."""
        return self.of.out_specs(*specs)

    def grain(self, *specs: ArraySpec) -> int:
        """That of the sums."""
        return self.of.grain(*specs)

    def grain_along(self, axis: str, *specs: ArraySpec) -> int:
        """That of the sums."""
        return self.of.grain_along(axis, *specs)

    def halo(self, axis: str) -> Reach:
        """That of the sums."""
        return self.of.halo(axis)


def _on_a_gpu(taps: tuple[int, ...], out: ArraySpec) -> float:
    """As many weights of a small mask as take a GPU as long as one of this shape does, for results of a shape."""
    deep, tall, wide = (1,) * (3 - len(taps)) + taps
    if deep == tall == 1 or 0 in (deep, tall, wide):
        return float(wide)
    if wide == 1 and (tall == 1 or len(taps) == 2):
        return deep * tall * (1.0 if launches_down(deep * tall, out.itemsize) == 1 else _LAUNCHES)
    width, height = max(out.shape[-1], 1), max(out.shape[-2], 1)
    found = float(deep * tall * wide)
    if max(tall, wide) > UNROLLED:
        tiles = -(-width // _TILE[0]) * -(-height // _TILE[1]) * max(out.size // (width * height), 1)
        found = _LARGE * deep * tall * (-(-wide // _PIECE) * _PIECE) * (1 + _ROWS / tall) * max(_CORES / tiles, 1.0)
    if len(taps) == 3:
        found = _VOLUMES * (found + deep * _NEW)
    narrow = 1.0
    if width < _TILE[0]:
        side = min(max(1 << (width - 1).bit_length(), _SIDE[0]), _SIDE[1])
        narrow = _NARROW * -(-width // side) * side / width
    return found * narrow * max(_FLAT[0] + _FLAT[1] / height, 1.0)
