"""The Fourier method of fbp against the plain float64 sum: accuracies, geometries, filters, paddings; and what it promises."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import footprint as fp
from footprint.kernels.fourier.taps import TAPS
from footprint.reference import fbp as reference
from footprint.reference.backproject import angle_weights
from footprint.reference.filters import fast_length, response
from footprint.reference.fourier import fourier_backproject
from tests.ways import ways

ROOT = Path(__file__).resolve().parents[2]


TILES = 2e-4
"""How far tiles lie from the whole at an accuracy of 1e-4, of the largest value: each is within 1e-4 of the plain sum (rms)."""


def turns(n: int, span: float = np.pi) -> np.ndarray:
    return np.linspace(0, span, n, endpoint=False)


def plain_sum(x, angles, *, center, roi=None, shifts=0.0, filter="ramlak", padding="constant", interpolation="linear"):
    """Every frequency at every pixel, in float64; rows are so long that none of their periods reaches into the region."""
    n, angles = x.shape[1], np.asarray(angles)
    x0, x1, y0, y1 = roi = roi or (0, n, 0, n)
    seen = np.stack(
        [
            center + shifts + np.cos(angles) * (u - center) - np.sin(angles) * (v - center)
            for u in (x0, x1 - 1)
            for v in (y0, y1 - 1)
        ]
    )
    padded = fast_length(max(2 * n, int(np.ceil(max(seen.max(), n - seen.min()))) + 2))
    before = (padded - n) // 2
    wide = np.pad(x.astype("f8"), [(0, 0), (before, padded - n - before)], mode=padding)
    spectrum = np.fft.rfft(np.roll(wide, -before, axis=1)) * response(filter, padded)
    if interpolation == "linear":
        spectrum *= np.sinc(np.fft.rfftfreq(padded)) ** 2
    return fourier_backproject(spectrum, angles, angle_weights(angles), center, roi, shifts + np.zeros(len(angles)))


@functools.cache
def noise(n_angles, n, span=np.pi, interpolation="linear"):
    """A sinogram, its angles and the plain sum: one for all accuracies and devices."""
    x, angles = np.random.default_rng(5).standard_normal((n_angles, n), np.float32), turns(n_angles, span)
    return x, angles, plain_sum(x, angles, center=(n - 1) / 2, interpolation=interpolation)


def error(got, want):
    assert got.dtype == np.float32 and got.shape == want.shape
    return np.sqrt(np.mean((got - want) ** 2) / np.mean(want**2))


@pytest.mark.parametrize("interpolation", ["linear", "sinc"])
@pytest.mark.parametrize("accuracy", TAPS)
@pytest.mark.parametrize("roi", [None, (3, 30, -5, 31), (4, 5, 0, 2), (-31, 70, 10, 11)])
def test_equals_the_plain_sum(accuracy, interpolation, roi, rng, device):
    n, angles, shifts = 33, rng.uniform(-4, 4, 17), rng.uniform(-2, 2, 17)
    x = rng.standard_normal((17, n), np.float32)
    options = {"center": 14.2, "filter": "hann", "roi": roi, "interpolation": interpolation}
    want = plain_sum(x, angles, shifts=shifts, **options)
    got = fp.fbp(x, angles, method="fourier", axis_shifts=shifts, accuracy=accuracy, device=device, **options)
    assert error(got, want) < accuracy


@pytest.mark.parametrize("accuracy", TAPS)
def test_accuracy_is_what_it_says_on_noise(accuracy, device):
    """Where taps matter most: all frequencies alike, to the corners of the slice. Devices differ by less than they err."""
    x, angles, want = noise(131, 96, interpolation="sinc")
    options = {"method": "fourier", "interpolation": "sinc", "accuracy": accuracy}
    got = fp.fbp(x, angles, device=device, **options)
    assert error(got, want) < accuracy and np.abs(got - want).max() < 4 * accuracy * np.abs(want).max()
    assert error(got, fp.fbp(x, angles, device="cpu", **options)) < 0.5 * accuracy


@pytest.mark.parametrize(
    ("padding", "filter"), [("edge", "ramlak"), ("reflect", "hilbert"), ("symmetric", "none"), ("wrap", "cosine")]
)
def test_paddings_and_filters(padding, filter, rng, device):
    x, angles = rng.standard_normal((21, 40), np.float32), turns(21)
    want = plain_sum(x, angles, center=19.5, padding=padding, filter=filter)
    assert error(fp.fbp(x, angles, method="fourier", padding=padding, filter=filter, device=device), want) < 1e-4


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 1), (7, 5), (3, 64), (65, 2), (91, 97)])
@pytest.mark.parametrize("span", [np.pi, 2 * np.pi, 5.0])
def test_shapes_and_turns(shape, span, device):
    """Also where a grid is hardly larger than a window; some angles lie on the grid's axes."""
    x, angles, want = noise(*shape, span)
    got = fp.fbp(x, angles, method="fourier", device=device)
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-4 * np.abs(want).max())


