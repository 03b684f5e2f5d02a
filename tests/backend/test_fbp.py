"""ramp_filter, backproject and fbp against the float64 reference and the analytic head, on every device found."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.kernels.ramp_filter import lines
from footprint.ops.filters import NAMES
from footprint.ops.filters import response as own_response
from footprint.reference import fbp as reference
from footprint.reference.backproject import angle_weights, backproject
from footprint.reference.filters import fast_length, response
from footprint.reference.ramp_filter import ramp_filter

from .kernels import in_turn, run

PADDINGS = ("constant", "edge", "reflect", "symmetric", "wrap")
SINOGRAMS = [(1, 1), (1, 2), (3, 1), (7, 5), (13, 64), (90, 97), (181, 130), (64, 257)]


def turns(n: int, span: float = np.pi) -> np.ndarray:
    return np.linspace(0, span, n, endpoint=False)


def close(got, want, tolerance=2e-5):
    assert got.dtype == np.float32 and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(np.abs(want).max(), 1e-30))


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("shape", SINOGRAMS)
def test_rows_are_filtered(shape, padding, device, rng):
    if shape[1] == 1 and padding == "reflect":
        pytest.skip("one sample has no reflection about itself")
    in_turn(device, SINOGRAMS.index(shape) + PADDINGS.index(padding), len(PADDINGS))
    x = rng.standard_normal(shape, np.float32)
    gains = response("ramlak", fast_length(2 * shape[1]))
    close(fp.ramp_filter(x, padding=padding, device=device), ramp_filter(x, gains, padding))


@pytest.mark.parametrize("cutoff", [1.0, 0.8, 0.35])
@pytest.mark.parametrize("padded", [2, 4, 10, 64, 150])
@pytest.mark.parametrize("name", NAMES)
def test_gains_are_those_of_the_formulas(name, padded, cutoff):
    np.testing.assert_allclose(own_response(name, padded, cutoff), response(name, padded, cutoff), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_every_filter(name, device, rng):
    x = rng.standard_normal((11, 50), np.float32)
    want = ramp_filter(x, response(name, fast_length(100), 0.8))
    close(fp.ramp_filter(x, filter=name, cutoff=0.8, device=device), want)
    x0 = x.copy()
    assert fp.ramp_filter(x, filter=name, cutoff=0.8, out=x, device=device) is x
    close(x, want)
    assert not np.array_equal(x, x0)


def test_rows_longer_than_a_batch_agree_with_those_within(device, rng):
    """A row's bits are its own, whatever others hold."""
    x = rng.standard_normal((700, 3000), np.float32)
    whole = fp.ramp_filter(x, padding="edge", device=device)
    close(whole, ramp_filter(x, response("ramlak", fast_length(6000)), "edge"))
    x[25, 7] = np.nan
    some = fp.ramp_filter(x[19:44], padding="edge", device=device)
    assert np.isnan(some[6]).all()
    np.testing.assert_array_equal(np.delete(some, 6, 0), np.delete(whole[19:44], 6, 0))


