"""Masks by name: ``gaussian:sigma=2``, ``box:5``, ``disk:7``, ``log:1.5``, made where they are read to, or the name of a file."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from footprint.api._beam import named_beam
from footprint.errors import ArgumentError, FormatError
from footprint.io import npy
from footprint.io.frames import reading
from footprint.io.image import open_image
from footprint.io.picture import is_picture
from footprint.units import counted

NAMES = "gaussian:sigma=2 (or fwhm=, truncate=4), box:5 or box:5x7, disk:7, log:1.5"
# The first word of a mask's name, and what a number without a name stands for.
_FIRST = {"gaussian": "sigma", "box": "size", "disk": "size", "log": "sigma"}
_ALSO = {"gaussian": ("fwhm", "truncate"), "log": ("truncate",)}
_FWHM = math.sqrt(8 * math.log(2))
# Weights of so many bytes are made at once, and then looked at as an array's are; more wait for a plan that they fit.
_SMALL = 32 << 10


def is_named(text: str) -> bool:
    """Whether a word is the name of a mask."""
    return text.partition(":")[0] in _FIRST and ":" in text


def open_mask(path: str, more: str = "") -> Any:
    """The mask of a name or a file, with the face of an open image; ``more`` are names that the caller knows besides."""
    if is_named(path) and not Path(path).exists():
        return NamedMask(path)
    try:
        return open_image(path)
    except FormatError as error:
        # --plane is the image's.
        fix = "a mask is one plane" if "--plane" in error.fix else error.fix
        if is_picture(path) and Path(path).exists():
            fix = "masks are read from such files; save the picture's weights as .npy"
        elif not Path(path).exists() and ":/" not in path and (":" in path or "." not in path):
            fix = f"masks by name are {NAMES}{more}"
        raise FormatError(path, error.problem, fix) from error


@contextmanager
def mask_called(
    word: str | os.PathLike[str], n_axes: int, masks: str = "one", held: bool = False, whole: tuple[int, ...] = ()
) -> Iterator[Any]:
    """The mask of a name, for so many axes, or of a file, as functions take it: an array or an open file; ``held`` is an array.

    ``masks`` is that of `convolve`; ``whole`` is the image's shape, where nobody said along which of its axes the mask lies.
    """
    path = os.fspath(word)
    if not path:
        raise ArgumentError("mask", "''", f"an array, the name of a file, or a name such as {NAMES}")
    there = Path(path).exists()
    if not there and named_beam(path) is not None:
        fix = "match_beam(image, header, target) finds the mask by the image's header"
        raise ArgumentError("mask", repr(path), "weights that need no header", fix)
    if is_named(path) and not there:
        if isinstance(masks, str) and masks != "one":
            raise ArgumentError("masks", repr(masks), "'one' beside a mask by name", "give an array of several masks")
        _ask_for_axes(path, whole)
        mask = _small(path, n_axes)
        yield mask.array() if held and isinstance(mask, NamedMask) else mask
        return
    if there and path.endswith(".npy") and len(shape := npy.header(path)[0]) != 2:
        # Of another number of axes, as an array that lies in a file.
        with reading(path):
            values = np.load(path, "r" if math.prod(shape) else None)
        yield values
        return
    with open_mask(path) as opened:
        yield opened.array() if held else opened


def _ask_for_axes(path: str, whole: tuple[int, ...]) -> None:
    """Refuse to take a picture's colours for its third dimension; ``box:5x5x3`` says itself that there are three."""
    if len(whole) == 3 and whole[2] in (3, 4) and min(whole[:2]) > 4 and path.count("x", path.index(":")) < 2:
        found = f"None for the mask {path!r} and an image of shape {tuple(whole)}"
        fix = "(0, 1) filters every colour of a picture, (0, 1, 2) a volume"
        raise ArgumentError("axes", found, "the axes along which it is filtered", fix)


@functools.lru_cache(8)
def _small(path: str, n_axes: int) -> Any:
    """The mask of a name, which is a small array if it is small; calls in a loop then find it, and their plan, at once."""
    mask = NamedMask(path, n_axes)
    if 8 * math.prod(mask.shape) > _SMALL:
        return mask
    values = mask.array()
    values.flags.writeable = False
    return values


