"""What sources are searched by, in one record, and the steps that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from footprint.ops.apertures import Light
from footprint.ops.base import Op
from footprint.ops.deblend import Deblend
from footprint.ops.elsewhere import Elsewhere
from footprint.ops.find_sources import Islands, Over
from footprint.ops.fit import Fit
from footprint.ops.label import Label
from footprint.ops.local_sources import MAPS, LocalDeblend, LocalFit, LocalIslands, LocalLight
from footprint.ops.measure import Measure, Renumber
from footprint.ops.mesh import Cells
from footprint.ops.pipeline import Pipeline, Stage
from footprint.ops.residual import MODELS, Models, RestCells, twice
from footprint.ops.sigma_clip import SigmaClip

# Results of a search, in the order a plan has them.
_RESULTS = ("cells", "stats", "counts", "moments", "boxes", "members", "fits", "light", "count", "labels", *MAPS, *MODELS)


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
    fit, light
        What is fitted to sources, and the apertures that are summed, with room for none yet; both are then results.
    inverted
        Whether what lies as far below the background is looked for.
    residual
        Whether what fits leave is searched, too.
    models
        Images of fits that are results, of `MODELS`.
    labels
        Whether the label image is a result.
    maps
        Background and noise from place to place; None for those of the clip.
    elsewhere
        Other images that what is found is measured on.
    """

    clip: SigmaClip = field(default_factory=SigmaClip)
    sigma: float = 5.0
    flood: float | None = None
    connectivity: int = 4
    min_area: int = 1
    contrast: float | None = None
    fit: Fit | None = None
    light: Light | None = None
    inverted: bool = False
    residual: bool = False
    models: tuple[str, ...] = ()
    labels: bool = False
    maps: Maps | None = None
    elsewhere: tuple[Elsewhere, ...] = ()

    def steps(self, capacity: int, *between: Stage, summits: int = 0) -> Pipeline:
        """The pipeline with room for so many components; ``between`` are a user's own stages from ``mask`` to ``marks``.

        ``summits``: room for those of what is taken apart, as `Deblend` has it.
        """
        apart = any(one is not None for one in (self.contrast, self.fit, self.light, self.maps)) or bool(self.elsewhere)
        found = self._levels()
        # Fits read what a fusion would have to itself: the one kernel is asked for by name.
        found += self._by_one(capacity, summits) if apart or self.inverted else self._by_steps(capacity, between)
        made = {name for stage in found for name in stage.writes}
        maps = self.maps.kinds if self.maps is not None else ()
        given = (f"{name} map" for name, kind in zip(MAPS, maps) if kind == "map")
        wanted = tuple(name for name in _RESULTS if name in made and (name != "labels" or self.labels))
        others = tuple(one.image for one in self.elsewhere)
        return Pipeline(tuple(found), ("image", *given, *others), (*wanted, *(n for one in self.elsewhere for n in one.results)))

    def told(self) -> dict[str, float | int]:
        """What a catalogue's metadata say of it."""
        flood = self.sigma if self.flood is None else self.flood
        told: dict[str, float | int] = {"sigma": self.sigma, "flood": flood}
        told |= {"connectivity": self.connectivity, "min_area": self.min_area}
        if self.contrast is not None:
            told |= {"contrast": self.contrast, "prominence": Deblend.prominence}
        if self.maps is None or "clip" in self.maps.kinds:
            told["kappa"] = self.clip.sigma
        elif "mesh" in self.maps.kinds:
            told["kappa"] = self.maps.cells.kappa
        return told

    def _levels(self) -> list[Stage]:
        """What tells background and noise, as far as they are not given."""
        kinds = ("clip",) if self.maps is None else self.maps.kinds
        cells = [Stage(self.maps.cells, ("image",), ("cells",))] if self.maps is not None and "mesh" in kinds else []
        own = [*cells, *([Stage(self.clip, ("image",), ("stats", "counts"))] if "clip" in kinds else [])]
        return own + [stage for one in self.elsewhere for stage in one.levels()]

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
        found = [Stage(islands, *islands.names())]
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
        return found + [stage for one in self.elsewhere for stage in one.after(capacity)]

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
            return one(sigma=self.sigma, flood=level, contrast=self.contrast, summits=summits, **same)
        return (Islands if self.maps is None else LocalIslands)(sigma=level, seed=seed, **same)

    @property
    def _how(self) -> dict[str, Any]:
        """What operations over maps are told of them."""
        if self.maps is None:
            return {}
        return {"background": self.maps.background, "noise": self.maps.noise, "size": self.maps.cells.size}
