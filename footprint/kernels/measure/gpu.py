"""Launch shapes of moments and boxes: two sweeps over the labels, three of float64, at once or each over all parts of an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.errors import LimitError
from footprint.kernels.common.launch import A, Argument, Defines, Launch, Program, W
from footprint.kernels.common.load import c_type
from footprint.kernels.find_sources.contract import LOCAL_MOMENTS, MOMENTS
from footprint.kernels.label.gpu import CHUNK, sweepers
from footprint.kernels.threshold.gpu import groups_for
from footprint.spec import ArraySpec, Limits

KEEPERS = 256
# A pixel that is nowhere is the one beyond.
LARGEST = 2**32 - 2


def sum_specs(n: int) -> tuple[ArraySpec, ArraySpec]:
    """Counts, boxes and tops of each label; its six sums."""
    return ArraySpec((n, 9), "uint32"), ArraySpec((n, 6), "uint64")


def _defines(kind: str, chunks: bool, sky: bool, maps: bool = False, columns: int = MOMENTS) -> Defines:
    wide = int(kind == "f64")
    flags = ("WIDE", wide), ("CHUNKS", int(chunks)), ("SKY", int(sky)), ("MAPS", int(maps))
    return ("T", kind), *flags, ("CHUNK", CHUNK), ("MOMENTS", columns), ("NT", KEEPERS)


def plain_defines(dtype: str) -> Defines:
    """Of launches that see no pixels."""
    return _defines(c_type(dtype), False, False)


class Sweeps:
    """Launches that measure labels 1 to n in an image, or in a part of one that begins with row ``first`` of ``height``.

    Parameters
    ----------
    arrays
        Pixels, labels, stats, or a level and a spread of every pixel, moments, boxes.
    sums
        Arrays of `sum_specs`.
    chunks
        Label's: what is empty in them is passed over.
    sky
        Whether the background is subtracted.
    columns
        Of the moments; 0 for those that are found.
    """

    def __init__(
        self, limits: Limits, pixels: ArraySpec, n: int, arrays: tuple[Argument, ...], sums: tuple[Argument, Argument],
        chunks: Argument | None = None, sky: bool = False, first: int = 0, height: int | None = None, columns: int = 0,
    ) -> None:  # fmt: skip
        rows, width = pixels.shape
        self.rows, self.width, self.first, self.height = rows, np.int32(width), np.int32(first), rows if height is None else height
        if self.height * width > LARGEST:
            got, wanted = f"{self.height * width} pixels", f"at most {LARGEST} where a GPU measures it"
            raise LimitError("image", got, wanted, "measure it on the cpu")
        self.image, labels, *self.sky, self.moments, self.boxes = arrays
        self.ints, self.sums = sums
        self.n, self.size, self.wide = np.int32(n), np.int64(pixels.size), pixels.itemsize == 8
        maps = len(self.sky) == 2
        columns = columns or (LOCAL_MOMENTS if maps else MOMENTS)
        self.defines = _defines(c_type(pixels.dtype), chunks is not None, sky, maps, columns)
        n_chunks = -(-pixels.size // CHUNK)
        self._swept = sweepers(limits, n_chunks) if chunks else groups_for(limits, pixels.size)
        self._listed, self._across = groups_for(limits, n), groups_for(limits, width)
        shape = (self.size, np.int32(n_chunks), self.width, self.n, self.first)
        self._args: tuple[Argument, ...] = (self.image, labels, *self.sky, chunks or self.ints, self.ints, *shape)

    def _launch(self, entry: str, groups: int, *given: Argument) -> Launch:
        return Launch("measure.knl", entry, (groups, 1, 1), (256, 1, 1), given, self.defines)

    @property
    def open(self) -> Launch:
        """Nothing is found yet."""
        return self._launch("measure_open", self._listed, self.ints, self.sums, self.moments, self.boxes, self.n)

    @property
    def close(self) -> Launch:
        """Moments and boxes of what was found."""
        known = (self.image, self.ints, self.sums, *self.sky, self.moments, self.boxes)
        whole = np.int32(self.rows == self.height)
        return self._launch("measure_close", self._listed, *known, self.size, self.width, self.n, whole)

    @property
    def sweeps(self) -> tuple[Launch, ...]:
        """Over the pixels, one after the other."""
        low = (self._launch("measure_low", self._swept, *self._args),) if self.wide else ()
        sums = self._launch("measure_sums", self._swept, *self._args, self.sums)
        return (self._launch("measure_extent", self._swept, *self._args), *low, sums)

    def whole(self) -> tuple[Launch, ...]:
        """All of it."""
        return (self.open, *self.sweeps, self.close)

    def turn(self, number: int, last: Argument) -> tuple[Launch, ...]:
        """One sweep over a part; ``last`` keeps the last row of the part before."""
        made = (*((self.open,) if number == self.first == 0 else ()), self.sweeps[number])
        if number + 1 < len(self.sweeps):
            return made
        place = (self.first, np.int32(self.rows), self.width, self.n)
        known = (self.image, self.ints, last, *self.sky, self.moments, self.boxes)
        near = self._launch("measure_near", self._listed, *known, *place)
        before = np.int64(self.size - self.width)
        leave = self._launch("measure_leave", self._across, self.image, *self.sky, last, before, self.width)
        ends = self.first + self.rows == self.height
        return (*made, near, leave, *((self.close,) if ends else ()))


def keep(
    n: int, boxes: Argument, count: Argument, stats: Argument, moments: Argument, min_area: int, seed: float, defines: Defines
) -> Launch:
    """Number the labels of at least ``min_area`` pixels with a peak over ``seed`` times the noise."""
    args = (boxes, count, stats, moments, np.int32(n), np.int32(min(min_area, 2**31 - 1)), np.float64(seed))
    return Launch("measure.knl", "measure_keep", (1, 1, 1), (KEEPERS, 1, 1), args, defines)


def measure_state(
    limits: Limits, image: ArraySpec, labels: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *rest: ArraySpec, height: int, **_: object,
) -> tuple[ArraySpec, ...]:  # fmt: skip
    """In parts what is found of each label, and the row before a part."""
    return part_specs(image, boxes.shape[0]) if image.shape[0] < height else ()


def islands_state(
    limits: Limits, image: ArraySpec, labels: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *rest: ArraySpec, height: int, **_: object,
) -> tuple[ArraySpec, ...]:  # fmt: skip
    """As `measure_state`."""
    return measure_state(limits, image, labels, moments, boxes, height=height)


def part_specs(image: ArraySpec, n: int) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    """What parts of an image keep."""
    return (*sum_specs(n), ArraySpec((image.shape[1],), image.dtype))


def measure_program(
    limits: Limits, image: ArraySpec, labels: ArraySpec, moments: ArraySpec, boxes: ArraySpec, *state: ArraySpec, first: int,
    height: int, turn: int = 0,
) -> Program:  # fmt: skip
    """See `footprint.kernels.measure.contract` for the arguments."""
    n = boxes.shape[0]
    if n == 0:
        return Program(())
    # Without a sky nothing reads the third array; any stands in for it.
    arrays = (A(0), A(1), A(2), A(2), A(3))
    if image.shape[0] < height:
        return Program(Sweeps(limits, image, n, arrays, (A(4), A(5)), first=first, height=height).turn(turn, A(6)))
    made = Sweeps(limits, image, n, arrays, (W(0), W(1)))
    return Program(made.whole() if image.size else (made.open, made.close), sum_specs(n))


def islands_program(
    limits: Limits, image: ArraySpec, labels: ArraySpec, stats: ArraySpec, count: ArraySpec, moments: ArraySpec, boxes: ArraySpec,
    *state: ArraySpec, first: int, height: int, min_area: int, seed: float, turn: int = 0, **_: object,
) -> Program:  # fmt: skip
    """See `footprint.kernels.measure.contract` for the arguments."""
    n = boxes.shape[0]
    how: dict[str, Any] = {"sky": True, "height": height, "columns": moments.shape[1]}
    if image.shape[0] < height:
        part = Sweeps(limits, image, n, (A(0), A(1), A(2), A(4), A(5)), (A(6), A(7)), first=first, **how)
        last = turn + 1 == len(part.sweeps) and first + image.shape[0] == height
        kept = (keep(n, A(5), A(3), A(2), A(4), min_area, seed, part.defines),) if last else ()
        return Program((*part.turn(turn, A(8)), *kept))
    made = Sweeps(limits, image, n, (A(0), A(1), A(2), A(4), A(5)), (W(0), W(1)), **how)
    return Program((*made.whole(), keep(n, A(5), A(3), A(2), A(4), min_area, seed, made.defines)), sum_specs(n))


def renumber(limits: Limits, size: int, n: int, labels: Argument, boxes: Argument, out: Argument, defines: Defines) -> Launch:
    """The numbers that were kept for those of ``labels``; ``defines`` are those of any other launch."""
    args = (labels, boxes, out, np.int64(size), np.int32(n))
    return Launch("measure.knl", "measure_renumber", (groups_for(limits, size), 1, 1), (256, 1, 1), args, defines)


def renumber_program(limits: Limits, labels: ArraySpec, boxes: ArraySpec, out: ArraySpec) -> Program:
    """See `footprint.kernels.measure.contract` for the arguments."""
    return Program((renumber(limits, labels.size, boxes.shape[0], A(0), A(1), A(2), plain_defines("float32")),))
