"""What the shell leaves: all outputs of a command or none, whatever stops it, and no name that moves the terminal."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
from PIL import Image

from footprint.io import partial
from tests.unit.cli_files import listing, write_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="names and limits are POSIX's")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("outputs")
    write_files(place)
    return place


@pytest.fixture
def shell(folder, monkeypatch, capsys):
    """The program in this process, so that a library of its can be made to fail."""
    from footprint.__main__ import entry

    monkeypatch.chdir(folder)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["footprint", *words])
        with pytest.raises(SystemExit) as exit_:
            entry()
        printed = capsys.readouterr()
        return exit_.value.code or 0, printed.out, printed.err

    return run


JOBS = {
    "sources": "sources field.fits -o new.ecsv --segmentation new.fits --png new.png",
    "reconstruct": "reconstruct scan.nx -o new.h5 --center 15.5 --png new.png",
    "reconstruct-slices": "reconstruct scan.nx -o new --center 15.5 --png new.png",
}


@pytest.mark.parametrize("job", JOBS)
def test_a_picture_that_fails_leaves_none_of_the_outputs(shell, folder, monkeypatch, job):
    before = listing(folder)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Image.Image, "save", full)
        code, _, err = shell(*JOBS[job].split())
    assert code == 2 and err.endswith("footprint: new.png: could not be written (the disk is full); nothing was left behind.\n"), (
        err
    )
    assert listing(folder) == before
    code, _, err = shell(*JOBS[job].split(), "--quiet")
    assert (code, err) == (0, "")
    made = set(listing(folder)) - set(before)
    assert {name for name in JOBS[job].split() if name.startswith("new")} <= made and not any("partial" in name for name in made)
    for name in sorted(made, reverse=True):
        (folder / name).rmdir() if (folder / name).is_dir() else (folder / name).unlink()


@pytest.mark.parametrize(
    "line",
    [
        "convolve wide.npy mask.npy -o new.npy",
        "convolve wide.npy mask.npy -o new.fits",
        "sources wide.npy --segmentation new.h5",
        "sources wide.npy -o new.ecsv --sigma 2",
        "reconstruct scan.nx -o new.h5 --center 15.5",
    ],
)
def test_a_limit_on_the_size_of_files_is_called_that_and_leaves_nothing(shell, folder, line):
    np.save(folder / "wide.npy", np.random.default_rng(1).standard_normal((200, 100)).astype(np.float32))
    before = listing(folder)
    # Once without the limit, so that compiled kernels are in their cache and it is the output that meets it.
    assert shell(*line.split())[0] == 0
    for path in folder.glob("new.*"):
        path.unlink()
    own = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_240, own[1]))
    try:
        code, _, err = shell(*line.split())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, own)
    assert code == 2, err
    last = err.rstrip().splitlines()[-1]
    assert last.startswith("footprint: new.") and "ulimit -f allows this process files of at most 10 KiB" in last, last
    assert "disk" not in last
    assert listing(folder) == before


def test_an_output_without_a_name_is_refused(shell, folder):
    """As of a variable that is not set: a catalogue went to the folder one is in, under the image's name."""
    before = listing(folder)
    for option in ("--out", "--segmentation"):
        assert shell("sources", "field.fits", "-o", "named.ecsv", option, "")[0] == 2
    assert listing(folder) == before


def test_what_a_killed_run_left_is_named_on_the_way(shell, folder):
    dead = int(subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True).stdout)
    left = folder / f".old.h5.{partial.host()}-{dead}-01234567.partial"
    left.write_bytes(bytes(2048))
    code, _, err = shell(*"convolve image.npy mask.npy -o new.npy --quiet".split())
    assert code == 0 and not left.exists()
    assert err == f"footprint: warning: {left}: removed (2 KiB, left by a run that was killed)\n"
    (folder / "new.npy").unlink()


ESCAPES = "\x1b]0;owned\x07\x1b[2J\r\udcff"


