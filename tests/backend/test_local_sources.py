"""Sources over a background and a noise that differ from place to place: on a mesh, and of maps that are given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.reference.background import background as reference_maps
from footprint.reference.find_sources import find_local_sources as reference
from footprint.reference.measure import measure
from tests.backend.test_find_sources import field
from tests.backend.test_fit import SKY
from tests.skies import found, shares, sky

MOMENTS = ("npix", "peak", "x_peak", "y_peak")


def sloped(rng, shape=(300, 257), dtype=np.float32):
    """Sources on a slope, in noise that doubles from left to right."""
    x = np.linspace(0, 1, shape[1])
    return (field(rng, shape) * (1 + x) + 12 * x).astype(dtype)


def check(image, device, sigma=5.0, flood=None, connectivity=4, min_area=1, **options):
    """Everything a search over maps gives, against SciPy's steps over the maps it says it took."""
    dtype = "f8" if image.dtype.itemsize == 8 else "f4"
    labels = np.full(image.shape, -1, np.int32)
    maps = {}
    for name in ("background", "noise"):
        given = options.get(name)
        if isinstance(given, np.ndarray):
            maps[name] = given.astype(dtype)
        else:
            maps[name] = options[f"save_{name}"] = np.full(image.shape, np.nan, dtype)
    how = {"sigma": sigma, "flood": flood, "connectivity": connectivity, "min_area": min_area}
    table = fp.find_sources(image, labels=labels, device=device, **how, **options)
    level, noise = maps["background"].astype(float), maps["noise"].astype(float)
    low, seed = (sigma, 0.0) if flood is None else (flood, sigma)
    wanted, count = reference(image, level, noise, low, seed, connectivity, min_area)
    assert len(table) == count and np.array_equal(labels, wanted)
    flat = (np.where(np.isfinite(image), image, 0).astype(float) - level).astype(dtype).astype(float)
    moments = measure(flat, wanted, count)
    for name in MOMENTS:
        assert np.array_equal(table[name], moments[name]), name
    for name in ("flux", "x", "y"):
        assert np.allclose(table[name], moments[name], rtol=1e-9), name
    at = np.array(table["y_peak"]), np.array(table["x_peak"])
    assert np.array_equal(table["background"], level[at]) and np.array_equal(table["noise"], noise[at])
    assert np.allclose(table["snr"], table["peak"] / table["noise"])
    # Shapes and neighbours of the peaks, as of an image that is flat.
    plain = fp.measure((image.astype(float) - level).astype(dtype), labels, count, device="cpu")
    # The variance of few pixels is what rounding leaves of it.
    some = np.array(table["npix"]) > 5
    for name in ("a", "b", "x_interp", "y_interp", "peak_interp"):
        rows = some if name in "ab" else slice(None)
        assert np.allclose(table[name][rows], plain[name][rows], rtol=1e-6, atol=1e-5, equal_nan=True), name
    return table, maps


@pytest.mark.parametrize(
    "options",
    [
        {"box": 32}, {"box": 25, "filter_size": 1, "connectivity": 8}, {"sigma": 4, "flood": 2, "min_area": 5},
        {"noise": "map"}, {"background": "map"}, {"background": "map", "noise": "map"}, {"background": "global", "noise": "map"},
    ],
    ids=str,
)  # fmt: skip
def test_equals_the_reference(device, rng, options):
    image = sloped(rng)
    image[40:60, 100:130] = np.nan
    image[5, 5] = np.inf
    made = dict(zip(("background", "noise"), (m.astype("f8") for m in fp.background(image, 50, device="cpu"))))
    made["noise"][:30, :30] = 0
    made["noise"][70:75, 10:60] = np.nan
    given = {name: made[name] if value == "map" else value for name, value in options.items()}
    table, maps = check(image, device, **{"background": "mesh"} | given)
    assert len(table) > 10 and table.meta["noise"] > 0
    if options.get("noise") == "map":
        assert not np.any(made["noise"][table["y_peak"], table["x_peak"]] == 0)
    elif "background" not in options:
        assert np.isclose(table.meta["noise"], np.median(maps["noise"]), rtol=0.2)
        wanted = reference_maps(image, options.get("box", 64), options.get("filter_size", 3))
        assert np.mean(np.abs(maps["background"] - wanted[0]) < 2e-3) > 0.9


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (131, 1), (65, 64), (9, 700)])
def test_shapes(device, rng, shape):
    check(rng.standard_normal(shape, np.float32), device, sigma=1.0, background="mesh", box=16)


