"""The filter by the beam, through which sources are searched, and what is told of them in the filtered image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from footprint.api._call import Face, Stream
from footprint.api._image import host
from footprint.api._sky import Sky
from footprint.errors import ArgumentError
from footprint.kernels.find_sources.contract import LABEL, PEAK, PIXELS, SPREAD
from footprint.kernels.sigma_clip.contract import NOISE
from footprint.ops.base import Table
from footprint.ops.matched import Smooth
from footprint.ops.measure import table_specs
from footprint.ops.sigma_clip import check_positive
from footprint.plan.faces import Region, Taker

# Standard deviations after which weights end, the largest full width, and what products may leave of all weights.
_REACH, _WIDEST, _LEFT = 3, 300.0, 1e-3


def filter_of(matched_filter: Any, sky: Sky) -> tuple[Smooth | None, dict[str, Any]]:
    """The filter that is asked for, and what a catalogue says of it."""
    if matched_filter is None or matched_filter is False:
        return None, {}
    if matched_filter is True or (isinstance(matched_filter, str) and matched_filter == "beam"):
        inverse = sky.inverse_beam
        if not inverse:
            fix = "give the full width of a point source in pixels"
            raise ArgumentError("matched_filter", repr(matched_filter), "an image whose header has the beam", fix)
        yy, yx, xx = inverse
        covariance = np.linalg.inv(np.array([[yy, yx], [yx, xx]]))
    else:
        width = check_positive("matched_filter", matched_filter, "True, 'beam', or a full width in pixels above 0")
        _check_width(width)
        covariance = np.eye(2) * width**2 / (8 * math.log(2))
    sizes = np.sqrt(8 * math.log(2) * np.linalg.eigvalsh(covariance))
    _check_width(sizes[1])
    return _products(covariance), {"matched_filter": f"{sizes[1]:.6g} x {sizes[0]:.6g} pixels"}


def _check_width(width: float) -> None:
    if width > _WIDEST:
        raise ArgumentError("matched_filter", f"a full width of {width:.6g} pixels", f"one up to {_WIDEST:g}")


def _products(covariance: np.ndarray) -> Smooth:
    """Weights as sums of a few products of a column and a row: one, unless the axes of the filter are slanted."""
    half = [math.ceil(_REACH * math.sqrt(one)) for one in np.diag(covariance)]
    y, x = (np.arange(-n, n + 1, dtype=float) for n in half)
    if abs(covariance[0, 1]) < 1e-9 * covariance.trace():
        tall, wide = (np.exp(-one * one / (2 * size))[None] for one, size in zip((y, x), np.diag(covariance)))
    else:
        yy, yx, _, xx = np.linalg.inv(covariance).ravel()
        weights = np.exp(-(yy * y[:, None] ** 2 + 2 * yx * y[:, None] * x + xx * x * x) / 2)
        columns, sizes, rows = np.linalg.svd(weights, full_matrices=False)
        left = np.append(np.cumsum(sizes[::-1])[::-1], 0.0)
        rank = max(1, int(np.argmax(left <= _LEFT * sizes.sum())))
        tall, wide = columns[:, :rank].T * sizes[:rank, None], rows[:rank]
    total = float((tall.sum(1) * wide.sum(1)).sum())
    return Smooth(Table(tall / total), Table(wide))


class Through:
    """Takes what is found in the filtered image: its clip's statistics, tables of moments and boxes.

    Parameters
    ----------
    count
        How many rows are used, when the run has told.
    stats
        That the statistics go to, where there is a clip.
    """

    def __init__(self, count: Any, stats: np.ndarray) -> None:
        self.count, self.stats = count, stats
        self._peak, self._noise = np.empty(0), np.empty(0)
        self._rows = np.empty(0, np.int64)

    def sinks(self, capacity: int, local: bool) -> list[Face]:
        """What takes them."""
        specs = table_specs(capacity, local)
        tables = [Stream(Taker(take), spec, key="catalogue") for take, spec in zip((self._sums, self._boxes), specs)]
        return [*([] if local else [host(self.stats), host(np.zeros(8, np.int64))]), *tables]

    def _sums(self, region: Region, moments: np.ndarray) -> None:
        self._peak = moments[:, PEAK].copy()
        if moments.shape[1] > SPREAD:
            self._noise = moments[:, SPREAD].copy()

    def _boxes(self, region: Region, boxes: np.ndarray) -> None:
        self._rows = np.flatnonzero((boxes[:, PIXELS] > 0) & (boxes[:, LABEL] > 0))

    @property
    def snr(self) -> np.ndarray:
        """Peaks over the noise of the filtered image, there, of what counts."""
        rows = self._rows[self._rows < int(self.count[0])]
        noise = self._noise[rows] if len(self._noise) else self.stats[NOISE]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._peak[rows] / noise)
