"""How complete, how real and how right catalogues are, beside other finders: simulated skies whose sources are known.

    python -m benchmarks.catalogues [--scenes sparse,plain,crowd,slope] [--only WORDS] [--seeds 2] [--keep FOLDER] [--svg FILE]

A sky (`tests.skies`) is noise that a beam of 5 pixels correlates, of deviation 1, with sources of a power law of fluxes from 3
sigma up, a tenth of them extended. Finders are those of `benchmarks.finders`, each in a process of its own; what is not installed
is said.

A source is found where a row of its own lies within 3.5 pixels, the brightest choosing first. Columns: of the sources with peaks
of so many sigma the share that was found; rows; those of them that no source is left for; and of points over 10 sigma, alone
within 15 pixels: the median of flux over truth, of offsets along x and y in thousandths of a pixel, and pulls, 1.48 times the
median deviation over the error that a finder gives. Seconds are of the processor, of all threads together, from file to catalogue,
after a small sky that loads and compiles; memory is by how much the process grew at its highest. ``--keep`` leaves what was found
in a folder, and takes from it what is there.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.curves import svg
from benchmarks.finders import FINDERS, HEADER, NEEDS
from tests.skies import BANDS, nearest, sky

SCENES = {"sparse": (1024, 200, 0.0), "plain": (2048, 1000, 0.0), "crowd": (1024, 4000, 0.0), "slope": (1024, 1000, 10.0)}
TITLES = {
    "sparse": "200 sources in 1024 x 1024",
    "plain": "1,000 in 2048 x 2048",
    "crowd": "4,000 in 1024 x 1024",
    "slope": "1,000 in 1024 x 1024 on a slope of 10 sigma",
}
EDGES = (3, 4, 5, 6, 7, 8.5, 10, 14, 20, 30, 60, 120)
FIRST = 20240501


def seeds(number: int) -> list[int]:
    return [FIRST, *range(1, number)]


def scene(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    n, sources, slope = SCENES[name]
    image, truth = sky(n, sources, seed=seed)
    return image + np.linspace(0, slope, n, dtype=np.float32), truth


@lru_cache
def truth_of(name: str, seed: int) -> np.ndarray:
    return scene(name, seed)[1]


def write(path: Path, image: np.ndarray) -> None:
    from astropy.io import fits

    header = fits.Header(HEADER | {f"CRPIX{axis}": image.shape[0] / 2 for axis in (1, 2)})
    fits.writeto(path, image, header, overwrite=True)


def spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(finder: str, name: str, number: int, target: str) -> None:
    """In a process of its own: what a finder finds in a scene's skies, its seconds and its memory."""
    from footprint.backend.memory import PeakMeter

    kept: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), open(os.devnull, "w") as quiet:
        warnings.simplefilter("ignore")
        os.chdir(folder)
        with contextlib.redirect_stdout(quiet):
            small, large = Path(folder) / "small.fits", Path(folder) / "sky.fits"
            write(small, sky(256, 100)[0])
            FINDERS[finder](str(small))
            for seed in seeds(number):
                write(large, scene(name, seed)[0])
                with PeakMeter() as meter:
                    start = spent()
                    kept[str(seed)] = FINDERS[finder](str(large))
                    kept[f"spent {seed}"] = np.array([spent() - start, meter.growth])
                kept[f"spent {seed}"][1] = meter.growth
    np.savez(target, **kept)


def expected(n: int, sigma: float = 5.0, fwhm: float = 5.0) -> float:
    """Peaks over ``sigma`` that noise of the beam's shape has in n x n pixels (Adler 1981)."""
    curvature = 8 * math.log(2) / (2 * fwhm**2)
    return n * n * curvature * sigma * math.exp(-(sigma**2) / 2) / (2 * math.pi) ** 1.5


