"""Chunks of HDF5 datasets, decoded by us: the same numbers as HDF5 gives, whatever their shape, filters and order of reading."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

import footprint as fp
from footprint.api.filter_rows import plan_filter_rows
from footprint.io import chunks, coded
from footprint.io.inflated import Inflated
from footprint.io.phantom import write_scan
from footprint.io.stack import open_frames
from footprint.io.stacks import Hdf5Frames

FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "shuffle": {"shuffle": True},
    "deflate": {"compression": "gzip"},
    "shuffled deflate": {"compression": "gzip", "shuffle": True},
    "summed": {"fletcher32": True},
    "summed deflate": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "LZ4": {"compression": hdf5plugin.LZ4()},
    "bitshuffle": {"compression": hdf5plugin.Bitshuffle()},
    "bitshuffle alone": {"compression": hdf5plugin.Bitshuffle(cname="none")},
    "bitshuffle zstd": {"compression": hdf5plugin.Bitshuffle(cname="zstd")},
    "zstd": {"compression": hdf5plugin.Zstd()},
    "Blosc": {"compression": hdf5plugin.Blosc()},
    "Blosc2": {"compression": hdf5plugin.Blosc2()},
}
SHAPES = [
    ((9, 11), (4, 3)),
    ((7, 9, 11), (1, 9, 11)),
    ((7, 9, 11), (3, 4, 5)),
    ((3, 4, 9, 11), (2, 3, 4, 11)),
    ((2, 3, 2, 5, 6), (1, 2, 2, 5, 4)),
]


def _noise(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 200, shape).astype(dtype)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(("shape", "chunk"), SHAPES)
@pytest.mark.parametrize("dtype", ["u1", "<u2", ">i4", "<f8"])
def test_the_same_numbers_as_hdf5(tmp_path: Path, name: str, shape: tuple[int, ...], chunk: tuple[int, ...], dtype: str) -> None:
    want = _noise(shape, dtype)
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=512 if dtype == ">i4" else 0) as file:
        data = file.create_dataset("data", shape, dtype, chunks=chunk, fillvalue=7, **FILTERS[name])
        # What was never written has no chunk.
        data[..., :8] = want[..., :8]
    with h5py.File(tmp_path / "a.h5") as file:
        want = file["data"][()].reshape(-1, *shape[-2:])
        frames = Hdf5Frames("a.h5", file["data"], planes=True)
        n, n_y, n_x = frames.shape
        for rows in (slice(0, n_y), slice(2, 5), slice(n_y - 1, n_y)):
            for out in (np.empty((n, rows.stop - rows.start, n_x), want.dtype), np.empty((n, rows.stop - rows.start, n_x), "f4")):
                frames.read(0, n, rows, out)
                np.testing.assert_array_equal(out, want[:, rows].astype(out.dtype))
        part = np.empty((n - n // 2, 2, n_x))
        frames.keep(4)
        for start in range(n_y - 1):
            frames.read(n // 2, n, slice(start, start + 2), part)
            np.testing.assert_array_equal(part, want[n // 2 :, start : start + 2])
        frames.keep(0)
        frames.close()


@pytest.mark.parametrize("chunk", [None, (1, 4, 11)])
@pytest.mark.parametrize("dtype", ["<u2", ">i4"])
def test_rows_that_lie_as_they_are_take_one_call_a_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: tuple[int, ...] | None, dtype: str
) -> None:
    want = _noise((7, 9, 11), dtype)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=want, chunks=chunk)
        hole = file.create_dataset("hole", want.shape, dtype, chunks=(1, 4, 11), fillvalue=7)
        hole[:, :4], hole[2:] = want[:, :4], want[2:]
        holed = hole[()]
    calls, real = [0], os.preadv

    def counted(*words: Any) -> int:
        calls[0] += 1
        return real(*words)

    monkeypatch.setattr(os, "preadv", counted)
    for rows in (slice(5, 7), slice(2, 9)):
        frames = open_frames(f"{tmp_path / 'a.h5'}:/data")
        out = np.empty((4, rows.stop - rows.start, 11), want.dtype.newbyteorder("="))
        calls[0] = 0
        with monkeypatch.context() as at_once:
            # None of what is done for a chunk by itself.
            at_once.setattr(chunks, "pieces_of", lambda *words: iter(()))
            frames.read(2, 6, rows, out)
        np.testing.assert_array_equal(out, want[2:6, rows])
        assert calls[0] == 4 * (1 if chunk is None else -(-rows.stop // 4) - rows.start // 4)
        frames.close()
        frames = open_frames(f"{tmp_path / 'a.h5'}:/hole")
        frames.read(0, 4, rows, out)
        np.testing.assert_array_equal(out, holed[:4, rows])
        frames.close()


def _decodings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted, decode = [0], chunks.Chunks._decode

    def count(self: Any, *args: Any) -> None:
        counted[0] += 1
        decode(self, *args)

    monkeypatch.setattr(chunks.Chunks, "_decode", count)
    return counted


def test_kept_rows_are_decoded_once_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = _noise((12, 40, 6), "u2")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=want, chunks=(1, 40, 6), compression="gzip")
    with h5py.File(tmp_path / "a.h5") as file:
        frames, counted, out = Hdf5Frames("a.h5", file["data"]), _decodings(monkeypatch), np.empty((12, 2, 6), "u2")
        for keep, windows in ((0, 20), (10, 4), (40, 1)):
            frames.keep(keep)
            counted[0] = 0
            for start in range(0, 40, 2):
                frames.read(0, 5, slice(start, start + 2), out[:5])
                frames.read(5, 12, slice(start, start + 2), out[5:])
                np.testing.assert_array_equal(out, want[:, start : start + 2])
            assert counted[0] == 12 * windows
        assert frames.window_bytes(10) == 12 * 10 * 6 * 2
        assert [frames.decodings(n) for n in (1, 3, 40, 100)] == [40, 14, 1, 1]


@pytest.mark.parametrize("shuffle", [False, True])
def test_what_comes_later_is_inflated_and_checked_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffle: bool) -> None:
    """Every window inflated all of its chunks: 8 windows of a scan did nearly twice the work."""
    monkeypatch.setattr(chunks, "_SMALL", 0)
    monkeypatch.setattr(coded, "_MADE", 64)
    monkeypatch.setenv("FOOTPRINT_THREADS", "2")
    want, made = _noise((12, 40, 6), "u2"), [0]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=want, chunks=(1, 40, 6), compression="gzip", shuffle=shuffle)
        place = file["data"].id.get_chunk_info(3)

    def inflated(*given: Any) -> Any:
        for at, piece in coded.inflated(*given):
            made[0] += len(piece)
            yield at, piece

    def read(last: int, to: int = 40) -> None:
        frames.keep(10, last)
        made[0] = 0
        for start in range(0, to, 5):
            frames.read(0, 12, slice(start, start + 5), out)
            np.testing.assert_array_equal(out, want[:, start : start + 5])

    monkeypatch.setattr(chunks, "inflated", inflated)
    with h5py.File(tmp_path / "a.h5") as file:
        frames, out = Hdf5Frames("a.h5", file["data"]), np.empty((12, 5, 6), "u2")
        read(0)
        everything = made[0]
        read(40)
        # Of four windows: a quarter, a half, three quarters and all; where bytes are shuffled, half and then those.
        assert made[0] == pytest.approx(everything * (0.81 if shuffle else 0.625), rel=0.1)
        # The last window that is read checks, whether it is the last there is or not.
        read(20, 20)
        assert made[0] == pytest.approx(everything * (0.41 if shuffle else 0.3125), rel=0.2)
    with open(tmp_path / "a.h5", "r+b") as file:
        file.seek(place.byte_offset + place.size - 2)
        file.write(b"xx")
    with h5py.File(tmp_path / "a.h5") as file:
        frames = Hdf5Frames("a.h5", file["data"])
        read(40, 30)
        for last, to in ((40, 40), (20, 20), (0, 10)):
            with pytest.raises(fp.FormatError, match="cannot be inflated"):
                read(last, to)


def test_a_short_budget_decodes_few_times_and_the_plan_says_how_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = write_scan(tmp_path / "scan.nx", n_angles=60, n_z=40, n_x=128)
    volumes = []
    for memory in (None, "1.6MB"):
        with fp.open_scan(truth.path) as scan:
            plan = fp.plan_reconstruct(scan, method="direct", memory=memory, device="cpu")
            counted = _decodings(monkeypatch)
            volumes.append(fp.reconstruct(scan, center=truth.center, method="direct", memory=memory, device="cpu"))
            monkeypatch.undo()
        frames = 60 + 30
        kept = sum(one.nbytes for one in plan.libraries if one.name == "rows decoded ahead") // scan.window_bytes(1)
        if memory is None:
            # Flats and darks are also looked at before the run, and once for black frames; darks with the flats, for dead pixels.
            assert kept == 0 and counted[0] <= frames + 3 * 30 + 10
            continue
        windows = -(-40 // kept)
        assert windows > 1 and kept > plan.chunk.size and len(plan.chunks) > 3 * windows
        assert frames * windows <= counted[0] <= frames * windows + 2 * 30 + 10 < frames * (windows + 1)
        assert any(f"the scan is decompressed {windows} times, {kept} rows at a time" in note for note in plan.notes)
    np.testing.assert_array_equal(*volumes)


def test_slices_are_not_kept_whole_where_that_decodes_a_scan_once_for_each(tmp_path: Path) -> None:
    """Whole slices in 2 MB leave room for no row ahead, and were taken: 40 decodings, where parts of slices take one or two."""
    truth = write_scan(tmp_path / "scan.nx", n_angles=60, n_z=40, n_x=256)
    reading = []
    for memory in ("1.8MB", "2MB", "2.4MB"):
        with fp.open_scan(truth.path) as scan:
            plan = fp.plan_reconstruct(scan, method="fourier", memory=memory, device="cpu", written=True)
        reading.append(dict(plan.seconds)["read"])
    # Where they leave room for some, they are whole.
    assert plan.n_parts == 40
    assert reading[1] < 1.2 * reading[0] and reading[1] < 1.2 * reading[2]


def test_bytes_inside_gzip_files_at_any_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    monkeypatch.setattr("footprint.io.inflated._SPAN", 1 << 16)
    monkeypatch.setattr("footprint.io.inflated._POINTS", 3)
    content = np.random.default_rng(2).integers(0, 9, 1_000_000).astype("u1").tobytes()
    (tmp_path / "a.gz").write_bytes(gzip.compress(content[:400_001]) + gzip.compress(content[400_001:]) + bytes(700))
    file = Inflated(tmp_path / "a.gz")
    for at, count in itertools.product((999_990, 0, 500_000, 399_999, 12, 700_000), (5, 70_000)):
        assert file.read_at(at, count) == content[at : at + count]
    file.close()
    (tmp_path / "cut.gz").write_bytes(gzip.compress(content)[:100_000])
    file = Inflated(tmp_path / "cut.gz")
    with pytest.raises(EOFError, match="ends inside"):
        file.read_at(900_000, 5)
    file.close()


def test_going_back_a_little_in_a_gzip_file_inflates_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of an image with what their neighbours need of each other: each inflated the file from its beginning."""
    import gzip

    content = np.random.default_rng(3).integers(0, 9, 6_000_000).astype("u1").tobytes()
    (tmp_path / "a.gz").write_bytes(gzip.compress(content, 1))
    made, some = [], Inflated._some
    monkeypatch.setattr(Inflated, "_some", lambda self, most: made.append(piece := some(self, most)) or piece)
    file = Inflated(tmp_path / "a.gz")
    for at in range(0, 5_600_000, 400_000):
        back = max(0, at - 100_000)
        assert file.read_at(back, 500_000) == content[back : back + 500_000]
    file.close()
    assert sum(map(len, made)) < 2 * len(content)


