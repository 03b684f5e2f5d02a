"""Where the rotation axis is: opposite projections, one mirrored, registered on each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from footprint.errors import ArgumentError
from footprint.ops.base import Op, Table
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec
from footprint.units import counted

# Projections that are compared with their opposites, spread over the turn where there are many.
_BASES = 4
_ROUND = np.array([1, 4, 6, 4, 1]) / 16
# Radians by which an opposite may miss 180 degrees and count as exact, and beyond which it is none.
_EXACT, _FARTHEST = 2e-4, np.deg2rad(6.0)


@dataclass(frozen=True)
class Opposite:
    """A projection, the one nearest to its opposite, and the next nearest, with what each misses of 180 degrees (radians)."""

    base: int
    near: int
    missed: float
    next: int
    next_missed: float


def opposites(angles: np.ndarray, most: int = _BASES) -> list[Opposite]:
    """Choose at most so many projections to compare; empty where none has another within 6 degrees, or a step, of its opposite."""
    angles = np.asarray(angles, np.float64)
    if len(angles) < 2:
        return []
    full = 2 * np.pi
    order = np.argsort(np.mod(angles, full), kind="stable")
    turned = np.mod(angles, full)[order]
    found = []
    for base, angle in enumerate(angles):
        at = int(np.searchsorted(turned, np.mod(angle + np.pi, full)))
        around = {int(order[(at + k) % len(order)]) for k in range(-2, 3)} - {base}
        missed = {i: float(np.mod(angles[i] - angle, full) - np.pi) for i in around}
        ranked = sorted(around, key=lambda i: (abs(missed[i]), i))
        near = ranked[0]
        # A repeated angle says nothing more; the next one must differ.
        later = next((i for i in ranked[1:] if abs(missed[i] - missed[near]) > _EXACT), near)
        found.append(Opposite(base, near, missed[near], later, missed[later]))
    best = min(abs(o.missed) for o in found)
    # A half turn whose last step is left out misses by that step, however coarse the scan is.
    step = float(np.median(np.diff(np.sort(np.unique(turned))))) if len(np.unique(turned)) > 1 else 0.0
    if best > max(_FARTHEST, 1.05 * min(step, np.pi / 8)):
        return []
    # Every exact pair turns up from both its ends: one is enough.
    usable = [o for o in found if abs(o.missed) <= max(1.05 * best, _EXACT) and not (abs(o.missed) <= _EXACT and o.near < o.base)]
    picks = np.unique(np.linspace(0, len(usable) - 1, min(most, len(usable))).round().astype(int))
    return [usable[i] for i in picks]


@dataclass(frozen=True)
class RotationAxis(Op):
    """Normalised correlation of opposite projections at every doubled axis ``first`` to ``first + count - 1``.

    Attributes
    ----------
    angles
        Of all projections, in radians.
    bases
        How many projections are compared with their opposites, at most.
    window
        Pixels on both sides of the axis that count, 0 for all that both have seen.
    differ
        Not the correlation but 1 less the variance of the difference over the sum of the variances.
    joined
        One axis of the mean of all comparisons, not the median of one of each.
    """

    angles: Table
    first: int
    count: int
    bases: int = _BASES
    window: int = 0
    differ: bool = False
    joined: bool = False

    axes = ("zax",)
    doubtful = 0.5

    @property
    def rows(self) -> int:
        """Detector rows compared at most: more add time and little certainty."""
        return max(4, 16 * _BASES // self.bases)

    @cached_property
    def chosen(self) -> list[Opposite]:
        """The projections compared."""
        return opposites(self.angles.array, self.bases)

    @property
    def frames(self) -> list[int]:
        """The projections read, in the order of the raw block."""
        return sorted({i for o in self.chosen for i in (o.base, o.near, o.next)})

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Two correlations a comparison: with the nearest opposite, and with the next."""
        if not self.chosen:
            angles = self.angles.array
            span = float(np.rad2deg(np.ptp(angles))) if len(angles) else 0.0
            found = f"{counted(len(angles), 'projections')} over {span:.4g} degrees"
            wanted = "projections 180 degrees apart, which are compared to find the axis"
            raise ArgumentError("center", found, wanted, "give the axis as a number")
        return (ArraySpec((2 * len(self.chosen), self.count), "float64"),)

    def flops(self, *specs: ArraySpec) -> float:
        """Five sums of products a sample, shift and comparison."""
        n_z, _, n_x = specs[0].shape
        return 10.0 * n_z * n_x * self.count * 2 * len(self.chosen)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the registration of the line integrals of the projections read."""
        place = {frame: k for k, frame in enumerate(self.frames)}
        pairs = np.array([[place[o.base], place[i]] for o in self.chosen for i in (o.near, o.next)], np.int64)
        lines = b.bring(refs[0], "float32")
        with b.deliver(refs[1]) as found:
            b.launch(
                "rotation_axis", lines, b.const(pairs, "pairs"), found, first=self.first, window=self.window, differ=self.differ
            )

    def axis(self, correlations: np.ndarray) -> tuple[float, float, float]:
        """The axis, how well projections agree there (0 to 1), and the spread between comparisons in pixels."""
        if self.joined:
            return self._joint(correlations)
        centers, scores = [], []
        for i, o in enumerate(self.chosen):
            center, score = self._one(correlations[2 * i], correlations[2 * i + 1], o.missed, o.next_missed)
            if np.isfinite(center):
                centers.append(center)
                scores.append(score)
        if not centers:
            return float("nan"), 0.0, float("nan")
        spread = float(np.std(centers)) if len(centers) > 1 else 0.0
        return float(np.median(centers)), float(np.clip(np.median(scores), 0, 1)), spread

    def _one(self, nearest: np.ndarray, following: np.ndarray, missed: float, next_missed: float) -> tuple[float, float]:
        """The axis where a comparison's correlation is highest, and how high."""
        near, score = _peak(nearest)
        after, _ = _peak(following)
        if abs(missed) > _EXACT and abs(next_missed - missed) > _EXACT and np.isfinite(near + after):
            # What an angle misses moves the object a little; to first order the axis moves in proportion.
            near = (near * next_missed - after * missed) / (next_missed - missed)
        return float((self.first + near) / 2), score

    def _joint(self, correlations: np.ndarray) -> tuple[float, float, float]:
        """The axis of the mean over all comparisons; the spread is that of every fourth of them, and so on."""
        missed = np.array([[o.missed, o.next_missed] for o in self.chosen])
        pairs = correlations.reshape(len(missed), 2, -1)

        def joint(part: slice) -> tuple[float, float]:
            return self._one(*pairs[part].mean(axis=0), *missed[part].mean(axis=0))

        center, score = joint(slice(None))
        groups = min(4, len(missed))
        each = [joint(slice(k, None, groups))[0] for k in range(groups)]
        return center, float(np.clip(score, 0, 1)), float(np.std(each))

    def curve(self, correlations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions, and the mean of the comparisons with the nearest opposites there: the higher the better."""
        return (self.first + np.arange(self.count)) / 2, correlations[::2].mean(axis=0)

    def said(self, correlations: np.ndarray) -> str:
        """What speaks against the result beside score and spread: nothing."""
        return ""


def _peak(row: np.ndarray) -> tuple[float, float]:
    """The highest local maximum between samples by a parabola, and its value; NaN where there is none inside."""
    if len(row) < 3:
        return float("nan"), 0.0
    inner = row[1:-1]
    local = np.flatnonzero((inner >= row[:-2]) & (inner >= row[2:]) & (inner > 0))
    if local.size == 0:
        return float("nan"), 0.0
    k = 1 + int(local[np.argmax(inner[local])])
    left, middle, right = row[k - 1 : k + 2]
    # Sharp edges give a pointed peak, which a parabola would draw to the nearest sample: three samples round it first.
    if 3 <= k < len(row) - 3:
        left, middle, right = np.convolve(row[k - 3 : k + 4], _ROUND, mode="valid")
    bend = left - 2 * middle + right
    return k + (0.5 * (left - right) / bend if bend < 0 else 0.0), float(row[k])
