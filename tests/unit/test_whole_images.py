"""Open images as arrays: what NumPy makes of them, which dtypes they are read into, and what takes none of them says."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, ShapeError

MAPPED = r'numpy.load\("FILE.npy", mmap_mode="r"\)'


@pytest.fixture
def image(tmp_path, rng):
    values = rng.integers(0, 60001, (20, 30)).astype(np.uint16)
    np.save(tmp_path / "a.npy", values)
    with fp.open_image(tmp_path / "a.npy") as opened:
        yield opened, values


def test_numpy_makes_an_array_of_its_pixels(image):
    opened, values = image
    for made in np.asarray(opened), np.array(opened), np.asarray(opened, copy=True):
        assert made.dtype == np.uint16 and np.array_equal(made, values)
    assert np.asarray(opened, np.float32).dtype == np.float32 and np.array_equal(np.asarray(opened, np.float32), values)
    assert np.array_equal(np.mean(opened), values.mean())
    with pytest.raises(ValueError, match=r"copy: got False, wanted None or True, as the image is in a file"):
        np.asarray(opened, copy=False)
    with pytest.raises(ShapeError, match=r"out: got dtype uint8, wanted one that holds uint16"):
        np.asarray(opened, np.uint8)


@pytest.mark.parametrize("kind", ["u1", "i2", "i1"])
def test_rows_are_not_read_into_integers_that_do_not_hold_them(kind, image):
    opened, _ = image
    out = np.ones((3, 30), kind)
    with pytest.raises(ShapeError, match=r"wanted one that holds uint16; read it as uint16, then round, clip and cast"):
        opened.read(slice(4, 7), out)
    assert (out == 1).all()


@pytest.mark.parametrize("kind", ["u2", ">u2", "u4", "i4", "i8", "f2", "f4", "f8", "?"])
def test_rows_are_read_into_what_holds_them_and_into_floating_point(kind, image):
    opened, values = image
    out = np.ones((3, 30), kind)
    opened.read(slice(4, 7), out)
    np.testing.assert_array_equal(out, values[4:7].astype(kind))


def test_rows_of_floating_point_are_not_cut_to_integers(tmp_path):
    np.save(tmp_path / "a.npy", np.full((4, 5), 1e9))
    np.save(tmp_path / "b.npy", np.full((4, 5), True))
    with fp.open_image(tmp_path / "a.npy") as image:
        with pytest.raises(ShapeError, match=r"out: got dtype int64, wanted one that holds float64"):
            image.read(slice(0, 4), np.empty((4, 5), np.int64))
        image.read(slice(0, 4), out := np.empty((4, 5), np.float32))
        assert (out == np.float32(1e9)).all()
    with fp.open_image(tmp_path / "b.npy") as image:
        image.read(slice(0, 4), out := np.zeros((4, 5), np.uint8))
        assert (out == 1).all()


def test_projections_are_not_read_into_integers_that_do_not_hold_them(image):
    scan = fp.open_scan(np.full((5, 4, 6), 60000, np.uint16), angles=np.arange(5.0))
    with pytest.raises(ShapeError, match=r"out: got dtype uint8, wanted one that holds uint16"):
        scan.read(slice(0, 4), np.empty((5, 4, 6), np.uint8))
    scan.read(slice(0, 4), out := np.empty((5, 4, 6), np.int32))
    assert (out == 60000).all()


JOBS = {
    "label": lambda image: fp.label(image, device="cpu"),
    "measure": lambda image: fp.measure(image, np.ones((20, 30), np.int32), device="cpu"),
    "threshold": lambda image: fp.threshold(image, 300, device="cpu"),
    "pad": lambda image: fp.pad(image, 2, device="cpu"),
}


@pytest.mark.parametrize("name", JOBS)
def test_what_takes_no_open_image_and_no_lazy_array_says_what_it_takes_and_takes_that(name, image, tmp_path):
    opened, values = image
    job = JOBS[name]
    with pytest.raises(ArgumentError, match=rf"got an Image, wanted an array; give its .array\(\), or {MAPPED}"):
        job(opened)
    with pytest.raises(ArgumentError, match=r"got a list of Images, wanted an array; give one array of what is in them"):
        job([opened, opened])
    lazy = pytest.importorskip("dask.array").from_array(values)
    with pytest.raises(ArgumentError, match=rf"give its .compute\(\); .* write it to a file and give {MAPPED}"):
        job(lazy)
    # As they say.
    got, want = job(np.load(tmp_path / "a.npy", mmap_mode="r")), job(values)
    for one, other in zip(*(found if isinstance(found, tuple) else (found,) for found in (got, want))):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
