"""Scans of every format, written here: frames, angles, units, and one sentence for each thing that can be wrong."""

from __future__ import annotations

import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

from footprint.errors import FootprintError, FormatError, ShapeError
from footprint.io.scan import Scan, open_scan
from tests.unit.io_files import dxchange, frames, nxtomo

pytestmark = pytest.mark.filterwarnings("ignore:.* has no (flats|darks|angles):UserWarning")


def whole(scan: Scan, dtype: object = None) -> np.ndarray:
    out = np.full(scan.shape, 77, dtype or scan.dtype)
    scan.read(slice(0, scan.n_z), out)
    return out


def test_key_tells_frames_apart(tmp_path: Path) -> None:
    key = [2, 1, 1, 0, 0, 3, 0, 1, 0, 0, 0]
    control = [2, 1, 1, 0, 0, 3, 0, 1, 0, -1, -1]
    data = nxtomo(tmp_path / "a.nx", key, control=control)
    with open_scan(tmp_path / "a.nx") as scan:
        want = [3, 4, 6, 8]
        assert scan.shape == (4, 3, 5) and scan.layout == "NXtomo"
        np.testing.assert_array_equal(whole(scan), data[want])
        np.testing.assert_array_equal(scan.angles, np.deg2rad(want))
        np.testing.assert_array_equal(scan.flats(), data[[1, 2, 7]])
        np.testing.assert_array_equal(scan.darks(slice(1, 3)), data[[0], 1:3])
        np.testing.assert_array_equal(scan.flat_times, [1, 2, 7])
        np.testing.assert_array_equal(scan.projection(-1), data[8])


