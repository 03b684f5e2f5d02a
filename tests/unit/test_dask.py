"""Dask arrays in, Dask arrays out: the same as the whole, whatever the chunks."""

import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, ShapeError

da = pytest.importorskip("dask.array", reason="dask is not installed")


@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "mirror", "wrap"])
@pytest.mark.parametrize("mask_shape", [(3, 5), (4, 2), (1, 1)])
def test_convolve_has_no_seams(boundary, mask_shape, rng):
    from footprint.dist.dask import convolve

    image, mask = rng.standard_normal((61, 47), np.float32), rng.standard_normal(mask_shape).astype("f4")
    lazy = convolve(da.from_array(image, chunks=(20, 16)), mask, boundary=boundary, cval=1.5)
    whole = fp.convolve(image, mask, boundary=boundary, cval=1.5)
    assert lazy.dtype == whole.dtype
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), whole)


FILTERED = {
    "gaussian_filter": ((2,), {"mode": "wrap"}),
    "uniform_filter": ((4,), {"origin": 1, "mode": "mirror"}),
    "sobel": ((0,), {}),
    "gaussian_laplace": ((1.2,), {"mode": ["nearest", "reflect"]}),
    "unsharp_mask": ((1.5,), {"mode": "constant", "cval": 2.0}),
    "median_filter": ((5,), {"mode": ["wrap", "reflect"]}),
    "maximum_filter": (((1, 4),), {"origin": (0, -1)}),
}


@pytest.mark.parametrize("verb", FILTERED)
@pytest.mark.parametrize("chunks", [(20, 16), (7, 47), (2, 3)])
def test_filters_have_no_seams(verb, chunks, rng):
    import footprint.dist.dask as lazily

    image, (args, options) = rng.standard_normal((31, 47), np.float32), FILTERED[verb]
    given, whole = da.from_array(image, chunks=chunks), getattr(fp, verb)(image, *args, **options)
    lazy = getattr(lazily, verb)(given, *args, memory="1MB", **options)
    assert (lazy.shape, lazy.dtype) == (whole.shape, whole.dtype)
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), whole)
    plan = lazily.task_plan(verb, given, *args, memory="1MB", device="cpu", **options)
    assert 0 < plan.footprint.total <= 10**6


def test_a_task_is_planned_with_its_halo():
    from footprint.dist.dask import task_plan

    image = da.zeros((300, 200), chunks=(100, 50))
    for mode, shape in {"reflect": (106, 56), "nearest": (104, 54), "wrap": (104, 54)}.items():
        assert task_plan("median_filter", image, 5, mode=mode, device="cpu").inputs[0].spec.shape == shape
    assert task_plan("paganin", da.zeros((9, 8, 7), chunks=(4, 8, 3)), **STACKED["paganin"][1]).inputs[0].spec.shape == (4, 8, 7)


def test_colours_of_a_picture(rng):
    from footprint.dist.dask import median_filter

    photo = rng.integers(0, 256, (31, 20, 3), dtype=np.uint8)
    lazy = median_filter(da.from_array(photo, chunks=(9, 11, 2)), 3, axes=(0, 1))
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), fp.median_filter(photo, 3, axes=(0, 1)))


def test_a_mask_of_even_size_wraps(rng):
    from footprint.dist.dask import minimum_filter

    image = rng.random((12, 10), np.float32)
    lazy = minimum_filter(da.from_array(image, chunks=4), 4, mode="wrap", origin=1)
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), fp.minimum_filter(image, 4, mode="wrap", origin=1))


STACKED = {
    "ramp_filter": ((), {}),
    "backproject": ((), {}),
    "remove_stripes": (("mean",), {}),
    "paganin": ((), {"delta_beta": 100, "energy": 20, "distance": 0.1, "pixel_size": 1e-6}),
}


@pytest.mark.parametrize("verb", STACKED)
def test_slices_and_projections_are_independent(verb, rng):
    import footprint.dist.dask as lazily

    stack, (args, options) = rng.random((5, 20, 32), np.float32) + 0.5, STACKED[verb]
    lazy, whole = (
        call(given, *args, **options)
        for call, given in ((getattr(lazily, verb), da.from_array(stack, chunks=(2, 7, 9))), (getattr(fp, verb), stack))
    )
    assert (lazy.shape, lazy.dtype) == (whole.shape, whole.dtype)
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), whole)


def test_fbp_slices_are_independent(rng):
    from footprint.dist.dask import fbp

    sinograms, angles = rng.random((5, 20, 32), np.float32), np.linspace(0, np.pi, 20, endpoint=False)
    lazy = fbp(da.from_array(sinograms, chunks=(2, 7, 9)), angles, method="direct", roi=(3, 20, 0, 32))
    whole = fp.fbp(sinograms, angles, method="direct", roi=(3, 20, 0, 32))
    assert lazy.shape == whole.shape
    np.testing.assert_allclose(lazy.compute(), whole, atol=1e-5)


