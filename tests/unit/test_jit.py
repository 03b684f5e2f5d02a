"""Kernels on the CPU are optimised once, with all that they call."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import permutations

import numba
import numpy as np
import pytest
from numba import prange
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags

from footprint.kernels.common import jit
from footprint.kernels.common.jit import njit, plain
from footprint.kernels.common.kept import _File
from footprint.kernels.common.parts import Part, _Flags


@njit(cache=True, nogil=True)
def _least(x, floor):
    return x if x > floor else floor


@njit(cache=True, nogil=True)
def _total(line, floor):
    total = 0.0
    for x in line:
        total += _least(x, floor)
    return total


@njit(cache=True, parallel=True, nogil=True)
def _totals(lines, floor, out):
    for k in prange(lines.shape[0]):
        out[k] = _total(lines[k], floor) - _least(0.0, floor)


LINES, FLOOR = np.arange(12.0).reshape(3, 4), 5.0
SUMS = np.maximum(LINES, FLOOR).sum(1)


@pytest.fixture
def optimised(monkeypatch):
    """Libraries that were optimised."""
    seen, real = [], JITCodeLibrary._optimize_final_module

    def optimise(library):
        seen.append(library.name)
        real(library)

    monkeypatch.setattr(JITCodeLibrary, "_optimize_final_module", optimise)
    return seen


def test_a_kernel_is_optimised_once_with_what_it_calls(optimised):
    # Numba's own, which is there from the first compilation on.
    numba.njit(lambda: 0)()
    optimised.clear()
    kernel, out = njit(parallel=True, nogil=True)(_totals.py_func), np.zeros(3)
    kernel(LINES, FLOOR, out)
    assert (out == SUMS - FLOOR).all()
    assert len(optimised) == 1


def test_what_kernels_call_python_and_others_may_call_too():
    line = LINES[1].astype("f4")
    assert njit(lambda x: _total(x, 5.0) + 1)(line) == SUMS[1] + 1
    assert [type(one.library) for args, one in _total.overloads.items() if args[0].dtype == numba.float32] == [Part]
    for _ in range(2):
        assert _total(line, FLOOR) == SUMS[1]
    assert numba.njit(lambda x: _total(x, 5.0) + 2)(line) == SUMS[1] + 2
    assert njit(lambda x: _total(x, 5.0) + 3)(line) == SUMS[1] + 3


def test_a_part_is_compiled_once_for_a_number_that_begins_at_0():
    after = njit(lambda n: n + 1)

    def count(turns):
        n = 0
        for _ in range(turns):
            n = after(n)
        return n

    assert njit(count)(3) == 3
    assert list(after.overloads) == [(numba.intp,)]


def test_flags_of_kernels_are_numbas():
    plain, ours = Flags(), _Flags(Flags())
    assert ours == plain and plain == ours and hash(ours) == hash(plain) and {plain: 1}[ours.copy()] == 1
    ours.nrt = not plain.nrt
    assert ours != plain and ours != _Flags(plain) and ours.copy() == ours
    # Told what it would be untold.
    ours.nrt = plain.nrt
    assert ours == plain


def test_a_kernel_is_found_on_disk():
    out = np.zeros(3)
    for _ in range(2):
        kernel = njit(cache=True, parallel=True, nogil=True)(_totals.py_func)
        kernel(LINES.astype("f4"), FLOOR, out)
        assert (out == SUMS - FLOOR).all()
    assert sum(kernel.stats.cache_hits.values()) == 1


def test_a_stop_that_llvm_drops_is_a_stop(monkeypatch):
    # As Ctrl-C that comes while Python is called for the machine code.
    def stopped(*_):
        raise KeyboardInterrupt

    dropped = []
    engine = _total.targetctx.codegen()._engine._ee
    monkeypatch.setattr(engine, "_object_cache_notify", stopped)
    monkeypatch.setattr(sys, "unraisablehook", lambda found: dropped.append(found.exc_type))
    for made in njit, plain:
        with pytest.raises(KeyboardInterrupt):
            made(_least.py_func, cache=True)(1.5, made is njit)
    assert set(dropped) == {KeyboardInterrupt}


def test_processes_that_compile_at_once_keep_each_their_own_code(tmp_path, monkeypatch):
    """Two signatures, by two who have found the folder empty, whatever the order in which their files appear."""
    for number, order in enumerate(sorted(set(permutations("aabb")))):
        folder, waiting = tmp_path / str(number), {"a": [], "b": []}
        folder.mkdir()
        files = {who: _File(str(folder), "kernel", 1) for who in "ab"}
        for who, file in files.items():
            with monkeypatch.context() as held:
                held.setattr(os, "replace", lambda *paths, late=waiting[who]: late.append(paths))
                file.save(who, f"code of {who}")
        for who in order:
            if waiting[who]:
                os.replace(*waiting[who].pop(0))
        assert [files["a"].load(who) for who in "ab"] == ["code of a", "code of b"]


def test_code_of_another_signature_or_cut_short_is_compiled_anew(tmp_path):
    file = _File(str(tmp_path), "kernel", 1)
    file.save("a", "code of a")
    (held,) = tmp_path.iterdir()
    file.save("b", "code of b")
    (other,) = set(tmp_path.iterdir()) - {held}
    other.write_bytes(held.read_bytes())
    assert file.load("b") is None and file.load("a") == "code of a"
    for n in range(len(held.read_bytes())):
        held.write_bytes(other.read_bytes()[:n])
        assert file.load("a") is None
    assert _File(str(tmp_path), "kernel", 2).load("a") is None


def test_where_numba_compiles_nothing_kernels_are_the_python_they_are(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert njit(cache=True)(_total.py_func) is _total.py_func


def test_a_numba_without_what_kernels_lean_on_compiles_them_itself(monkeypatch):
    monkeypatch.setattr(jit, "parts", None)
    plain = jit.njit(nogil=True)(_least.py_func)
    assert type(plain) is type(numba.njit(lambda: 0)) and plain(1.0, 2.0) == 2.0


_LOADED = """
import sys
import numpy as np
from tests.unit.test_jit import FLOOR, LINES, SUMS, _sorted, _totals

