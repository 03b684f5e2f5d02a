"""Kernels written at run time: kept by content, shared by processes, and able to do without a writable home."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import footprint as fp
from footprint.kernels.common import generated
from footprint.kernels.convolve.contract import LINE_TAPS, TAP_ROWS, split
from footprint.kernels.convolve.cpu import _kernel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTPRINT_CACHE", str(tmp_path))
    return tmp_path / "cpu"


def test_equal_texts_are_one_file_and_one_module(home):
    one = generated.load("twice", "VALUE = 1\n")
    assert generated.load("twice", "VALUE = 1\n") is one
    assert generated.load("twice", "VALUE = 2\n").VALUE == 2
    assert len(list(home.glob("twice_*.py"))) == 2
    assert not list(home.glob("*.part"))


def test_a_damaged_file_is_written_again(home):
    module = generated.load("damaged", "VALUE = 3\n")
    path = Path(module.__file__)
    path.write_text("VALUE = ")
    del sys.modules[module.__name__]
    assert generated.load("damaged", "VALUE = 3\n").VALUE == 3


def test_a_text_that_fails_leaves_no_module_behind(home):
    with pytest.raises(ZeroDivisionError):
        generated.load("failing", "1 / 0\n")
    assert not [name for name in sys.modules if name.startswith("failing_")]


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("FOOTPRINT_CACHE", str(blocked))
    assert generated.load("homeless", "VALUE = 4\n").VALUE == 4


def test_a_process_without_a_home_leaves_nothing_behind(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = (
        "import numpy as np, footprint as fp\n"
        "for n in (2, 3): print(fp.convolve(np.ones((9, 9), 'f4'), np.ones((n, n)), device='cpu')[4, 4])\n"
    )
    environment = os.environ | {"FOOTPRINT_CACHE": str(tmp_path / "file"), "TMPDIR": str(scratch)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment, check=True)
    assert done.stdout.split() == ["4.0", "9.0"]
    assert not [path.name for path in scratch.iterdir() if path.name.startswith("footprint-")]


def test_threads_share_one_module(home):
    with ThreadPoolExecutor(8) as pool:
        modules = set(pool.map(lambda _: generated.load("shared", "VALUE = object()\n"), range(32)))
    assert len(modules) == 1


@pytest.mark.parametrize(("n", "most"), [(1, 13), (13, 13), (14, 13), (31, 13), (100, 13), (101, 32), (1, 1)])
def test_parts_of_a_mask_are_nearly_equal(n, most):
    parts = split(n, most)
    assert sum(parts) == n
    assert max(parts) <= most
    assert max(parts) - min(parts) <= 1
    assert list(parts) == sorted(parts, reverse=True)


def test_masks_of_one_height_share_one_kernel():
    image = np.ones((20, 20), "f4")
    fp.convolve(image, np.ones((3, 2), "f4"), device="cpu")
    before = _kernel.cache_info().misses
    for shape in ((3, 5), (3, 40), (3, 1)):
        fp.convolve(image, np.ones(shape, "f4"), device="cpu")
    assert _kernel.cache_info().misses == before
    assert TAP_ROWS >= 3
    assert LINE_TAPS >= 1


def test_a_second_process_compiles_nothing(tmp_path):
    code = (
        "import numpy as np, footprint as fp, sys\n"
        "fp.convolve(np.ones((30, 30), 'f4'), np.ones((2, 2)), device='cpu')\n"
        "module = next(m for name, m in sys.modules.items() if name.startswith('convolve_tall2'))\n"
        "print(sum(module.run.stats.cache_misses.values()), sum(module.run.stats.cache_hits.values()))\n"
    )
    environment = os.environ | {"FOOTPRINT_CACHE": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    words = [sys.executable, "-c", code]
    outputs = [
        subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, check=True).stdout for _ in range(2)
    ]
    assert outputs == ["1 0\n", "0 1\n"]
