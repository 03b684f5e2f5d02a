"""Sources that were fitted as one and are two: what finding pairs adds to a search, its plan and its columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._call import Face, Stream, call, planned
from footprint.api._deblend import HIDDEN
from footprint.api._fit import SHAPED
from footprint.api._image import host
from footprint.api._room import first_that_fits
from footprint.api._search import Search
from footprint.api.measure import Islands
from footprint.errors import ArgumentError, flag
from footprint.kernels.find_sources.contract import X_PEAK, Y_PEAK
from footprint.kernels.fit.contract import CHI2, COLUMNS, ERRORS, HEIGHT, MAJOR, MINOR, SUM, THETA, X, Y
from footprint.kernels.pairs import contract as pairs
from footprint.kernels.sigma_clip.contract import BACKGROUND, NOISE
from footprint.ops.deblend import MEMBER_ROW
from footprint.ops.measure import LOCAL_ROW
from footprint.ops.pairs import WINDOW_ROW, GivenCells, LocalRests, Rests, Split
from footprint.ops.pipeline import Pipeline, Stage
from footprint.plan.faces import Region, Taker
from footprint.plan.plan import Plan

# Of the column `flags`: fitted as one source first.
PARTED = 32
# Pixels of a window from one that is looked at to the next, in beams and at most; windows along either axis that tell the noise.
_STEP, _MOST, _FIELD = 0.4, 7, 16
# Windows of rows that are looked at together, at least.
_FEWEST = 64
# Peaks of windows that tell it, in typical noises; how far its correlation may be from what is taken for it, and what counts of it.
_PEAK, _OFF, _LOW = 5.0, 0.1, 0.2
# Columns of fits, by their names.
_FITTED = {f"fit_{name}{end}": column + first for name, column in SHAPED.items() for end, first in (("", 0), ("_err", ERRORS))}
_FITTED["fit_chi2"] = CHI2
# In beams: how near no other row may be to a part; how far a place may move.
_ALONE, _MOVED = 0.5, 1.6
# How well the place of a row of the second search has to be known, in beams over the threshold: as nine in ten points are there.
_PLACED = 0.75


def check_pairs(wanted: Any, search: Search, kept: Any) -> bool:
    """Whether pairs are to be found, which needs a residual pass of shapes, a beam, and nothing measured that was fitted as one."""
    if not flag("pairs", wanted):
        return False
    rules = search.rules
    if rules.fit is None or not rules.fit.free or not rules.residual:
        fix = "give deblend=True, fit='gaussian' and residual=True"
        raise ArgumentError("pairs", "no shapes from a residual pass", "them", fix)
    if not rules.fit.beam:
        raise ArgumentError("pairs", "no beam", "an image whose header has the beam and the pixel size", "leave pairs out")
    others = {"apertures or kron": rules.light, "windowed": rules.windowed, "measure_on": rules.elsewhere}
    others |= {"save_model or save_residual": kept}
    beside = [name for name, there in others.items() if there]
    if beside:
        fix = "measure at the table's places with apertures or measure_at"
        raise ArgumentError("pairs", f"it together with {' and '.join(beside)}", "it alone", fix)
    return True


@dataclass(frozen=True)
class Pairs:
    """What comes after a search that finds them."""

    search: Search

    @property
    def _beam(self) -> tuple[float, ...]:
        assert self.search.rules.fit is not None
        return self.search.rules.fit.beam

    @property
    def _width(self) -> float:
        """The beam's full width, between its axes."""
        yy, yx, xx = self._beam
        return 2 * math.sqrt(2 * math.log(2)) / (yy * xx - yx * yx) ** 0.25

    @property
    def _step(self) -> int:
        return min(max(1, round(_STEP * self._width)), _MOST)

    def plan(self, ins: list[Face] | None = None) -> Plan:
        """Of as many windows as the search has room for sources, or the fewest at once, and those that tell the noise."""
        search = self.search
        ways = tuple((room.rows, count) for room in search.rooms for count in _at_once(room.rows))
        return search.here_or_there(lambda one: first_that_fits(ways, lambda way: self._planned(one, *way, ins)))

    def _planned(self, search: Search, rows: int, count: int, ins: list[Face] | None) -> Plan:
        faces, boxes = ins or search.faces, np.zeros((_FIELD**2 + count, 8), np.int64)
        tables = self._tables(faces, np.zeros((rows, COLUMNS)), boxes)
        steps = self._steps(len(boxes), rows)
        taker = Stream(Taker(lambda region, block: None), steps.out_specs(*(one.spec for one in tables))[0], key="rests")
        return planned("find_sources", steps, tables, [taker], search.device, search.memory)

    def _steps(self, places: int, rows: int) -> Pipeline:
        """Windows of what the fits leave, over a mesh of that where there is a mesh; ``rows`` of another catalogue there may be."""
        rules, radius = self.search.rules, pairs.LARGE * self._step
        # A copy of the windows that tell the noise, and which of their pixels are numbers; what is given and found of all rows.
        beside = (8 + 1) * _FIELD**2 * (2 * radius + 1) ** 2 + WINDOW_ROW * (rows + _FIELD**2)
        beside += (LOCAL_ROW + MEMBER_ROW) * (rows if rules.beside < 0 else rules.beside)
        if rules.maps is None:
            rests: Rests = Rests(places, radius, beside)
            return Pipeline((Stage(rests, *rests.names()),), rests.names()[0], ("rests",))
        kinds, cells = rules.maps.kinds, []
        if "mesh" in kinds:
            cells = [Stage(GivenCells(**vars(rules.maps.cells)), ("image", "fits", "count"), ("cells",))]
        rests = LocalRests(places, radius, beside, *kinds, rules.maps.cells.size)
        reads = tuple(name for name in rests.names()[0] if name != "cells")
        return Pipeline((*cells, Stage(rests, *rests.names())), reads, ("rests",))

    def _tables(self, faces: list[Face], fits: np.ndarray, boxes: np.ndarray) -> list[Face]:
        """What the steps read, in their order."""
        levels = self.search.levels
        found = [faces[0]]
        if levels is not None and "clip" in levels.kinds.values():
            found.append(host(self.search.stats))
        found += faces[1:] if levels is not None else []
        count = np.array([len(fits)], np.int64), np.array([len(boxes)], np.int64)
        return [*found, host(fits), host(count[0]), host(boxes), host(count[1])]

    def part(self, found: Islands) -> dict[str, Any]:
        """Make two rows of what is a pair, the fainter at the end, and place what is long anew; what metadata say of it."""
        columns = found.columns
        if not len(columns["label"]):
            return {"pairs": 0, "refitted": 0, "joined": 0, "dropped": 0}
        order = np.argsort(np.where(np.isfinite(columns["fit_y"]), columns["fit_y"], columns["y_peak"]), kind="stable")
        fits = np.full((len(order), COLUMNS), np.nan)
        for name, column in SHAPED.items():
            fits[:, column], fits[:, ERRORS + column] = columns[f"fit_{name}"][order], columns[f"fit_{name}_err"][order]
        given, boxes = self._given(columns, order, fits)
        table = first_that_fits(_at_once(len(order)), lambda count: self._found(count, fits, given, boxes))
        if table is None:
            return {"pairs": "not looked for: the noise is not correlated as by a beam"}
        for at in (2, 2 + COLUMNS):
            table[:, at + Y] += given[:, pairs.CENTRE_Y]
            table[:, at + X] += given[:, pairs.CENTRE_X]
        return self._write(columns, order, table)

    def _found(self, count: int, fits: np.ndarray, given: np.ndarray, boxes: np.ndarray) -> np.ndarray | None:
        """What windows show, so many ``count`` at once, the first with those that tell the noise; None where it is no beam's."""
        table, noise, field = np.zeros((len(given), pairs.RESULT)), None, _FIELD**2
        for first in range(0, len(given), count):
            last = min(first + count, len(given))
            rests = self._rests(fits, boxes[(field + first) if first else 0 : field + last])
            if not first:
                noise, rests = _noise(rests[:field], self._step, self._width), rests[field:]
            if noise is None:
                return None
            tables = [host(one) for one in (rests, given, np.array(self._beam), noise)]
            split, out = Split(self._step, first), [host(table[first:last])]
            call("find_sources", split, tables, out, "cpu", self.search.memory, on_plan=self.search.on_plan)
        return table

    def _given(self, columns: dict[str, np.ndarray], order: np.ndarray, fits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is known of the windows, and their boxes: of places all over the image, and of rows."""
        height, width = self.search.image.spec.shape
        n, first = len(order), _FIELD**2
        given, boxes = np.zeros((n, pairs.GIVEN)), np.ones((first + n, 8), np.int64)
        whole = np.isfinite(fits[:, [HEIGHT, Y, X, MAJOR, MINOR, THETA]]).all(1) & (np.abs(fits[:, [Y, X]]) < 2.0**31).all(1)
        field = (np.arange(_FIELD) + 0.5) / _FIELD
        field_y, field_x = np.repeat(field * height, _FIELD), np.tile(field * width, _FIELD)
        for axis, at, box, centre, place, spread in (
            ("y", Y, Y_PEAK, pairs.CENTRE_Y, pairs.Y, field_y),
            ("x", X, X_PEAK, pairs.CENTRE_X, pairs.X, field_x),
        ):
            given[:, centre] = np.rint(np.where(whole, fits[:, at], columns[f"{axis}_peak"][order]))
            given[:, place] = np.where(whole, fits[:, at] - given[:, centre], 0.0)
            boxes[:first, box], boxes[first:, box] = spread, given[:, centre]
        given[:, pairs.SECOND] = columns["flags"][order] & HIDDEN > 0
        given[:, pairs.NOISE] = columns["noise"][order] if "noise" in columns else self.search.stats[NOISE]
        given[:, pairs.HEIGHT] = np.where(whole, fits[:, HEIGHT], np.nan)
        turn = np.radians(fits[:, THETA])
        along, across = 1 / fits[:, MAJOR] ** 2, 1 / fits[:, MINOR] ** 2
        c, s = np.cos(turn), np.sin(turn)
        given[:, pairs.SHAPE] = s * s * along + c * c * across
        given[:, pairs.SHAPE + 1] = c * s * (along - across)
        given[:, pairs.SHAPE + 2] = c * c * along + s * s * across
        return given, boxes

    def _rests(self, fits: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """The windows, of which only this and the kernel keep a copy."""
        search, steps = self.search, self._steps(len(boxes), len(fits))
        tables = self._tables(search.faces, fits, boxes)
        spec = steps.out_specs(*(one.spec for one in tables))[0]
        rests = np.empty(spec.shape)

        def take(region: Region, block: np.ndarray) -> None:
            rests[tuple(region)] = block

        def run(one: Search) -> None:
            sink = Stream(Taker(take), spec, key="rests")
            call("find_sources", steps, tables, [sink], one.device, one.memory, on_plan=one.on_plan)

        search.here_or_there(run)
        if search.levels is None:
            rests -= search.stats[BACKGROUND]
        return rests

    def _write(self, columns: dict[str, np.ndarray], order: np.ndarray, found: np.ndarray) -> dict[str, Any]:
        """Change rows that are placed anew, or parted, add the fainter ones, and drop what is part of another; how many."""
        at = np.stack([np.where(np.isfinite(columns[f"fit_{a}"]), columns[f"fit_{a}"], columns[f"{a}_peak"]) for a in "yx"], 1)
        first, second = (found[:, begin : begin + COLUMNS] for begin in (2, 2 + COLUMNS))
        for k in np.flatnonzero((found[:, 0] == pairs.MOVES) & np.isfinite(first).all(1)):
            row, place = order[k], first[k, [Y, X]]
            if np.hypot(*(place - at[row])) < _MOVED * self._width:
                at[row] = place
                for name, column in (("y", Y), ("x", X)):
                    columns[f"fit_{name}"][row], columns[f"fit_{name}_err"][row] = first[k, column], first[k, ERRORS + column]
        refitted, joined = self._together(columns, order, found, at)
        parted = _apart(at, order, found, _ALONE * self._width, joined)
        rows, faint, bright = order[parted], second[parted], first[parted]
        if len(rows):
            level = columns["background"][rows] if "background" in columns else self.search.stats[BACKGROUND]
            told = _told(columns, faint, level, self.search.image.spec.shape)
            columns["flags"][rows] |= PARTED
            for name, old in list(columns.items()):
                at_column = _FITTED.get(name)
                if at_column is None:
                    more = told.get(name, old[rows])
                else:
                    old[rows], more = bright[:, at_column], faint[:, at_column]
                columns[name] = np.concatenate([old, np.broadcast_to(more, len(rows)).astype(old.dtype)])
        stays = self._sure(columns)
        stays[joined] = True
        dropped = int(np.count_nonzero(~stays))
        stays[joined] = False
        if not stays.all():
            for name in list(columns):
                columns[name] = columns[name][stays]
            # Rows of the second search and later ones have no pixels among the labels.
            columns["label"] = np.arange(1, len(columns["label"]) + 1, dtype=columns["label"].dtype)
        return {"pairs": len(rows), "refitted": refitted, "joined": len(joined), "dropped": dropped}

    def _sure(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Which rows stay: of the second search, those whose fits say that something is there, and where.

        What sources under the threshold add up to in a crowd is wide, and lies on none of them; so does what a wrong model
        leaves. Errors count what the fit leaves where that is more than the noise.
        """
        alone, sigma = (columns["flags"] & (HIDDEN | PARTED)) == HIDDEN, self.search.rules.sigma
        with np.errstate(invalid="ignore"):
            doubt = np.sqrt(np.maximum(columns["fit_chi2"], 1))
            there = columns["fit_peak"] > sigma * columns["fit_peak_err"] * doubt
            placed = np.hypot(columns["fit_x_err"], columns["fit_y_err"]) * doubt <= _PLACED / sigma * self._width
        return ~alone | (there & placed)

    def _together(
        self, columns: dict[str, np.ndarray], order: np.ndarray, found: np.ndarray, at: np.ndarray
    ) -> tuple[int, list[int]]:
        """Change rows that were fitted anew with a neighbour; how many twos, and which rows are part of another."""
        refitted, joined = 0, []

        def become(row: int, fit: np.ndarray) -> None:
            at[row] = fit[[Y, X]]
            for name, column in _FITTED.items():
                columns[name][row] = fit[column]

        for k in np.flatnonzero(found[:, 0] >= pairs.REFITS):
            rows = [int(order[k]), int(order[int(found[k, pairs.OTHER])])]
            fits = [found[k, 2 : 2 + COLUMNS], found[k, 2 + COLUMNS : 2 + 2 * COLUMNS]]
            if found[k, 0] == pairs.JOINED:
                # What the first search found stays, and of two of the second the higher.
                if not columns["flags"][rows[1]] & HIDDEN:
                    rows.reverse()
                fits = fits[:1]
            moved = np.array([[np.hypot(*(fit[[Y, X]] - at[row])) for fit in fits] for row in rows[: len(fits)]])
            if len(fits) == 2 and moved[0, 0] + moved[1, 1] > moved[0, 1] + moved[1, 0]:
                fits.reverse()
                moved = moved[:, ::-1]
            if not all(np.isfinite(fit).all() for fit in fits) or not np.all(np.diag(moved) < pairs.LARGE * self._step):
                continue
            for row, fit in zip(rows, fits):
                become(row, fit)
            refitted += len(fits) == 2
            joined += rows[len(fits) :]
        return refitted, joined


def _at_once(rows: int) -> tuple[int, ...]:
    """How many windows may be looked at together, the most first: each look goes through the whole image."""
    found = [max(rows, 1)]
    while found[-1] > _FEWEST:
        found.append(max(-(-found[-1] // 4), _FEWEST))
    return tuple(found)


def _noise(windows: np.ndarray, step: int, width: float) -> np.ndarray | None:
    """The noise's correlation, as `kernels.pairs.contract` has it, by windows all over the image; None where it is no such."""
    side = math.isqrt(windows.shape[1])
    whole = np.isfinite(windows).all(1)
    power = np.where(whole, np.einsum("ij,ij->i", windows, windows), np.nan) / side**2
    typical = math.sqrt(np.median(power[whole])) if whole.any() else 0.0
    with np.errstate(invalid="ignore"):
        whole &= np.maximum(windows.max(1), -windows.min(1)) < _PEAK * typical
    windows = windows[whole].reshape(-1, side, side)
    if len(windows) < _FIELD:
        return None
    lags, seen = [], []
    reach = max(1, round(width / step)) * step
    for dy in range(0, reach + 1, step):
        for dx in range(-reach, reach + 1, step):
            if (dy or dx > 0) and dy * dy + dx * dx <= reach * reach:
                here, there = (
                    windows[:, dy:, max(dx, 0) : side + min(dx, 0)],
                    windows[:, : side - dy, max(-dx, 0) : side - max(dx, 0)],
                )
                lags.append((dy, dx))
                seen.append(float(np.einsum("kij,kij->", here, there)) / here.size)
    (dys, dxs), told = np.array(lags, float).T, np.array(seen) / float(power[whole].mean())
    terms = np.stack([np.ones(len(dys)), -dys * dys / 4, -dys * dxs / 2, -dxs * dxs / 4], 1)
    high = told > _LOW
    # Of noise that knows no neighbour so far off.
    found = np.array([0.0, 1.0, 0.0, 1.0])
    if high.sum() >= len(found):
        # A share's logarithm is as wrong as the share, over the share.
        found = np.linalg.lstsq(terms[high] * told[high, None], np.log(told[high]) * told[high], rcond=None)[0]
        found[0] = math.exp(min(found[0], 0.0))
    if not (found[1] > 0 and found[3] > 0 and found[1] * found[3] > found[2] * found[2]):
        return None
    return found if np.abs(found[0] * np.exp(terms[:, 1:] @ found[1:]) - told).max() <= _OFF else None


class _Near:
    """Places, and whether any lies ``near`` another one, by squares of that width."""

    def __init__(self, at: np.ndarray, near: float) -> None:
        self.at, self.near = at, near
        cells = self._cell(at)
        self.order = np.argsort(cells, kind="stable")
        self.cells = cells[self.order]
        self.gone: set[int] = set()
        self.new: dict[int, list[np.ndarray]] = {}

    def _cell(self, at: np.ndarray) -> np.ndarray:
        y, x = np.moveaxis(np.floor(at / self.near).astype(np.int64), -1, 0)
        return (y << 32) + x

    def any(self, place: np.ndarray, but: int) -> bool:
        """Whether one does, ``but`` this and what is `gone`."""
        cell = int(self._cell(place))
        for row in (cell - (1 << 32), cell, cell + (1 << 32)):
            first, last = np.searchsorted(self.cells, (row - 1, row + 2))
            others = [self.at[k] for k in self.order[first:last].tolist() if k != but and k not in self.gone]
            others += [one for k in (row - 1, row, row + 1) for one in self.new.get(k, ())]
            if any(np.hypot(*(one - place)) < self.near for one in others):
                return True
        return False


def _apart(at: np.ndarray, order: np.ndarray, found: np.ndarray, near: float, gone: list[int]) -> np.ndarray:
    """Which of the rows ``found`` are parted, the likeliest first, where no part is ``near`` any other row's place ``at``.

    Rows that are ``gone`` are none.
    """
    parted: list[int] = []
    places = _Near(at, near)
    places.gone |= set(gone)
    likely = np.flatnonzero(found[:, 0] == pairs.PARTS)
    for k in likely[np.lexsort((order[likely], -found[likely, 1]))].tolist():
        both = [found[k, 2 + first + np.array([Y, X])] for first in (0, COLUMNS)]
        if any(places.any(one, int(order[k])) for one in both):
            continue
        places.gone.add(int(order[k]))
        for one in both:
            places.new.setdefault(int(places._cell(one)), []).append(one)
        parted.append(k)
    return np.array(parted, np.int64)


def _told(columns: dict[str, np.ndarray], faint: np.ndarray, level: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """What columns beside the fits' have of sources without pixels of their own."""
    peak = faint[:, HEIGHT] + level
    told: dict[str, Any] = {"label": columns["label"].max() + 1 + np.arange(len(faint)), "island": 0, "component": 0, "npix": 0}
    told |= {"flags": PARTED | HIDDEN, "peak": peak, "peak_interp": peak, "flux": faint[:, SUM]}
    told |= {"a": faint[:, MAJOR], "b": faint[:, MINOR], "theta": faint[:, THETA]}
    for axis, column, most in (("y", Y, shape[0] - 1), ("x", X, shape[1] - 1)):
        pixel = np.clip(np.rint(faint[:, column]), 0, most)
        told |= {axis: faint[:, column], f"{axis}_interp": faint[:, column]}
        told |= {f"{axis}_{end}": pixel for end in ("min", "max", "peak")}
    return told
