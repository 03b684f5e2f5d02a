"""Runs launches whose texts have instructions of one architecture on a processor, by a compiler and fibers."""

from __future__ import annotations

import ctypes
import mmap
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from footprint.kernels.common import load
from footprint.kernels.common.launch import A, Launch, Program, W
from footprint.spec import ArraySpec

HERE = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)
# Instructions that `emulated.h` has.
_OWN = {"units.h", "warpgroup.h"}


# What says how much of a core a launch needs, which a processor does not ask.
_ROOM = {"CHIP", "MIN_GROUPS"}


def _start(index: int, launch: Launch) -> str:
    """How the ``index``-th launch is started."""
    arguments = []
    for k, one in enumerate(launch.args):
        if isinstance(one, A | W):
            arguments.append(f"Pointer{{arrays[{k}]}}")
        else:
            number = float(one).hex() if one.dtype.kind == "f" else f"{int(one)}LL"
            arguments.append(f"({load.c_type(one.dtype)}){number}")
    x, y, z = launch.grid
    return f"""
extern "C" void start_{index}(void **given, char *chip) {{
  arrays = given, chip_bytes = chip;
  run({x}, {y}, {z}, {int(np.prod(launch.group))}, [] {{ {launch.entry}({", ".join(arguments)}); }});
}}
"""


def _written(launches: dict[int, Launch]) -> str:
    """A text, and how launches of it are started."""
    texts = {path.name: path.read_text() for pattern in ("*.knl", "*.h") for path in load.HERE.glob(f"*/{pattern}")}
    one = next(iter(launches.values()))
    body = _INCLUDE.sub(lambda found: "" if found[1] in _OWN else texts[found[1]], texts[one.source])
    constants = "\n".join(load.define(name, value) for name, value in one.defines)
    starts = "".join(_start(*each) for each in launches.items())
    return f'#include "{HERE / "emulated.h"}"\n{constants}\n{body}\nstatic void **arrays;\n{starts}'


def _fenced(array: np.ndarray) -> np.ndarray:
    """A copy of it with a page behind that none may read or write: who does ends the process."""
    page, size = mmap.PAGESIZE, -(-max(array.nbytes, 1) // 16) * 16
    whole = -(-size // page) * page
    memory = mmap.mmap(-1, whole + page)
    behind = ctypes.addressof(ctypes.c_char.from_buffer(memory, whole))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(behind), ctypes.c_size_t(page), 0) == 0
    copy = np.frombuffer(memory, array.dtype, array.size, whole - size).reshape(array.shape)
    copy[...] = array
    return copy


def emulate(program: Program, arrays: list[np.ndarray], folder: Path) -> list[np.ndarray]:
    """Run a program's launches one after another, the last array being the result; returns its work arrays."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ on this machine: texts for one architecture are run on the processor by it")
    work = [_fenced(np.full(one.shape, np.nan if np.dtype(one.dtype).kind == "f" else 77, one.dtype)) for one in program.work]
    fenced = [_fenced(one) for one in arrays]
    alike: dict[object, dict[int, Launch]] = {}
    for index, launch in enumerate(program.launches):
        constants = tuple(one for one in launch.defines if one[0] not in _ROOM)
        alike.setdefault((launch.source, constants), {})[index] = launch
    starts = {}
    for group in alike.values():
        text, library = (folder / f"{min(group)}.{kind}" for kind in ("cpp", "so"))
        text.write_text(_written(group))
        how = [compiler, "-O1", "-std=c++17", "-shared", "-fPIC", "-w", "-o", str(library), str(text)]
        made = subprocess.run(how, capture_output=True, text=True)
        if made.returncode and "_Float16" in made.stderr:
            pytest.skip("this g++ has no halves")
        assert made.returncode == 0, made.stderr[:3000]
        loaded = ctypes.CDLL(str(library))
        starts |= {index: getattr(loaded, f"start_{index}") for index in group}
    for index, launch in enumerate(program.launches):
        given = (ctypes.c_void_p * len(launch.args))()
        for k, one in enumerate(launch.args):
            if isinstance(one, A | W):
                given[k] = (fenced if isinstance(one, A) else work)[one.index].ctypes.data
        chip = _fenced(np.zeros(launch.local, np.uint8))
        starts[index](given, ctypes.c_void_p(chip.ctypes.data))
    arrays[-1][...] = fenced[-1]
    return work


def specs(arrays: list[np.ndarray]) -> list[ArraySpec]:
    """Of arrays."""
    return [ArraySpec(one.shape, one.dtype.str) for one in arrays]
