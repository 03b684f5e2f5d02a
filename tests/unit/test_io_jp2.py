"""Slices as JPEG 2000: what another decoder reads, what came in pieces, and what is refused."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image, features

import footprint as fp
from footprint.cli.main import main
from footprint.io.jp2 import Jp2Slice, encoding_bytes
from footprint.io.phantom import write_scan
from footprint.io.volume_source import open_volume

pytest.importorskip("imagecodecs", reason="imagecodecs, the extra jp2, is not installed")

HOW = {"image_format": "jp2"}


def boxes(data: bytes) -> dict[bytes, bytes]:
    """Boxes of the file by their type."""
    found, at = {}, 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        assert size >= 8 and at + size <= len(data)
        found[data[at + 4 : at + 8]] = data[at + 8 : at + size]
        at += size
    return found


@pytest.mark.skipif(not features.check("jpg_2000"), reason="this Pillow has no JPEG 2000")
@pytest.mark.parametrize(("dtype", "shape"), [("uint8", (3, 37, 53)), ("uint16", (2, 64, 41)), ("uint16", (1, 1, 7))])
def test_slices_are_those_that_another_decoder_reads(tmp_path, rng, dtype, shape):
    values = rng.integers(0, np.iinfo(dtype).max, shape, endpoint=True).astype(dtype)
    about = {"pixel_size": 0.002, "sample": "a <b> & c"}
    with fp.create_volume(tmp_path / "v", shape, dtype, attrs=about, first=7, **HOW) as volume:
        half = shape[1] // 2
        if half:
            # Rows that come apart, in any order, strides and byte order; then whole slices.
            volume.write((slice(0, 1), slice(half, shape[1])), values[:1, half:].astype(values.dtype.newbyteorder()))
            volume.write((slice(0, 1), slice(0, half)), np.asfortranarray(values[:1, :half]))
        volume.write(slice(1 if half else 0, shape[0]), values[1 if half else 0 :])
        assert volume.host_bytes(dtype) == encoding_bytes(shape[1:], np.dtype(dtype))
    files = sorted((tmp_path / "v").iterdir())
    assert [file.name for file in files] == [f"slice_{7 + i:05d}.jp2" for i in range(shape[0])]
    for row, (file, want) in enumerate(zip(files, values), 7):
        with Image.open(file) as image:
            np.testing.assert_array_equal(np.asarray(image), want)
        said = json.loads(ElementTree.fromstring(boxes(file.read_bytes())[b"xml "]).text)
        assert said == {**about, "row": row}
    volume = open_volume(tmp_path / "v" if len(files) > 2 else tmp_path / "v/*.jp2")
    found = np.empty(shape, "f4")
    volume.frames.read(0, shape[0], slice(0, shape[1]), found)
    np.testing.assert_array_equal(found, values)
    volume.frames.read(0, 1, slice(0, shape[1]), found[:1])
    np.testing.assert_array_equal(found, values)
    assert {"sample": "a <b> & c", "row": "7"}.items() <= dict(volume.about).items() and volume.frames.dtype == dtype
    part = np.empty((1, min(5, shape[1]), shape[2]), "f4")
    Jp2Slice(files[-1]).read(0, 1, slice(0, part.shape[1]), part)
    np.testing.assert_array_equal(part[0], values[-1, : part.shape[1]])
    files[0].write_bytes(files[0].read_bytes()[:60])
    for cut in (files[0], tmp_path / "v"):
        with pytest.raises(fp.FormatError, match="cannot be decoded"):
            open_volume(cut)


def test_slices_of_different_sizes_are_no_volume(tmp_path):
    for row, shape in enumerate([(4, 5), (4, 5), (5, 4)]):
        with fp.create_volume(tmp_path / str(row), (1, *shape), "uint8", first=row, **HOW) as volume:
            volume.write(slice(0, 1), np.ones((1, *shape), "u1"))
    source = open_volume(str(tmp_path / "*/*.jp2"))
    out = np.empty((1, 4, 5), "u1")
    with pytest.raises(fp.FormatError, match=r"slice_00002\.jp2: is uint8 5 x 4, slice_00000\.jp2 is uint8 4 x 5"):
        source.frames.read(2, 3, slice(0, 4), out)
    source.frames.read(1, 2, slice(0, 4), out)
    assert (out == 1).all()


def test_a_quality_loses_a_little(tmp_path, rng):
    values = (20000 + 3000 * rng.standard_normal((1, 64, 64))).astype("u2")
    sizes = []
    for quality in (None, 50):
        with fp.create_volume(tmp_path / str(quality), values.shape, "uint16", quality=quality, **HOW) as volume:
            volume.write(slice(0, 1), values)
        file = tmp_path / str(quality) / "slice_00000.jp2"
        error = Jp2Slice(file)._values - values[0].astype("f8")
        assert quality is None or 46 < 20 * np.log10(65535 / error.std()) < 54
        sizes.append(file.stat().st_size)
    assert sizes[1] < 0.8 * sizes[0]


def test_a_stopped_run_goes_on_with_rows_of_a_slice(tmp_path, rng):
    """What came in rows is not encoded before it is whole; nor are chunks of OME-Zarr."""
    values = rng.integers(0, 999, (1, 12, 9)).astype("u2")
    for name, how in (("v", HOW), ("v.zarr", {"compression": "gzip"})):
        volume = fp.create_volume(tmp_path / name, values.shape, "uint16", resume=True, **how)
        done = volume.resume({"a": "b"}, "y")
        volume.write((slice(0, 1), slice(0, 5)), values[:, :5])
        volume.flush()
        done.add(0, 5)
        with pytest.warns(UserWarning, match="--resume continues"):
            volume.discard()
        with fp.create_volume(tmp_path / name, values.shape, "uint16", resume=True, **how) as volume:
            assert volume.resume({"a": "b"}, "y").count == 5
            volume.write((slice(0, 1), slice(5, 12)), values[:, 5:])
    np.testing.assert_array_equal(Jp2Slice(tmp_path / "v/slice_00000.jp2")._values, values[0])
    zarr = pytest.importorskip("zarr")
    np.testing.assert_array_equal(zarr.open_group(tmp_path / "v.zarr", mode="r")["0"][:], values)


def test_the_shell_writes_them_within_the_plan(tmp_path):
    scan = write_scan(tmp_path / "scan.nx", n_angles=40, n_z=4, n_x=48).path
    words = ["reconstruct", str(scan), "--center", "27.2", "--device", "cpu", "--json", "-o", str(tmp_path / "slices")]
    words += ["--image-format", "jp2", "--png", str(tmp_path / "p.png"), "--range=-0.1:0.6", "--overwrite", "--output-dtype"]
    (tmp_path / "slices").mkdir()
    (tmp_path / "slices/slice_00003.tif").touch()
    done = CliRunner().invoke(main, [*words, "uint8"])
    assert done.exit_code == 0, (done.output, done.exception)
    library = int(re.search(r'"plan_library": (\d+)', done.output)[1])
    assert library > encoding_bytes((48, 48), np.dtype("u1")) and (tmp_path / "p.png").exists()
    assert [file.name for file in sorted((tmp_path / "slices").iterdir())] == [f"slice_0000{row}.jp2" for row in range(4)]
    with fp.open_scan(scan) as opened:
        want = fp.reconstruct(opened, center=27.2, device="cpu", out_dtype="uint8", out_range=(-0.1, 0.6))
    np.testing.assert_array_equal(Jp2Slice(tmp_path / "slices/slice_00002.jp2")._values, want[2])
    refused = CliRunner().invoke(main, [*words, "float32"]).exception
    assert isinstance(refused, fp.ArgumentError) and "--output-dtype uint16" in str(refused)


@pytest.mark.parametrize(
    ("name", "how", "word"),
    [
        ("v", {"image_format": "png"}, "one of tif, jp2"),
        ("v.h5", {"image_format": "jp2"}, "a folder of slices"),
        ("v", {"image_format": "jp2", "quality": 0}, "decibels from 10 to 200"),
        ("v", {"quality": 40.0}, "with image_format jp2"),
    ],
)
def test_what_cannot_be_encoded_is_refused(tmp_path, name, how, word):
    with pytest.raises(fp.ArgumentError, match=word):
        fp.create_volume(tmp_path / name, (1, 2, 3), "uint8", **how)
