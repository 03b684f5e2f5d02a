"""A catalogue of very many sources takes what its plan counts for it, and the plan counts little more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Python's own objects and malloc's arenas, no function of the data.
_INTERPRETER = 512 << 10

_JOB = """
import json, sys
import numpy as np
from astropy.io import fits
import footprint as fp
from footprint.backend.memory import PeakMeter

sky = fits.Header({"BUNIT": "Jy/beam", "BMAJ": 0.01, "BMIN": 0.01, "CTYPE1": "GLON-SIN", "CTYPE2": "GLAT-SIN", "CRPIX1": 65})
sky.update({"CRPIX2": 60, "CRVAL1": 10.0, "CRVAL2": -30.0, "CDELT1": -0.0002, "CDELT2": 0.0002})

def job(height, verb):
    image = np.random.default_rng(1).standard_normal((height, 1024), np.float32)
    image[::4, ::4] += 100
    count = height * 256 // 4
    options = {"device": "cpu"}
    if verb == "measure":
        labels = np.zeros(image.shape, np.int32)
        labels[::4, ::4] = np.arange(1, count + 1).reshape(-1, 256)
        return fp.plan_measure(image.shape, count=count, **options), lambda: fp.measure(image, labels, count, **options)
    options |= {"sigma": 20.0, "capacity": count}
    options |= {"header": sky if verb == "placed" else None}
    return fp.plan_find_sources(image.shape, **options), lambda: fp.find_sources(image, **options)

# So large that all threads work on it, by kernels of their own.
_, warm = job(512, sys.argv[1])
warm()
plan, run = job(4096, sys.argv[1])
with PeakMeter() as meter:
    table = run()
print(json.dumps({"known": meter.known, "growth": meter.growth, "plan": plan.footprint.total, "rows": len(table)}))
"""


@pytest.mark.parametrize("verb", ["measure", "plain", "placed"])
def test_the_catalogue_takes_what_is_planned(verb):
    done = subprocess.run([sys.executable, "-c", _JOB, verb], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if not found["known"]:
        pytest.skip("this system does not tell the process's peak")
    assert found["rows"] == 4096 * 256 // 4
    assert found["growth"] <= found["plan"] + _INTERPRETER, found
    assert found["plan"] <= 1.15 * found["growth"], found
