"""The phase filter against a two-dimensional transform, whole, in parts and in a reconstruction, on every device found."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import footprint as fp
from footprint.api._optics import delta_beta_of
from footprint.ops.paganin import PADDINGS, Paganin, blur_length
from footprint.reference import paganin as reference

from .kernels import in_turn

BEAM = {"delta_beta": 100.0, "energy": 20.0, "distance": 0.1, "pixel_size": 5e-6}


def beam(length):
    """Settings that blur over so many pixels."""
    return BEAM | {"delta_beta": 100.0 * (length / blur_length(**BEAM)) ** 2}


def test_the_blur_is_the_formulas():
    for delta_beta, energy, distance, pixel in ((100, 20, 0.1, 5e-6), (2000, 12.4, 1.5, 6.5e-7), (1, 100, 0.01, 1e-4)):
        want = reference.blur_length(delta_beta, energy, distance, pixel)
        assert blur_length(delta_beta, energy, distance, pixel) == pytest.approx(want, rel=1e-9)


LENGTHS = [0.1, 1.0, 2.5, 7.3]
SHAPES = [(3, 40, 50), (2, 1, 1), (1, 7, 3), (1, 133, 20), (2, 1, 60), (1, 60, 1)]


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_filter_to_what_is_said_to_be_missed(device, rng, shape, length, padding):
    # Every two of the three still meet.
    in_turn(device, SHAPES.index(shape) + LENGTHS.index(length) + PADDINGS.index(padding), 3)
    stack = (1 + 0.3 * rng.standard_normal(shape)).astype("f4")
    got = fp.paganin(stack, **beam(length), padding=padding, device=device)
    want = np.stack([reference.paganin(p, length, padding) for p in stack])
    # What rows and columns out of reach could add at most.
    assert np.abs(got - want).max() <= 1e-6 + 2 * Paganin(length).missed * np.abs(stack).max()
    assert np.abs(got - stack).max() > 1e-3 or length == 0.1 or stack[0].size == 1


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0, 12.0])
def test_no_frequency_misses_more_than_the_plan_says(device, length):
    """Waves along z, the fastest and slow ones: a flat one passes whole."""
    op = Paganin(length)
    z = np.arange(4 * op.reach_z)
    for k in (0.0, 0.02, 0.3, 1.5, np.pi):
        wave = np.repeat(np.cos(k * z)[:, None], 3, axis=1).astype("f4")
        got = fp.paganin(wave, **beam(length), device=device)[op.reach_z : -op.reach_z]
        want = wave[op.reach_z : -op.reach_z] / (1 + (length * k) ** 2)
        assert np.abs(got - want).max() <= op.missed + 2e-6, k
        if k == 0:
            np.testing.assert_allclose(got, 1, rtol=0, atol=2e-6)


def test_what_is_missed_is_as_documented():
    lengths = np.geomspace(0.01, 500, 40)
    assert max(Paganin(length).missed for length in lengths) < 1.6e-3
    assert max(Paganin(length).missed for length in lengths if length >= 3) <= 1e-4
    assert all(Paganin(length).reach_z <= max(64, np.ceil(10.3 * length)) for length in lengths)


@pytest.mark.parametrize("dtype", ["f8", ">f4", "u2", "f2"])
def test_dtypes_one_projection_and_out(device, rng, dtype):
    stack = (1 + 9 * rng.random((3, 20, 31))).astype(dtype)
    want = fp.paganin(stack.astype("f4"), **BEAM, device=device)
    np.testing.assert_array_equal(fp.paganin(stack, **BEAM, device=device), want)
    np.testing.assert_array_equal(fp.paganin(stack[1], **BEAM, device=device), want[1])
    out = np.empty(stack.shape)
    assert fp.paganin(stack, **BEAM, out=out, device=device) is out
    np.testing.assert_array_equal(out, want)
    one = np.empty(stack.shape[1:], "f4")
    assert fp.paganin(np.asfortranarray(stack[1]), **BEAM, out=one, device=device) is one
    np.testing.assert_array_equal(one, want[1])


@pytest.mark.parametrize("padding", ["edge", "reflect", "air"])
def test_the_same_bits_at_any_budget(device, rng, padding):
    stack = (1 + rng.random((2, 110, 13))).astype(">f4")
    options = beam(3.1) | {"padding": padding, "device": device}
    want = fp.paganin(stack, **options)
    with pytest.raises(fp.BudgetError) as caught:
        fp.paganin(stack, memory=1, **options)
    least, parts = caught.value.smallest, set()
    for memory in (least, 100_000_000):
        parts.add(fp.plan_paganin(stack.shape, dtype=">f4", memory=memory, **options).n_parts)
        np.testing.assert_array_equal(fp.paganin(stack, memory=memory, **options), want)
    assert len(parts) > 1 and max(parts) >= 110


SETTINGS = {"center": 20.3, "method": "direct"}


def test_in_a_reconstruction(device, rng):
    """Transmission, the verb, and minus its logarithm; whole, in blocks of rows, and of some rows only."""
    from tests.backend.test_reconstruct import phantom

    scan = phantom(rng, n_angles=24, n_z=30)
    options = SETTINGS | {"device": device, "steps": fp.steps(phase=beam(1.2), rings="mean")}
    plans = []
    whole = fp.reconstruct(scan, **options, on_plan=plans.append)
    part = fp.reconstruct(scan, **options, memory=plans[0].choices[-1].nbytes, on_plan=plans.append)
    assert plans[0].n_parts == 1 and plans[1].n_parts > 5
    np.testing.assert_array_equal(part, whole)
    np.testing.assert_array_equal(fp.reconstruct(scan, **options, rows=(11, 14)), whole[11:14])
    # The same by hand.
    lines = fp.reconstruct(scan, **SETTINGS, device=device, steps=lambda steps: steps[:-1])
    dead = np.exp(-lines.astype(float)).transpose(1, 0, 2)
    good = ~np.isnan(dead).any(axis=(0, 1))
    assert good.all()
    filtered = -np.log(fp.paganin(dead, **beam(1.2), device=device)).transpose(1, 0, 2)
    got = fp.reconstruct(scan, **SETTINGS, device=device, steps=lambda steps: fp.steps(phase=beam(1.2))(steps)[:-1])
    # Dead pixels are mended in the transmission, by hand in the line integrals.
    away = np.abs(np.arange(41) - 41 // 5) > 8
    np.testing.assert_allclose(got[:, :, away], filtered[:, :, away], rtol=0, atol=1e-3)
    assert np.abs(got - lines).max() > 0.01


def test_a_row_that_is_dead_all_along_is_air(device, rng):
    from tests.backend.test_reconstruct import phantom

    scan = phantom(rng, n_angles=6, n_z=5)
    scan.flats[:, 2] = scan.dark[2]
    got = fp.reconstruct(scan, **SETTINGS, device=device, steps=lambda steps: fp.steps(phase=beam(0.1))(steps)[:-1])
    assert np.isfinite(got).all() and np.abs(got[2]).max() < 0.2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delta_beta": 0}, "delta_beta 0 above"),
        ({"energy": np.nan}, "energy nan keV"),
        ({"distance": "far"}, "distance 'far' metres"),
        ({"pixel_size": -1}, "pixel_size -1 metres"),
        ({"pixel_size": 1e-9}, "phase pixels keV metres"),
        ({"padding": "wrap"}, "padding 'wrap' edge"),
        ({"projections": np.zeros(4)}, "projections (4,) n_angles"),
        ({"out": np.zeros((4, 5))}, "out (1, 4, 5) (1, 4, 6)"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, words):
    with pytest.raises(fp.FootprintError) as caught:
        fp.paganin(**{"projections": np.zeros((4, 6)), "device": "cpu"} | BEAM | change)
    missing = [word for word in words.split() if word not in str(caught.value)]
    assert not missing, f"no {missing} in: {caught.value}"


def test_out_may_not_be_the_projections():
    stack = np.ones((2, 3, 4), "f4")
    with pytest.raises(fp.ArgumentError, match="memory shared with projections"):
        fp.paganin(stack, **BEAM, out=stack, device="cpu")


def test_phase_needs_transmissions():
    only = lambda steps: fp.steps(phase=BEAM)([step for step in steps if type(step).__name__ != "MinusLog"])
    with pytest.raises(fp.ArgumentError, match="phase: got steps without MinusLog"):
        fp.plan_reconstruct((6, 4, 8), steps=only, device="cpu")


def test_a_material_needs_its_density_and_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xraydb", None)
    how = {**BEAM, "delta_beta": "H2O", "device": "cpu"}
    with pytest.raises(ImportError, match=r"delta/beta of H2O needs the package xraydb.*footprint\[optics\]"):
        fp.paganin(np.ones((4, 6)), **how, density=1.0)
    for wrong, words in (
        ({}, "delta_beta: got 'H2O', wanted a number above 0, or a chem"),
        ({"density": 1, "energy": 900}, "energy: got 900"),
    ):
        with pytest.raises(fp.ArgumentError, match=words):
            fp.paganin(np.ones((4, 6)), **how | wrong)
    with pytest.raises(fp.ArgumentError, match="density: got 1, wanted it together with a material, whose formula"):
        fp.paganin(np.ones((4, 6)), **BEAM, density=1, device="cpu")


def test_materials_against_published_numbers():
    """NIST's attenuation of water and quartz, and the decrement of free electrons, which is near that of light elements."""
    pytest.importorskip("xraydb")
    electrons = {"H2O": 10 / 18.015, "SiO2": 30 / 60.084}
    for formula, density, energy, attenuation in (
        ("H2O", 1.0, 10.0, 5.329),
        ("H2O", 1.0, 20.0, 0.8096),
        ("SiO2", 2.65, 20.0, 6.75),
    ):
        wavelength = 12.39842e-8 / energy
        delta = 2.8179403e-13 * wavelength**2 * density * electrons[formula] * 6.02214e23 / (2 * np.pi)
        want = delta / (wavelength * attenuation / (4 * np.pi))
        assert delta_beta_of(formula, density, energy) == pytest.approx(want, rel=0.01)
    water = {**BEAM, "energy": 10, "device": "cpu"}
    drop = 1 + np.arange(24.0).reshape(4, 6)
    ratio = delta_beta_of("H2O", 1.0, 10.0)
    named = fp.paganin(drop, **water | {"delta_beta": "H2O", "density": 1.0})
    np.testing.assert_array_equal(named, fp.paganin(drop, **water | {"delta_beta": ratio}))
    with pytest.raises(fp.ArgumentError, match="delta_beta: got 'Xx'"):
        delta_beta_of("Xx", 1.0, 10.0)
