"""Stripes off sinograms, so that slices have no rings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.ops.families import SinogramFilter
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

METHODS = ("mean", "mean-division", "double-flatfield", "sorting", "large", "dead", "all")
SYNONYMS = {
    "mean-subtraction": "mean", "normalize": "mean", "sort": "sorting", "vo": "all", "vo-all": "all", "munch": "fw",
    "double-flat": "double-flatfield", "dff": "double-flatfield",
}  # fmt: skip
# Those of a mean over angles.
_LEVELS = ("mean", "mean-division", "double-flatfield")
# Share of a column's values at either end that its mean leaves out.
_DROP = 0.05


@dataclass(frozen=True)
class RemoveStripes(SinogramFilter):
    """What stands still from angle to angle taken off sinograms (n_z, n_angles, n_x), in place.

    Attributes
    ----------
    method
        One of `METHODS`.
    size
        Columns of the median that says what neighbours are like; of ``all``, that of its first steps.
    small
        Columns of the median of the sorting that ends ``all``.
    snr
        How far outside noise a column must be to count as a stripe.
    sigma
        Of the Gaussian, in columns, that says what of a mean is smooth.
    """

    method: str = "sorting"
    size: int = 21
    small: int = 21
    snr: float = 3.0
    sigma: float = 30.0

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Passes over the sinograms, and a window's search for every value."""
        nbytes, size = 4 * specs[0].size, specs[0].size
        if self.method in _LEVELS:
            return Cost(3 * nbytes, 3.0 * size, 3)
        windows = self.size + (self.small if self.method == "all" else 0)
        return Cost(12 * nbytes, size * (60.0 + 4 * windows), 12)

    def on_batch(self, b: Builder, part: Ref, most: int) -> None:
        """Record the method's steps."""
        _Batch(b, part, most).run(self)


class _Batch:
    """Some sinograms, and what is recorded on them."""

    def __init__(self, b: Builder, part: Ref, most: int) -> None:
        self.b, self.part, self.most = b, part, most
        _, self.n_a, self.n_x = part.spec.shape

    def run(self, op: RemoveStripes) -> None:
        """Record a method."""
        if op.method in _LEVELS:
            self._level(op.sigma, op.method == "mean-division", op.method == "double-flatfield")
        if op.method in ("dead", "all"):
            self._dead(op.size, op.snr)
        if op.method in ("large", "dead", "all"):
            self._large(op.size, op.snr)
        if op.method == "sorting":
            self._sorting(op.size)
        elif op.method == "all":
            self._sorting(op.small)

    def scratch(self, name: str, *shape: int, dtype: str = "float32") -> Ref:
        """Of so many sinograms as there are in the batch."""
        return self.b.scratch((self.most, *shape), dtype, name).like_rows(self.part)

    def _sorted(self, lines: Ref) -> tuple[Ref, Ref]:
        """Values of every column in order, and the angles they came from."""
        _, n_a, n_x = lines.spec.shape
        keys = self.scratch("sorted columns", n_x, n_a, dtype="uint32")
        places = self.scratch("angles of sorted columns", n_x, n_a, dtype="int32")
        self.b.launch("remove_stripes.sort", lines, keys, places)
        return keys, places

    def _smoothed(self, keys: Ref, size: int) -> Ref:
        smoothed = self.scratch("smoothed ranks", *keys.spec.shape[1:], dtype="uint32")
        self.b.launch("remove_stripes.smooth", keys, smoothed, size=size)
        return smoothed

    def _ratio(self, keys: Ref, smoothed: Ref, drop: int) -> Ref:
        ratio = self.scratch("ratios of columns", self.n_x)
        self.b.launch("remove_stripes.profile", keys, smoothed, ratio, drop=drop)
        return ratio

    def _marks(self, ratio: Ref, snr: float, edge: int) -> Ref:
        order, _ = self._sorted(ratio.reshape(-1, self.n_x, 1))
        marks = self.scratch("stripes", self.n_x, dtype="int32")
        self.b.launch("remove_stripes.detect", ratio, order, marks, snr=snr, edge=edge)
        return marks

    def _sorting(self, size: int) -> None:
        keys, places = self._sorted(self.part)
        self.b.launch("remove_stripes.unsort", self._smoothed(keys, size), places, self.part)

    def _large(self, size: int, snr: float) -> None:
        keys, places = self._sorted(self.part)
        smoothed = self._smoothed(keys, size)
        ratio = self._ratio(keys, smoothed, int(_DROP * self.n_a))
        marks = self._marks(ratio, snr, 0)
        self.b.launch("remove_stripes.divide", self.part, ratio)
        self.b.launch("remove_stripes.unsort_marked", smoothed, places, marks, self.part)

    def _dead(self, size: int, snr: float) -> None:
        rough = self.scratch("fluctuation of columns", self.n_x)
        self.b.launch("remove_stripes.roughness", self.part, rough)
        keys, _ = self._sorted(rough.reshape(-1, 1, self.n_x))
        ratio = self._ratio(keys, self._smoothed(keys, size), 0)
        self.b.launch("remove_stripes.bridge", self.part, self._marks(ratio, snr, 2))

    def _level(self, sigma: float, divide: bool, shares: bool) -> None:
        means, profile = self.scratch("means of columns", self.n_x), self.scratch("stripes of the mean", self.n_x)
        self.b.launch("remove_stripes.means", self.part, means, shares=shares)
        self.b.launch("remove_stripes.contrast", means, self.b.const(gaussian(sigma), "weights"), profile, divide=divide)
        self.b.launch(f"remove_stripes.{'divide' if divide else 'subtract'}", self.part, profile)


def gaussian(sigma: float) -> np.ndarray:
    """One half of a Gaussian's weights, the middle first, four sigma long, 1 in sum with the other half."""
    taps = np.exp(-0.5 * (np.arange(int(4 * sigma + 0.5) + 1) / sigma) ** 2)
    return taps / (2 * taps.sum() - taps[0])