def test_a_gzip_file_is_inflated_by_one_thread_that_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip
    import threading

    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(range(200))))
    seen, some = [], Inflated._some
    monkeypatch.setattr(Inflated, "_some", lambda self, most: seen.append(threading.current_thread()) or some(self, most))
    for closed in (True, False):
        file = Inflated(tmp_path / "a.gz")
        for _ in range(2):
            assert file.read_at(150, 9) == bytes(range(150, 159))
        assert len(set(seen)) == 1 and threading.current_thread() not in seen
        # What nobody closes lets it go when it goes itself.
        if closed:
            file.close()
        else:
            del file
        seen[0].join(10)
        assert not seen[0].is_alive()
        seen.clear()
    late: list[Exception] = []

    def read() -> None:
        file = Inflated(tmp_path / "a.gz")
        file.read_at(0, 1)
        file.close()
        try:
            file.read_at(150, 9)
        except Exception as error:
            late.append(error)

    # Who reads what another has closed is told so, and waits for nobody.
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(10)
    assert not reader.is_alive() and len(late) == 1


def test_a_gzip_file_is_inflated_where_no_thread_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip
    import threading

    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(range(200))))
    file = Inflated(tmp_path / "a.gz")
    assert file.read_at(150, 9) == bytes(range(150, 159))
    file.close()


