"""Catalogues of a large sky on a CUDA device, whole calls with their tables: ``python -m benchmarks.gpu_sources [--size 8192]``.

The sky is one of 2048² with 625 points, side by side (`tests.skies`). Its array lies on the device, or on the host: there it is one
that is given again, whose pages are pinned by then, or a new one in every call, beside CuPy's upload of such an array. Medians of
milliseconds, and the least.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

import footprint as fp
from tests.skies import sky

STEPS: dict[str, dict[str, Any]] = {
    "clip, threshold, label, measure": {},
    "mesh, deblended": {"sigma": 5, "flood": 3, "connectivity": 8, "background": "mesh", "deblend": True},
}
STEPS["mesh, deblended, Gaussian fits"] = STEPS["mesh, deblended"] | {"fit": "gaussian"}


def timed(call: Callable[[Any], object], make: Callable[[], Any], turns: int = 15) -> str:
    """A call of what ``make`` makes before each turn."""
    took = []
    for _ in range(turns + 4):
        given = make()
        cupy.cuda.Device().synchronize()
        begun = time.perf_counter()
        call(given)
        cupy.cuda.Device().synchronize()
        took.append(1e3 * (time.perf_counter() - begun))
    return f"{statistics.median(took[4:]):9.2f} ({min(took[4:]):.2f})"


def main(size: int) -> None:
    one = sky(2048, 625)[0].astype(np.float32)
    image = np.ascontiguousarray(np.tile(one, (-(-size // 2048),) * 2)[:size, :size])
    there = cupy.asarray(image)
    print(f"{size}², ms{'':<26}{'sources':>9}{'device':>17}{'host, again':>17}{'host, new':>17}")
    for name, options in STEPS.items():

        def call(given: Any, options: dict[str, Any] = options) -> object:
            return fp.find_sources(given, device="cuda", **options)

        cells = (timed(call, lambda: there), timed(call, lambda: image), timed(call, image.copy))
        print(f"{name:<36}{len(call(there)):>9}" + "".join(f"{cell:>17}" for cell in cells), flush=True)  # type: ignore[arg-type]
    print(f"{'the upload alone, by CuPy':<79}{timed(cupy.asarray, image.copy):>17}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=8192)
    main(parser.parse_args().size)
