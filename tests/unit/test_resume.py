"""Runs that were stopped go on where they were: to the same bits, or not at all."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.api import _resume
from footprint.io.phantom import write_scan

OPTIONS = {"center": 15.5, "method": "direct", "device": "cpu"}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("resume") / "scan.nx"
    write_scan(path, n_angles=40, n_z=24, n_x=32)
    return path


@pytest.fixture(scope="module")
def whole(scan):
    with fp.open_scan(scan) as source:
        return fp.reconstruct(source, **OPTIONS)


class Stopped(Exception):
    pass


@functools.cache
def a_few(path):
    """A budget that makes some dozen parts: to find the smallest takes longer than a run."""
    with fp.open_scan(path) as scan, pytest.raises(fp.BudgetError) as error:
        fp.plan_reconstruct(scan, written=True, **OPTIONS, memory=1)
    return error.value.smallest + 30_000


def run(path, target, *, stop_after=None, memory=None, **changes):
    """Reconstruct to ``target``; slices that were computed."""
    made = []

    def watch(done, total):
        made.append(done)
        if stop_after is not None and len(made) > stop_after:
            raise Stopped

    with fp.open_scan(path) as source:
        memory = memory or a_few(path)
        with fp.create_volume(target, (24, 32, 32), resume=True) as volume:
            fp.reconstruct(source, out=volume, memory=memory, progress=watch, **{**OPTIONS, **changes})
    return made


def stored(target):
    if target.is_dir():
        return np.stack([tifffile.imread(file) for file in sorted(target.glob("*.tif"))])
    if target.suffix == ".tif":
        return tifffile.imread(target)
    with h5py.File(target) as file:
        return file["entry/reconstruction/results/data"][()]


def left(target):
    return sorted(item.name for item in target.parent.iterdir() if item.name.startswith(f".{target.name}"))


@pytest.mark.parametrize("name", ["v.h5", "v.tif", "v"])
def test_a_stopped_run_goes_on_to_the_same_bits(scan, whole, tmp_path, name):
    target = tmp_path / name
    with pytest.raises(Stopped), pytest.warns(UserWarning, match="--resume"):
        run(scan, target, stop_after=2)
    assert not target.exists() and left(target) == [f".{name}.unfinished{tail}" for tail in ("", ".done", ".job")]
    text = (tmp_path / f".{name}.unfinished.done").read_text()
    before = [line.split() for line in text.splitlines() if not line.startswith("# ")]
    assert before
    made = run(scan, target)
    assert made[0] > sum(int(b) - int(a) for a, b, *_ in before), "what was done was made again"
    np.testing.assert_array_equal(stored(target), whole)
    assert left(target) == []
    with pytest.raises(fp.FormatError, match="has its name already: only what has none yet is resumed"):
        run(scan, target)


def test_a_half_acquisition_goes_on_to_the_same_bits(scan, tmp_path):
    path, half = tmp_path / "half.nx", {"center": 28.0, "method": "direct", "device": "cpu", "rows": slice(8, 16)}
    with h5py.File(scan) as source, h5py.File(path, "w") as file:
        source.copy("entry", file)
        # Not what turned that far would have been seen as: the bits are those of the run before.
        file["entry/sample/rotation_angle"][...] *= 2
        file["entry/instrument/detector/field_of_view"] = "Half"
    with fp.open_scan(path) as source:
        want, target, made = fp.reconstruct(source, **half), tmp_path / "v.h5", []

        def stop(done, total):
            made.append(done)
            if len(made) == 3:
                raise Stopped

        for progress in (stop, None):
            with contextlib.suppress(Stopped), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with fp.create_volume(target, want.shape, resume=True) as volume:
                    kept = volume.resumed
                    fp.reconstruct(source, out=volume, memory=a_few(path) + 50_000, progress=progress, **half)
            assert target.exists() == (progress is None)
    assert 0 < kept < 8
    np.testing.assert_array_equal(stored(target), want)


def test_another_budget_goes_on_too(scan, whole, tmp_path):
    with pytest.raises(Stopped), pytest.warns(UserWarning, match="--resume"):
        run(scan, tmp_path / "v.h5", stop_after=3)
    run(scan, tmp_path / "v.h5", memory="1GB")
    np.testing.assert_array_equal(stored(tmp_path / "v.h5"), whole)


@pytest.mark.parametrize(
    ("changes", "word"), [({"filter": "hann"}, "filter"), ({"center": 15.25}, "center"), ({"circle": True}, "circle")]
)
def test_another_job_is_refused_by_name(scan, whole, tmp_path, changes, word):
    target = tmp_path / "v.h5"
    with pytest.raises(Stopped), pytest.warns(UserWarning):
        run(scan, target, stop_after=2)
    before = {name: (tmp_path / name).read_bytes() for name in left(target)}
    kept = pytest.warns(UserWarning, match="nothing was done; what the previous run did is kept in .v.h5.unfinished")
    with pytest.raises(fp.FormatError, match=f"cannot be resumed: {word}.* was .* and is now .*"), kept:
        run(scan, target, **changes)
    assert {name: (tmp_path / name).read_bytes() for name in left(target)} == before
    run(scan, target)
    np.testing.assert_array_equal(stored(target), whole)


@pytest.mark.parametrize("changed", ["angles", "axis_shifts"])
def test_numbers_of_an_iterative_method_are_compared_too(scan, tmp_path, changed):
    """They lie in a record of their own within the step, whose text names their shape alone."""
    turned = {"angle_offset": 30.0} if changed == "angles" else {}
    moved = {"axis_shifts": np.ones(40)} if changed == "axis_shifts" else {}

    def go_on(stop_after, opened, given):
        made = []

        def watch(done, total):
            made.append(done)
            if len(made) > stop_after:
                raise Stopped

        with fp.open_scan(scan, **opened) as source, fp.create_volume(tmp_path / "v.h5", (24, 32, 32), resume=True) as volume:
            options = {"center": 15.5, "method": "sirt", "iterations": 2, "device": "cpu", "memory": 830_000}
            fp.reconstruct(source, out=volume, progress=watch, **options, **given)

    with pytest.raises(Stopped), pytest.warns(UserWarning):
        go_on(2, {}, {"axis_shifts": np.zeros(40)} if moved else {})
    said = f"cannot be resumed: {changed} of the geometry of step .*, Iterative was .* numbers with the sum .* and is now"
    with pytest.raises(fp.FormatError, match=said), pytest.warns(UserWarning):
        go_on(99, turned, moved)


def test_a_changed_scan_is_refused(scan, tmp_path):
    mine = tmp_path / "scan.nx"
    mine.write_bytes(scan.read_bytes())
    with pytest.raises(Stopped), pytest.warns(UserWarning):
        run(mine, tmp_path / "v.h5", stop_after=2)
    os.utime(mine, (1, 1))
    said = r"cannot be resumed: the scan's file scan\.nx was .* bytes, last written"
    with pytest.raises(fp.FormatError, match=said), pytest.warns(UserWarning):
        run(mine, tmp_path / "v.h5")


def h5_dataset(folder, scan):
    """Named as FILE:/DATASET."""
    with h5py.File(scan) as file, h5py.File(folder / "data.h5", "w") as made:
        made["frames"] = file["entry/instrument/detector/data"][20:60]
    return f"{folder}/data.h5:/frames", {}, folder / "data.h5"


def zarr_chunks(folder, scan):
    """Chunks in folders of their own."""
    zarr = pytest.importorskip("zarr")
    with h5py.File(scan) as file:
        data = file["entry/instrument/detector/data"][20:60]
    zarr.create_array(folder / "data.zarr", shape=data.shape, chunks=(10, 24, 32), dtype="u2", compressors=None)[:] = data
    return folder / "data.zarr", {}, folder / "data.zarr/c/1/0/0"


def linked(folder, scan):
    """The file that is named has but a link to the frames."""
    (folder / "scan.nx").write_bytes(scan.read_bytes())
    with h5py.File(folder / "scan.nx", "r+") as file:
        with h5py.File(folder / "far.h5", "w") as far:
            far["frames"] = file["entry/instrument/detector/data"][()]
        del file["entry/instrument/detector/data"]
        file["entry/instrument/detector/data"] = h5py.ExternalLink("far.h5", "frames")
    return folder / "scan.nx", {}, folder / "far.h5"


def assembled(folder, scan):
    """Of a virtual dataset."""
    with h5py.File(scan) as file, h5py.File(folder / "part.h5", "w") as part:
        part["frames"] = file["entry/instrument/detector/data"][20:60]
    layout = h5py.VirtualLayout((40, 24, 32), "u2")
    layout[:] = h5py.VirtualSource("part.h5", "frames", (40, 24, 32))
    with h5py.File(folder / "data.h5", "w") as file:
        file.create_virtual_dataset("frames", layout)
    return f"{folder}/data.h5:/frames", {}, folder / "part.h5"


def own_flats(folder, scan):
    """Flats in a file of their own."""
    np.save(folder / "flats.npy", np.full((3, 24, 32), 40000, "u2"))
    return scan, {"flats": folder / "flats.npy"}, folder / "flats.npy"


@pytest.mark.filterwarnings("ignore:.*no (flats|darks|angles)")
@pytest.mark.parametrize("made", [h5_dataset, zarr_chunks, linked, assembled, own_flats], ids=lambda made: made.__name__)
def test_every_file_that_a_scan_is_read_from_is_looked_at(scan, tmp_path, made):
    """A change in the middle, which neither the first projection nor the last shows."""
    path, beside, file = made(tmp_path, scan)

    def again(stop_after):
        with fp.open_scan(path, **beside) as source, fp.create_volume(tmp_path / "v.h5", (24, 32, 32), resume=True) as volume:
            calls = []
            with pytest.raises(fp.BudgetError) as error:
                fp.plan_reconstruct(source, written=True, **OPTIONS, memory=1)

            def watch(done, total):
                calls.append(done)
                if len(calls) > stop_after:
                    raise Stopped

            fp.reconstruct(source, out=volume, memory=error.value.smallest + 9000, progress=watch, **OPTIONS)

    with pytest.raises(Stopped), pytest.warns(UserWarning, match="--resume"):
        again(2)
    os.utime(file, (1, 1))
    with pytest.raises(fp.FormatError, match="cannot be resumed: the scan's file"), pytest.warns(UserWarning):
        again(99)


def test_a_run_without_resume_names_what_is_there_and_leaves_it(scan, tmp_path):
    target = tmp_path / "v.h5"
    with pytest.raises(Stopped), pytest.warns(UserWarning):
        run(scan, target, stop_after=2)
    names = left(target)
    with pytest.warns(UserWarning, match=r"unfinished run of it, \.v\.h5\.unfinished"):
        with fp.create_volume(target, (1, 2, 2)) as volume:
            volume.write(slice(0, 1), np.zeros((1, 2, 2), "f4"))
    assert left(target) == names


def test_a_run_without_resume_reads_no_flats_for_it(scan, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(_resume, "_facts_of_scan", lambda *given: asked.append(given) or {})
    with fp.open_scan(scan) as source, fp.create_volume(tmp_path / "plain.h5", (24, 32, 32)) as volume:
        fp.reconstruct(source, out=volume, **OPTIONS)
    assert not asked
    run(scan, tmp_path / "noted.h5")
    assert len(asked) == 1


def test_a_journal_that_outlived_its_run_goes_with_the_next(tmp_path):
    """Killed between the name and the end of the journal."""
    for kind in ("job", "done"):
        (tmp_path / f".v.h5.unfinished.{kind}").write_text("{}")
    with fp.create_volume(tmp_path / "v.h5", (1, 2, 2)) as volume:
        volume.write(slice(0, 1), np.zeros((1, 2, 2), "f4"))
    assert os.listdir(tmp_path) == ["v.h5"]


def test_two_runs_do_not_share_one_output(scan, tmp_path):
    with fp.create_volume(tmp_path / "v.h5", (24, 32, 32), resume=True) as volume:
        with pytest.raises(fp.FormatError, match="is being written by another run"):
            fp.create_volume(tmp_path / "v.h5", (24, 32, 32), resume=True)
        volume.write(slice(0, 24), np.zeros((24, 32, 32), "f4"))
    assert left(tmp_path / "v.h5") == []


def test_torn_journals(scan, whole, tmp_path):
    """Half a line of rows is no rows, and half a description is no job."""
    target = tmp_path / "v.h5"
    with pytest.raises(Stopped), pytest.warns(UserWarning):
        run(scan, target, stop_after=3)
    rows, job = (tmp_path / f".v.h5.unfinished.{kind}" for kind in ("done", "job"))
    rows.write_bytes(rows.read_bytes() + b"20 2\0\0\n20 2")
    with pytest.raises(Stopped), pytest.warns(UserWarning):
        run(scan, target, stop_after=1)
    assert all(re.fullmatch(r"\d+ \d+|# [-\d ]+", line) for line in rows.read_text().splitlines())
    job.write_text(job.read_text()[:50])
    assert run(scan, target)[0] <= 6, "rows of a job that nobody knows count for nothing"
    np.testing.assert_array_equal(stored(target), whole)


def test_what_was_never_begun_leaves_nothing(tmp_path):
    with pytest.raises(Stopped), fp.create_volume(tmp_path / "v.h5", (2, 3, 4), resume=True) as volume:
        volume.write(slice(0, 1), np.zeros((1, 3, 4), "f4"))
        raise Stopped
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_resumed(scan, whole, tmp_path, monkeypatch):
    from footprint.io.raw import RawFrames

    target, write, writes = tmp_path / "v.h5", RawFrames.write, []

    def full(self, *args):
        writes.append(1)
        if len(writes) > 3:
            raise OSError(28, "No space left on device")
        return write(self, *args)

    monkeypatch.setattr(RawFrames, "write", full)
    with (
        pytest.raises(fp.FormatError, match=r"\(the disk is full\); put that right, and go on with --resume\."),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        run(scan, target)
    monkeypatch.undo()
    assert run(scan, target)[0] > 1
    np.testing.assert_array_equal(stored(target), whole)


def test_the_journal_is_beside_the_target(tmp_path):
    """Names near the limit are cut, and links followed."""
    (tmp_path / "real").mkdir()
    name = "n" * 250 + ".h5"
    (tmp_path / "link.h5").symlink_to(Path("real") / name)
    with pytest.raises(Stopped), fp.create_volume(tmp_path / "link.h5", (2, 3, 4), resume=True) as volume:
        assert volume.temporary.parent == tmp_path / "real" and len(volume.temporary.name) <= 250
        raise Stopped
