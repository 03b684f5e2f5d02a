"""Launch shapes of the sums along one axis, and along two at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footprint.kernels.common.borders import CODES, NONE
from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y, A, Argument, Defines, Launch, Program, rows_between
from footprint.kernels.common.load import c_type
from footprint.kernels.convolve.gpu import convolve_program
from footprint.kernels.separable.columns import BESIDE, LISTED, LONGEST, REGISTERS, chain_of, columns_of, columns_program, longest
from footprint.kernels.separable.contract import FUSED, cube, flat
from footprint.kernels.separable.rings import BLOCK, SIDE, ring_for
from footprint.spec import ArraySpec, Limits

ACROSS = ((12, 4, 128), (24, 2, 256), (32, 1, 384), (64, 1, 512))
"""Where a column's sums are so many words at most: columns of a work-item that sums in one pass, and work-items of a group. Of the
columns of its strip, as many as there are weights across, less one, are only read."""
NARROW = 20
"""Weights across beyond which a work-item makes two vectors of results, which share most of what they read on the chip."""
ALONG = 25
"""Words of a column's sums that an image of two bytes a pixel is taken to have at least: one column of it is read sooner."""
ALONE = ((127, 256), (176, 384))
"""Work-items of a group that sums so many weights across alone, where each has a vector of an image's columns."""
WIDEST = 704
"""Bytes of the most weights across that are summed so, all written out; a core's cache of instructions holds no more."""


