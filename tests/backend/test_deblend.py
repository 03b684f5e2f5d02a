"""Sources that stand on one island, taken apart: against a sorted list of pixels, at any budget, in bounded work."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import fft, ndimage
from scipy.spatial import cKDTree

import footprint as fp
from footprint.api._call import call
from footprint.api._deblend import AT_EDGE, BLENDED, Components
from footprint.api._image import host
from footprint.backend.registry import device_limits
from footprint.kernels.deblend import climb, contract, cpu
from footprint.kernels.measure.cpu import islands
from footprint.ops.deblend import Deblend
from footprint.ops.pipeline import Pipeline, Stage
from footprint.ops.search import BEAMED
from footprint.ops.sigma_clip import SigmaClip
from footprint.reference.deblend import deblend as reference
from footprint.reference.measure import measure
from footprint.spec import ArraySpec

OWN = ("island", "component", "flags")


# A beam of 3.5 pixels, and a unit whose sums no beam divides.
BEAM = {"BUNIT": "Jy/pixel", "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -0.001, "CDELT2": 0.001}
BEAM |= {"BMAJ": 0.0035, "BMIN": 0.0035}


def field(rng, shape, smooth=1.2, levels=0):
    image = ndimage.gaussian_filter(rng.standard_normal(shape), smooth)
    image /= image.std() or 1
    return (np.round(image * levels) if levels else image).astype(np.float32)


def check(image, device="cpu", **options):
    labels = np.full(image.shape, -1, np.int32)
    table = fp.find_sources(image, labels=labels, deblend=True, device=device, **options)
    background, noise = table.meta["background"], table.meta["noise"]
    named = {name: table.meta[name] for name in ("flood", "connectivity", "contrast", "prominence", "min_area")}
    if "prominence_beamed" in table.meta:
        named |= {"shallow": table.meta["prominence_beamed"], "beamed": tuple(table.meta[name] for name in BEAMED)}
    wanted, island, component = reference(image, noise, background, seed=table.meta["sigma"], **named)
    assert np.array_equal(labels, wanted)
    assert np.array_equal(table["island"], island) and np.array_equal(table["component"], component)
    found = measure(np.where(np.isfinite(image), image, 0).astype("f8") - background, wanted, len(island))
    for name in ("label", "npix", "peak", "x_peak", "y_peak"):
        assert np.array_equal(table[name], found[name]), name
    assert np.allclose(table["flux"], found["flux"], rtol=1e-9)
    return table


@pytest.mark.parametrize(
    ("shape", "levels", "options"),
    [
        ((1, 1), 0, {}), ((1, 90), 0, {}), ((90, 1), 3, {"min_area": 2}), ((64, 70), 0, {"connectivity": 8}), ((64, 70), 3, {}),
        ((97, 131), 2, {"connectivity": 8, "min_area": 9}), ((97, 131), 0, {"contrast": 0.4, "min_area": 12}),
        ((66, 65), 0, {"contrast": 1, "connectivity": 8}), ((40, 200), 9, {"contrast": 0, "lesson": True}),
        ((97, 131), 0, {"connectivity": 8, "header": BEAM}),
    ],
    ids=str,
)  # fmt: skip
def test_equals_the_sorted_list_of_pixels(rng, shape, levels, options):
    check(field(rng, shape, levels=levels), sigma=1.2, flood=0.3, **options)


@pytest.mark.parametrize(("seed", "shape", "levels"), [(0, (14, 20), 3), (32, (14, 20), 3), (36, (20, 20), 6)])
def test_of_equal_passes_the_first_counts(seed, shape, levels):
    """Fields found among many: the pass of two basins is as high in two rows, or twice along one, and another's is, too."""
    check(field(np.random.default_rng(seed), shape, levels=levels), sigma=1.2, flood=0.3)


