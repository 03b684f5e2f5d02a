"""What the documentation shows runs as it stands: the examples of public functions, and the Python of the Markdown pages."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import footprint

ROOT = Path(__file__).parents[2]
FUNCTIONS = [name for name in footprint._HOME if inspect.isfunction(getattr(footprint, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_example_runs_with_what_it_imports_itself(name):
    text = inspect.getdoc(getattr(footprint, name)) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    said: list[str] = []
    failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append).failed
    assert not failed, "".join(said)


PAGES = ["README.md", *(f"docs/{name}.md" for name in ("memory", "steps", "filters", "convolve", "iterative", "dask"))]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {"__name__": page})