def test_angles_that_crowd(rng, device):
    """Many within a few thousandths of a degree, some twice, some as near to the grid's axes as numbers go."""
    axes = [0.0, 0.0, 1e-12, -1e-12, np.pi / 2, np.nextafter(np.pi / 2, 2), -np.pi / 2]
    near = np.concatenate([0.3 + 1e-4 * rng.random(90), axes])
    x = rng.standard_normal((len(near), 24), np.float32)
    want = plain_sum(x, near, center=11.5)
    assert error(fp.fbp(x, near, method="fourier", device=device), want) < 1e-4


@functools.cache
def long_rows():
    """Two angles of long rows, a thin region, and its plain sum."""
    x, angles, roi = np.random.default_rng(6).standard_normal((2, 2000), np.float32), np.array([0.02, -0.3]), (0, 2000, 0, 2)
    return x, angles, roi, plain_sum(x, angles, center=999.5, roi=roi, interpolation="sinc")


def test_the_highest_frequencies_of_a_long_row_lie_where_they_should(device):
    """A place far out on the grid is not to be rounded to what a float32 tells apart: 1e-4 of a cell, here."""
    x, angles, roi, want = long_rows()
    got = fp.fbp(x, angles, method="fourier", interpolation="sinc", roi=roi, accuracy=1e-5, device=device)
    assert error(got, want) < 1e-5


@pytest.mark.parametrize(
    ("center", "shift", "roi"), [(23.5, 30, None), (51.3, 0, None), (-4, 0, None), (-48.5, 0, (-20, 90, 3, 50)), (3, 0, None)]
)
def test_an_axis_outside_the_detector(center, shift, roi, rng, device):
    """Or near its end, where a whole slice has much beside it; by shifts or by itself, and in tiles of the least budget."""
    n, angles = 48, rng.uniform(0, 2 * np.pi, 33)
    x, shifts = rng.standard_normal((33, n), np.float32), shift + rng.uniform(-1, 1, 33)
    where = {"center": center, "roi": roi, "interpolation": "sinc"}
    want = plain_sum(x, angles, shifts=shifts, **where)
    how = where | {"method": "fourier", "axis_shifts": shifts, "device": device}
    assert error(fp.fbp(x, angles, **how), want) < 1e-4
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_fbp(x.shape, angles, memory=1, **how)
    assert error(fp.fbp(x, angles, memory=caught.value.smallest, **how), want) < 1e-4
    assert error(fp.fbp(x, angles, accuracy=1e-5, **how), want) < 1.2e-5


