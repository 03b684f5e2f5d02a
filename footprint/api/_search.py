"""One search for sources: its rules and steps, the room it has, and the same once more where that was too little."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._call import Face, call, planned
from footprint.api._deblend import islands, rooms_of
from footprint.api._elsewhere import Other
from footprint.api._image import Image, Passes, host
from footprint.api._levels import Levels
from footprint.api._light import Photometry
from footprint.api._matched import Through
from footprint.api._room import Room, Short, again, first_that_fits
from footprint.api._windowed import Windows
from footprint.api.measure import Crowded, Islands
from footprint.errors import ArgumentError, BudgetError, CapacityError, LimitError, flag
from footprint.kernels.deblend.contract import NO_POINTS
from footprint.ops.label import check_connectivity
from footprint.ops.pipeline import Pipeline
from footprint.ops.search import Rules
from footprint.ops.sigma_clip import SigmaClip, check_maxiters, check_positive
from footprint.plan.plan import Plan

T = TypeVar("T")


# The lowest threshold that is tried where it is chosen, in noises: below it noise alone makes a source of every few hundred pixels.
LOWEST = 3.0
# Of the area that a point source at the threshold covers without noise: with noise that the beam correlates, none covers less.
_COVERED = 0.5
# Peaks, in thresholds, of points that part at a shallow pass: smaller parts are noise's, larger ones may be of what is diffuse.
_PEAKS = (1.1, 2.1)
# How far in beams their pass is, and the summit across it: nearer lies what noise makes of one point, farther what is diffuse.
_TO_PASS, _TO_SUMMIT = (0.3, 0.85), (0.95, 2.5)


def rules_of(
    sigma: Any, flood: Any, kappa: Any, maxiters: Any, connectivity: Any, lesson: Any, levels: Levels | None,
    *, min_area: Any = 1, beam_area: float | None = None, residual: Any = False, kept: Collection[Any] = (), labels: Any = False,
    light: Photometry | None = None, windows: Windows | None = None, others: Sequence[Other] = (), chosen: bool = False,
    **checked: Any,
) -> Rules:  # fmt: skip
    """The rules of a verb's or a plan's arguments, which are checked; ``chosen``: sigma will be, by the reliability.

    ``checked`` has ``contrast``, ``fit`` and ``smooth``, which are.
    """
    clip = SigmaClip(check_positive("kappa", kappa), check_maxiters(maxiters), zero=flag("lesson", lesson))
    level, corners = check_positive("sigma", sigma), check_connectivity(connectivity)
    lower = None if flood is None else check_positive("flood", flood)
    if lower is not None and lower > level:
        raise ArgumentError("flood", repr(flood), f"a number up to sigma, {level:g}")
    if levels is not None and not levels.clip:
        for name, value in (("lesson", lesson or None), ("maxiters", maxiters)):
            if value is not None:
                got = f"{value!r} with background and noise from a mesh or maps"
                raise ArgumentError(name, got, "one clip of the whole image", f"leave {name} out, or give background='global'")
    maps = None if levels is None else levels.record
    if residual and checked.get("smooth") is not None:
        raise ArgumentError("residual", "it together with matched_filter", "one of the two")
    least = lowest(lower) if chosen else level
    pixels = check_min_area(min_area, beam_area, least, lower)
    # Through a filter points are larger than the beam.
    beamed = points_that_touch(beam_area if checked.get("smooth") is None else None, least, lower)
    checked |= {"light": None if light is None else light.op(1), "windowed": None if windows is None else windows.op(1)}
    checked |= {"residual": bool(residual), "models": tuple(kept), "labels": bool(labels)}
    checked["elsewhere"] = tuple(one.op for one in others)
    return Rules(clip, level, lower, corners, pixels, maps=maps, beamed=beamed, **checked)


def lowest(flood: float | None) -> float:
    """The lowest threshold that is tried where it is chosen."""
    return max(LOWEST, flood or 0.0)


@dataclass(frozen=True)
class Search:
    """A search that can be run.

    Attributes
    ----------
    image
        Its pixels.
    rules, levels
        What sources are found by, and over what where that differs from place to place.
    ids
        What takes the labels, if anything does.
    capacity
        Components there is room for; None for as many as there turn out to be.
    device, memory, on_plan, told
        Where and how it runs, and who is told.
    models
        What takes the images of fits.
    light, windows
        What columns are made of the sums over apertures, and over windows.
    others
        Images that what is found is measured on.
    otherwise
        Where it runs if the budget is too small for the device; nowhere if "".
    keep
        Whether its memory is kept for a later call: not where more searches follow in this one.
    stats, filtered, counts
        Of the clip, when it has run; statistics of the filtered image, where there is a filter.
    """

    image: Image
    rules: Rules
    levels: Levels | None
    ids: tuple[Face, ...]
    capacity: int | None
    device: str
    memory: Memory = None
    on_plan: Callable[[Plan], None] | None = None
    told: Passes | None = None
    models: tuple[Face, ...] = ()
    light: Photometry | None = None
    windows: Windows | None = None
    others: tuple[Other, ...] = ()
    otherwise: str = ""
    keep: bool = True
    stats: np.ndarray = field(default_factory=lambda: np.full(8, np.nan))
    filtered: np.ndarray = field(default_factory=lambda: np.full(8, np.nan))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(8, np.int64))

    def bare(self, **rules: Any) -> Search:
        """The same by other rules, with a catalogue for its only result."""
        levels = None if self.levels is None else replace(self.levels, saved={})
        stats, counts = self.stats.copy(), self.counts.copy()
        maps = None if levels is None else levels.record
        none: dict[str, Any] = {"fit": None, "light": None, "windowed": None, "residual": False, "models": (), "elsewhere": ()}
        plain = replace(self.rules, **none, labels=False, maps=maps, **rules)
        told: dict[str, Any] = {"stats": stats, "counts": counts, "filtered": self.filtered.copy()}
        return replace(self, rules=plain, levels=levels, ids=(), models=(), light=None, windows=None, others=(), **told)

    def tell(self) -> dict[str, Any]:
        """What metadata say of choices that are no numbers of the rules: those that were made."""
        rules = self.rules
        clipped = rules.maps is None or "clip" in rules.maps.kinds
        told: dict[str, Any] = {} if rules.clip.maxiters < 0 or not clipped else {"maxiters": rules.clip.maxiters}
        told |= ({"background_by": "lesson"} if rules.clip.zero else {}) | ({"residual": True} if rules.residual else {})
        return told | ({} if self.windows is None else self.windows.tell())

    @property
    def faces(self) -> list[Face]:
        """What it reads."""
        wide = [self.image.face] if self.rules.smooth is not None else []
        maps = self.levels.faces if self.levels is not None else []
        return [self.image.face, *wide, *maps, *(one.image.face for one in self.others)]

    def run(self) -> Islands:
        """What was found; CapacityError or BudgetError where there is no room for it."""
        return self.here_or_there(lambda one: one._run())

    def here_or_there(self, make: Callable[[Search], T]) -> T:
        try:
            return make(self)
        except (BudgetError, LimitError):
            if not self.otherwise:
                raise
        return make(replace(self, device=self.otherwise, otherwise=""))

    def _run(self) -> Islands:
        found = first_that_fits(self.rooms, self._attempt)
        while isinstance(found, Short):
            if self.capacity is not None:
                raise CapacityError("capacity", found.had.rows, found.capacity)
            found = again(self._attempt, self._planned, self.rooms, found, self.memory, self.rules.residual)
        return found

    def plan(self, ins: list[Face] | None = None) -> Plan:
        """Of a run with the usual room, or the least that the budget allows, that reads ``ins``."""
        return self.here_or_there(lambda one: first_that_fits(one.rooms, lambda room: one._planned(room, one.memory, ins)))

    def _planned(self, room: Room, memory: Memory, ins: list[Face] | None = None) -> Plan:
        outs = self.outs(self.takers(0), room.rows, host(np.zeros(1, np.int64)), self._through(0))
        return planned("find_sources", self._steps(room), ins or self.faces, outs, self.device, memory)

    @property
    def rooms(self) -> tuple[Room, ...]:
        """Components there may be room for, the most first."""
        rules = self.rules
        if self.capacity:
            return (Room(int(self.capacity)),)
        return rooms_of(rules.contrast, self.image.spec.size)

    def _steps(self, room: Room) -> Pipeline:
        """The pipeline with so much room."""
        return self.rules.steps(room.rows, summits=room.summits)

    def _through(self, count: Any) -> Through | None:
        return None if self.rules.smooth is None else Through(count, self.filtered)

    def outs(self, found: Islands, capacity: int, count: Face, through: Through | None) -> list[Face]:
        """What takes the results, in the order of the steps."""
        stats, counts = host(self.stats), host(self.counts)
        elsewhere = [sink for one in self.others for sink in one.sinks(capacity, lambda: found.rows)]
        if self.levels is None:
            seen = [] if through is None else through.sinks(capacity, local=False)
            return [stats, counts, *seen, *found.sinks(capacity), count, *self.ids, *self.models, *elsewhere]
        clip = [stats, counts] if self.levels.clip else []
        seen = [] if through is None else through.sinks(capacity, local=True)
        tables = [*seen, *found.sinks(capacity, local=True)]
        cells, saved = self.levels.sink(self.image.spec.shape), self.levels.saved.values()
        return [*cells, *clip, *tables, count, *self.ids, *saved, *self.models, *elsewhere]

    def takers(self, count: Any) -> Islands:
        """What takes the tables."""
        return islands(count, self.rules.contrast, self.image.spec.shape, self.rules.fit, self.light, self.windows)

    def _attempt(self, room: Room) -> Islands | Short:
        count = np.zeros(1, np.int64)
        found = self.takers(count)
        through = self._through(count)
        outs = self.outs(found, room.rows, host(count), through)
        try:
            call("find_sources", self._steps(room), self.faces, outs, self.device, self.memory, progress=self.told,
                 on_plan=self.on_plan, keep=self.keep)  # fmt: skip
        except Crowded as short:
            # Without the frames it came through, which hold the plan's memory while it is planned again.
            return Short(room, short.rows, short.summits, short.bright)
        if through is not None:
            found.columns["filtered_snr"] = through.snr
        return found


def largest_plan(searches: Sequence[Any], ins: list[Face] | None = None) -> Plan:
    """The plan that takes most of searches that run one after the other; BudgetError names a budget that does for all."""
    plans, short = [], None
    for one in searches:
        try:
            plans.append(one.plan(ins))
        except BudgetError as error:
            short = error if short is None or error.smallest > short.smallest else short
    try:
        if short is not None:
            raise short
    finally:
        del short
    return max(plans, key=lambda plan: plan.footprint.total)


def check_capacity(capacity: object) -> None:
    """A number from 1 up, or None."""
    if capacity is not None and (isinstance(capacity, bool) or not isinstance(capacity, int | np.integer) or capacity < 1):
        raise ArgumentError("capacity", repr(capacity), "a whole number, 1 or more")


def check_min_area(value: Any, beam_area: float | None, sigma: float, flood: float | None) -> int:
    """Pixels of the smallest island, given as such or in beams, or "auto"."""
    if isinstance(value, str):
        if value == "auto":
            return _area_of_points(beam_area, sigma, flood)
        number, unit = (value[:-4], "beam") if value.endswith("beam") else (value, "")
        try:
            share = float(number.strip() or 1)
        except ValueError:
            share = 0.0
        if share > 0 and unit:
            if beam_area is None:
                raise ArgumentError("min_area", repr(value), "pixels", "the image has no known beam")
            return max(1, math.ceil(min(share * beam_area, 2.0**62)))
        value = int(share) if share == int(share) and share > 0 else value
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError("min_area", repr(value), "a whole number, 1 or more, 'auto', or a share of the beam such as '0.3 beam'")
    # Larger than any image is as good as any other.
    return min(int(value), 2**62)


def _area_of_points(beam_area: float | None, sigma: float, flood: float | None) -> int:
    """A share of the pixels over the flood that a source of the beam's shape has whose peak is at the threshold; 1 without either.

    It is over the flood within r^2 = 2 s^2 ln(sigma / flood), and a beam's area is 2 pi s^2.
    """
    if not beam_area or flood is None:
        return 1
    return max(1, math.floor(min(_COVERED * beam_area * math.log(sigma / flood), 2.0**62)))


def points_that_touch(beam_area: float | None, sigma: float, flood: float | None) -> tuple[int, ...]:
    """What parts are like that part at a shallow pass: the bounds that `kernels.deblend.contract` has, none without beam or flood.

    A point covers beam_area ln(peak / flood) pixels over the flood; a beam's full width is sqrt(beam_area 4 ln 2 / pi).
    """
    if not beam_area or flood is None:
        return NO_POINTS
    width = beam_area * 4 * math.log(2) / math.pi
    sizes = (beam_area * math.log(peak * sigma / flood) for peak in _PEAKS)
    bounds = [min(bound, 2.0**62) for bound in (*sizes, *(share**2 * width for share in (*_TO_PASS, *_TO_SUMMIT)))]
    return tuple(math.floor(bound) if at % 2 else math.ceil(bound) for at, bound in enumerate(bounds))
