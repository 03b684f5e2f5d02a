"""Catalogues of real images beside those that other finders made of them: matched, missed, extra, fluxes and offsets.

    python -m benchmarks.crossmatch [FOLDER]

The folder (or ``FOOTPRINT_DATA``) has ``astronomy/scorpio``, two images of ATCA with catalogues by PyBDSF and Aegean;
``astronomy/vast_askap``, simulated ASKAP with Selavy's components; and ``astronomy/aegean_1904``, a field of Aegean's own tests
with its 51 components. What is missing is said. Ours are over 5 sigma of a mesh, flooded to 3, taken apart and fitted.

Rows are matched one to one, the closest pairs first, within the beam's full width. Theirs are those on the image's data; missed,
those of them with none of ours, and how many of these are over 7 times their own noise; extra, ours with none of theirs; negatives,
what the same search finds in the inverted image. Noise is the median of ours over theirs where pairs lie. Of pairs that have no
second neighbour within two beams: medians of our peaks and fluxes over theirs with half the width of the middle 68 %, and of
offsets east and north, in thousandths of the beam's width. A second table has the same pairs' full widths over theirs, and position
angles less theirs, in degrees, of those that theirs has more than 1.2 times as long as wide, and how many these are.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import footprint as fp
from footprint import settings
from footprint.io.image import open_image

RULES: dict[str, Any] = {"flood": 3.0, "connectivity": 8, "background": "mesh", "deblend": True, "fit": "gaussian", "device": "cpu"}


@dataclass(frozen=True)
class Theirs:
    """What another finder says: degrees, Jy/beam, Jy, its noise in Jy/beam, full widths in arcseconds and position angles."""

    ra: np.ndarray
    dec: np.ndarray
    peak: np.ndarray
    flux: np.ndarray
    noise: np.ndarray
    major: np.ndarray
    minor: np.ndarray
    pa: np.ndarray


def of_table(path: Path, names: tuple[str, ...]) -> Theirs:
    """Columns of right ascension, declination, peak, flux, local noise, widths and angle of FITS or CSV."""
    from astropy.table import Table

    table = Table.read(path, **({"hdu": 1} if path.suffix == ".fits" else {"format": "csv"}))
    *found, major, minor, pa = (np.asarray(table[name], float) for name in names)
    scale = 3600 if str(table[names[5]].unit) == "deg" else 1
    return Theirs(*found, major * scale, minor * scale, pa)


def of_selavy(path: Path) -> Theirs:
    """Selavy's text: the second line that begins with # has units, components follow."""
    lines = path.read_text().splitlines()
    names = lines[0].lstrip("#").split()
    parts = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    wanted = ("ra_deg_cont", "dec_deg_cont", "flux_peak", "flux_int", "rms_image", "maj_axis", "min_axis", "pos_ang")
    rows = np.array([[float(row[names.index(name)]) for name in wanted] for row in parts]).reshape(-1, len(wanted))
    return Theirs(*(rows * (1, 1, 1e-3, 1e-3, 1e-3, 1, 1, 1)).T)


PYBDSF = ("RA", "DEC", "Peak_flux", "Total_flux", "Isl_rms", "Maj", "Min", "PA")
AEGEAN = ("ra", "dec", "peak_flux", "int_flux", "local_rms", "a", "b", "pa")


def cases(folder: Path) -> dict[str, tuple[Path, Any]]:
    """Image and catalogue of each comparison."""
    found: dict[str, tuple[Path, Any]] = {}
    for name in ("ScorpioS17Field", "ScorpioFaintSNRField"):
        path = folder / "scorpio" / f"{name}.fits"
        for title, end, columns in (
            ("PyBDSF", "pybdsf.srl.fits", PYBDSF),
            ("Aegean", "aegean_comp.csv", AEGEAN),
        ):
            found[f"{name}, {title}"] = path, lambda p=path, e=end, c=columns: of_table(p.with_suffix("." + e), c)
    for name in ("epoch01", "epoch02"):
        path = folder / "vast_askap" / f"{name}.fits"
        found[f"VAST {name}, Selavy"] = path, lambda p=path: of_selavy(p.with_suffix(".selavy.components.txt"))
    for name in ("SIN", "AIT"):
        path = folder / "aegean_1904" / f"1904-66_{name}.fits"
        found[f"1904-66 {name}, Aegean"] = path, lambda p=path: of_table(p.with_name("1904_comp.fits"), AEGEAN)
    return found


@dataclass(frozen=True)
class Match:
    """What a comparison comes to; noise, peaks, fluxes and widths as ours over theirs, offsets in beams, angles in degrees."""

    ours: int
    theirs: int
    matched: int
    missed: int
    missed_bright: int
    noise: float
    peak: tuple[float, float]
    flux: tuple[float, float]
    east: float
    north: float
    major: tuple[float, float]
    minor: tuple[float, float]
    pa: tuple[float, float]
    pairs: int
    long: int


