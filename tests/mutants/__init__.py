"""Seeded faults that the tests must catch: ``python -m tests.mutants`` plants one at a time in a copy of the tree."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple


class Mutant(NamedTuple):
    """A fault: ``text``, which stands in ``file`` once, becomes ``fault``; some of ``tests`` must fail then."""

    file: str
    text: str
    fault: str
    tests: tuple[str, ...]
    why: str = ""
    devices: str = "cpu"
    plain: bool = False
    """Whether kernels run as the Python they are, which takes less than compiling them."""


ROOMS = (
    "asked batch bound catalogues chips comfort edges extremes files fourier hints images iterative kept kernels labels lazy "
    "matrices methods parts places plan rooms skies sources steps sums threads wide"
).split()
"""The modules that have a list of them, ``MUTANTS``."""


def mutants() -> list[Mutant]:
    """All of them."""
    return [mutant for room in ROOMS for mutant in import_module(f"tests.mutants.{room}").MUTANTS]
