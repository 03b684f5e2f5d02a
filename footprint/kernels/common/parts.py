"""Kernels whose code is optimised once, where Python calls it, and not in every function that it goes through as well.

Numba makes every function a library of its own, optimised and made machine code, and puts into it what the function calls: a
helper is compiled anew in all its callers, and the body of a loop over threads four times, in itself, in two functions round it,
and in the kernel. Here what a kernel calls stays as it was written until the kernel has all of it. What Python calls runs as ever,
and is kept on disk as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite.binding import Linkage
from numba.core import config, dispatcher, sigutils, types
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from footprint.kernels.common.kept import Kept

# Only Python calls wrappers. The kernel's own is made when the rest is there.
_BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _NoMachine:
    """What asks a part for its codegen wants to tell machine code, of which it has none, of its constants."""

    @staticmethod
    def set_env(name: str, env: Any) -> None:
        pass


class Part(JITCodeLibrary):  # type: ignore[misc]
    """A library that others take in, so that it is neither optimised nor made machine code."""

    _shared_module: Any

    @property
    def codegen(self) -> Any:
        """Nothing that has an address."""
        return _NoMachine

    def get_pointer_to_function(self, name: str) -> int:
        """There is none to call."""
        self._ensure_finalized()
        return 0

    def finalize(self) -> None:
        """Nothing can be added from here on."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def shared(self) -> Any:
        """Its own code, which may be there several times."""
        if self._shared_module is None:
            module = self._final_module
            names = [f.name for f in module.functions if not f.is_declaration and f.linkage == Linkage.external]
            if names:
                module = module.clone()
                for name in names:
                    module.get_function(name).linkage = "linkonce_odr"
            self._shared_module = module
        return self._shared_module

    def needed(self) -> list[Any]:
        """It and the libraries it needs, each before those it needs itself: links leave out what nothing has asked for yet."""
        done: set[Any] = set()
        found: list[Any] = []

        def look(library: Any) -> None:
            done.add(library)
            library._ensure_finalized()
            for other in library._linking_libraries if isinstance(library, Part) else ():
                if other not in done:
                    look(other)
            found.append(library)

        look(self)
        return found[::-1]

    def _get_module_for_linking(self) -> Any:
        """With all that it needs, for libraries that are no parts."""
        self._ensure_finalized()
        module = self.shared().clone()
        for library in self.needed():
            if isinstance(library, Part):
                module.link_in(library.shared(), preserve=True)
        for library in self.needed():
            if not isinstance(library, Part):
                module.link_in(library._get_module_for_linking(), preserve=True)
        return module

    def _optimize_functions(self, module: Any) -> None:
        # What they are put into is optimised whole.
        module.data_layout = self._codegen._data_layout

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        with _libraries(codegen, JITCodeLibrary):
            return codegen.unserialize_library(state)


@contextmanager
def _libraries(codegen: Any, kind: type) -> Iterator[None]:
    """While the block runs, new libraries are of a kind. Numba compiles in one thread at a time, and that one has the lock."""
    before, codegen._library_class = codegen._library_class, kind
    try:
        yield
    finally:
        codegen._library_class = before


def _whole(result: Any, nogil: bool) -> Any:
    """Of a compilation to parts, a library that Python can call."""
    part = result.library
    codegen = part._codegen
    library = codegen.create_library(part.name)
    # Numba then keeps the machine code that its cache asks for.
    library.enable_object_caching()
    for one in part.needed():
        if isinstance(one, Part):
            library._final_module.link_in(part._final_module if one is part else one.shared(), preserve=True)
            # Which older Numba keeps elsewhere.
            if hasattr(library, "_reload_init"):
                library._reload_init.update(one._reload_init)
        else:
            library.add_linking_library(one)
    name, env = result.fndesc, result.environment
    context = result.target_context.subtarget(environment=env, fndesc=name)
    with context.push_code_library(library):
        context.create_cpython_wrapper(library, name, env, result.call_helper, release_gil=nogil)
    entry = context.get_executable(library, name, env)
    context.insert_user_function(entry, name, [library])
    result = result._replace(library=library, entry_point=entry)
    for other in result._find_referenced_environments():
        codegen.set_env(other.env_name, other)
    return result


