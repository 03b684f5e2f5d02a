"""Faults in what is kept from call to call."""

from __future__ import annotations

from tests.mutants import Mutant

KEPT = [
    Mutant(
        "footprint/plan/ready.py",
        "if bound.nbytes > limit or key in self._idle:",
        "if bound.nbytes > 2 * limit or key in self._idle:",
        ("tests/unit/test_ready.py::test_what_is_kept_is_bounded_and_the_oldest_goes_first",),
    ),
    Mutant(
        "footprint/plan/ready.py",
        "_, oldest = self._idle.popitem(last=False)",
        "_, oldest = self._idle.popitem()",
        ("tests/unit/test_ready.py::test_what_is_kept_is_bounded_and_the_oldest_goes_first",),
        "the newest is given up first",
    ),
    Mutant(
        "footprint/plan/ready.py",
        "        READY.clear()\n        return plan.bind(backend, check)",
        "        return plan.bind(backend, check)",
        ("tests/unit/test_ready.py::test_what_is_kept_is_given_up_before_an_allocation_fails",),
    ),
]