@pytest.mark.parametrize("padding", ["constant", "edge"])
def test_groups_of_angles_and_tiles_equal_the_whole(padding, rng, device):
    """Groups of angles to rounding; tiles to the accuracy, as each has a grid of its own, down to the smallest that works."""
    x = rng.random((2, 137, 61), np.float32)
    options = {"method": "fourier", "padding": padding, "circle": True, "device": device, "roi": (3, 58, -4, 47)}
    plan = lambda memory: fp.plan_fbp(x.shape, memory=memory, **options)
    whole = fp.fbp(x, memory="1GB", **options)
    out = np.zeros_like(whole)
    budgets = ways(plan)
    (*_, groups), (tiles, *_, least) = budgets["za"], budgets["zya"]
    assert any("in groups" in note for note in plan(groups).notes) and any("tile of" in note for note in plan(least).notes)
    for memory, close in ((groups, 1e-5), (tiles, TILES), (least, TILES)):
        fp.fbp(x, memory=memory, out=out, **options)
        assert np.abs(out - whole).max() < close * np.abs(whole).max(), (memory, plan(memory).cuts)
        out[...] = 0


@pytest.mark.parametrize("n_angles", [37, 129])
@pytest.mark.parametrize(
    ("accuracy", "groups", "rms", "largest"), [(1e-3, 1.5e-4, 4.5e-4, 4e-3), (1e-4, 2e-5, 7e-5, 5e-4), (1e-5, 1.2e-5, 1.6e-5, 8e-5)]
)
def test_groups_and_tiles_are_as_far_from_the_whole_as_the_page_says(accuracy, groups, rms, largest, n_angles, device):
    """Of a square most: it has sharp edges along both axes, and few angles see its corners' rays alone."""
    angles, n = turns(n_angles), 129
    square = np.zeros((n, n), np.float32)
    square[26:103, 26:103] = 1
    for x in (fp.project(square, angles, device="cpu"), noise(n_angles, n)[0]):
        options = {"method": "fourier", "accuracy": accuracy, "device": device}
        whole = fp.fbp(x, angles, **options)
        seen = set()
        with pytest.raises(fp.BudgetError) as caught:
            fp.plan_fbp(x.shape, angles, memory=1, **options)
        for times in (1.3, 2, 4):
            memory = int(caught.value.smallest * times)
            cut = {one.axis for one in fp.plan_fbp(x.shape, angles, memory=memory, **options).cuts}
            difference = fp.fbp(x, angles, memory=memory, **options) - whole
            seen |= cut
            assert np.abs(difference).max() < (largest if "y" in cut else groups) * np.abs(whole).max(), (memory, cut)
            assert np.sqrt((difference**2).mean() / (whole**2).mean()) < rms, (memory, cut)
        assert "y" in seen


def test_a_tile_or_region_is_as_near_to_the_plain_sum_as_the_whole(device):
    """And tiles no farther from the whole: of the object beside it, a period away, a few rows would see more than a whole slice."""
    accuracy, (x, angles, want) = 1e-5, noise(131, 96, interpolation="sinc")
    options = {"method": "fourier", "interpolation": "sinc", "accuracy": accuracy, "device": device}
    whole = fp.fbp(x, angles, **options)
    assert error(fp.fbp(x, angles, roi=(0, 96, 36, 60), **options), want[36:60]) < 0.9 * accuracy
    budgets = ways(lambda memory: fp.plan_fbp(x.shape, angles, memory=memory, **options))
    tiles = fp.fbp(x, angles, memory=budgets["ya"][-1], **options)
    assert error(tiles, want) < 0.9 * accuracy and error(tiles, whole) < 0.9 * accuracy
    assert np.abs(tiles - whole).max() < 3 * accuracy * np.abs(whole).max()


def test_slices_by_any_budget_have_the_same_bits(rng, device):
    x = rng.random((5, 90, 101), np.float32)
    options = {"method": "fourier", "device": device}
    whole = fp.fbp(x, **options)
    plan = fp.plan_fbp(x.shape, dtype=">f4", **options)
    assert plan.choices[-1].size == 1
    np.testing.assert_array_equal(fp.fbp(x.astype(">f4"), memory=plan.choices[-1].nbytes, **options), whole)
    for z in range(5):
        np.testing.assert_array_equal(fp.fbp(x[z], **options), whole[z])


