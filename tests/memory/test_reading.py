"""What reading takes on its own, beside the arrays it fills: measured in a fresh process, against what each format says."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest
import tifffile
from astropy.io import fits

import footprint as fp
from footprint.api.convolve_rows import plan_convolve_rows
from tests.unit.io_files import nxtomo

ROOT = Path(__file__).resolve().parents[2]
# Python's own objects and malloc's arenas, no function of the data.
_INTERPRETER = 512 << 10


def _hdf5(path: Path, shape: tuple[int, ...], **storage: object) -> str:
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=_noise(shape), **storage)
    return f"{path}:/data"


def _tiff(path: Path, shape: tuple[int, ...], **storage: object) -> str:
    tifffile.imwrite(path, _noise(shape), photometric="minisblack", **storage)
    return str(path)


def _npy(path: Path, shape: tuple[int, ...]) -> str:
    np.save(path, _noise(shape))
    return str(path)


def _folder(path: Path, shape: tuple[int, ...]) -> str:
    path.mkdir()
    for i, page in enumerate(_noise(shape)):
        tifffile.imwrite(path / f"p{i}.tif", page)
    return str(path)


def _virtual(path: Path, shape: tuple[int, ...], **storage: object) -> str:
    """A dataset that HDF5 puts together of one in another file."""
    _hdf5(path.with_suffix(".src.h5"), shape, **storage)
    layout = h5py.VirtualLayout(shape, "u2")
    layout[:] = h5py.VirtualSource(path.with_suffix(".src.h5"), "data", shape)
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("data", layout)
    return f"{path}:/data"


def _fits(path: Path, shape: tuple[int, ...], scaled: bool = False, unsigned: bool = False) -> str:
    hdu = fits.PrimaryHDU(_noise(shape) if unsigned else _noise(shape).astype(np.int16))
    if scaled:
        hdu.header["BSCALE"], hdu.header["BZERO"] = 0.5, 3.0
    hdu.writeto(path)
    return str(path)


def _fits_gz(path: Path, shape: tuple[int, ...]) -> str:
    """Little noise, so that it is written fast."""
    plain = path.with_suffix("")
    fits.writeto(plain, np.resize(_noise((1000,)), shape).astype(np.int16))
    with open(plain, "rb") as file, gzip.open(path, "wb", 1) as packed:
        shutil.copyfileobj(file, packed)
    return str(path)


def _fits_fz(path: Path, shape: tuple[int, ...], tile: tuple[int, int], way: str = "RICE_1") -> str:
    values = np.resize(_noise((1000,)), shape).astype(np.int16)
    tiles = fits.CompImageHDU(values, compression_type=way, tile_shape=tuple(map(min, tile, shape)))
    fits.HDUList([fits.PrimaryHDU(), tiles]).writeto(path)
    return str(path)


def _fits_floats(
    path: Path, shape: tuple[int, ...], tile: tuple[int, int], way: str, rounded: bool = True, dtype: str = "f4"
) -> str:
    """Floats, rounded to integers or as they are."""
    values = np.resize(np.random.default_rng(1).normal(1000, 50, 1000), shape).astype(dtype)
    level = {} if rounded else {"quantize_level": 0}
    tiles = fits.CompImageHDU(values, compression_type=way, tile_shape=tuple(map(min, tile, shape)), **level)
    fits.HDUList([fits.PrimaryHDU(), tiles]).writeto(path)
    return str(path)


def _zarr(path: Path, shape: tuple[int, ...], chunks: tuple[int, ...], codec: str) -> str:
    """By one of the codecs that are decoded here."""
    about = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<u2", "fill_value": 0, "order": "C", "filters": None}
    path.mkdir()
    (path / ".zarray").write_text(json.dumps(about | {"compressor": {"id": codec}}))
    pack = {"zlib": zlib.compress, "bz2": bz2.compress, "lzma": lzma.compress}[codec]
    for z in range(-(-shape[0] // chunks[0])):
        (path / f"{z}.0.0").write_bytes(pack(_noise(chunks).tobytes()))
    return str(path)


def _noise(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 1 << 16, shape).astype(np.uint16)


CASES = {
    "hdf5 with tiny chunks": (_hdf5, ".h5", (6000, 2, 8), {"chunks": (1, 2, 8)}),
    "hdf5 with chunks it keeps": (_hdf5, ".h5", (4000, 22, 26), {"chunks": (1, 22, 26)}),
    "hdf5 gzipped frames": (_hdf5, ".h5", (400, 64, 512), {"chunks": (1, 64, 512), "compression": "gzip", "compression_opts": 1}),
    "hdf5 with very many chunks": (_hdf5, ".h5", (40000, 2, 8), {"chunks": (1, 2, 8)}),
    "hdf5 contiguous": (_hdf5, ".h5", (200, 64, 512), {}),
    "hdf5 smaller than a piece": (_hdf5, ".h5", (181, 2, 640), {}),
    "hdf5 gzipped": (_hdf5, ".h5", (64, 64, 512), {"chunks": (8, 64, 512), "compression": "gzip", "shuffle": True}),
    "hdf5 bitshuffle": (
        _hdf5,
        ".h5",
        (100, 128, 512),
        {"chunks": (1, 128, 512), "compression": hdf5plugin.Bitshuffle(cname="lz4")},
    ),
    "hdf5 bitshuffle, deep": (
        _hdf5,
        ".h5",
        (64, 64, 512),
        {"chunks": (16, 64, 512), "compression": hdf5plugin.Bitshuffle(cname="lz4")},
    ),
    "hdf5 gzipped in one": (_hdf5, ".h5", (16, 256, 512), {"chunks": (16, 256, 512), "compression": "gzip"}),
    "hdf5 virtual": (_virtual, ".h5", (400, 64, 512), {}),
    "hdf5 virtual, small chunks": (_virtual, ".h5", (400, 64, 512), {"chunks": (1, 64, 512), "compression": "gzip"}),
    "hdf5 virtual, large chunks": (_virtual, ".h5", (16, 1024, 1024), {"chunks": (8, 1024, 1024), "compression": "gzip"}),
    "hdf5 image in chunks": (_hdf5, ".h5", (2048, 2048), {"chunks": (64, 64), "compression": "gzip"}),
    "tiff": (_tiff, ".tif", (64, 64, 512), {}),
    "tiff deflated": (_tiff, ".tif", (4, 1024, 2048), {"compression": "zlib"}),
    "tiff deflated in strips": (_tiff, ".tif", (4, 1024, 2048), {"compression": "zlib", "rowsperstrip": 16}),
    "folder": (_folder, "", (20, 512, 512), {}),
    "zarr deflated": (_zarr, ".zarr", (8, 256, 1024), {"chunks": (2, 256, 1024), "codec": "zlib"}),
    "zarr by bz2": (_zarr, ".zarr", (4, 128, 512), {"chunks": (2, 128, 512), "codec": "bz2"}),
    "zarr by lzma": (_zarr, ".zarr", (4, 128, 512), {"chunks": (2, 128, 512), "codec": "lzma"}),
    "npy": (_npy, ".npy", (64, 64, 512), {}),
    "fits": (_fits, ".fits", (3000, 1000), {}),
    "fits gzipped": (_fits_gz, ".fits.gz", (3000, 1000), {}),
    "fits gzipped, too large to hold": (_fits_gz, ".fits.gz", (9000, 4000), {}),
    "fits in tiles": (_fits_fz, ".fits.fz", (3000, 1000), {"tile": (1, 1000)}),
    "fits in square tiles": (_fits_fz, ".fits.fz", (3000, 1000), {"tile": (128, 128), "way": "GZIP_2"}),
    "fits in one tile": (_fits_fz, ".fits.fz", (3000, 1000), {"tile": (3000, 1000)}),
    "fits in tiles, too large to hold": (_fits_fz, ".fits.fz", (9000, 4000), {"tile": (4, 4000)}),
    "fits unsigned": (_fits, ".fits", (3000, 1000), {"unsigned": True}),
    "fits scaled": (_fits, ".fits", (3000, 1000), {"scaled": True}),
}
# The decoder's arrays are many times a tile's pixels.
FLOATS = {
    "RICE_1": {"way": "RICE_1"},
    "HCOMPRESS_1": {"way": "HCOMPRESS_1"},
    "GZIP_1": {"way": "GZIP_1"},
    "GZIP_2": {"way": "GZIP_2"},
    "GZIP_2, as they are": {"way": "GZIP_2", "rounded": False},
    "GZIP_2, as they are, float64": {"way": "GZIP_2", "rounded": False, "dtype": "f8"},
    "RICE_1, float64": {"way": "RICE_1", "dtype": "f8"},
}
# Read by one thread: what their libraries decode to is in the C library's heap.
_THEIRS = ("hdf5 virtual", "zarr", "tiff deflated", "fits gzipped", "fits in")


# Very many small objects of the C library, for which a fork's heap has less room left than that of a process which has just begun.
_ALONE = ("hdf5 with very many chunks",)


def alone(*words: str) -> list[int]:
    """As `fresh`, in a process that imports all itself."""
    command = [sys.executable, "-m", "tests.memory.readers", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("into", ["stored", "other"])
def test_reading_takes_no_more_than_it_says(tmp_path, fresh, case, into):
    write, suffix, shape, storage = CASES[case]
    less = (max(2, shape[0] // 20), *(min(n, 16) for n in shape[1:]))
    # Stored alike, so that the library's code, which counts as grown once it is used, is in memory before.
    small = storage | ({"chunks": tuple(map(min, storage["chunks"], less))} if "chunks" in storage else {})
    few = write(tmp_path / f"few{suffix}", less, **small)
    many = write(tmp_path / f"many{suffix}", shape, **storage)
    stored = "float32" if storage.get("scaled") else "int16" if "fits" in case and not storage.get("unsigned") else "uint16"
    dtype = stored if into == "stored" else "float64"
    words = ("read", few, many, "1000", dtype, "1" if case.startswith(_THEIRS) else "3")
    growth, said, staged = alone(*words) if case in _ALONE else fresh(*words)
    if growth < 0:
        pytest.skip("this system does not tell the process's peak")
    assert said <= staged
    assert growth <= said + _INTERPRETER, f"reading took {growth / 2**20:.2f} MiB, it said {said / 2**20:.2f} MiB"
    if "gzipped" in case or "virtual" in case:
        assert said <= 2 * growth + (2 << 20), "a bound that is far from what is taken refuses jobs that would fit"
    if into == "stored" and case in ("hdf5 contiguous", "hdf5 smaller than a piece", "tiff", "npy", "fits"):
        assert said == 0


def test_a_gzipped_image_read_by_many_threads_in_turn_takes_no_more_than_it_says(tmp_path, fresh):
    """Each pass of a job has a thread of its own: zlib's states stayed in the heaps of all, up to 3.7 MB beyond the plan."""
    few, many = (_fits_gz(tmp_path / f"{rows}.fits.gz", (rows, 4000)) for rows in (450, 9000))
    growth, said = fresh("passes", few, many, "100", "8")
    if growth < 0:
        pytest.skip("this system does not tell the process's peak")
    assert growth <= said + _INTERPRETER, f"reading took {growth / 2**20:.2f} MiB, it said {said / 2**20:.2f} MiB"
    assert said <= 2 * growth + (1 << 19), "a bound that is far from what is taken refuses jobs that would fit"