@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "mirror", "wrap"])
@pytest.mark.parametrize("given", ["masked", "weight", "both", "ma"])
def test_what_is_masked_and_weighed_comes_with_the_blocks(boundary, given, rng):
    """In chunks of its own, of any dtype, in memory too, and as masked chunks, of which some have nothing masked."""
    from footprint.dist.dask import convolve

    image, mask = rng.standard_normal((31, 27), np.float32), rng.random((3, 4))
    masked, weight = np.zeros(image.shape, bool), rng.random(image.shape)
    masked[3:9, 17:22], weight[20, :9] = True, 0
    image[4, 18], how = np.nan, {"boundary": boundary, "cval": 1.5, "nan": "ignore" if given == "both" else "propagate"}
    lazily = {"masked": {"masked": da.from_array(masked.astype("u1"), chunks=(31, 5))}, "weight": {"weight": weight}}
    lazily |= {"both": {"masked": masked, "weight": da.from_array(weight, chunks=8)}, "ma": {}}
    whole = {"masked": masked if given != "weight" else None, "weight": weight if given in ("weight", "both") else None}
    lazy = da.from_array(image, chunks=(12, 9))
    if given == "ma":
        lazy = da.ma.masked_array(lazy, da.from_array(masked, chunks=(12, 9)))
    made = convolve(lazy, mask, **lazily[given], **how)
    expected = fp.convolve(image, mask, **whole, **how)
    assert (made.dtype, made.chunks) == (expected.dtype, lazy.chunks)
    np.testing.assert_array_equal(made.compute(scheduler="threads"), expected)


@pytest.mark.parametrize("dtype", ["bool", "i2", "f2", "i8", ">f8"])
def test_every_dtype_is_masked_lazily(dtype, rng):
    from footprint.dist.dask import convolve

    image, masked = (9 * rng.random((16, 13))).astype(dtype), rng.random((16, 13)) < 0.2
    made = convolve(da.from_array(image, chunks=7), np.ones((3, 3)), masked=masked, dtype="f4" if dtype == "i2" else None)
    expected = fp.convolve(image, np.ones((3, 3)), masked=masked, dtype="f4" if dtype == "i2" else None)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made.compute(scheduler="threads"), expected)


def test_nothing_runs_before_compute(monkeypatch):
    from footprint.dist import dask as module

    ran = []
    monkeypatch.setattr(module, "_convolve", lambda *given, **options: ran.append(given))
    monkeypatch.setattr(fp, "fbp", lambda sinogram, *given, **options: ran.append(given))
    module.convolve(da.zeros((8, 9), chunks=4), np.ones((3, 3)))
    module.fbp(da.zeros((4, 8, 9), chunks=4), np.linspace(0, 3, 8), roi=np.array([0, 5, 1, 3]))
    assert ran == []


def test_an_empty_image_stays_empty():
    from footprint.dist.dask import convolve

    image = np.zeros((0, 5), "u1")
    assert convolve(da.from_array(image), np.ones((3, 3))).compute().shape == fp.convolve(image, np.ones((3, 3))).shape == (0, 5)


@pytest.mark.parametrize(("dtype", "turn"), [("c8", 1), ("f8", 1 + 2j)])
def test_complex_arrays_and_masks(dtype, turn, rng):
    image, mask = (
        (rng.standard_normal((21, 27)) * (1 + 1j)).astype(dtype) if dtype == "c8" else rng.standard_normal((21, 27)),
        turn * np.ones((3, 4)),
    )
    for verb in (fp.convolve, fp.correlate):
        found, whole = verb(da.from_array(image, chunks=(9, 11)), mask, boundary="wrap"), verb(image, mask, boundary="wrap")
        assert found.dtype == whole.dtype
        np.testing.assert_array_equal(found.compute(scheduler="synchronous"), whole)


SMALL = {
    "convolve": (lambda x, k: fp.convolve(x[0], k, cval=1.0), np.arange(9.0).reshape(3, 3)),
    "correlate": (lambda x, k: fp.correlate(x[0], k, boundary="wrap"), np.arange(9.0).reshape(3, 3)),
    "gaussian_filter": (lambda x, s: fp.gaussian_filter(x, s, axes=(1, 2)), np.array([1.0, 2.0])),
    "median_filter": (lambda x, f: fp.median_filter(x[0], footprint=f), np.eye(3, dtype=bool)),
    "fbp, angles": (lambda x, a: fp.fbp(x, a), np.linspace(0, 3, 8)),
    "fbp, shifts": (lambda x, s: fp.fbp(x, None, axis_shifts=s), np.linspace(-1, 1, 8)),
    "sirt": (lambda x, a: fp.sirt(x, a, iterations=2), np.linspace(0, 3, 8)),
    "in a list": (lambda x, s: fp.gaussian_filter(x[0], [s[:1].reshape(()), 1.0]), np.array([2.0])),
}


@pytest.mark.parametrize("verb", SMALL)
def test_what_was_asked_stays_what_it_was(verb, rng):
    """Kernels and angles were those that the caller had in the same array when the result was computed."""
    call, table = SMALL[verb]
    image, given = rng.random((4, 8, 9), np.float32), table.copy()
    expected = call(image, table)
    lazy = call(da.from_array(image, chunks=4), given)
    given[...] = 0
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), expected)


