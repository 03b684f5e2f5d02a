"""What windowed centres add to source finding: how wide windows are, and columns of places with errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._sky import Sky
from footprint.kernels.windowed.contract import LIGHT, NOISE_X, NOISE_Y, SIZE, X, Y
from footprint.ops.sigma_clip import check_positive
from footprint.ops.windowed import Windowed

_FWHM = math.sqrt(8 * math.log(2))
# Rows worked on at a time.
_ROWS = 1024


@dataclass(frozen=True)
class Windows:
    """Windows that are wanted.

    Attributes
    ----------
    size
        Their standard deviation in pixels; 0 for each source's own.
    beam_area
        In pixels, where one is known.
    """

    size: float
    beam_area: float | None

    def op(self, capacity: int) -> Windowed:
        """Of so many sources."""
        return Windowed(capacity, self.size)

    def tell(self) -> dict[str, str]:
        """What metadata say of them: their full width."""
        return {"windowed": f"{self.size * _FWHM:.6g} pixels" if self.size else "by each source's size"}

    def columns(self, table: np.ndarray) -> dict[str, np.ndarray]:
        """Places, and what noise makes of them, correlated by the beam where one is known.

        Of independent pixels the variance is 4 sum (w noise dx)^2 / (sum w v)^2; noise of a beam of s pixels in a window of t has
        4 pi s^2 t^4 / (s^2 + t^2)^2 times that.
        """
        found = {"x_win": table[:, X].copy(), "y_win": table[:, Y].copy()}
        for name, column in (("x_win_err", NOISE_X), ("y_win_err", NOISE_Y)):
            found[name] = np.empty(len(table))
            for first in range(0, len(table), _ROWS):
                rows = table[first : first + _ROWS]
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    variance = 4 * rows[:, column] / rows[:, LIGHT] ** 2
                    if self.beam_area:
                        beam, own = self.beam_area / (2 * np.pi), rows[:, SIZE] ** 2
                        variance *= np.maximum(4 * np.pi * beam * own**2 / (beam + own) ** 2, 1)
                    found[name][first : first + _ROWS] = np.where(np.isfinite(rows[:, X]), np.sqrt(variance), np.nan)
        return found


def check_windowed(windowed: Any, sky: Sky) -> Windows | None:
    """The windows that are wanted; None for none."""
    if windowed is None or windowed is False:
        return None
    if windowed is True:
        return Windows(math.sqrt(sky.beam_area / (2 * math.pi)) if sky.beam_area else 0.0, sky.beam_area)
    width = check_positive("windowed", windowed, "True, or a full width in pixels above 0")
    return Windows(width / _FWHM, sky.beam_area)
