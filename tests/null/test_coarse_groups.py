"""Wide Gaussians by units: what groups leave and who joins it, wherever a part begins, and the tables they sum by."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from footprint.backend.null import PROFILES
from footprint.kernels.coarse.contract import (
    CHIP,
    MOMENTS,
    ROWS,
    TALL,
    UNITS_CHIP,
    Wide,
    by_moments,
    in_reach,
    parts_of,
    tables,
    way_of,
)
from footprint.kernels.coarse.gpu import JOINED, Grid, coarse_program
from footprint.kernels.coarse.pairs import two
from footprint.kernels.coarse.ways import PLAIN, SIDE, UNITS, Way
from footprint.kernels.common.launch import MAX_GROUPS_Y
from footprint.spec import ArraySpec as S

H100 = PROFILES["h100"]


def somewhere(way: Way, seed: int) -> Grid:
    """A part of an image that begins anywhere in it."""
    draw = random.Random(seed)
    sigma = draw.uniform(11, 30) if seed % 2 else draw.uniform(11, 400)
    stride, wide, x0, first = way.stride_of(sigma), draw.randint(1, 3000), draw.randint(0, 3000), draw.randint(0, 9999)
    width = x0 + wide + draw.randint(0, 3000)
    places = (0, first % stride, 0, first // stride % 8, (first - x0) % SIDE, int(4 * sigma) * 4 // 5)
    return Grid(way, 1, 10, width, 10, wide, int(0.56 * sigma), stride, 0, x0, *places)


@pytest.mark.parametrize("way", [UNITS, PLAIN], ids=["units", "plain"])
def test_no_part_leaves_more_than_the_largest_at_its_worst_place(way):
    for seed in range(2000):
        grid = somewhere(way, seed)
        shares, columns = grid.work((44, 44))[3].shape[-1], grid.work((44, 44))[6].shape[-1]
        assert grid.column_groups * grid.left <= shares and grid.columns <= columns, grid


def test_groups_of_units_take_the_whole_image_and_lie_where_the_whole_has_them():
    for seed in range(2000):
        grid = somewhere(UNITS, seed)
        assert grid.begin <= 0 and grid.begin + grid.column_groups * grid.side >= grid.width, grid
        assert (grid.begin + grid.origin) % SIDE == 0, grid


@pytest.mark.parametrize("way", [UNITS, PLAIN], ids=["units", "plain"])
def test_what_is_joined_fits_the_chip_and_lies_in_its_groups_share(way):
    for seed in range(500):
        grid = somewhere(way, seed)
        ends = [grid.first + c * grid.stride - grid.begin for c in range(grid.columns)]
        for c, at in enumerate(ends):
            groups = range(max(at // grid.side, 0), min((at + grid.taps * grid.stride - 1) // grid.side + 1, grid.column_groups))
            for group in groups:
                own = (grid.begin + group * grid.side - grid.first) // grid.stride
                assert 0 <= c - own + grid.taps - 1 < grid.left, grid
            assert len(groups) * grid.left <= JOINED


def launched(
    sigma: float, dtype: str = "float32", shape: tuple[int, int, int] = (1, 8192, 8192), way: Way = UNITS, **more: Any
) -> dict[str, Any]:
    """Launches by name."""
    found = Wide(sigma, int(4 * sigma + 0.5), way)
    specs = [S(one.shape, one.dtype.str) for one in tables(found, found)]
    places = {"y0": 0, "x0": 0, "first_y": 0, "first_x": 0, "border_y": "wrap", "border_x": "wrap"}
    steps = found.step, found.stride, found.step
    how = {"steps": steps, "reaches": (found.reach, found.reach), **places, **more}
    program = coarse_program(H100, S(shape, dtype), *specs, S(shape), **how)  # type: ignore[arg-type]
    return {one.entry: one for one in program.launches}


@pytest.mark.parametrize("sigma", [11.0, 20.0, 58.0, 113.0, 399.9])
@pytest.mark.parametrize("wide", [1, 700, 8192])
def test_every_group_has_room_on_the_chip(sigma, wide):
    for launch in launched(sigma, shape=(1, 3000, wide)).values():
        assert launch.local <= UNITS_CHIP <= H100.local_mem, launch.entry


@pytest.mark.parametrize("sigma", [11.0, 20.0, 33.0, 58.0, 100.0, 116.0, 200.0, 399.0])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "uint16"])
def test_as_many_groups_fit_a_core_as_registers_are_kept_for(sigma, dtype):
    """Of 228 KB a core, one of each group is the driver's."""
    launch = launched(sigma, dtype)["coarse_both"]
    resident = dict(launch.defines)["MIN_GROUPS"]
    assert resident == (3 if by_moments(int(0.56 * sigma), UNITS) else 4)
    assert (launch.local + 1024) * resident <= 228 << 10
    assert launch.local <= H100.local_mem and launch.own