@pytest.mark.parametrize("flag", [(), ("--json",), ("--quiet",)], ids=["words", "json", "quiet"])
@pytest.mark.parametrize("command", ["convolve", "sources", "reconstruct"])
def test_no_name_moves_the_terminal(shell, folder, tmp_path, monkeypatch, command, flag):
    """Names with escape codes, and one that is not UTF-8, as inputs, outputs and mistakes."""
    source = {"convolve": "image.npy", "sources": "field.fits", "reconstruct": "scan.nx"}[command]
    odd = f"{ESCAPES}{source}"
    shutil.copy(folder / source, tmp_path / odd)
    shutil.copy(folder / "mask.npy", tmp_path)
    suffix = {"convolve": ".npy", "sources": ".ecsv", "reconstruct": ".h5"}[command]
    out = f"{ESCAPES}new{suffix}"
    more = {"convolve": ["mask.npy"], "sources": [], "reconstruct": ["--center", "15.5"]}[command]
    monkeypatch.chdir(tmp_path)
    mistakes = [["-o", out, "--nonsense" + ESCAPES], ["-o", f"absent{odd}/{out}"], ["-o", out, "--device", odd]]
    for extra in ([], *mistakes):
        code, *texts = shell(command, odd, *more, *(extra or ["-o", out]), *flag)
        assert (code == 0) == (not extra), texts
        assert all(line.isprintable() for line in "".join(texts).split("\n")), ascii(texts)
    # Streams of a real process have their own way with what cannot be encoded.
    words = [sys.executable, "-m", "footprint", command, odd, *more, "-o", out, *flag]
    done = subprocess.run(words, capture_output=True, timeout=120)
    said = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
    assert all(line.isprintable() for line in said.split("\n")), ascii(said)
    assert done.returncode == 2 and rb"\x1b[2J\r\udcffnew" in done.stderr and b"already exists" in done.stderr
    assert out in os.listdir()
    if command == "reconstruct":
        with h5py.File(out) as file:
            assert file["entry/reconstruction"].attrs["scan"] == r"\x1b]0;owned\x07\x1b[2J\r\udcffscan.nx"


def test_no_name_of_a_joined_volume_or_a_configuration_moves_the_terminal(shell, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rows in ("0:2", "2:4"):
        words = ["reconstruct", str(folder / "scan.nx"), "--center", "15.5", "--rows", rows, "-o", f"{ESCAPES}{rows[0]}.h5"]
        assert shell(*words)[0] == 0, rows
    for words in (["join", f"{ESCAPES}0.h5", f"{ESCAPES}2.h5", "-o", f"{ESCAPES}all.h5"], ["config", "-o", f"{ESCAPES}scan.toml"]):
        code, *texts = shell(*words)
        assert code == 0 and words[-1] in os.listdir(), texts
        assert all(line.isprintable() for line in "".join(texts).split("\n")), ascii(texts)


@pytest.mark.parametrize("kind", ["npy", "h5", "fits"])
def test_a_mask_beyond_memory_is_a_sentence(shell, folder, kind):
    name = f"new-mask.{kind}"
    if kind == "h5":
        with h5py.File(folder / name, "w") as file:
            file.create_dataset("mask", (2**40, 2**20), "f4")
    elif kind == "npy":
        with open(folder / name, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**20)})
    else:
        cards = ["SIMPLE  =                    T", "BITPIX  =                  -32", "NAXIS   =                    2"]
        cards += ["NAXIS1  =              1048576", "NAXIS2  =        1099511627776", "END"]
        (folder / name).write_bytes(b"".join(card.ljust(80).encode() for card in cards).ljust(2880) + bytes(2880))
    before = listing(folder)
    for words in (["convolve", "image.npy", name, "-o", "new.npy"], ["plan", "convolve", "image.npy", name]):
        code, out, err = shell(*words)
        assert code == 2 and out == "" and "Traceback" not in err
        assert len(err.splitlines()) == 1 and ("memory" in err or "truncated" in err), err
    assert listing(folder) == before
    (folder / name).unlink()


def test_a_plan_takes_the_command_of_the_job_and_counts_its_writer(shell, folder):
    job = "convolve image.npy mask.npy -o new.fits --json"
    code, out, _ = shell("plan", *job.split())
    planned = json.loads(out)
    assert code == 0 and not (folder / "new.fits").exists()
    code, out, _ = shell(*job.split())
    (folder / "new.fits").unlink()
    assert code == 0 and json.loads(out)["plan_total"] == planned["plan_total"]
    # The image's bytes, each turned round on its way; a .npy takes them as they are.
    assert planned["plan_library"] == 40 * 30 * 4
    assert json.loads(shell(*"plan convolve image.npy mask.npy -o new.npy --json".split())[1])["plan_library"] == 0