def test_lengths_that_our_own_transforms_serve():
    """On the CPU: all that rows are padded to, from 8 samples on; the first radix is small, and every frequency has its place."""
    for padded in {fast_length(2 * n) for n in range(8, 2500)}:
        radices = lines.factors(padded)
        assert np.prod(radices) == padded // 2 and 2 <= len(radices) <= lines.MOST and radices[0] <= 8
    assert [lines.factors(n) for n in (2, 6, 26, 4095, 4 << 15)] == [None] * 5
    for padded in (16, 36, 42, 90, 160, 486):
        radices = lines.factors(padded)
        _, order, gains = lines.tables(np.ones(padded // 2 + 1), radices)
        starts, places = np.split(order, [radices[0] + 1])
        assert sorted({*places}) == [*range(padded // 2)] and 2 * starts[-1] == len(places) == 2 * len(gains)


@pytest.mark.parametrize("dtype", ["f2", ">f4", "f8", "u1", ">u2", "i4"])
@pytest.mark.parametrize("strided", [False, True])
def test_any_real_array_is_a_sinogram(dtype, strided, device, rng):
    x = (10 * rng.random((3, 40, 60))).astype(dtype)
    x = x[::-1, ::2, ::-1] if strided else x
    x.flags.writeable = False
    angles = turns(x.shape[1])
    want = np.stack([reference.fbp(s, angles, response("ramlak", fast_length(120)), 29.5, (0, 60, 0, 60)) for s in x])
    close(fp.fbp(x, angles, method="direct", device=device), want)


@pytest.mark.parametrize("accumulated", [False, True])
@pytest.mark.parametrize(
    ("shape", "center", "roi"),
    [
        ((1, 1), 0, None),
        ((5, 7), 3.2, None),
        ((90, 97), 48, (3, 90, 11, 12)),
        ((33, 130), 10.7, (-20, 150, 5, 100)),
        ((181, 64), 63.4, None),
        ((33, 40), 43.3, None),
        ((33, 40), -4.0, (-45, 40, -40, 31)),
        ((19, 40), 20, (-40, 2500, 3, 50)),
        ((19, 40), 20, (90000, 90070, -9, 3)),
    ],
)
def test_backprojection(shape, center, roi, accumulated, device, rng):
    """Whole, and summed in groups of angles and tiles of rows because of the budget."""
    x, shifts = rng.standard_normal(shape, np.float32), rng.uniform(-3, 3, shape[0])
    angles = rng.uniform(-7, 7, shape[0])
    box = roi or (0, shape[1], 0, shape[1])
    if not accumulated:
        want = backproject(x, angles, angle_weights(angles), center, box, shifts)
        got = fp.backproject(x, angles, center=center, roi=roi, axis_shifts=shifts, device=device)
        close(got, want, 5e-5)
        return
    options = {"center": center, "roi": roi, "axis_shifts": shifts, "method": "direct", "device": device}
    want = reference.fbp(x, angles, response("ramlak", fast_length(2 * shape[1])), center, box, axis_shifts=shifts)
    try:
        fp.plan_fbp(shape, angles, memory=1, **options)
        pytest.fail("one byte must not do")
    except fp.BudgetError as error:
        smallest = error.smallest
    plan = fp.plan_fbp(shape, angles, memory=smallest, **options)
    assert plan.footprint.total == smallest
    close(fp.fbp(x, angles, memory=smallest, **options), want, 5e-5)


@pytest.mark.parametrize("n_z", [1, 5])
def test_tiles_that_see_nothing_of_a_row_add_nothing(n_z, device, rng):
    """Far shifts, and a slice many times wider than the rows: however far a tile lies, it gets zeros."""
    x, angles = rng.standard_normal((n_z, 3, 20), np.float32), np.array([0.1, 1.0, 2.0])
    got = fp.backproject(x, angles, axis_shifts=np.array([1e12, -5000, 700.0]), device=device)
    np.testing.assert_array_equal(got, np.zeros_like(got))
    for shift in (0.0, 800.0, -4000.0):
        shifts, box = np.array([0, shift, -shift]), (-1000, 900, 20, 70)
        want = np.stack([backproject(row, angles, angle_weights(angles), 9.5, box, shifts) for row in x])
        close(fp.backproject(x, angles, roi=box, axis_shifts=shifts, device=device), want, 5e-5)


@pytest.mark.parametrize(
    ("shape", "cx", "cy", "radius"),
    [((2, 51, 4096), 2047.75, 2047.75, 2047.75), ((1, 1, 1), 0, 0, 0.5), ((3, 7, 5), 2, 9, 4), ((1, 6, 300), -3, 2.5, 1)],
)
def test_the_circle_has_the_pixels_within_its_radius(shape, cx, cy, radius, backend):
    """Also those on it, where float32 would round some of a wide slice outside."""
    y, x = np.ogrid[: shape[1], : shape[2]]
    volume = np.ones(shape, np.float32)
    run(backend, "slices.circle", volume, cx=cx, cy=cy, radius=radius, value=0.0)
    np.testing.assert_array_equal(volume, np.broadcast_to((x - cx) ** 2 + (y - cy) ** 2 <= radius**2, shape))


@pytest.mark.parametrize("shift", [1e9, 121.0, -121.0])
def test_shifts_are_refused_that_leave_nothing(shift, rng):
    x, shifts = rng.random((20, 40), np.float32), np.where(np.arange(20) == 7, shift, 0)
    for verb in (fp.fbp, fp.sirt, fp.cgls, functools.partial(fp.tv, weight=1)):
        with pytest.raises(fp.ArgumentError, match=r"axis_shifts: got .* at projection 7, wanted at most 120 pixels"):
            verb(x, axis_shifts=shifts, center=34.0, device="cpu")
    with pytest.raises(fp.ArgumentError, match="axis_shifts: got"):
        fp.plan_fbp((20, 40), axis_shifts=shifts, center=34.0, device="cpu")


def test_the_circle_is_what_every_shifted_projection_saw(rng):
    shifts, (y, x) = np.linspace(-3, 2, 20), np.ogrid[:40, :40]
    found = fp.fbp(rng.random((20, 40)), center=20.0, axis_shifts=shifts, circle=True, device="cpu")
    np.testing.assert_array_equal(found != 0, (x - 20) ** 2 + (y - 20) ** 2 <= 17.5**2)


def test_slices_share_nothing_but_the_geometry(device, rng):
    x = rng.standard_normal((7, 30, 41), np.float32)
    whole = fp.fbp(x, method="direct", device=device)
    for z in range(7):
        close(whole[z], fp.fbp(x[z], method="direct", device=device), 1e-5)
    plan = fp.plan_fbp(x.shape, method="direct", device=device)
    small = fp.plan_fbp(x.shape, method="direct", device=device, memory=plan.footprint.total // 2)
    assert len(small.chunks) > 1
    close(fp.fbp(x, method="direct", device=device, memory=plan.footprint.total // 2), whole, 1e-6)


@pytest.mark.parametrize("method", ["direct", "fourier"])
@pytest.mark.parametrize(("span", "n_angles"), [(np.pi, 300), (2 * np.pi, 600)])
def test_the_head_comes_back_in_its_own_values(method, span, n_angles, device):
    n, center = 192, 97.3
    angles = turns(n_angles, span)
    sinogram = reference.ellipse_sinogram(angles, n, center)
    image = fp.fbp(sinogram, angles, center=center, method=method, circle=True, device=device)
    truth = reference.ellipse_image(n, center)
    y, x = np.mgrid[:n, :n] - center
    flat = np.hypot(x / 0.62, y / 0.8) < n / 2  # inside the skull, where the head has no sharp edge but its small ellipses
    assert np.sqrt(np.mean((image - truth)[flat] ** 2)) < 0.035
    assert abs((image - truth)[flat].mean()) < 2e-3
    assert (image[np.hypot(x, y) > min(center, n - 1 - center) + 0.5] == 0).all()


@pytest.mark.parametrize("group", [1, 7, 64])
def test_groups_of_angles_give_the_same_bits_on_the_cpu(group, rng):
    from footprint.kernels.backproject.contract import backproject_work
    from footprint.kernels.backproject.cpu import backproject as kernel
    from footprint.ops.backproject import Geometry
    from footprint.spec import ArraySpec

    rows = rng.standard_normal((5, 90, 77), np.float32)
    table = Geometry(turns(90), 77, 30.3).table()
    whole, summed = np.empty((5, 77, 77), "f4"), np.zeros((5, 77, 77), "f4")
    specs = [ArraySpec(a.shape, a.dtype.str) for a in (rows, table, whole)]
    work = [np.empty(w.shape, w.dtype) for w in backproject_work(device_limits("cpu"), *specs)]
    kernel(rows, table, whole, *work)
    for a in range(0, 90, group):
        kernel(rows[:, a : a + group].copy(), table[a : a + group], summed, *work, accumulate=True)
    np.testing.assert_array_equal(summed, whole)


def test_uneven_angles_weigh_by_their_gaps(device, rng):
    n, center = 128, 63.5
    angles = np.sort(rng.uniform(0, np.pi, 800))
    even = turns(800)
    truth = reference.ellipse_image(n, center)
    errors = []
    for t in (angles, even):
        image = fp.fbp(reference.ellipse_sinogram(t, n, center), t, method="direct", device=device)
        y, x = np.mgrid[:n, :n] - center
        errors.append(np.sqrt(np.mean((image - truth)[np.hypot(x, y) < 0.3 * n] ** 2)))
    assert errors[0] < 1.6 * errors[1]


def test_like_skimage():
    """The same slice as skimage's iradon, mapped to our axes: its angle turns the other way and its centre is n // 2."""
    iradon = pytest.importorskip("skimage.transform", reason="scikit-image is not installed").iradon
    n, angles = 128, turns(180)
    sinogram = reference.ellipse_sinogram(angles, n, n // 2)
    theirs = iradon(sinogram.T, np.rad2deg(angles), circle=True)
    ours = fp.fbp(sinogram, angles, center=n // 2, method="direct", device="cpu")
    y, x = np.mgrid[:n, :n] - n // 2
    seen = np.hypot(x, y) < 0.45 * n
    best = min(np.abs(view - ours)[seen].mean() for view in (theirs, theirs[::-1]))
    assert best < 2e-3


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("hilbert",)])
def test_pixel_size_divides(name, rng):
    x = rng.random((20, 30), np.float32)
    one, two = (fp.fbp(x, filter=name, pixel_size=size, method="direct", device="cpu") for size in (None, 0.25))
    np.testing.assert_allclose(two, 4 * one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"angles": np.zeros(3)}, "angles"), ({"angles": np.full(20, np.nan)}, "nan"), ({"angles": np.arange(20) * 9}, "deg2rad"),
        ({"center": 99}, "center: got 99, wanted at most 30 pixels, the detector's width, off either end of it: -30.5 to 59.5"),
        ({"center": np.nan}, "got nan"), ({"center": np.inf}, "got inf"), ({"center": -30.6}, "center"),
        ({"center": "x"}, "center"),
        ({"center": 31, "circle": True}, "no pixel was seen by all projections"),
        ({"filter": "ramp"}, "filter"), ({"padding": "soft"}, "padding"),
        ({"method": "fast"}, "method"), ({"roi": (5, 5, 0, 9)}, "roi"), ({"roi": (5, 9)}, "roi"), ({"pixel_size": 0}, "pixel_size"),
        ({"cutoff": 0}, "cutoff"), ({"memory": "1 B"}, "memory"), ({"memory": "lots"}, "memory"), ({"device": "tpu"}, "device"),
        ({"axis_shifts": [1, 2]}, "axis_shifts"), ({"out": np.zeros((3, 3))}, "out"), ({"filter": np.ones(3)}, "filter"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(change, word, rng):
    options = {"angles": turns(20), "device": "cpu"} | change
    with pytest.raises(fp.FootprintError, match=word):
        fp.fbp(rng.random((20, 30), np.float32), options.pop("angles"), **options)


@pytest.mark.parametrize("shape", [(4,), (0, 5), (5, 0), (0, 4, 5), (2, 3, 4, 5)])
def test_shapes_that_are_no_sinogram(shape):
    for verb in (fp.fbp, fp.ramp_filter, fp.backproject):
        with pytest.raises(fp.FootprintError):
            if len(shape) == 4 and verb is fp.ramp_filter:
                raise fp.ShapeError("rows", shape, "any stack will do for rows")
            verb(np.zeros(shape, "f4"), device="cpu")


def test_the_sides_of_a_missing_wedge_count_with_the_gap_on_their_other_side():
    """120 degrees of 180 in equal steps: nobody stands for the 60 that are missing. A gap of twice the step is no wedge."""
    from footprint.ops.backproject import angle_weights as own

    step = np.deg2rad(2)
    limited = np.arange(60) * step
    np.testing.assert_allclose(own(limited), np.full(60, step), rtol=1e-12)
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(own(np.pi + limited[order]), np.full(60, step), rtol=1e-9)
    gappy = np.delete(np.arange(90) * step, 40)
    want = np.full(89, step)
    want[[39, 40]] = 1.5 * step
    np.testing.assert_allclose(own(gappy), want, rtol=1e-12)
    np.testing.assert_allclose(own(gappy), angle_weights(gappy), rtol=1e-12)


def test_all_projections_of_several_turns_count():
    """Of those from one direction the first and the last had weighed as much as all, and the others nothing."""
    from footprint.ops.backproject import angle_weights as own

    several = np.arange(360) * 2 * np.pi / 90
    for turns in (several, several - 9 * np.pi, several[::-1], several + np.random.default_rng(0).uniform(-5e-5, 5e-5, 360)):
        np.testing.assert_allclose(own(turns), np.full(360, np.pi / 360), rtol=2e-2)
        np.testing.assert_allclose(own(turns), angle_weights(turns), rtol=1e-9)
    # Angles a small step apart are several directions all the same.
    np.testing.assert_allclose(own(np.r_[several[:45], 0.03 + np.arange(300) * 1e-5])[60:300], np.full(240, 1e-5), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4"])
@pytest.mark.parametrize("verb", [fp.fbp, fp.backproject])
def test_a_call_like_an_earlier_one_gives_the_same(verb, dtype, device, rng):
    """Of one slice and of several, into new arrays and into the caller's, strided or of another dtype."""
    for shape in ((20, 31), (3, 20, 31)):
        x, other = rng.random((2, *shape), np.float32)
        options = {"device": device} | ({"method": "direct"} if verb is fp.fbp else {})
        want = verb(x, **options)
        np.testing.assert_array_equal(verb(x, **options), want)
        wide = np.zeros((*want.shape, 2), dtype)
        for out in (np.zeros(want.shape, dtype), wide[..., 0]):
            for given in (x, other, x):
                assert verb(given, out=out, **options) is out
            np.testing.assert_array_equal(out, want.astype(dtype))
        assert not wide[..., 1].any()
    if verb is fp.fbp:
        changed = [
            verb(x, **options | change) for change in ({"filter": "hann"}, {"circle": True}, {"center": 12.0}, {"cutoff": 0.5})
        ]
        assert all(not np.array_equal(one, want) for one in changed)