def scores(kept: dict[str, np.ndarray], name: str, number: int) -> tuple[list[str], np.ndarray]:
    """The cells of a row, and completeness between `EDGES`."""
    peaks, hits, extra, rows, alone = [], [], 0, 0, []
    for seed in seeds(number):
        found, truth = kept[str(seed)], truth_of(name, seed)
        found = found[np.isfinite(found[:, :2]).all(1)]
        which = nearest(found[:, :2], truth, 3.5)
        peaks, hits = [*peaks, truth[:, 2]], [*hits, which >= 0]
        extra, rows = extra + len(found) - int(np.sum(which >= 0)), rows + len(found)
        apart = cKDTree(truth[:, :2]).query(truth[:, :2], 2)[0][:, 1]
        chosen = (truth[:, 2] > 10) & (apart > 15) & (truth[:, 3] == truth[:, 2]) & (which >= 0)
        alone.append(np.hstack([found[which[chosen]], truth[chosen][:, [0, 1, 3]]]))
    peak, hit, points = np.concatenate(peaks), np.concatenate(hits), np.concatenate(alone)
    cells = [share(hit[(peak >= low) & (peak < high)]) for low, high in (*BANDS, (7, np.inf))]
    cells += [f"{rows / number:.0f}", f"{extra / number:.1f}", f"{100 * (1 - extra / max(rows, 1)):.1f}"]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        off = points[:, :3] - points[:, 6:]
        cells += [f"{np.nanmedian(points[:, 2] / points[:, 8]):.4f}", *(f"{1e3 * np.nanmedian(off[:, k]):+.0f}" for k in (0, 1))]
        pulls = off / points[:, 3:6]
        wide = 1.4826 * np.nanmedian(np.abs(pulls - np.nanmedian(pulls, 0)), 0)
    cells += [f"{wide[k]:.2f}" if np.isfinite(wide[k]) else "" for k in (2, 0, 1)]
    curve = [hit[(peak >= low) & (peak < high)].mean() for low, high in pairwise(EDGES)]
    return cells, np.array(curve)


def share(hit: np.ndarray) -> str:
    return f"{hit.mean():.3f}".replace("0.", ".", 1)


def results(finder: str, name: str, number: int, folder: Path) -> dict[str, np.ndarray] | str:
    """What it found, of this run or an earlier one; or why there is nothing."""
    package = NEEDS.get(finder.partition(",")[0])
    target = folder / f"{finder.replace(', ', '-').replace(' ', '-')}-{name}-{number}.npz"
    if not target.exists():
        if package and not find_spec(package):
            return f"not installed: pip install {package}"
        words = [sys.executable, "-m", "benchmarks.catalogues", "--run", finder, name, str(number), str(target)]
        ended = subprocess.run(words, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
        if ended.returncode:
            return "failed: " + (ended.stderr.strip().splitlines() or ["without a word"])[-1]
    with np.load(target) as kept:
        return dict(kept)


def table(name: str, chosen: list[str], number: int, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Print a scene's table; curves of completeness."""
    n, _, _ = SCENES[name]
    skies = f", {number} skies" if number > 1 else ""
    print(f"\n**{TITLES[name]}**{skies}; of noise alone {expected(n):.2f} peaks over 5 are expected in each.\n")
    heads = [*(f"{low:g} to {high:g}" if np.isfinite(high) else f"over {low:g}" for low, high in BANDS), "over 7", "rows"]
    heads += ["unmatched", "real, %", "flux/true", "dx", "dy", "pull of flux", "x", "y", "s", "x ours", "MB"]
    print("| | " + " | ".join(heads) + " |\n|---" + "|---" * len(heads) + "|")
    curves, missing, ours = {}, [], math.nan
    for finder in chosen:
        kept = results(finder, name, number, folder)
        if isinstance(kept, str):
            missing.append(f"{finder}: {kept}")
            continue
        cells, curve = scores(kept, name, number)
        seconds, growth = np.mean([kept[f"spent {seed}"] for seed in seeds(number)], axis=0)
        ours = seconds if finder == "footprint, Gaussians" else ours
        ratio = f"{seconds / ours:.2g}" if np.isfinite(ours) and not finder.startswith("footprint") else ""
        print(f"| {finder} | " + " | ".join([*cells, f"{seconds:.2f}", ratio, f"{growth / 1e6:.0f}"]) + " |", flush=True)
        curves[finder] = [(round(math.sqrt(low * high), 1), value) for low, high, value in zip(EDGES, EDGES[1:], curve)]
    print("".join(f"\n{line}" for line in missing))
    return curves


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default=",".join(SCENES))
    parser.add_argument("--only", default="", help="finders whose names have one of these words, by commas")
    parser.add_argument("--seeds", type=int, default=1, help="skies of each scene")
    parser.add_argument("--keep", default="")
    parser.add_argument("--svg", default="")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    how = parser.parse_args()
    if how.run:
        finder, name, number, target = how.run
        run(finder, name, int(number), target)
        return
    words = [word for word in how.only.split(",") if word]
    chosen = [name for name in FINDERS if not words or any(word in name for word in words)]
    print(
        ", ".join(f"{name} {version(package)}" for name, package in NEEDS.items() if find_spec(package))
        or "no other finder is installed"
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(how.keep or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        drawn = {TITLES[name]: table(name, chosen, how.seeds, folder) for name in how.scenes.split(",")}
    if how.svg:
        svg(how.svg, drawn, "peak over noise; the share of sources that was found", shares=True)


if __name__ == "__main__":
    main()