@pytest.mark.parametrize("name", ["finished.h5", "finished.tif", "finished", "finished.zarr"])
def test_a_finished_volume_is_not_resumed_and_says_what_it_was_made_with(shell, folder, tmp_path, name):
    target = str(tmp_path / name)
    job = ("reconstruct", "scan.nx", "-o", target, "--center", "24.2", "--roi", "2,30,2,30", "--memory", "300MB")
    assert shell(*job)[0] == 0
    code, _, error = shell(*job, "--resume")
    assert code == 2 and "is finished: there is nothing left to resume" in error
    code, _, error = shell(
        *job, "--resume", "--filter", "hann", "--rows", "1:2", "--center", "24.5", "--rings", "sorting", "--cutoff", "0.5"
    )
    assert code == 2 and "is finished, but was made with other settings: " in error
    for word in ("filter was ramlak and is now hann", "center was 24.2 and is now 24.5", "rows was 0:", " is now 1:2", "1 more"):
        assert word in error
    # What it was made with and is not asked for now counts, too; a scan of another name may be the same file.
    code, _, error = shell("reconstruct", str(folder / "scan.nx"), *job[2:6], "--memory", "300MB", "--resume")
    assert code == 2 and "other settings: roi was" in error and "is now not given; give --overwrite" in error


def test_steps_of_a_finished_volume_are_told_as_they_are_asked_for(shell, folder, tmp_path):
    job = ("reconstruct", "scan.nx", "-o", str(tmp_path / "steps.h5"), "--center", "24.2", "--memory", "300MB")
    assert shell(*job, "--rings", "sorting")[0] == 0
    code, _, error = shell(*job, "--rings", "sorting", "--resume")
    assert code == 2 and "nothing left to resume" in error
    code, _, error = shell(*job, "--rings", "sorting:size=11", "--resume")
    assert code == 2 and "other settings: rings was sorting and is now sorting:size=11; give" in error
    code, _, error = shell(*job, "--zingers", "0.5", "--resume")
    assert code == 2 and "settings: zingers was not given and is now 0.5, rings was sorting and is now not given; give" in error


@pytest.mark.parametrize(
    ("name", "made", "says"),
    [
        ("a.h5", "a.h5", "exists already, and is no volume that a run of this command wrote; give --overwrite, or another name"),
        ("a.tif", "a.tif", "exists already, and is no volume that"),
        ("folder", "folder/note.txt", "holds note.txt, which no earlier run wrote: it is not replaced; choose another folder"),
        ("a.zarr", "a.zarr/note.txt", "is a folder that no earlier run wrote: it is not replaced; choose another name"),
    ],
)
@pytest.mark.parametrize("words", ["--resume", ""])
def test_what_somebody_else_wrote_is_not_called_finished(shell, folder, tmp_path, name, made, says, words):
    """And --overwrite is offered only where it would be taken."""
    (tmp_path / made).parent.mkdir(exist_ok=True)
    (tmp_path / made).write_text("a note")
    code, _, error = shell("reconstruct", "scan.nx", "-o", str(tmp_path / name), "--center", "24.2", *words.split())
    assert code == 2 and "finished" not in error
    assert (says if words or "/" in made else f"{name}: already exists; give --overwrite to replace it") in error
    assert (tmp_path / made).read_text() == "a note"


def test_what_a_stopped_run_did_beside_a_foreign_file_is_named(shell, folder, tmp_path):
    (tmp_path / "a.h5").write_text("a note")
    (tmp_path / ".a.h5.unfinished").write_text("rows")
    code, _, error = shell("reconstruct", "scan.nx", "-o", str(tmp_path / "a.h5"), "--center", "24.2", "--resume")
    assert code == 2 and "what a stopped run has done is in .a.h5.unfinished, and stays there; give --overwrite" in error