def test_parts_like_points_need_a_shallow_pass():
    """A noise deep; neither what is smaller or larger, nor where the pass or the other summit is nearer or farther."""
    header, found = BEAM | {"BMAJ": 0.005, "BMIN": 0.005}, []
    cases = [(17, 3, 8), (18, 3, 8), (35, 3, 8), (36, 3, 8), (20, 1, 8), (20, 2, 8), (20, 4, 8), (20, 5, 8)]
    for pixels, to_pass, to_summit in [*cases, (20, 2, 4), (20, 2, 5), (20, 4, 12), (20, 4, 13)]:
        fall, rise = np.linspace(20, 6, to_summit - to_pass + 1), np.linspace(6, 7, to_pass + 1)
        rows = np.linspace(3.1, 20, 20), fall[1:], rise[1:], np.linspace(7, 3.1, pixels - to_pass + 1)[1:], np.zeros(5)
        image = np.concatenate(rows)[None]
        maps = {"background": np.zeros_like(image), "noise": np.ones_like(image)}
        table = fp.find_sources(image, 5, flood=3, deblend=True, blank="nan", header=header, device="cpu", **maps)
        found.append(len(table))
    # Points of 5.5 and 10.5 noises are over 3 on ln(5.5 / 3) and ln(10.5 / 3) beams of 28.3 pixels; a beam is 5 pixels wide.
    assert [table.meta[name] for name in BEAMED] == [18, 35, 3, 18, 23, 156]
    assert found == [1, 2, 2, 1] * 3


def test_contrast_goes_by_the_higher_summit(rng):
    image = rng.standard_normal((40, 60)) * 0.1
    image[20, 30:33] = 100, 10, 20
    for contrast, parts in ((0.05, 2), (0.15, 1)):
        assert len(check(image, sigma=30.0, flood=20.0, contrast=contrast)) == parts


@pytest.mark.parametrize("dtype", ["f2", "f8", "i2", ">f4"])
def test_dtypes_nan_and_infinities(rng, dtype):
    image = (field(rng, (70, 81), 2.0) * 50).astype(dtype)
    if np.dtype(dtype).kind == "f":
        image[30:34, 20:60], image[5, 5], image[6, 5], image[7, 40] = np.nan, np.inf, -np.inf, -0.0
    check(image, sigma=1.0, flood=0.2, connectivity=8)


def run(image, strip, memory=None, capacity=1500, sigma=1.2, flood=0.4, device="cpu", **rules):
    """The columns, labels and members of a pipeline whose basins end after ``strip`` rows."""
    op = Deblend(sigma, flood, rules.get("connectivity", 8), rules.get("min_area", 1), 0.01, capacity, True, 0.3, strip)
    found = ("count", "members", "moments", "boxes", "labels")
    stages = (Stage(SigmaClip(), ("image",), ("stats", "counts")), Stage(op, ("image", "stats"), found))
    results = ("stats", "counts", "moments", "boxes", "members", "count", "labels")
    stats, counts, count, labels = np.zeros(8), np.zeros(8, np.int64), np.zeros(1, np.int64), np.full(image.shape, -1, np.int32)
    table, plans = Components(count, image.shape), []
    outs = [host(stats), host(counts), *table.sinks(capacity), host(count), host(labels)]
    call("find_sources", Pipeline(stages, ("image",), results), [host(image)], outs, device, memory, on_plan=plans.append)
    return table.columns, labels, stats, plans[0]