def gathered(sigma: float, **places: Any) -> tuple[int, int, int, tuple[int, int]]:
    """Rows of a block, the first that is gathered and the one behind the last, and which blocks are summed along rows."""
    launches = launched(sigma, **places)
    *_, top, _, _, step, _, _, _, before, blocks, whole = (int(one) for one in launches["coarse_both"].args[6:])
    seen = tuple(int(one) for one in launches["coarse_lines"].args[-2:])
    assert seen[1] <= blocks
    block = 16 * step
    return block, top - before * block, top + (whole - before) * block, seen


def test_rows_that_no_result_comes_from_are_gathered_across():
    """Results of a few rows in the middle of an image, whose last rows they see by a border that wraps."""
    _, begin, end, seen = gathered(20.0, y0=4000)
    # Every step that a coarse row comes from which the last result does: eight and a half steps, and as many.
    assert begin <= 0 and end >= 4000 + 8192 + 16 * 11 and seen[0] == 0


@pytest.mark.parametrize("sigma", [11.3, 20.0, 25.0, 50.0, 113.0, 200.0, 390.0])
@pytest.mark.parametrize("height", [1, 700, 8192])
def test_no_block_is_gathered_of_which_nothing_counts(sigma, height):
    """What is six sigmas or more beyond an image: a group of 16 steps has nine of them, and coarse rows reach ten."""
    far, (block, begin, end, seen) = int(4 * sigma + 0.5) * 3 // 2, gathered(sigma, shape=(1, height, 500), border_y="reflect")
    assert begin <= -far < begin + block and end - block < height + far <= end
    assert (seen[1] - seen[0]) * block == end - begin