def separable_program(
    limits: Limits,
    image: ArraySpec,
    tall: ArraySpec,
    wide: ArraySpec,
    out: ArraySpec,
    *,
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
) -> Program:
    """One launch: strips of columns, as wide as a group has work-items for."""
    if out.size == 0:
        return Program(())
    taps = tall.shape[0], wide.shape[0]
    if out.itemsize == 4 and (taps[0] > LONGEST or taps[1] > FUSED // 4):
        places: dict[str, Any] = {"y0": y0, "x0": x0, "border_y": border_y, "border_x": border_x, "cval": cval}
        return ring_program(limits, image, tall, wide, out, taps=taps, **places)
    t = strip(limits, image, np.dtype(out.dtype), *taps, x0, out.shape[2])
    tables = (("tall", A(1)), ("wide", A(2)))
    return _strips(limits, image, out, t, (y0, x0), (border_y, border_x), cval, (A(0), A(3)), tables)


def rows_program(
    limits: Limits, image: ArraySpec, weights: ArraySpec, out: ArraySpec, x0: int, border: str, cval: float
) -> Program:
    """Sums across alone, of some rows: one launch, as `separable_program`."""
    one, made = (ArraySpec((1, *spec.shape), spec.dtype) for spec in (image, out))
    t = strip(limits, image, np.dtype(out.dtype), 0, weights.size, x0, out.shape[1])
    return _strips(limits, one, made, t, (0, x0), ("nearest", border), cval, (A(0), A(2)), (("wide", A(1)),))


def _strips(
    limits: Limits,
    image: ArraySpec,
    out: ArraySpec,
    t: Strip,
    first: tuple[int, int],
    borders: tuple[str, str],
    cval: float,
    arrays: tuple[A, A],
    tables: tuple[tuple[str, A], ...],
) -> Program:
    planes, height, width = out.shape
    strips, kh = -(-width // t.results), max(t.tall, 1)
    rows = rows_between(height, kh - 1, planes * strips, (limits.cores or CORES) * t.resident, LISTED)
    defines: Defines = (
        *columns_of(image, t.kind, t.each),
        *(("VECTOR", f"{c_type(t.kind)}x{t.side}"), ("VX", t.side), ("SIDES", t.sides), ("RY", t.together), ("AHEAD", t.ahead)),
        *(("ALONE", int(t.tall == 0)), ("KH", kh), ("KW", t.wide), ("CHAIN", chain_of(t.wide, longest(t.kind)))),
        *(("SHIFT", t.shift), ("NT", t.items), ("MIN_GROUPS", t.resident), ("PLACES", t.places)),
        *(("BORDER_Y", CODES[borders[0]]), ("BORDER_X", CODES[borders[1]])),
    )
    grid = (strips, min(-(-height // rows), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    args = (*arrays, *map(np.int64, (planes, *image.shape[1:], height, width, *first, rows)), t.kind.type(cval))
    return Program((Launch("separable.knl", "separable", grid, (t.items, 1, 1), args, defines, t.local, tables),))


@dataclass(frozen=True)
class Strip:
    """What a group does that sums down and across: ``items`` work-items with ``each`` columns, ``sides`` vectors of results."""

    kind: np.dtype
    tall: int
    wide: int
    shift: int
    each: int
    items: int
    sides: int

    @property
    def side(self) -> int:
        """Elements of a vector."""
        return 16 // self.kind.itemsize

    @property
    def together(self) -> int:
        """Rows that go through the chip at once."""
        return self.sides * self.side // self.each

    @property
    def ahead(self) -> int:
        """Rows that are on their way."""
        return max(2 * self.side // self.each, self.together)

    @property
    def results(self) -> int:
        """Columns of results."""
        return (self.items * self.each - self.shift - self.wide + 1) // self.side * self.side

    @property
    def resident(self) -> int:
        """Groups a core holds."""
        used = BESIDE + (self.each * self.tall + (0 if self.tall else 8 * self.sides)) * self.kind.itemsize // 4
        return min(max(REGISTERS // (used * self.items), 1), 8)

    @property
    def places(self) -> int:
        """Rows that are listed."""
        return LISTED + self.tall + 3 * self.ahead

    @property
    def local(self) -> int:
        """Bytes of rows of sums on the chip."""
        read = -(-(self.shift + self.wide + self.side * self.sides - 1) // self.side)
        half = (self.items // self.together + -(-read // self.sides) + 7 - 8 // self.sides) // 8 * 8 + 8 // self.sides
        return 2 * self.together * self.sides * half * 16


def strip(limits: Limits, image: ArraySpec, kind: np.dtype, tall: int, wide: int, x0: int, width: int) -> Strip:
    """As wide as pays for these weights and this image, and as fits on the chip."""
    words, side = tall * kind.itemsize // 4, 16 // kind.itemsize
    sides = 2 if wide > NARROW else 1
    least = ALONG if image.itemsize == 2 else 0
    each, most = next((cx, items) for few, cx, items in ACROSS if max(words, least) <= few and cx <= side)
    if not tall:
        sides, most = 2, next(items for few, items in ALONE if wide <= few) * side // each
    most = min(most, limits.group or most)
    base = Strip(kind, tall, wide, x0 % each, each, most, sides)
    strips = -(-width // base.results)
    enough = (replace(base, items=n) for n in range(32, most, 32))
    base = next((t for t in enough if t.results * strips >= width), base)
    smaller = (replace(base, items=n, sides=1) for n in range(base.items, 0, -32))
    fit = (t for t in (base, *smaller) if t.results > 0 and t.local + 8 * t.places <= limits.local_mem)
    return next(fit, base)


def line_program(
    limits: Limits,
    image: ArraySpec,
    weights: ArraySpec,
    out: ArraySpec,
    *,
    down: bool,
    first: int,
    border: str,
    cval: float,
    planes: bool = False,
) -> Program:
    """Down the columns by `columns_program`; across, where there are very many weights, by the kernel ``convolve``."""
    if out.size == 0:
        return Program(())
    if down:
        seen, made = (image, out) if planes else (flat(image, down), flat(out, down))
        return columns_program(limits, seen, weights, made, first, border, cval)
    if 1 < weights.size * out.itemsize <= WIDEST:
        return rows_program(limits, flat(image, down), weights, flat(out, down), first, border, cval)
    mask, places = ArraySpec((1, weights.size), weights.dtype), {"y0": 0, "x0": first, "border_y": NONE, "border_x": border}
    return convolve_program(limits, flat(image, down), mask, flat(out, down), cval=cval, **places)  # type: ignore[arg-type]


def cube_program(
    limits: Limits,
    image: ArraySpec,
    deep: ArraySpec,
    tall: ArraySpec,
    wide: ArraySpec,
    out: ArraySpec,
    *,
    z0: int,
    y0: int,
    x0: int,
    border_z: str,
    border_y: str,
    border_x: str,
) -> Program:
    """One launch: tiles of a plane that go through the planes."""
    if out.size == 0:
        return Program(())
    kind = np.dtype(out.dtype)
    side = 16 // kind.itemsize
    t = cube(limits, (deep.size, tall.size, wide.size), kind.itemsize, image.itemsize)
    assert t is not None
    shift = x0 % side
    tiles = -(-out.shape[2] // (t.across * side)) * -(-out.shape[1] // t.high)
    planes = rows_between(out.shape[0], deep.size + 1, tiles, (limits.cores or CORES) * t.resident, 1 << 30)
    defines: Defines = (
        *columns_of(image, kind, side),
        *(("VECTOR", f"{c_type(kind)}x{side}"), ("KD", deep.size), ("KH", tall.size), ("KW", wide.size), ("SHIFT", shift)),
        *(("ACROSS", t.across), ("HIGH", t.high), ("NT", t.items), ("DOWN", t.down), ("MIN_GROUPS", t.resident)),
        *(("AHEAD", t.ahead), ("E", f"u{8 * image.itemsize}" if np.dtype(image.dtype) != kind else c_type(kind))),
        *(("BORDER_Z", CODES[border_z]), ("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )
    grid = (-(-out.shape[2] // (t.across * side)), -(-out.shape[1] // t.high), -(-out.shape[0] // planes))
    args: tuple[Argument, ...] = (A(0), A(4), *map(np.int64, (*image.shape, *out.shape, z0, y0, x0, planes)))
    local = t.local(tall.size, t.read(wide.size, shift, side), image.itemsize * side)
    tables = (("deep", A(1)), ("tall", A(2)), ("wide", A(3)))
    return Program((Launch("cube.knl", "cube", grid, (t.items, 1, 1), args, defines, local, tables),))


def ring_program(
    limits: Limits,
    image: ArraySpec,
    tall: ArraySpec,
    wide: ArraySpec,
    out: ArraySpec,
    *,
    taps: tuple[int, int],
    y0: int,
    x0: int,
    border_y: str,
    border_x: str,
    cval: float,
    first_y: int = 0,
    first_x: int = 0,
    pairs: tuple[int, ...] = (),
) -> Program:
    """One launch: strips of columns, whose rows of sums across stay on the chip until they are summed down."""
    if out.size == 0:
        return Program(())
    planes, height, width = out.shape
    above, aside = (first_y % 2, first_x % 2) if pairs else (0, 0)
    shift, kind = (x0 - aside) % SIDE, np.dtype(out.dtype)
    t, rows = ring_for(limits, taps, shift, (planes, height + above, width + aside))
    strips = -(-(width + aside) // t.items)
    chains = [chain_of(n // 2, most) for n, most in zip(taps, pairs)] or [chain_of(n, LONGEST) for n in taps]
    defines: Defines = (
        *columns_of(image, kind, SIDE),
        *(("VECTOR", "f32x4"), ("KH", t.tall), ("KW", t.wide), ("CHAIN_Y", chains[0]), ("CHAIN_X", chains[1])),
        *(("PAIRED", int(len(pairs) > 0)), ("TAPS_Y", tall.size), ("TAPS_X", wide.size), ("SHIFT", shift), ("NT", t.items)),
        *(("BLOCK", BLOCK), ("LANES", t.lanes), ("VECTORS", t.vectors), ("RAW_PITCH", t.raw_pitch), ("PITCH", t.pitch)),
        *(("MIN_GROUPS", t.resident), ("BORDER_Y", CODES[border_y]), ("BORDER_X", CODES[border_x])),
    )
    grid = (strips, min(-(-(height + above) // rows), MAX_GROUPS_Y), min(planes, MAX_GROUPS_Y))
    places = map(np.int64, (planes, *image.shape[1:], height, width, y0, x0, rows))
    args = (A(0), A(3), *places, np.int32(above), np.int32(aside), kind.type(cval))
    tables = (("tall", A(1)), ("wide", A(2)))
    return Program((Launch("ring.knl", "ring", grid, (t.items, 1, 1), args, defines, t.local, tables),))