def by_blocks(image, stats, strip, rows, connectivity, min_area, threads=2, capacity=None):
    """The labels that the kernels of the CPU make of blocks of so many rows."""
    spec, limits, height = ArraySpec(image.shape, "float32"), replace(device_limits("cpu"), threads=threads), len(image)
    state = [empty_like(one) for one in contract.gather_state(limits, spec, capacity=capacity or image.size // 2 + 1)]
    kept, count, labels = (
        [ArraySpec(one.shape, str(one.dtype)) for one in state],
        np.zeros(1, np.int64),
        np.full(image.shape, -1, np.int32),
    )
    how = {"height": height, "sigma": 0.4, "connectivity": connectivity, "strip": strip}
    blocks = [(first, image[first : first + rows], labels[first : first + rows]) for first in range(0, height, rows)]
    for first, block, nodes in blocks:
        work = contract.gather_work(limits, ArraySpec(block.shape, "float32"), spec, ArraySpec(block.shape, "int32"), *kept)
        cpu.gather(block, stats, nodes, *state, *map(empty_like, work), first=first, seed=1.2, **how)
    members, work = np.empty((image.size, 4), np.int64), contract.settle_work(limits, spec, spec, spec, *kept)
    rules = {"seed": 1.2, "prominence": 0.3, "contrast": 0.01, "min_area": min_area}
    rules |= {"beamed": (0.1, *contract.NO_POINTS), "width": image.shape[1]}
    cpu.settle(stats, count, members, *state, *map(empty_like, work), **rules)
    for first, block, nodes in blocks:
        work = contract.paint_work(limits, ArraySpec(block.shape, "float32"))
        place = {"first": first, "climb": len(blocks) > 1, "capacity": image.size}
        cpu.paint(block, stats, count, nodes, nodes, *state, *map(empty_like, work), **place, **how)
    return labels


def empty_like(spec):
    return np.full(spec.shape, 77, spec.dtype)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([(40, 33), (97, 5), (50, 1), (1, 40), (61, 47)]), st.sampled_from([1, 2, 3, 8, 50]),
    st.sampled_from([4, 8]), st.sampled_from([0, 1, 4]), st.sampled_from([0.0, 0.7, 2.0]), st.sampled_from([1, 5]),
)  # fmt: skip
def test_strips_change_nothing(seed, shape, strip, connectivity, levels, smooth, min_area):
    image = field(np.random.default_rng(seed), shape, smooth, levels)
    columns, labels, stats, _ = run(image, strip, connectivity=connectivity, min_area=min_area)
    rules = {"connectivity": connectivity, "contrast": 0.01, "prominence": 0.3, "min_area": min_area}
    wanted, island, component = reference(image, stats[6], stats[5], 0.4, 1.2, **rules)
    assert np.array_equal(labels, wanted)
    assert np.array_equal(columns["island"], island) and np.array_equal(columns["component"], component)
    # Strips are of images that are cut.
    for rows in (strip, 3 * strip):
        assert np.array_equal(by_blocks(image, stats, strip, rows, connectivity, min_area), wanted)


def test_bands_of_rows_side_by_side_change_nothing(rng):
    """Neither where the places for passes are taken again and again, nor in a moment's last digit."""
    image = field(rng, (411, 400), 1.1)
    tops = np.count_nonzero((image == ndimage.maximum_filter(image, 3)) & (image > 0.4))
    stats = np.zeros(8)
    stats[6] = 1
    wanted, island, _ = reference(image, 1.0, 0.0, 0.4, 1.2, connectivity=8, contrast=0.01, prominence=0.3, min_area=1)
    # A summit has about three passes, and there is room for two.
    labels = by_blocks(image, stats, 50, 411, 8, 1, threads=7, capacity=-(-tops // 2))
    assert np.array_equal(labels, wanted) and tops > 4000
    found = []
    for connected in (False, True):
        moments, boxes = np.empty((len(island), 15)), np.empty((len(island), 8), np.int64)
        last = np.empty((1, 400), np.float32), np.empty((1, 400), np.int32)
        place = {"first": 0, "height": 411, "min_area": 1, "seed": 0.0, "connected": connected}
        islands(image, labels, stats, np.array([len(island)]), moments, boxes, *last, **place)
        found.append((moments, boxes))
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(*found, strict=True))


class Told(np.ndarray):
    """An array that notes what is written to it."""

    writes: ClassVar[list[tuple[int, int]]] = []

    def __setitem__(self, at, value):
        # Of a row, too, by where it lies.
        self.writes.append((self.ctypes.data // self.itemsize + int(at), int(value)))
        super().__setitem__(at, value)


def test_numbers_are_not_written_over_by_threads_that_still_halve_paths(monkeypatch):
    """Threads shorten one another's paths: only when all have done so may a pixel take its root's number."""
    for name in ("_back", "_forth", "_step", "_halve"):
        one = getattr(climb, name)
        monkeypatch.setattr(climb, name, getattr(one, "py_func", one))
    # A path to and fro, which no two walks through the rows are enough for.
    path = np.random.default_rng(3).permutation(60)
    nodes = np.empty((6, 10), np.int32)
    nodes.flat[path[:-1]], nodes.flat[path[-1]] = path[1:] + 1, -1
    Told.writes.clear()
    getattr(climb.follow, "py_func", climb.follow)(nodes.view(Told), np.ones((6, 1), bool))
    assert np.all(nodes == -1)
    # The root's own number is no news.
    root = nodes.ctypes.data // nodes.itemsize + path[-1]
    writes = [(at, value) for at, value in Told.writes if at != root]
    first = next(i for i, (_, value) in enumerate(writes) if value < 0)
    after = writes[first:]
    assert len({at for at, _ in after}) == len(after) and all(value < 0 for _, value in after) and first > nodes.size


@pytest.mark.parametrize(("shape", "strip"), [((700, 65), 32), ((1400, 33), 63), ((260, 301), 35)])
@pytest.mark.parametrize("levels", [0, 2])
def test_parts_change_no_bit(rng, shape, strip, levels):
    image = field(rng, shape, 2.5, levels).astype(">f4")
    whole = run(image, strip)
    with pytest.raises(fp.BudgetError) as caught:
        run(image, strip, memory=1)
    for memory in (caught.value.smallest, (caught.value.smallest + whole[-1].footprint.total) // 2):
        parts = run(image, strip, memory=memory)
        assert parts[-1].footprint.total <= memory
        assert np.array_equal(whole[1], parts[1])
        assert all(np.array_equal(column, parts[0][name], equal_nan=True) for name, column in whole[0].items())
        assert memory > caught.value.smallest or parts[-1].n_parts > 4
    assert len(whole[0]["label"]) > 50 and np.array_equal(run(image, 2 * strip)[1], whole[1])


def test_threads_budgets_and_files_give_one_catalogue(rng, monkeypatch):
    image = field(rng, (900, 301), 2.0)
    options = {"sigma": 2.0, "flood": 0.5, "deblend": True, "connectivity": 8, "device": "cpu"}
    labels, again = np.empty(image.shape, np.int32), np.empty(image.shape, np.int32)
    table = fp.find_sources(image, labels=labels, **options)

    class File:
        shape, dtype = image.shape, image.dtype

        def read(self, rows, out):
            out[...] = image[rows]

    plans = []
    for threads, pixels, memory in (("1", image, None), ("7", image.astype(">f4"), "1.5MB"), ("2", File(), "1.3MB")):
        monkeypatch.setenv("FOOTPRINT_THREADS", threads)
        found = fp.find_sources(pixels, labels=again, memory=memory, on_plan=plans.append, **options)
        assert np.array_equal(labels, again) and table.meta == found.meta
        assert all(np.array_equal(table[name], found[name], equal_nan=True) for name in table.colnames)
    assert plans[-1].n_parts > 2 and len(table) > 300


def test_parts_belong_to_the_islands_there_were(rng):
    image = field(rng, (200, 211), 2.0)
    options = {"sigma": 2.0, "flood": 0.8, "min_area": 5, "device": "cpu"}
    whole, apart = np.empty(image.shape, np.int32), np.empty(image.shape, np.int32)
    islands = fp.find_sources(image, labels=whole, **options)
    assert not set(OWN) & set(islands.colnames)
    table = fp.find_sources(image, labels=apart, deblend=True, **options)
    island_of = np.concatenate([[0], table["island"]])
    assert np.array_equal(island_of[apart], whole) and len(table) > len(islands) > 20
    assert table["npix"].min() >= 5 and np.all(np.diff(table["island"]) >= 0)
    counts = np.bincount(table["island"])
    assert np.array_equal((table["flags"] & BLENDED) > 0, counts[table["island"]] > 1)
    edge = np.isin(table["label"], np.concatenate([apart[0], apart[-1], apart[:, 0], apart[:, -1]]))
    assert np.array_equal((table["flags"] & AT_EDGE) > 0, edge)
    brightest = table[table["component"] == 1]
    assert np.array_equal(brightest["peak"], [table["peak"][table["island"] == k].max() for k in brightest["island"]])


@pytest.mark.parametrize("kind", ["ramp", "plateau", "comb"])
def test_work_is_bounded_on_any_island(kind):
    """Long slopes, level ground and many teeth on one island; following each pixel to its summit takes more than twice as long."""
    n = 1200
    image = np.full((n, n), 7, np.float32)
    if kind == "ramp":
        image[:] = np.add.outer(np.arange(n), np.arange(n)) + 1.0
    elif kind == "comb":
        image[:, ::2] += 50 + np.arange(n)[:, None] % 5 + np.arange(n // 2) % 3
        image[1:, 1::2] = 0
    sky = np.concatenate([np.zeros((n // 4, n), np.float32), image])
    options = {"sigma": 0.3, "flood": 0.2, "deblend": True, "lesson": True, "blank": "nan", "maxiters": 0, "device": "cpu"}
    fp.find_sources(sky[n // 4 - 50 : n // 4 + 50], **options)
    start = time.process_time()
    table = fp.find_sources(sky, **options)
    assert time.process_time() - start < 3
    assert np.all(table["island"] == 1) and len(table) >= (n // 2 if kind == "comb" else 1)
    assert table["npix"].sum() >= 0.49 * n * n


def crowd(n=1024, sources=4000, fwhm=5.0):
    """A crowd of points in noise of their shape, and their places and heights in noises."""
    rng, s = np.random.default_rng(5), fwhm / 2.35482
    y, x = rng.integers(8, n - 8, (2, sources))
    height = np.minimum(3 / rng.random(sources), 3000)
    spots = np.zeros((n, n))
    np.add.at(spots, (y, x), height)
    gain = np.exp(-2 * np.pi**2 * s * s * (np.fft.fftfreq(n)[:, None] ** 2 + np.fft.rfftfreq(n) ** 2))
    noise = fft.irfft2(fft.rfft2(rng.standard_normal((n, n))) * gain, (n, n))
    return (noise / noise.std() + fft.irfft2(fft.rfft2(spots) * gain, (n, n)) * 2 * np.pi * s * s).astype(np.float32), x, y, height


def test_a_crowd_is_found_as_completely_as_it_should_be():
    """Of sources of 5 to 7, 7 to 10, 10 to 30 and over 30 noises; islands hold .26, .70, .80 and .88 of them."""
    image, x, y, height = crowd()
    clip = fp.sigma_clip(image, device="cpu")
    level = {"sigma": (5 - clip.median) / clip.std, "flood": (3 - clip.median) / clip.std}
    table = fp.find_sources(image, connectivity=8, deblend=True, device="cpu", **level)
    tree, free, hit = cKDTree(np.stack([table["x_peak"], table["y_peak"]], 1)), np.ones(len(table), bool), np.zeros(len(x), bool)
    for k in np.argsort(-height):
        near = [j for j in tree.query_ball_point((x[k], y[k]), 3.5) if free[j]]
        if near:
            free[min(near, key=lambda j: np.hypot(table["x_peak"][j] - x[k], table["y_peak"][j] - y[k]))] = False
            hit[k] = True
    shares = [hit[(height >= low) & (height < high)].mean() for low, high in ((5, 7), (7, 10), (10, 30), (30, 1e9))]
    assert all(share >= least for share, least in zip(shares, (0.50, 0.75, 0.86, 0.96), strict=True)), shares
    assert free.sum() <= 5, free.sum()


def test_crowds_are_planned_again_and_too_small_rooms_refused(rng):
    image = rng.standard_normal((200, 210), np.float32)
    options = {"sigma": 1.0, "deblend": True, "device": "cpu"}
    plans = []
    table = fp.find_sources(image, on_plan=plans.append, **options)
    assert len(plans) == 2 and plans[-1].outputs[2].spec.shape[0] >= len(table) > 2000
    for room in (1, len(table) - 1):
        with pytest.raises(fp.CapacityError) as caught:
            fp.find_sources(image, capacity=room, **options)
        assert len(fp.find_sources(image, capacity=caught.value.needed, **options)) == len(table)
    _, _, tops = reference(image, table.meta["noise"], table.meta["background"], 1.0, 0.0, contrast=0, prominence=0, connectivity=4)
    assert plans[-1].outputs[2].spec.shape[0] == len(tops)
    with pytest.raises(fp.BudgetError, match="summits, as this image has") as short:
        fp.find_sources(image, memory="500kB", **options)
    assert len(fp.find_sources(image, memory=short.value.smallest, **options)) == len(table)


def test_more_summits_than_a_small_budget_has_room_for(rng):
    """Summits that are no sources are as many as there are, and rows as few."""
    image = field(rng, (300, 310), 1.0)
    image[20::40, 20::40] += 30
    options, plans = {"sigma": 8.0, "flood": 1.0, "connectivity": 8, "deblend": True, "device": "cpu"}, []
    whole = fp.find_sources(image, **options)
    with pytest.raises(fp.BudgetError) as least:
        fp.plan_find_sources(image.shape, memory=1, **options)
    with pytest.raises(fp.BudgetError, match="summits, as this image has") as short:
        fp.find_sources(image, memory=least.value.smallest, **options)
    with pytest.raises(fp.CapacityError) as little:
        fp.find_sources(image, capacity=1, **options)
    summits = int(short.value.what.split()[3])
    assert little.value.needed == -(-summits // contract.BASINS)
    few = fp.find_sources(image, memory=short.value.smallest, on_plan=plans.append, **options)
    assert len(few) == len(whole) == 56 and all(np.array_equal(few[name], whole[name]) for name in ("label", "flux", "island"))
    assert plans[-1].footprint.total <= short.value.smallest and plans[-1].outputs[2].spec.shape[0] < 200


@pytest.mark.parametrize("seed", [1, 3])
def test_the_budget_that_is_named_for_an_image_does(seed):
    """Also where it allows more summits than the first did, whose room then stays, and where a second search finds more."""
    rng = np.random.default_rng(seed)
    image, (y, x) = rng.standard_normal((49, 235)), np.mgrid[:49, :235]
    for _ in range(int(rng.integers(5, 30))):
        at, peak, width = rng.uniform(0, (49, 235)), 10 ** rng.uniform(0.8, 2.5), rng.uniform(1, 3)
        image += peak * np.exp(-((y - at[0]) ** 2 + (x - at[1]) ** 2) / (2 * width**2))
    options = {"min_area": 4, "deblend": True, "fit": "gaussian", "residual": True, "device": "cpu"}
    whole = fp.find_sources(image.astype("f4"), **options)
    with pytest.raises(fp.BudgetError) as least:
        fp.find_sources(image.astype("f4"), memory=1, **options)
    with pytest.raises(fp.BudgetError, match="as this image has") as short:
        fp.find_sources(image.astype("f4"), memory=least.value.smallest, **options)
    few = fp.find_sources(image.astype("f4"), memory=short.value.smallest, **options)
    assert len(few) == len(whole) and np.array_equal(few["flux"], whole["flux"])


def test_bad_arguments_are_named():
    image = np.random.default_rng(0).standard_normal((20, 20))
    for contrast in (-0.1, 2, "much", float("nan")):
        with pytest.raises(fp.ArgumentError, match=r"contrast: got .* from 0 to 1"):
            fp.find_sources(image, deblend=True, contrast=contrast)
