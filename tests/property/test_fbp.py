"""Laws of filtered backprojection that hold for any sinogram, any angles and any axis."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import footprint as fp

LAWS = settings(max_examples=40)
METHOD = {"method": "direct", "device": "cpu"}


@st.composite
def scans(draw, least: int = 1):
    """A sinogram, its angles over any span and in any order, and an axis on the detector."""
    n_a, n_x = draw(st.integers(least, 40)), draw(st.integers(least, 90))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    center = draw(st.floats(0, n_x - 1))
    return rng.standard_normal((n_a, n_x)).astype("f4"), rng.uniform(-7, 7, n_a), center, rng


def same(got, want, scale=None, tolerance=4e-5):
    scale = np.abs(want).max() if scale is None else scale
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(scale, 1e-6))


@LAWS
@given(scans(), st.floats(-3, 3))
def test_linear(scan, factor):
    x, angles, center, rng = scan
    y = rng.standard_normal(x.shape).astype("f4")
    a, b = (fp.fbp(part, angles, center=center, **METHOD) for part in (x, y))
    both = fp.fbp(x + np.float32(factor) * y, angles, center=center, **METHOD)
    same(both, a + factor * b, np.abs(a).max() + abs(factor) * np.abs(b).max())


@LAWS
@given(scans())
def test_the_order_of_angles_does_not_matter(scan):
    x, angles, center, rng = scan
    order = rng.permutation(len(angles))
    want = fp.fbp(x, angles, center=center, **METHOD)
    # What angles leave of each other in a slice of a pixel has the rounding of what they are.
    same(fp.fbp(x[order], angles[order], center=center, **METHOD), want, max(np.abs(want).max(), 0.01 * np.abs(x).max()))


@LAWS
@given(scans())
def test_half_a_turn_mirrors_the_detector(scan):
    x, angles, _, _ = scan
    mirrored = fp.fbp(np.ascontiguousarray(x[:, ::-1]), angles + np.pi, **METHOD)
    same(mirrored, fp.fbp(x, angles, **METHOD))


@LAWS
@given(scans())
def test_a_quarter_turn_turns_the_slice(scan):
    x, angles, _, _ = scan
    # h = c + cos t X - sin t Y: a quarter more puts (X, Y) where (-Y, X) was.
    turned = fp.fbp(x, angles + np.pi / 2, **METHOD)
    same(turned, np.rot90(fp.fbp(x, angles, **METHOD)))


@LAWS
@given(scans(2), st.data())
def test_a_region_is_a_part_of_the_whole(scan, data):
    x, angles, center, _ = scan
    n = x.shape[1]
    whole = fp.fbp(x, angles, center=center, **METHOD)
    x0, y0 = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    x1, y1 = data.draw(st.integers(x0 + 1, n)), data.draw(st.integers(y0 + 1, n))
    part = fp.fbp(x, angles, center=center, roi=(x0, x1, y0, y1), **METHOD)
    same(part, whole[y0:y1, x0:x1], np.abs(whole).max())


@LAWS
@given(scans())
def test_filter_then_sum_is_all_there_is(scan):
    x, angles, center, _ = scan
    filtered = fp.ramp_filter(x, filter="hann", padding="edge", device="cpu")
    steps = fp.backproject(filtered, angles, center=center, device="cpu")
    same(steps, fp.fbp(x, angles, center=center, filter="hann", padding="edge", **METHOD))
    assert fp.ramp_filter(x, filter="hann", padding="edge", out=x, device="cpu") is x
    np.testing.assert_array_equal(x, filtered)


@LAWS
@given(scans(), st.integers(1, 6), st.floats(0, 1))
def test_any_budget_gives_the_same_slices(scan, n_z, share):
    x, angles, center, rng = scan
    stack = rng.standard_normal((n_z, *x.shape)).astype(">f4")
    whole = fp.fbp(stack, angles, center=center, **METHOD)
    largest = fp.plan_fbp(stack.shape, angles, dtype=">f4", center=center, **METHOD).footprint.total
    budget = max(1, int(share * largest))
    try:
        cut = fp.fbp(stack, angles, center=center, memory=budget, **METHOD)
    except fp.BudgetError as error:
        assert error.smallest > budget
        cut = fp.fbp(stack, angles, center=center, memory=error.smallest, **METHOD)
    same(cut, whole, tolerance=1e-5)


@LAWS
@given(scans())
def test_an_axis_shift_common_to_all_is_a_longer_detector(scan):
    """Shifting every projection by a whole pixel equals cutting a pixel off the detector's end, but for where it was cut."""
    x, angles, _, _ = scan
    n = x.shape[1]
    moved = fp.backproject(x, angles, axis_shifts=np.ones(len(angles)), device="cpu")
    wide = np.concatenate([x[:, 1:], np.zeros((len(x), 1), "f4")], axis=1)
    plain = fp.backproject(wide, angles, device="cpu")
    # Sample 0 is gone from the shifted rows; only pixels that fall within a pixel of it can tell.
    c = (n - 1) / 2
    y, p = np.mgrid[:n, :n] - c
    h = np.min([c + np.cos(t) * p - np.sin(t) * y for t in angles], axis=0)
    np.testing.assert_allclose(np.where(h > 0, moved - plain, 0), 0, atol=4e-5 * max(np.abs(moved).max(), 1e-6))
