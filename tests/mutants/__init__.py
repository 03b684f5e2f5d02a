"""Seeded faults that the tests must catch: ``python -m tests.mutants`` plants one at a time in a copy of the tree."""

from __future__ import annotations

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


def mutants() -> list[Mutant]:
    """All of them."""
    from tests.mutants.fourier import FOURIER
    from tests.mutants.iterative import ITERATIVE
    from tests.mutants.kept import KEPT
    from tests.mutants.kernels import KERNELS
    from tests.mutants.methods import METHODS_OF_CONVOLUTION
    from tests.mutants.plan import PLAN
    from tests.mutants.rooms import ROOMS
    from tests.mutants.skies import SKIES
    from tests.mutants.sources import SOURCES
    from tests.mutants.steps import STEPS
    from tests.mutants.threads import THREADS_AND_TIMES

    return [
        *FOURIER, *ITERATIVE, *KEPT, *KERNELS, *METHODS_OF_CONVOLUTION, *PLAN, *ROOMS, *SKIES, *SOURCES, *STEPS, *THREADS_AND_TIMES,
    ]  # fmt: skip
