"""Islands taken apart on a GPU in parts of rows: the bits of the whole, wherever an image is cut and at any budget."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.reference.deblend import deblend as reference
from tests.backend.kernels import cut_into
from tests.backend.test_deblend import field, run
from tests.backend.test_fit import SKY
from tests.backend.test_gpu_parts import same
from tests.ways import lanes_aside


@pytest.fixture(autouse=True)
def gpu(device):
    if device_limits(device).host:
        pytest.skip("the host's kernels have tests of their own")


def check(image, device, cuts, least=1, **rules):
    """Labels are the sorted list's, and all columns those of the image that is not cut."""
    rules = {"connectivity": 8, "min_area": 1, "capacity": image.size // 2 + 1} | rules
    with cut_into(0):
        whole, labels, stats, _ = run(image, 1, device=device, **rules)
    about = {name: rules[name] for name in ("connectivity", "min_area")}
    wanted, island, _ = reference(image, stats[6], stats[5], 0.4, 1.2, contrast=0.01, prominence=0.3, **about)
    assert np.array_equal(labels, wanted) and np.array_equal(whole["island"], island) and len(island) >= least
    for rows in cuts:
        with cut_into(rows):
            columns, parts, _, plan = run(image, 1, device=device, **rules)
        assert plan.n_parts == -(-len(image) // rows) > 1
        assert np.array_equal(parts, labels), rows
        assert all(np.array_equal(one, columns[name], equal_nan=True) for name, one in whole.items()), rows


# Summits on edges of parts, level ground across them, slopes and basins that reach over many, and parts of one row or column.
@pytest.mark.short_runs
@pytest.mark.parametrize(
    ("dtype", "shape", "smooth", "levels", "cuts", "rules"),
    [
        ("f4", (40, 33), 0.7, 0, (1, 7), {}), ("f8", (40, 33), 2.0, 4, (1, 13), {}),
        ("f4", (97, 5), 0.7, 1, (2, 96), {"connectivity": 4}), ("f8", (61, 47), 2.0, 1, (8, 31), {"min_area": 5}),
        ("f4", (50, 1), 0.7, 4, (1, 3), {"connectivity": 4}), ("f8", (61, 47), 0.0, 1, (3,), {"connectivity": 4}),
        ("f4", (61, 47), 0.7, 0, (1, 4), {"connectivity": 4}),
        ("f4", (61, 47), 0.7, 9, (5, 20), {"min_area": 4}), ("f4", (2, 90), 0.7, 3, (1,), {}),
    ],
    ids=str,
)  # fmt: skip
def test_equals_the_sorted_list_of_pixels_wherever_it_is_cut(device, rng, dtype, shape, smooth, levels, cuts, rules):
    check(field(rng, shape, smooth, levels).astype(dtype), device, cuts, **rules)


@pytest.mark.parametrize("kind", ["ramp", "plateau", "comb", "rings"])
def test_basins_and_islands_over_many_parts(device, kind):
    """A slope through all parts, level ground, teeth that meet in the last row or the first, basins that meet again and again."""
    y, x = np.mgrid[:90, :61].astype("f4")
    image = {
        "ramp": y * 61 + x + 1,
        "plateau": np.full_like(y, 7),
        "comb": np.where(x % 2 == 0, 50 + y % 5 + x % 3, np.where(y == 89, 20, -40)),
        "rings": 50 + 10 * np.cos(np.hypot(y - 45, x - 30)) + (x * 7 + y * 3) % 5,
    }[kind]
    image = np.concatenate([np.zeros((91, 61), "f4"), image.astype("f4"), np.zeros((40, 61), "f4")])
    for one, rows in ((image, 9), (image[::-1].copy(), 64)):
        check(one, device, (rows,), least=1 if kind in ("ramp", "plateau") else 9)


def apart(image, device, sigma, flood, connectivity):
    """Labels in noise of 1."""
    labels = np.full(image.shape, -1, np.int32)
    about = {"background": 0.0, "noise": 1.0, "blank": "nan", "capacity": 150, "connectivity": connectivity, "device": device}
    fp.find_sources(image, sigma, flood=flood, labels=labels, deblend=True, **about)
    return labels


@pytest.mark.parametrize(("seed", "levels", "connectivity"), [(34, 6, 4), (0, 2, 8)])
def test_of_equal_passes_the_first_counts(device, seed, levels, connectivity):
    """Fields found among many: of passes of one pixel, or of two on either side of an edge, another than the first opens others."""
    image = field(np.random.default_rng(seed), (20, 20), levels=levels)
    rules = {"connectivity": connectivity, "contrast": 0.002, "prominence": 1.5, "min_area": 1}
    wanted, _, _ = reference(image, 1.0, 0.0, 0.3, 1.2, **rules)
    for rows in (1, 3):
        with cut_into(rows):
            assert np.array_equal(apart(image, device, 1.2, 0.3, connectivity), wanted)


def test_a_pass_down_over_an_edge_comes_after_those_up(device):
    """A pixel is the pass to three summits: the middle one stands out where it meets the low one first, not beside the high one."""
    image = np.zeros((4, 5), np.float32)
    image[0, 1], image[0, 3], image[1, 2], image[2, 2], image[3, 2] = 100, 11.8, 10, 12, 1000
    wanted, _, _ = reference(image, 1.0, 0.0, 2, 5, connectivity=8)
    assert wanted.max() == 3
    for rows in (2, 4):
        with cut_into(rows):
            assert np.array_equal(apart(image, device, 5, 2, 8), wanted)


def test_a_higher_pass_takes_the_place_of_one_that_an_earlier_part_had(device):
    """Two ridges that meet low down in one part, and high up in another: their summits are one source."""
    image = np.zeros((12, 30), np.float32)
    image[1:10, 1::6], image[1:10, 3::6] = np.linspace(40, 39, 9)[:, None], np.linspace(30, 29.6, 9)[:, None]
    image[1, 2::6], image[10, 1::6], image[10, 2::6], image[10, 3::6] = 10, 29.2, 29.1, 29.3
    for one in (image, image[::-1].copy()):
        for rows in (4, 12):
            with cut_into(rows):
                assert apart(one, device, 5, 2, 4).max() == 5


def sky(shape, dtype="f4"):
    """Crowds of points and noise, and a second look at them."""
    rng = np.random.default_rng(7)
    points = np.zeros(shape)
    points[tuple(rng.integers(0, n, shape[0] * shape[1] // 60) for n in shape)] = 40 * rng.random(shape[0] * shape[1] // 60) ** 3
    spots = ndimage.gaussian_filter(points, 1.5) * 14
    first, second = (spots + ndimage.gaussian_filter(rng.standard_normal(shape), 1.2) * 4 for _ in range(2))
    first[shape[0] // 2, 5:40] = np.nan
    return first.astype(dtype), second.astype("f8")


@pytest.mark.parametrize(
    "options",
    [
        {"deblend": True, "fit": "gaussian", "header": SKY, "residual": True, "pairs": True},
        {"deblend": True, "background": "mesh", "box": 16, "save_noise": True, "measure_on": True, "fit": "point", "residual": True,
         "header": SKY},
        {"deblend": True, "measure_on": True, "matched_filter": 3.0},
        {"measure_on": True, "matched_filter": 3.0, "background": "mesh", "box": 16},
        {"measure_on": True, "flood": 1.0, "dtype": ">f8"},
        {"deblend": True, "negatives": True}, {"deblend": True, "reliability": 0.9},
    ],
    ids=lambda options: "-".join(options),
)  # fmt: skip
def test_all_that_is_made_of_sources_is_that_of_the_whole(device, options):
    image, second = sky((144, 81), options.get("dtype", "f4"))
    given = {name: value for name, value in options.items() if name not in ("dtype", "measure_on", "save_noise")}
    given |= {"measure_on": {"b": second, "below": -image}} if "measure_on" in options else {}

    def found():
        labels, noise = np.full(image.shape, -1, "i4"), np.zeros(image.shape)
        saved = {"save_noise": noise} if "save_noise" in options else {}
        tables = fp.find_sources(image, 4.0, labels=labels, device=device, **({"flood": 2.0} | given | saved))
        return (*(tables if isinstance(tables, tuple) else (tables,)), labels, noise)

    with cut_into(0):
        *whole, labels, noise = found()
    assert len(whole[0]) > 20
    with cut_into(48):
        *tables, painted, map_of_it = found()
    assert all(same(one, other) for one, other in zip(whole, tables, strict=True))
    assert np.array_equal(labels, painted) and np.array_equal(noise, map_of_it)


@pytest.mark.parametrize("options", [{}, {"background": "mesh", "box": 64, "measure_on": True}], ids=str)
def test_any_budget_gives_one_catalogue(device, backend, options):
    """What is refused names one that does, and smaller parts have room for the pieces that there are then."""
    image, second = sky((1100 if backend.limits.cores < 16 else 4100, 97))
    rng, parts = np.random.default_rng(1), set()
    options = {"sigma": 4.0, "flood": 2.0, "deblend": True, "device": device} | options
    options |= {"measure_on": {"b": second}} if "measure_on" in options else {}
    plans = []
    whole = fp.find_sources(image, on_plan=plans.append, **options)
    with pytest.raises(fp.BudgetError) as caught:
        fp.find_sources(image, memory=1, **options)
    low, high = caught.value.smallest, plans[-1].footprint.total
    assert plans[-1].n_parts == 1 and low < high / 2
    for memory in (low, *(int(low + share * (high - low)) for share in rng.random(1 if "measure_on" in options else 2))):
        for _ in range(4):
            try:
                table = fp.find_sources(image, memory=memory, on_plan=plans.append, **options)
                break
            except fp.BudgetError as error:
                assert error.smallest > memory
                memory = error.smallest
        assert plans[-1].footprint.total <= memory and same(whole, table) and whole.meta == table.meta
        parts.add(plans[-1].n_parts)
    assert max(parts) >= 4 and len(whole) > 300


def test_files_are_read_while_parts_are_taken_apart(device, monkeypatch, rng):
    lanes_aside(monkeypatch)
    image = field(rng, (1500, 901))
    plans: list = []
    options = {"sigma": 4.0, "flood": 2.5, "deblend": True, "capacity": 6000, "device": device, "on_plan": plans.append}

    class File:
        shape, dtype = image.shape, image.dtype

        def read(self, rows, out):
            out[...] = image[rows]

    labels, painted = (np.full(image.shape, -1, "i4") for _ in range(2))
    whole = fp.find_sources(image, labels=labels, **options)
    table = fp.find_sources(File(), memory="16MB", labels=painted, **options)
    assert np.array_equal(labels, painted) and len(whole) > 20
    assert plans[0].n_parts == 1 < plans[-1].n_parts and len(plans[-1].lanes) == 3 and same(whole, table)
