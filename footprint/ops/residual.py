"""What fits leave of an image: searched once more, and kept with their model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from footprint.dtypes import kernel_dtype
from footprint.kernels.sigma_clip.contract import NOISE
from footprint.ops.base import Op
from footprint.ops.fit import KNOWN
from footprint.ops.mesh import Cells
from footprint.ops.pipeline import Stage
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

MODELS = ("model", "residual")
_TABLES = ("count", "members", "moments", "boxes")


@dataclass(frozen=True)
class _OfTables(Op):
    """What is made of the tables of searches, when all parts are through; the image is named for its height.

    ``seed`` as in `kernels.model.contract`; ``local`` where the moments have their noise.
    """

    seed: float
    local: bool

    cut = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the image; tables have none."""
        return ("yx", *("." for _ in self.names()[0][1:]))

    def _named(self, *tables: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics unless local, and these; tables."""
        return ("image", *(() if self.local else ("stats",)), *tables), _TABLES

    def _delivered(self, b: Builder, stack: ExitStack, refs: Sequence[Ref]) -> tuple[Ref, ...]:
        """The tables that are made. What is entered last is taken first: how many there are before all else."""
        return tuple(stack.enter_context(b.deliver(ref)) for ref in reversed(refs[-len(_TABLES) :]))[::-1]


@dataclass(frozen=True)
class Join(_OfTables):
    """The tables of a first search, and of a second what its fits do not tell already."""

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics unless local, the first fits and tables, those of the second search; tables."""
        first, more = tuple(f"first {name}" for name in _TABLES), tuple(f"more {name}" for name in _TABLES)
        return self._named("first fits", *first, *more)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Those of the first tables."""
        return specs[-8:-4]

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch, when both searches are through."""
        given = dict(zip(self.names()[0], refs))
        stats = unit_noise(b) if self.local else given["stats"]
        count, members, moments, boxes = (given[f"first {name}"] for name in _TABLES)
        with b.only("end"), ExitStack() as stack:
            c, who, m, n = self._delivered(b, stack, refs)
            more = [given[f"more {name}"] for name in _TABLES]
            known = (stats, given["first fits"], boxes, count, members, moments)
            b.launch("model.join", *known, *more, c, who, m, n, height=given["image"].slot.spec.shape[0], seed=self.seed)


@dataclass(frozen=True)
class Prune(_OfTables):
    """Tables less those rows of a second search that fits made little of."""

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, statistics unless local, fits and tables; tables."""
        tried = tuple(f"tried {name}" for name in ("fits", *_TABLES))
        return self._named(*tried)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Those of the tables."""
        return specs[-4:]

    def record(self, b: Builder, *refs: Ref) -> None:
        """One launch, when the fits are known."""
        given = dict(zip(self.names()[0], refs))
        stats = unit_noise(b) if self.local else given["stats"]
        tried = [given[f"tried {name}"] for name in ("fits", *_TABLES)]
        with b.only("end"), ExitStack() as stack:
            c, who, m, n = self._delivered(b, stack, refs)
            b.launch("model.prune", stats, *tried, c, who, m, n, seed=self.seed)


@dataclass(frozen=True)
class Models(Op):
    """Images of the fits, and of what they leave: those of `MODELS` that are ``kept``."""

    kept: tuple[str, ...]

    axes = ("yx", ".", ".")
    cut = "y"
    again = "y"
    units = {"y": "rows"}  # noqa: RUF012  shared, never changed

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, fits and their number; images."""
        return ("image", "fits", "count"), self.kept

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Of the image's shape."""
        return (ArraySpec(specs[0].shape, kernel_dtype(specs[0].dtype), "yx"),) * len(self.kept)

    def record(self, b: Builder, *refs: Ref) -> None:
        """A launch an image, when the fits are known."""
        image, fits, count, *outs = refs
        b.next_phase()
        dtype = kernel_dtype(image.spec.dtype)
        for name, ref in zip(self.kept, outs):
            with b.deliver(ref, dtype) as out:
                block = [b.bring(image, dtype)] if name == "residual" else []
                b.launch("model.subtract" if block else "model.paint", *block, fits, count, out, first=b.first(out, "y"))


@dataclass(frozen=True)
class RestCells(Cells):
    """`Cells` of what fits leave: what they took no longer passes for background or noise."""

    axes = ("yx", ".", ".")  # type: ignore[assignment]

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, fits and their number; smooth cells."""
        return ("image", "fits", "count"), ("cells",)

    def record(self, b: Builder, *refs: Ref) -> None:
        """As `Cells`, when the fits are known."""
        image, fits, count, table = refs
        b.next_phase()
        self.steps(b, without(b, b.bring(image, dtype=kernel_dtype(image.spec.dtype)), fits, count), table)


def unit_noise(b: Builder) -> Ref:
    """A background of 0 and a noise of 1, for kernels whose pixels or tables have their own."""
    one = np.zeros(8)
    one[NOISE] = 1
    return b.const(one, "a noise of 1")


def without(b: Builder, image: Ref, fits: Ref, count: Ref) -> Ref:
    """A part of the image less its fits."""
    out = b.like(image, image.spec.dtype, "what fits leave")
    b.launch("model.subtract", image, fits, count, out, first=b.first(image, "y"))
    return out


def twice(found: Stage, fit: Stage, seed: float, cells: Stage | None = None, *, local: bool) -> list[Stage]:
    """A search and its fits, a search of what they leave, over ``cells`` of that where there are some, and fits of all.

    What the second search found and fits made little of goes, and what is left is fitted once more. Both times what the first
    search found begins with its fit: begun as points, bright sources that are extended would leave wings for those beside them
    to take, for good.
    """

    def named(prefix: str, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{prefix} {name}" if name in (*_TABLES, "fits") else name for name in names)

    def over(names: Sequence[str]) -> tuple[str, ...]:
        # Rows of the first search keep their places: they come first, and none of them goes.
        others = {KNOWN: "first fits"} | ({} if cells is None else {"cells": "more cells"})
        return tuple(others.get(name, name) for name in names)

    changes = {"labels": False, "residual": True} | ({"saved": ()} if local else {})
    again = replace(found.op, **changes)  # type: ignore[type-var]
    join, prune, patient = Join(seed, local), Prune(seed, local), replace(fit.op, patient=True)  # type: ignore[type-var]
    stages = [
        Stage(found.op, found.reads, named("first", found.writes)),
        Stage(fit.op, named("first", fit.reads), named("first", fit.writes)),
    ]
    if cells is not None:
        stages.append(Stage(cells.op, (*cells.reads, "first fits", "first count"), over(cells.writes)))
    return [
        *stages,
        Stage(again, over(named("first", again.names()[0])), tuple(f"more {name}" for name in _TABLES)),
        Stage(join, join.names()[0], named("tried", join.names()[1])),
        Stage(patient, over(named("tried", patient.names()[0])), named("tried", fit.writes)),
        Stage(prune, *prune.names()),
        Stage(patient, over(patient.names()[0]), fit.writes),
    ]