def test_gains_take_what_transforms_leave(backend, monkeypatch):
    """As by a library, cuFFT, that has no factor of 1/n: what a step is told, and what the gains make up for."""
    x, angles, want = noise(7, 5)
    library = backend.limits.fft  # named, it takes all lines, those that would stay on the chip too
    plan = functools.partial(fp.plan_fbp, x.shape, angles, method="fourier", device=backend.limits.device, fft=library)
    monkeypatch.setattr(f"footprint.backend.fft.{backend.limits.fft}.SCALES", False)
    assert [dict(step.numbers) for step in plan().steps if step.action == "ifft"] == [{"scaled": False}] * 2
    out = np.empty((1, 5, 5), np.float32)
    with plan().bind(backend) as bound:
        bound(x[None], out=[out])
    assert error(out[0], want) < 3e-4


def test_a_device_holds_what_the_plan_says(backend, rng):
    """Whole, by slices, and in groups of angles: arena and constants to the byte, and what its FFT library said."""
    if backend.limits.host:
        pytest.skip("what the CPU's process grows by is measured in tests/memory")
    if backend.limits.device.startswith("cuda"):
        pytest.skip("CUDA counts pages of 2 MiB, of all that run on the device: tests/device/test_memory.py measures it alone")
    x, out = rng.random((3, 171, 45), np.float32), np.empty((3, 45, 45), np.float32)
    options = {"method": "fourier", "device": backend.limits.device}
    least = smallest(lambda **options: fp.plan_fbp(x.shape, **options), **options)
    for memory in (None, 8 * least, 2 * least, least):
        plan, before = fp.plan_fbp(x.shape, memory=memory, **options), backend.used()
        with plan.bind(backend) as bound:
            bound(x, out=[out])
            assert plan.nbytes <= backend.used() - before <= plan.nbytes + plan.footprint.library
        assert backend.used() == before
    assert len(plan.cuts) == 3


def test_a_slice_of_the_finest_scans_fits_a_small_gpu():
    """The grid of 16384 x 16384 pixels is 2.4 GB, and is transformed where it lies."""
    plan = fp.plan_fbp((43200, 16384), method="fourier", memory="4.3GB", device="null:h100")
    assert plan.footprint.total <= 4.3e9 and plan.cuts[0].axis == "a" and plan.n_parts < 40
    plan = fp.plan_fbp((43200, 16384), method="fourier", memory="1.2GB", device="null:h100")
    assert plan.footprint.total <= 1.2e9 and [cut.axis for cut in plan.cuts] == ["y", "a"]


BITS = """
import hashlib, sys
import numpy as np
import footprint as fp
x = np.random.default_rng(0).standard_normal((2, 211, 307), np.float32)
for accuracy in (1e-3, 1e-4, 1e-5):
    for _ in range(3):
        print(hashlib.sha256(fp.fbp(x, method="fourier", accuracy=accuracy, device="cpu").tobytes()).hexdigest())
"""


def test_any_number_of_threads_gives_the_same_bits():
    found = []
    for threads in ("1", "2", "3"):
        env = os.environ | {"FOOTPRINT_THREADS": threads, "NUMBA_NUM_THREADS": "3"}
        done = subprocess.run([sys.executable, "-c", BITS], capture_output=True, text=True, cwd=ROOT, env=env, timeout=300)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    assert found[0] == found[1] == found[2] and len(set(found[0])) == 3


@pytest.mark.parametrize(("filter", "difference"), [("ramlak", 0.05), ("hann", 0.01)])
def test_linear_comes_near_direct_sums_of_the_head(filter, difference, device):
    n, angles = 192, turns(300)
    sinogram = reference.ellipse_sinogram(angles, n, 95.5)
    options = {"filter": filter, "device": device}
    direct = fp.fbp(sinogram, angles, method="direct", **options)
    y, x = np.mgrid[:n, :n] - 95.5
    seen = np.hypot(x, y) < 0.48 * n
    far = [
        error(fp.fbp(sinogram, angles, method="fourier", interpolation=i, **options)[seen], direct[seen])
        for i in ("linear", "sinc")
    ]
    assert far[0] < difference and far[0] < 0.6 * far[1]


