"""Numba asks for SciPy's linear algebra as soon as it loads a function, which takes longer than all else before a first result.

It asks only whether products of arrays could be compiled, and asks again when one is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Later(MetaPathFinder):
    """Finds nothing itself: it is there to be asked for one module, once, when those that Numba loads before it are loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "numba.np.arraymath":
            sys.meta_path.remove(self)
            # Who has SciPy has its linear algebra, and Numba has imported the top of it before.
            if "scipy" in sys.modules:
                _answer_once(sys.modules.get("numba.np.linalg"))
        return None


def _answer_once(linalg: Any) -> None:
    """Have the next call of Numba's function pass, and those after it ask as they did."""
    asks = getattr(linalg, "ensure_blas", None)
    if asks is None:
        return

    def passes() -> None:
        if linalg.ensure_blas is passes:
            linalg.ensure_blas = asks
        else:
            asks()

    linalg.ensure_blas = passes


def later() -> None:
    """Have Numba look for SciPy's linear algebra when it compiles products of arrays, and not before; to be called once."""
    if "numba.np.arraymath" not in sys.modules:
        sys.meta_path.insert(0, _Later())
