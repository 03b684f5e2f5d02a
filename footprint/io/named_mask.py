"""Masks by name, with the face of a file: ``gaussian:sigma=2``, ``box:5``, ``disk:7``, ``log:1.5``. Made where they are read to."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from footprint.errors import ArgumentError

_DEGREES = {"": 1 / 3600, "arcsec": 1 / 3600, "arcmin": 1 / 60, "deg": 1.0}
NAMES = "gaussian:sigma=2 (or fwhm=, truncate=4), box:5 or box:5x7, disk:7, log:1.5"
# The first word of a mask's name, and what a number without a name stands for.
_FIRST = {"gaussian": "sigma", "box": "size", "disk": "size", "log": "sigma"}
_ALSO = {"gaussian": ("fwhm", "truncate"), "log": ("truncate",)}
_FWHM = math.sqrt(8 * math.log(2))


def is_named(text: str) -> bool:
    """Whether a word is the name of a mask."""
    return text.partition(":")[0] in _FIRST and ":" in text


def named_beam(text: str) -> tuple[float, float, float] | None:
    """The beam of ``beam:12`` (arcsec; also arcmin, deg) or ``beam:12x8,pa=30``, in degrees; None where it is no such name."""
    if not text.startswith("beam:"):
        return None
    size = r"(\d+\.?\d*(?:e-?\d+)?|\.\d+)"
    found = re.fullmatch(rf"beam:{size}(?:x{size})?(arcsec|arcmin|deg)?(?:,pa=(-?\d+\.?\d*))?", text)
    if found is None:
        raise ArgumentError("mask", repr(text), "a beam such as beam:12arcsec or beam:12x8,pa=30")
    unit = _DEGREES[found[3] or ""]
    return float(found[1]) * unit, float(found[2] or found[1]) * unit, float(found[4] or 0)


class NamedMask:
    """A mask that a few numbers describe; its weights add up to 1, those of ``log`` to 0.

    Parameters
    ----------
    text
        ``gaussian`` with ``sigma`` or ``fwhm`` in pixels, to ``truncate`` (4) sigmas; ``box`` of ``height x width`` or of one
        size; ``disk`` so many pixels across; ``log``, the Laplacian of a Gaussian of ``sigma``.

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

    def __init__(self, text: str) -> None:
        self.path, self.dtype = text, np.dtype(np.float64)
        kind, given = self._parsed(text)
        self.kind, self.sigma, self.equal = kind, None, None
        if kind in ("box", "disk"):
            size = given.get("size", "")
            parts = [self._number(part, "size") for part in size.split("x")]
            if len(parts) > (2 if kind == "box" else 1) or any(part % 1 for part in parts if kind == "box"):
                raise ArgumentError("mask", repr(text), f"whole numbers of pixels, as in {NAMES}")
            self._size = parts[0]
            across = tuple(int(part) for part in (parts * 2)[:2])
            self.shape = across if kind == "box" else (2 * int(parts[0] / 2) + 1,) * 2
            self.equal = 1 / (across[0] * across[-1]) if kind == "box" else None
            return
        if ("sigma" in given) == ("fwhm" in given):
            raise ArgumentError("mask", repr(text), f"one width, as in {NAMES}")
        width = self._number(given["sigma"], "sigma") if "sigma" in given else self._number(given["fwhm"], "fwhm") / _FWHM
        self._width, truncate = width, self._number(given.get("truncate", "4"), "truncate")
        self.sigma = width if kind == "gaussian" else None
        self.shape = (2 * int(truncate * width + 0.5) + 1,) * 2

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
        if not (0 < value < 1e9):
            raise ArgumentError("mask", repr(self.path), f"a {name} above 0 and below 1e9, in pixels, as in {NAMES}")
        return value

    def host_bytes(self, n_rows: int, dtype: Any = None) -> int:
        """Bytes that `read` holds beside ``out``: some rows."""
        return 64 * (sum(self.shape) + 64)

    def read(self, rows: slice, out: np.ndarray) -> None:
        """Fill ``out`` with rows of the mask."""
        y, x = (np.arange(n) - (n - 1) / 2 for n in self.shape)
        if self.kind == "box":
            out[...] = self.equal
            return
        if self.kind == "disk":
            total = sum(np.count_nonzero(at * at + x * x <= self._size**2 / 4) for at in y)
            for row, at in zip(out, y[rows]):
                row[...] = (at * at + x * x <= self._size**2 / 4) / total
            return
        bell = np.exp(-(x * x) / (2 * self._width**2))
        bell /= bell.sum()
        if self.kind == "gaussian":
            for row, weight in zip(out, bell[rows]):
                row[...] = weight * bell
            return
        # d2/dx2 of a Gaussian, with its sum taken off as far as the cut-off tails leave one.
        second = bell * (x * x - self._width**2) / self._width**4
        second -= bell * second.sum()
        for row, weight, bend in zip(out, bell[rows], second[rows]):
            row[...] = weight * second + bend * bell

    def __enter__(self) -> NamedMask:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""
