"""Volumes as OME-Zarr: what the format's own library reads, and what its files are where that is not installed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.cli.main import main
from footprint.io import ome_zarr
from footprint.io.image import Image
from footprint.io.phantom import projections, write_scan
from footprint.io.zarr_chunks import Chunks
from footprint.io.zarr_frames import ZarrFrames
from tests.scans import raw_scan


def stored(folder):
    """The array by the specification of Zarr 2: chunks in files of their indices, edges padded."""
    about = json.loads((folder / "0" / ".zarray").read_text())
    assert about["zarr_format"] == 2 and about["compressor"] is None and about["dimension_separator"] == "/"
    shape, (_, tall, wide) = about["shape"], about["chunks"]
    out = np.zeros((shape[0], -(-shape[1] // tall) * tall, wide), about["dtype"])
    for z in range(shape[0]):
        for j in range(out.shape[1] // tall):
            out[z, j * tall : (j + 1) * tall] = np.fromfile(folder / "0" / f"{z}/{j}/0", about["dtype"]).reshape(tall, wide)
    assert not out[:, shape[1] :].any()
    return out[:, : shape[1]]


@pytest.mark.parametrize("most", [1 << 20, 100])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_chunks_are_those_of_the_specification(tmp_path, rng, monkeypatch, most, dtype):
    monkeypatch.setattr(ome_zarr, "_CHUNK", most)
    values = (200 * rng.random((3, 11, 7))).astype(dtype)
    about = {"pixel_size": 0.002, "sample": "tooth", "rows": slice(1, 4), "center": 1.5, "nothing": None}
    with fp.create_volume(tmp_path / "v.zarr", values.shape, dtype, attrs=about) as volume:
        volume.write((slice(1, 3), slice(4, 11)), values[1:, 4:])
        volume.write((slice(1, 3), slice(0, 4)), np.asfortranarray(values[1:, :4]))
        volume.write(slice(0, 1), values[:1])
        with Image("v.zarr", ZarrFrames(volume.temporary), 2) as image:
            part = np.empty((6, 7), "f8")
            image.read(slice(3, 9), part)
    np.testing.assert_array_equal(part, values[2, 3:9])
    np.testing.assert_array_equal(stored(tmp_path / "v.zarr"), values)
    attributes = json.loads((tmp_path / "v.zarr" / ".zattrs").read_text())
    (scales,) = attributes["multiscales"]
    assert scales["version"] == "0.4" and [axis["unit"] for axis in scales["axes"]] == ["centimeter"] * 3
    assert scales["datasets"][0]["coordinateTransformations"] == [{"type": "scale", "scale": [0.002] * 3}]
    assert attributes["footprint"]["center"] == 1.5 and "nothing" not in attributes["footprint"]


def test_the_formats_own_library_reads_it(tmp_path, rng):
    zarr = pytest.importorskip("zarr")
    values = rng.random((2, 9, 5)).astype("f4")
    with fp.create_volume(tmp_path / "v.zarr", values.shape) as volume:
        volume.write(slice(0, 2), values)
    group = zarr.open_group(tmp_path / "v.zarr", mode="r")
    path = group.attrs["multiscales"][0]["datasets"][0]["path"]
    np.testing.assert_array_equal(group[path][:], values)


def test_the_shell_writes_replaces_and_resumes(tmp_path, monkeypatch):
    scan = write_scan(tmp_path / "scan.nx", n_angles=40, n_z=4, n_x=48).path
    words = ["reconstruct", str(scan), "--center", "27.2", "--device", "cpu", "--json", "--pixel-size", "0.1"]

    def run(*more, code=0):
        result = CliRunner().invoke(main, [*words, *map(str, more)])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    run("-o", tmp_path / "v.zarr", "--png", tmp_path / "p.png")
    with fp.open_scan(scan) as opened:
        want = fp.reconstruct(opened, center=27.2, pixel_size=0.1, device="cpu")
    np.testing.assert_array_equal(stored(tmp_path / "v.zarr"), want)
    assert "already exists" in str(run("-o", tmp_path / "v.zarr", code=1).exception)
    run("-o", tmp_path / "v.zarr", "--overwrite", "--resume", "--output-dtype", "uint8")
    assert stored(tmp_path / "v.zarr").dtype == "u1"
    # Of the other format, in the place of an earlier run's.
    for center in ("try:25:26:1", "try:26:27:1"):
        run("-o", tmp_path / "t.zarr", "--center", center, "--zarr-format", "3", "--overwrite", "--png", tmp_path / "p.png")
    about = json.loads((tmp_path / "t.zarr" / "zarr.json").read_text())["attributes"]
    assert about["footprint"]["center"] == [26.0, 27.0]
    foreign = tmp_path / "other.zarr"
    foreign.mkdir()
    (foreign / ".zattrs").write_text("{}")
    assert "no earlier run wrote" in str(run("-o", foreign, "--overwrite", code=1).exception)
    (tmp_path / "v.zarr" / "notes.txt").write_text("mine")
    assert "notes.txt" in str(run("-o", tmp_path / "v.zarr", "--overwrite", code=1).exception)
    assert not list(tmp_path.glob(".*partial*"))


def test_a_stopped_run_goes_on(tmp_path, rng):
    angles = np.linspace(0, np.pi, 40, endpoint=False)
    scan = raw_scan(projections(48, np.linspace(-0.2, 0.2, 12), angles, 27.2) * 0.02, angles, rng)
    target, calls = tmp_path / "v.zarr", []

    def stop(done, total):
        calls.append(done)
        if len(calls) == 2:
            raise KeyboardInterrupt

    how = {"center": 27.2, "device": "cpu"}
    small = fp.plan_reconstruct(scan, written=True, **how).footprint.total // 2
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="--resume"):
        with fp.create_volume(target, (12, 48, 48), resume=True) as volume:
            fp.reconstruct(scan, out=volume, progress=stop, memory=small, **how)
    with fp.create_volume(target, (12, 48, 48), resume=True) as volume:
        fp.reconstruct(scan, out=volume, memory=small, **how)
        assert volume.resumed > 0
    np.testing.assert_array_equal(stored(target), fp.reconstruct(scan, **how))


def halved(values):
    """Means of 2 x 2 x 2; what is left over at an odd end stands for what is not there."""
    wide = np.pad(values.astype("f8"), [(0, n % 2) for n in values.shape], "edge")
    z, y, x = (n // 2 for n in wide.shape)
    found = wide.reshape(z, 2, y, 2, x, 2).mean(axis=(1, 3, 5))
    return found if values.dtype.kind == "f" else np.rint(found)


@pytest.mark.parametrize(("compression", "dtype"), [("blosc", "float32"), ("zstd", "uint16"), ("gzip", "uint8"), ("none", "int32")])
@pytest.mark.parametrize(("most", "form"), [(1 << 20, 2), (100, 3)])
def test_compressed_levels_as_the_formats_own_library_reads_them(tmp_path, rng, monkeypatch, compression, dtype, most, form):
    zarr = pytest.importorskip("zarr")
    if compression in ("blosc", "zstd"):
        pytest.importorskip("imagecodecs")
    monkeypatch.setattr(ome_zarr, "_PACKED", most)
    values = (200 * rng.random((5, 11, 7))).astype(dtype)
    how = {"compression": compression, "levels": 4, "attrs": {"pixel_size": 0.002}, "zarr_format": form}
    with fp.create_volume(tmp_path / "v.zarr", values.shape, dtype, **how) as volume:
        # Rows of slices in any order, whole slices, others' dtype and strides.
        volume.write((slice(1, 3), slice(4, 11)), values[1:3, 4:])
        volume.write((slice(1, 3), slice(0, 4)), np.asfortranarray(values[1:3, :4]))
        volume.write(slice(0, 1), values[:1].astype(values.dtype.newbyteorder()))
        volume.write(slice(3, 5), values[3:])
        assert volume.host_bytes(dtype) >= 2 * values[0].nbytes * min(1, most // 100)
    group, want = zarr.open_group(tmp_path / "v.zarr", mode="r"), values
    about = group.attrs["ome"] if form == 3 else group.attrs["multiscales"][0]
    assert group.metadata.zarr_format == form and about["version"] == ("0.5" if form == 3 else "0.4")
    (scales,) = about["multiscales"] if form == 3 else [about]
    assert group.attrs["footprint"]["pixel_size"] == 0.002
    assert [entry["path"] for entry in scales["datasets"]] == ["0", "1", "2", "3"]
    assert scales["datasets"][2]["coordinateTransformations"] == [
        {"type": "scale", "scale": [0.008] * 3},
        {"type": "translation", "translation": [0.003] * 3},
    ]
    for level in range(4):
        found = group[str(level)]
        assert (len(found.compressors) == 1) == (compression != "none")
        assert form == 2 or found.metadata.dimension_names == tuple("zyx")
        np.testing.assert_allclose(found[:], want, rtol=1e-6)
        want = halved(found[:])
    assert not list((tmp_path / "v.zarr").rglob("*.rows"))
    with Image("v.zarr", Chunks(tmp_path / "v.zarr/0", 4), 0) as image:
        part = np.empty((6, 7), "f8")
        image.read(slice(3, 9), part)
    np.testing.assert_array_equal(part, values[4, 3:9])
    chunk = tmp_path / "v.zarr/0" / ("c" if form == 3 else "") / "4/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-9])
    with Image("v.zarr", Chunks(tmp_path / "v.zarr/0", 4), 0) as image, pytest.raises(fp.FormatError):
        image.read(slice(0, 11), np.empty((11, 7), "f8"))


def test_a_compressed_volume_is_resumed_by_its_settings(tmp_path, rng):
    values = rng.random((4, 9, 6)).astype("f4")
    facts = {"a": "b"}

    def begin(**how):
        volume = fp.create_volume(tmp_path / "v.zarr", values.shape, resume=True, **how)
        return volume, volume.resume(facts, "z")

    volume, done = begin(compression="gzip", levels=2)
    volume.write(slice(0, 2), values[:2])
    volume.flush()
    done.add(0, 2)
    with pytest.warns(UserWarning, match="--resume continues"):
        volume.discard()
    with pytest.raises(fp.FormatError, match="compression and levels was gzip, 2 and is now none, 2"):
        begin(compression="none", levels=2)
    with pytest.raises(fp.FormatError, match="Zarr's format was 2 and is now 3"):
        begin(compression="gzip", levels=2, zarr_format=3)
    volume, done = begin(compression="gzip", levels=2)
    assert done.count == 2
    with volume:
        volume.write(slice(2, 4), values[2:])
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "v.zarr", mode="r")
    np.testing.assert_array_equal(group["0"][:], values)
    np.testing.assert_allclose(group["1"][:], halved(values), rtol=1e-6)


@pytest.mark.parametrize("form", [2, 3])
def test_projections_of_a_scan_from_zarr(tmp_path, rng, form):
    counts = rng.integers(50, 99, (6, 4, 9)).astype("u2")
    for name, values in (("projections", counts), ("flats", counts[:2] + 50)):
        with fp.create_volume(tmp_path / f"{name}.zarr", values.shape, "uint16", zarr_format=form) as stack:
            stack.write(slice(0, len(values)), values)
    with fp.open_scan(tmp_path / "projections.zarr", tmp_path / "flats.zarr", angles=np.arange(6) * 0.5) as scan:
        out = np.empty((3, 2, 9), "u2")
        scan.read(slice(1, 3), out, slice(2, 5))
        np.testing.assert_array_equal(out, counts[2:5, 1:3])
        np.testing.assert_array_equal(scan.flat_means()[0], counts[:2].mean(0) + 50)


@pytest.mark.parametrize(
    ("name", "how", "word"),
    [
        ("v.zarr", {"compression": "lz4"}, "one of none, blosc, zstd, gzip"),
        ("v.zarr", {"levels": 0}, "from 1 to 16"),
        ("v.zarr", {"zarr_format": 4}, "2 .OME-Zarr 0.4. or 3"),
        ("v.h5", {"zarr_format": 3}, "called .zarr"),
        ("v.h5", {"levels": 2}, "called .zarr"),
        ("v.tif", {"compression": "gzip"}, "called .zarr"),
    ],
)
def test_what_cannot_be_compressed_is_refused(tmp_path, name, how, word):
    with pytest.raises(fp.ArgumentError, match=word):
        fp.create_volume(tmp_path / name, (1, 2, 3), **how)
