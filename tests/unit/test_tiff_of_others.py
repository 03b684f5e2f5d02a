"""TIFF as other programs write it: one bit a pixel, white as 0, pages that are not there, and colours packed as JPEG does."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from PIL import Image

import footprint as fp
from footprint.cli.main import main
from footprint.io.frame_source import open_source


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line):
    return CliRunner().invoke(main, line.split(), catch_exceptions=False)


@pytest.fixture
def bits(rng):
    return rng.random((43, 37)) > 0.6


def _written(bits, how):
    """A file of the bits, by one of the two libraries that write such; Pillow's are read alike by Pillow."""
    if isinstance(how, str):
        Image.fromarray(bits).save("bits.tif", **({} if how == "raw" else {"compression": how}))
        np.testing.assert_array_equal(np.asarray(Image.open("bits.tif")), bits)
    else:
        tifffile.imwrite("bits.tif", bits, **how)


WAYS = ("raw", "group3", "group4", "tiff_lzw", "packbits", "tiff_adobe_deflate")
HOW = ({}, {"rowsperstrip": 5}, {"compression": "zlib", "rowsperstrip": 7}, {"tile": (16, 16)}, {"photometric": "minisblack"})


@pytest.mark.parametrize("how", [*WAYS, *HOW], ids=str)
def test_one_bit_a_pixel_is_an_image_of_bool(how, folder, bits):
    _written(bits, how)
    with fp.open_image("bits.tif") as image:
        assert image.dtype == bool and image.shape == bits.shape
        np.testing.assert_array_equal(image.array(), bits)
        for rows in slice(0, 1), slice(3, 20), slice(42, 43):
            out = np.full((rows.stop - rows.start, 37), 7, np.float32)
            image.read(rows, out)
            np.testing.assert_array_equal(out, bits[rows])


def test_a_stack_of_bits_is_one_of_frames(folder, rng):
    frames = rng.random((5, 23, 37)) > 0.6
    tifffile.imwrite("bits.tif", frames)
    run("filter median bits.tif -o out.tif --size 3 --quiet")
    want = np.stack([fp.median_filter(frame, 3, device="cpu") for frame in frames])
    got = tifffile.imread("out.tif")
    assert got.dtype == np.uint8 and np.array_equal(got, want)
    with open_source("bits.tif") as stack:
        assert stack.shape == frames.shape and stack.dtype == bool


@pytest.mark.parametrize("how", ["group4", {}], ids=str)
def test_bits_say_which_pixels_are_left_out(how, folder, bits, rng):
    values = rng.standard_normal(bits.shape).astype("f4")
    np.save("a.npy", values)
    _written(bits, how)
    run("convolve a.npy box:3 -o out.npy --masked bits.tif --quiet --device cpu")
    np.testing.assert_array_equal(np.load("out.npy"), fp.convolve(values, "box:3", masked=bits, device="cpu"))


@pytest.mark.parametrize("job", ["filter median in.tif --size 3", "convolve in.tif box:3 --boundary nearest"])
@pytest.mark.parametrize("target", ["out.tif", "out.ome.tif"])
def test_white_as_0_stays_so_in_tiff_and_is_told_elsewhere(job, target, folder, rng):
    values = rng.integers(0, 256, (2, 12, 10)).astype("u1")
    for some, more in (values[0], ""), (values, ""), (values, " --plane 1"):
        for shown in "miniswhite", "minisblack":
            tifffile.imwrite("in.tif", some, photometric=shown)
            result = run(f"{job} -o {target} --overwrite{more}")
            assert "as white" not in result.stderr
            with tifffile.TiffFile(target) as file:
                assert file.pages[0].photometric.name == shown.upper() and file.series[0].ndim == some.ndim - bool(more)
            told = run(f"{job} -o out.npy --overwrite{more}").stderr
            assert ("in.tif: stores white as 0; the stored numbers are filtered, and out.npy shows 0 as black" in told) == (
                shown == "miniswhite"
            )
            with open_source("in.tif", 0) as image:
                assert image.inverted == (shown == "miniswhite") and np.array_equal(image.array(), some.reshape(-1, 12, 10)[0])


