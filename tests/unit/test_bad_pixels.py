"""Saturated and dead pixels: found, replaced, counted, and told in one sentence."""

from __future__ import annotations

import json
import tracemalloc
import warnings

import h5py
import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.api._counts import Tally
from footprint.io.phantom import write_scan
from footprint.io.told import room, tell
from tests.pages import Page
from tests.unit.cli_files import shell

DATA = "entry/instrument/detector/data"
FRAMES = slice(20, 60)  # of projections, after ten darks and ten flats


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """A scan, and the same with thirty saturated values, and with a quarter of them."""
    folder = tmp_path_factory.mktemp("saturated")
    rng = np.random.default_rng(4)
    for name, many in (("good", 0), ("few", 30), ("many", 2000)):
        truth = write_scan(folder / f"{name}.nx", n_angles=40, n_z=4, n_x=48)
        with h5py.File(truth.path, "r+") as file:
            data = file[DATA][()]
            # Not the detector's dead column, and not at its ends.
            places = rng.choice(40 * 4 * 15, many, replace=False)
            part = data[FRAMES][:, :, 18:33].reshape(-1)
            part[places] = 65535
            data[FRAMES, :, 18:33] = part.reshape(40, 4, 15)
            file[DATA][...] = data
    return folder


def volume(path, **options):
    found = []
    with fp.open_scan(path, **{name: options.pop(name) for name in ("saturation", "flats", "darks") if name in options}) as scan:
        scan = fp.select(scan, binning=options.pop("binning", 1))
        result = fp.reconstruct(scan, center=scan.own_axis((48 - 1) / 2 + 3.7), device="cpu", on_counts=found.append, **options)
    return result, found[0]


@pytest.mark.filterwarnings("ignore:.* of its values are saturated")
def test_saturated_values_are_replaced_and_counted_at_any_budget(scans):
    good, none = volume(scans / "good.nx")
    few, counts = volume(scans / "few.nx")
    kept, _ = volume(scans / "few.nx", saturation="none")
    assert np.abs(few - good).max() < 0.2 * np.abs(kept - good).max()
    assert (none.dead, none.pixels, none.saturated, none.values) == (4, 4 * 48, 0, 40 * 4 * 48)
    assert (counts.dead, counts.saturated, counts.level) == (4, 30, 65535)
    again, cut = volume(scans / "few.nx", memory="850kB")
    np.testing.assert_array_equal(again, few)
    assert cut == counts
    assert str(counts) == (
        "4 of 192 detector pixels are dead (no light in the flats) and 30 of 7,680 values are saturated (65535 and more); "
        "they are replaced from their neighbours along the row"
    )
    # A square of pixels is saturated where one of its pixels is.
    _, binned = volume(scans / "few.nx", binning=2)
    assert 20 < binned.saturated <= 30


def test_much_of_it_is_warned_of_and_flats_that_are_nothing_else_are_refused(scans):
    with pytest.warns(UserWarning, match="26.0% of its values are saturated .*saturation='none' takes them"):
        volume(scans / "many.nx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        volume(scans / "many.nx", saturation="none")
    with pytest.raises(fp.FormatError, match="its flats are saturated"):
        volume(scans / "good.nx", saturation=150)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("flats", np.nan, "{flats}: its flats are NaN; give others with flats=FILE"),
        ("darks", np.nan, "{darks}: its darks are NaN; give others with darks=FILE"),
        ("flats", 0, "{flats}: its flats are nowhere brighter than the darks of {scan} (all zero?)"),
        ("darks", 60000, "{scan}: its flats are nowhere brighter than the darks of {darks} (all zero?)"),
    ],
)
@pytest.mark.parametrize("how", [{}, {"saturation": "none"}, {"binning": 2}], ids=["auto", "none", "binned"])
def test_flats_and_darks_that_tell_nothing_are_refused_by_the_name_of_their_file(scans, tmp_path, name, value, words, how):
    """Flats that were NaN as they are stored were said to be saturated, and it was the scan that was named."""
    path, scan = tmp_path / f"{name}.npy", scans / "good.nx"
    np.save(path, np.full((2, 4, 48), value, np.float32))
    with pytest.raises(fp.FormatError) as caught:
        volume(scan, **{name: path}, **how)
    assert str(caught.value).startswith(words.format(scan=scan, flats=path, darks=path))


def test_flats_that_are_nan_where_they_are_bright(scans, tmp_path):
    flats = np.full((2, 4, 48), np.nan, np.float32)
    flats[:, :, ::2] = 0
    np.save(tmp_path / "f.npy", flats)
    with pytest.raises(fp.FormatError, match=r"f\.npy: its flats are NaN wherever they are brighter than the darks of "):
        volume(scans / "good.nx", flats=tmp_path / "f.npy")


