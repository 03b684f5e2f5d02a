"""What a job takes beside its plan, counted in it: a term of its own, taken off the budget first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from footprint.errors import BudgetError


@dataclass(frozen=True)
class Beside:
    """So many bytes.

    Attributes
    ----------
    name, nbytes
        What they are for, in the plan's table and in errors.
    or_else
        What a user may do instead of giving more.
    """

    name: str
    nbytes: int
    or_else: str = ""

    def rest(self, budget: int | None) -> int | None:
        """The budget without them."""
        return None if budget is None else max(budget - self.nbytes, 1)

    def joined(self, plan: Any) -> Any:
        """The plan with them as one of its terms."""
        from footprint.plan.slots import Library

        return replace(plan, libraries=(*plan.libraries, Library(self.name, self.nbytes, False)))

    @contextmanager
    def counted(self, budget: int | None) -> Iterator[None]:
        """Where a plan in this block does not fit `rest`, the error has them, too."""
        try:
            yield
        except BudgetError as error:
            smallest = error.smallest + self.nbytes
            terms = {**error.terms, self.name: self.nbytes}
            fix = f"give memory={smallest} or more{self.or_else}"
            raise BudgetError(budget or 0, terms, smallest, error.what, fix, *error.and_more(self.nbytes)) from None


def beside(
    name: str, nbytes: int, budget: int | None, make: Callable[[int | None], Any], or_else: str = ""
) -> tuple[Any, int | None]:
    """The plan that ``make`` makes of a budget, with what the job takes beside it as one of its terms; and the budget without."""
    taken = Beside(name, nbytes, or_else)
    rest = taken.rest(budget)
    with taken.counted(budget):
        return taken.joined(make(rest)), rest
