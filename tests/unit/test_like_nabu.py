"""Numbers that nabu's own functions made (tests/golden): what means the same gives the same; what does not is told by how much."""

from __future__ import annotations

import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

import footprint as fp
from footprint.io.phantom import volume
from footprint.ops.flatfield import Flat, MinusLog, Sinograms
from footprint.reference.half_acquisition import field
from tests.golden import nabu_cases as cases
from tests.scans import ArrayScan
from tests.unit.test_conventions import SHOWN

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN = np.load(FOLDER / "nabu.npz")
CPU = {"device": "cpu"}


def off(found, want):
    """The largest difference, as a share of the largest value."""
    assert found.shape == want.shape
    return float(np.abs(found - want).max() / np.abs(want).max())


def norm(found, want):
    return float(np.linalg.norm(found - want) / np.linalg.norm(want))


def about(center, shape, radius):
    y, x = np.mgrid[: shape[0], : shape[1]]
    return np.hypot(x - center[0], y - center[1]) < radius


def rows(name, padding, cutoff, filter, ours):
    lines = cases.head(cases.ANGLES[:3], 11.0)
    found = fp.ramp_filter(lines, filter=filter, padding=padding, cutoff=ours, **CPU)
    return off(found, GOLDEN[f"rows {name} {padding} {cutoff}"])


def test_filters_and_paddings():
    """Windows end at a cutoff here; nabu's are stretched to it and rise again, its ramp has none. Its gains give its numbers."""
    assert len(cases.ROWS) == 15
    for name, padding, cutoff in cases.ROWS:
        own = rows(name, padding, cutoff, name, cutoff)
        if cutoff == 1 and name not in ("tukey", "lanczos"):
            assert own < 6e-7, (name, padding)
        else:
            # The largest is of the shortest rows there are: docs/conventions.md has others.
            assert own > 0.05, (name, cutoff)
        if name != "hilbert":
            assert rows(name, padding, cutoff, SHOWN["gains_of_nabu"](name, cases.N_X, cutoff), 1.0) < 6e-7, (name, cutoff)


@pytest.mark.parametrize("name", cases.SLICES)
def test_slices(name):
    """Within the circle that all projections see; beyond it nabu cuts rows off between two pixels in another place."""
    how = dict(cases.SLICES[name][1])
    found = fp.fbp(cases.slice_lines(name), how.pop("angles", cases.ANGLES), **how, **CPU)
    center, first = how.get("center", (cases.N_X - 1) / 2), how.get("roi", (0, 0, 0, 0))
    axis = ((cases.N_X - 1) / 2,) * 2 if how.get("centered") else (center - first[0], center - first[2])
    assert (
        off(found[seen := about(axis, found.shape, min(center, cases.N_X - 1 - center) - 2)], GOLDEN[f"slice {name}"][seen]) < 5e-6
    )


def test_half_acquisition():
    """The blend is the same. Its backprojector weighs rows after it has filtered them, cut off at the axis, and ours before."""
    lines, n = cases.half_lines(), len(cases.TURN) // 2
    width = GOLDEN["half stitched"].shape[1]
    wide = field(lines, np.full(2 * n, cases.HALF), 0, width, 0, 1, cases.HALF_X - 0.5 - cases.HALF)
    assert off((wide[:n] + wide[n:, ::-1]) / 2, GOLDEN["half stitched"]) < 1e-6
    scan = ArrayScan(lines[:, None], cases.TURN)
    found = fp.reconstruct(scan, center=cases.HALF, log=False, half_acquisition=True, **CPU)[0]
    truth = volume(width, np.array([0.1]), cases.HALF, 13.0, sub=5)[0] / cases.HALF_X
    inside = about((cases.HALF,) * 2, truth.shape, 13)
    means = [GOLDEN[f"half slice {padding}"][:width, :width][inside].mean() for padding in ("constant", "edge")]
    means = np.array([found[:width, :width][inside].mean(), *means]) / truth[inside].mean() - 1
    assert abs(means[0]) < 0.01 and means[1] > 0.2 and means[2] < -0.05, means


def test_phase():
    """Ours has the padding go on for ever: nabu's frame of twice the size has an end, which only the mirror does not see."""
    for padding in cases.PADDINGS:
        found, theirs = fp.paganin(cases.image(), padding=padding, **cases.PHASE, **CPU), GOLDEN[f"phase {padding}"]
        assert off(found, theirs) < (2e-6 if padding == "symmetric" else 2e-3) < 0.1 < off(cases.image(), theirs)
        mode = {"zeros": "constant"}.get(padding, padding)
        pad, size = 200, cases.PHASE["pixel_size"]
        wide = np.pad(cases.image().astype(float), pad, mode)
        fy, fx = np.fft.fftfreq(wide.shape[0], size), np.fft.rfftfreq(wide.shape[1], size)
        length = cases.PHASE["delta_beta"] * 1.23984199e-9 / cases.PHASE["energy"] * cases.PHASE["distance"] * np.pi
        exact = np.fft.irfft2(np.fft.rfft2(wide) / (1 + length * (fy[:, None] ** 2 + fx**2)), wide.shape)[pad:-pad, pad:-pad]
        assert off(found, exact) < 5e-6


