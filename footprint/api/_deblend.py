"""What deblending adds to source finding: its arguments, where it runs, and the columns of parts of islands."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Array
from footprint.api._call import Face
from footprint.api._fit import columns_of
from footprint.api._light import Photometry
from footprint.api._room import Room
from footprint.api._windowed import Windows
from footprint.api.measure import Crowded, Islands
from footprint.errors import ArgumentError, flag
from footprint.kernels.deblend.contract import COMPONENT, COMPONENTS, ISLAND, crowded, default_rooms
from footprint.kernels.find_sources.contract import default_capacities as whole_capacities
from footprint.kernels.fit.contract import COLUMNS
from footprint.kernels.windowed.contract import COLUMNS as PLACES
from footprint.ops.fit import Fit
from footprint.plan.faces import Region
from footprint.spec import ArraySpec

# What `contrast` is unless it is given.
_CONTRAST = 0.002
# Of the column `flags`.
BLENDED, AT_EDGE, HIDDEN = 1, 2, 8


def check_contrast(deblend: bool, contrast: Any) -> float | None:
    """A share of 0 to 1; None where nothing is to be taken apart."""
    try:
        share = float("nan") if isinstance(contrast, bool) else float(contrast)
    except (TypeError, ValueError, OverflowError):
        share = float("nan")
    if not 0 <= share <= 1:
        raise ArgumentError("contrast", repr(contrast), "a number from 0 to 1")
    if flag("deblend", deblend):
        return share
    if share != _CONTRAST:
        raise ArgumentError(
            "contrast", f"{contrast!r} without deblend=True", "it together with deblend=True", "or leave contrast out"
        )
    return None


def instead(device: Any, more: bool, image: Face | None = None) -> str:
    """Where an image on the host goes if a GPU that was not asked for has no room for what is made of it in any parts, as where
    ``more`` is made than a catalogue of islands.
    """
    on_host = not isinstance(image, Array) or image.device == "cpu"
    return "cpu" if more and device == "auto" and on_host else ""


def rooms_of(apart: float | None, size: int) -> tuple[Room, ...]:
    """What a plan has room for, the most first, the least where memory is short, for an image of so many pixels."""
    if apart is None:
        return tuple(Room(rows) for rows in whole_capacities(size))
    return tuple(Room(*room) for room in default_rooms(size))


def islands(
    count: Any, apart: float | None, shape: tuple[int, ...], fit: Fit | None = None, light: Photometry | None = None,
    windows: Windows | None = None,
) -> Islands:  # fmt: skip
    """What takes a plan's tables, ``apart`` or not."""
    if apart is None and fit is None and light is None and windows is None:
        return Islands(count)
    return Components(count, shape, apart is not None, fit, light, windows)


class Components(Islands):
    """Takes tables: moments, boxes, which island each part belongs to where they are ``apart``, fits, and light.

    Parameters
    ----------
    count
        The array that the run writes the number of rows to; what `crowded` reads where basins are too many.
    shape
        Of the image.
    """

    def __init__(
        self, count: Any, shape: tuple[int, ...], apart: bool = True, fit: Fit | None = None, light: Photometry | None = None,
        windows: Windows | None = None,
    ) -> None:  # fmt: skip
        super().__init__(count)
        self.shape, self.apart, self.fit, self.light, self.windows = shape, apart, fit, light, windows
        self._who: dict[str, np.ndarray] = {}

    def sinks(self, capacity: int, local: bool = False) -> list[Face]:
        """What takes them."""
        found = super().sinks(capacity, local)
        if self.apart:
            found.append(self._table(self._members, ArraySpec((capacity, 4), "int64")))
        if self.fit is not None:
            found.append(self._table(self._fits, ArraySpec((capacity, COLUMNS), "float64")))
        if self.light is not None:
            found.append(self._table(self._light, ArraySpec((capacity, self.light.op(capacity).columns), "float64")))
        if self.windows is not None:
            found.append(self._table(self._places, ArraySpec((capacity, PLACES), "float64")))
        return found

    def _sums(self, region: Region, moments: np.ndarray) -> None:
        count = int(self.count[0]) if isinstance(self.count, np.ndarray) else 0
        if count < 0:
            raise Crowded(0, *crowded(count))
        super()._sums(region, moments)

    def _members(self, region: Region, members: np.ndarray) -> None:
        used = members[: max(int(self.count[0]), 0)]  # type: ignore[index]
        flags = np.where(used[:, COMPONENTS] > 1, BLENDED, 0)
        flags[used[:, ISLAND] == 0] = HIDDEN
        self._who = {"island": used[:, ISLAND].copy(), "component": used[:, COMPONENT].copy(), "flags": flags}
        self._join()

    def _boxes(self, region: Region, boxes: np.ndarray) -> None:
        super()._boxes(region, boxes)
        self._join()

    def _join(self) -> None:
        """Put the members after the labels, when both are there: what another step reads, too, comes late."""
        found = self.columns
        if not self._who or "label" not in found:
            return
        for name, column in self._who.items():
            self._who[name] = column if len(column) == len(found["label"]) else column[: len(found["label"])].copy()
        for axis, n in zip("yx", self.shape):
            self._who["flags"][(found[f"{axis}_min"] == 0) | (found[f"{axis}_max"] == n - 1)] |= AT_EDGE
        self.columns = {"label": found.pop("label")} | self._who | found
        self._who = {}

    def _fits(self, region: Region, fits: np.ndarray) -> None:
        assert self.fit is not None
        # Rows are those that count already; of parts of islands, all.
        self.columns |= columns_of(fits[self.rows], self.fit.free)

    def _places(self, region: Region, table: np.ndarray) -> None:
        assert self.windows is not None
        self.columns |= self.windows.columns(table[self.rows])

    def _light(self, region: Region, sums: np.ndarray) -> None:
        assert self.light is not None
        self.columns |= self.light.columns(sums[self.rows])