def test_noise_of_linear_is_that_of_direct_sums(rng):
    """Their spreads differ by 8 percent, as direct sums read frequencies beyond the highest again; by sinc it is 47."""
    x = rng.standard_normal((400, 256), np.float32)
    direct, linear, sinc = (
        fp.fbp(x, method=m, interpolation=i, device="cpu")[64:192, 64:192].std()
        for m, i in (("direct", "linear"), ("fourier", "linear"), ("fourier", "sinc"))
    )
    assert 0.89 < linear / direct < 0.95 and 1.4 < sinc / direct < 1.53


@pytest.mark.parametrize("own", [False, True])
def test_a_far_axis_brings_no_ghosts(own, device):
    """Corners farther from the axis than the padded row is long must not see the row's next period."""
    n, center = 128, 2.0
    x = np.exp(-(((np.arange(n) - 100) / 4) ** 2))[None].repeat(200, 0)
    gains = response("ramlak", fast_length(2 * n)) if own else "ramlak"
    direct, fourier = (fp.fbp(x, center=center, filter=gains, method=m, device=device) for m in ("direct", "fourier"))
    corner = np.abs(direct).max()
    assert np.abs(fourier - direct).max() < 0.1 * corner
    assert np.abs(fourier[-20:, -20:]).max() < 0.1 * corner


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"accuracy": 1e-6}, ["accuracy", "1e-06", "1e-03, 1e-04, 1e-05"]),
        ({"accuracy": "high"}, ["accuracy", "'high'"]),
        ({"interpolation": "cubic"}, ["interpolation", "'cubic'", "linear, sinc"]),
        ({"interpolation": "sinc", "method": "direct"}, ["interpolation", "method='fourier'"]),
        ({"method": "auto"}, ["method", "direct, fourier"]),
        ({"axis_shifts": np.full(20, 1e9)}, ["axis_shifts", "1e+09", "projection 0"]),
        ({"roi": (90000, 90070, 0, 9)}, ["roi", "method='direct'"]),
    ],
)  # fmt: skip
def test_what_it_cannot_do_is_one_sentence(change, words, rng):
    with pytest.raises(fp.ArgumentError) as caught:
        fp.fbp(rng.random((20, 30), np.float32), **{"method": "fourier", "device": "cpu"} | change)
    assert all(word in str(caught.value) for word in words), caught.value


def smallest(make, **options):
    with pytest.raises(fp.BudgetError) as caught:
        make(memory=1, **options)
    return caught.value.smallest


def test_a_budget_too_small_names_what_the_other_method_takes():
    """No budget changes the method: what does not fit is refused, with both figures."""

    def fbp(**options):
        return fp.plan_fbp((4, 300, 256), device="cpu", **options)

    def scan(**options):
        return fp.plan_reconstruct((300, 4, 256), written=True, device="cpu", **options)

    for make in (fbp, scan):
        direct, fourier = (smallest(make, method=method) for method in ("direct", "fourier"))
        assert direct < fourier
        with pytest.raises(fp.BudgetError, match=f"memory={fourier} .*method='direct', which takes ") as caught:
            make(memory=fourier - 1, method="fourier")
        # What takes more is no help.
        with pytest.raises(fp.BudgetError) as refused:
            make(memory=direct - 1, method="direct")
        assert refused.value.smallest == direct and "fourier" not in str(refused.value)
        assert caught.value.smallest == fourier and make(memory=fourier, method="fourier").footprint.total == fourier
        for memory in (fourier, 2 * fourier, None):
            kernels = {step.kernel for step in make(memory=memory, method="fourier").steps}
            assert "fourier.spread" in kernels and "backproject" not in kernels
            assert "backproject" in {step.kernel for step in make(memory=memory).steps}
    with pytest.raises(fp.BudgetError) as caught:
        fbp(memory=1, method="fourier", interpolation="sinc")
    assert "direct" not in str(caught.value)
