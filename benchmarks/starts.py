"""The first result of each verb in a fresh process: with nothing compiled, from the caches on disk, and warm.

``python -m benchmarks.calls --starts``. "cold" is a process whose caches (ours, Numba's, CuPy's, PoCL's) are empty folders; "disk"
is the next process, which finds what the first one left there; both count from the process's start to its first result, NumPy's
import included, and "import" is the part of the second that was over when footprint had been imported. "cpu" is the processor time
of the second, all threads', which other work on the machine changes less. "warm" is a second call. The row of Numba alone is the
floor on the CPU: one compiled loop, of ours, called with nothing around it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import footprint as fp

ROOT = Path(__file__).resolve().parents[1]
_SKY = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRPIX1": 128, "CRPIX2": 128, "CRVAL1": 10.0, "CRVAL2": -30.0}
_SKY |= {"CDELT1": -0.001, "CDELT2": 0.001, "BUNIT": "Jy/beam", "BMAJ": 0.004, "BMIN": 0.004}
# Each prepares ``a`` and names its call; images are small, so that what is timed is the start.
VERBS = {
    "convolve": "fp.convolve(a, np.ones((13, 13), 'f4'), device=d)",
    "convolve 1-D": "fp.convolve(a.ravel(), np.ones(31, 'f4'), device=d)",
    "pad": "fp.pad(a, 4, 'edge', device=d)",
    "muladd": "fp.muladd(a, a.copy(), 0.5, 0.25, device=d)",
    "vertical_shift": "fp.vertical_shift(a[None], [0.5], device=d)",
    "threshold": "fp.threshold(a, 1.0, device=d)",
    "label": "fp.label(a > 1, device=d)",
    "sigma_clip": "fp.sigma_clip(a, device=d)",
    "find_sources": "fp.find_sources(a, device=d)",
    "find_sources, a column": "fp.find_sources(a, device=d)['flux']",
    "find_sources, mesh": "fp.find_sources(a, background='mesh', device=d)",
    "find_sources, deblend": "fp.find_sources(a, flood=3, deblend=True, device=d)",
    "find_sources, WCS": f"fp.find_sources(a, header={_SKY}, device=d)",
    "measure": "fp.measure(a, (a > 3).astype(np.int32), 1, device=d)",
    "ramp_filter": "fp.ramp_filter(a, device=d)",
    "backproject": "fp.backproject(a, device=d)",
    "fbp": "fp.fbp(a, method='direct', device=d)",
}
_FLOOR = "from footprint.kernels.minus_log.cpu import minus_log; minus_log(abs(a), a.copy())"
_CODE = """
import json, sys, time
start = float(sys.argv[1])
import numpy as np
import footprint as fp
imported = time.time() - start
a, d = np.random.default_rng(0).standard_normal((256, 256), np.float32), {device!r}
{call}
first, spent = time.time() - start, time.process_time()
again = time.perf_counter()
{call}
print(json.dumps([imported, first, time.perf_counter() - again, spent]))
"""


def _run(call: str, device: str, caches: Path) -> list[float]:
    """Seconds to the end of imports, to the first result, of the second call, and of processors until the first result."""
    folders = {name: str(caches / name) for name in ("FOOTPRINT_CACHE", "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR", "POCL_CACHE_DIR")}
    for folder in folders.values():
        Path(folder).mkdir(exist_ok=True)
    words = [sys.executable, "-c", _CODE.format(call=call, device=device), repr(time.time())]
    # What is installed has its bytecode beside it.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=kept | folders, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return list(json.loads(done.stdout.splitlines()[-1]))


def starts(only: str = "") -> None:
    """Print the table for each device found, one of each kind."""
    kinds = list(dict.fromkeys(name.partition(":")[0] for name, why in fp.devices() if not why and not name.startswith("null")))
    print(f"{'seconds to the first result':<30}{'cold':>8}{'disk':>8}{'import':>8}{'cpu':>8}{'warm, ms':>10}")
    for device in kinds:
        for verb, call in (({"Numba alone": _FLOOR} if device == "cpu" else {}) | VERBS).items():
            if only not in verb:
                continue
            with tempfile.TemporaryDirectory(prefix="footprint-starts-") as folder:
                try:
                    cold, disk = (_run(call, device, Path(folder)) for _ in range(2))
                except RuntimeError as error:
                    print(f"{f'{verb} on {device}':<30} failed: {error}", flush=True)
                    continue
            shown = f"{cold[1]:8.2f}{disk[1]:8.2f}{disk[0]:8.2f}{disk[3]:8.2f}{1e3 * disk[2]:10.3f}"
            print(f"{f'{verb} on {device}':<30}{shown}", flush=True)
    if "cuda" not in kinds:
        print("cuda: no GPU here")
