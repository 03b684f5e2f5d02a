"""What a bound plan is handed by its caller: it refuses what the plain functions refuse, and is as fast as it was."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp

SHAPE = (16, 12)


@pytest.fixture
def image(rng):
    return rng.random(SHAPE, np.float32)


@pytest.fixture(scope="module")
def smooth():
    with fp.plan_gaussian_filter(SHAPE, 1, device="cpu").bind("cpu") as bound:
        yield bound


def test_what_is_not_the_callers_to_write_to_stays_as_it_is(smooth, image):
    """Bytes of Python's were written to."""
    data = bytes(image.nbytes)
    with pytest.raises(fp.ShapeError, match="output: got a read-only array"):
        smooth(image, out=[np.frombuffer(data, "f4").reshape(SHAPE)])
    assert data == bytes(image.nbytes)
    # It may be read.
    found = np.empty(SHAPE, "f4")
    smooth(np.frombuffer(image.tobytes(), "f4").reshape(SHAPE), out=[found])
    np.testing.assert_array_equal(found, fp.gaussian_filter(image, 1, device="cpu"))


def test_results_go_to_memory_of_their_own(smooth, image):
    """Rows that had been written over were read as if they were the image's."""
    whole, before = np.zeros((20, 12), "f4"), image.copy()
    for given, out in (image, image), (image, image[:]), (whole[:16], whole[4:]):
        with pytest.raises(fp.ArgumentError, match="out: got memory shared with input, wanted memory of its own"):
            smooth(given, out=[out])
    np.testing.assert_array_equal(image, before)
    both = np.zeros((32, 12), "f4")
    smooth(both[:16], out=[both[16:]])


def test_two_maps_of_one_file_are_one_memory(smooth, tmp_path):
    image = np.memmap(tmp_path / "image", "f4", "w+", shape=SHAPE)
    for again in np.memmap(tmp_path / "image", "f4", "r+", shape=SHAPE), np.memmap(tmp_path / "image", "f4", "r+", shape=SHAPE)[:]:
        for given, out in (image, again), (np.asarray(image), np.asarray(again)):
            with pytest.raises(fp.ArgumentError, match="out: got memory shared with input"):
                smooth(given, out=[out])


def test_what_works_in_place_may_write_to_its_first_input(image):
    before, other = image.copy(), np.ones_like(image)
    with fp.plan_muladd(SHAPE, device="cpu").bind("cpu") as add:
        add(image, other, out=[image])
        np.testing.assert_array_equal(image, before + 1)
        add(image, image, out=[image])
        for out in other, np.concatenate([image, image])[1:17]:
            add(image, np.ones_like(image), out=[out])
        with pytest.raises(fp.ArgumentError, match="memory shared with other, wanted memory of its own, or dst itself"):
            add(image, other, out=[other])
    with fp.plan_ramp_filter(SHAPE, device="cpu", in_place=True).bind("cpu") as ramp:
        expected = fp.ramp_filter(image, device="cpu")
        ramp(image, out=[image])
        np.testing.assert_array_equal(image, expected)


def test_arrays_that_are_more_than_numbers_are_refused(smooth, image):
    """The mask and the unit were lost."""
    units, out = pytest.importorskip("astropy.units"), np.empty(SHAPE, "f4")
    refused = {
        "input: got a masked array, whose mask would be ignored": (np.ma.masked_less(image, 0.5), [out]),
        "output: got a masked array": (image, [np.ma.masked_equal(np.zeros(SHAPE, "f4"), 0)]),
        "input: got an array in Jy, whose unit would be lost": (image * units.Jy, [out]),
        "output: got an array in Jy": (image, [out * units.Jy]),
        "input: got a list, wanted an array of NumPy; numpy.asarray": (image.tolist(), [out]),
        "output: got a list, wanted an array of NumPy": (image, [out.tolist()]),
        "input: got None, wanted an array of NumPy": (None, [out]),
        "out: got an ndarray, wanted a list": (image, out),
        "out: got 0 arrays, wanted 1": (image, []),
        "out: got 2 arrays, wanted 1": (image, [out, out.copy()]),
    }
    for sentence, (given, outs) in refused.items():
        with pytest.raises(fp.ArgumentError) as caught:
            smooth(given, out=outs)
        assert str(caught.value).startswith(sentence), caught.value
    # What has nothing more to it is taken.
    for given in np.ma.array(image), image << units.dimensionless_unscaled, np.asmatrix(image):
        smooth(given, out=[out])
        np.testing.assert_array_equal(out, fp.gaussian_filter(image, 1, device="cpu"))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_another_library_are_refused_by_its_name(smooth, image, library):
    made = pytest.importorskip(library).asarray(image)
    name = library.partition(".")[0]
    with pytest.raises(fp.ArgumentError, match=f"input: got an? .* of {name}, wanted an array of NumPy; numpy.asarray makes one"):
        smooth(made, out=[np.empty(SHAPE, "f4")])
    with pytest.raises(fp.ArgumentError, match=f"output: got an? .* of {name}, wanted an array of NumPy"):
        smooth(image, out=[made])
