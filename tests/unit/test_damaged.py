"""What a stopped run has left and a failing disk has damaged: it is made again or refused, and never taken as done."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import footprint as fp
from footprint.io.packing import Packed
from footprint.io.phantom import write_scan
from footprint.io.volume_source import open_volume

OPTIONS = {"center": 15.5, "method": "direct", "device": "cpu"}
FORMATS = {
    "v.zarr": {},
    "three.zarr": {"zarr_format": 3},
    "gzip.zarr": {"compression": "gzip", "levels": 2},
    "slices": {},
    "pictures": {"image_format": "jp2"},
    "packed.h5": {"compression": "gzip"},
}


class Stopped(Exception):
    pass


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / "scan.nx"
    write_scan(path, n_angles=40, n_z=12, n_x=32)
    return path


def run(path, target, packing, stop_after=None, rows=None, memory=30_000):
    """Reconstruct with so much memory above the smallest budget; how many rows were there before, and what was said."""
    made = []

    def watch(done, total):
        made.append(done)
        if stop_after is not None and len(made) == stop_after:
            raise Stopped

    dtype = "uint8" if packing.get("image_format") else "float32"
    given = {**OPTIONS, "rows": rows, "out_range": (-1.0, 2.0) if dtype == "uint8" else None, "out_dtype": dtype}
    given = {name: value for name, value in given.items() if value is not None}
    shape = (12 if rows is None else rows.stop - rows.start, 32, 32)
    with fp.open_scan(path) as source, warnings.catch_warnings(record=True) as said, contextlib.suppress(Stopped):
        warnings.simplefilter("always")
        with pytest.raises(fp.BudgetError) as error:
            packed = Packed(target.name, shape, packing)
            fp.plan_reconstruct(source, written=packed if packed.host_bytes(dtype) else True, memory=1, **given)
        with fp.create_volume(target, shape, dtype, resume=True, **packing) as volume:
            fp.reconstruct(source, out=volume, memory=error.value.smallest + memory, progress=watch, **given)
    return volume.resumed, [str(one.message) for one in said]


def stored(target, shape):
    source, found = open_volume(target), np.empty(shape, np.float32)
    source.frames.read(0, len(found), slice(0, shape[1]), found)
    source.close()
    return found


def first_file(left):
    """The file that the first slice is in."""
    names = ("0", "slice_00000.tif", "slice_00000.jp2")
    return next(file for file in sorted(left.rglob("*")) if file.name in names and file.is_file())


@pytest.mark.parametrize("damage", ["removed", "cut off"])
@pytest.mark.parametrize("name", FORMATS)
def test_rows_whose_files_are_damaged_are_made_again(scan, tmp_path, name, damage):
    packing = FORMATS[name]
    if packing.get("image_format"):
        pytest.importorskip("imagecodecs")
    if packing.get("compression"):
        pytest.importorskip("zarr")
    (tmp_path / "whole").mkdir()
    run(scan, tmp_path / "whole" / name, packing)
    target, left = tmp_path / name, tmp_path / f".{name}.unfinished"
    run(scan, target, packing, stop_after=3)
    lines = (tmp_path / f".{name}.unfinished.done").read_text()
    done = sum(int(line.split()[1]) - int(line.split()[0]) for line in lines.splitlines() if line[0] != "#")
    assert done >= 3
    file = left if left.is_file() else first_file(left)
    if damage == "removed" and left.is_dir():
        file.unlink()
    else:
        os.truncate(file, file.stat().st_size - 40)
    kept, said = run(scan, target, packing)
    assert 0 < kept < done
    again = re.compile(r"of \.\S*unfinished, done before, (is|are) missing or cut off there, and made again")
    assert any(map(again.search, said))
    whole = stored(tmp_path / "whole" / name, (12, 32, 32))
    assert whole.std(axis=(1, 2)).min() > 0
    np.testing.assert_array_equal(stored(target, whole.shape), whole)
    assert not list(tmp_path.glob(f".{name}*"))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "packed.h5"])
def test_a_slice_that_was_cut_goes_on_in_its_file(scan, tmp_path, name):
    """Parts are rows of the only slice: what a stopped run wrote of it stays where the next one writes the rest."""
    packing, rows = FORMATS[name], slice(5, 6)
    if packing.get("image_format"):
        pytest.importorskip("imagecodecs")
    (tmp_path / "whole").mkdir()
    run(scan, tmp_path / "whole" / name, packing, rows=rows, memory=0)
    target = tmp_path / name
    run(scan, target, packing, stop_after=2, rows=rows, memory=0)
    kept, said = run(scan, target, packing, rows=rows, memory=0)
    assert 0 < kept < 32, said
    np.testing.assert_array_equal(stored(target, (1, 32, 32)), stored(tmp_path / "whole" / name, (1, 32, 32)))


def test_a_journal_that_is_cut_down_is_read_again(tmp_path):
    """What is forgotten stays so, and notes stay."""
    from footprint.plan.done import DoneSet

    done = DoneSet(tmp_path / "done")
    done.size = lambda start, stop: 100 * (stop - start)
    done.note = lambda: ["a note"]
    for start in (0, 2, 4):
        done.add(start, start + 2)
    Path(done.path).open("a").write("6 8\n")
    again = DoneSet(done.path)
    assert again.spans == [(0, 8)]
    again.size = lambda start, stop: {2: None, 4: 150}.get(start, 200)
    # Of the last nobody has said how large it was.
    assert again.compare() == 6 and again.spans == [(0, 2)]
    again.note = list
    again.add(6, 8)
    last = DoneSet(done.path)
    assert last.spans == [(0, 2), (6, 8)] and last.notes == ["a note"] * 3


def test_an_hdf5_file_that_lacked_only_its_name_and_then_its_end(tmp_path, monkeypatch):
    """The heap is a whole file by then, which HDF5 knows the length of."""
    values = np.ones((3, 8, 8), "f4")

    def begin():
        volume = fp.create_volume(tmp_path / "v.h5", values.shape, resume=True, compression="gzip")
        return volume, volume.resume({}, "z")

    volume, done = begin()
    volume.write(slice(0, 3), values)
    volume.flush()
    done.add(0, 3)
    with monkeypatch.context() as only:
        only.setattr(type(volume), "_tell", lambda self: (_ for _ in ()).throw(Stopped))
        with pytest.raises(Stopped), pytest.warns(UserWarning, match="--resume continues"):
            volume.close()
    left = tmp_path / ".v.h5.unfinished"
    assert left.read_bytes()[1:4] == b"HDF"
    os.truncate(left, left.stat().st_size - 10)
    with pytest.raises(fp.FormatError, match="is damaged, its end is missing; delete"), pytest.warns(UserWarning):
        begin()
