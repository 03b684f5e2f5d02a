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
    run("-o", tmp_path / "t.zarr", "--center", "try:26:27:1")
    assert json.loads((tmp_path / "t.zarr" / ".zattrs").read_text())["footprint"]["center"] == [26.0, 27.0]
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
