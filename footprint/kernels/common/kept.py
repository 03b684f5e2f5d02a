"""Kernels kept on disk, loaded without what only a compiler needs.

Before it takes machine code from its cache, Numba loads all that it would need to compile more: two hundred modules, and the tables
they fill. What is on disk also names the modules that its parts come from, Numba's own among them, which are imported to no use.
Here a kernel brings its machine code and nothing else, and the first result is there half as late; one that is not there finds the
compiler as ever.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import threading
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import rtsys

from footprint.kernels.common.sources import digest

# The folder of the package.
_ROOT = Path(__file__).parents[3]
# Machine code finds what it calls of this one where that has been imported.
_TOLD = "numba.cpython.hashing"
# An environment may not hold its names itself.
_NAMES: dict[str, dict[str, str]] = {}


def _environment(module: str, consts: list[Any], name: str) -> Any:
    """What a compiled function knows of its module: of Numba's own, its name, since only an interpreter asks for more."""
    if lookup_environment(name) is not None or not module.startswith("numba.") or module == _TOLD:
        return _rebuild_env(module, consts, name)
    found = Environment(_NAMES.setdefault(module, {"__name__": module}))
    found.consts[:] = consts
    found.env_name = name
    Environment._memo[name] = found
    return found


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (_rebuild_env.__module__, _rebuild_env.__name__):
            return _environment
        return super().find_class(module, name)


class _File(IndexDataCacheFile):  # type: ignore[misc]
    """A file for every signature, named after all that its code hangs on, which it also holds.

    Numba numbers them in an index: of two processes that compile at once, both may take one number, and what the index then says
    is one signature's is the other's code, which is called with the wrong types from then on.
    """

    def save(self, key: Any, data: Any) -> None:
        """Put it where nothing else is ever put."""
        self._save_data(self._named(key), (self._whole(key), data))

    def load(self, key: Any) -> Any:
        """What was saved for this key; None where nothing was, or what cannot be read to its end."""
        try:
            found, data = self._load_data(self._named(key))
        except Exception:
            # Whatever a file that was cut short makes of itself.
            return None
        return data if found == self._whole(key) else None

    def flush(self) -> None:
        """What is in the way is written over."""

    def _whole(self, key: Any) -> str:
        return repr((self._version, self._source_stamp, key))

    def _named(self, key: Any) -> str:
        return str(self._data_name(hashlib.sha256(self._whole(key).encode()).hexdigest()[:32]))

    def _data_name(self, number: str) -> str:
        return self._data_name_pattern.replace("{number:d}", number)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            return _Unpickler(io.BytesIO(file.read())).load()


class Loaded(JITCodeLibrary):  # type: ignore[misc]
    """Machine code from disk, whose bitcode is looked at where another library takes it in."""

    _bitcode, _code = b"", b""

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "object":
            return super()._unserialize(codegen, state)
        library = cls(codegen, name)
        library._code, library._bitcode = data
        library.enable_object_caching()
        library._set_compiled_object(library._code)
        library._finalize_final_module()
        return library

    def get_pointer_to_function(self, name: str) -> int:
        """Its address; 0 where there is no such function."""
        # Mostly this is asked once, for what Python calls. The engine ends the process where there is no such name.
        code, self._code = self._code, b""
        if f"{name}\0".encode() in code:
            return int(self._codegen._engine.get_function_address(name))
        self._parse()
        return int(super().get_pointer_to_function(name))

    def _parse(self) -> None:
        if self._bitcode:
            self._shared_module, self._bitcode = llvm.parse_bitcode(self._bitcode), b""
            self._codegen._engine._load_defined_symbols(self._shared_module)

    def _get_module_for_linking(self) -> Any:
        self._parse()
        return super()._get_module_for_linking()


class Kept(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, in the same folder."""

    _cache_file: Any

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        plain = self._cache_file
        stamp = plain._source_stamp, digest(function.__code__.co_filename, _ROOT)
        self._cache_file = _File(plain._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled.

        LLVM hands machine code to Python in a callback, where Python drops what a signal raises, and the code with it.
        """
        try:
            super().save_overload(sig, data)
        except RuntimeError as error:
            if "no compiled object" not in str(error):
                raise
            if threading.current_thread() is threading.main_thread():
                raise KeyboardInterrupt from None

    @global_compiler_lock
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; None where nothing was."""
        # The functions of Numba's runtime that machine code calls.
        rtsys.initialize(target_context)
        codegen = target_context.codegen()
        before, codegen._library_class = codegen._library_class, Loaded
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        finally:
            codegen._library_class = before
        return None
