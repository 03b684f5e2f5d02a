"""Sources over a background and a noise that differ from place to place: on a mesh, or of given maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

from footprint.dtypes import kernel_dtype
from footprint.kernels.deblend.contract import strip_rows
from footprint.kernels.sigma_clip.contract import rows_per_block
from footprint.ops.apertures import Light
from footprint.ops.base import Op
from footprint.ops.deblend import FITTED, MEMBER_ROW, Deblend, Seen, turned
from footprint.ops.find_sources import Islands
from footprint.ops.fit import KNOWN, Fit
from footprint.ops.measure import LOCAL_ROW, table_specs
from footprint.ops.residual import unit_noise, without
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

MAPS = ("background", "noise")


@dataclass(frozen=True)
class OverMaps(Op):
    """What reads maps of background and noise.

    Each is of a ``mesh`` (painted from smooth cells) or a ``map`` that is given; a background of ``clip`` is one value.
    ``size`` is that of a cell; ``saved`` names the maps that are results too.
    """

    background: str = "mesh"
    noise: str = "mesh"
    size: int = 64
    saved: tuple[str, ...] = ()

    @property
    def _reads(self) -> dict[str, str]:
        """Names of the inputs and of their axes."""
        kinds = {"background": self.background, "noise": self.noise}
        found = {"image": "yx"}
        if "mesh" in kinds.values():
            found["cells"] = "..."
        if "clip" in kinds.values():
            found["stats"] = "."
        return found | {f"{name} map": "yx" for name, kind in kinds.items() if kind == "map"}

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of what it reads."""
        return tuple(self._reads.values())

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Image, cells, statistics and maps, as far as they are needed; as without them, and the maps that are saved."""
        return tuple(self._reads), (*super().names()[1], *self.saved)

    def _on_mesh(self, b: Builder) -> bool:
        """Whether kernels tell both maps from the smooth cells themselves, wherever they need them."""
        return self.background == self.noise == "mesh" and b.limits.family != "gpu"

    def _maps(self, b: Builder, x: Ref, given: dict[str, Ref], targets: dict[str, Ref]) -> tuple[Ref, ...]:
        """Background and noise of a part, in ``targets`` where they are given."""
        found = []
        for which, (name, kind) in enumerate(zip(MAPS, (self.background, self.noise))):
            if kind == "map":
                found.append(b.bring(given[f"{name} map"], dtype=x.spec.dtype))
                continue
            told = given["cells" if kind == "mesh" else "stats"]
            # What is made of the whole image stays as it is from one phase to the next.
            key = (name, kind, told.slot.id, self.size, x.spec)
            if name not in targets and not b.several and key in b.made:
                found.append(b.made[key])
                continue
            target = targets[name] if name in targets else b.like(x, x.spec.dtype, name)
            if kind == "mesh":
                b.launch("mesh.paint", told, target, first=b.first(target, "y"), size=self.size, which=which)
            else:
                b.launch("mesh.level", told, target)
            if name not in targets:
                b.made[key] = target
            found.append(target)
        return tuple(found)


@dataclass(frozen=True)
class LocalIslands(OverMaps, Islands):  # type: ignore[misc]
    """`Islands` over maps of background and noise."""

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As `Islands`, with background and noise in the moments; the maps that are saved."""
        count, _, _, *labels = super().out_specs(*specs)
        one = ArraySpec(specs[0].shape, kernel_dtype(specs[0].dtype), "yx")
        return (count, *table_specs(self.capacity, local=True), *labels, *(one for _ in self.saved))

    def record(self, b: Builder, *refs: Ref) -> None:
        """The kernel on pixels and maps, which are made again whenever a part is seen."""
        given = dict(zip(self._reads, refs))
        results = list(refs[len(given) :])
        kept = results[len(results) - len(self.saved) :]
        image, dtype = given["image"], kernel_dtype(given["image"].spec.dtype)
        b.library("catalogue's columns", LOCAL_ROW * self.capacity)
        with ExitStack() as stack:

            def seen(last: bool) -> tuple[Ref, ...]:
                x = self.pixels(b, image)
                targets = {name: stack.enter_context(b.deliver(ref, dtype)) for name, ref in zip(self.saved, kept) if last}
                maps = self._maps(b, x, given, targets)
                return turned(b, x, maps[0]) if self.inverted else x, *maps

            self.steps(b, "local_sources", image, results[: len(results) - len(kept)], seen, stack)


