"""Sizes of pixels go from file to file where both can say them, and nobody is told a size that is none."""

from __future__ import annotations

import json
import xml.etree.ElementTree as tree
from pathlib import Path

import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from PIL import Image

import footprint as fp
from footprint.cli.main import main
from footprint.errors import ArgumentError

FILTER = "filter median {} -o {} --size 3 --overwrite --quiet"
CONVOLVE = "convolve {} box:3 -o {} --overwrite --quiet --boundary nearest"
BY_INCH = {"resolution": (300, 150), "resolutionunit": "INCH"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line, *names):
    return CliRunner().invoke(main, line.format(*names).split(), catch_exceptions=False)


def _zarr(path, values, axes, units, sizes):
    """An array of one chunk a plane under a group that says this of it; of format 2, by hand."""
    plane, lead = (1,) * (values.ndim - 2) + values.shape[-2:], values.shape[:-2]
    (path / "0").mkdir(parents=True)
    about = {"zarr_format": 2, "shape": values.shape, "chunks": plane, "dtype": "<u2", "order": "C"}
    (path / "0/.zarray").write_text(json.dumps(about | {"compressor": None, "filters": None, "fill_value": 0}))
    for at in np.ndindex(lead):
        (path / "0" / ".".join(map(str, (*at, 0, 0)))).write_bytes(values[at].astype("<u2").tobytes())
    axes = [{"name": name, "type": "space", **({"unit": unit} if unit else {})} for name, unit in zip(axes, units)]
    places = [{"type": "scale", "scale": sizes}]
    scales = [{"version": "0.4", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": places}]}]
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    (path / ".zattrs").write_text(json.dumps({"multiscales": scales}))


def _stack(kind, values):
    """A stack whose pixels are .5 x .25 um, 1.5 um apart, as this kind of file says it."""
    if kind == "imagej":
        words = {"axes": "ZYX", "unit": "um", "spacing": 1.5}
        tifffile.imwrite("in.tif", values, imagej=True, resolution=(4, 2), metadata=words)
    elif kind == "ome":
        words = {"axes": "ZYX", "PhysicalSizeX": 250, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.5, "PhysicalSizeZ": 1.5}
        tifffile.imwrite("in.ome.tif", values, metadata=words)
        return "in.ome.tif"
    else:
        _zarr(Path("in.zarr"), values, "zyx", ["micrometer"] * 3, [1.5, 0.5, 0.25])
        return "in.zarr"
    return "in.tif"


def _um(path):
    """Sizes along z, y and x in micrometres, as other readers find them."""
    if path.endswith(".zarr"):
        said = json.loads(open(f"{path}/.zattrs").read())["multiscales"][0]
        by = {"micrometer": 1.0, "nanometer": 1e-3, "inch": 25400.0}
        sizes = said["datasets"][0]["coordinateTransformations"][0]["scale"]
        return [size * by[axis["unit"]] if "unit" in axis else None for size, axis in zip(sizes, said["axes"])]
    with tifffile.TiffFile(path) as file:
        tags = file.pages[0].tags
        x, y = (tags[f"{axis}Resolution"].value for axis in "XY")
        x, y = x[1] / x[0], y[1] / y[0]
        if file.is_ome:
            pixels = tree.fromstring(file.ome_metadata).find(".//{*}Pixels")
            by = {"\u00b5m": 1.0, "nm": 1e-3, "in": 25400.0}
            sizes = [pixels.get(f"PhysicalSize{axis}") for axis in "ZYX"]
            units = [pixels.get(f"PhysicalSize{axis}Unit") for axis in "ZYX"]
            found = [None if size is None else float(size) * by[unit] for size, unit in zip(sizes, units)]
            if found[1] is not None:
                # Readers of TIFF alone find the same.
                by = 25400 if tags["ResolutionUnit"].value == 2 else 10000
                np.testing.assert_allclose([y * by, x * by], found[1:], rtol=1e-6)
            return found
        if not file.is_imagej:
            by = {1: None, 2: 25400, 3: 10000}[int(tags["ResolutionUnit"].value)]
            return [None, y * by, x * by] if by else [None] * 3
        words = file.imagej_metadata
        by = {"um": 1.0, "nm": 1e-3, "inch": 25400.0}[words["unit"]]
        return [None if "spacing" not in words else words["spacing"] * by, y * by, x * by]


@pytest.mark.parametrize("target", ["out.tif", "out.ome.tif", "out.zarr"])
@pytest.mark.parametrize("kind", ["imagej", "ome", "zarr"])
@pytest.mark.parametrize("line", [FILTER, CONVOLVE])
def test_sizes_of_a_stack_go_from_any_file_to_any(line, kind, target, folder, rng):
    values = rng.integers(0, 60000, (3, 12, 10)).astype("u2")
    assert run(line, _stack(kind, values), target).exit_code == 0
    np.testing.assert_allclose(_um(target), [1.5, 0.5, 0.25], rtol=1e-6)
    # Of one plane too, and from there on.
    run(line + " --plane 1", _stack(kind, values) if kind != "zarr" else "in.zarr", "plane.tif")
    np.testing.assert_allclose(_um("plane.tif")[1:], [0.5, 0.25], rtol=1e-6)
    run(FILTER, "plane.tif", "again.zarr")
    np.testing.assert_allclose(_um("again.zarr")[1:], [0.5, 0.25], rtol=1e-6)
    if target.endswith(".tif"):
        want = np.stack([fp.median_filter(frame, 3, device="cpu") for frame in values])
        got = tifffile.imread(target)
        assert got.shape == values.shape and (line == CONVOLVE or np.array_equal(got, want))
        with tifffile.TiffFile(target) as file:
            assert file.series[0].axes == "ZYX" and file.is_ome == target.endswith(".ome.tif")


def test_resolution_tags_stay_as_they_are(folder, rng):
    values = rng.integers(0, 60000, (12, 10)).astype("u2")
    for unit, how in (2, BY_INCH), (3, {"resolution": (300, 150), "resolutionunit": "CENTIMETER"}):
        tifffile.imwrite("in.tif", values, **how)
        run(FILTER, "in.tif", "out.tif")
        with tifffile.TiffFile("out.tif") as file:
            tags = file.pages[0].tags
            assert (tags["XResolution"].value, tags["YResolution"].value) == ((300, 1), (150, 1))
            assert tags["ResolutionUnit"].value == unit and not file.is_imagej
        stack = np.stack([values, values])
        tifffile.imwrite("in.tif", stack, photometric="minisblack", **how)
        run(FILTER, "in.tif", "out.ome.tif")
        with tifffile.TiffFile("out.ome.tif") as file:
            assert file.pages[0].tags["ResolutionUnit"].value == unit and file.series[0].axes == "ZYX"
            assert 'PhysicalSizeZ="' not in file.ome_metadata


@pytest.mark.parametrize(("unit", "how"), [("um", ["\\u00B5m", "micron", "\u03bcm"]), ("nm", ["nm"]), ("inch", ["inch"])])
def test_units_of_imagej_have_many_names(unit, how, folder, rng):
    for name in how:
        words = {"axes": "YX", "unit": name}
        name.isascii() and tifffile.imwrite("in.tif", np.ones((4, 5), "u1"), imagej=True, resolution=(4, 2), metadata=words)
        run(FILTER, "in.tif", "out.tif")
        with tifffile.TiffFile("out.tif") as file:
            assert unit == "inch" or file.imagej_metadata["unit"] == unit
        np.testing.assert_allclose(_um("out.tif")[1:], np.array([0.5, 0.25]) * {"um": 1, "nm": 1e-3, "inch": 25400}[unit])


@pytest.mark.parametrize("target", ["out.tif", "out.ome.tif", "out.zarr"])
def test_what_is_not_known_is_not_made_up(target, folder, rng):
    values = rng.integers(0, 60000, (3, 12, 10)).astype("u2")
    for unknown in (
        {},
        {"imagej": True, "resolution": (4, 2), "metadata": {"axes": "ZYX", "unit": "pixel", "spacing": 2.0}},
        {"imagej": True, "resolution": (4, 2), "metadata": {"axes": "ZYX", "unit": "furlong"}},
        {"resolution": (4, 2), "resolutionunit": "NONE"},
    ):
        tifffile.imwrite("in.tif", values, **({} if "imagej" in unknown else {"photometric": "minisblack"}), **unknown)
        run(FILTER, "in.tif", target)
        assert _um(target) == [None] * 3
    # Channels, and times, are no steps along z, whatever those are.
    pages = rng.integers(0, 60000, (2, 2, 12, 10)).astype("u2")
    for axes, values in ("ZCYX", pages), ("TYX", pages[0]), ("CYX", pages[0]):
        words = {"axes": axes, "unit": "um", "spacing": 1.5}
        tifffile.imwrite("in.tif", values, imagej=True, resolution=(4, 2), metadata=words)
        run(FILTER, "in.tif", target)
        assert _um(target)[0] is None
        np.testing.assert_allclose(_um(target)[1:], [0.5, 0.25], rtol=1e-6)
        if target != "out.zarr":
            with tifffile.TiffFile(target) as file:
                assert file.series[0].axes == "TYX"


def test_axes_of_zarr_may_have_any_units_and_some_none(folder, rng):
    values = rng.integers(0, 60000, (1, 3, 12, 10)).astype("u2")
    _zarr(folder / "a.zarr", values, "tzyx", ["second", "nanometer", "micrometer", "nanometer"], [9.0, 1500.0, 0.5, 250.0])
    _zarr(folder / "b.zarr", values, "czyx", [None, None, "micrometer", "nanometer"], [1.0, 1500.0, 0.5, 250.0])
    _zarr(folder / "c.zarr", values[0], "cyx", [None, "micrometer", "nanometer"], [1.0, 0.5, 250.0])
    _zarr(folder / "d.zarr", values[0], "zyx", [None] * 3, [1.5, 0.5, 0.25])
    for name, want in ("a", [1.5, 0.5, 0.25]), ("b", [None, 0.5, 0.25]), ("c", [None, 0.5, 0.25]), ("d", [None] * 3):
        run(FILTER, f"{name}.zarr", "out.zarr")
        assert _um("out.zarr") == pytest.approx(want)
    said = json.loads((folder / "out.zarr/.zattrs").read_text())["multiscales"][0]
    assert said["datasets"][0]["coordinateTransformations"][0]["scale"] == [1.0] * 3


def test_damaged_words_cost_no_pixels(folder, rng):
    values = rng.integers(0, 60000, (3, 12, 10)).astype("u2")
    for words in "ImageJ=1\nimages=3\nslices=3\nunit=um\nspacing=many\n", "<OME><Pixels PhysicalSizeX='' </OME>":
        tifffile.imwrite("in.tif", values, photometric="minisblack", description=words, metadata=None, resolution=(0, 2))
        assert run(FILTER, "in.tif", "out.tif").exit_code == 0
        np.testing.assert_array_equal(tifffile.imread("out.tif")[1], fp.median_filter(values[1], 3, device="cpu"))
    _zarr(folder / "a.zarr", values, "zyx", ["micrometer"] * 3, ["wide", None, 3])
    assert run(FILTER, "a.zarr", "out.tif").exit_code == 0


@pytest.mark.parametrize("source", ["a.png", "a.jpg", "a.tif"])
def test_pictures_keep_their_pixels_an_inch(source, folder, rng):
    values = rng.integers(0, 256, (12, 10, 3)).astype("u1")
    if source == "a.tif":
        tifffile.imwrite(source, values, photometric="rgb", **BY_INCH)
    else:
        Image.fromarray(values).save(source, dpi=(300, 150))
    for target in "b.png", "b.jpg", "b.tif":
        run(FILTER, source, target)
        with Image.open(target) as image:
            np.testing.assert_allclose(np.asarray(image.info["dpi"], float), [300, 150], rtol=1e-4)
    Image.fromarray(values).save("c.png")
    run(FILTER, "c.png", "d.png")
    assert "dpi" not in Image.open("d.png").info
    # A folder of them is a stack of images of that size.
    (folder / "frames").mkdir()
    for number in range(2):
        Image.fromarray(values[..., 0]).save(f"frames/{number}.png", dpi=(300, 150))
    run(FILTER, "frames", "out.tif")
    np.testing.assert_allclose(_um("out.tif")[1:], [25400 / 150, 25400 / 300], rtol=1e-4)


def test_a_picture_of_a_microscope_has_more_pixels_an_inch_than_jpeg_counts(folder, rng):
    values = rng.integers(0, 256, (12, 10, 3)).astype("u1")
    tifffile.imwrite("a.tif", values, imagej=True, resolution=(4, 2), metadata={"unit": "um"})
    for target in "b.png", "b.tif":
        run(FILTER, "a.tif", target)
        np.testing.assert_allclose(np.asarray(Image.open(target).info["dpi"], float), [4 * 25400, 2 * 25400], rtol=1e-4)
    assert run(FILTER, "a.tif", "b.jpg").exit_code == 0 and "dpi" not in Image.open("b.jpg").info


def test_a_name_that_promises_ome_gets_it_or_is_refused(folder, rng):
    for shape in (12, 10), (1, 12, 10), (3, 1, 10), (3, 12, 1), (4, 12, 10):
        values = rng.integers(0, 60000, shape).astype("u2")
        tifffile.imwrite("a.tif", values, photometric="minisblack")
        run(FILTER, "a.tif", "out.ome.tiff")
        with tifffile.TiffFile("out.ome.tiff") as file:
            assert file.is_ome and file.series[0].axes == "ZYX"[-file.series[0].ndim :]
            want = np.stack([fp.median_filter(frame, 3, device="cpu") for frame in values.reshape(-1, *shape[-2:])])
            np.testing.assert_array_equal(file.asarray().reshape(want.shape), want)
    np.save("a.npy", values.astype("f2"))
    with pytest.raises(ArgumentError, match=r"wanted a name ending in .tif alone for float16, which OME-TIFF lacks"):
        run(FILTER, "a.npy", "b.ome.tif")
    assert not (folder / "b.ome.tif").exists()


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_picture_that_promises_ome_has_it(channels, folder, rng):
    values = rng.integers(0, 256, (12, 10, channels)).astype("u1")
    Image.fromarray(values[..., 0] if channels == 1 else values).save("a.png", dpi=(300, 150))
    run(FILTER, "a.png", "b.ome.tif")
    np.testing.assert_allclose(_um("b.ome.tif")[1:], [25400 / 150, 25400 / 300], rtol=1e-4)
    with tifffile.TiffFile("b.ome.tif") as file:
        assert file.is_ome and file.series[0].axes == ("YX" if channels == 1 else "YXS")
        want = np.stack([fp.median_filter(values[..., n], 3, device="cpu") for n in range(channels)], -1)
        want[..., 3:] = values[..., 3:]
        np.testing.assert_array_equal(file.asarray().reshape(values.shape), want)
    # And is a picture again.
    run(FILTER, "b.ome.tif", "c.ome.tif" if channels > 1 else "c.tif")
    assert tifffile.imread("c.ome.tif" if channels > 1 else "c.tif").shape == values.squeeze().shape


def test_an_image_is_created_like_another(folder, rng):
    _stack("imagej", rng.integers(0, 60000, (3, 12, 10)).astype("u2"))
    with fp.open_image("in.tif", 1) as image:
        assert (image.scale.z, image.scale.y, image.scale.x, image.scale.unit) == (1.5, 0.5, 0.25, "micrometer")
        with fp.create_image("out.tif", image.shape, like=image) as out:
            out.write(slice(0, 12), image.array().astype("f4"))
    np.testing.assert_allclose(_um("out.tif")[1:], [0.5, 0.25])
    np.save("a.npy", np.ones((3, 4)))
    with fp.open_image("a.npy") as image:
        assert image.scale is None


def test_maps_and_labels_of_a_search_are_as_large(folder, rng):
    values = rng.standard_normal((40, 50)).astype("f4")
    values[10:13, 20:22] += 50
    tifffile.imwrite("in.tif", values, imagej=True, resolution=(4, 2), metadata={"unit": "um"})
    run("sources in.tif -o a.ecsv --segmentation labels.tif --background mesh --save-noise noise.tif --device cpu --quiet")
    for name in "labels.tif", "noise.tif":
        np.testing.assert_allclose(_um(name)[1:], [0.5, 0.25])


def test_planes_of_a_search_are_no_steps_along_z(folder, rng):
    values = rng.standard_normal((4, 40, 50)).astype("f4")
    values[:, 10:13, 20:22] += 50
    words = {"axes": "ZYX", "unit": "um", "spacing": 1.5}
    tifffile.imwrite("in.tif", values, imagej=True, resolution=(4, 2), metadata=words)
    run("sources in.tif -o a.ecsv --plane 0,3 --segmentation labels.tif --device cpu --quiet")
    assert _um("labels.tif")[0] is None
    np.testing.assert_allclose(_um("labels.tif")[1:], [0.5, 0.25])
