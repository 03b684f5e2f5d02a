"""Background and noise on a mesh: the reference's maps at any budget, and the truth on slopes and in crowds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import footprint as fp
from footprint.kernels.mesh.contract import AT_ONCE
from footprint.kernels.mesh.near import at_least, beyond, extent, listed, median_of, summed, under
from footprint.kernels.mesh.near import close as end
from footprint.reference.background import background as reference


def close(found, wanted, noise=1.0):
    # Values are float32 about their cell's first, so one on a bound may fall on either side, and move its cell a little.
    apart = np.abs(np.array(found, float) - np.array(wanted)) / noise
    return np.mean(apart < 2e-3) > 0.9 and apart.max() < 0.06


@pytest.mark.parametrize("robust", [True, False])
@pytest.mark.parametrize(
    ("shape", "mesh"), [((200, 260), 32), ((97, 131), 16), ((64, 65), 64), ((40, 300), 33), ((130, 128), 25), ((150, 211), 70)]
)
def test_equals_the_reference(device, rng, shape, mesh, robust):
    image = rng.normal(5, 2, shape) + np.linspace(0, 8, shape[1])
    image[rng.random(shape) < 0.02] += 50
    if min(shape) // mesh < 2:
        maps = fp.background(image.astype("f4"), mesh, filter_size=1, robust=robust, device=device)
        assert close(maps, reference(image.astype("f4"), mesh, filter_size=1, robust=robust), 2)
        return
    image[:mesh, mesh : 2 * mesh] = np.nan
    for dtype in ("f4", ">f4", "f8"):
        maps = fp.background(image.astype(dtype), mesh, robust=robust, device=device)
        assert close(maps, reference(image.astype(dtype), mesh, robust=robust), 2)
        assert all(one.dtype == np.dtype(dtype).newbyteorder("=") for one in maps)


@pytest.mark.parametrize("dtype", ["f2", "i2", "u1"])
def test_other_dtypes_and_a_large_offset(device, rng, dtype):
    image = np.clip(rng.normal(50, 8, (100, 90)), 0, 255).astype(dtype)
    # Of so few different values many lie on a bound, so the plain clip is compared.
    assert close(fp.background(image, 30, robust=False, device=device), reference(image, 30, robust=False), 8)
    far = rng.normal(1e6, 2, (128, 128))
    level, noise = fp.background(far, 32, device=device)
    assert abs(level.mean() - 1e6) < 0.1 and abs(noise.mean() - 2) < 0.1


@pytest.mark.parametrize("kind", ["normal", "few values", "one far", "tiny", "alike"])
def test_lists_tell_what_sorted_values_do(rng, kind):
    """Counts, lists and medians to the bit, sums to rounding, of what lies between bounds, wherever it is looked for."""
    n, room = 1000, (1000 // AT_ONCE + 2) * AT_ONCE
    a, few, tails = (np.empty(room, "f4") for _ in range(3))
    a[:n] = rng.normal(0, 1, n)
    a[:n] = {"few values": np.round(a[:n]), "tiny": a[:n] * np.float32(1e-41), "alike": np.float32(3)}.get(kind, a[:n])
    if kind == "one far":
        a[5], a[7] = 3e38, -np.inf
    values, unit = a[:n].copy(), 1e-41 if kind == "tiny" else 1
    centre, half = extent(a, n, few)
    end(a, n)
    ordered, ready = np.sort(values).astype(float), (0, 0)
    for i, j in [(0, n), (1, n), *(np.sort(rng.integers(0, n + 1, (300, 2)), 1) + [0, 1]).clip(0, n)]:
        if i < j:
            median, *ready = median_of(i, j, a, n, centre, half / 100, few, *ready)
            assert median == 0.5 * (ordered[(i + j - 1) // 2] + ordered[(i + j) // 2])
    for bound in (*rng.choice(ordered, 40), *rng.normal(0, 1, 40) * unit, 1e30):
        assert under(a, n, at_least(bound)) == np.sum(ordered < bound)
        assert under(a, n, beyond(bound)) == np.sum(ordered <= bound)
        low, high = np.float32(bound), np.float32(bound + 0.3 * unit)
        inside = (values >= low) & (values < high)
        assert np.array_equal(few[: listed(a, n, low, high, few)], values[inside])
        assert np.array_equal(tails[: listed(a, n, low, high, tails, True)], values[~inside])
        count, *sums = summed(a, n, low, high, centre)
        d = values[inside].astype(float) - centre
        assert count == d.size and np.allclose(sums, [np.sum(d), np.sum(d * d)], 1e-10, 1e-12 * unit)


@pytest.mark.parametrize("filter_size", [1, 3, 5])
@pytest.mark.parametrize("kind", ["step", "edge", "corners", "rough"])
def test_noise_stays_over_0_beside_steps(device, rng, kind, filter_size):
    """Natural splines swung below 0 beside the steps, and lines went on below it beyond the outer centres."""
    for shape, box, ratio in (
        ((300, 400), 32, 20),
        ((97, 131), 16, 5),
        ((64, 300), 33, 10),
        ((130, 40), 32, 50),
        ((96, 160), 32, 9),
    ):
        scale = np.ones(shape)
        if kind == "step":
            scale[:, shape[1] // 2 :] = ratio
        elif kind == "edge":
            ends = [(n - 1) // box * box for n in shape]
            scale[:box], scale[ends[0] :], scale[:, :box], scale[:, ends[1] :] = (1 / ratio,) * 4
        elif kind == "corners":
            scale[-box:, -box:], scale[:box, :box] = 1 / ratio, ratio
        else:
            down, across = (np.repeat(np.exp(rng.normal(0, 1.5, n // box + 1)), box)[:n] for n in shape)
            scale *= np.outer(down, across)
        image = (rng.standard_normal(shape) * scale).astype("f4")
        found, wanted = (
            of[1] for of in (fp.background(image, box, filter_size=filter_size, device=device), reference(image, box, filter_size))
        )
        assert np.allclose(found, wanted, rtol=2e-3, atol=0) and found.min() > 0


@pytest.mark.parametrize("ratio", [5, 20])
def test_a_step_in_the_noise_hides_no_source_and_makes_few(device, rng, ratio):
    """Of ten sources of 100 sigma beside a step of 20 times none was found, and 1095 of noise were; of 5 times 38."""
    image = rng.standard_normal((1024, 1024)).astype("f4")
    image[:, 512:] *= ratio
    image[50:1000:100, 480] = 100
    noise = fp.background(image, 64, device=device)[1]
    assert noise[:, :512].min() > 0.85 and noise[:, 512 + 64 :].max() < 1.2 * ratio
    found = fp.find_sources(image, 5, background="mesh", box=64, device=device)
    places = set(zip(np.round(found["y"]).astype(int), np.round(found["x"]).astype(int)))
    assert places >= {(y, 480) for y in range(50, 1000, 100)} and len(found) < 20


def test_a_clip_that_leaves_little_of_a_wide_spread_keeps_its_digits(rng):
    """Of sums that hold what was clipped, little would be left to tell a small spread by."""
    image = rng.standard_cauchy((132, 330)).astype("f4")
    found = fp.background(image, 33, kappa=1.2, filter_size=1, robust=False, device="cpu")
    first = image[::33, ::33].copy()
    image -= np.repeat(np.repeat(first, 33, 0), 33, 1)
    wanted = reference(image, 33, kappa=1.2, filter_size=1, robust=False)
    at = np.ix_(np.arange(16, 132, 33), np.arange(16, 330, 33))
    assert np.allclose(found[0][at] - first, wanted[0][at], atol=1e-6) and np.allclose(found[1][at], wanted[1][at], rtol=1e-6)


@pytest.mark.parametrize("box", [32, 6])
def test_one_pixel_far_below_takes_no_digits_of_the_others(box, device, rng):
    """A blank that is told by a number, and not by NaN."""
    image = rng.normal(5, 2, (96, 96)).astype("f4")
    blank = image.copy()
    image[40, 40], blank[40, 40] = -1e30, np.nan
    assert np.allclose(*(fp.background(one, box, filter_size=1, device=device) for one in (image, blank)), rtol=1e-5)


def test_parts_change_no_bit(rng):
    image = (rng.standard_normal((500, 210)) + np.linspace(0, 9, 210)).astype(">f4")
    whole = fp.background(image, 16, device="cpu")
    with pytest.raises(fp.BudgetError) as short:
        fp.plan_background(image.shape, dtype=">f4", box=16, memory=1, device="cpu")
    plans = []
    for memory in (short.value.smallest, short.value.smallest + 60_000):
        parts = fp.background(image, 16, memory=memory, on_plan=plans.append, device="cpu")
        assert all(np.array_equal(a, b) for a, b in zip(whole, parts))
    assert plans[0].n_parts > plans[1].n_parts > 1 and plans[0].footprint.total <= short.value.smallest


def test_files_and_given_arrays(device, rng):
    image = rng.standard_normal((300, 100)).astype("f4")

    class File:
        shape, dtype = image.shape, image.dtype

        def read(self, rows, out):
            out[...] = image[rows]

    whole = fp.background(image, 20, device=device)
    assert all(np.array_equal(a, b) for a, b in zip(whole, fp.background(File(), 20, memory="300kB", device=device)))
    given = np.empty(image.shape, "f8"), np.empty(image.shape, "f4")
    back = fp.background(image, 20, out=given, device=device)
    assert back[0] is given[0] and np.array_equal(given[0], whole[0]) and np.array_equal(given[1], whole[1])


def test_a_slope_stays_and_a_crowd_lifts_nothing(device, rng):
    """A slope of ten deviations, and sources on a tenth of the image, in correlated noise."""
    x = np.indices((512, 512))[1]
    noise = ndimage.gaussian_filter(rng.standard_normal(x.shape), 2.1)
    noise /= noise.std()
    slope = 10 * x / 512
    spots = np.zeros(x.shape)
    spots[rng.integers(0, 512, 1000), rng.integers(0, 512, 1000)] = 28 * rng.pareto(1.2, 1000) * 3
    crowd = ndimage.gaussian_filter(spots, 2.1)
    level, spread = fp.background((noise + slope + crowd).astype("f4"), 64, device=device)
    assert np.abs(level - slope).mean() < 0.35 and abs(spread.mean() - 1) < 0.2
    assert abs(spread.mean() - 1) < abs(
        fp.background((noise + slope + crowd).astype("f4"), 64, robust=False, device=device)[1].mean() - 1
    )
    clip = fp.sigma_clip((noise + slope + crowd).astype("f4"), device="cpu")
    assert clip.std > 2.5


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"box": 3}, "box"),
        ({"box": 2.5}, "box"),
        ({"filter_size": 2}, "filter_size"),
        ({"kappa": -1}, "kappa"),
        ({"out": 3}, "out"),
    ],
)
def test_bad_arguments(options, name):
    with pytest.raises(fp.ArgumentError, match=name):
        fp.background(np.ones((20, 20)), **options)


def test_noise_is_one_with_and_without_a_catalogue(rng):
    """A beam is read wherever the image brings it: cells of few beams then tell as much as those of a search."""
    fits = pytest.importorskip("astropy.io.fits")
    image = rng.normal(1, 2, (96, 96)).astype("f4")
    header = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -0.001, "CDELT2": 0.001, "BUNIT": "Jy/beam"}
    header |= {"BMAJ": 0.005, "BMIN": 0.005}
    wanted = np.empty_like(image)
    fp.find_sources(image, 9, background="mesh", box=32, header=header, save_noise=wanted, device="cpu")
    for given, told in ((image, {"header": header}), (fits.ImageHDU(image, fits.Header(header)), {})):
        assert np.array_equal(fp.background(given, 32, device="cpu", **told)[1], wanted)
    bare = fp.background(image, 32, device="cpu")[1]
    assert np.allclose(wanted / bare, 1 + 2.2 * 28.33 / 32**2, rtol=1e-4)
    hidden = np.ma.array(image, mask=np.broadcast_to(np.arange(96) < 60, image.shape))
    assert np.array_equal(fp.background(hidden, 32, device="cpu"), fp.background(hidden.filled(np.nan), 32, device="cpu"))


def test_bad_images():
    with pytest.raises(fp.ArgumentError, match="finite"):
        fp.background(np.full((20, 20), np.nan))
    with pytest.raises(fp.ShapeError, match="image"):
        fp.background(np.ones((3, 20, 20)))
    image = np.ones((20, 20), "f4")
    with pytest.raises(fp.ArgumentError, match="out"):
        fp.background(image, out=(image, np.empty_like(image)))
    level, noise = fp.background(image * 3)
    assert np.all(level == 3) and np.all(noise == 0)


def test_pixels_beyond_float32_are_clipped_like_others(device, rng):
    """They were infinite, so that 0 times infinity came into sums, and the first of a cell took the digits of all others."""
    image = rng.normal(0, 1, (64, 64))
    plain = fp.background(image, 32, filter_size=1, device=device)
    for far in (1e39, -1.797e308):
        image[3, 3] = far
        assert np.allclose(fp.background(image, 32, filter_size=1, device=device), plain, atol=0.02)
    image[3, 3] = 0
    for far, dtype in ((1e39, "f8"), (-3.4e38, "f4")):
        image[0, 0] = far
        assert np.allclose(fp.background(image.astype(dtype), 32, filter_size=1, device=device), plain, atol=0.02)