class _Flags(Flags):  # type: ignore[misc]
    """How to compile. Numba asks for two hundred values whenever it compares two, for every function that its own are made of."""

    __slots__ = ()
    _HASH = hash(Flags())

    def __hash__(self) -> int:
        return self._HASH

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flags):
            return False
        one, two = self._values, other._values
        # Mostly the same is said in other words: what one has been told, and the other takes for granted.
        return one == two or all(getattr(self, name) == getattr(other, name) for name in one.keys() | two.keys())


class _Compiler(dispatcher._FunctionCompiler):  # type: ignore[misc]
    """Numba's, to parts that are put together for the outermost."""

    def _customize_flags(self, flags: Any) -> Any:
        return _Flags(flags)

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        context = self.targetdescr.target_context
        # Numba's own library of the runtime must be there before: it is no part.
        context.refresh()
        if context.codegen()._library_class is Part:
            return self._checked(super()._compile_core(args, return_type))
        with _libraries(context.codegen(), Part):
            result = self._checked(super()._compile_core(args, return_type))
        return _whole(result, self.targetoptions.get("nogil", False))

    def _checked(self, result: Any) -> Any:
        """A caller counts the arrays it is given, one that borrows has not: the memory would be free while it is used."""
        given = result.signature.return_type
        if not self.targetoptions.get("_nrt", True) and any(isinstance(one, types.Array) for one in (given, *_inside(given))):
            raise TypeError(f"{self.py_func.__name__} borrows its arrays and gives one back")
        return result


def _inside(kind: Any) -> tuple[Any, ...]:
    return tuple(kind.types) if isinstance(kind, types.BaseTuple) else ()


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function: a part where another of its kind is being compiled, whole where Python or others call it."""

    _cache: Any
    _keeps = False

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None, **more: Any) -> None:
        super().__init__(py_func, locals, targetoptions, **more)
        plain: Any = self._compiler
        self._compiler: Any = _Compiler(py_func, self.targetdescr, plain.targetoptions, plain.locals, plain.pipeline_class)
        self._parts: dict[Any, Any] = {}

    def enable_caching(self) -> None:
        """Keep what is compiled on disk, where a place is looked for at the first call: most functions are only ever parts."""
        self._keeps = True

    def compile(self, sig: Any) -> Any:
        """For a signature, if that has not been done."""
        with global_compiler_lock:
            args = tuple(sigutils.normalize_signature(sig)[0])
            inside = self.targetctx.codegen()._library_class is Part
            there = self.overloads.get(args)
            if there is not None and isinstance(there.library, Part) != inside:
                # Calls from Python still find what is whole: `_insert` has told the dispatcher's own table of it.
                del self.overloads[args]
                if inside and args in self._parts:
                    self.overloads[args] = self._parts[args]
            if not inside:
                if self._keeps:
                    self._cache, self._keeps = Kept(self.py_func), False
                return super().compile(sig)
            # On disk there is what is whole.
            cache, self._cache = self._cache, NullCache()
            try:
                return super().compile(sig)
            finally:
                self._cache = cache

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How it is called with such types by what is being compiled.

        A variable that begins at 0 is that 0 to Numba until it has seen what is added to it: a part would be compiled for it first.
        """
        plain = lambda a: types.intp if isinstance(a, types.IntegerLiteral) and a.literal_value == 0 else a
        return super().get_call_template(tuple(map(plain, args)), {name: plain(a) for name, a in kws.items()})

    def add_overload(self, cres: Any) -> None:
        """Where it is called from; Python never calls a part."""
        if isinstance(cres.library, Part):
            args = tuple(cres.signature.args)
            self._parts[args] = self.overloads[args] = cres
        else:
            super().add_overload(cres)


def kernel(function: Callable[..., Any], cache: bool, options: dict[str, Any]) -> Any:
    """A compiled function of such options of `numba.njit`."""
    # Numba may be told to compile nothing.
    if config.DISABLE_JIT:
        return function
    found = Kernel(function, {}, {**options, **_BARE, "nopython": True, "boundscheck": None})
    if cache:
        found.enable_caching()
    return found