def test_flats_are_interpolated_between_groups(tmp_path: Path) -> None:
    data = nxtomo(tmp_path / "a.nx", [1, 1, 0, 0, 0, 1, 0, 0]).astype(float)
    with open_scan(tmp_path / "a.nx") as scan:
        means = scan.flat_means(slice(0, 2))
        assert scan.n_flat_groups == 2
        np.testing.assert_allclose(means, [data[:2, :2].mean(0), data[5, :2]])
        lower, upper, weight = scan.flat_weights()
        np.testing.assert_array_equal(lower, [0, 0, 0, 1, 1])
        np.testing.assert_array_equal(upper, [1, 1, 1, 1, 1])
        np.testing.assert_allclose(weight, [1.5 / 4.5, 2.5 / 4.5, 3.5 / 4.5, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", ">u2", "<f2", ">f4", "f8", "i4"])
@pytest.mark.parametrize("out", ["uint16", "float32", "float64", ">f4"])
@pytest.mark.parametrize("storage", [{}, {"chunks": (2, 2, 4), "compression": "gzip"}])
def test_reads_cast_to_any_dtype_that_holds_the_numbers(tmp_path: Path, dtype: str, out: str, storage: dict) -> None:
    data = nxtomo(tmp_path / "a.nx", [1, 0, 0, 2, 0, 0, 0], dtype=dtype, **storage)[[1, 2, 4, 5, 6]]
    with open_scan(tmp_path / "a.nx") as scan:
        assert scan.dtype == np.dtype(dtype).newbyteorder("=")
        strided = np.zeros((3, 2, 10), out)[:, :, ::2]
        if out == "uint16" and dtype not in ("uint8", ">u2"):
            with pytest.raises(ShapeError, match="out: got dtype uint16, wanted one that holds"):
                scan.read(slice(1, 3), strided, slice(1, 4))
            return
        scan.read(slice(1, 3), strided, slice(1, 4))
        np.testing.assert_array_equal(strided, data[1:4, 1:3].astype(out))
        np.testing.assert_array_equal(whole(scan, out), data.astype(out))


def test_many_small_pieces_equal_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = nxtomo(tmp_path / "a.nx", [0] * 23, chunks=(4, 3, 5), compression="gzip")
    for piece in (1, 61, 130, 10_000):
        monkeypatch.setattr("footprint.io.stacks.PIECE", piece)
        with open_scan(tmp_path / "a.nx") as scan:
            np.testing.assert_array_equal(whole(scan, np.float32), data)
            part = np.zeros((9, 1, 5), np.float32)
            scan.read(slice(2, 3), part, slice(7, 16))
            np.testing.assert_array_equal(part, data[7:16, 2:3])


def test_empty_reads_and_wrong_outputs(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [1, 0, 0])
    with open_scan(tmp_path / "a.nx") as scan:
        scan.read(slice(1, 1), np.zeros((2, 0, 5)))
        with pytest.raises(ShapeError, match=r"out: got shape \(2, 1, 4\), wanted shape \(2, 1, 5\)"):
            scan.read(slice(1, 2), np.zeros((2, 1, 4)))
        fixed = np.zeros(scan.shape)
        fixed.flags.writeable = False
        with pytest.raises(ShapeError, match="read-only"):
            scan.read(slice(0, 3), fixed)


@pytest.mark.parametrize("plugin", ["LZ4", "Zstd", "Bitshuffle", "Blosc"])
def test_plugin_filters(tmp_path: Path, plugin: str) -> None:
    import hdf5plugin

    data = nxtomo(tmp_path / "a.nx", [1, 0, 0, 0], chunks=(1, 3, 5), compression=getattr(hdf5plugin, plugin)())
    with open_scan(tmp_path / "a.nx") as scan:
        np.testing.assert_array_equal(whole(scan), data[1:])


@pytest.mark.parametrize(
    ("value", "unit", "metres"),
    [
        (2.0, "um", 2e-6),
        (2.0, "µm", 2e-6),
        (0.5, "mm", 5e-4),
        (1e-6, "m", 1e-6),
        (3.0, "microns", 3e-6),
        (0.0, "m", None),
        (1.0, "parsec", None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*unknown unit")
def test_pixel_size_units(tmp_path: Path, value: float, unit: str, metres: float | None) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, 0], pixel=(value, unit))
    with open_scan(tmp_path / "a.nx") as scan:
        assert scan.pixel_size == (None if metres is None else pytest.approx(metres, rel=1e-12))


@pytest.mark.parametrize(("unit", "factor"), [("rad", 1.0), ("degrees", np.pi / 180), (None, np.pi / 180), ("Radians", 1.0)])
def test_angle_units(tmp_path: Path, unit: str | None, factor: float) -> None:
    nxtomo(tmp_path / "a.nx", [1, 0, 0], angle_unit=unit)
    with open_scan(tmp_path / "a.nx") as scan:
        np.testing.assert_allclose(scan.angles, np.array([1, 2]) * factor, rtol=1e-15)


@pytest.mark.parametrize("part", [False, True])
def test_diamond_external_links_and_virtual_datasets(tmp_path: Path, part: bool) -> None:
    data = frames(6)
    (tmp_path / "raw").mkdir()
    for i in range(2):
        with h5py.File(tmp_path / "raw" / f"part{i}.h5", "w") as file:
            file["d"] = data[3 * i : 3 * i + 3]
    layout = h5py.VirtualLayout((6, 3, 5), "uint16")
    for i in range(2):
        source = h5py.VirtualSource(f"raw/part{i}.h5", "d", (3, 3, 5))
        layout[3 * i : 3 * i + 3] = source[0:3] if part else source
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file.create_virtual_dataset("all", layout)
    with h5py.File(tmp_path / "scan.nxs", "w") as file:
        group = file.create_group("entry1/tomo_entry")
        group.create_group("data")["data"] = h5py.ExternalLink("virtual.h5", "/all")
        group["data/rotation_angle"] = np.arange(6.0)
        group["instrument/detector/image_key"] = [1, 2, 0, 0, 0, 0]
    with open_scan(tmp_path / "scan.nxs") as scan:
        assert scan.layout == "Diamond"
        np.testing.assert_array_equal(whole(scan), data[2:])
    with h5py.File(tmp_path / "raw" / "part1.h5", "w") as file:
        file["d"] = data[:2]
    with pytest.raises(FormatError, match=r"part1\.h5, which holds only \(2, 3, 5\) of it"):
        open_scan(tmp_path / "scan.nxs")
    with h5py.File(tmp_path / "raw" / "part1.h5", "w") as file:
        file["other"] = data[:2]
    with pytest.raises(FormatError, match=r"assembled from d in raw/part1\.h5, which is missing"):
        open_scan(tmp_path / "scan.nxs")
    (tmp_path / "raw" / "part1.h5").unlink()
    with pytest.raises(FormatError, match=r"part1\.h5, which is missing"):
        open_scan(tmp_path / "scan.nxs")
    (tmp_path / "virtual.h5").unlink()
    with pytest.raises(FormatError, match=r"link to /all in virtual\.h5, which cannot be opened"):
        open_scan(tmp_path / "scan.nxs")


def test_one_stack_under_two_names_is_one_scan(tmp_path: Path) -> None:
    data = nxtomo(tmp_path / "a.nx", [1, 2, 0], entry="entry1/tomo_entry")
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file["entry1/instrument/detector/data"] = file["entry1/tomo_entry/instrument/detector/data"]
        file["entry1/tomo_entry/instrument/detector/x_flipped"] = True
    with pytest.warns(UserWarning, match="x_flipped: its frames are read as they are stored"), open_scan(tmp_path / "a.nx") as scan:
        np.testing.assert_array_equal(whole(scan), data[2:])
        assert len(scan.notes) == 1


@pytest.mark.parametrize("storage", [{}, {"chunks": (1, 64, 300)}, {"chunks": (1, 64, 300), "compression": "gzip"}])
def test_reading_stages_no_more_than_it_says(tmp_path: Path, storage: dict) -> None:
    import tracemalloc

    nxtomo(tmp_path / "a.nx", [1, 2] + [0] * 600, n_z=64, n_x=300, **storage)
    with open_scan(tmp_path / "a.nx") as scan:
        out = np.empty((600, 32, 300), np.float32)
        scan.read(slice(0, 32), out)
        tracemalloc.start()
        scan.read(slice(16, 48), out)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= scan.host_bytes(32) + 65536 < out.nbytes
        # Chunks go straight to their places, whatever the dtype there.
        assert storage or peak > 32 * 300 * 2


def test_entries(tmp_path: Path) -> None:
    first = nxtomo(tmp_path / "a.nx", [1, 2, 0, 0], entry="entry0000")
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file.copy("entry0000", "entry0001")
        file["entry0001/instrument/detector/data"][...] = first + 1
    with pytest.warns(UserWarning, match="several scans: reading entry0000, not entry0001"), open_scan(tmp_path / "a.nx") as scan:
        np.testing.assert_array_equal(whole(scan), first[2:])
    with open_scan(tmp_path / "a.nx", entry="entry0001") as scan:
        np.testing.assert_array_equal(whole(scan), first[2:] + 1)
    with h5py.File(tmp_path / "a.nx", "a") as file:
        file.attrs["default"] = "entry0001"
    with pytest.warns(UserWarning, match="several"), open_scan(tmp_path / "a.nx") as scan:
        np.testing.assert_array_equal(whole(scan), first[2:] + 1)
    with pytest.raises(FormatError, match="no scan in entry nowhere"):
        open_scan(tmp_path / "a.nx", entry="nowhere")


def test_dxchange(tmp_path: Path) -> None:
    data = dxchange(tmp_path / "a.h5", theta=np.array([0, 40.0, 90, 130]))
    with open_scan(tmp_path / "a.h5") as scan:
        np.testing.assert_array_equal(whole(scan), data)
        np.testing.assert_allclose(scan.angles, np.deg2rad([0, 40, 90, 130]))
        assert (scan.n_flats, scan.n_darks, scan.layout, scan.n_flat_groups) == (2, 1, "DXchange", 1)
        assert all((w == 0).all() for w in scan.flat_weights())
    dxchange(tmp_path / "b.h5")
    with pytest.warns(UserWarning, match="4 equal steps over 180 degrees"), open_scan(tmp_path / "b.h5") as scan:
        np.testing.assert_allclose(scan.angles, np.deg2rad([0, 45, 90, 135]))


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_tiff(tmp_path: Path, many: bool, compression: str | None, byteorder: str) -> None:
    data = frames(11)
    name = tmp_path / ("scan" if many else "scan.tif")
    if many:
        name.mkdir()
        for i, image in enumerate(data):
            tifffile.imwrite(name / f"p_{i}.tif", image, compression=compression, byteorder=byteorder)
    else:
        tifffile.imwrite(name, data, compression=compression, byteorder=byteorder, photometric="minisblack")
    np.save(tmp_path / "flat.npy", np.full((2, 3, 5), 9.0))
    tifffile.imwrite(tmp_path / "dark.tif", np.ones((3, 5), np.uint8))
    (tmp_path / "angles.txt").write_text("# degrees\n" + "\n".join(str(5 * i) for i in range(13)))
    given = {"flats": tmp_path / "flat.npy", "darks": tmp_path / "dark.tif", "angles": f"{tmp_path}/angles.txt[1:12]"}
    with open_scan(name, **given) as scan:
        assert scan.layout == "TIFF" and scan.notes == ()
        np.testing.assert_array_equal(whole(scan), data)
        np.testing.assert_allclose(scan.angles, np.deg2rad(5 * np.arange(1, 12)))
        part = np.zeros((4, 2, 5), np.float32)
        for _ in range(2):
            scan.read(slice(1, 3), part, slice(3, 7))
            np.testing.assert_array_equal(part, data[3:7, 1:3])
            part[:] = 0
        assert scan.flat_means().max() == 9 and scan.dark_mean().max() == 1
    with pytest.raises(FormatError, match=r"lists 13 angles for 11 projections; select its lines as"):
        open_scan(name, **(given | {"angles": tmp_path / "angles.txt"}))


def test_flats_from_an_hdf5_dataset(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [0, 0])
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["x/flat"] = np.full((3, 5), 4, np.uint8)
        file["x/wide"] = np.full((3, 6), 4, np.uint8)
    with open_scan(tmp_path / "a.nx", flats=f"{tmp_path}/f.h5:/x/flat") as scan:
        assert scan.flat_means().tolist() == np.full((1, 3, 5), 4).tolist()
    with pytest.raises(FormatError, match="flats are 3 x 6, projections are 3 x 5"):
        open_scan(tmp_path / "a.nx", flats=f"{tmp_path}/f.h5:/x/wide")
    with pytest.raises(FormatError, match="holds 2 arrays; name one as"):
        open_scan(tmp_path / "a.nx", flats=tmp_path / "f.h5")


def test_flats_and_darks_of_another_scan(tmp_path: Path) -> None:
    """All its frames were taken for flats, projections and darks among them."""
    nxtomo(tmp_path / "a.nx", [0, 0])
    data = nxtomo(tmp_path / "b.nx", [2, 1, 1, 0, 0])
    with open_scan(tmp_path / "a.nx", tmp_path / "b.nx", tmp_path / "b.nx") as scan:
        np.testing.assert_array_equal(scan.flats(), data[1:3])
        np.testing.assert_array_equal(scan.darks(), data[:1])
        np.testing.assert_allclose(scan.flat_means()[0], data[1:3].mean(axis=0))
    flats = nxtomo(tmp_path / "f.nx", [1, 1, 1])
    with open_scan(tmp_path / "a.nx", tmp_path / "f.nx", tmp_path / "f.nx") as scan:
        np.testing.assert_array_equal(scan.flats(), flats)
        np.testing.assert_array_equal(scan.darks(), flats)
    nxtomo(tmp_path / "f.nx", [1, 0, 0])
    with pytest.raises(FormatError, match=r"f\.nx: holds no darks among its 3 frames \(image_key 2\); name a stack as"):
        open_scan(tmp_path / "a.nx", tmp_path / "b.nx", tmp_path / "f.nx")


def test_no_flats_is_a_warning_and_a_way_on(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [0, 0])
    with pytest.warns(UserWarning, match="has no flats"), open_scan(tmp_path / "a.nx") as scan:
        assert scan.flats() is None and scan.flat_means() is None and scan.dark_mean() is None and scan.n_flats == 0
        assert len(scan.notes) == 2


def _bad_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Every broken scan, with what its sentence must say."""
    good = folder / "good.nx"
    nxtomo(good, [1, 2, 0, 0], n_z=40, n_x=50)
    cases = {
        "missing": (folder / "none.nx", "there is no such file"),
        "empty folder": (folder / "folder", r"holds no \.tif"),
        "not HDF5": (folder / "text.h5", "is not HDF5, TIFF, JPEG 2000 or .npy"),
        "empty file": (folder / "zero.h5", "the file is empty"),
        "truncated": (folder / "cut.nx", "is truncated: its header declares"),
        "no projections": (folder / "flats.nx", "holds no projections among its 3 frames"),
        "no scan": (folder / "other.h5", "holds no scan"),
        "key count": (folder / "key.nx", "has 2 values for 4 frames"),
        "angle count": (folder / "angles.nx", "has 3 angles for 4 frames, 2 of them projections"),
        "NaN angle": (folder / "nan.nx", "1 of its 2 angles are NaN or infinite, the first is that of projection 1"),
        "angle unit": (folder / "unit.nx", "has the unit 'gon'"),
        "no angles": (folder / "noangle.nx", "has no rotation angles"),
        "no rows": (folder / "norows.nx", r"empty projections \(0 x 5\)"),
        "complex": (folder / "complex.nx", "wanted numbers"),
        "tiff sizes": (folder / "sizes", "the first is uint8 3 x 5"),
    }
    (folder / "folder").mkdir()
    (folder / "text.h5").write_text("hello")
    (folder / "zero.h5").touch()
    (folder / "cut.nx").write_bytes(good.read_bytes()[:-3000])
    nxtomo(folder / "flats.nx", [1, 2, 3])
    with h5py.File(folder / "other.h5", "w") as file:
        file["x"] = 1
    nxtomo(folder / "key.nx", [1, 2, 0, 0])
    nxtomo(folder / "noangle.nx", [1, 2, 0, 0])
    nxtomo(folder / "complex.nx", [1, 2, 0, 0], dtype="complex64")
    with h5py.File(folder / "key.nx", "a") as file, h5py.File(folder / "noangle.nx", "a") as other:
        del file["entry/instrument/detector/image_key"], other["entry/sample"]
        file["entry/instrument/detector/image_key"] = [0, 0]
    nxtomo(folder / "angles.nx", [1, 2, 0, 0], angles=np.zeros(3))
    nxtomo(folder / "nan.nx", [1, 2, 0, 0], angles=np.array([0, 0, 0, np.nan]))
    nxtomo(folder / "unit.nx", [1, 2, 0, 0], angle_unit="gon")
    nxtomo(folder / "norows.nx", [1, 2, 0, 0], n_z=0)
    (folder / "sizes").mkdir()
    tifffile.imwrite(folder / "sizes" / "1.tif", np.zeros((3, 5), np.uint8))
    tifffile.imwrite(folder / "sizes" / "2.tif", np.zeros((3, 6), np.uint8))
    return cases


def test_bad_files(tmp_path: Path) -> None:
    for name, (path, match) in _bad_files(tmp_path).items():
        with pytest.raises(FootprintError, match=match) as caught, open_scan(path) as scan:
            whole(scan)
        sentence = str(caught.value)
        assert "\n" not in sentence and sentence.startswith(str(tmp_path)) and sentence.endswith("."), (name, sentence)


def test_importing_reads_no_library() -> None:
    import subprocess
    import sys

    code = (
        "import sys, footprint.io.scan, footprint.io.image, footprint.io.volume, footprint.io.catalog; "
        "print(sorted({'h5py', 'astropy', 'tifffile', 'hdf5plugin'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_files_are_closed(tmp_path: Path) -> None:
    nxtomo(tmp_path / "a.nx", [1, 2, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        open_scan(tmp_path / "a.nx").close()
        with pytest.raises(FormatError):
            open_scan(tmp_path / "a.nx", entry="x")
    with h5py.File(tmp_path / "a.nx", "a"):
        pass


def test_pages_added_to_a_tiff_one_by_one_are_all_read(tmp_path):
    data = frames(4)
    for compression in (None, "zlib"):
        with tifffile.TiffWriter(tmp_path / "one-by-one.tif") as file:
            for page in data:
                file.write(page, photometric="minisblack", compression=compression)
        with warnings.catch_warnings(), open_scan(tmp_path / "one-by-one.tif", angles=np.arange(4.0)) as scan:
            warnings.simplefilter("ignore")
            assert scan.shape == data.shape
            found = np.empty((4, 2, scan.n_x), np.float32)
            scan.read(slice(1, 3), found)
        np.testing.assert_array_equal(found, data[:, 1:3])


def test_a_tiff_whose_pages_differ_is_refused_and_a_thumbnail_is_not_a_page(tmp_path):
    with tifffile.TiffWriter(tmp_path / "differ.tif") as file:
        for height in (3, 3, 4):
            file.write(np.zeros((height, 5), np.uint16), photometric="minisblack")
    with pytest.raises(FormatError, match="pages that differ: uint16 3 x 5 and uint16 4 x 5"):
        open_scan(tmp_path / "differ.tif")
    with tifffile.TiffWriter(tmp_path / "thumbnail.tif") as file:
        file.write(np.ones((6, 8), np.uint16), photometric="minisblack")
        file.write(np.zeros((3, 4), np.uint16), photometric="minisblack", subfiletype=1)
    with warnings.catch_warnings(), open_scan(tmp_path / "thumbnail.tif", angles=[0.0]) as scan:
        warnings.simplefilter("ignore")
        assert scan.shape == (1, 6, 8)
