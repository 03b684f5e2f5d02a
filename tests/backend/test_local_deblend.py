"""Sources taken apart over maps of background and noise: the sorted list of pixels, of the image in units of its noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.reference.deblend import deblend as reference
from footprint.reference.measure import measure
from tests.skies import found, shares, sky


def scene(rng, shape=(97, 131)):
    """Crowds on a slope, in noise that differs from column to column by powers of two, so that ranks have no rounding."""
    level = np.linspace(-4, 4, shape[0])[:, None].round(2) + np.zeros(shape)
    spread = 2.0 ** rng.integers(-1, 2, shape[1])[None] + np.zeros(shape)
    values = ndimage.gaussian_filter(rng.standard_normal(shape), 1.2)
    return level + spread * (values / values.std()), level, spread


@pytest.mark.parametrize(
    "options", [{}, {"connectivity": 8, "min_area": 9}, {"contrast": 0.4, "min_area": 4}, {"flood": 0.6, "sigma": 2.0}], ids=str
)
def test_equals_the_sorted_list_of_pixels(rng, options):
    check(rng, options)


def check(rng, options, device="cpu"):
    image, level, spread = scene(rng)
    image[20:24, 60:70], spread[50:55, 5:30], spread[80:, :4] = np.nan, 0, np.nan
    options = {"sigma": 1.2, "flood": 0.3, **options}
    labels = np.full(image.shape, -1, np.int32)
    table = fp.find_sources(image, labels=labels, deblend=True, background=level, noise=spread, device=device, **options)
    with np.errstate(divide="ignore", invalid="ignore"):
        ranks = np.where(spread > 0, (image - level) / spread, np.nan)
    rules = {"connectivity": 4, "contrast": 0.002, "min_area": 1} | {
        k: v for k, v in options.items() if k not in ("sigma", "flood")
    }
    wanted, island, component = reference(ranks, 1.0, 0.0, options["flood"], options["sigma"], **rules)
    assert len(table) > 20 and np.array_equal(labels, wanted)
    assert np.array_equal(table["island"], island) and np.array_equal(table["component"], component)
    assert table.meta["contrast"] == rules["contrast"] and table.meta["sigma"] == options["sigma"]
    true = measure(np.where(np.isfinite(image), image - level, 0), wanted, len(island))
    for name in ("label", "npix", "peak", "x_peak", "y_peak"):
        assert np.array_equal(table[name], true[name]), name
    assert np.allclose(table["flux"], true["flux"], rtol=1e-9)
    at = np.asarray(table["y_peak"]), np.asarray(table["x_peak"])
    assert np.array_equal(table["noise"], spread[at]) and np.array_equal(table["background"], level[at])
    assert np.allclose(table["snr"], table["peak"] / spread[at])


def test_what_is_crowded_on_a_slope_is_found():
    """One background loses it; islands alone give neighbours one row."""
    image, truth = sky(512, 800)
    image += np.linspace(-5, 5, 512, dtype="f4")
    seen = {}
    for apart in (False, True):
        rules = {"sigma": 5, "flood": 3, "connectivity": 8} if apart else {"sigma": 5}
        table = fp.find_sources(image, deblend=apart, background="mesh", device="cpu", **rules)
        hit, left = found(np.stack([table["x_peak"], table["y_peak"]], 1), truth, 3.5)
        seen[apart] = shares(hit, truth)
        assert left <= 0.01 * len(truth)
    assert np.all(seen[True] >= (0.5, 0.65, 0.85, 0.9)) and seen[True][2] > seen[False][2] + 0.1, seen


def test_labels_take_the_place_of_basins():
    """A dtype was compared with another's name, so that both had memory of their own."""
    plan = fp.plan_find_sources((256, 256), deblend=True, background="mesh", device="cpu")
    (nodes, labels), *more = (step.refs[3:5] for step in plan.steps if step.kernel == "deblend.paint")
    assert not more and nodes.slot is labels.slot


@pytest.mark.parametrize(
    ("shape", "dtype", "box", "options"),
    [
        ((150, 217), "f4", 16, {}),
        ((130, 129), "f4", 64, {"flood": 2.0, "connectivity": 8}),
        ((90, 33), "f4", 32, {"flood": 3.0, "deblend": False}),
        ((90, 63), "f4", 32, {"flood": 1.5, "deblend": False}),
        ((64, 300), "f8", 23, {"flood": 3.0}),
    ],
    ids=str,
)
def test_what_is_told_from_the_cells_is_what_maps_of_them_tell(shape, dtype, box, options):
    """The very bits: beside high steps, where pixels are alike and have no noise, with holes, infinities, a level far from 0."""
    image = (sky(320, 400)[0][: shape[0], : shape[1]] + np.linspace(0, 9, shape[1])).astype(dtype)
    image[:, max(shape[1] // 2, box) :] *= 40
    alike = shape[0] // 2 // box * box
    image[:alike, : 3 * box] = 7
    # A source beside pixels without noise, which its window has, too.
    y, x = alike - box // 2 + 1, min(box + box // 2, shape[1] - 4)
    image[y : y + 3, x : x + 3] = 60
    image[10:30, 5:15], image[0, 0], image[40, 20] = np.nan, np.inf, -np.inf
    for lifted in (image, image + np.dtype(dtype).type(1000)):
        maps = equal(lifted, box, options)
        assert maps[1].min() == 0


@pytest.mark.parametrize("flood", [4.0, 3.0])
def test_what_stands_out_by_a_hair_is_not_passed_over(rng, flood):
    """Single pixels all over splines that bend in every cell: most of the others are never told."""
    cells = np.ones((16, 16))
    level, noise = (np.kron(one, cells) for one in (rng.uniform(-3, 3, (12, 16)), rng.uniform(1, 2, (12, 16))))
    image = (level + noise * rng.standard_normal((192, 256))).astype("f4")
    equal(image, 16, {"sigma": flood, "min_area": 1})


def equal(image, box, options):
    """Catalogues over a mesh and over the maps that it makes are equal; the maps."""
    options = {"deblend": True, "fit": "gaussian", "device": "cpu", **options}
    maps = [np.empty_like(image) for _ in range(2)]
    fp.background(image, box, filter_size=1, out=maps, device="cpu")
    found = fp.find_sources(image, background="mesh", box=box, filter_size=1, **options)
    wanted = fp.find_sources(image, background=maps[0], noise=maps[1], **options)
    assert len(found) > 3
    for name in wanted.colnames:
        assert np.array_equal(found[name], wanted[name], equal_nan=found[name].dtype.kind == "f"), name
    return maps