def test_few_islands_about_the_ends_of_stretches(device, rng):
    """Rows are told from their level where islands are alone, 64 pixels at a time: peaks want the pixels beside those."""
    image = rng.standard_normal((150, 700), np.float32) / 4
    # Rows and columns, and the peak's, which is where a stretch or a part begins or ends.
    for y, x, peak in [
        ((3, 4), (60, 64), (3, 63)),
        ((9, 11), (61, 65), (9, 64)),
        ((19, 20), (124, 128), (19, 127)),
        ((30, 33), (128, 131), (30, 128)),
        ((37, 40), (62, 66), (39, 63)),
        ((49, 52), (64, 66), (50, 64)),
        ((90, 91), (190, 192), (90, 191)),
        ((110, 113), (640, 644), (110, 640)),
        ((139, 141), (698, 700), (140, 699)),
    ]:
        image[slice(*y), slice(*x)] += 10
        image[peak] += 5
    image[80, 100:400] += 9
    how = {"sigma": 6.0, "background": "mesh", "box": 10}
    table, _ = check(image, device, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.find_sources(image, memory=1000, device=device, **how)
    parts = fp.find_sources(image, memory=caught.value.smallest, device=device, **how)
    for name in table.colnames:
        assert np.array_equal(parts[name], table[name], equal_nan=True), name
    assert len(table) == 10


@pytest.mark.parametrize("dtype", ["f8", "i2", ">f4"])
def test_dtypes(device, rng, dtype):
    check((sloped(rng, (131, 140)) * 20).astype(dtype), device, background="mesh", box=32)


def test_a_flat_image_is_as_with_one_background(device, rng):
    image = field(rng, (512, 512), 80)
    one, mesh = (fp.find_sources(image, 7.0, background=how, device=device) for how in ("global", "mesh"))
    assert "noise" not in one.colnames and abs(len(one) - len(mesh)) <= 0.05 * len(one) and len(one) > 40
    gaps = np.hypot(one["x_peak"][:, None] - mesh["x_peak"], one["y_peak"][:, None] - mesh["y_peak"]).min(1)
    bright = one["snr"] > 10
    assert np.all(gaps[bright] <= 1) and np.all(np.abs(mesh["noise"] / one.meta["noise"] - 1) < 0.25)


def test_parts_change_no_bit(rng):
    image = sloped(rng, (900, 257)).astype(">f4")
    given = fp.background(image, 32, device="cpu")[1].astype(">f4")
    for maps in ({}, {"noise": given}, {"deblend": True, "flood": 2.0}, {"noise": given, "deblend": True, "contrast": 0.1}):
        options = {"background": "mesh", "box": 32, "sigma": 3.0, **maps}
        words = options | ({"noise": "map"} if "noise" in maps else {})
        labels, saved = np.empty(image.shape, np.int32), np.empty(image.shape, "f4")
        whole = fp.find_sources(image, labels=labels, save_background=saved, device="cpu", **options)
        with pytest.raises(fp.BudgetError) as caught:
            about = {"labels": True, "save_background": True, "capacity": (8 if "deblend" in maps else 2) * len(whole)}
            fp.plan_find_sources(image.shape, dtype=">f4", memory=1, device="cpu", **about, **words)
        for memory in (caught.value.smallest, 2 * caught.value.smallest):
            ids, level, plans = np.empty(image.shape, np.int32), np.empty(image.shape, ">f8"), []
            part = fp.find_sources(
                image, labels=ids, save_background=level, memory=memory, on_plan=plans.append, device="cpu", **options
            )
            assert plans[-1].n_parts > 1 and plans[-1].footprint.total <= memory
            assert np.array_equal(ids, labels) and np.array_equal(level, saved) and whole.meta == part.meta
            assert all(np.array_equal(whole[n], part[n], equal_nan=True) for n in whole.colnames)


def test_maps_of_a_whole_image_are_painted_once_and_of_parts_for_each_phase(device, rng):
    """They live on where they would be painted again, in no more memory."""
    options = {"flood": 4.0, "background": "mesh", "device": device}
    painted = lambda plan: sum(step.kernel == "mesh.paint" for step in plan.steps)
    plans = [fp.plan_find_sources((600, 500), apertures=radii, **options) for radii in (None, [3])]
    assert [painted(plan) for plan in plans] == [2, 2] and all(plan.n_parts == 1 for plan in plans)
    apart = fp.plan_find_sources((600, 500), deblend=True, fit="gaussian", **options)
    # A processor's kernels tell them from the cells.
    assert painted(apart) == (0 if device == "cpu" else 2)
    if device == "cpu":
        assert plans[1].nbytes < plans[0].nbytes + 600 * 500 * 4
        cut = fp.plan_find_sources((600, 500), apertures=[3], memory=plans[1].footprint.total // 2, **options)
        assert cut.n_parts > 1 and painted(cut) == 4


def test_files_and_plans_agree(rng, tmp_path):
    image = sloped(rng, (400, 131))
    written = {}

    class File:
        shape, dtype = image.shape, image.dtype

        def __init__(self, pixels):
            self.pixels = pixels

        def read(self, rows, out):
            out[...] = self.pixels[rows]

        def write(self, rows, block):
            written.setdefault("rows", []).append((rows.start, rows.stop))
            self.pixels[rows] = block

    level, noise = fp.background(image, 32, device="cpu")
    whole = fp.find_sources(image, background=level, noise=noise, device="cpu")
    plans = []
    files = {"background": File(level), "noise": File(noise)}
    part = fp.find_sources(File(image), memory="400kB", on_plan=plans.append, device="cpu", **files)
    assert all(np.array_equal(whole[n], part[n]) for n in whole.colnames) and len(whole) > 10
    plan = fp.plan_find_sources(
        image.shape, background="map", noise="map", streamed=True, memory="400kB", device="cpu", capacity=None
    )
    assert plan.footprint.total == plans[0].footprint.total and plan.n_parts == plans[0].n_parts > 1
    out = File(np.zeros_like(image))
    fp.find_sources(File(image), background="mesh", box=32, save_noise=out, memory="400kB", device="cpu")
    assert np.array_equal(out.pixels, noise) and len(written["rows"]) > 1


def test_blanks_and_constants(device, rng):
    image = sloped(rng)
    image[:, :60] = 0
    with pytest.warns(UserWarning, match="zeros mean no data"):
        table = fp.find_sources(image, background="mesh", box=32, device=device)
    assert len(table) > 10 and table["x_min"].min() >= 60
    assert len(fp.find_sources(np.full((80, 90), 7.0), background="mesh", device=device)) == 0
    with pytest.raises(fp.ShapeError, match="finite pixel"):
        fp.find_sources(np.full((80, 90), np.nan), background="mesh", device=device)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"background": "grid"}, "background"),
        ({"background": "level.fits"}, "open_image"),
        ({"noise": "global"}, "noise"),
        ({"noise": np.ones((3, 3))}, "noise"),
        ({"noise": np.ones((20, 20), "c8")}, "noise"),
        ({"background": "mesh", "box": 2}, "box"),
        ({"background": "mesh", "lesson": True}, "lesson"),
        ({"background": "mesh", "maxiters": 3}, "maxiters"),
        ({"save_background": np.empty((20, 20))}, "save_background"),
        ({"background": "mesh", "save_noise": np.empty((20, 21))}, "save_noise"),
        ({"background": "mesh", "noise": np.ones((20, 20)), "save_noise": np.empty((20, 20))}, "save_noise"),
    ],
)
def test_bad_arguments(options, name):
    with pytest.raises(fp.FootprintError, match=name):
        fp.find_sources(np.ones((20, 20), "f4"), device="cpu", **options)


