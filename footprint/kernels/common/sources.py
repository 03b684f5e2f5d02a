"""What a kernel's code hangs on: the texts of its own file and of all of Footprint that this imports.

Numba knows a function on disk by the text of its file alone. Numbers that it takes from another, and functions that are put into it
whole, are part of its machine code just the same: after an upgrade that changed those only, old code would have met new callers.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(footprint[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(footprint[\w.]*))", re.MULTILINE
)


@lru_cache(maxsize=1024)
def digest(file: str, root: Path) -> str:
    """A digest of a file's text and of those it imports from a package, directly or by others.

    Parameters
    ----------
    file
        The path of a module.
    root
        The folder that holds the package ``footprint``.
    """
    seen: dict[Path, str] = {}
    todo = [Path(file)]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen[path], names = _read(path)
            todo += filter(None, (_file(name, root) for name in names))
    # Where the package lies is no part of what it says.
    return hashlib.sha256(repr(sorted(seen.values())).encode()).hexdigest()


@lru_cache(maxsize=1024)
def _read(path: Path) -> tuple[str, tuple[str, ...]]:
    """A digest of a file, and what it may import: a name that is imported from a package may be a module of it."""
    try:
        text = path.read_bytes()
    except OSError:
        # Of an archive, or no file at all.
        return "", ()
    names: list[str] = []
    for source, listed, module in _IMPORT.findall(text.decode("utf-8", "replace")):
        names.append(source or module)
        words = re.sub(r"#[^\n]*", "", listed).strip("() \t\n").split(",")
        names += [f"{source}.{word.split()[0]}" for word in words if source and word.split()]
    return hashlib.sha256(text).hexdigest(), tuple(names)


@lru_cache(maxsize=4096)
def _file(name: str, root: Path) -> Path | None:
    """Where a module is; None for what is no module."""
    there = root.joinpath(*name.split("."))
    return next((path for path in (there.with_suffix(".py"), there / "__init__.py") if path.is_file()), None)
