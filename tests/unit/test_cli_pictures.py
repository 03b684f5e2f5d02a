"""Pictures from the shell: every colour as its own image, transparency as it was, mistakes in one sentence."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from PIL import Image

import footprint as fp
from footprint.cli.main import main
from footprint.errors import FootprintError

MASK = np.outer(np.arange(1.0, 6.0), np.arange(3.0, 6.0)) / 180


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("mask.npy", MASK)
    return tmp_path


def run(line):
    return CliRunner().invoke(main, line.split(), catch_exceptions=False)


def made(values, mode=None):
    """Written as photo.png; its pixels."""
    if mode is None:
        Image.fromarray(values).save("photo.png")
    else:
        Image.fromarray(values, mode).save("photo.png")
    return values


def rounded(values, most=255):
    return np.clip(np.rint(values), 0, most)


@pytest.mark.parametrize(("channels", "dtype"), [(1, "u1"), (2, "u1"), (3, "u1"), (4, "u1"), (1, "u2")])
def test_every_colour_is_convolved_and_transparency_kept(channels, dtype, folder, rng):
    most = np.iinfo(dtype).max
    values = made(rng.integers(0, most + 1, (24, 31, channels)).astype(dtype)[..., slice(None) if channels > 1 else 0])
    whole = json.loads(run("convolve photo.png mask.npy -o out.png --boundary reflect --json").stdout)
    got = np.asarray(Image.open("out.png"))
    assert got.dtype == dtype and got.shape == values.shape and whole["shape"] == [24, 31, channels]
    colours = channels - (channels in (2, 4))
    stack, want = values.reshape(24, 31, channels), got.reshape(24, 31, channels)
    for number in range(colours):
        exact = fp.convolve(stack[..., number], MASK, boundary="reflect", device="cpu")
        np.testing.assert_array_equal(want[..., number], rounded(exact, most))
    np.testing.assert_array_equal(want[..., colours:], stack[..., colours:])
    # What Python has for a picture in memory.
    if channels == 3:
        both = fp.convolve(values, MASK, axes=(0, 1), boundary="reflect", device="cpu")
        np.testing.assert_array_equal(got, rounded(both))


def test_within_a_budget_that_counts_the_picture(folder, rng):
    made(rng.integers(0, 256, (300, 200, 3)).astype("u1"))
    whole = json.loads(run("convolve photo.png mask.npy -o whole.png --json").stdout)
    pixels = 300 * 200
    assert whole["plan_total"] > (3 + 3 + 4) * pixels
    budget = whole["plan_total"] - 100_000
    done = json.loads(run(f"convolve photo.png mask.npy -o parts.png --memory {budget} --json").stdout)
    planned = json.loads(run(f"plan convolve photo.png mask.npy -o parts.png --memory {budget} --json").stdout)
    assert done["runs"] > 1 and done["plan_total"] == planned["plan_total"] <= budget
    np.testing.assert_array_equal(np.asarray(Image.open("parts.png")), np.asarray(Image.open("whole.png")))


def test_ranks_and_sums_of_filters(folder, rng):
    values = made(rng.integers(0, 256, (40, 30, 3)).astype("u1"))
    run("filter median photo.png -o median.png --size 3 --quiet")
    want = np.stack([fp.median_filter(values[..., n], 3, device="cpu") for n in range(3)], axis=-1)
    np.testing.assert_array_equal(np.asarray(Image.open("median.png")), want)
    # Beyond what a picture holds on both sides.
    told = run("filter unsharp_mask photo.png -o sharp.png --sigma 2 --amount 3 --quiet").stderr
    exact = np.stack([fp.unsharp_mask(values[..., n], 2, 3, device="cpu") for n in range(3)], axis=-1)
    assert exact.min() < 0 and exact.max() > 255
    np.testing.assert_array_equal(np.asarray(Image.open("sharp.png")), rounded(exact))
    assert f"sharp.png: {np.mean((np.rint(exact) < 0) | (np.rint(exact) > 255)):.0%} of the values were below 0 or over 255" in told
    planned = json.loads(run("plan filter median photo.png --size 3 --json").stdout)
    assert planned["plan_total"] > 10 * values[..., 0].size


@pytest.mark.parametrize(
    ("dtype", "channels", "how"),
    [("u1", 3, {"compression": "zlib"}), (">u2", 3, {}), ("u2", 4, {"tile": (16, 16), "extrasamples": ["unassalpha"]})],
)
def test_tiff_in_colour_keeps_its_bits(dtype, channels, how, folder, rng):
    values = rng.integers(0, np.iinfo(dtype).max + 1, (40, 33, channels)).astype(dtype)
    with tifffile.TiffWriter("photo.tif") as file:
        file.write(values, photometric="rgb", iccprofile=b"\0" * 128, **how)
        # As slide scanners and editors write them, with a small copy that is no second picture.
        file.write(values[::2, ::2], photometric="rgb", subfiletype=1)
    told = json.loads(run("filter median photo.tif -o out.tif --size 3 --json").stdout)
    with tifffile.TiffFile("out.tif") as file:
        got, profile = file.asarray(), bytes(file.pages[0].tags["InterColorProfile"].value)
    want = np.stack([fp.median_filter(values[..., n].astype(dtype[-2:]), 3, device="cpu") for n in range(3)], axis=-1)
    assert got.dtype == np.dtype(dtype[-2:]) and told["shape"] == [40, 33, channels]
    np.testing.assert_array_equal(got[..., :3], want)
    np.testing.assert_array_equal(got[..., 3:], values[..., 3:])
    assert profile == b"\0" * 128
    if dtype == "u1":
        run("convolve photo.tif mask.npy -o out.png --quiet")
        assert np.asarray(Image.open("out.png")).shape == (40, 33, 3)
    else:
        with pytest.raises(FootprintError, match=r"ending in .tif, .tiff for colours of 16 bits"):
            run("filter median photo.tif -o out.png --size 3 --quiet")


def test_jpeg_and_palettes(folder, rng):
    values = np.repeat(np.repeat(rng.integers(60, 190, (6, 8, 3)), 8, axis=0), 8, axis=1).astype("u1")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(values).save("photo.jpg", quality=95, exif=exif)
    run("convolve photo.jpg box:3 -o out.jpeg --boundary nearest --quiet")
    out = Image.open("out.jpeg")
    assert out.format == "JPEG" and out.getexif()[0x0112] == 6
    exact = fp.convolve(np.asarray(Image.open("photo.jpg")), np.ones((3, 3)) / 9, axes=(0, 1), boundary="nearest", device="cpu")
    assert np.abs(np.asarray(out).astype(float) - exact).mean() < 3
    Image.fromarray(values).quantize(16).save("few.png")
    run("convolve few.png box:1 -o same.png --quiet")
    np.testing.assert_array_equal(np.asarray(Image.open("same.png")), np.asarray(Image.open("few.png").convert("RGB")))


def deep_colours():
    """A PNG of one pixel with 16 bits a colour, which Pillow does not write."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    body = zlib.compress(b"\0" + bytes(6))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("convolve photo.png mask.npy -o out.fits", "ending in .png"),
        ("convolve photo.png mask.npy -o out.jpg", "transparency"),
        ("convolve photo.png mask.npy -o out.png --mode full", "same, for a picture with transparency"),
        ("convolve photo.png mask.npy -o out.png --dtype float64", "dtype"),
        ("convolve photo.png mask.npy -o photo.png", "is read by this job"),
        ("convolve photo.png beam:12 -o out.png", "has no header"),
        ("convolve photo.png mask.npy -o out.png --memory 10KB", "needs at least"),
        ("filter median photo.png -o out.png --size 3 --plane 1", "plane"),
        ("filter blur photo.png -o out.png", "one of median"),
        ("convolve deep.png mask.npy -o out.png", "16 bits, which Pillow cuts to 8"),
        ("convolve torn.png mask.npy -o out.png", "cannot be read"),
        ("filter median torn.png -o out.png --size 3", "cannot be read"),
        ("convolve none.png mask.npy -o out.png", "none.png: the file is empty"),
        ("filter median photo.bmp -o out.png --size 3", "photo.bmp: is not a FITS, TIFF, HDF5, NumPy or Zarr image; save the"),
        ("convolve photo.bmp mask.npy -o out.jpg", "photo.bmp: is not a FITS, TIFF, HDF5, NumPy or Zarr image; save the"),
        ("filter median photo.gif -o out.png --size 3", "photo.gif: is read as a video, whose frames are grey; save the"),
        ("filter median false.png -o out.png --size 3", "false.png: is not a PNG file, although its name says so"),
        ("convolve false.png mask.npy -o out.npy", "false.png: is not a PNG file, although its name says so; save the picture"),
        ("convolve false.jpg mask.npy -o out.npy", "false.jpg: is not a JPEG file, although its name says so"),
        ("filter median missing.bmp -o out.png --size 3", "missing.bmp: there is no such file"),
        ("filter median mask.npy -o out.png --size 3", "got 'out.png', wanted a name ending in one of .fits"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(line, told, folder, rng):
    made(rng.integers(0, 256, (24, 31, 4)).astype("u1"))
    data = (folder / "photo.png").read_bytes()
    (folder / "torn.png").write_bytes(data[: len(data) // 2])
    (folder / "deep.png").write_bytes(deep_colours())
    (folder / "none.png").touch()
    for name in "bmp", "gif":
        Image.open("photo.png").convert("RGB").save(f"photo.{name}")
    for name in "false.png", "false.jpg":
        (folder / name).write_text("a page of words")
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(FootprintError) as caught:
        run(line)
    assert told in str(caught.value) and "\n" not in str(caught.value).partition("needs at least")[0]
    assert {path.name for path in folder.iterdir()} == before


def test_which_way_is_up_is_kept_between_formats(folder, rng):
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(rng.integers(0, 256, (9, 8, 3)).astype(np.uint8)).save("photo.jpg", exif=exif)
    for source, target in ("photo.jpg", "a.tif"), ("a.tif", "b.tif"), ("b.tif", "c.png"), ("c.png", "d.jpg"):
        run(f"convolve {source} mask.npy -o {target}")
        assert Image.open(target).getexif()[274] == 6


def test_a_palette_is_told_where_numbers_are_filtered(folder, rng):
    numbers = rng.integers(0, 256, (9, 8)).astype(np.uint8)
    grey = np.tile(np.arange(256, dtype=np.uint16) * 257, (3, 1))
    for palette, told in (grey[:, ::-1], True), (rng.permuted(grey, axis=1), True), (grey, False):
        tifffile.imwrite("a.tif", numbers, photometric="palette", colormap=palette)
        for job in "convolve a.tif mask.npy", "filter median a.tif --size 3":
            result = run(f"{job} -o out.npy --overwrite")
            assert ("a.tif: has a palette" in result.stderr) == told


def test_a_colour_that_is_transparent_becomes_transparency(folder, rng):
    values = rng.integers(0, 3, (20, 30, 3)).astype("u1") * 100
    for colours, key in (values, (100, 0, 200)), (values[..., 0], 100), (values[..., 0] > 0, 0):
        Image.fromarray(colours).save("photo.png", transparency=key)
        run("filter median photo.png -o out.png --size 3 --overwrite --quiet")
        got = np.asarray(Image.open("out.png"))
        plain = (colours * 255 if colours.dtype == bool else colours).astype("u1").reshape(20, 30, -1)
        want = np.stack([fp.median_filter(plain[..., n], 3, device="cpu") for n in range(plain.shape[2])], axis=-1)
        np.testing.assert_array_equal(got[..., :-1], want)
        np.testing.assert_array_equal(got[..., -1], np.where((plain == key).all(axis=-1), 0, 255))
        assert 0 < np.count_nonzero(got[..., -1]) < 600
    with pytest.raises(FootprintError, match="transparency, which JPEG lacks"):
        run("filter median photo.png -o out.jpg --size 3 --quiet")
    Image.fromarray(values[..., 0].astype("u2")).save("photo.png", transparency=100)
    with pytest.raises(FootprintError, match="transparency beside grey of 16 bits"):
        run("filter median photo.png -o out.png --size 3 --overwrite --quiet")


def test_pixels_without_a_number_are_told_as_such(folder, rng):
    photo = made(rng.integers(100, 256, (40, 50, 3)).astype("u1"))
    bad = np.zeros((40, 50), np.uint8)
    bad[10:14, 20:25] = 255
    Image.fromarray(bad).save("bad.png")
    # Of 4 x 5 masked pixels, windows of 3 x 3 around 2 x 3 hold no other.
    told = run("convolve photo.png box:3 -o out.png --masked bad.png --boundary nearest --quiet").stderr
    assert "out.png: 6 pixels without an unmasked pixel under the mask are 0 in a picture; NaN remains if" in told
    assert "below 0" not in told
    got = np.asarray(Image.open("out.png"))
    assert not got[11:13, 21:24].any() and np.count_nonzero(got == 0) == 18 and photo.min() > 0
    Image.fromarray(bad // 255 * 3).save("few.png")
    told = run("convolve photo.png box:1 -o out.png --overwrite --weight few.png --quiet").stderr
    assert "1980 pixels without a pixel that counts under the mask are 0" in told and "below 0" not in told
    told = run("convolve photo.png box:3 -o out.png --overwrite --masked bad.png --cval nan --quiet").stderr
    assert "pixels of NaN are 0 in a picture" in told and "unmasked" not in told
    bad[:2, :2] = 255
    Image.fromarray(bad[:4, :4]).save("bad.png")
    made(photo[:4, :4])
    told = run("convolve photo.png box:3 -o out.png --overwrite --masked bad.png --boundary nearest --quiet").stderr
    assert "1 pixel without an unmasked pixel under the mask is 0" in told


def test_pages_along_several_axes_are_frames_of_a_stack(folder, rng):
    pages = rng.integers(0, 1000, (4, 2, 20, 30)).astype(np.uint16)
    for name, how in ("ij.tif", {"imagej": True}), ("ome.ome.tif", {"compression": "zlib", "photometric": "minisblack"}):
        tifffile.imwrite(name, pages, metadata={"axes": "ZCYX"}, **how)
        told = run(f"filter median {name} -o out.tif --size 3 --overwrite --quiet").stderr
        assert f"{name}: has 4 x 2 pages; they are filtered and written as 8 frames of one stack" in told
        want = np.stack([fp.median_filter(page, 3, device="cpu") for page in pages.reshape(8, 20, 30)])
        np.testing.assert_array_equal(tifffile.imread("out.tif"), want)
        run(f"convolve {name} mask.npy -o out.npy --overwrite --quiet")
        np.testing.assert_array_equal(np.load("out.npy")[5], fp.convolve(pages[2, 1], MASK, device="cpu"))
        with fp.open_image(name, (2, 1)) as image:
            np.testing.assert_array_equal(image.array(), pages[2, 1])
    # Of a scan, channels are no angles.
    with pytest.raises(FootprintError, match=r"\(4, 2, 20, 30\), wanted one stack of pages \(n_y, n_x\); save one channel"):
        fp.open_scan("ij.tif", angles=np.arange(8.0))


@pytest.mark.parametrize(
    ("shape", "dtype", "how", "told"),
    [
        (
            (3, 20, 30),
            "u1",
            {"photometric": "rgb", "planarconfig": "separate"},
            'if colours, pixel by pixel, with planarconfig="contig"',
        ),
        ((20, 30, 3), "f4", {"photometric": "rgb"}, "colours of 8 or 16 bits are taken; save each of these as a grey image"),
        ((5, 20, 30, 3), "u1", {"photometric": "rgb"}, "one page is taken, this has 5; save each as a file"),
        ((20, 30, 2), "u1", {"photometric": "minisblack", "planarconfig": "contig"}, "and grey without"),
        ((20, 30, 4), "u1", {"photometric": "separated"}, "save colours as RGB"),
    ],
)
def test_colours_that_are_refused_are_told_why(shape, dtype, how, told, folder, rng):
    tifffile.imwrite("photo.tif", rng.integers(0, 200, shape).astype(dtype), **how)
    for target in "out.tif", "out.png":
        for job in "filter median photo.tif --size 3", "convolve photo.tif mask.npy":
            with pytest.raises(FootprintError, match="wanted one grey value; ") as caught:
                run(f"{job} -o {target}")
            assert told in str(caught.value)


def test_a_picture_in_python_is_said_to_be_the_shell_s(folder, rng):
    values = rng.integers(0, 200, (20, 30, 3)).astype("u1")
    with tifffile.TiffWriter("photo.tif") as file:
        file.write(values, photometric="rgb")
        file.write(values[::2, ::2], photometric="rgb", subfiletype=1)
    with pytest.raises(FootprintError, match="footprint convolve and footprint filter take it as a picture"):
        fp.open_image("photo.tif")