@pytest.mark.parametrize("asked", ["float64", np.float64, np.dtype("f8")])
def test_a_filter_gives_the_dtype_that_is_asked_for(asked, rng):
    """A dtype was taken for a place for the result."""
    image = rng.random((20, 30), np.float32)
    lazy = da.from_array(image, chunks=8)
    for verb, args in (fp.gaussian_filter, (2,)), (fp.median_filter, (3,)), (fp.sobel, ()):
        found = verb(lazy, *args, output=asked)
        expected = verb(image, *args, output=asked)
        assert found.dtype == expected.dtype == np.float64
        np.testing.assert_array_equal(found.compute(scheduler="synchronous"), expected)
    with pytest.raises(ShapeError, match="output: got dtype int32, wanted one that holds float32"):
        fp.gaussian_filter(lazy, 1, output="int32")


@pytest.mark.parametrize(("dtype", "size"), [("f4", 20), ("f8", 33), ("i4", 65), ("f8", (1, 40))])
def test_shared_sums_of_blocks_differ_by_rounding_and_those_of_budgets_by_nothing(dtype, size, rng):
    """As the page on Dask says: sums that neighbours share are counted from a block's first row, in memory from the image's."""
    image = (1000 * rng.random((150, 200))).astype(dtype)
    whole = fp.uniform_filter(image, size, device="cpu")
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_uniform_filter(image.shape, size, dtype=dtype, memory=1, device="cpu")
    few = {"memory": int(1.2 * caught.value.smallest), "device": "cpu"}
    assert fp.plan_uniform_filter(image.shape, size, dtype=dtype, **few).n_parts > 1
    np.testing.assert_array_equal(fp.uniform_filter(image, size, **few), whole)
    lazy = fp.uniform_filter(da.from_array(image, chunks=(70, 80)), size, device="cpu").compute(scheduler="synchronous")
    np.testing.assert_allclose(lazy, whole, rtol=8 * np.finfo(whole.dtype).eps)


def test_bad_arguments_are_one_sentence():
    from footprint.dist.dask import convolve, fbp, gaussian_filter

    image, mask = da.zeros((8, 8)), np.ones((3, 3))
    with pytest.raises(ArgumentError, match="mirror"):
        convolve(image, mask, boundary="mirrored")
    with pytest.raises(ArgumentError, match="output: got an ndarray, wanted a dtype, or None, as nothing runs yet"):
        gaussian_filter(image, 1, output=np.zeros((8, 8)))
    with pytest.raises(ArgumentError, match="sigma"):
        gaussian_filter(image, -1)
    with pytest.raises(ArgumentError, match="input: got an ndarray"):
        gaussian_filter(np.zeros((8, 8)), 1)
    with pytest.raises(ArgumentError, match=r"image: got an ndarray, wanted a dask.array.Array"):
        convolve(np.zeros((8, 8)), mask)
    with pytest.raises(ShapeError, match="image: got dtype object"):
        convolve(image.astype(object), mask)
    with pytest.raises(ShapeError, match="input: got dtype complex64, wanted real numbers"):
        gaussian_filter(image.astype("c8"), 1)
    with pytest.raises(ShapeError, match=r"image: got chunks of unknown size .*compute_chunk_sizes"):
        convolve(image[image[:, 0] == 0], mask)
    with pytest.raises(ArgumentError, match="cval"):
        convolve(image, mask, cval="much")
    with pytest.raises(ShapeError, match=r"weight: got shape \(8,\), wanted the image's \(8, 8\)"):
        convolve(image, mask, weight=np.ones(8))
    with pytest.raises(ArgumentError, match="masked: got an array, although the image's chunks are masked"):
        convolve(da.ma.masked_invalid(image), mask, masked=image > 0)
    with pytest.raises(TypeError, match=r"'kernel'; that is mask= here"):
        convolve(image, kernel=mask)
    with pytest.raises(TypeError, match=r"gaussian_filter\(\) got an unexpected keyword argument 'sigmaX'; that is sigma= here"):
        gaussian_filter(image, sigmaX=1)
    with pytest.raises(TypeError, match=r"^fbp\(\) got an unexpected keyword argument 'theta'; that is angles= here"):
        fbp(da.zeros((4, 8, 9)), theta=1)
    stack, angles = da.zeros((4, 8, 9)), np.linspace(0, 3, 8)
    with pytest.raises(ShapeError, match="sinogram: got 2 dimensions"):
        fbp(image, np.zeros(8))
    with pytest.raises(ArgumentError, match="sinogram: got an ndarray"):
        fbp(np.zeros((4, 8, 9)), angles)
    with pytest.raises(ShapeError, match="angles"):
        fbp(stack, angles[:3])
    for name, value in {"filter": "sharp", "roi": (0, 8), "out": np.zeros((4, 9, 9), "f4"), "progress": print}.items():
        with pytest.raises(ArgumentError, match=name):
            fbp(stack, angles, **{name: value})
