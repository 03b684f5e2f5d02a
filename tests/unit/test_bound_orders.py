"""A bound plan takes arrays as its verb does: their axes in the caller's order, and the mask itself, or it says why not."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, ShapeError

# Of equal lengths no shape tells one axis from another.
CUBE, LONG = (6, 6, 6), (200, 5)
SUMS = [((6, 6), (3,), {"axes": 0}), (CUBE, (3,), {"axes": 1}), (CUBE, (3, 2), {"axes": (1, 0)}), (CUBE, (3, 2), {"axes": (2, 0)})]
FILTERS = [
    ("median_filter", (3,), {}),
    ("rank_filter", (2, 3), {}),
    ("percentile_filter", (20.0, 3), {}),
    ("gaussian_filter", (1,), {}),
    ("uniform_filter", (3,), {}),
    ("laplace", (), {}),
    ("gaussian_laplace", (1,), {}),
    ("unsharp_mask", (1,), {}),
]


def bound(plan, *inputs, out=None):
    """The result of a bound plan, from arrays that are its own."""
    made = np.full(plan.outputs[0].spec.shape, 7, plan.outputs[0].spec.dtype) if out is None else out
    with plan.bind("cpu") as run:
        run(*inputs, out=[made])
    return made


@pytest.mark.parametrize(("shape", "taps", "how"), SUMS, ids=str)
def test_sums_along_some_axes(shape, taps, how, rng):
    """Sums along 0 were sums along 1."""
    image, mask = rng.random(shape, "f4"), rng.random(taps, "f4")
    for border in ("constant", "wrap"):
        given = {"boundary": border, "cval": 2.5, **how}
        plan = fp.plan_correlate(shape, taps, device="cpu", **given)
        np.testing.assert_array_equal(bound(plan, image, mask), fp.correlate(image, mask, device="cpu", **given))
        plan = fp.plan_convolve(shape, taps, device="cpu", **given)
        np.testing.assert_array_equal(bound(plan, image, np.flip(mask)), fp.convolve(image, mask, device="cpu", **given))
    full = fp.plan_correlate(shape, taps, "full", device="cpu", **how)
    np.testing.assert_array_equal(bound(full, image, mask), fp.correlate(image, mask, "full", device="cpu", **how))


def test_what_lies_beside_the_image_and_several_masks(rng):
    image, masks = rng.random(CUBE, "f4"), rng.random((4, 3, 2), "f4")
    masked, weight, how = rng.random(CUBE) < 0.2, rng.random(CUBE, "f4"), {"axes": (1, 0), "device": "cpu"}
    plan = fp.plan_correlate(CUBE, (3, 2), masked=bool, weight="f4", **how)
    want = fp.correlate(image, masks[0], masked=masked, weight=weight, **how)
    np.testing.assert_array_equal(bound(plan, image, masks[0], masked, weight), want)
    plan = fp.plan_correlate(CUBE, masks.shape, masks="all", **how)
    assert plan.outputs[0].spec.shape == (4, *CUBE)
    np.testing.assert_array_equal(bound(plan, image, masks), fp.correlate(image, masks, masks="all", **how))


@pytest.mark.parametrize(("verb", "args", "how"), FILTERS, ids=[one[0] for one in FILTERS])
@pytest.mark.parametrize(("shape", "axes"), [(CUBE, (0, 1)), (CUBE, (1, 0)), (CUBE, (1, 2)), ((6, 7, 8), (0, 1)), (LONG, (0, 1))])
def test_filters_along_some_axes(verb, args, how, shape, axes, rng):
    """Medians of (0, 1) of a cube were those of (1, 2), and what was longer than wide was refused."""
    image = rng.random(shape, "f4")
    plan, want = getattr(fp, f"plan_{verb}"), getattr(fp, verb)(image, *args, axes=axes, device="cpu", **how)
    made = plan(shape, *args, axes=axes, device="cpu", **how)
    assert [made.inputs[0].spec.shape, made.outputs[0].spec.shape] == [shape, shape]
    assert f"input: float32 {shape}" in str(made) or f"input image: float32 {shape}" in str(made)
    for one in image, np.asfortranarray(image):
        if one is image or not made.slots[0].given.direct:
            np.testing.assert_array_equal(bound(made, one), want)
    into = np.full(shape, 7, "f4", order="F")
    if not made.slots[0].given.direct:
        np.testing.assert_array_equal(bound(made, image, out=into), want)


def test_sobel_and_parts_of_what_is_long(rng):
    image = rng.random((20_000, 3), "f4")
    plan = fp.plan_sobel(image.shape, 0, memory="200kB", device="cpu")
    assert plan.n_parts > 1
    np.testing.assert_array_equal(bound(plan, image), fp.sobel(image, 0, device="cpu"))
    # Sent to another process it is the same.
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and again.inputs[0].spec.shape == image.shape
    np.testing.assert_array_equal(bound(again, image), fp.sobel(image, 0, device="cpu"))


def test_plans_that_see_other_axes_are_others():
    plans = [fp.plan_median_filter(CUBE, 3, axes=axes, device="cpu") for axes in ((0, 1), (1, 2), (0, 2))]
    assert len({plan.key for plan in plans}) == 3
    # Which a call knows, too: the plan it shows has the caller's axes.
    seen, image = [], np.zeros((6, 7, 8), "f4")
    from footprint.api import _call

    bind = _call.bind
    try:
        _call.bind = lambda plan, backend: seen.append(plan) or bind(plan, backend)
        fp.clear_cache()
        fp.median_filter(image, 3, axes=(0, 1), device="cpu")
        # The same bytes, seen the same way, by another caller's axes.
        fp.median_filter(image.transpose(2, 0, 1), 3, output=image.copy().transpose(2, 0, 1), axes=(1, 2), device="cpu")
    finally:
        _call.bind = bind
    assert [plan.inputs[0].spec.shape for plan in seen] == [(6, 7, 8), (8, 6, 7)]


def test_what_is_not_of_the_plans_shape_and_dtype_is_refused(rng):
    """What is copied was cast without a word, on a device by way of the plan's dtype."""
    image = rng.random((6, 7, 8), "f4")
    plan = fp.plan_median_filter(image.shape, 3, axes=(0, 1), device="cpu")
    out = np.empty(image.shape, "f4")
    with plan.bind("cpu") as run:
        for given, into, words in (
            (image.transpose(2, 0, 1), out, r"input: got shape \(8, 6, 7\), wanted \(6, 7, 8\)"),
            (image, out.transpose(2, 0, 1), r"output: got shape \(8, 6, 7\), wanted \(6, 7, 8\)"),
            (image.astype("f8"), out, "input: got dtype float64, wanted float32, as the plan was made for"),
            (image, np.zeros(image.shape, "u1"), "output: got dtype uint8, wanted float32, as the plan was made for"),
        ):
            with pytest.raises(ShapeError, match=words):
                run(given, out=[into])


