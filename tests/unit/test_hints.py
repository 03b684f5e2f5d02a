"""What errors propose: names that are really close, and what helps who comes with another library's words and things."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint import settings
from footprint.errors import closest
from tests.unit.test_answers import named_of, said

IMAGE, MASK = np.ones((12, 12), np.float32), np.ones((3, 3), np.float32)


def error_of(verb, *args, **named):
    with pytest.raises(fp.errors.FootprintError) as caught:
        verb(*args, **named)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("convolve", "normalise other same fitter model_name kernel_size var bias height btype precision"),
        ("sigma_clip", "masked sig_lower cenfun grow"),
        ("find_sources", "nlevels seg nthresh var segm_img gain clean progres_bar ncomponents maxnorm"),
        ("background", "masked sigma exclude_percentile bkg_estimator edge_method fthresh"),
        ("gaussian_filter", "threads kernel_size channels other"),
    ],
)
def test_no_name_is_proposed_that_is_not_close(verb, words):
    """Of names that share a few letters the nearest was given: masked= for normalise, pairs= for var, radius= for threads."""
    for word in words.split():
        assert closest(word, named_of(getattr(fp, verb))) == "", word
        assert "the nearest" not in said(getattr(fp, verb), IMAGE, **{word: 1})


@pytest.mark.parametrize(
    ("word", "known", "wanted"),
    [
        ("boundry", ("boundary", "origin"), "boundary"),
        ("angels", ("angles", "axes"), "angles"),
        ("obundary", ("boundary",), "boundary"),
        ("minArea", ("min_area", "kappa"), "min_area"),
        ("stat_len", ("stat_length", "mode"), "stat_length"),
        ("back", ("background", "box"), "background"),
        ("maks", ("mask", "masks", "masked"), "mask"),
        ("orgin", ("origin",), "origin"),
        # What is short for two is short for neither; three letters are little of a long name.
        ("back", ("background", "backwards"), ""),
        ("min", ("min_area",), ""),
        ("height", ("weight",), ""),
        ("bit", ("fit",), ""),
        ("", ("mask",), ""),
    ],
)
def test_what_is_close(word, known, wanted):
    assert closest(word, known) == wanted


@pytest.mark.parametrize(
    ("verb", "word", "wanted"),
    [
        (
            "find_sources",
            "threshold",
            "sigma= is in multiples of the noise; for an absolute threshold t give sigma=5, background=0 and",
        ),
        ("find_sources", "error", "noise= is what sigma= is a multiple of, too"),
        ("find_sources", "segmentation", 'numpy.empty(image.shape, "int32")'),
        ("find_sources", "nthresh", "by how much a part must stand out is contrast="),
        ("find_sources", "wcs", "that is header= here, the image's own"),
        ("match_beam", "wcs", "that is header= here, the image's own"),
        ("background", "coverage_mask", "that is mask= here"),
        ("find_sources", "flag_image", "that is mask= here"),
        ("find_sources", "wht", "of an inverse variance w the noise is noise=1/numpy.sqrt(w)"),
        ("background", "weights", "weight= leaves out where it is not above 0"),
        ("find_sources", "ext", "open_image('FILE.fits[SCI]') opens it"),
        ("apertures", "hdu", "an extension is named in brackets, as in 'FILE.fits[SCI]'"),
        ("find_sources", "gain", "without the photons of sources"),
        ("apertures", "gain", "without the photons of sources"),
        ("apertures", "bkgann", "that is annulus= here"),
        ("apertures", "phot_apertures", "that is radii= here"),
        ("find_sources", "bkgann", "that is annulus= here"),
        ("find_sources", "phot_apertures", "that is apertures= here"),
        ("find_sources", "detect_minarea", "that is min_area= here"),
        ("find_sources", "detect_thresh", "noise=t/5"),
        ("find_sources", "clean", "nothing is cleaned away afterwards"),
        ("find_sources", "deblend_cont", "that is contrast= here, 0.002 unless given; SEP's and SExtractor's is 0.005"),
        ("sigma_clip", "masked", "give a numpy.ma array, or put numpy.nan where the image is masked"),
        ("convolve", "normalise", "no mask is normalised: divide it by its sum"),
        ("convolve", "normalise_kernel", "no mask is normalised: divide it by its sum"),
        ("correlate", "padding", 'mode="valid" (padding of 0), "same" or "full" (of k - 1)'),
        ("correlate", "padding_mode", 'PyTorch\'s "reflect"'),
        ("correlate", "bias", "add it to the result"),
        ("correlate", "stride", "result[::n, ::n]"),
        ("gaussian_filter", "threads", "FOOTPRINT_THREADS"),
    ],
)
def test_words_of_astropy_photutils_and_pytorch(verb, word, wanted):
    assert wanted in said(getattr(fp, verb), IMAGE, **{word: 1})


def test_an_absolute_threshold_is_what_the_hint_says():
    image = np.random.default_rng(3).normal(0, 1, (128, 128))
    image[20, 20], image[64, 70:73], image[100, 5] = 50, 30, 12
    assert len(fp.find_sources(image, sigma=5, background=0, noise=10 / 5)) == 3 == fp.label(image > 10)[1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sources a.npy -o b.ecsv --thresh 3", "'--thresh'; --sigma is in multiples of the noise; see"),
        ("sources a.npy -o b.ecsv --detect-thresh 3", "'--detect-thresh'; --sigma is in multiples of the noise; see"),
        ("sources a.npy -o b.ecsv --phot-apertures 3", "'--phot-apertures'; that is --apertures here; see"),
        ("sources a.npy -o b.ecsv --weight-image w.fits", "'--weight-image'; --weight leaves out where it is not above 0; see"),
        ("sources a.npy -o b.ecsv --ext 2", "'--ext'; an extension is named in brackets, as in 'FILE.fits[SCI]'; see"),
        ("sources a.npy -o b.ecsv --deblend-mincont 1", "'--deblend-mincont'; that is --contrast here, 0.002 unless given; see"),
        ("sources a.npy -o b.ecsv --nthresh 3", "'--nthresh'; --deblend looks at all levels at once; see"),
        ("sources a.npy -o b.ecsv --clip 3", "'--clip'; see"),
        ("sources a.npy -o b.ecsv --sgima 3", "'--sgima'; the nearest is --sigma; see"),
        ("convolve a.npy b.npy -o c.npy --padding 3", "'--padding'; sizes are --mode valid (padding of 0), "),
    ],
)
def test_options_are_answered_as_arguments_are(line, told, monkeypatch, capsys):
    """The shell proposed --apertures, --contrast and --negatives for --nthresh, and --help for --clip."""
    from footprint.cli import main

    monkeypatch.setattr("sys.argv", ["footprint", *line.split()])
    with pytest.raises(SystemExit):
        main.entry()
    assert told in capsys.readouterr().err


def test_a_table_of_settings_is_answered_alike(tmp_path):
    from footprint.cli.main import main

    for key, told in (("kapa", "did you mean kappa?"), ("nlevels", "footprint config sources lists all options")):
        (tmp_path / "a.toml").write_text(f"[sources]\n{key} = 3\n")
        result = CliRunner().invoke(main, ["sources", "a.npy", "--config", str(tmp_path / "a.toml")])
        assert told in str(result.exception)


def test_containers_of_astropy_are_told_what_keeps_their_parts():
    """They were told to set NaN where the mask is, which a filter spreads, even without a mask; and no way to keep a unit."""
    nddata, u = pytest.importorskip("astropy.nddata"), pytest.importorskip("astropy.units")
    ccd = nddata.CCDData(IMAGE, unit="adu", mask=IMAGE > 2, uncertainty=nddata.StdDevUncertainty(IMAGE))
    bare = nddata.CCDData(IMAGE, unit="adu")
    unit = "give its .data, or its .data << its .unit to keep the unit"
    assert error_of(fp.convolve, bare, MASK) == (
        f"image: got a CCDData with unit, which the result would lack, wanted a plain array; {unit}."
    )
    sentence = error_of(fp.convolve, ccd, MASK)
    assert "with unit, mask and uncertainty, which" in sentence and sentence.endswith(f"{unit}, and its .mask as masked=.")
    # What it says is so.
    kept = fp.convolve(ccd.data << ccd.unit, MASK, masked=ccd.mask)
    assert kept.unit == u.adu and np.isfinite(kept.value).all()
    for verb in (lambda: fp.gaussian_filter(ccd, 1), lambda: fp.median_filter(ccd, 3), lambda: fp.pad(ccd, 1)):
        assert error_of(verb).endswith(f"{unit}, filled where its .mask is set.")
    assert error_of(fp.sigma_clip, ccd).endswith("; give its .data, with numpy.nan where its .mask is set.")
    assert "got an NDData with mask," in error_of(fp.convolve, nddata.NDData(IMAGE, mask=IMAGE > 2), MASK)


def test_uncertainties_are_told_what_is_an_array_of_them():
    nddata = pytest.importorskip("astropy.nddata")
    for unit in (None, "adu"):
        noise = nddata.StdDevUncertainty(IMAGE, unit=unit)
        wanted = "noise: got a StdDevUncertainty, wanted a plain array; give its .array."
        assert error_of(fp.find_sources, IMAGE, noise=noise) == wanted
    wanted = "give its .represent_as(astropy.nddata.StdDevUncertainty).array."
    assert error_of(fp.find_sources, IMAGE, noise=nddata.VarianceUncertainty(IMAGE)).endswith(wanted)


def test_a_wcs_and_a_list_of_hdus_are_told_the_way_in():
    wcs, fits = pytest.importorskip("astropy.wcs"), pytest.importorskip("astropy.io.fits")
    sky = wcs.WCS(naxis=2)
    sky.wcs.ctype = ["RA---TAN", "DEC--TAN"]
    for verb in (fp.find_sources, fp.background):
        assert error_of(verb, IMAGE, header=sky).endswith("; give the image's own header: a WCS has no beam and no unit.")
    assert error_of(fp.match_beam, IMAGE, sky, "12arcsec").endswith("; give the image's own header: a WCS has no beam and no unit.")
    hdus = fits.HDUList([fits.PrimaryHDU(IMAGE)])
    matched = lambda: fp.match_beam(hdus, {}, "12arcsec")
    for verb in (lambda: fp.convolve(hdus, MASK), lambda: fp.gaussian_filter(hdus, 1), lambda: fp.label(hdus), matched):
        assert error_of(verb).endswith("got an HDUList, wanted the array of one of its HDUs; give hdus[0].data.")
    held = pytest.importorskip("astropy.nddata").NDData(IMAGE)
    assert error_of(fp.match_beam, held, {}, "12arcsec") == "image: got an NDData, wanted an array; give its .data."
    wanted = "wanted a tuple of whole numbers such as (512, 512)"
    for given, words in ((hdus, "an HDUList, {}; give hdus[0].shape."), (held, "an NDData, {}; give its .data.shape.")):
        assert error_of(fp.plan_find_sources, given) == f"shape: got {words.format(wanted)}"


def test_what_is_filled_is_told_from_what_is_switched_on():
    wanted = 'labels: got True, wanted an array to be filled, int32 (12, 12); give labels=numpy.empty(image.shape, "int32").'
    assert error_of(fp.find_sources, IMAGE, labels=True) == wanted
    got = error_of(fp.find_sources, IMAGE, labels=np.empty((12, 12), "i8"))
    assert got == 'labels: got int64 (12, 12), wanted int32 (12, 12); give labels=numpy.empty(image.shape, "int32").'
    assert "give save_noise=numpy.empty" in error_of(fp.find_sources, IMAGE, background="mesh", box=4, save_noise=1)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_not_taken_for_a_sum_of_0(bad):
    for options in ({"nan": "interpolate"}, {"masked": IMAGE > 2}, {"weight": IMAGE}):
        sentence = error_of(fp.convolve, IMAGE, [[1, bad, 1]], **options)
        assert sentence.startswith("mask: got weights that are NaN or infinite, wanted finite weights, by whose sum")
    assert "whose sum is 0" in error_of(fp.convolve, IMAGE, [[1, 0, -1]], nan="interpolate")


@pytest.mark.parametrize("text", ["two", "0", "-3", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused(text, monkeypatch):
    """Every core was taken without a word."""
    monkeypatch.setenv("FOOTPRINT_THREADS", text)
    wanted = f"FOOTPRINT_THREADS: got '{text}', wanted a whole number above 0; change the environment variable"
    assert error_of(settings.threads).startswith(wanted)
    assert error_of(fp.convolve, IMAGE, MASK, device="cpu").startswith(wanted)
    for text in (" 3 ", ""):
        monkeypatch.setenv("FOOTPRINT_THREADS", text)
        assert settings.threads() == 3 if text else settings.threads() >= 1


def test_numbers_that_numpy_lacks_are_told_by_name():
    ml = pytest.importorskip("ml_dtypes", reason="NumPy has no such numbers without it")
    wanted = 'image: got dtype bfloat16, wanted numbers: float, integer or bool; give its .astype("float32").'
    assert error_of(fp.convolve, np.ones((8, 8), ml.bfloat16), MASK) == wanted


@pytest.mark.parametrize("dtype", ["lib.float32", "Dtype.FLOAT", object(), None])
def test_dtypes_of_any_library_are_taken_where_the_numbers_are(dtype):
    """What DLPack hands over counts, not what the library calls it."""

    class Foreign:
        def __init__(self):
            self.dtype, self.shape = dtype, IMAGE.shape

        def __dlpack__(self, **options):
            return IMAGE.__dlpack__(**options)

        def __dlpack_device__(self):
            return IMAGE.__dlpack_device__()

    np.testing.assert_array_equal(fp.convolve(Foreign(), MASK), fp.convolve(IMAGE, MASK))


@pytest.mark.parametrize(("kind", "fix"), [("bfloat16", ".float()"), ("float8_e4m3fn", ".float()"), ("complex32", ".cfloat()")])
def test_tensors_of_numbers_that_numpy_lacks(kind, fix):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensor = torch.ones(8, 8).to(getattr(torch, kind))
    for verb in (lambda: fp.convolve(tensor, MASK), lambda: fp.gaussian_filter(tensor, 1)):
        sentence = error_of(verb)
        assert f"got a Tensor of {kind}, which NumPy lacks, wanted an array" in sentence and sentence.endswith(f"give its {fix}.")


def test_a_dtype_may_be_pytorchs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    tensor = torch.arange(64.0).reshape(8, 8)
    wide = fp.convolve(tensor, MASK, dtype=torch.float64)
    assert wide.dtype == torch.float64 == fp.gaussian_filter(tensor, 1, output=torch.float64).dtype
    np.testing.assert_array_equal(wide, fp.convolve(tensor, MASK, dtype="float64"))
    assert fp.plan_convolve((8, 8), (3, 3), dtype=torch.float64, device="cpu").inputs[0].spec.dtype == "<f8"
    assert "got torch.bfloat16, wanted float16, float32 or float64" in error_of(fp.convolve, tensor, MASK, dtype=torch.bfloat16)
    assert "got torch.bfloat16, wanted an array, or a dtype" in error_of(fp.gaussian_filter, tensor, 1, output=torch.bfloat16)


def test_arrays_of_jax_of_numbers_that_numpy_lacks():
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    for kind, wide in (("bfloat16", "float32"), ("float8_e4m3fn", "float32"), ("int4", "int8")):
        sentence = error_of(fp.convolve, jnp.ones((8, 8), kind), MASK)
        assert f" of {kind}, which NumPy lacks" in sentence and sentence.endswith(f'; give its .astype("{wide}").')


def test_what_jax_traces_is_told_what_helps():
    """The same advice was given for all of them, which fails within grad and vmap; a number that is traced had none."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    one, three = jax.numpy.ones((8, 8)), jax.numpy.ones((3, 8, 8))
    whole = lambda x: fp.convolve(x, MASK).sum()
    assert error_of(jax.jit(whole), one).endswith("; call the function outside jax.jit, or through jax.pure_callback.")
    assert "jax.pure_callback in a jax.custom_vjp" in error_of(jax.grad(whole), one)
    sentence = error_of(jax.vmap(whole), three)
    assert "outside jax.vmap, on all images at once with axes=(1, 2), or" in sentence
    assert sentence.endswith('jax.pure_callback with vmap_method="sequential".')
    assert "axes=" not in error_of(jax.vmap(lambda x: fp.sigma_clip(x).mean), three)
    for verb in (
        lambda s: fp.gaussian_filter(IMAGE, s),
        lambda s: fp.gaussian_filter(IMAGE, (s, 1)),
        lambda s: fp.sigma_clip(IMAGE, s),
    ):
        assert "; make it a static argument of jax.jit, or call the function outside" in error_of(jax.jit(verb), 1.0)
    # An error about something else stays as it is.
    assert "jax" not in error_of(jax.jit(lambda x: fp.convolve(IMAGE, MASK, 3, cval=x)), 1.0)


