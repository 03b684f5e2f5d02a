"""Unsharp masks of projections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.ops.base import Table
from footprint.ops.branches import Branches
from footprint.ops.families import ProjectionFilter
from footprint.ops.remove_stripes import gaussian
from footprint.ops.separable import Taps
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits


@dataclass(frozen=True)
class Unsharp(ProjectionFilter):
    """Projections (n_angles, n_z, n_x) and ``amount`` times what a Gaussian of ``sigma`` pixels takes off them.

    Beyond the detector there is its mirror image, c b a | a b c d.
    """

    amount: float
    sigma: float = 1.0

    @property
    def reach_z(self) -> int:
        """The Gaussian's, and the row that is mirrored."""
        return len(gaussian(self.sigma))

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """That of its sums."""
        return self._filter().cost(limits, *specs)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the projections and, with a minus sign, their blur."""
        given, out = refs
        self._filter().record(b, b.bring(given, "float32"), out)

    def _filter(self) -> Branches:
        half = gaussian(self.sigma)
        taps, reach = np.concatenate([half[:0:-1], half]), len(half) - 1
        along = lambda axis, weights, first: Taps(axis, Table(weights), first, "reflect")
        own = along("z", [1.0], 0), along("x", [1 + self.amount], 0)
        return Branches((own, (along("z", taps, -reach), along("x", -self.amount * taps, -reach))), "azx")
