"""Source finding on the CPU beside the Carpentries lesson's SciPy steps, plain SciPy at its best, and SEP.

    python -m benchmarks.find_sources [N] [SOURCES]

The field is Gaussian noise correlated by a 5-pixel beam with point and extended sources of power-law flux. All of them clip at
three sigma until nothing changes (SEP: its mesh background, with its default filter and deblending, and without), find islands
over five sigma and measure flux and centre; ours also take islands over three sigma apart, and fit what they find. On a slope
both take maps of background and noise on a mesh.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import fft, ndimage

import footprint as fp
from benchmarks.timing import compare, report

# A beam of five pixels.
SKY = {"BUNIT": "Jy/beam", "BMAJ": 0.005, "BMIN": 0.005, "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CUNIT1": "deg"}
SKY |= {"CUNIT2": "deg", "CRPIX1": 1.0, "CRPIX2": 1.0, "CRVAL1": 40.0, "CRVAL2": -20.0, "CDELT1": -0.001, "CDELT2": 0.001}


def radio_field(n: int, sources: int, seed: int = 7, fwhm: float = 5.0) -> np.ndarray:
    """Noise of standard deviation 1e-3, sources from 3 sigma up, a tenth of them extended."""
    rng = np.random.default_rng(seed)
    width = fwhm / (2 * np.sqrt(2 * np.log(2)))
    beam = [np.exp(-2 * (np.pi * width * f(n)) ** 2).astype(np.float32) for f in (np.fft.fftfreq, np.fft.rfftfreq)]
    spectrum = fft.rfft2(rng.standard_normal((n, n), np.float32), workers=2)
    spectrum *= beam[0][:, None] * beam[1]
    image = fft.irfft2(spectrum, s=(n, n), workers=2)
    image *= np.float32(1e-3 / image.std())
    for x, y, u in rng.random((sources, 3)):
        wide = width * (rng.uniform(1.2, 4) if rng.random() < 0.1 else 1)
        reach = int(6 * wide)
        cx, cy = x * n, y * n
        i0, i1, j0, j1 = (int(np.clip(c + d, 0, n)) for c in (cy, cx) for d in (-reach, reach + 1))
        gy, gx = (np.exp(-((np.arange(a, b) - c) ** 2) / (2 * wide**2)) for a, b, c in ((i0, i1, cy), (j0, j1, cx)))
        image[i0:i1, j0:j1] += np.minimum(3e-3 / (1 - u), 3).astype(np.float32) * (gy[:, None] * gx).astype(np.float32)
    return image


def lesson(image: np.ndarray) -> int:
    """The lesson's steps as it writes them."""
    kept = image.ravel()
    while True:
        median, std = np.median(kept), np.std(kept)
        over = kept.compress(kept > median - 3 * std)
        both = over.compress(over < median + 3 * std)
        if len(both) == len(kept):
            break
        kept = both
    mask = np.where(image > 5 * np.std(kept), 1, 0)
    labels = np.empty(image.shape)
    count = ndimage.label(mask, output=labels)
    ndimage.center_of_mass(image, labels, range(1, count + 1))
    ndimage.sum_labels(image, labels, range(1, count + 1))
    return count


def main(n: int = 2048, sources: int = 1000) -> None:
    image = radio_field(n, sources)
    calls = {"footprint": lambda: fp.find_sources(image, lesson=True, device="cpu"), "lesson, SciPy": lambda: lesson(image)}
    apart = {"flood": 3.0, "connectivity": 8, "deblend": True, "header": SKY, "device": "cpu"}
    calls["footprint, taken apart"] = lambda: fp.find_sources(image, **apart)
    calls["footprint, and fitted as points"] = lambda: fp.find_sources(image, fit="point", **apart)
    calls["footprint, and as Gaussians"] = lambda: fp.find_sources(image, fit="gaussian", **apart)
    try:
        import sep

        def with_sep(**options: object) -> object:
            background = sep.Background(image)
            return sep.extract(image - background.back(), 5, err=background.globalrms, **options)

        calls["SEP, defaults"] = with_sep
        calls["SEP, no filter, no deblending"] = lambda: with_sep(filter_kernel=None, deblend_cont=1.0)
    except ImportError:
        print("SEP is not installed: pip install sep")
    table = calls["footprint"]()
    assert len(table) == lesson(image), "both find the same islands"
    report(f"{n} x {n}, {sources} sources, {len(table)} islands", compare(calls, turns=5), nbytes=image.nbytes)
    slope = image + np.linspace(0, 1e-2, n, dtype=np.float32)
    local = {"footprint, mesh": lambda: fp.find_sources(slope, background="mesh", device="cpu")}
    if "SEP, defaults" in calls:

        def maps_of_sep() -> object:
            background = sep.Background(slope)
            return sep.extract(slope - background.back(), 5, err=background.rms(), filter_kernel=None, deblend_cont=1.0)

        local["SEP, its maps, no filter, no deblending"] = maps_of_sep
    found = len(local["footprint, mesh"]())
    report(f"the same on a slope of ten deviations, {found} islands", compare(local, turns=5), nbytes=image.nbytes)
    labels = np.empty(image.shape, np.int32)
    mask = image > 5e-3
    steps = {
        "footprint.sigma_clip": lambda: fp.sigma_clip(image, device="cpu"),
        "footprint.threshold": lambda: fp.threshold(image, 5e-3, out=mask, device="cpu"),
        "footprint.label": lambda: fp.label(mask, out=labels, device="cpu"),
        "scipy.ndimage.label": lambda: ndimage.label(mask, output=labels),
        "footprint.measure": lambda: fp.measure(image, labels, len(table), device="cpu"),
    }
    for name, timing in compare(steps, turns=5).items():
        print(f"  {name:<22}{1e3 * timing.median:8.2f} ms")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))
