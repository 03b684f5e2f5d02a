"""Rows of files that decode whole chunks, or pages, are kept: what a plan says of it is what is done."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.io.jp2 import Jp2Slice
from footprint.io.tiff_bands import Bands
from footprint.io.zarr_frames import ZarrFrames

OPTIONS = {"center": 31.5, "device": "cpu", "black_frames": "keep"}


def zarr_of(codec):
    def write(folder, frames):
        """Four chunks."""
        zarr = pytest.importorskip("zarr")
        how = {"chunks": (6, 40, 64), "compressors": getattr(zarr.codecs, codec)()}
        zarr.create_array(str(folder / "a.zarr"), shape=frames.shape, dtype=frames.dtype, **how)[:] = frames
        return folder / "a.zarr", 4, (ZarrFrames, "_decoded")

    return write


def pages(folder, frames):
    """One file."""
    for frame in frames:
        tifffile.imwrite(folder / "a.tif", frame, compression="zlib", append=True)
    return folder / "a.tif", 24, (Bands, "_decoded")


def files(folder, frames):
    """A page each."""
    (folder / "a").mkdir()
    for k, frame in enumerate(frames):
        tifffile.imwrite(folder / "a" / f"{k:02}.tif", frame, compression="zlib")
    return folder / "a", 24, (Bands, "_decoded")


def jp2(folder, frames):
    """JPEG 2000."""
    codec = pytest.importorskip("imagecodecs")
    (folder / "a").mkdir()
    for k, frame in enumerate(frames):
        (folder / "a" / f"{k:02}.jp2").write_bytes(codec.jpeg2k_encode(frame, codecformat="jp2", reversible=True))
    return folder / "a", 24, (Jp2Slice, "__init__")


FORMS = {"gzip": zarr_of("GzipCodec"), "zstd": zarr_of("ZstdCodec"), "pages": pages, "files": files, "jp2": jp2}


@pytest.mark.filterwarnings("ignore:.*no (flats|darks|angles)")
@pytest.mark.parametrize("form", FORMS)
def test_what_is_compressed_is_decoded_as_often_as_the_plan_says(tmp_path, rng, monkeypatch, form):
    """It was decoded for every block of rows, without a word in the plan and in its seconds."""
    frames = rng.integers(20000, 40000, (24, 40, 64), "u2")
    path, chunks, (owner, name) = FORMS[form](tmp_path, frames)
    decoded, one = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda self, *box, **how: (decoded.append(1), one(self, *box, **how))[1])
    with fp.open_scan(frames) as scan:
        wanted = fp.reconstruct(scan, **OPTIONS)
    with fp.open_scan(path) as scan:
        with pytest.raises(fp.BudgetError) as error:
            fp.plan_reconstruct(scan, memory=1000, written=True, center=31.5, device="cpu")
    seen = set()
    for extra in (90_000, 300_000, 10_000_000):
        decoded.clear()
        # Opened anew: a frame that was looked at last would be held from the job before.
        with fp.open_scan(path) as scan:
            plans = []
            with fp.create_volume(tmp_path / f"{extra}.h5", wanted.shape) as volume:
                fp.reconstruct(scan, out=volume, memory=error.value.smallest + extra, on_plan=plans.append, **OPTIONS)
            with h5py.File(tmp_path / f"{extra}.h5") as file:
                np.testing.assert_allclose(file["entry/reconstruction/results/data"], wanted, atol=1e-4)
            (plan,) = plans
            times = next((int(note.split()[4]) for note in plan.notes if "decompressed" in note), 1)
            assert dict(plan.seconds)["read"] > 0.9 * times * scan.decoding(24, 40) > 0
            # A few frames are looked at beside the job.
            assert chunks * times <= len(decoded) <= chunks * times + 6, (extra, plan.cuts, plan.notes)
            seen.add(times)
    assert len(seen) > 1 and 1 in seen