def test_the_shell_tells(scans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = f"reconstruct {scans / 'few.nx'} --center 27.2 --device cpu --json --report run.html"
    told = json.loads(shell(f"{words} -o v.h5").stdout)
    assert (told["dead_pixels"], told["saturated_values"]) == (4, 30)
    assert told["bad_pixels"] in "".join(Page(tmp_path / "run.html").words)
    told = json.loads(shell(f"{words} -o w.h5 --overwrite --saturation 60000 --rows 1:3").stdout)
    with h5py.File(scans / "few.nx") as file:
        assert told["saturated_values"] == (file[DATA][FRAMES, 1:3] >= 60000).sum()
    refused = shell(f"reconstruct {scans / 'few.nx'} -o x.h5 --saturation much", code=1).exception
    assert "saturation: got 'much'" in str(refused)


def test_projections_without_light_are_told_where_the_volume_is(scans, tmp_path, monkeypatch):
    """The volume and its report said that all had been used."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "black.nx").write_bytes((scans / "good.nx").read_bytes())
    with h5py.File("black.nx", "r+") as file:
        for frame in (23, 40):
            file[DATA][frame] = 110
    with pytest.warns(UserWarning, match=r"black.nx: 2 black projections \(3, 20\) of 40 are left out; give black_frames=keep"):
        told = json.loads(shell("reconstruct black.nx --center 27.2 --device cpu --json -o v.h5").stdout)
    assert (told["projections"], told["black_projections"]) == (38, 2)
    assert said_of(tmp_path / "v.h5") == told["bad_pixels"] and told["bad_pixels"].startswith("2 black projections (3, 20) of 40")
    told = json.loads(shell("reconstruct black.nx --center 27.2 --device cpu --json -o w.h5 --black-frames keep").stdout)
    assert told["projections"] == 40 and "black" not in told["bad_pixels"]
    with h5py.File("w.h5") as file:
        assert file["entry/reconstruction"].attrs["black_frames"] == "keep"


def test_rows_are_counted_once(rng):
    """Whoever reads them again: neighbours' parts, tiles, groups of angles."""
    raw = rng.integers(0, 100, (6, 9, 20))
    tally = Tally(9, 90)
    for angles in (slice(0, 4), slice(4, 6)):
        for rows in (slice(5, 9), slice(0, 4), slice(2, 7), slice(0, 9)):
            tally.projections((angles, rows, slice(None)), raw[angles, rows])
    assert tally.counts().saturated == (raw >= 90).sum() and tally.counts().values == raw.size


def said_of(name):
    """The sentence in a volume's metadata, wherever its format has them."""
    if name.suffix == ".h5":
        with h5py.File(name) as file:
            return file["entry/reconstruction"].attrs["bad_pixels"]
    if name.suffix == ".zarr":
        return json.loads((name / ".zattrs").read_text())["footprint"]["bad_pixels"]
    found = []
    for file in sorted(name.glob("slice_*")) if name.is_dir() else [name]:
        if file.suffix == ".jp2":
            text = file.read_bytes().decode("latin-1")
            found.append(json.loads(text[text.index("<footprint>") + 11 : text.index("</footprint>")])["bad_pixels"])
            continue
        with tifffile.TiffFile(file) as opened:
            found.append(json.loads(opened.pages[0].description)["bad_pixels"])
    assert len(set(found)) == 1 and len(found) == (4 if name.is_dir() else 1)
    return found[0]


@pytest.mark.parametrize(
    "form", ["v.h5 --compression gzip", "v.tif", "v", "v.zarr", "v --image-format jp2 --output-dtype uint8 --range 0:1"]
)
def test_every_format_says_it(scans, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    told = json.loads(shell(f"reconstruct {scans / 'few.nx'} --center 27.2 --device cpu --json -o {form}").stdout)
    assert said_of(tmp_path / form.split()[0]) == told["bad_pixels"]
    assert "30 of 7,680 values are saturated" in told["bad_pixels"]


def test_joined_parts_say_it_each(scans, tmp_path):
    for rows in ("0:1", "1:4"):
        shell(f"reconstruct {scans / 'few.nx'} --center 27.2 --device cpu --rows {rows} -o {tmp_path / rows[0]}.h5")
    fp.join_volumes([tmp_path / "0.h5", tmp_path / "1.h5"], tmp_path / "v.h5")
    with h5py.File(tmp_path / "v.h5") as file:
        first, last = file["entry/reconstruction"].attrs["bad_pixels"]
    assert first.startswith("rows 0:1: 1 of 48 detector") and last.startswith("rows 1:4: 3 of 144 detector")


@pytest.mark.parametrize("before", [0, (64 << 10) - 5, 3_000_000])
def test_it_is_put_into_a_file_piece_by_piece(tmp_path, before):
    """No budget has room for a large piece of a volume."""
    file, kept = tmp_path / "v", json.dumps(room("bad_pixels")).encode()
    file.write_bytes(b"-" * before + kept + b"-" * 3_000_000)
    tracemalloc.start()
    tell([file], "bad_pixels", "none")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert file.read_bytes()[before:].startswith(b'"none"  ') and file.stat().st_size == before + len(kept) + 3_000_000
    assert most < 256 << 10


class Stop(Exception):
    pass


def test_a_run_that_goes_on_has_counted_what_the_first_one_read(scans, tmp_path):
    def run(stop=9):
        kept, found = [], []

        def progress(done, of):
            if done >= stop:
                raise Stop

        with fp.open_scan(scans / "few.nx") as scan, fp.create_volume(tmp_path / "v.h5", (4, 48, 48), resume=True) as volume:
            kept.append(volume.resumed)
            how = {"center": 27.2, "device": "cpu", "memory": "850kB", "progress": progress}
            fp.reconstruct(scan, out=volume, on_counts=found.append, **how)
        return kept[0], found[0]

    with pytest.raises(Stop), pytest.warns(UserWarning, match="--resume continues"):
        run(stop=2)
    kept, counts = run()
    assert 0 < kept < 4
    assert (counts.dead, counts.pixels, counts.saturated, counts.values) == (4, 4 * 48, 30, 40 * 4 * 48)
