"""What first calls load: libraries that their job has no use for would be most of the time to a first result."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from tests.test_house import ROOT

# Seconds and tenths of seconds, all of them; `scipy` itself comes with Numba, and is light.
_HEAVY = {"astropy", "cupy", "dask", "h5py", "matplotlib", "pandas", "pyopencl", "tifffile", "torch", "zarr"}
_HEAVY |= {f"scipy.{part}" for part in ("fft", "interpolate", "linalg", "ndimage", "optimize", "signal", "special")}
_VERBS = """
fp.convolve(a, np.ones((13, 13), "f4"), device=d)
fp.median_filter(a, 3, device=d)
fp.pad(a, 4, "edge", device=d)
fp.muladd(a, a.copy(), 0.5, 0.25, device=d)
fp.vertical_shift(a[None], [0.5], device=d)
fp.label(fp.threshold(a, 1.0, device=d), device=d)
fp.sigma_clip(a, device=d)
len(fp.find_sources(a, flood=3, deblend=True, device=d))
len(fp.measure(a, (a > 3).astype(np.int32), 1, device=d))
fp.ramp_filter(a, device=d)
fp.backproject(a, device=d)
fp.fbp(a, method="direct", device=d)
"""


def loaded(program: str, *words: str) -> list[str]:
    """Heavy modules that a fresh process has in the end."""
    end = f"\nimport sys\nprint(*sorted({_HEAVY!r} & set(sys.modules)))"
    command = [sys.executable, "-c", program + end, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def test_verbs_load_nothing_but_what_computes():
    start = "import numpy as np, footprint as fp\nd, a = 'cpu', np.random.default_rng(0).standard_normal((256, 256), np.float32)"
    assert loaded(start + _VERBS) == []


def test_plain_arguments_load_no_masked_arrays():
    """Which takes as long as planning a job; a kernel that is compiled loads them anyhow."""
    program = "import sys\nimport numpy as np\nfrom footprint.api import _arrays, _tomo\n_arrays.receive(np.ones(3), 'image')\n"
    program += "_tomo.numbers('angles', [0, 1])\nassert 'numpy.ma' not in sys.modules"
    assert loaded(program) == []


def test_a_command_loads_nothing_but_what_reads_its_files(tmp_path):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, np.ones((3, 3), np.float32))
    program = "from click.testing import CliRunner\nfrom footprint.cli.main import main\nimport sys\n"
    program += "found = CliRunner().invoke(main, sys.argv[1:])\nassert found.exit_code == 0, found.output"
    a, b, c = (str(tmp_path / f"{name}.npy") for name in "abc")
    assert loaded(program, "convolve", a, b, "-o", c, "--device", "cpu") == []


def test_what_large_images_are_computed_with_is_loaded_before_one_is_measured(tmp_path):
    """Few pixels are sorted by one thread: the first image of many loaded, or compiled, what all threads do within its plan."""
    np.save(tmp_path / "sky.npy", np.zeros((8, 8), np.float32))
    program = "import sys\nfrom footprint.cli.sources_job import load\nfrom footprint.io.image import open_image\n"
    program += "load(open_image(sys.argv[1]), device='cpu', background='global')\n"
    program += "from footprint.kernels.common import digits\nprint(len(digits.share_numbers.signatures))"
    command = [sys.executable, "-c", program, str(tmp_path / "sky.npy")]
    environment = os.environ | {"FOOTPRINT_THREADS": "2"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]
