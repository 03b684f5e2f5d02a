"""From file to file: ``python -m benchmarks.lanes [--size 16384 --memory SIZE --turns 3] [WORD ...]``.

Every command runs a few times on files of every kind, in a process of its own. A row has the seconds of the whole job, warmed,
and what it cannot do without:

lane      the lane that was busy longest, over the whole job
passes    the longest lane of every pass, added up: a pass that needs what the one before it found cannot begin earlier
cores     processor seconds of the job over the cores there are: lanes that want the same cores, as decoding and Fourier
          transforms do, cannot overlap however they are arranged
ratio     the job over its longest lane, and over the largest of the three: what lanes lose by waiting for one another, planning
          and starting included

Where the machine has other work lanes take longer and so does the job, but seldom alike; the turn of the smallest last ratio is
shown, and the load beside it. Words choose the rows with them.

Images of 1 GB are much larger than the budget of 50 MB (150 MB for sources, whose catalogue takes 60), so that what a job takes to
be planned, to start and to end hardly counts. All rows take some ten minutes and 8 GB in the folder for temporary files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from footprint import settings
from footprint.io.phantom import write_scan

ROOT = Path(__file__).resolve().parents[1]


def images(folder: Path, size: int) -> dict[str, Path]:
    """A noisy sky of float32 in a file of each kind."""
    import h5py
    import tifffile
    from astropy.io import fits

    rng = np.random.default_rng(1)
    sky = rng.standard_normal((size, size), np.float32)
    for y, x in rng.integers(2, size - 2, (size // 4, 2)):
        sky[y - 1 : y + 2, x - 1 : x + 2] += 20
    found = {kind: folder / f"sky.{kind}" for kind in ("npy", "h5", "tif", "fits")}
    np.save(found["npy"], sky)
    with h5py.File(found["h5"], "w") as file:
        file["sky"] = sky
    tifffile.imwrite(found["tif"], sky)
    fits.writeto(found["fits"], sky)
    return found


def scans(folder: Path, size: int) -> dict[str, Path]:
    """A scan compressed by projections, and the same stored as it is."""
    import h5py

    packed, plain = folder / "packed.nx", folder / "plain.nx"
    write_scan(packed, size // 32, size // 256, size // 32)
    data = "entry/instrument/detector/data"
    with h5py.File(packed) as source, h5py.File(plain, "w") as file:
        source.copy("entry", file)
        frames = file[data][()]
        del file[data]
        file[data] = frames
    return {"gzip": packed, "plain": plain}


def jobs(folder: Path, how: Any) -> Iterator[tuple[str, list[str]]]:
    """What is run, by a name; files are made when the first row that reads them is."""
    make, center = {"sky": cache(images), "scan": cache(scans)}, str((how.size // 32 - 1) / 2 + 3.7)
    rows: list[tuple[str, str, str, list[str]]] = []
    for kind in ("npy", "h5", "tif", "fits"):
        out, table = ["-o", str(folder / f"out.{kind}")], ["-o", str(folder / "out.ecsv")]
        rows.append((f"convolve {kind}", "sky", kind, ["convolve", "FILE", "gaussian:sigma=3", *out]))
        rows.append((f"convolve {kind}, 13 x 13", "sky", kind, ["convolve", "FILE", "disk:13", *out]))
        rows.append((f"filter median {kind}", "sky", kind, ["filter", "median", "FILE", "--size", "3", *out]))
        rows.append((f"sources {kind}", "sky", kind, ["sources", "FILE", *table]))
        rows.append((f"sources {kind}, mesh", "sky", kind, ["sources", "FILE", "--background", "mesh", *table]))
    for kind in ("gzip", "plain"):
        for target in ("volume.h5", "volume.tif", "slices"):
            words = ["reconstruct", "FILE", "--center", center, "-o", str(folder / f"out_{target}")]
            for method in ("fourier", "direct"):
                rows.append((f"reconstruct {kind} to {target}, {method}", "scan", kind, [*words, "--method", method]))
    for name, made, kind, words in rows:
        if all(word in name for word in how.words):
            path = make[made](folder, how.size)[kind]
            yield name, [str(path) if word == "FILE" else word for word in words]


def run(words: list[str], how: Any) -> dict[str, Any]:
    """One turn's figures."""
    memory = how.memory or ("150MB" if words[0] == "sources" else "50MB")
    command = [sys.executable, "-m", "footprint", *words, "--memory", memory, "--device", how.device, "--overwrite", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def bounds(figures: dict[str, Any]) -> tuple[float, float, float]:
    """Seconds that a job cannot do without: its longest lane, those of its passes added up, and its work spread over all cores."""
    return max(figures["seconds_measured"].values()), figures["seconds_longest"], figures["processor"] / settings.threads()


def ratio(figures: dict[str, Any]) -> float:
    """Seconds of a job over the largest of its bounds."""
    return float(figures["seconds"] / max(bounds(figures)))


def main(how: Any) -> None:
    print(f"{'':<42}{'longest lane':>14}{'lane':>8}{'passes':>8}{'cores':>8}{'job':>8}{'ratios':>14}{'load':>7}  all lanes")
    with tempfile.TemporaryDirectory(prefix="footprint-lanes-") as place:
        for name, words in jobs(Path(place), how):
            try:
                best = min((run(words, how) for _ in range(how.turns)), key=ratio)
            except RuntimeError as error:
                print(f"{name:<42} failed: {error}", flush=True)
                continue
            lanes = best["seconds_measured"]
            lane, limits = max(lanes, key=lanes.__getitem__), bounds(best)
            shown = ", ".join(f"{other} {spent:.3f}" for other, spent in lanes.items())
            seconds = "".join(f"{one:8.3f}" for one in (*limits, best["seconds"]))
            ratios = f"{best['seconds'] / limits[0]:7.2f}{ratio(best):7.2f}"
            print(f"{name:<42}{lane:>14}{seconds}{ratios}{os.getloadavg()[0]:7.2f}  {shown}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="of the rows to run")
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument("--memory", help="of every job; 50MB, and 150MB for sources, if it is left out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=3)
    main(parser.parse_args())