out = np.zeros(3)
_totals(LINES.astype("f8"), FLOOR, out)
assert (out == SUMS - FLOOR).all() and _sorted(out[::-1].copy())[0] == out.min()
hits = sum(sum(one.stats.cache_hits.values()) for one in (_totals, _sorted))
print(hits, "numba.np.arrayobj" in sys.modules)
from numba import njit
assert njit(lambda x: _sorted(x)[0])(out) == out.min()
"""


@plain(cache=True, nogil=True)
def _sorted(line):
    return np.sort(line)


def test_what_is_on_disk_needs_no_compiler():
    """In a process that comes after one that compiled; what is compiled later takes in what was loaded."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "False"]


def _part_of(array):
    return array[1:]


def _both(array):
    return 3, array[1:]


def _made(array):
    return np.zeros(3).sum() + array[0]


def _last(array):
    part = array[1:]
    return part[-1]


def _same(array):
    return array


@pytest.mark.parametrize("function", [_part_of, _both, _same, _made])
def test_what_borrows_arrays_neither_makes_nor_returns_any(function):
    # Numba itself says the first for an array alone, and for one that is made.
    with pytest.raises((TypeError, numba.core.errors.NumbaError), match=r"Only accept returning|gives one back"):
        njit(function, borrows=True)(np.arange(4.0))


def test_borrowed_arrays_are_their_owner_s():
    given = np.arange(5.0)
    before = sys.getrefcount(given)
    assert [njit(_last, borrows=True)(given) for _ in range(50)] == [4.0] * 50
    assert sys.getrefcount(given) == before


def test_what_a_borrower_calls_may_make_arrays():
    made = njit(_made)
    caller = njit(lambda array: made(array) + 1, borrows=True)
    assert caller(np.arange(4.0) + 2) == 3.0