def test_unsharp_logarithm_and_spikes():
    """imagej is the same of another amount; "log" is a sum with the blur, which no amount is."""
    for method, amount in (("gaussian", 0.6), ("imagej", 0.6 / (1 - 0.6))):
        assert off(fp.unsharp_mask(cases.image(), 1.2, amount, **CPU), GOLDEN[f"unsharp {method}"]) < 1e-6
    scan = ArrayScan((cases.zingers() * 8 - 5)[:, None], np.linspace(0, 3, 20))
    only = lambda steps: [step for step in steps if isinstance(step, Flat | MinusLog | Sinograms)]
    found = fp.reconstruct(scan, center=11.5, i0=1.0, steps=only, black_frames="keep", **CPU)[0]
    assert off(found, GOLDEN["log"]) < 1e-6
    # A share above the median, and not a number: the same where both see the spike.
    assert off(fp.remove_zingers(cases.zingers(), 0.5, size=3, **CPU), GOLDEN["median clip"]) == 0


def test_normalization():
    """Its parabola is not quite without a mean: off by a share of 1/n^2, which a thousand pixels do not show."""
    lines, taken = cases.striped(), {}
    for kind, array in cases.LEVELS.items():
        given = kind if array is None else {"method": kind, "array": array}
        scan = ArrayScan(lines[:, None], np.linspace(0, np.pi, 24, endpoint=False))
        only = lambda steps, given=given: fp.steps(normalization=given)([step for step in steps if isinstance(step, Sinograms)])
        taken[kind] = fp.reconstruct(scan, center=15.5, log=False, steps=only, **CPU)[0]
    for kind, found in taken.items():
        theirs = GOLDEN[f"normalized {kind}"]
        assert off(found, theirs) < (8 / 32**2 if kind == "chebyshev" else 1e-6) < 0.2 < off(lines, theirs), kind


def test_rings():
    """Its double flat-field is our mean where it smooths: of logarithms. Ends go on as the last value there, mirrored here."""
    lines = cases.striped()
    ours = lambda method, **how: fp.remove_stripes(lines, method, **how, **CPU)
    assert off(ours("all", size=11, small=7), GOLDEN["vo"]) < 1e-6 < 0.05 < norm(lines, GOLDEN["vo"])
    # Of longer wavelets nabu's ends meet each other, so theirs are PyWavelets'.
    waved = np.load(FOLDER / "pywavelets.npz")
    for wavelet, want in {"haar": GOLDEN["munch"], "db5": waved["db5"], "sym8": waved["sym8"]}.items():
        assert off(ours("fw", wavelet=wavelet, level=3, sigma=1), want) < 1e-6 < 0.05 < norm(lines, want), wavelet
    assert (
        off(ours("mean", sigma=4), GOLDEN["double flat"])
        < 1e-6
        < 0.01
        < off(ours("double-flatfield", sigma=4), GOLDEN["double flat"])
    )
    found, theirs, inner = ours("mean", sigma=6), GOLDEN["mean subtract"], np.s_[:, 14:-14]
    assert off(found[inner], theirs[inner]) < 2e-4 and off(found, theirs) < 0.02 < 0.2 < off(lines, theirs)
    # What a Gaussian does not leave is about 0: nabu divides by it.
    assert np.abs(GOLDEN["mean divide"]).max() > 100 > 5 > ours("mean-division", sigma=6).max()


@pytest.fixture
def transmissions(tmp_path):
    def made(current, without=()):
        path, kept = tmp_path / "scan.nx", np.delete(np.arange(len(cases.KEYS)), without)
        with h5py.File(path, "w") as file:
            entry = file.create_group("entry")
            entry.attrs["NX_class"], entry["definition"], file.attrs["default"] = "NXentry", "NXtomo", "entry"
            detector = entry.create_group("instrument/detector")
            detector["data"], detector["image_key"] = cases.frames()[kept], cases.KEYS[kept]
            entry["sample/rotation_angle"] = np.linspace(0, 180, len(kept))
            entry["sample/rotation_angle"].attrs["units"] = "deg"
            if current:
                entry["control/data"] = cases.CURRENT[kept]
        only = lambda steps: [step for step in steps if isinstance(step, Flat | Sinograms)]
        with fp.open_scan(path, saturation="none") as scan:
            return fp.reconstruct(scan, center=2.5, steps=only, black_frames="keep", **CPU).swapaxes(0, 1)

    return made


def test_flats_in_time_and_the_machines_current(transmissions):
    """Of several groups of flats nabu mixes currents and flats each for itself; we put flats to one current first."""
    assert off(transmissions(False), GOLDEN["flats"]) < 1e-6
    one = GOLDEN["current of one flat"]
    assert off(transmissions(True, without=(5, 10)), one) < 1e-6 < 0.05 < off(transmissions(False, without=(5, 10)), one)
    apart = off(transmissions(True), GOLDEN["current"])
    assert 1e-4 < apart < 2e-3 < 0.01 < off(transmissions(False), GOLDEN["current"])


def test_vertical_shifts():
    stack = np.repeat(cases.image()[None], len(cases.SHIFTS), axis=0)
    assert off(fp.vertical_shift(stack, cases.SHIFTS, **CPU), GOLDEN["shifts"]) < 1e-6


def test_axes():
    """Beside the true axis, without noise: each of nabu's, and ours of the same name."""
    angles = np.linspace(0, 2 * np.pi, cases.AXIS_SHAPE[0], endpoint=False)
    scan = ArrayScan(cases.turned_scan(), angles)
    for theirs, ours in (("centered", "registration"), ("sliding-window",) * 2, ("growing-window",) * 2, ("vo",) * 2):
        with warnings.catch_warnings():
            # Four rows, the sample nearly as wide as they are.
            warnings.simplefilter("ignore", UserWarning)
            found = fp.rotation_axis(scan, method=ours, log=False).center
        assert abs(found - cases.AXIS) < min(0.12, abs(float(GOLDEN[f"axis {theirs}"]) - cases.AXIS)), (ours, found)