@pytest.mark.parametrize("name", ["a.fits.gz", "tiles.fits", "scaled.fits.gz", "a.h5"])
def test_a_plan_foretells_what_decompressing_an_image_takes(tmp_path: Path, name: str) -> None:
    import h5py
    from astropy.io import fits

    pixels = _noise((400, 500), "i2" if name == "scaled.fits.gz" else "f4")
    if name.endswith(".h5"):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("image", data=pixels, chunks=(40, 500), compression="gzip")
    else:
        hdu = fits.CompImageHDU(pixels) if name == "tiles.fits" else fits.PrimaryHDU(pixels)
        if name == "scaled.fits.gz":
            hdu.header["BSCALE"] = 0.5
        hdu.writeto(tmp_path / name)
    np.save(tmp_path / "plain.npy", pixels)
    read = []
    for path in (tmp_path / "plain.npy", tmp_path / name):
        with fp.open_image(path) as image:
            given = {"reading": image.host_bytes, "memory": "4MB", "device": "cpu"}
            plans = fp.plan_convolve_rows(image.shape, (5, 5), **given), plan_filter_rows("median", image.shape, size=3, **given)
            read.append([dict(plan.seconds)["read"] for plan in plans])
    # 0.8 MB inflate at some 200 MB a second.
    assert all(b > a + 1e-3 for a, b in zip(*read)), read


