"""Folders of frames: outputs stay out of them, and a frame that is unlike the others is told of before the run."""

from __future__ import annotations

import shlex
import sys

import h5py
import numpy as np
import pytest
import tifffile
from astropy.io import fits

import footprint as fp
from footprint.cli.main import entry
from footprint.io import frames as io_frames
from footprint.io.frame_source import open_source
from tests.unit.cli_files import listing

FRAMES = np.random.default_rng(3).integers(100, 900, (24, 4, 32)).astype(np.uint16)
WRITE = {
    "tif": lambda path, frame: tifffile.imwrite(path, frame, photometric="minisblack"),
    "packed.tif": lambda path, frame: tifffile.imwrite(path, frame, photometric="minisblack", compression="zlib"),
    "npy": np.save,
    "fits": fits.writeto,
    "h5": lambda path, frame: h5py.File(path, "w").create_dataset("data", data=frame).file.close(),
}


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder("frames", "tif")

    def run(line):
        monkeypatch.setattr(sys, "argv", ["footprint", *shlex.split(line)])
        with pytest.raises(SystemExit) as left:
            entry()
        said = capsys.readouterr().err.splitlines()
        return left.value.code, [one for one in said if one.startswith("footprint: ") and "warning" not in one]

    return run


def folder(name, kind, frames=FRAMES):
    from pathlib import Path

    Path(name).mkdir()
    for i, frame in enumerate(frames):
        WRITE[kind](f"{name}/f{i:02}.{kind}", frame)


JOBS = ("convolve {} box:3", "filter median {} --size 3")
SCAN = "reconstruct {} --center 15.5 --no-log --rows 1:2"


@pytest.mark.parametrize("job", [*JOBS, SCAN])
@pytest.mark.parametrize("out", ["frames/out.tif", "frames/f03.tif", "other/../frames/out.TIFF", "link/out.tif"])
def test_an_output_among_the_frames_is_refused(say, tmp_path, job, out):
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "frames")
    before = listing(tmp_path)
    code, said = say(f"{job.format('frames')} -o {out} --overwrite --device cpu")
    words = f"footprint: --out: got {out}, which would be one more frame of frames in the next run, wanted a file that is not among"
    assert code == 2 and len(said) == 1 and said[0].startswith(words), said
    assert listing(tmp_path) == before


@pytest.mark.parametrize("kind", ["npy", "fits", "h5"])
def test_any_kind_of_image_would_be_a_frame(say, tmp_path, kind):
    code, said = say(f"{JOBS[0].format('frames')} -o frames/out.{kind} --device cpu")
    assert code == 2 and f"got frames/out.{kind}, which would be one more frame" in said[0]
    assert not (tmp_path / f"frames/out.{kind}").exists()


def test_flats_and_names_with_stars_count(say, tmp_path):
    np.save("scan.npy", FRAMES)
    code, said = say("reconstruct scan.npy --flats frames -o frames/v.tif --center 15.5 --device cpu")
    assert code == 2 and "got frames/v.tif, which would be one more frame of frames" in said[0]
    code, said = say(f"{SCAN.format('frames/*.tif')} -o frames/v.tif --device cpu")
    assert code == 2 and "one more frame of frames/*.tif" in said[0]
    assert say(f"{SCAN.format('frames/f*.tif')} -o frames/v.tif --device cpu -q") == (0, [])
    assert say(f"{SCAN.format('frames/f*.tif')} -o v.tif --device cpu -q") == (0, [])


@pytest.mark.parametrize("out", ["frames/v.h5", "frames/v.zarr", "frames/slices", "frames/.v.tif"])
def test_what_is_never_taken_for_a_projection_may_lie_beside(say, out):
    assert say(f"{SCAN.format('frames')} -o {out} --device cpu -q") == (0, [])
    with fp.open_scan("frames") as scan:
        assert scan.shape == FRAMES.shape