@pytest.mark.parametrize("step", [*range(6, 225, 7), 64, 65, 128, 129])
def test_polynomials_make_the_weights_of_long_steps(step):
    """Each group's share of a step under its own, to a few of the last bits of the largest weight."""
    assert parts_of(step, PLAIN) == 1 << max(-(-step // 32) - 1, 0).bit_length()
    if not by_moments(step, UNITS):
        assert parts_of(step, UNITS) == parts_of(step, PLAIN) and step <= 64
        return
    sigma = step / 0.56 + 1e-6
    found = Wide(sigma, int(4 * sigma), UNITS)
    down = tables(found, found)[0].astype(float)
    parts = parts_of(step, UNITS)
    whole = np.exp(-0.5 * ((np.arange(TALL * step) - TALL * step // 2) / (sigma / np.sqrt(2))) ** 2).reshape(TALL, step).T
    under, made = down[:step, :MOMENTS], down[step:, :MOMENTS].reshape(parts, TALL, MOMENTS)
    for part in range(parts):
        rows = slice(part * step // parts, (part + 1) * step // parts)
        np.testing.assert_allclose(under[rows] @ made[part].T, whole[rows], atol=1.2e-7)


@pytest.mark.parametrize("sigma", [11.0, 12.4, 16.0, 18.7, 20.0, 22.0, 24.9, 25.0, 50.0, 200.0])
def test_six_coarse_columns_make_a_gaussian(sigma):
    """To 1.3e-3 of its largest weight, which makes 4e-7 of what lies beyond four sigmas."""
    found = Wide(sigma, int(4 * sigma), UNITS)
    _, _, under, drop, _, _ = (one.astype(float) for one in tables(found, found))
    stride, before = found.stride, UNITS.before(found.stride)
    largest = 1 / np.exp(-0.5 * (np.arange(-found.reach, found.reach + 1) / sigma) ** 2).sum()
    assert drop.shape == (stride, 6) and under.shape == (stride, UNITS.beside(stride))
    at = np.arange(-int(6 * sigma), int(6 * sigma) + 1)
    for offset in range(stride):
        made = np.zeros(at.size)
        for k, weight in enumerate(drop[offset]):
            place = at + offset - (k - UNITS.middle) * stride + before
            inside = (place >= 0) & (place < under.size)
            made += weight * np.where(inside, under.T.ravel()[np.clip(place, 0, under.size - 1)], 0)
        np.testing.assert_allclose(made / largest, np.exp(-0.5 * (at / sigma) ** 2), atol=1.3e-3)


@pytest.mark.parametrize("sigma", [11.0, 12.4, 20.0, 33.0, 113.0, 399.0])
def test_tables_of_a_line_make_the_weights_across(sigma):
    """Coarse points of a line, less what lies beyond: weights as they are, and nothing of what they end before."""
    found = Wide(sigma, int(4 * sigma), UNITS)
    step, line = found.step, tables(found, found)[4].astype(float)
    under, rise = line[: 20 * step].reshape(step, 20), line[20 * step : 37 * step].reshape(step, TALL)
    beyond = line[37 * step :].reshape(2, -1)
    taps = beyond.shape[1] - 24
    weights = np.exp(-0.5 * (np.arange(-found.reach, found.reach + 1) / sigma) ** 2)
    whole = weights / weights.sum()
    assert not under[:, TALL:].any() and taps % 16 == 8 and not beyond[:, :8].any() and not beyond[:, 8 + taps :].any()
    for j in range(step):
        made = np.zeros(34 * step)
        for k in range(TALL):
            made[k * step : (k + TALL) * step] += rise[j, k] * under[:, :TALL].T.ravel()
        # The result lies j after half a step before the middle point's place.
        place = 8 * step + 17 * step // 2 + j - step // 2
        made[place + found.reach + 1 : place + found.reach + 1 + taps] -= beyond[0, 8 : 8 + taps]
        made[place - found.reach - taps : place - found.reach] -= beyond[1, 8 : 8 + taps]
        should = np.zeros_like(made)
        should[place - found.reach : place + found.reach + 1] = whole
        np.testing.assert_allclose(made, should, atol=4e-7 * whole.max(), err_msg=str(j))
        near = np.abs(np.arange(made.size) - place) <= 3.5 * sigma
        np.testing.assert_allclose(made[near], should[near], rtol=2e-6, atol=2e-8 * whole.max())


def test_numbers_of_units_are_halves_of_what_they_stand_for():
    values = np.random.default_rng(0).random(1000) + 1e-9
    high, low = (one.astype(float) for one in two(values))
    assert (np.abs(high / values - 1) <= 2.0**-11).all() and (np.abs(high + low - values) <= 2.0**-22 * values).all()
    for one in (high, low):
        assert not (one.astype(np.float32).view(np.uint32) & 0x1FFF).any()


@pytest.mark.parametrize("way", [UNITS, PLAIN], ids=["units", "plain"])
@pytest.mark.parametrize("sigma", [11.0, 20.0, 200.0, 399.0])
def test_images_of_most_rows_have_no_more_groups_than_a_device_starts(way, sigma):
    rows = {"shape": (1, ROWS, 5000), "way": way}
    for launch in launched(sigma, **rows).values():
        assert max(launch.grid[1:]) <= MAX_GROUPS_Y, launch.entry


def test_devices_without_units_gather_twice():
    image, small = S((8192, 8192)), replace(H100, local_mem=CHIP - 1)
    assert in_reach(H100, image) and in_reach(PROFILES["a100"], image) and not in_reach(small, image)
    assert not in_reach(H100, S((2, (1 << 30) + 1)))
    assert way_of(H100) is UNITS and way_of(replace(H100, local_mem=UNITS_CHIP - 1)) is PLAIN and way_of(PROFILES["a100"]) is PLAIN