@pytest.mark.parametrize("kind", ["c8", "c16", "f4"])
def test_a_complex_mask_is_that_of_the_verb(kind, rng):
    """Its conjugate was to be given, which no page said."""
    image, mask = (rng.random((20, 17)) + 1j * rng.random((20, 17))).astype("c8"), rng.random((4, 3)) + 1j * rng.random((4, 3))
    image = image.real.astype("f4") if kind == "f4" else image.astype(kind)
    mask = mask.astype("c16" if kind == "c16" else "c8")
    for given in mask, mask.shape:
        how = {"dtype": image.dtype, "mask_dtype": mask.dtype, "device": "cpu"}
        plan = fp.plan_correlate(image.shape, given, **how)
        np.testing.assert_array_equal(bound(plan, image, mask), fp.correlate(image, mask, device="cpu"))
        plan = fp.plan_convolve(image.shape, given, **how)
        np.testing.assert_array_equal(bound(plan, image, np.flip(mask)), fp.convolve(image, mask, device="cpu"))
    plan = fp.plan_correlate(image.shape, mask.shape, dtype=image.dtype, device="cpu")
    if kind == "f4":
        with pytest.raises(ShapeError, match="mask: got dtype complex64, wanted float32, as the plan was made for"):
            bound(plan, image, mask)