def test_slices_with_a_note_among_them_are_finished_and_not_to_be_replaced(shell, folder, tmp_path):
    job = ("reconstruct", "scan.nx", "-o", str(tmp_path / "v"), "--center", "24.2", "--memory", "300MB")
    assert shell(*job)[0] == 0
    (tmp_path / "v/note.txt").write_text("a note")
    code, _, error = shell(*job, "--resume")
    assert code == 2 and "is finished: there is nothing left to resume; give another name to make it anew" in error


def test_settings_of_the_environment_are_refused_in_every_job(shell, folder, tmp_path, monkeypatch):
    """A reconstruction keeps nothing, and took what is no size."""
    monkeypatch.setenv("FOOTPRINT_KEEP", "zzz")
    code, _, error = shell("reconstruct", "scan.nx", "-o", str(tmp_path / "v.h5"), "--center", "24.2")
    assert code == 2 and "FOOTPRINT_KEEP: got 'zzz', wanted bytes" in error


def test_ranges_are_lists_of_two_in_a_file(shell, folder, tmp_path):
    (tmp_path / "job.toml").write_text('[reconstruct]\nrows = [1, 3]\ncenter = "24.2"\n')
    code, out, error = shell(
        "reconstruct", "scan.nx", "-o", str(tmp_path / "v.h5"), "--config", str(tmp_path / "job.toml"), "--json"
    )
    assert code == 0 and json.loads(out)["shape"][0] == 2, error


def test_one_device_is_refused_in_the_shells_words(shell, folder):
    code, _, error = shell("verify", "fbp", "--devices", "cpu")
    assert code == 2 and "--devices: got 'cpu', wanted two names or more, such as cpu,cuda" in error


def test_a_folder_of_scans_and_images_says_which_of_them_is_read(shell, folder, tmp_path):
    """An output of an earlier job was taken for a scan, without a word of the scan beside it."""
    import tifffile

    (tmp_path / "work").mkdir()
    (tmp_path / "work/scan.nx").write_bytes((folder / "scan.nx").read_bytes())
    tifffile.imwrite(tmp_path / "work/v4.tif", np.ones((4, 5, 6), np.float32), photometric="minisblack")
    words = ("reconstruct", str(tmp_path / "work"), "-o", str(tmp_path / "v.h5"), "--center", "2.5", "--no-log")
    code, _, error = shell(*words, "--memory", "300MB")
    assert code == 0 and "work is read as 4 projections in v4.tif; scan.nx beside is not read: name one to read it" in error


def test_a_stop_says_what_an_earlier_run_has_left(tmp_path, monkeypatch):
    from footprint.cli import stop

    monkeypatch.setattr(stop, "_kept", [])
    monkeypatch.setattr("sys.argv", ["footprint", "reconstruct", "scan.nx"])
    assert stop.said(False) == "stopped; nothing half-written was left behind."
    # Before the command has begun.
    monkeypatch.setattr("sys.argv", ["footprint", "reconstruct", "scan.nx", "--resume"])
    assert stop.said(False) == "stopped; what an earlier run has done is as it was, and --resume continues from there."
    stop.keep(str(tmp_path / "v.h5"))
    assert stop.said(False) == "stopped."
    (tmp_path / ".v.h5.unfinished").touch()
    assert stop.said(False) == "stopped; what an earlier run has done is in .v.h5.unfinished, and --resume continues from there."
    assert stop.said(True) == "stopped."


def test_what_is_loaded_before_a_job_is_cut_as_the_job_is(shell, folder, tmp_path, monkeypatch):
    """Kernels of tiles and of groups of angles were loaded while the job's memory was measured, and counted as its own."""
    from footprint.cli import warm

    plans, made = [], warm.reconstruct
    monkeypatch.setattr(warm, "reconstruct", lambda *given, **options: made(*given, on_plan=plans.append, **options))
    words = ("reconstruct", "scan.nx", "-o", str(tmp_path / "v.h5"), "--center", "24.2", "--memory")
    least = re.search(r"--memory (\d+)", shell(*words, "1")[2])
    assert shell(*words, least[1])[0] == 0
    assert any(plan.n_summed > 1 or len(plan.cuts) > 1 for plan in plans)
    plans.clear()
    assert shell(*words, "300MB", "--overwrite")[0] == 0
    assert plans and all(plan.n_summed == 1 and len(plan.cuts) < 2 for plan in plans)