def test_labels_of_what_has_0_as_white_are_shown_as_labels(folder, rng):
    values = rng.standard_normal((40, 50)).astype("f4")
    values[10:13, 20:22] += 50
    tifffile.imwrite("in.tif", values, photometric="miniswhite")
    run("sources in.tif -o a.ecsv --segmentation labels.tif --background mesh --save-noise noise.tif --device cpu --quiet")
    for name, shown in ("labels.tif", "MINISBLACK"), ("noise.tif", "MINISWHITE"):
        with tifffile.TiffFile(name) as file:
            assert file.pages[0].photometric.name == shown


OME = """<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:{0}">
<Image ID="Image:0">
<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="37" SizeY="43" SizeZ="{2}" SizeC="1" SizeT="1">
<Channel ID="Channel:0:0" SamplesPerPixel="1"/>{1}</Pixels></Image></OME>"""
PLANE = '<TiffData IFD="{}" FirstZ="{}" PlaneCount="1">{}</TiffData>'


def _in_files(values, **how):
    """An image of which every plane is in a file of its own, and each file tells of all."""
    names = [f"{str(number) * 8}-1111-1111-1111-111111111111" for number in range(len(values))]
    files = [f'<UUID FileName="plane{number}.ome.tif">urn:uuid:{name}</UUID>' for number, name in enumerate(names)]
    planes = "".join(PLANE.format(0, number, file) for number, file in enumerate(files))
    for number, (name, plane) in enumerate(zip(names, values)):
        words = OME.format(name, planes, len(values))
        tifffile.imwrite(f"plane{number}.ome.tif", plane, description=words, metadata=None, **how)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "how", [{}, {"compression": "zlib", "rowsperstrip": 7}, {"compression": "zlib", "tile": (16, 16)}], ids=str
)
def test_an_image_in_several_files_is_read_without_a_word(how, folder, rng):
    values = rng.integers(0, 60000, (3, 43, 37)).astype("u2")
    _in_files(values, **how)
    run("filter median plane1.ome.tif -o out.npy --size 1 --quiet")
    np.testing.assert_array_equal(np.load("out.npy"), values)
    with fp.open_image("plane0.ome.tif", 2) as image:
        np.testing.assert_array_equal(image.array(), values[2])
        image.read(slice(8, 15), out := np.empty((7, 37), "f4"))
        np.testing.assert_array_equal(out, values[2, 8:15])


def test_a_plane_that_is_not_there_is_said_to_be_missing(folder, rng):
    values = rng.integers(0, 60000, (2, 43, 37)).astype("u2")
    planes = PLANE.format(0, 0, "") + PLANE.format(1, 2, "")
    words = OME.format("1" * 8, planes, 3)
    tifffile.imwrite("a.ome.tif", values, photometric="minisblack", description=words, metadata=None)
    with pytest.raises(fp.FormatError, match=r"page 1 is not in it, although its description counts it; give those that are there"):
        run("filter median a.ome.tif -o out.npy --size 3 --quiet")
    # As it says.
    run("filter median a.ome.tif -o out.npy --size 1 --plane 2 --quiet")
    np.testing.assert_array_equal(np.load("out.npy"), values[1])


def test_pages_of_several_frames_are_said_to_be_such(folder, rng):
    values = rng.integers(0, 60000, (6, 64, 64)).astype("u2")
    tifffile.imwrite("a.tif", values, tile=(2, 32, 32), volumetric=True, photometric="minisblack")
    with pytest.raises(fp.FormatError, match=r"has 1 page for 6 frames; it has several frames in a page, which are not read"):
        fp.open_image("a.tif", 1)


def test_colours_that_jpeg_packs_are_named(folder, rng):
    tifffile.imwrite("a.tif", rng.integers(0, 256, (48, 64, 3)).astype("u1"), photometric="rgb", compression="jpeg")
    for job in "filter median a.tif --size 3 -o b.tif", "convolve a.tif box:3 -o b.png":
        with pytest.raises(
            fp.FormatError, match=r"its colours are YCbCr, as JPEG packs them; write them as RGB, packed without loss"
        ):
            run(job)
