"""Kernels whose text is written at run time: kept as files, so that Numba keeps what it compiled of them, too."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

from footprint import settings

_lock = threading.Lock()


def load(name: str, text: str) -> ModuleType:
    """Import ``text`` from the cache folder; its name there carries a hash of it, so another text is another file."""
    full = f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    with _lock:
        if full in sys.modules:
            return sys.modules[full]
        path = _written(settings.cache_dir() / "cpu", full, text)
        spec = importlib.util.spec_from_file_location(full, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[full]
            raise
        return module


def _written(folder: Path, name: str, text: str) -> Path:
    """The file with this text: there already, or written beside and renamed, so that no reader sees half of it."""
    try:
        return _write(folder, name, text)
    except OSError:  # a read-only or full home: compile for this process alone
        return _write(Path(_own_folder().name), name, text)


@functools.cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    """One folder for this process, which goes when it ends."""
    return tempfile.TemporaryDirectory(prefix="footprint-", ignore_cleanup_errors=True)


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.py"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    handle, half = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(half, path)
    except BaseException:
        Path(half).unlink(missing_ok=True)
        raise
    return path
