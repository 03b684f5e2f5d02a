"""Where the rotation axis is, by N. T. Vo's metric: a turn joined of two halves has nothing where no object's sinogram has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from footprint.errors import ArgumentError
from footprint.kernels.fourier_metric.contract import FINE, STEP, highest
from footprint.ops.base import Op, Table
from footprint.ops.filters import fast_length
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# Projections taken of a long scan, and the least that say anything.
_MOST, _LEAST = 1800, 8
# A gap this many times the usual is a part of the half turn that is missing.
_WIDE, _SAME = 1.6, 1e-5
# Lowest frequencies along the angle that are left out, as Vo does, and of a short scan a share of them.
_DROP, _SHARE = 20, 0.1
# Ends of rows brighter than this share of their brightest part: the sample is wider than the detector.
_CUT_OFF = 0.15


@dataclass(frozen=True)
class FourierMetric(Op):
    """The metric of sinograms of a half turn at every doubled axis ``first`` to ``first + count - 1``, and finely about the least.

    N. T. Vo et al., "Reliable method for calculating the center of rotation in parallel-beam tomography", Opt. Express 22, 19078
    (2014).

    Attributes
    ----------
    angles
        Of all projections, in radians.
    n_x
        Detector pixels.
    """

    angles: Table
    n_x: int
    first: int
    count: int

    axes = ("zax",)
    rows = 4
    doubtful = 0.35

    @cached_property
    def frames(self) -> list[int]:
        """The projections read: of a half turn, by angle; empty where there is none."""
        angles = np.asarray(self.angles.array, np.float64)
        order = np.argsort(angles, kind="stable")
        # Of a repeated angle one is enough, and the opposite of the first says what the first does.
        order = order[np.diff(angles[order], prepend=-np.inf) > _SAME]
        if len(order) < _LEAST:
            return []
        usual = float(np.median(np.diff(angles[order])))
        half = order[angles[order] < angles[order[0]] + np.pi - usual / 2]
        steps = np.diff(angles[half], append=angles[half[0]] + np.pi)
        if len(half) < _LEAST or steps.max() > _WIDE * np.median(steps) or steps.min() < np.median(steps) / _WIDE:
            return []
        every = -(-len(half) // _MOST)
        # Angles have to stay equally far apart across the joint.
        every = next((n for n in range(every, len(half)) if len(half) % n == 0), 1)
        every = every if len(half) // every >= _MOST // 4 else 1
        return [int(i) for i in half[::every]]

    @property
    def padded(self) -> int:
        """Length that rows are transformed at: mirrored about any axis they do not meet themselves."""
        return 2 * fast_length(self.n_x)

    @property
    def radius(self) -> float:
        """Of the object, in pixels: half the detector."""
        return self.n_x / 2

    @property
    def drop(self) -> int:
        """Frequencies along the angle left out."""
        return min(_DROP, int(_SHARE * len(self.frames)))

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """A row of metrics a sinogram, see the kernel's contract."""
        if not self.frames:
            fix = "use another method, or give the axis as a number"
            raise ArgumentError("center", "'vo'", "at least a half turn in equal steps", fix)
        n_z = specs[0].shape[0] if specs else self.rows
        return (ArraySpec((n_z, self.count + FINE + 2), "float64"),)

    def flops(self, *specs: ArraySpec) -> float:
        """Sums over the region, at every position."""
        return 4e5 * specs[0].shape[0] * self.count

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the transforms, a row at a time, and the metric of all."""
        lines = b.bring(refs[0], "float32")
        n_z, n, n_x = lines.spec.shape
        n_f = highest(n_x, n, self.padded, self.radius)
        columns = b.scratch((n_z, n_f, 2 * n), "complex64", "columns")
        with b.repeat(lines) as z:
            spectrum = b.scratch((n, self.padded // 2 + 1), "complex64", "spectrum")
            own = columns.row(z)
            b.fft(lines.row(z), spectrum)
            b.launch("fourier_metric.columns", spectrum, own)
            b.fft(own, own)
        numbers = {"first": self.first, "padded": self.padded, "radius": self.radius, "drop": self.drop}
        with b.deliver(refs[1]) as found:
            b.launch("fourier_metric", columns, lines, found, **numbers)

    # -- what it found -------------------------------------------------------------------------------------------------
    def axis(self, found: np.ndarray) -> tuple[float, float, float]:
        """The axis, how much lower the metric is there than elsewhere (0 to 1), and the spread between rows in pixels."""
        coarse, fine = found[:, : self.count], found[:, self.count : -2]
        usual = float(np.median(coarse.sum(axis=0)))
        if not usual > 0 or not np.isfinite(found).all():
            return float("nan"), 0.0, float("nan")
        center = _least(fine.sum(axis=0), found[0, -2])
        each = []
        for rough, close in zip(coarse, fine):
            near = (self.first + int(np.argmin(rough))) / 2
            each.append(_least(close, found[0, -2]) if abs(near - center) <= STEP * (FINE // 2) else near)
        return center, float(np.clip(1 - fine.sum(axis=0).min() / usual, 0, 1)), float(np.std(each))

    def curve(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions, and the mean of the metric over rows there: the lower the better."""
        return (self.first + np.arange(self.count)) / 2, found[:, : self.count].mean(axis=0)

    def said(self, found: np.ndarray) -> str:
        """What speaks against the result, nothing where nothing does."""
        share = float(np.median(found[:, -1]))
        if share < _CUT_OFF:
            return ""
        return f"rows end at {share:.0%} of their brightest: of a sample wider than the detector this method finds the middle"


def _least(values: np.ndarray, start: float) -> float:
    """The lowest between samples, by a parabola."""
    k = int(np.argmin(values))
    if not 0 < k < len(values) - 1:
        return start + k * STEP
    left, middle, right = values[k - 1 : k + 2]
    bend = left - 2 * middle + right
    return float(start + (k + (0.5 * (left - right) / bend if bend > 0 else 0.0)) * STEP)
