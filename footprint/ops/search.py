"""What sources are searched by, in one record, and the steps that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from footprint.kernels.deblend.contract import NO_POINTS
from footprint.ops.apertures import Light
from footprint.ops.base import Op
from footprint.ops.deblend import MEMBER_ROW, Deblend
from footprint.ops.elsewhere import Elsewhere
from footprint.ops.find_sources import Islands, Over
from footprint.ops.fit import Fit
from footprint.ops.footprints import Footprints, LocalFootprints
from footprint.ops.label import Label
from footprint.ops.local_sources import MAPS, LocalDeblend, LocalFit, LocalIslands, LocalLight
from footprint.ops.matched import Pixels, Smooth
from footprint.ops.measure import LOCAL_ROW, Measure, Renumber
from footprint.ops.mesh import Cells
from footprint.ops.pipeline import Pipeline, Stage
from footprint.ops.residual import MODELS, Models, RestCells, twice
from footprint.ops.sigma_clip import SigmaClip
from footprint.ops.windowed import LocalWindowed, Windowed
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# The image once more, with what the filter reaches: who reads it without wants other rows of it.
WIDE = "image to filter"
# What is told of the image that a filter makes: its clip where there is one, and tables of what is found in it.
SEEN = ("filtered stats", "filtered counts", "filtered moments", "filtered boxes")
# Results of a search, in the order a plan has them.
_RESULTS = (
    "cells",
    "stats",
    "counts",
    *SEEN,
    "moments",
    "boxes",
    "members",
    "fits",
    "light",
    "windows",
    "count",
    "labels",
    *MAPS,
    *MODELS,
)

# What a part is like for which a shallow pass will do: pixels, and squares of distances, in pixels, of its summit.
BEAMED = tuple(f"beamed_{name}_{end}" for name in ("npix", "pass2", "summit2") for end in ("min", "max"))

# Rows of another catalogue that room is made for at once.
_FEW = 1024
# Bytes of a row on the sky beside its position: the size of its light; that of its fit, with the beam and without, and errors.
SIZE_ROW, FIT_SIZE_ROW = 24, 96


@dataclass(frozen=True)
class Maps:
    """Where background and noise come from that differ from place to place.

    Attributes
    ----------
    background, noise
        "mesh", "map" for one that is given, or "clip" for one value, of the clip of the whole image.
    cells
        Of the mesh.
    saved
        Those that are results: of "background" and "noise".
    """

    background: str
    noise: str
    cells: Cells
    saved: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, str]:
        """Of background and noise."""
        return self.background, self.noise


@dataclass(frozen=True)
class Kept(Op):
    """Nothing but room for columns: so many ``rows`` of ``each`` so many bytes."""

    rows: int
    each: int
    what: str

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """There are none."""
        return ()

    def record(self, b: Builder, *refs: Ref) -> None:
        """The room."""
        b.library(self.what, self.each * self.rows)


@dataclass(frozen=True)
class Rules:
    """What sources are found by: all that decides which steps there are.

    Attributes
    ----------
    clip
        Of the whole image.
    sigma, flood, connectivity, min_area
        As in `find_sources`; flood None for sigma.
    contrast
        Where what stands on one island is taken apart; members are then a result.
    fit, light, windowed
        What is fitted to sources, the apertures that are summed, and the windows of centres, with room for none yet; all are then
        results.
    inverted
        Whether what lies as far below the background is looked for.
    beamed
        What a part is like for which a shallow pass will do, as `kernels.deblend.contract` has it.
    residual
        Whether what fits leave is searched, too.
    models
        Images of fits that are results, of `MODELS`.
    labels
        Whether the label image is a result.
    maps
        Background and noise from place to place; None for those of the clip.
    smooth
        The filter through which the image is searched; what is found is measured on the image itself.
    beside
        Rows of another catalogue that are kept meanwhile; -1 for as many as there is room for.
    elsewhere
        Other images that what is found is measured on.
    placed
        Whether the image has a WCS, so that sizes on the sky are columns.
    """

    clip: SigmaClip = field(default_factory=SigmaClip)
    sigma: float = 5.0
    flood: float | None = None
    connectivity: int = 4
    min_area: int = 1
    contrast: float | None = None
    beamed: tuple[int, ...] = NO_POINTS
    fit: Fit | None = None
    light: Light | None = None
    windowed: Windowed | None = None
    inverted: bool = False
    residual: bool = False
    models: tuple[str, ...] = ()
    labels: bool = False
    maps: Maps | None = None
    smooth: Smooth | None = None
    beside: int = 0
    elsewhere: tuple[Elsewhere, ...] = ()
    placed: bool = False

    def steps(self, capacity: int, *between: Stage, summits: int = 0) -> Pipeline:
        """The pipeline with room for so many components; ``between`` are a user's own stages from ``mask`` to ``marks``.

        ``summits``: room for those of what is taken apart, as `Deblend` has it.
        """
        asked = (self.contrast, self.fit, self.light, self.windowed, self.maps, self.smooth, self.elsewhere or None)
        apart = any(one is not None for one in asked)
        # What differs by few rows is one plan.
        beside = capacity if self.beside < 0 else max(self.beside, min(-(-self.beside // _FEW) * _FEW, capacity))
        found = self._columns(capacity, beside)
        found += self._levels()
        # Fits read what a fusion would have to itself: the one kernel is asked for by name.
        found += self._by_one(capacity, summits) if apart or self.inverted else self._by_steps(capacity, between)
        made = {name for stage in found for name in stage.writes}
        maps = self.maps.kinds if self.maps is not None else ()
        given = (f"{name} map" for name, kind in zip(MAPS, maps) if kind == "map")
        wide = (WIDE,) if self.smooth is not None else ()
        wanted = tuple(name for name in _RESULTS if name in made and (name != "labels" or self.labels))
        others = tuple(one.image for one in self.elsewhere)
        results = (*wanted, *(name for one in self.elsewhere for name in one.results))
        return Pipeline(tuple(found), ("image", *wide, *given, *others), results)

    def _columns(self, capacity: int, beside: int) -> list[Stage]:
        """Room for columns that no operation makes: of another catalogue of ``beside`` rows, and of sizes on the sky."""
        size = SIZE_ROW if self.placed else 0
        fitted = FIT_SIZE_ROW if self.placed and self.fit is not None and self.fit.free else 0
        kept = [Kept(beside, LOCAL_ROW + MEMBER_ROW + size, "another catalogue's columns")] if beside else []
        kept += [Kept(capacity, size + fitted, "sizes on the sky")] if size else []
        return [Stage(one, (), ()) for one in kept]

    def told(self) -> dict[str, float | int]:
        """What a catalogue's metadata say of it."""
        flood = self.sigma if self.flood is None else self.flood
        told: dict[str, float | int] = {"sigma": self.sigma, "flood": flood}
        told |= {"connectivity": self.connectivity, "min_area": self.min_area}
        if self.contrast is not None:
            told |= {"contrast": self.contrast, "prominence": Deblend.prominence}
            if self.beamed != NO_POINTS:
                told |= {"prominence_beamed": Deblend.shallow, **dict(zip(BEAMED, self.beamed, strict=True))}
        if self.maps is None or "clip" in self.maps.kinds:
            told["kappa"] = self.clip.sigma
        elif "mesh" in self.maps.kinds:
            told["kappa"] = self.maps.cells.kappa
        return told

    def _levels(self) -> list[Stage]:
        """What tells background and noise, as far as they are not given."""
        kinds = ("clip",) if self.maps is None else self.maps.kinds
        cells = [Stage(self.maps.cells, ("image",), ("cells",))] if self.maps is not None and "mesh" in kinds else []
        found = [*cells, *([Stage(self.clip, ("image",), ("stats", "counts"))] if "clip" in kinds else [])]
        if self.smooth is not None:
            levels: Pixels = self.clip if self.maps is None else self.maps.cells
            names = tuple(f"filtered {name}" for name in levels.names()[1])
            found.append(Stage(replace(levels, smooth=self.smooth), (WIDE,), names))
        return found + [stage for one in self.elsewhere for stage in one.levels()]

    def _by_steps(self, capacity: int, between: tuple[Stage, ...]) -> list[Stage]:
        """Threshold, components and their measures, which a fusion takes together where nothing stands ``between``."""
        level, seed = (self.sigma, 0.0) if self.flood is None else (self.flood, self.sigma)
        renumber = [Stage(Renumber(), ("pieces", "boxes"), ("labels",))] if self.labels else []
        return [
            Stage(Over(level), ("image", "stats"), ("mask",)),
            *between,
            Stage(Label(self.connectivity), ("marks" if between else "mask",), ("pieces", "count")),
            Stage(Measure(capacity, True, self.min_area, seed), ("image", "pieces", "stats", "count"), ("moments", "boxes")),
            *renumber,
        ]

    def _by_one(self, capacity: int, summits: int) -> list[Stage]:
        """Islands or their parts, and what is done with them when they are known."""
        local, how = self.maps is not None, self._how
        islands = self._islands(capacity, summits)
        found = [Stage(islands, *islands.names())] if self.smooth is None else self._through_the_filter(islands, capacity)
        if self.fit is not None:
            fit: Op = replace(self.fit, capacity=capacity)
            if local:
                fit = LocalFit(capacity, self.fit.free, self.fit.radius, self.fit.beam, **how)
            found.append(Stage(fit, *fit.names()))
            found = twice(found[0], found[1], self.sigma, self._rest, local=local) if self.residual else found
        # Where the labels are painted, of the first search.
        count = found[0].writes[islands.names()[1].index("count")]
        found[1:1] = [stage for one in self.elsewhere for stage in one.on_islands(capacity, count)]
        if self.fit is not None:
            found += [Stage(Models(self.models), *Models(self.models).names())] if self.models else []
        if self.light is not None:
            light: Op = replace(self.light, capacity=capacity)
            if local:
                light = LocalLight(capacity, self.light.radii, self.light.kron, self.light.least, **how)
            found.append(Stage(light, *light.names()))
        if self.windowed is not None:
            about: Op = replace(self.windowed, capacity=capacity)
            if local:
                about = LocalWindowed(capacity, self.windowed.sigma, self.windowed.least, **how)
            found.append(Stage(about, *about.names()))
        return found + [stage for one in self.elsewhere for stage in one.after(capacity)]

    def _through_the_filter(self, islands: Op, capacity: int) -> list[Stage]:
        """What finds them there, with labels that are measured on the image itself while they are at hand."""
        changes: dict[str, Any] = {"smooth": self.smooth, "labels": True}
        if self.maps is not None:
            changes |= {"background": "mesh", "noise": "mesh", "saved": ()}
        seen = replace(islands, **changes)  # type: ignore[type-var]
        own = {"image": WIDE} | {name: f"filtered {name}" for name in ("stats", "cells", "moments", "boxes")}
        painted = self.labels or bool(self.elsewhere)
        own |= {} if painted else {"labels": "labels of a part"}
        reads, writes = (tuple(own.get(name, name) for name in names) for names in seen.names())
        again: Op = Footprints(capacity, self.inverted)
        if self.maps is not None:
            again = LocalFootprints(capacity, self.inverted, **self._how, saved=self.maps.saved)
        told = tuple("labels of a part" if name == "labels" and not painted else name for name in again.names()[0])
        return [Stage(seen, reads, writes), Stage(again, told, again.names()[1])]

    @property
    def _rest(self) -> Stage | None:
        """The cells of what fits leave, where there are cells."""
        if self.maps is None or "mesh" not in self.maps.kinds:
            return None
        return Stage(RestCells(**vars(self.maps.cells)), ("image",), ("cells",))

    def _islands(self, capacity: int, summits: int) -> Op:
        """What finds islands, or their parts."""
        level, seed = (self.sigma, 0.0) if self.flood is None else (self.flood, self.sigma)
        same: dict[str, Any] = {"connectivity": self.connectivity, "min_area": self.min_area, "capacity": capacity}
        same |= {"labels": self.labels or bool(self.elsewhere), "inverted": self.inverted} | self._how
        if self.maps is not None:
            same["saved"] = self.maps.saved
        if self.contrast is not None:
            one = Deblend if self.maps is None else LocalDeblend
            return one(sigma=self.sigma, flood=level, contrast=self.contrast, summits=summits, beamed=self.beamed, **same)
        return (Islands if self.maps is None else LocalIslands)(sigma=level, seed=seed, **same)

    @property
    def _how(self) -> dict[str, Any]:
        """What operations over maps are told of them."""
        if self.maps is None:
            return {}
        return {"background": self.maps.background, "noise": self.maps.noise, "size": self.maps.cells.size}
