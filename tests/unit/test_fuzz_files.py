"""Hundreds of truncated and corrupted files are either read or refused in one sentence; nothing else ever happens."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest
import tifffile
from astropy.io import fits

from tests.unit import fuzz_worker
from tests.unit.io_files import dxchange, frames, nxtomo

_REAL = (
    ("image", "astronomy/aegean_1904/small_4D.fits"),
    ("image", "astronomy/aegean_1904/1904-66_SIN.fits"),
    ("image", "astronomy/vast_askap/epoch01.fits"),
    ("scan", "tomography/savu_24737_tiff/tiffs/raw_00000.tiff"),
    ("scan", "tomography/tomopy_tooth/tooth.h5"),
    ("scan", "tomography/diad_k11/k11-18014.nxs"),
    ("image", "tomography/tomopy_golden/cube.npy"),
)
_COPIES = 40


def _originals(folder: Path) -> list[Path]:
    """Small good files of every format; the name's first word says how it is opened."""
    image = np.arange(600, dtype=np.float32).reshape(20, 30)
    nxtomo(folder / "scan-plain.nx", [1, 2, 0, 0, 0], control=[1, 2, 0, 0, -1], pixel=(1.0, "um"))
    nxtomo(folder / "scan-gzip.nx", [1, 2, 0, 0, 0], chunks=(1, 3, 5), compression="gzip", shuffle=True)
    nxtomo(folder / "scan-lz4.nx", [1, 2, 0, 0, 0], chunks=(2, 3, 5), compression=hdf5plugin.LZ4())
    dxchange(folder / "scan-dx.h5", theta=np.arange(4.0))
    with h5py.File(folder / "scan-new.nx", "w", libver="latest") as file:
        file["entry/instrument/detector/data"] = frames(3)
        file["entry/instrument/detector/image_key"] = [1, 2, 0]
        file["entry/sample/rotation_angle"] = np.zeros(3)
    tifffile.imwrite(folder / "scan-pages.tif", frames(4), photometric="minisblack")
    tifffile.imwrite(folder / "scan-zlib.tif", frames(4), photometric="minisblack", compression="zlib", predictor=True)
    tifffile.imwrite(folder / "scan-big.tif", frames(4), photometric="minisblack", bigtiff=True, byteorder=">")
    tifffile.imwrite(folder / "image-tiled.tif", np.zeros((40, 50), np.uint16), tile=(16, 16))
    header = fits.Header({"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CDELT1": -1e-3, "CDELT2": 1e-3, "BMAJ": 5e-3, "BMIN": 4e-3})
    fits.writeto(folder / "image-plain.fits", image, header)
    fits.writeto(folder / "image-unsigned.fits", image.astype(np.uint16), header)
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(image)]).writeto(folder / "image-second.fits")
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(image.astype(np.int16))]).writeto(folder / "image-packed.fits")
    (folder / "image-gz.fits").write_bytes(gzip.compress((folder / "image-plain.fits").read_bytes()))
    np.save(folder / "image-flat.npy", image)
    with h5py.File(folder / "image-only.h5", "w") as file:
        file["a/b"] = image
    (folder / "shifts-text.txt").write_text("1.5\n2\n-3\n")
    np.save(folder / "shifts-array.npy", np.arange(3.0))
    return sorted(folder.iterdir())


def _damage(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip, blank, insert or remove bytes, mostly where headers are."""
    if not content:
        return content
    at = min(int(rng.expovariate(1 / 600)), len(content) - 1) if rng.random() < 0.7 else rng.randrange(len(content))
    if rng.random() < 0.2:
        at = len(content) - 1 - at
    data, kind = bytearray(content), rng.randrange(7)
    if kind == 0:
        return content[:at]
    if kind == 1:
        for _ in range(rng.choice((1, 3, 20))):
            data[min(len(data) - 1, max(0, at + rng.randrange(-64, 64)))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at : at + rng.choice((1, 4, 8, 80))] = bytes(rng.choice((1, 4, 8, 80)))
    elif kind == 3:
        data[at : at + 8] = rng.choice((b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\xff" * 7 + b"\x7f", b"99999999", b"-1      "))
    elif kind == 4:
        del data[at : at + rng.choice((1, 2, 8, 80, 512))]
    elif kind == 5:
        data[at:at] = rng.randbytes(rng.choice((1, 4, 80)))
    else:
        data[at : at + 16] = rng.randbytes(16)
    return bytes(data)


def _outcomes(folder: Path) -> Counter[str]:
    """Open every file in child processes; a child that dies or hangs is an outcome of the file it was at."""
    found: Counter[str] = Counter()
    done, total = 0, len(list(folder.iterdir()))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)); "
    code = f"{limit}import sys, pathlib, tests.unit.fuzz_worker as w; w.main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"
    while done < total:
        root = Path(fuzz_worker.__file__).parents[2]
        try:
            child = subprocess.run(
                [sys.executable, "-c", code, str(folder), str(done)], capture_output=True, text=True, timeout=60, cwd=root
            )
            output, end = child.stdout, f"died ({child.returncode}) {child.stderr[-300:]}"
        except subprocess.TimeoutExpired as expired:
            output, end = (expired.stdout or b"").decode(), "hung"
        lines = output.splitlines()
        names = [line.split()[1] for line in lines if line.startswith("start ")]
        results = [line for line in lines if not line.startswith("start ")]
        assert names, end
        if len(results) < len(names):
            results.append(end)
        for name, result in zip(names, results):
            found[result if result in ("fine", "refused") else f"{name}: {result}"] += 1
        done += len(names)
    return found


def _check(originals: list[tuple[str, bytes]], folder: Path, copies: int) -> None:
    rng = random.Random(20261121)
    for name, content in originals:
        for i in range(copies):
            (folder / f"{i:03d}-{name}").write_bytes(_damage(content, rng))
    found = _outcomes(folder)
    bad = {outcome: n for outcome, n in found.items() if outcome not in ("fine", "refused")}
    assert not bad, "\n".join(bad)
    # Both happen often, or the damage does not reach the headers.
    assert found["refused"] > copies * len(originals) // 8 and found["fine"] > copies * len(originals) // 8, found


def test_generated_files(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    good = _originals(tmp_path / "good")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in good:
            (fuzz_worker.use_image if "image" in path.name else fuzz_worker.use_scan if "scan" in path.name else bool)(path)
    _check([(path.name, path.read_bytes()) for path in good], tmp_path / "bad", _COPIES)


def test_real_files(tmp_path: Path, data: Path) -> None:
    real = [(f"{kind}-{Path(name).name}", (data / name).read_bytes()) for kind, name in _REAL]
    _check(real, tmp_path, _COPIES)


def test_the_worker_reports_what_it_should_not_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "a-scan").write_text("x")
    monkeypatch.setattr(fuzz_worker, "open_scan", lambda path: 1 / 0)
    fuzz_worker.main(tmp_path, 0)
    assert "raised" in capsys.readouterr().out
