"""The gallery's lines make the pictures it shows, and the table of what is called today holds line by line."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from footprint.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
TODAY = (DOCS / "today.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", TODAY, re.M)


def test_the_lines_of_the_gallery_make_its_pictures(tmp_path, monkeypatch):
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for line in re.findall(r"```sh\n(.*?)\n```", page, re.S):
        program, *words = line.split()
        if program == "python":
            monkeypatch.setattr(sys, "argv", words[1:])
            runpy.run_module(words[1], run_name="__main__")
        else:
            CliRunner().invoke(main, [*words, "--quiet"], catch_exceptions=False)
    shown = re.findall(r"\(images/gallery/(\w+\.png)\)", page)
    assert sorted(shown) == sorted(path.name for path in tmp_path.iterdir())
    for name in shown:
        got, want = (np.asarray(Image.open(folder / name)).astype(int) for folder in (tmp_path, DOCS / "images" / "gallery"))
        # Half a unit is rounded to either side on another processor.
        assert np.abs(got - want).max() <= 1, name


@pytest.fixture(scope="module")
def names():
    found: dict = {}
    exec(re.findall(r"```python\n(.*?)```", TODAY, re.S)[0], found)
    return found


def test_the_table_is_whole():
    rows = [line for line in TODAY.splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(rows) > 35


@pytest.mark.parametrize(("today", "here"), ROWS, ids=[f"{today}, {number}" for number, (today, _) in enumerate(ROWS)])
def test_what_is_called_here_is_what_was_called(today, here, names):
    got = eval(here, names)
    library = re.match(r"(?:[a-z]\w*\.)+(?=\w+\()", today)[0].rstrip(".")  # type: ignore[index]
    try:
        module = importlib.import_module("numpy" if library == "np" else library)
    except ImportError:
        pytest.skip(f"{library} is not installed; the right-hand side runs")
    root = library.split(".")[0]
    want = eval(today, names | {root: module if root in ("np", "cv2") else sys.modules[root]})
    assert np.shape(got) == np.shape(want)
    got, want = np.asarray(got, float), np.asarray(want, float)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * np.nanmax(np.abs(want)))