def test_a_gzipped_image_whose_bits_turned_over_is_refused(tmp_path: Path) -> None:
    """Its pixels were other numbers, and a catalogue was made of them: the checksum behind them was never reached."""
    import gzip

    from astropy.io import fits

    fits.writeto(tmp_path / "a.fits", _noise((100, 30), "i2"))
    content = bytearray(gzip.compress((tmp_path / "a.fits").read_bytes(), 0))
    content[5000] ^= 4
    (tmp_path / "a.fits.gz").write_bytes(content)
    with fp.open_image(tmp_path / "a.fits.gz") as image, pytest.raises(fp.FormatError, match=r"compressed.*incorrect data check"):
        image.array()
    # What is cut off behind the pixels is missed by nobody.
    content[5000] ^= 4
    (tmp_path / "a.fits.gz").write_bytes(content[:-9])
    with fp.open_image(tmp_path / "a.fits.gz") as image:
        np.testing.assert_array_equal(image.array(), fits.getdata(tmp_path / "a.fits"))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("held", [True, False])
def test_gzipped_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scaled: bool, held: bool) -> None:
    from astropy.io import fits

    if not held:
        monkeypatch.setattr("footprint.io.fits._HELD", 0)
    stored = _noise((50, 30), "i2")
    hdu = fits.ImageHDU(stored, name="SCI")
    if scaled:
        hdu.header["BSCALE"], hdu.header["BZERO"] = 0.5, 3.0
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(tmp_path / "a.fits.gz")
    want = stored * np.float32(0.5) + 3 if scaled else stored
    with fp.open_image(f"{tmp_path}/a.fits.gz[SCI]") as image:
        assert image.shape == (50, 30) and (image.dtype == np.float32 if scaled else image.dtype == np.int16)
        for rows in (slice(40, 50), slice(0, 7), slice(0, 50)):
            out = np.empty((rows.stop - rows.start, 30), image.dtype)
            image.read(rows, out)
            np.testing.assert_array_equal(out, want[rows])
        if not held:
            # Little more than zlib's own, whatever the image.
            assert image.host_bytes(1, image.dtype) < 600_000
    whole = (tmp_path / "a.fits.gz").read_bytes()
    (tmp_path / "cut.fits.gz").write_bytes(whole[: len(whole) - 600])
    with (
        pytest.raises(fp.FormatError, match=r"is truncated: it ends|ends inside") as caught,
        fp.open_image(tmp_path / "cut.fits.gz") as image,
    ):
        image.array()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"scaleoffset": 0, "compression": "gzip"}, "by scale-offset and then by gzip"),
        ({"scaleoffset": 0, "compression": "lzf"}, "by scale-offset and then by lzf"),
    ],
)
def test_two_ways_of_packing_are_named(tmp_path, how, words):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=np.arange(200, dtype="u2").reshape(10, 20), chunks=(5, 20), **how)
    with pytest.raises(fp.FormatError, match=f"/data is packed twice, {words}, which is not read; h5repack it"):
        fp.open_image(tmp_path / "a.h5")