@pytest.mark.parametrize("tile", [(16, 2000), (256, 256), (800, 1000)], ids=str)
@pytest.mark.parametrize("case", FLOATS)
def test_tiles_of_floats_take_no_more_than_is_said(tmp_path, fresh, case, tile):
    few = _fits_floats(tmp_path / "few.fits.fz", (64, 2000), tile, **FLOATS[case])
    many = _fits_floats(tmp_path / "many.fits.fz", (1600, 2000), tile, **FLOATS[case])
    growth, said = fresh("read_tiles", few, many, "100")
    if growth < 0:
        pytest.skip("this system does not tell the process's peak")
    assert growth <= said, f"reading took {growth / 2**20:.2f} MiB, it said {said / 2**20:.2f} MiB"
    assert said <= 2 * growth + (1 << 20), "a bound that is far from what is taken refuses jobs that would fit"


@pytest.mark.parametrize("way", ["RICE_1", "HCOMPRESS_1", "GZIP_2"])
def test_a_command_on_tiles_of_floats_stays_within_its_plan(tmp_path, way):
    path = _fits_floats(tmp_path / "tiles.fits.fz", (2048, 2048), (16, 2048), way)
    words = ["filter", "gaussian", path, "--sigma", "6", "-o", str(tmp_path / "out.npy"), "--memory", "8MB", "--json"]
    done = subprocess.run([sys.executable, "-m", "footprint", *words], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    if report["measured_peak"] is None:
        pytest.skip("this system does not tell the process's peak")
    assert report["measured_peak"] <= report["plan_total"] <= 8_000_000


def test_plans_count_staging_only_where_there_is_some(tmp_path):
    for dtype, staged in ((">f4", False), (">i4", True)):
        fits.writeto(tmp_path / f"{dtype[1:]}.fits", np.ones((64, 512), dtype))
        with fp.open_image(tmp_path / f"{dtype[1:]}.fits") as image:
            options = {"reading": image.host_bytes, "device": "cpu"}
            plans = [
                plan_convolve_rows(image.shape, (3, 3), dtype=image.dtype.str, **options),
                fp.plan_find_sources(image.shape, dtype=image.dtype.str, streamed=True, **options),
            ]
        for plan in plans:
            assert any(one.name == "file reader" and one.nbytes for one in plan.libraries) == staged


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    for storage, compression in (("gzip", "gzip"), ("bits", hdf5plugin.Bitshuffle(cname="lz4"))):
        for name, n, n_z, n_x in (("few", 90, 4, 64), ("many", 300, 160, 384)):
            key, path = [2] * 10 + [1] * 20 + [0] * n, folder / f"{name}-{storage}.nx"
            nxtomo(path, key, n_z=n_z, n_x=n_x, chunks=(1, n_z, n_x), compression=compression)
    return folder


@pytest.mark.parametrize(("storage", "memory"), [("gzip", "25MB"), ("gzip", "8MB"), ("bits", "8MB")])
def test_a_compressed_scan_stays_within_its_plan(scans, fresh, storage, memory):
    said, growth = fresh("scan", str(scans / f"few-{storage}.nx"), str(scans / f"many-{storage}.nx"), memory, "24")
    if growth < 0:
        pytest.skip("this system does not tell the process's peak")
    assert growth <= said, f"the run took {growth / 2**20:.2f} MiB, its plan said {said / 2**20:.2f} MiB"


def test_what_laying_out_a_volume_took_is_given_back(tmp_path, fresh):
    beyond = fresh("lay_out", str(tmp_path))
    if beyond is None:
        pytest.skip("this system does not tell the process's peak")
    assert beyond <= 1 << 18, f"{beyond} bytes were kept beside what came next"
