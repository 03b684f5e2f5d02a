"""Calls drawn at random, each made twice: with NumPy arrays on the CPU, and otherwise. What differs is printed.

``python -m tests.drawn cuda 7 60`` takes seed 7 and a minute on that device; ``python -m tests.drawn cpu 7 60 fbp pad`` two kinds
of calls, at the least budget that a refusal names, which has to give the bits of the whole; ``cupy``, ``torch`` and ``jax`` are for
arrays of these libraries, on the device they take by themselves, whose results have to be such arrays again.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import footprint as fp
from tests.draws import KINDS, Call, Draw


def difference(call: Call, wanted: list[np.ndarray] | str, got: list[np.ndarray] | str, bits: bool) -> str:
    """What is wrong, or nothing."""
    if isinstance(wanted, str) or isinstance(got, str):
        kinds = [one.partition(":")[0] if isinstance(one, str) else "a result" for one in (wanted, got)]
        return "" if kinds[0] == kinds[1] else f"{kinds[0]}, then {kinds[1]}: {wanted if isinstance(wanted, str) else got}"
    if len(wanted) != len(got):
        return f"{len(wanted)} arrays, then {len(got)}"
    for at, (a, b) in enumerate(zip(wanted, got)):
        if a.shape != b.shape or a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
            return f"array {at}: {a.dtype}{a.shape}, then {b.dtype}{b.shape}"
        if a.dtype.kind != "f":
            if not np.array_equal(a, b):
                return f"array {at}: {np.count_nonzero(a != b)} of {a.size} whole numbers differ"
            continue
        a, b = a.astype("f8"), b.astype("f8")
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return f"array {at}: {np.count_nonzero(np.isfinite(a) != np.isfinite(b))} of {a.size} are finite in one only"
        fine = np.isfinite(a)
        if not fine.any():
            continue
        off = np.abs(a - b)[fine].max()
        scale = call.scale or np.abs(a[fine]).max()
        if off > (0 if bits else call.near * scale):
            return f"array {at}: off by {off:.3g} where the largest is {np.abs(a[fine]).max():.3g}; scale {scale:.3g}"
    return ""


def _cupy(array: np.ndarray) -> Any:
    import cupy

    return cupy.asarray(array)


def _torch(array: np.ndarray) -> Any:
    import torch

    return torch.as_tensor(array, device="cuda" if torch.cuda.is_available() else "cpu")


def _jax(array: np.ndarray) -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(array)


LIBRARIES: dict[str, Callable[[np.ndarray], Any]] = {"cupy": _cupy, "torch": _torch, "jax": _jax}
# Verbs whose second array is data like the first.
PAIRS = ("convolve", "correlate", "muladd")


def of_library(call: Call, name: str) -> Call | None:
    """The same call with that library's arrays, None where it has no such numbers: these bytes or strides."""
    count = 2 if call.verb in PAIRS else 1
    if name == "jax" and call.verb == "muladd":
        # In place, which its arrays refuse.
        return None
    if not all(isinstance(one, np.ndarray) and one.dtype.isnative for one in call.arrays[:count]):
        return None
    try:
        return replace(call, arrays=[*map(LIBRARIES[name], call.arrays[:count]), *call.arrays[count:]])
    except (TypeError, ValueError):
        return None


def compare(call: Call, device: str) -> str | None:
    """Of another device or library, what differs from NumPy arrays on the CPU; of the CPU, what the least budget changes."""
    if device in LIBRARIES:
        other = of_library(call, device)
        if other is None:
            return None
        found = other.run(kinds=type(other.arrays[0]))
        return difference(call, call.run(device="cpu"), found, False)
    whole = call.run(device="cpu")
    if device != "cpu":
        return difference(call, whole, call.run(device=device), False)
    try:
        call.run(device="cpu", memory=1)
    except fp.BudgetError as refused:
        memory = refused.smallest
    else:
        return ""
    found = call.run(device="cpu", memory=memory)
    if isinstance(found, str) and "this image" in found:
        # How much a table takes is known once the image has been read; what is named then has to be enough.
        found = call.run(device="cpu", memory=int(found.partition("give memory=")[2].split()[0]))
    return difference(call, whole, found, call.same_bits)


def main(device: str, seed: int, seconds: float, *kinds: str) -> None:
    until, draws, wrong = time.monotonic() + seconds, Counter[str](), 0
    draw = Draw(seed)
    chosen = [KINDS[kind] for kind in kinds or KINDS]
    while time.monotonic() < until:
        kind = draw.one(*chosen)
        own = int(draw.rng.integers(2**31))
        call = kind(Draw(own))
        try:
            problem = compare(call, device)
        except Exception as error:
            problem = f"raised {type(error).__name__}: {error}"
        draws[kind.__name__] += problem is not None
        if problem:
            wrong += 1
            print(f"{kind.__name__} {own}: {problem}\n    {call}", flush=True)
    print(f"seed {seed}: {sum(draws.values())} calls, {wrong} differ; {dict(draws)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:])