def test_an_origin_moves_the_mask_as_the_verb_does(rng):
    """It moved the other way."""
    image, mask = rng.random((20, 17), "f4"), rng.random((5, 4), "f4")
    how = {"origin": (2, -1), "device": "cpu"}
    np.testing.assert_array_equal(bound(fp.plan_correlate(image.shape, mask, **how), image, mask), fp.correlate(image, mask, **how))
    convolved = bound(fp.plan_convolve(image.shape, mask, **how), image, np.flip(mask))
    np.testing.assert_array_equal(convolved, fp.convolve(image, mask, **how))


IMAGE, EQUAL = (300, 310), np.full((21, 25), 0.5, "f4")


def test_a_plan_of_equal_weights_takes_no_others(rng):
    """All weights but one were ignored."""
    image, out = rng.random(IMAGE, "f4"), np.empty(IMAGE, "f4")
    plan = fp.plan_correlate(IMAGE, EQUAL, device="cpu")
    assert "separable" in plan.notes[0] and [slot.name for slot in plan.inputs] == ["image", "mask"]
    assert "input mask: float32 (21, 25)" in str(plan)
    with plan.bind("cpu") as run:
        for mask in EQUAL, 3 * EQUAL, EQUAL.astype("f8"):
            run(image, mask, out=[out])
            np.testing.assert_array_equal(out, fp.correlate(image, mask, device="cpu"))
        product = np.outer(np.arange(1, 22), np.arange(1, 26)).astype("f4")
        for mask in product, np.outer(np.ones(21), np.arange(1, 26)).astype("f4"):
            with pytest.raises(ArgumentError, match="mask: got weights that differ, wanted equal ones, as the plan was"):
                run(image, mask, out=[out])
        with pytest.raises(ArgumentError, match="mask: got other weights, wanted the product of a column and a row"):
            run(image, rng.random(EQUAL.shape, "f4"), out=[out])
        for wrong, words in ((EQUAL[:20], "mask: got shape"), (EQUAL.astype("c8"), "mask: got dtype complex64, wanted float32")):
            with pytest.raises(ShapeError, match=words):
                run(image, wrong, out=[out])
        with pytest.raises(ShapeError, match=r"inputs: got 3 arrays, wanted 2 \(image, mask\)"):
            run(image, EQUAL[:1], EQUAL[:, :1].T, out=[out])
        # The same array with other weights is looked at anew.
        mask = EQUAL.copy()
        run(image, mask, out=[out])
        mask *= 2
        run(image, mask, out=[out])
        np.testing.assert_array_equal(out, fp.correlate(image, mask, device="cpu"))


def test_a_plan_of_a_product_takes_any(rng):
    image, masks = rng.random(IMAGE, "f4"), [np.outer(rng.random(11), rng.random(11)).astype("f4") for _ in range(2)]
    for boundary in ("reflect", "constant"):
        plan = fp.plan_convolve(IMAGE, masks[0], boundary=boundary, device="cpu")
        assert "separable" in plan.notes[0] and len(plan.inputs) == 2
        for mask in masks:
            got = bound(plan, image, np.flip(mask))
            np.testing.assert_array_equal(got, fp.convolve(image, mask, boundary=boundary, device="cpu"))
    # What lies beyond the sums down is the constant times the column's sum.
    plan = fp.plan_convolve(IMAGE, masks[0], cval=3.0, device="cpu")
    np.testing.assert_array_equal(bound(plan, image, np.flip(masks[0])), fp.convolve(image, masks[0], cval=3.0, device="cpu"))
    with pytest.raises(ArgumentError, match="mask: got other weights, wanted those that the plan was made with"):
        bound(plan, image, np.flip(masks[1]))