def test_a_map_in_another_unit_is_refused(rng):
    from astropy import units

    image = rng.standard_normal((40, 50)) * units.Jy / units.beam
    noise = np.full((40, 50), 1000.0) * units.mJy / units.beam
    with pytest.raises(fp.ArgumentError, match="mJy"):
        fp.find_sources(image, noise=noise, device="cpu")


def completeness(image, truth, device, **options):
    """Shares of the sources with a detection of their own, those that lie on some island, and detections of nothing."""
    ids = np.zeros(image.shape, np.int32)
    table = fp.find_sources(image, labels=ids, device=device, **options)
    hit, unmatched = found(np.stack([table["x_interp"], table["y_interp"]], 1), truth)
    x, y = np.rint(truth[:, :2]).astype(int).T
    touched = ndimage.binary_dilation(ids > 0)[y, x]
    return shares(hit, truth), shares(hit | touched, truth), unmatched


def test_a_slope_of_ten_deviations_costs_no_source(device):
    """With a mesh all is found that stands out; of pairs in one island the fainter has none of its own, on a slope or not."""
    image, truth = sky(1024, 1000)
    slope = (image + np.linspace(0, 10, 1024)).astype("f4")
    flat, _, _ = completeness(image, truth, device)
    lost, _, _ = completeness(slope, truth, device)
    assert np.all(lost[:2] < 0.05) and lost[2] < 0.6
    for one in (image, slope):
        own, touched, unmatched = completeness(one, truth, device, background="mesh")
        assert np.all(touched >= (0.69, 0.92, 0.98, 0.99)), touched
        assert np.all(own >= flat - 0.03) and unmatched <= 8


def test_noise_that_a_beam_correlates_is_not_told_too_low(device):
    """A cell has few beams, and its own level among them: a catalogue that knows the beam makes up for it."""
    image, _ = sky(1024, 1)
    noises = {}
    for name, header in (("beam", SKY), ("none", None)):
        noises[name] = np.empty(image.shape, "f4")
        options = {"background": "mesh", "save_noise": noises[name], "device": device}
        fp.find_sources(image, header=header, **options)
    assert abs(noises["beam"].mean() - 1) < 0.006 < 0.01 < 1 - noises["none"].mean()
    assert np.allclose(noises["beam"] / noises["none"], 1 + 2.2 * np.pi * 25 / (4 * np.log(2)) / 64**2, rtol=1e-5)