class NamedMask:
    """A mask that a few numbers describe; its weights add up to 1, those of ``log`` to 0.

    Parameters
    ----------
    text
        ``gaussian`` with ``sigma`` or ``fwhm`` in pixels, to ``truncate`` (4) sigmas; ``box`` of ``height x width`` or of one
        size; ``disk`` so many pixels across; ``log``, the Laplacian of a Gaussian of ``sigma``.
    n_axes
        As many as the mask has; a disk has two.

    Attributes
    ----------
    shape, dtype, path
        As an image's.
    sigma
        Of a Gaussian, in pixels; None of all others.
    equal
        The weight of a box, each of which is that; None of all others.
    """

    header = None

    def __init__(self, text: str, n_axes: int = 2) -> None:
        self.path, self.dtype = text, np.dtype(np.float64)
        kind, given = self._parsed(text)
        self.kind, self.sigma, self.equal = kind, None, None
        if kind in ("box", "disk"):
            size = given.get("size", "")
            parts = [self._number(part, "size") for part in size.split("x")]
            if kind == "disk" and n_axes != 2:
                raise ArgumentError(
                    "mask", repr(text), f"a mask for {counted(n_axes, 'axes')}", "a disk has two, as in axes=(-2, -1)"
                )
            if len(parts) not in (1, n_axes if kind == "box" else 1) or any(part % 1 for part in parts if kind == "box"):
                # The names show boxes of two.
                many = f", one or {n_axes}" if n_axes != 2 else ""
                raise ArgumentError("mask", repr(text), f"whole numbers of pixels{many}, as in {NAMES}")
            self._size = parts[0]
            across = tuple(int(part) for part in (parts * n_axes)[:n_axes])
            self.shape = across if kind == "box" else (2 * int(parts[0] / 2) + 1,) * 2
            self.equal = 1 / math.prod(across) if kind == "box" else None
            return
        if ("sigma" in given) == ("fwhm" in given):
            raise ArgumentError("mask", repr(text), f"one width, as in {NAMES}")
        width = self._number(given["sigma"], "sigma") if "sigma" in given else self._number(given["fwhm"], "fwhm") / _FWHM
        self._width, truncate = width, self._number(given.get("truncate", "4"), "truncate")
        self.sigma = width if kind == "gaussian" else None
        self.shape = (2 * int(truncate * width + 0.5) + 1,) * n_axes

    def _parsed(self, text: str) -> tuple[str, dict[str, str]]:
        kind, _, rest = text.partition(":")
        found: dict[str, str] = {}
        for word in rest.split(","):
            name, equals, value = word.partition("=")
            name, value = (name.strip(), value.strip()) if equals else (_FIRST[kind], word.strip())
            if name in found or name not in (_FIRST[kind], *_ALSO.get(kind, ())):
                raise ArgumentError("mask", repr(text), f"a name such as {NAMES}")
            found[name] = value
        return kind, found

    def _number(self, text: str, name: str) -> float:
        value = float(text) if re.fullmatch(r"\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text, re.IGNORECASE) else math.nan
        if not (1e-9 < value < 1e9):
            raise ArgumentError("mask", repr(self.path), f"a {name} above 1e-9 and below 1e9, in pixels, as in {NAMES}")
        return value

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that `read` holds beside ``out``: some rows, and some planes of a volume."""
        planes = 4 * 8 * math.prod(self.shape[1:]) if len(self.shape) > 2 else 0
        return 64 * (sum(self.shape) + 64) + planes

    def array(self) -> np.ndarray:
        """All of the mask, new."""
        out = np.empty(self.shape)
        self.read(slice(0, self.shape[0]), out)
        return out

    def read(self, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of the mask, along its first axis."""
        if self.kind == "box":
            out[...] = self.equal
            return
        x = np.arange(self.shape[0]) - (self.shape[0] - 1) / 2
        if self.kind == "disk":
            total = sum(np.count_nonzero(at * at + x * x <= self._size**2 / 4) for at in x)
            for row, at in zip(out, x[rows]):
                row[...] = (at * at + x * x <= self._size**2 / 4) / total
            return
        bell = np.exp(-(x * x) / (2 * self._width**2))
        bell /= bell.sum()
        # Along the other axes, of which there may be none.
        others = len(self.shape) - 1
        bells = functools.reduce(np.multiply.outer, [bell] * others, np.ones(()))
        if self.kind == "gaussian":
            for i, weight in enumerate(bell[rows]):
                out[i] = weight * bells
            return
        # d2/dx2 of a Gaussian, with its sum taken off as far as the cut-off tails leave one.
        second = bell * (x * x - self._width**2) / self._width**4
        second -= bell * second.sum()
        bends = np.zeros(bells.shape)
        for axis in range(others):
            bends += functools.reduce(np.multiply.outer, [second if k == axis else bell for k in range(others)], np.ones(()))
        for i, (weight, bend) in enumerate(zip(bell[rows], second[rows])):
            out[i] = weight * bends + bend * bells

    def __enter__(self) -> NamedMask:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""
