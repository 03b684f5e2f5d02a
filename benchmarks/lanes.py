"""From file to file: ``python -m benchmarks.lanes [--size 16384 --memory SIZE --turns 5] [WORD ...]``.

Every command runs a few times on files of every kind, warmed, in a process of its own, and as often in a process that runs its
lanes one after the other, so that each has the machine to itself. A row has the least seconds of the job over all turns, beside
what it cannot do without, of which the least is shown, too:

lane      the lane that is longest alone, over the whole job
passes    the longest lane of every pass alone, added up: a pass that needs what the one before it found cannot begin earlier
cores     processor seconds of the job over the cores there are: lanes that want the same cores, as decoding and Fourier
          transforms do, cannot overlap however they are arranged
rest      seconds in which no lane works when they run one after the other: planning, flats, opening and closing files, and what
          Python does between steps
ratios    the job over its passes, and over the larger of passes and cores: what lanes lose by waiting for one another, planning
          and starting included

Least seconds of several turns are compared, not those of one: where the machine has other work, a turn in which a lane was
slow would pass for a good one. Words choose the rows with them.

Images of 1 GB are much larger than the budget of 50 MB (150 MB for sources, whose catalogue takes 60, or 250 MB on a GPU, and
300 MB for phases, whose transforms take whole projections), so that what a job takes to be planned, to start and to end hardly
counts; with ``--size 4096``, 64 MB, it does. All rows take some twenty minutes and 8 GB in the folder for temporary files.
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
        words = ["reconstruct", "FILE", "--center", center, "-o", str(folder / "out_whole.h5"), "--method", "fourier"]
        whole = [*words, "--phase", "100", "--distance", "0.1", "--energy", "20", "--pixel-size", "1e-4", "--rings", "mean"]
        rows.append((f"reconstruct {kind} to volume.h5, phase and rings", "scan", kind, whole))
    for name, made, kind, words in rows:
        if all(word in name for word in how.words):
            path = make[made](folder, how.size)[kind]
            yield name, [str(path) if word == "FILE" else word for word in words]


# Lanes one after the other, in the thread of the caller.
_APART = """
from footprint.plan import drive
drive.Job.run = lambda self, bounds: self._inline(bounds[0])
from footprint.__main__ import entry
entry()
"""


def run(words: list[str], how: Any, apart: bool = False) -> dict[str, Any]:
    """One turn's figures."""
    searches = "150MB" if how.device == "cpu" else "250MB"
    memory = how.memory or (searches if words[0] == "sources" else "300MB" if "--phase" in words else "50MB")
    program = ["-c", _APART] if apart else ["-m", "footprint"]
    command = [sys.executable, *program, *words, "--memory", memory, "--device", how.device, "--overwrite", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return dict(json.loads(done.stdout.splitlines()[-1]))


class Row:
    """The least seconds of several turns of a job.

    Attributes
    ----------
    job, processor, passes
        Of the whole job, of all its threads, and of the longest lanes of its passes alone, added up.
    lanes, rest
        Of each lane alone, and of none.
    """

    def __init__(self, words: list[str], how: Any) -> None:
        turns = [(run(words, how), run(words, how, apart=True)) for _ in range(how.turns)]
        self.job = min(job["seconds"] for job, _ in turns)
        self.processor = min(one["processor"] for both in turns for one in both)
        self.passes = min(apart["seconds_longest"] for _, apart in turns)
        alone = [apart["seconds_measured"] for _, apart in turns]
        self.lanes = {lane: min(one[lane] for one in alone) for lane in alone[0]}
        self.rest = min(apart["seconds"] - sum(apart["seconds_measured"].values()) for _, apart in turns)

    def __str__(self) -> str:
        lane, cores = max(self.lanes, key=self.lanes.__getitem__), self.processor / settings.threads()
        figures = (self.lanes[lane], self.passes, cores, self.rest, self.job)
        ratios = f"{self.job / self.passes:7.2f}{self.job / max(self.passes, cores):7.2f}"
        shown = ", ".join(f"{other} {spent:.3f}" for other, spent in self.lanes.items())
        return f"{lane:>14}{''.join(f'{one:8.3f}' for one in figures)}{ratios}{os.getloadavg()[0]:7.2f}  {shown}"


def main(how: Any) -> None:
    heads = "".join(f"{head:>8}" for head in ("lane", "passes", "cores", "rest", "job"))
    print(f"{'':<50}{'longest lane':>14}{heads}{'ratios':>14}{'load':>7}  lanes alone")
    with tempfile.TemporaryDirectory(prefix="footprint-lanes-") as place:
        for name, words in jobs(Path(place), how):
            try:
                print(f"{name:<50}{Row(words, how)}", flush=True)
            except RuntimeError as error:
                print(f"{name:<50} failed: {error}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="of the rows to run")
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument("--memory", help="of every job; 50MB, and 150MB for sources, if it is left out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=5)
    main(parser.parse_args())