@dataclass(frozen=True)
class LocalDeblend(OverMaps, Deblend):  # type: ignore[misc]
    """`Deblend` over maps of background and noise: pixels are ranked by how many noises they are over the background."""

    @property
    def _reads(self) -> dict[str, str]:
        """What fits were found, where they are taken off."""
        return super()._reads | dict.fromkeys(FITTED if self.residual else (), ".")

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As `Deblend`, with background and noise in the moments; the maps that are saved."""
        count, members, _, _, *labels = super().out_specs(*specs)
        one = ArraySpec(specs[0].shape, kernel_dtype(specs[0].dtype), "yx")
        return (count, members, *table_specs(self.capacity, local=True), *labels, *(one for _ in self.saved))

    def _strip(self, image: ArraySpec) -> int:
        """Whole cells, and what a clip is cut at, or no part would suit both."""
        width, kinds = image.shape[1], (self.background, self.noise)
        rows = rows_per_block(image.size, width) if "clip" in kinds else 1
        return self.strip or strip_rows(width, math.lcm(rows, self.size if "mesh" in kinds else 1))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps, ranks and values of every part, and the steps of `Deblend` on them."""
        given = dict(zip(self._reads, refs))
        fitted, results = [given[name] for name in FITTED if name in given], list(refs[len(given) :])
        if fitted:
            b.next_phase()
        kept = results[len(results) - len(self.saved) :]
        image, dtype = given["image"], kernel_dtype(given["image"].spec.dtype)
        unit = unit_noise(b)
        b.library("catalogue's columns", (LOCAL_ROW + MEMBER_ROW) * self.capacity)
        with ExitStack() as stack:

            def seen(again: bool) -> Seen:
                x = self.pixels(b, image)
                # Maps are results of the last time that a part is seen.
                last = zip(self.saved, kept) if again or not b.several else ()
                targets = {name: stack.enter_context(b.deliver(ref, dtype)) for name, ref in last}
                place: dict[str, Any] = {"first": b.first(x, "y")}
                told: tuple[Ref, ...]
                ranks, values = b.like(x, dtype, "noises over the background"), b.like(x, dtype, "over the background")
                if self._on_mesh(b) and not self.inverted and not self.saved:
                    x, place["size"] = without(b, x, *fitted) if fitted else x, self.size
                    b.launch("deblend.told_on_mesh", x, given["cells"], ranks, values, sigma=self.flood, **place)
                    told, at_peaks_by = (x, given["cells"]), "deblend.at_peaks_on_mesh"
                else:
                    told, at_peaks_by = self._maps(b, x, given, targets), "deblend.at_peaks"
                    x = turned(b, x, told[0]) if self.inverted else without(b, x, *fitted) if fitted else x
                    b.launch("deblend.told", x, *told, ranks, values)
                at_peaks = lambda boxes, moments: b.launch(at_peaks_by, *told, boxes, moments, **place)
                return Seen(ranks, values, unit, at_peaks)

            self.steps(b, image, results[: len(results) - len(kept)], seen, stack)


class OverTables(OverMaps):  # type: ignore[misc]
    """What measures islands again, over maps of background and noise: the tables, too, and pixels with their maps."""

    tables: ClassVar[tuple[tuple[str, str], ...]] = (("count", "."), ("moments", "."), ("boxes", "."))

    @property
    def _reads(self) -> dict[str, str]:
        return super()._reads | dict(self.tables)

    def _told(self, b: Builder, refs: Sequence[Ref]) -> tuple[list[Ref], Callable[[], tuple[Ref, ...]]]:
        """The tables, and what brings a part's pixels and their maps."""
        given = dict(zip(self._reads, refs))

        def pixels() -> tuple[Ref, ...]:
            x = b.bring(given["image"], dtype=kernel_dtype(given["image"].spec.dtype))
            return x, *self._maps(b, x, given, {})

        return [given[name] for name, _ in self.tables], pixels


@dataclass(frozen=True)
class LocalFit(OverTables, Fit):  # type: ignore[misc]
    """`Fit` over maps of background and noise: to what is over the background, with the noise at the peak."""

    @property
    def _reads(self) -> dict[str, str]:
        """What is known, too, where fits are patient."""
        return super()._reads | dict.fromkeys((KNOWN,) if self.patient else (), ".")

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps of every part, where they are needed, and the steps of `Fit`."""
        given = dict(zip(self._reads, refs))
        tables, pixels = self._told(b, refs)
        tables += [given[KNOWN]] if self.patient else []
        if self._on_mesh(b):
            image = given["image"]
            alone = lambda: (b.bring(image, dtype=kernel_dtype(image.spec.dtype)), given["cells"])
            self.steps(b, unit_noise(b), tables, refs[-1], "fit.stamp_on_mesh", alone, size=self.size)
        else:
            self.steps(b, unit_noise(b), tables, refs[-1], "fit.stamp_over", pixels)


@dataclass(frozen=True)
class LocalLight(OverTables, Light):  # type: ignore[misc]
    """`Light` over maps of background and noise."""

    def record(self, b: Builder, *refs: Ref) -> None:
        """Maps of every part, and the steps of `Light`."""
        tables, pixels = self._told(b, refs)
        self.steps(b, tables, refs[-1], pixels)