def match(image: Any, theirs: Theirs, table: Any = None) -> Match:
    """Compare what we find in an open image with their rows that lie on its data."""
    table = fp.find_sources(image, 5, **RULES) if table is None else table
    x, y = image.wcs.all_world2pix(theirs.ra, theirs.dec, 0)
    pixels = image.array()
    inside = (x > -0.5) & (y > -0.5) & (x < pixels.shape[1] - 0.5) & (y < pixels.shape[0] - 0.5)
    inside[inside] = np.isfinite(pixels[np.round(y[inside]).astype(int), np.round(x[inside]).astype(int)])
    scale = np.sqrt(abs(np.linalg.det(image.wcs.pixel_scale_matrix))) * 3600
    beam = np.sqrt(image.beam.major * image.beam.minor) * 3600
    fitted = np.isfinite(np.asarray(table["fit_x"]))
    xy = np.stack([np.where(fitted, table[f"fit_{name}"], table[name]) for name in "xy"], 1)
    where = np.stack([x, y], 1)[inside]
    pairs = closest(xy, where, beam / scale)
    mine, other = pairs.T
    alone = np.ones(len(pairs), bool)
    for points, at in ((xy, mine), (where, other)):
        if len(points) > 1:
            alone &= cKDTree(points).query(points[at], 2)[0][:, 1] > 2 * beam / scale
    alone &= fitted[mine]
    left = np.setdiff1d(np.arange(len(where)), other)
    bright = int(np.sum((theirs.peak / theirs.noise)[inside][left] > 7))
    noise = spread(np.asarray(table["noise"])[mine] / theirs.noise[inside][other])[0]
    mine, other = mine[alone], other[alone]
    ratios = [spread(np.asarray(table[f"fit_{name}"])[mine] / getattr(theirs, name)[inside][other]) for name in ("peak", "flux")]
    ra, dec = (np.asarray(table[f"fit_{name}"])[mine] for name in ("ra", "dec"))
    east = (ra - theirs.ra[inside][other] + 180) % 360 - 180
    off = (spread(values * 3600 / beam)[0] for values in (east * np.cos(np.radians(dec)), dec - theirs.dec[inside][other]))
    widths = [getattr(theirs, name)[inside][other] for name in ("major", "minor")]
    sizes = [spread(np.asarray(table[f"fit_{name}"])[mine] / wide) for name, wide in zip(("major", "minor"), widths)]
    long = widths[0] > 1.2 * widths[1]
    turned = (np.asarray(table["fit_pa"])[mine] - theirs.pa[inside][other] + 90) % 180 - 90
    sizes.append(spread(turned[long]))
    return Match(len(table), len(where), len(pairs), len(left), bright, noise, *ratios, *off, *sizes, len(mine), int(long.sum()))


def spread(values: np.ndarray) -> tuple[float, float]:
    """Median, and half the width of the middle 68 %."""
    low, middle, high = np.percentile(values, (16, 50, 84)) if len(values) else (np.nan,) * 3
    return float(middle), float(high - low) / 2


def closest(xy: np.ndarray, other: np.ndarray, reach: float) -> np.ndarray:
    """Pairs (n, 2) of rows within reach, one to one, the closest first."""
    near = cKDTree(xy).sparse_distance_matrix(cKDTree(other), reach, output_type="coo_matrix") if len(xy) and len(other) else None
    pairs: list[tuple[int, int]] = []
    if near is not None:
        taken: tuple[set[int], set[int]] = (set(), set())
        for at in np.argsort(near.data, kind="stable"):
            i, j = int(near.row[at]), int(near.col[at])
            if i not in taken[0] and j not in taken[1]:
                pairs.append((i, j))
                taken[0].add(i)
                taken[1].add(j)
    return np.array(pairs, int).reshape(-1, 2)


def main(folder: str = "") -> None:
    root = Path(folder) if folder else settings.data_dir()
    if root is None:
        print("no real images: give their folder, or set FOOTPRINT_DATA")
        return
    print("| image, finder | theirs | ours | negatives | matched | missed | over 7 | extra | noise | peak | flux | east | north |")
    print("|---" * 13 + "|")
    tables: dict[Path, Any] = {}
    sizes = ["", "| image, finder | pairs | major | minor | position angle | of |", "|---" * 6 + "|"]
    for name, (path, read) in cases(root / "astronomy").items():
        if not path.is_file():
            print(f"{name}: {path} is missing")
            continue
        with warnings.catch_warnings(), open_image(path) as image:
            warnings.simplefilter("ignore")
            if path not in tables:
                negative = fp.find_sources(-image.array(), 5, header=image.header, **RULES)
                tables[path] = fp.find_sources(image, 5, **RULES), len(negative)
            table, negatives = tables[path]
            m = match(image, read(), table)
        counts = (m.theirs, m.ours, negatives, m.matched, m.missed, m.missed_bright, m.ours - m.matched)
        told = " | ".join(str(count) for count in counts) + f" | {m.noise:.2f}"
        ratios = " | ".join(f"{middle:.3f} ± {wide:.3f}" for middle, wide in (m.peak, m.flux))
        print(f"| {name} | {told} | {ratios} | {1e3 * m.east:+.0f} | {1e3 * m.north:+.0f} |", flush=True)
        widths = " | ".join(f"{middle:.3f} ± {wide:.3f}" for middle, wide in (m.major, m.minor))
        sizes.append(f"| {name} | {m.pairs} | {widths} | {m.pa[0]:+.2f} ± {m.pa[1]:.2f} | {m.long} |")
    print("\n".join(sizes))


if __name__ == "__main__":
    main(*sys.argv[1:2])
