"""Sources of one image measured on others of the same grid: the steps that stand between a search's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from footprint.ops.apertures import Light
from footprint.ops.base import Op
from footprint.ops.held import Held, LocalHeld, LocalOnIslands, OnIslands, Rows
from footprint.ops.local_sources import LocalLight
from footprint.ops.mesh import Cells
from footprint.ops.pipeline import Stage
from footprint.ops.sigma_clip import SigmaClip

# What is read of the image itself, and is another's here.
_OWN = ("image", "stats", "counts", "cells")


@dataclass(frozen=True)
class Elsewhere:
    """An image that sources are measured on.

    Attributes
    ----------
    number
        Of the image, in the names of what it has of its own.
    clip, cells
        What tells its background and noise: the cells where there are some, else the clip.
    held, light
        Heights and apertures that are measured, with room for none yet.
    """

    number: int
    clip: SigmaClip
    cells: Cells | None = None
    held: Held | None = None
    light: Light | None = None

    @property
    def image(self) -> str:
        """The name of the input."""
        return self._named("image")

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the results."""
        made = (
            *(("stats", "counts") if self.cells is None else ()),
            "rows",
            "held" if self.held else "",
            "light" if self.light else "",
        )
        return tuple(self._named(name) for name in made if name)

    def _named(self, name: str) -> str:
        return f"{name} {self.number}"

    def _stage(self, op: Op, **others: str) -> Stage:
        """An operation on the image, whose own names are the image's; ``others`` are called otherwise."""
        into, out_of = op.names()
        called = {name: self._named(name) for name in (*_OWN, *out_of)} | others
        return Stage(op, tuple(called.get(name, name) for name in into), tuple(called[name] for name in out_of))

    def _local(self, kind: Any, one: Op | None, capacity: int) -> Op:
        """An operation with its room, over the mesh where there is one."""
        given = {"capacity": capacity} if one is None else vars(one) | {"capacity": capacity}
        return kind(**given) if self.cells is None else kind(**given, background="mesh", noise="mesh", size=self.cells.size)

    def levels(self) -> list[Stage]:
        """What tells background and noise."""
        return [self._stage(self.clip if self.cells is None else self.cells)]

    def on_islands(self, capacity: int, count: str) -> list[Stage]:
        """What stands where the labels are painted; ``count`` is that of the islands' table."""
        kind = OnIslands if self.cells is None else LocalOnIslands
        return [self._stage(self._local(kind, None, capacity), count=count)]

    def after(self, capacity: int) -> list[Stage]:
        """What stands where the sources are known."""
        found = [self._stage(Rows(capacity), sums=self._named("sums"))]
        for one, plain, local in ((self.held, Held, LocalHeld), (self.light, Light, LocalLight)):
            if one is not None:
                found.append(self._stage(self._local(plain if self.cells is None else local, one, capacity)))
        return found