@pytest.mark.parametrize("out", ["frames/out.zarr", "frames/.out.tif", "frames/deep/out.tif"])
def test_what_is_never_taken_for_a_frame_may_lie_beside(say, tmp_path, out):
    (tmp_path / "frames/deep").mkdir()
    assert say(f"{JOBS[0].format('frames')} -o {out} --device cpu -q") == (0, [])
    with open_source("frames") as source:
        assert source.shape == FRAMES.shape


@pytest.mark.parametrize("kind", WRITE)
@pytest.mark.parametrize("odd", [FRAMES[0, :3], FRAMES[0].astype(np.float32)], ids=["shape", "dtype"])
@pytest.mark.parametrize("verb", ["", "plan "])
def test_a_frame_that_differs_is_told_of_before_the_run(say, tmp_path, monkeypatch, kind, odd, verb):
    folder("some", kind)
    (tmp_path / f"some/f20.{kind}").unlink()
    WRITE[kind](f"some/f20.{kind}", odd)
    monkeypatch.setattr("footprint.io.frame_source.Folder.read", lambda *given: pytest.fail("a frame was read"))
    code, said = say(f"{verb}{JOBS[0].format('some')} -o out.tif --device cpu")
    found = f"some/f20.{kind}: is {odd.dtype} {odd.shape[0]} x 32, the first frame is uint16 4 x 32; frames are of one size"
    assert code == 2 and len(said) == 1 and found in said[0], said
    assert not (tmp_path / "out.tif").exists()


@pytest.mark.parametrize("kind", ["tif", "packed.tif"])
@pytest.mark.parametrize("more", ["", "--center auto", "--tilt auto"])
def test_a_projection_that_differs_is_told_of_before_the_run(say, tmp_path, monkeypatch, kind, more):
    folder("some", kind)
    WRITE[kind](f"some/f20.{kind}", FRAMES[0, :3])
    monkeypatch.setattr("footprint.io.tiff.TiffFiles._read", lambda *given: pytest.fail("a frame was read"))
    code, said = say(f"{SCAN.format('some')} -o out.h5 --device cpu {more}")
    assert (
        code == 2
        and len(said) == 1
        and f"some/f20.{kind}: is uint16 3 x 32 of 1 page, the first is uint16 4 x 32 of 1 page" in said[0]
    )
    assert not (tmp_path / "out.h5").exists()


def test_a_projection_that_is_left_out_may_be_damaged(say, tmp_path):
    (tmp_path / "frames/f20.tif").write_bytes(b"II*\0 and no more")
    code, said = say(f"{SCAN.format('frames')} -o out.h5 --device cpu")
    assert code == 2 and "f20.tif" in said[0]
    assert say(f"{SCAN.format('frames')} -o out.h5 --device cpu -q --exclude-angles 20") == (0, [])
    with fp.open_scan("frames") as scan, pytest.raises(fp.FormatError, match=r"f20\.tif"):
        fp.reconstruct(scan, center=15.5, log=False, rows=(1, 2), device="cpu")


def test_a_sinogram_that_differs_is_told_of_before_the_run(say):
    WRITE["tif"]("frames/f20.tif", FRAMES[0, :3])
    with fp.open_scan("frames", sinograms=True) as scan, pytest.raises(fp.FormatError, match=r"f20\.tif: is uint16 3 x 32"):
        scan.check_headers()


def test_a_slow_disk_keeps_nobody_waiting(say, monkeypatch):
    """What is not reached is checked when it is read."""
    monkeypatch.setattr(io_frames, "_LOOK", -1.0)
    WRITE["tif"]("frames/f20.tif", FRAMES[0, :3])
    with open_source("frames") as source:
        source.read(3, np.empty(FRAMES.shape[1:], np.uint16))
        with pytest.raises(fp.FormatError, match=r"f20\.tif"):
            source.read(20, np.empty(FRAMES.shape[1:], np.uint16))
