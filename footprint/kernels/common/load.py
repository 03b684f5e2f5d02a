"""Kernel texts: prelude, constants and body put together for one dialect of C."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import numpy as np

# Resolved here, because NVRTC and OpenCL compile from memory.
_INCLUDE = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)
HERE = Path(__file__).parents[1]
C_NAMES = {"f2": "f16", "f4": "f32", "f8": "f64", "b1": "u8", "i1": "i8", "u1": "u8", "i2": "i16", "u2": "u16",
           "i4": "i32", "u4": "u32", "i8": "i64", "u8": "u64"}  # fmt: skip


def c_type(dtype: str | np.dtype) -> str:
    """Name in the kernel texts of one element of ``dtype``: ``f32``, ``u16``, ...; complex: ``f32x2``, ``f64x2``."""
    kind = np.dtype(dtype)
    if kind.kind == "c":
        return "f32x2" if kind.itemsize == 8 else "f64x2"
    return C_NAMES[kind.str[1:]]


@functools.cache
def body(source: str, dialect: str) -> str:
    """The text of ``NAME.knl`` (``NAME.cuda.knl`` takes its place for CUDA); a text given in full stands for itself."""
    written = source
    if "\n" not in source:
        found = _texts()
        written = found.get(source.replace(".knl", f".{dialect}.knl"), found[source]).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: _texts()[found[1]].read_text(encoding="utf-8"), written)


@functools.cache
def _texts() -> dict[str, Path]:
    """Every text of every kernel's folder by its name, which is its own in all of them."""
    return {path.name: path for pattern in ("*.knl", "*.h") for path in HERE.glob(f"*/{pattern}")}


@functools.cache
def prelude(dialect: str) -> str:
    """The words every text is written in."""
    return (HERE / "common" / "prelude" / f"{dialect}.h").read_text(encoding="utf-8")


def define(name: str, value: int | float | str | bool) -> str:
    """Lines that set one constant, also where the prelude holds a default; a float keeps all its bits."""
    number = repr(float(value)) if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)
    return f"#undef {name}\n#define {name} {number}"


def text(source: str, defines: tuple[tuple[str, int | float | str], ...], dialect: str) -> str:
    """The whole text to compile: the constants follow the prelude, whose own names they could otherwise change."""
    name = "generated.knl" if "\n" in source else source
    constants = (define(key, value) for key, value in defines)
    return "\n".join([prelude(dialect), *constants, f'#line 1 "{name}"', body(source, dialect)])
