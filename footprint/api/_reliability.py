"""The threshold at which a share of what is found is real, by what is found in the inverted image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._search import Search, largest_plan, lowest
from footprint.errors import ArgumentError
from footprint.kernels.sigma_clip.contract import NOISE


@dataclass(frozen=True)
class Reliable:
    """What was chosen.

    Attributes
    ----------
    share
        Of detections that are to be real.
    sigma
        The threshold.
    detections, negatives
        How many the image has over it, and the inverted image.
    """

    share: float
    sigma: float
    detections: int
    negatives: int

    def tell(self) -> dict[str, Any]:
        """What a catalogue says of it."""
        return {"reliability": self.share, "detections": self.detections, "negatives": self.negatives}


def check_reliability(reliability: Any) -> float | None:
    """A share from 0 to 1, or None."""
    if reliability is None:
        return None
    try:
        share = float(reliability)
    except (TypeError, ValueError, OverflowError):
        share = float("nan")
    if not 0 <= share <= 1 or isinstance(reliability, bool):
        raise ArgumentError("reliability", repr(reliability), "a number from 0 to 1, such as 0.9")
    return share


def trials(search: Search) -> list[Search]:
    """The searches of the image and of its inverse that tell: islands reach down to the lowest threshold, or to the flood given."""
    low, flood = lowest(search.rules.flood), search.rules.flood
    return [search.bare(sigma=low, flood=low if flood is None else flood, inverted=inverted) for inverted in (False, True)]


def threshold_of(share: float, search: Search) -> Reliable:
    """Search the image and its inverse down to the lowest threshold, and choose."""
    peaks, both = [], trials(search)
    largest_plan([search, *both])
    for one in both:
        columns = one.run().columns
        noise = columns["noise"] if "noise" in columns else one.stats[NOISE]
        with np.errstate(divide="ignore", invalid="ignore"):
            peaks.append(columns["filtered_snr"] if "filtered_snr" in columns else columns["peak"] / noise)
    return choose(share, peaks[0], peaks[1], lowest(search.rules.flood), search.rules.sigma)


def choose(share: float, real: np.ndarray, false: np.ndarray, low: float, usual: float) -> Reliable:
    """The lowest threshold t with (1 + negatives over t) <= (1 - share) (detections over t).

    The 1 keeps a few peaks of noise from passing for sources: where every detection is as likely to be a negative, the share of
    wrong ones among those chosen is 1 - share at most, on average (Barber and Candes 2015). Where no threshold does, for want of
    detections, it is the usual one, or the highest negative's where that is higher.
    """
    real, false = np.sort(real[np.isfinite(real)]), np.sort(false[np.isfinite(false)])
    # Between two negatives a higher threshold only loses detections.
    trial = np.concatenate([[low], false[false > low]])
    over, wrong = len(real) - np.searchsorted(real, trial, "right"), len(false) - np.searchsorted(false, trial, "right")
    good = np.flatnonzero(1 + wrong <= (1 - share) * over)
    if len(good):
        at = int(good[0])
        return Reliable(share, float(trial[at]), int(over[at]), int(wrong[at]))
    level = max(usual, low, float(false[-1]) if len(false) else 0.0)
    return Reliable(share, level, int(np.sum(real > level)), int(np.sum(false > level)))
