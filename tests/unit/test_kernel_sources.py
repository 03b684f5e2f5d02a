"""Machine code on disk is that of all the texts it was made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from footprint.kernels.common import sources
from footprint.kernels.common.kept import Kept
from footprint.kernels.fit import cpu

FILES = {
    "footprint/__init__.py": "",
    "footprint/kernels/__init__.py": "",
    "footprint/kernels/sums/cpu.py": """
import numpy
from footprint.kernels.sums.contract import (
    MOST,  # of them
    LEAST,
)
""",
    "footprint/kernels/sums/contract.py": "from footprint.kernels import words\n\nMOST, LEAST = 3, words.ONE\n",
    "footprint/kernels/words.py": "def late():\n    import footprint.spec\n\nONE = 1\n",
    "footprint/spec.py": "SPEC = 1\n",
    "footprint/other.py": "from footprint.spec import SPEC\n",
}
KERNEL = "footprint/kernels/sums/cpu.py"


def said(root: Path) -> str:
    for cached in (sources.digest, sources._read, sources._file):
        cached.cache_clear()
    return sources.digest(str(root / KERNEL), root)


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    yield tmp_path
    said(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_a_kernel_is_made_anew_when_any_text_changes_that_it_hangs_on(package, name):
    before = said(package)
    assert said(package) == before
    with open(package / name, "a") as file:
        file.write("MORE = 2\n")
    # The package's own first lines are imported by whoever imports anything of it, and say nothing to a kernel.
    assert (said(package) != before) == (name not in ("footprint/__init__.py", "footprint/other.py"))


def test_what_is_not_there_is_passed_over(package):
    (package / "footprint/spec.py").unlink()
    assert said(package) == said(package)


def test_kernels_are_kept_under_what_they_hang_on():
    stamp = Kept(cpu._stamp.py_func)._cache_file._source_stamp
    assert sources.digest(cpu.__file__, Path(sources.__file__).parents[3]) in stamp
