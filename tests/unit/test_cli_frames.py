"""``footprint convolve`` on stacks of frames: every format in and out, one sentence for what is wrong, nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
import scipy.ndimage
import tifffile
from astropy.io import fits
from click.testing import CliRunner
from PIL import Image

import footprint as fp
from footprint.cli.main import main
from footprint.io.frame_source import open_source
from footprint.io.image import open_planes
from tests.unit.cli_files import listing

RNG = np.random.default_rng(11)
FRAMES = RNG.integers(0, 255, (12, 22, 36)).astype(np.uint8)
MASK = RNG.standard_normal((3, 4))


def _video(path, frames, codec="ffv1", kind="gray"):
    av = pytest.importorskip("av", reason="PyAV is not installed: pip install footprint[video]")
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:], kind
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format=kind)))
        container.mux(stream.encode(None))


def _write(path, kind):
    """The frames as a file or folder of this kind; the name to give."""
    if kind == "npy":
        np.save(path / "in.npy", FRAMES)
    elif kind in ("tif", "packed-tif"):
        packed = {"compression": "zlib"} if kind == "packed-tif" else {"byteorder": ">"}
        tifffile.imwrite(path / f"{kind}.tif", FRAMES, photometric="minisblack", **packed)
        return f"{kind}.tif"
    elif kind == "h5":
        with h5py.File(path / "in.h5", "w") as file:
            file["a/frames"] = FRAMES
            file["b"] = FRAMES[:, :5]
        return "in.h5:/a/frames"
    elif kind == "fits":
        fits.writeto(path / "in.fits", FRAMES)
    elif kind == "mkv":
        _video(path / "in.mkv", FRAMES)
    else:
        (path / kind).mkdir()
        suffix = kind.split("-")[1]
        for number, frame in enumerate(FRAMES):
            # As people number them, and some with letters before and after.
            name = path / kind / f"run7_{number}b.{suffix}"
            Image.fromarray(frame).save(name) if suffix == "png" else tifffile.imwrite(name, frame, photometric="minisblack")
        (path / kind / "notes.txt").write_text("not a frame")
        return kind
    return f"in.{kind}"


KINDS = ("npy", "tif", "packed-tif", "h5", "fits", "folder-png", "folder-tif", "mkv")


def _read(path):
    _, frames, _, _ = open_planes(path)
    out = np.empty(frames.shape, frames.dtype)
    frames.read(0, frames.shape[0], slice(0, frames.shape[1]), out)
    frames.close()
    return out


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    from footprint.__main__ import entry

    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "mask.npy", MASK)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["footprint", *map(str, words)])
        with pytest.raises(SystemExit) as exit_:
            entry()
        said = capsys.readouterr()
        return exit_.value.code or 0, said.out, said.err

    return run


def _want(mode="same", boundary="constant", dtype=None):
    return np.stack([fp.convolve(frame, MASK, mode=mode, boundary=boundary, dtype=dtype, device="cpu") for frame in FRAMES])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_stack_is_filtered_frame_by_frame(shell, tmp_path, kind):
    name = _write(tmp_path, kind)
    code, out, err = shell("convolve", name, "mask.npy", "-o", "out.npy", "--boundary", "reflect", "--device", "cpu", "--json")
    assert code == 0, err
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), _want(boundary="reflect"))
    told = json.loads(out)
    assert told["frames"] == 12 and told["shape"] == [12, 22, 36] and told["frames_per_second"] > 0
    assert 0 < told["latency_median"] <= told["latency_95"] <= told["latency_largest"]
    assert set(told["seconds_predicted"]) == set(told["seconds_measured"]) == {"read", "compute", "write"}
    code, out, _ = shell("plan", "convolve", name, "mask.npy", "-o", "out.npy", "--device", "cpu", "--json")
    assert code == 0 and json.loads(out)["plan_total"] == told["plan_total"]
    # Other filters take such stacks, too, and keep the dtype that ranks have.
    code, out, err = shell("filter", "median", name, "-o", "median.npy", "--size", 3, "--device", "cpu", "--json")
    assert code == 0, err
    want = scipy.ndimage.median_filter(FRAMES, (1, 3, 3))
    got, told = np.load(tmp_path / "median.npy"), json.loads(out)
    assert got.dtype == want.dtype and np.array_equal(got, want) and told["frames"] == 12
    code, out, _ = shell("plan", "filter", "median", name, "-o", "median.npy", "--size", 3, "--device", "cpu", "--json")
    assert code == 0 and json.loads(out)["plan_total"] == told["plan_total"] > 2 * FRAMES[0].nbytes


@pytest.mark.parametrize("suffix", ["npy", "tif", "h5", "fits"])
@pytest.mark.parametrize("dtype", [None, "float16", "float64"])
def test_every_kind_of_output_has_all_frames(shell, tmp_path, suffix, dtype):
    _write(tmp_path, "npy")
    more = ["--dtype", dtype] if dtype else []
    code, _, err = shell("convolve", "in.npy", "mask.npy", "-o", f"out.{suffix}", "--mode", "full", "--device", "cpu", "-q", *more)
    assert (code, err) == (0, "")
    got, want = _read(tmp_path / f"out.{suffix}"), _want("full", dtype=dtype)
    # FITS has no halves.
    assert got.dtype == (np.float32 if (dtype, suffix) == ("float16", "fits") else want.dtype)
    np.testing.assert_allclose(got, want, rtol=1e-3 if got.dtype != want.dtype else 0)
    # What was written can be filtered again.
    code, out, err = shell("plan", "convolve", f"out.{suffix}", "mask.npy")
    assert code == 0 and "12 frames pass" in " ".join(out.split()), err


def test_one_image_has_the_dtype_asked_for(shell, tmp_path):
    np.save(tmp_path / "image.npy", FRAMES[0])
    for dtype in ("float16", "float64"):
        words = ("convolve", "image.npy", "mask.npy", "-o", f"{dtype}.npy", "--dtype", dtype, "--device", "cpu")
        code, _, err = shell(*words, "--memory", "2MB")
        assert code == 0, err
        got, want = np.load(tmp_path / f"{dtype}.npy"), fp.convolve(FRAMES[0], MASK, dtype=dtype, device="cpu")
        assert got.dtype == want.dtype == dtype
        np.testing.assert_array_equal(got, want)


def test_a_cube_keeps_its_header(shell, tmp_path):
    header = fits.Header({"OBJECT": "M 31", "CTYPE3": "FREQ", "CRVAL3": 1.4e9})
    fits.writeto(tmp_path / "cube.fits", FRAMES.astype("f4"), header)
    assert shell("convolve", "cube.fits", "mask.npy", "-o", "out.fits", "-q")[0] == 0
    kept = fits.getheader(tmp_path / "out.fits")
    assert (kept["NAXIS"], kept["NAXIS3"], kept["OBJECT"], kept["CRVAL3"]) == (3, 12, "M 31", 1.4e9)


def test_one_plane_of_a_stack_is_one_image(shell, tmp_path):
    for kind in ("npy", "tif", "h5", "fits"):
        name = _write(tmp_path, kind)
        code, out, err = shell("convolve", name, "mask.npy", "-o", "out.npy", "--plane", 4, "--overwrite", "--json")
        assert code == 0 and "frames" not in json.loads(out), err
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), _want()[4])


def test_a_stack_of_one_plane_in_a_file_is_an_image_as_ever(shell, tmp_path):
    np.save(tmp_path / "one.npy", FRAMES[:1])
    assert shell("convolve", "one.npy", "mask.npy", "-o", "out.npy", "-q")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), _want()[0])


def test_depth_and_a_short_budget_change_the_plan_and_no_bit(shell, tmp_path):
    _write(tmp_path, "npy")
    totals = []
    for more in (["--depth", 5], ["--depth", 1], ["--depth", 5, "--memory"]):
        more += [sum(totals) // 2] * (more[-1] == "--memory")
        code, out, err = shell("convolve", "in.npy", "mask.npy", "-o", "out.npy", "--overwrite", "--device", "cpu", "--json", *more)
        assert code == 0, err
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), _want())
        totals.append(json.loads(out)["plan_total"])
    assert totals[1] <= totals[2] <= sum(totals[:2]) // 2 < totals[0]
    code, _, err = shell("convolve", "in.npy", "mask.npy", "-o", "out2.npy", "--device", "cpu", "--memory", 5000)
    assert code == 2 and "--memory" in err and not (tmp_path / "out2.npy").exists()


def test_people_see_frames_a_second_and_latencies(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _write(tmp_path, "npy")
    code, out, err = shell("convolve", "in.npy", "mask.npy", "-o", "out.npy", "--device", "cpu")
    assert (code, out) == (0, "") and max(map(len, err.splitlines())) <= 80
    latencies = ("median latency  ", "latency of 95 %  ", "largest latency  ")
    for words in ("12/12", "frames per second  ", *latencies, "\n  measured  read "):
        assert words in err, err


def _bad(folder):
    """Everything that can be wrong with a stack."""
    np.save(folder / "four.npy", np.ones((2, 3, 8, 8), np.float32))
    np.save(folder / "none.npy", np.ones((0, 8, 8), np.float32))
    with tifffile.TiffWriter(folder / "differ.tif") as writer:
        for width in (8, 8, 9):
            writer.write(np.ones((8, width), np.uint8), photometric="minisblack")
    for name in ("empty", "sizes", "dtypes", "cubes", "broken"):
        (folder / name).mkdir()
    (folder / "empty" / "notes.txt").write_text("nothing here")
    for name, last in (("sizes", np.ones((8, 9), np.uint8)), ("dtypes", np.ones((8, 8), np.uint16))):
        for number in range(3):
            Image.fromarray(last if number == 2 else np.ones((8, 8), np.uint8)).save(folder / name / f"{number}.png")
    np.save(folder / "cubes" / "0.npy", FRAMES)
    Image.fromarray(np.ones((8, 8), np.uint8)).save(folder / "broken" / "0.png")
    (folder / "broken" / "1.png").write_bytes((folder / "broken" / "0.png").read_bytes()[:50])
    (folder / "words.mp4").write_text("These are words.\n" * 50)
    (folder / "words.xyz").write_text("These are words.\n" * 50)
    (folder / "empty.mp4").touch()


@pytest.mark.parametrize(
    "words, wanted",
    [
        ("four.npy", "four.npy (2, 3, 8, 8) (n_frames, n_y, n_x) --plane"),
        ("none.npy", "none.npy empty (0, 8, 8)"),
        ("differ.tif", "differ.tif differ uint8 8 x 9 page 2"),
        ("empty", "empty folder without images .png"),
        ("absent", "absent no such file"),
        ("sizes", "2.png uint8 8 x 9 first uint8 8 x 8"),
        ("dtypes", "2.png uint16 8 x 8 first uint8"),
        ("cubes", "0.npy (12, 22, 36) one image per file"),
        ("broken", "1.png cannot be read"),
        ("words.mp4", "words.mp4 no video"),
        ("words.xyz", "words.xyz is not a FITS"),
        ("empty.mp4", "empty.mp4 empty"),
        ("in.npy --depth 0", "--depth 0 1 more"),
        ("in.npy --dtype int16", "--dtype 'int16' float32"),
        ("in.npy --dtype junk", "--dtype 'junk' float32"),
        ("in.npy --memory 9", "--memory 9 B"),
        ("in.npy --mode half", "--mode 'half'"),
        ("in.npy --plane 12", "--plane 12 0 to 11"),
        ("image.npy --depth 2", "--depth 2 stack"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(shell, tmp_path, words, wanted):
    if ".mp4" in words:
        pytest.importorskip("av", reason="PyAV is not installed: pip install footprint[video]")
    _bad(tmp_path)
    _write(tmp_path, "npy")
    np.save(tmp_path / "image.npy", FRAMES[0])
    before = listing(tmp_path)
    code, out, err = shell("convolve", *words.split(), "mask.npy", "-o", "new.npy", "--quiet")
    assert (code, out) == (2, "") and len(err.splitlines()) == 1, err
    assert err.startswith("footprint: ") and all(word in err for word in wanted.split()), err
    assert listing(tmp_path) == before


@pytest.mark.parametrize("bits", [10, 12, 16])
def test_a_video_keeps_its_bits(tmp_path, bits):
    """Cameras record 12 bits; as 8 of them the numbers would be others, and most of them lost."""
    frames = RNG.integers(0, 1 << bits, (3, 16, 20)).astype(np.uint16)
    _video(tmp_path / "film.mkv", frames, kind=f"gray{bits}le")
    video = open_source(tmp_path / "film.mkv")
    found = np.zeros_like(frames)
    for number, out in enumerate(found):
        video.read(number, out)
    video.close()
    assert video.dtype == np.uint16
    np.testing.assert_array_equal(found, frames)


def test_a_video_without_pyav_says_what_to_install(shell, tmp_path, monkeypatch):
    (tmp_path / "film.mp4").write_bytes(b"film")
    monkeypatch.setitem(sys.modules, "av", None)
    for words in (["convolve", "film.mp4", "mask.npy", "-o", "new.npy"], ["plan", "convolve", "film.mp4", "mask.npy"]):
        code, out, err = shell(*words)
        assert (code, out) == (2, "")
        assert err == (
            'footprint: reading the video film.mp4 needs the package av, which is not installed; pip install "footprint[video]".\n'
        )


def test_a_video_that_ends_early_is_no_result(shell, tmp_path):
    _video(tmp_path / "film.mkv", FRAMES)
    whole = (tmp_path / "film.mkv").read_bytes()
    (tmp_path / "film.mkv").write_bytes(whole[: len(whole) * 2 // 3])
    code, _, err = shell("convolve", "film.mkv", "mask.npy", "-o", "new.npy", "-q")
    if code == 0:
        # The container has whole frames to its end, fewer of them.
        got = np.load(tmp_path / "new.npy")
        assert 0 < len(got) < 12
        np.testing.assert_array_equal(got, _want()[: len(got)])
    else:
        assert len(err.splitlines()) == 1 and "film.mkv" in err and not (tmp_path / "new.npy").exists()


def test_a_video_of_another_count_than_its_packets_is_refused(shell, tmp_path, monkeypatch):
    from footprint.io import frame_source

    _video(tmp_path / "film.mkv", FRAMES)
    true = frame_source.Video.__init__
    for wrong, found in ((1, "only 12"), (-1, "more")):

        def counts(self, path, wrong=wrong):
            true(self, path)
            self.shape = (self.shape[0] + wrong, *self.shape[1:])

        with monkeypatch.context() as patched:
            patched.setattr(frame_source.Video, "__init__", counts)
            code, _, err = shell("convolve", "film.mkv", "mask.npy", "-o", "new.npy", "-q")
        assert code == 2 and f"film.mkv: declares {12 + wrong} frames and has {found}" in err
        assert not (tmp_path / "new.npy").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_a_stream_that_is_stopped_leaves_no_result(shell, tmp_path, number):
    np.save(tmp_path / "long.npy", np.ones((150, 500, 500), np.uint8))
    np.save(tmp_path / "huge.npy", np.ones((99, 99), np.float32))
    before = listing(tmp_path)
    words = ["convolve", "long.npy", "huge.npy", "-o", "new.tif"]
    with subprocess.Popen([sys.executable, "-m", "footprint", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".*.partial")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        under_way = process.poll() is None
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert under_way and not (tmp_path / "new.tif").exists(), err
    if number == signal.SIGKILL:
        # What it left has a name that nobody takes for a result, and the next run removes it and says so.
        assert [name for name in set(listing(tmp_path)) - set(before) if not name.endswith(".partial")] == []
        _write(tmp_path, "npy")
        code, _, err = shell("convolve", "in.npy", "mask.npy", "-o", "next.npy", "-q")
        assert code == 0 and "removed" in err and not list(tmp_path.glob(".*.partial"))
    else:
        assert process.returncode == 130 and err.rstrip().endswith("stopped; nothing half-written was left behind."), err
        assert listing(tmp_path) == before


def test_a_disk_that_fills_up_ends_the_stream(shell, tmp_path, monkeypatch):
    import errno

    from footprint.io.raw import RawFrames

    _write(tmp_path, "npy")
    before, put, calls = listing(tmp_path), RawFrames._put, []

    def full(self, at, array):
        calls.append(at)
        if len(calls) > 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(self, at, array)

    monkeypatch.setattr(RawFrames, "_put", full)
    code, _, err = shell("convolve", "in.npy", "mask.npy", "-o", "new.npy", "-q")
    assert code == 2 and err.endswith("new.npy: could not be written (the disk is full); nothing was left behind.\n"), err
    assert listing(tmp_path) == before


def test_frames_that_were_written_as_colours_are_told_how_to_write_them(tmp_path):
    tifffile.imwrite(tmp_path / "stack.tif", np.zeros((4, 30, 40), np.float32), planarconfig="separate", photometric="rgb")
    result = CliRunner().invoke(main, ["filter", "median", str(tmp_path / "stack.tif"), "--size", "3", "-o", "new.tif"])
    assert "holds float32 pixels of 4 samples, wanted one grey value; if these are images of their own, write them" in str(
        result.exception
    )