def test_a_large_mask_is_not_kept_and_its_products_are_found_anew(rng):
    """A copy to know it again would be memory that is in no plan; a small one is kept, and is no other mask either."""
    image = rng.random((330, 310), "f4")
    for n, kept in ((9, True), (300, False)):
        some, other = (np.outer(rng.random(n), rng.random(n)) for _ in range(2))
        how = {"method": "separable", "device": "cpu"}
        out = np.empty_like(image)
        with fp.plan_correlate(image.shape, some, **how).bind("cpu") as run:
            for mask in (some, other, some):
                run(image, mask, out=[out])
                np.testing.assert_array_equal(out, fp.correlate(image, mask, **how))
            assert (run._handed._last is not None) == kept


def test_a_plan_of_several_products_takes_a_sum_of_as_many(rng):
    image = rng.random((60, 50), "f4")
    pairs = [[np.outer(rng.standard_normal(9), rng.standard_normal(11)) for _ in range(2)] for _ in range(2)]
    how = {"method": "separable", "device": "cpu"}
    plan = fp.plan_correlate(image.shape, sum(pairs[0]), **how)
    for mask in sum(pairs[0]), sum(pairs[1]):
        np.testing.assert_array_equal(bound(plan, image, mask), fp.correlate(image, mask, **how))
    np.testing.assert_allclose(bound(plan, image, pairs[0][0]), fp.correlate(image, pairs[0][0], **how), atol=1e-4)
    one = fp.plan_correlate(image.shape, (9, 11), **how)
    np.testing.assert_array_equal(bound(one, image, pairs[0][0]), fp.correlate(image, pairs[0][0], **how))
    with pytest.raises(ArgumentError, match="mask: got a sum of 2 products, wanted one of 1, as the plan was made for"):
        bound(one, image, sum(pairs[0]))


def test_digits_of_a_mask_are_not_dropped(rng):
    image, mask = rng.random((20, 17)), rng.random((4, 3))
    plan = fp.plan_correlate(image.shape, mask.astype("f4"), dtype="f8", device="cpu")
    with pytest.raises(ShapeError, match="mask: got dtype float64, wanted float32, as the plan was made for"):
        bound(plan, image, mask)
    # Sums in float32 take a mask in any dtype, as the verb does.
    image = image.astype("f4")
    for given in mask.shape, mask.astype("f4"):
        plan = fp.plan_correlate(image.shape, given, device="cpu")
        for one in mask, mask.astype("f4"), np.asfortranarray(mask), (mask * 9).astype("u1"):
            np.testing.assert_array_equal(bound(plan, image, one), fp.correlate(image, one, device="cpu"))


@pytest.mark.parametrize(
    ("verb", "args"),
    [(verb, args) for verb, args, _ in FILTERS] + [("sobel", (0,)), ("minimum_filter", (3,)), ("maximum_filter", (3,))],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_constant_outside_is_the_plans(verb, args, rng):
    """It was 0 whatever the caller had."""
    image, how = rng.random((19, 23), "f4"), {"mode": "constant", "cval": 7.5, "device": "cpu"}
    plan = getattr(fp, f"plan_{verb}")(image.shape, *args, **how)
    np.testing.assert_array_equal(bound(plan, image), getattr(fp, verb)(image, *args, **how))
    assert plan != getattr(fp, f"plan_{verb}")(image.shape, *args, mode="constant", device="cpu")
    assert fp.estimate_required_memory(verb, image.shape, *args, **how) == plan.footprint.total
    with pytest.raises(ArgumentError, match="cval: got"):
        getattr(fp, f"plan_{verb}")(image.shape, *args, mode="constant", cval="dark", device="cpu")


def test_what_a_verb_is_told_its_plan_is_told():
    """But for what goes by the data alone."""
    told = lambda name: set(inspect.signature(getattr(fp, name)).parameters)
    data = {"input", "image", "output", "out", "array"}
    for name in [name for name in fp.__all__ if f"plan_{name}" in fp.__all__ and name.endswith("_filter")] + ["sobel", "laplace"]:
        if name != "ramp_filter":
            assert told(name) - data <= told(f"plan_{name}"), name