def test_what_helps_with_jax_does():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    images = jax.numpy.arange(192.0).reshape(3, 8, 8)
    mask = np.arange(9.0, dtype=np.float32).reshape(3, 3)

    def through(verb, x):
        run = lambda a: np.asarray(verb(np.asarray(a), mask))
        return jax.pure_callback(run, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")

    smooth = jax.custom_vjp(lambda x: through(fp.convolve, x))
    smooth.defvjp(lambda x: (smooth(x), None), lambda _, x: (through(fp.correlate, x),))
    np.testing.assert_array_equal(jax.vmap(smooth)(images), fp.convolve(np.asarray(images), mask, axes=(1, 2)))
    slope = jax.grad(lambda x: smooth(x).sum())(images[0])
    np.testing.assert_allclose(slope, fp.correlate(np.ones((8, 8), np.float32), mask), rtol=1e-6)


def test_what_pytorch_maps_is_told_what_helps():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    sentence = error_of(torch.vmap(lambda x: fp.convolve(x, MASK)), torch.ones(3, 8, 8))
    assert sentence.endswith("; call the function outside torch.vmap and torch.func, on all images at once with axes=(1, 2).")


def test_frames_that_no_stream_takes_are_filtered_one_by_one(rng):
    """What was wanted was said, and not what to do."""
    mask = np.ones((3, 3))
    for shape, kind, weights, way in (
        ((9, 8, 3), "f4", mask, "(fp.correlate(frame, mask, axes=(0, 1)) for frame in frames)"),
        ((9,), "f4", np.ones(3), "(fp.correlate(frame, mask) for frame in frames)"),
        ((9, 8), "c8", mask, "(fp.convolve(frame, mask) for frame in frames)"),
    ):
        frames = [rng.random(shape).astype(kind)]
        assert f"call the function on each frame, as in {way}" in error_of(fp.stream, frames, "correlate", weights, device="cpu")
        assert next(eval(way, {"fp": fp, "frames": frames, "mask": weights})).shape == shape


def test_a_stream_takes_its_verbs_themselves(rng):
    frames, mask = list(rng.random((3, 9, 8), "f4")), rng.random((3, 4), "f4")
    for verb in fp.convolve, fp.correlate:
        for got, frame in zip(fp.stream(frames, verb, mask, device="cpu"), frames, strict=True):
            np.testing.assert_array_equal(got, verb(frame, mask, method="direct", device="cpu"))
    said = error_of(fp.stream, frames, fp.median_filter, mask)
    assert "verb: got 'median_filter', wanted one of convolve, correlate; call any other on each" in said
    assert "wanted 'convolve', 'correlate' or an operation" in error_of(fp.stream, frames, np.dot, mask)


def test_a_stack_of_stacks_is_filtered_as_planes(rng):
    image = rng.random((2, 3, 9, 8), "f4")
    for verb, args in ((fp.median_filter, (3,)), (fp.gaussian_filter, (1,)), (fp.laplace, ())):
        said = error_of(verb, image, *args, axes=(2, 3), device="cpu")
        assert said.endswith("reshape it to (-1, n_y, n_x), and give axes=(1, 2).")
        planes = verb(image.reshape(-1, 9, 8), *args, axes=(1, 2), device="cpu").reshape(image.shape)
        np.testing.assert_array_equal(planes[1, 2], verb(image[1, 2], *args, device="cpu"))


def test_what_lies_outside_complex_numbers_is_real():
    """Of NumPy's the imaginary part was dropped."""
    for cval in 1j, np.complex128(2 + 1j), np.complex64(2 + 1j):
        assert "wanted a real number" in error_of(fp.convolve, np.ones((4, 5), "c8"), np.ones((3, 3)), cval=cval)
        assert "wanted a finite number" in error_of(fp.gaussian_filter, np.ones((4, 5)), 1, mode="constant", cval=cval)


@pytest.mark.parametrize("kind", [np.float32, "float32", np.dtype("f4"), np.ones(1, "f4")])
@pytest.mark.parametrize("plan", [fp.plan_convolve, fp.plan_correlate])
def test_what_lies_beside_an_image_is_planned_by_any_dtype(plan, kind):
    want = plan((64, 64), (3, 3), weight="f4", masked="?", device="cpu")
    assert plan((64, 64), (3, 3), weight=kind, masked=np.bool_, device="cpu").nbytes == want.nbytes


def test_a_dtype_that_is_none_is_named_as_its_argument():
    known = {"dtype": "numbers", "weight": "real numbers", "masked": "real numbers", "mask_dtype": "numbers"}
    for name, numbers in known.items():
        for wrong in ("flaot32", str, object):
            sentence = error_of(fp.plan_convolve, (64, 64), (3, 3), device="cpu", **{name: wrong})
            assert sentence == f"{name}: got {wrong!r}, wanted a dtype of {numbers}, such as 'float32' or 'uint16'."


def test_what_is_wanted_is_in_the_numbers_and_names_that_were_given():
    volume, planes = np.ones((9, 9, 9), "f4"), "give axes=(1, 2) for every plane on its own, or axes=(0, 1) for every colour"
    wrong = [
        (fp.convolve, (IMAGE, MASK), {"axes": 5}, "axes: got (5,), wanted different axes of an array of 2, from -2 to 1, one for"),
        (fp.convolve, (IMAGE, MASK), {"masks": "each"}, "mask: got 3 masks, wanted 12, one for each signal of the batch; masks="),
        (
            fp.convolve,
            (IMAGE, MASK[None]),
            {"masks": "each", "axes": (0, 1)},
            "mask: got 1 mask, wanted an image of which one axis counts images, not 0; ",
        ),
        (fp.pad, (IMAGE, 2), {"stat_length": 0}, "; it belongs to maximum, mean, median, minimum."),
        (fp.median_filter, (IMAGE,), {"footprint": np.ones((12, 3))}, "footprint: got (12, 3), wanted windows of at most 11 along"),
        (fp.median_filter, (IMAGE, (12, 3)), {"axes": (1, 0)}, "size: got (12, 3), wanted windows of at most 11 along"),
        (fp.median_filter, (volume, 3), {}, f"size: got (3, 3, 3), wanted 1 along one of three axes; {planes}."),
        (fp.maximum_filter, (volume, 3), {}, f"; {planes}; minima and maxima of a volume are those along axes=(1, 2), and of"),
    ]
    for verb, args, named, words in wrong:
        assert words in error_of(verb, *args, **named)


def test_an_empty_file_is_told_so(tmp_path):
    np.save(tmp_path / "empty.npy", np.zeros((0, 400), "f4"))
    with pytest.raises(fp.errors.FormatError) as caught:
        fp.open_image(tmp_path / "empty.npy")
    assert str(caught.value).endswith(": holds an empty image (shape (0, 400)), wanted one that has pixels.")
