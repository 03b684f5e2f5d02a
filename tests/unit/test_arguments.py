"""What callers hand in from Python: arrays of other libraries, and one table of what can be wrong."""

from __future__ import annotations

import re
import sys
import types

import numpy as np
import pytest

import footprint as fp
from footprint.api._call import planned


class Foreign:
    """An array of a library that, as JAX does with memory it does not like, copies what it is handed by DLPack."""

    __module__ = "foreign"

    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize(
    "verb",
    [
        lambda x: fp.convolve(x, np.ones((1, 1))),
        lambda x: fp.pad(x, 1),
        lambda x: fp.ramp_filter(x, filter="none"),
        lambda x: fp.backproject(x),
        lambda x: fp.fbp(x),
        lambda x: fp.threshold(x, 0.5),
        lambda x: fp.label(x)[0],
    ],
)
def test_results_go_back_in_kind_when_they_are_there(verb, monkeypatch, rng):
    monkeypatch.setitem(sys.modules, "foreign", types.SimpleNamespace(from_dlpack=lambda data: Foreign(data)))
    values = rng.standard_normal((40, 30), np.float32)
    found = verb(Foreign(values))
    assert isinstance(found, Foreign)
    np.testing.assert_array_equal(found.values, verb(values))


IMAGE, SCAN = np.ones((6, 8), np.float32), (6, 4, 8)
# What is called, and words its sentence must have.
BAD = {
    "plan-length": (lambda: fp.plan_convolve(512, (3, 3)), "shape 512 (512, 512)"),
    "plan-array": (lambda: fp.plan_convolve(IMAGE, (3, 3)), "shape an ndarray (512, 512) give its .shape"),
    "border-as-mode": (lambda: fp.convolve(IMAGE, np.ones((3, 3)), mode="nearest"), "mode 'nearest' full boundary='nearest'"),
    "one-dimension": (lambda: fp.convolve(IMAGE, np.ones(3)), "mask 1 dimension, axes=0"),
    "structure": (lambda: fp.label(IMAGE, np.ones((3, 3))), "connectivity shape (3, 3) 8 structure"),
    "mask-for-verb": (lambda: fp.stream([IMAGE], np.ones((3, 3))), "verb an ndarray 'convolve' mask="),
    "no-axes": (lambda: fp.median_filter(3.0, 3), "input 0 dimensions, wanted 1 to 3."),
    "complex-mask-nan": (lambda: fp.convolve(IMAGE, [[1j]], nan="interpolate"), "nan 'interpolate' 'propagate' complex"),
    "complex": (lambda: fp.pad(IMAGE * 1j, 1), "array complex64 real .imag"),
    "progress": (lambda: fp.find_sources(IMAGE, progress=3), "progress 3 a function"),
    "on-plan": (lambda: fp.find_sources(IMAGE, on_plan="print"), "on_plan 'print' a function"),
    "sigma-flag": (lambda: fp.find_sources(IMAGE, True), "sigma True number"),
    "flood-flag": (lambda: fp.find_sources(IMAGE, flood=np.True_), "flood True number"),
    "contrast-flag": (lambda: fp.find_sources(IMAGE, deblend=True, contrast=True), "contrast True number"),
    "contrast-alone": (lambda: fp.find_sources(IMAGE, contrast=0.1), "contrast 0.1 deblend=True"),
    "box-alone": (lambda: fp.find_sources(IMAGE, box=16), "box 16 without a mesh background='mesh'"),
    "box-beside-maps": (lambda: fp.find_sources(IMAGE, background=IMAGE, noise=IMAGE, box=16), "box 16 without a mesh"),
    "filter-size-alone": (
        lambda: fp.plan_find_sources(SCAN[:2], filter_size=5),
        "filter_size 5 without a mesh leave filter_size out",
    ),
    "masked-angles": (lambda: fp.fbp(IMAGE, np.ma.masked_equal(np.arange(6.0), 2)), "angles masked"),
    "no-frames": (lambda: fp.stream(3, mask=np.ones((3, 3))), "frames an int iterable"),
    "gpu": (lambda: fp.convolve(IMAGE, np.ones((3, 3)), device="gpu"), "device 'gpu' a GPU is cuda, or opencl"),
    "plan-fraction": (lambda: fp.plan_sigma_clip((5.5, 5)), "shape (5.5, 5)"),
    "plan-negative": (lambda: fp.plan_measure((5, -5)), "shape (5, -5)"),
    "plan-mask-negative": (lambda: fp.plan_convolve((5, 5), (3, -3)), "mask_shape (3, -3)"),
    "plan-labels": (lambda: fp.plan_find_sources((5, 5), labels="fits"), "labels 'fits' file"),
    "plan-dtype": (lambda: fp.plan_threshold((5, 5), dtype="foo"), "dtype 'foo' 'float32'"),
    "plan-complex": (lambda: fp.plan_gaussian_filter((5, 5), 1, dtype="complex64"), "dtype 'complex64' real"),
    "plan-no-number": (lambda: fp.plan_convolve((5, 5), (3, 3), dtype="datetime64[s]"), "dtype 'datetime64[s]' numbers"),
    "plan-holes-complex": (lambda: fp.plan_convolve((5, 5), (3, 3), dtype="c8", nan="ignore"), "nan 'ignore' 'propagate'"),
    "plan-stack": (lambda: fp.plan_fbp((4, 5, 6, 7), 180), "shape (4, 5, 6, 7) (n_angles, n_x)"),
    "plan-scan": (lambda: fp.plan_reconstruct(5), "scan 5"),
    "plan-scan-dtype": (lambda: fp.plan_reconstruct(SCAN, dtype="xx"), "dtype 'xx'"),
    "plan-scan-groups": (lambda: fp.plan_reconstruct(SCAN, n_flat_groups="1"), "n_flat_groups '1' 0"),
    "scan-path": (lambda: fp.reconstruct("scan.nx"), "scan str open_scan"),
    "axis-path": (lambda: fp.rotation_axis("scan.nx"), "scan str open_scan"),
    "shifts": (lambda: fp.plan_reconstruct(SCAN, shifts=["a"] * 6), "shifts numbers"),
    "axis-shifts": (lambda: fp.plan_reconstruct(SCAN, axis_shifts=["a"] * 6), "axis_shifts numbers"),
    "i0": (lambda: fp.plan_reconstruct(SCAN, i0=np.ones(2), n_flat_groups=0), "i0 'border'"),
    "axis-none": (lambda: fp.plan_reconstruct(SCAN, center=None), "center None 'auto'"),
    "axis": (lambda: fp.backproject(IMAGE, center=[1, 2]), "center [1, 2] pixels"),
    "roi-number": (lambda: fp.backproject(IMAGE, roi=5), "roi 5 whole"),
    "roi-fraction": (lambda: fp.backproject(IMAGE, roi=(0.5, 2, 0, 2)), "roi 0.5 whole"),
    "roi-text": (lambda: fp.fbp(IMAGE, roi="0123"), "roi '0123' whole"),
    "uneven": (lambda: fp.convolve([[1, 2], [3]], IMAGE), "image uneven"),
    "valid-empty": (lambda: fp.convolve(np.ones((0, 3)), np.ones((2, 5)), mode="valid"), "mask (2, 5) (0, 3)"),
    "connectivity": (lambda: fp.label(IMAGE, np.array([4, 8])), "connectivity 4 8"),
    "out-list": (lambda: fp.convolve(IMAGE, [[1]], out=IMAGE.tolist()), "out list"),
    "labels-wide": (lambda: fp.measure(IMAGE, np.full((6, 8), 2**32 + 1), 1), "labels 4294967297 int32"),
    "labels-own": (lambda: fp.find_sources(IMAGE, labels=IMAGE.view(np.int32)), "labels memory image"),
    "header": (lambda: fp.find_sources(IMAGE, header=[1]), "header list"),
    "threshold-own": (lambda: fp.threshold(IMAGE, 0, out=IMAGE.view(bool)[:, ::4]), "out memory image"),
    "mask-beyond-memory": (
        lambda: fp.convolve(IMAGE, np.broadcast_to(np.float32(1), (2**40, 2**20))),
        "memory 4 EiB budget",
    ),
    "pad-beyond-memory": (lambda: fp.pad(IMAGE, 10**12), "result (2000000000006, 2000000000008) memory"),
    "pad-beyond-sizes": (lambda: fp.pad(IMAGE, 10**30), "result 2000000000000000000000000000006 memory"),
    "roi-beyond-memory": (lambda: fp.fbp(IMAGE, roi=(0, 10**12, 0, 10**12)), "result (1000000000000, 1000000000000) memory"),
    "angles-beyond-memory": (lambda: fp.plan_fbp((10**13, 4)), "shape 10000000000000 angles memory"),
    "angles-dict": (lambda: fp.fbp(IMAGE, {}), "angles {} numbers"),
    "complex-angles": (lambda: fp.fbp(IMAGE, np.zeros(6, complex)), "angles complex128 real"),
    "complex-center": (lambda: fp.fbp(IMAGE, center=np.complex64(3)), "center (3+0j) position"),
    "complex-shifts": (lambda: fp.sirt(IMAGE, axis_shifts=np.zeros(6, "c8")), "axis_shifts complex64 real"),
    "endless-angles": (lambda: fp.plan_fbp((6, 8), np.full(6, np.longdouble("1e400"))), "angles inf"),
    "plan-angles-dict": (lambda: fp.plan_reconstruct(SCAN, {}), "angles {} numbers"),
    "object": (lambda: fp.convolve(object(), IMAGE), "image: got an object, wanted an array."),
    "dict": (lambda: fp.convolve({}, IMAGE), "image: got a dict, wanted an array."),
    "cval-beyond-floats": (lambda: fp.convolve(IMAGE, [[1]], cval=10**400), "cval 100 ... number"),
    "sigma-beyond-floats": (lambda: fp.find_sources(IMAGE, 10**400), "sigma 100 ... number"),
    "axis-beyond-floats": (lambda: fp.fbp(IMAGE, center=10**400), "center 100 ... pixels"),
    "pad-beyond-floats": (lambda: fp.pad(IMAGE, 1, constant_values=10**400), "constant_values 100 ... real"),
    "image-shape": (lambda: fp.create_image("a.fits", 5), "shape 5 (n_y, n_x)"),
    "volume-shape": (lambda: fp.create_volume("a.h5", (2, "a", 3)), "shape (2, 'a', 3) (n_z, n_y, n_x)"),
    "image-dtype": (lambda: fp.create_image("a.fits", (2, 3), "foo"), "dtype 'foo' 'float32'"),
    "pad-constant": (lambda: fp.pad(IMAGE, 1, "edge", constant_values=5), "constant_values 5 'edge' constant"),
    "pad-length": (lambda: fp.plan_pad((5, 5), 1, stat_length=2), "stat_length 2 'constant' mean"),
    "pad-index-mode": (lambda: fp.pad(IMAGE, mode="edge", rows_index=[0]), "mode 'edge' rows_index"),
    "pad-index-uneven": (lambda: fp.pad(IMAGE, rows_index=[[1], [1, 2]]), "rows_index uneven"),
    "verify-text": (lambda: fp.verify("convolve", "cpu", size=64), "devices 'cpu' list"),
    "verify-size": (lambda: fp.verify("convolve", ["cpu"], size="64"), "size '64' 32"),
    "verify-alone": (lambda: fp.verify("convolve", ["cpu"], size=64), "devices 'cpu' two"),
    "muladd-list": (lambda: fp.muladd([1.0, 2.0], [1.0, 2.0]), "dst list place"),
    "flag-deblend": (lambda: fp.find_sources(IMAGE, deblend="no"), "deblend 'no' True False"),
    "flag-residual": (lambda: fp.find_sources(IMAGE, residual="no"), "residual 'no' True"),
    "flag-pairs": (lambda: fp.plan_find_sources((5, 5), pairs="no"), "pairs 'no' True"),
    "flag-negatives": (lambda: fp.plan_find_sources((5, 5), negatives="no"), "negatives 'no' True"),
    "flag-lesson": (lambda: fp.find_sources(IMAGE, lesson=IMAGE), "lesson True"),
    "flag-circle": (lambda: fp.fbp(IMAGE, circle=IMAGE), "circle True"),
    "flag-centered": (lambda: fp.plan_fbp((6, 8), centered="no"), "centered 'no' True"),
    "flag-nonnegative": (lambda: fp.sirt(IMAGE, nonnegative="no"), "nonnegative 'no' True"),
    "flag-weighted": (lambda: fp.backproject(IMAGE, weighted="no"), "weighted 'no' True"),
    "flag-robust": (lambda: fp.background(IMAGE, robust=None), "robust None True"),
    "flag-strict": (lambda: fp.sigma_clip(IMAGE, strict="no"), "strict 'no' True"),
    "flag-log": (lambda: fp.plan_reconstruct(SCAN, log="no"), "log 'no' True"),
    "flag-overwrite": (lambda: fp.create_image(__file__ + ".npy", (5, 5), overwrite="no"), "overwrite 'no' True"),
    "flag-resume": (lambda: fp.create_volume("absent/a.h5", (5, 5, 5), resume="no"), "resume 'no' True"),
    "flag-sinograms": (lambda: fp.open_scan(__file__, sinograms="no"), "sinograms 'no' True"),
    "flag-current": (lambda: fp.open_scan(__file__, machine_current="no"), "machine_current 'no' True"),
    "word-mode": (lambda: fp.convolve(IMAGE, [[1]], mode=IMAGE), "mode one of same"),
    "word-nan": (lambda: fp.plan_convolve((5, 5), (3, 3), nan=IMAGE), "nan one of propagate"),
    "word-fft": (lambda: fp.plan_ramp_filter((5, 5), fft=IMAGE), "fft auto"),
    "uneven-sinogram": (lambda: fp.cgls([[1, 2], [3]]), "sinogram uneven"),
    "uneven-volume": (lambda: fp.project([[1, 2], [3]], 5), "volume uneven"),
    "uneven-filter": (lambda: fp.fbp(IMAGE, filter=[[1, 2], [3]]), "filter numbers"),
    "apertures-background": (lambda: fp.apertures(IMAGE, [(2, 2)], 1, background=None), "background None number map"),
    "apertures-noise": (lambda: fp.plan_apertures((5, 5), 1, noise={}), "noise {} number above 'map'"),
    "contrast-beyond-floats": (lambda: fp.find_sources(IMAGE, contrast=10**400), "contrast 100 ... number"),
    "filter-beyond-floats": (lambda: fp.plan_find_sources((5, 5), matched_filter=1e300), "matched_filter 1e+300 pixels 300"),
    "images-without-end": (lambda: fp.plan_find_sources((5, 5), measure_on=10**12), "measure_on 1000000000000 images"),
    "depth-without-end": (lambda: fp.plan_convolve_frames((9, 5, 5), (3, 3), depth=10**12), "depth 1000000000000 1000"),
    "pixel-size-lost": (lambda: fp.plan_fbp((6, 8), pixel_size=1e300), "pixel_size 1e+300 1e-30 to 1e+30"),
    "pixel-size-tiny": (lambda: fp.plan_sirt((6, 8), pixel_size=np.float32(9.99e-41)), "pixel_size e-41) 1e-30 to 1e+30"),
    "pixel-size": (lambda: fp.plan_fbp((6, 8), pixel_size=10**400), "pixel_size 100 ... length"),
    "axis-of-array": (lambda: fp.axis_by_row(IMAGE[0]), "scan ndarray open_scan"),
    "axis-order": (lambda: fp.axis_by_row(IMAGE, order=IMAGE), "order line parabola"),
    "volume-attrs": (lambda: fp.create_volume("a.h5", (2, 2, 2), attrs="made by me"), "attrs 'made by me' mapping"),
    "image-attrs": (lambda: fp.create_image("a.npy", (2, 2), attrs=5), "attrs 5 mapping"),
    "volume-first": (lambda: fp.create_volume("a", (2, 2, 2), first="x"), "first 'x' row"),
    "volume-quality": (lambda: fp.create_volume("a", (2, 2, 2), image_format="jp2", dtype="u1", quality=IMAGE), "quality decibels"),
    "zarr-format": (lambda: fp.create_volume("a.zarr", (2, 2, 2), zarr_format=[2]), "zarr_format [2] OME-Zarr"),
    "gaussian-without-end": (lambda: fp.gaussian_filter(IMAGE, 1e12), "sigma 1000000000000 samples"),
    "radius-without-end": (lambda: fp.gaussian_filter(IMAGE, 1, radius=10**40), "radius 10000 4194304"),
    "order-without-end": (lambda: fp.plan_gaussian_filter((5, 5), 1, order=10**12), "order 1000000000000 64"),
    "box-without-end": (lambda: fp.uniform_filter(IMAGE, 10**12), "size 1000000000000 8388608"),
    "beam-without-end": (lambda: fp.plan_match_beam((5, 5), {}, 1e300), "target 1e+300 degrees"),
    "beam-shape": (lambda: fp.plan_match_beam(None, {}, 1), "shape None whole"),
    "uneven-angles": (lambda: fp.project(IMAGE, [[1], [2, 3]]), "angles numbers"),
    "uneven-ramp": (lambda: fp.plan_ramp_filter((6, 8), filter=[[1], [2, 3]]), "filter numbers"),
    "row-of-axes": (lambda: fp.plan_try_axes(SCAN, [1, 2], row="x"), "row 'x' whole"),
    "energy-in-ev": (
        lambda: fp.plan_paganin(SCAN, delta_beta=9, energy=3e4, distance=1, pixel_size=1e-6),
        "energy 30000.0 keV eV",
    ),
    "mask-named": (
        lambda: fp.convolve(np.ones((4, 4)), "gaussian:sigma=two"),
        "mask gaussian:sigma=two sigma gaussian:sigma=2 box:5",
    ),
    "mask-as-verb": (lambda: fp.stream([IMAGE], "box:3"), "verb box:3 convolve mask='box:3'"),
    "other-verb": (
        lambda: fp.stream([IMAGE], "median_filter"),
        "verb median_filter convolve on each frame fp.median_filter(frame, 3)",
    ),
    "verb-slip": (lambda: fp.stream([IMAGE], "convolv"), "verb the nearest is convolve"),
    "mask-unknown": (lambda: fp.convolve(np.ones((4, 4)), "gauss"), "gauss no such file gaussian:sigma=2"),
    "path-none": (lambda: fp.open_image(None), "path None name"),
    "path-number": (lambda: fp.create_volume(5, (2, 2, 2)), "path int name"),
    "catalogue-path": (lambda: fp.read_catalog(None), "path None name"),
    "one-part": (lambda: fp.join_volumes("a.h5", "b.h5"), "parts str list"),
    "uneven-footprint": (lambda: fp.median_filter(IMAGE, footprint=[[1], [1, 2]]), "footprint numbers"),
    "uneven-center": (lambda: fp.plan_reconstruct(SCAN, center=[[1], [1, 2]]), "center numbers"),
    "no-table": (lambda: fp.write_catalog(None, "a.ecsv"), "table None astropy"),
    "share-of-unknown": (lambda: fp.plan_convolve((5, 5), (3, 3), memory="80%", device="null"), "memory '80%' null report"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_one_clear_sentence(case):
    call, wanted = BAD[case]
    with pytest.raises(fp.FootprintError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".")
    missing = [word for word in wanted.split() if word not in sentence]
    assert not missing, f"no {missing} in: {sentence}"


def test_what_is_counted_in_pixels_takes_no_unit():
    units = pytest.importorskip("astropy.units", reason="astropy is not installed")
    pixels, sky = "wanted a finite number of pixels, without a unit; give its .value", "without a unit; give how many pixels it is"
    for call, told in (
        (lambda: fp.gaussian_filter(IMAGE, 2 * units.pix), f"sigma: got <Quantity 2. pix>, {pixels}."),
        (lambda: fp.gaussian_filter(IMAGE, [2, 3] * units.pix), pixels),
        (lambda: fp.gaussian_filter(IMAGE, 2 * units.arcsec), sky),
        (lambda: fp.median_filter(IMAGE, 3 * units.pix), "size: got <Quantity 3. pix>, wanted a whole number of pixels, without"),
        (lambda: fp.gaussian_filter(IMAGE, 2, truncate=4 * units.m), "wanted a finite number, without a unit; give its .value"),
    ):
        with pytest.raises(fp.ArgumentError) as caught:
            call()
        assert told in str(caught.value)


def test_settings_of_a_step_are_told_by_the_step():
    """Two steps have a size: which one is wrong?"""
    for wrong, words in (
        ({"rings": {"method": "all", "size": "abc"}}, "rings: got 'abc' for size, wanted a whole number"),
        ({"zingers": "abc"}, "zingers: got 'abc' for threshold, wanted a share"),
    ):
        with pytest.raises(fp.ArgumentError, match=words):
            fp.steps(**wrong)


def test_what_a_setting_lacks_is_told():
    for phase in (500, {"delta_beta": 500, "energy": 30}):
        with pytest.raises(
            fp.ArgumentError, match=r"^phase: got no .*pixel_size, wanted all that it needs, as in {'delta_beta': ..."
        ):
            fp.steps(phase=phase)
    sinogram, angles = np.ones((4, 8), "f4"), np.linspace(0, 3, 4)
    for filter, words in (("ramp", "ramlak here"), ("ram-lak", "the nearest is ramlak"), (None, "'none' for no filter")):
        with pytest.raises(fp.ArgumentError, match=words):
            fp.fbp(sinogram, angles, filter=filter, device="cpu")
    with pytest.raises(fp.ArgumentError, match=r"give footprint\.create_volume"):
        fp.fbp(sinogram, angles, out="slices.h5", device="cpu")


def test_budgets_may_be_numpys_numbers():
    plans = [fp.plan_convolve((64, 64), (3, 3), memory=memory, device="cpu") for memory in (10**6, np.int64(10**6))]
    assert plans[0] == plans[1]


def test_interleaved_arrays_are_apart(rng):
    both = rng.standard_normal((40, 33), np.float32)
    want = fp.convolve(both[::2].copy(), np.ones((3, 3)), device="cpu")
    fp.convolve(both[::2], np.ones((3, 3)), out=both[1::2], device="cpu")
    np.testing.assert_array_equal(both[1::2], want)


def test_numbers_wider_than_float64_are_worked_on_as_that():
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is float64 here")
    fine = 1 + 2.0**-40
    x = np.full((1, 1, 1), fine, np.longdouble)
    assert fp.muladd(x.copy(), np.zeros_like(x), device="cpu")[0, 0, 0] == fine
    assert fp.vertical_shift(x, [0], out=np.zeros_like(x), device="cpu")[0, 0, 0] == fine
    with pytest.raises(fp.ShapeError, match="at most 8 bytes"):
        fp.pad(x, 1, "mean", device="cpu")


def test_what_numpy_makes_an_array_of_is_one():
    """Pillow's images and memory views say so in ways of their own."""
    pillow = pytest.importorskip("PIL.Image")
    counts = (100 * IMAGE).astype("u1")
    want = fp.median_filter(counts, 3, device="cpu")
    for image in (pillow.fromarray(counts), memoryview(counts)):
        np.testing.assert_array_equal(fp.median_filter(image, 3, device="cpu"), want)


def test_a_matrix_is_an_array_like_any_other():
    for _ in range(2):  # the second call goes the short way, where there is one
        found = fp.convolve(np.matrix(IMAGE), np.matrix(np.ones((3, 3))), device="cpu")
        np.testing.assert_array_equal(found, fp.convolve(np.asarray(IMAGE), np.ones((3, 3)), device="cpu"))
        assert type(found) is np.ndarray


def test_labels_below_zero_are_no_islands():
    assert len(fp.measure(IMAGE, np.full((6, 8), -1), device="cpu")) == 0


def test_an_array_for_labels_takes_no_part_of_the_budget(rng):
    image, labels = rng.standard_normal((256, 256), np.float32), np.zeros((256, 256), np.int32)
    with pytest.raises(fp.BudgetError, match=r"components, as this image has, .*give memory=") as short:
        fp.find_sources(image, sigma=1, memory="500kB", device="cpu")
    enough = short.value.smallest
    # Room for the labels is counted only where the plan holds blocks of them.
    table = fp.find_sources(image, sigma=1, labels=labels, memory=enough, device="cpu")
    assert labels.max() == len(table)


class OnDevice:
    """Stands for an array on a GPU."""

    __cuda_array_interface__ = ()

    def __init__(self, values):
        self.values = values


def test_masks_on_a_device_are_handed_on_as_bytes(monkeypatch):
    handed: dict = {}

    def call(name, op, ins, outs, device, memory):
        handed.update(plan=planned(name, op, ins, outs, device, memory), mask=ins[0].data)

    monkeypatch.setattr("footprint.api._arrays.device_array", lambda array: (array.values, "cuda:0"))
    monkeypatch.setattr("footprint.api.label.call", call)
    for dtype, made in ((np.float32, 4), (np.uint8, 0), (bool, 0)):
        mask = np.array([[0, 1], [0, 1]]).astype(dtype) * dtype(0.5 if made else 1)
        fp.label(OnDevice(mask), out=OnDevice(np.empty((2, 2), np.int32)), device="null:h100")
        assert handed["mask"].dtype == np.dtype(handed["plan"].inputs[0].spec.dtype) == np.uint8
        np.testing.assert_array_equal(handed["mask"], [[0, 1], [0, 1]])
        assert handed["plan"].footprint.library == made


def test_a_filters_output_may_be_a_dtype(rng):
    image = rng.random((9, 7), np.float32)
    for verb in (lambda out: fp.gaussian_filter(image, 1, output=out), lambda out: fp.maximum_filter(image, 3, output=out)):
        for _ in range(2):  # the second call goes the short way
            found = verb(np.float64)
            assert found.dtype == np.float64
            np.testing.assert_array_equal(found, verb(None))
    with pytest.raises(fp.ShapeError, match="output: got dtype uint8, wanted one that holds float32; round"):
        fp.gaussian_filter(image, 1, output="uint8")


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (0,)])
def test_the_axis_that_is_not_filtered_may_be_any_of_three(axes, rng):
    photo = rng.integers(0, 256, (11, 9, 3), dtype=np.uint8)
    verbs = [lambda a, along: fp.median_filter(a, 3, axes=along), lambda a, along: fp.unsharp_mask(a, 1, axes=along)]
    free = next(axis for axis in (1, 2) if axis not in axes)
    planes = np.moveaxis(photo, free, 0)
    along = tuple(1 + [axis for axis in range(3) if axis != free].index(axis) for axis in axes)
    for verb in verbs:
        want = np.moveaxis(verb(np.ascontiguousarray(planes), along), 0, free)
        for _ in range(2):
            np.testing.assert_array_equal(verb(photo, axes), want)
    held = np.empty(photo.shape, np.uint8)
    assert fp.median_filter(photo, 3, output=held, axes=axes, memory="3KB") is held
    np.testing.assert_array_equal(held, fp.median_filter(photo, 3, axes=axes))
    assert fp.plan_median_filter(photo.shape, 3, dtype="uint8", axes=axes, memory="3KB", device="cpu").footprint.total <= 3000


def test_names_of_other_libraries_and_slips_of_the_pen_are_answered():
    with pytest.raises(AttributeError, match=r"'fftconvolve'; call footprint.convolve\(image, mask, mode="):
        fp.fftconvolve  # noqa: B018
    with pytest.raises(AttributeError) as caught:
        fp.gausian_filter  # noqa: B018
    # By these two Python proposes what is spelt alike.
    assert (caught.value.name, caught.value.obj) == ("gausian_filter", fp)
    from footprint.elsewhere import HERE

    called = {re.match(r"\w+", text)[0] for text in HERE.values()}
    assert called <= set(fp.__all__) and not set(HERE) & set(fp.__all__)


def test_what_is_asked_of_a_clip_beside_a_mesh_is_refused_before_a_row_is_read():
    """The image had been read for zeros that mean no data."""

    class Unread:
        shape, dtype = (64, 64), np.dtype("f4")

        def read(self, rows, out):
            raise AssertionError("a row was read")

    for options in ({"lesson": True}, {"maxiters": 3}):
        with pytest.raises(fp.ArgumentError, match="one clip of the whole image"):
            fp.find_sources(Unread(), background="mesh", **options, device="cpu")
