"""The only driver: what the caller gave, where it runs, what it may take, and the chunk loop."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from footprint.api._arrays import new
from footprint.backend.base import Backend
from footprint.backend.fft.base import with_fft
from footprint.backend.registry import choose_device, device_array, device_limits, empty_on, running_backend
from footprint.errors import ArgumentError, ShapeError
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits
from footprint.units import kind_of, parse_bytes

Memory = str | int | float | None
Progress = Callable[[int, int], None]
# Bytes a file's library holds beside the block while so many rows are read into it, contiguous and of this dtype.
Reading = Callable[[int, str], int]
# An array already cut to the run, or a function that fills (or takes) the plan's own buffer.
Part = Any

# Of the free memory, what a job may take when no budget is given: the rest is for everything else on the machine.
_SHARE = 0.8


@dataclass(frozen=True)
class Array:
    """One of the caller's arrays, seen the same way whatever library made it.

    Attributes
    ----------
    data
        What the plan is handed: an ndarray for host arrays, the array itself on a device.
    kind
        Name of the library it came from, so that results go back in kind.
    device
        ``cpu`` or ``cuda:N``: where it lives.
    """

    data: Any
    kind: str
    device: str

    @cached_property
    def spec(self) -> ArraySpec:
        """Shape and dtype."""
        return ArraySpec(tuple(self.data.shape), self.data.dtype.str)

    @property
    def given(self) -> Given:
        """How a plan meets it."""
        if self.device == "cpu":
            return Given("host", bool(self.data.flags.c_contiguous and self.data.dtype.isnative))
        return Given("device", True)


def receive(array: Any, name: str) -> Array:
    """See an argument as an array without a copy, from NumPy, CuPy, PyTorch, JAX or Numba; lists are copied."""
    kind = type(array).__module__.partition(".")[0]
    kind = {"jaxlib": "jax", "numba_cuda": "numba"}.get(kind, kind)
    if isinstance(array, np.ma.MaskedArray) and array.mask is not np.ma.nomask and array.mask.any():
        raise ArgumentError(name, "a masked array, whose mask would be ignored", "a plain one", "give array.filled(numpy.nan)")
    if isinstance(array, np.ndarray):
        data: Any = array
        kind = "numpy"
    elif hasattr(array, "__cuda_array_interface__"):
        data, device = device_array(array)
        return Array(data, kind, device)
    elif hasattr(array, "__dlpack__"):
        data = np.from_dlpack(array)
    elif hasattr(array, "__array__") or isinstance(array, list | tuple | int | float):
        try:
            data, kind = np.asarray(array), "numpy"
        except ValueError:
            raise ShapeError(name, f"{kind_of(array)} of uneven rows", "an array") from None
    else:
        raise ArgumentError(name, kind_of(array), "an array")
    if data.dtype.kind not in "fiub":
        raise ShapeError(name, f"dtype {data.dtype}", "real numbers: float, integer or bool")
    return Array(data, kind, "cpu")


def described(shape: Any, dtype: Any, name: str = "shape") -> tuple[ArraySpec, Given]:
    """Spec of an array of which only the numbers are known, and how a plan meets it: C-contiguous on the host."""
    try:
        lengths = tuple(operator.index(n) for n in shape)
    except TypeError:
        raise ArgumentError(name, repr(shape), "a tuple of whole numbers such as (512, 512)") from None
    if min(lengths, default=0) < 0:
        raise ShapeError(name, lengths, "lengths of 0 or more")
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if kind.kind not in "fiub":
        raise ShapeError("dtype", repr(dtype), "one of real numbers, such as 'float32' or 'uint16'")
    return ArraySpec(lengths, kind.str), Given("host", kind.isnative)


def give_back(data: Any, kind: str) -> Any:
    """A result in the kind of array the caller gave."""
    if kind in ("numpy", "cupy"):
        return data
    module: Any = sys.modules.get(kind)
    if kind == "numba":
        return sys.modules["numba.cuda"].as_cuda_array(data)
    if kind == "jax":
        module = sys.modules["jax"].numpy
    return module.from_dlpack(data) if hasattr(module, "from_dlpack") else data


def where(device: str, *arrays: Array) -> str:
    """The device a call runs on: named, or where its first device array is, or the default."""
    on_device = next((a.device for a in arrays if a.device != "cpu"), None)
    return choose_device(device, on_device)


def limits_and_budget(device: str, memory: Memory, fft: str = "auto") -> tuple[Limits, int | None]:
    """Limits of the device and the bytes a plan may take there: ``memory``, or four fifths of what is free."""
    limits = with_fft(device_limits(device), fft)
    if memory is None:
        return limits, int(_SHARE * limits.free) if limits.free is not None else None
    if isinstance(memory, np.generic):
        memory = memory.item()
    share = "" if limits.free is None else ", or a share of free memory such as '80%'"
    fix = f"{device} does not report what is free, so a share of it is unknown" if limits.free is None else ""
    try:
        return limits, parse_bytes(memory, limits.free)
    except ValueError as error:
        raise ArgumentError("memory", repr(memory), f"bytes such as '4GB' or 4000000000{share}", fix) from error


def output(out: Any, spec: ArraySpec, like: Array, name: str = "out") -> Array:
    """The array a result goes to, as the plan sees it: ``out`` checked, or a new one where ``like`` is; see `finished`."""
    if out is None:
        data = new(spec) if like.device == "cpu" else empty_on(like.device, spec)
        return Array(data, like.kind, like.device)
    given = receive(out, name)
    check_writable(given, out, name)
    if tuple(given.data.shape) != spec.shape:
        raise ShapeError(name, f"shape {tuple(given.data.shape)}", f"{spec.shape}")
    if np.dtype(given.data.dtype).kind != "f" and np.dtype(spec.dtype).kind == "f":
        raise ShapeError(name, f"dtype {given.data.dtype}", f"a floating dtype such as {np.dtype(spec.dtype).name}")
    return given


def check_writable(given: Array, array: Any, name: str) -> None:
    """Raise where what is written to ``given`` would not be in the caller's ``array``, or must not be."""
    if given.device != "cpu":
        return
    # What is no array was copied, as a list is.
    if given.data is not array and not hasattr(array, "__dlpack__"):
        raise ArgumentError(name, kind_of(array), "an array that can be changed in place")
    if not given.data.flags.writeable:
        raise ShapeError(name, "a read-only array", "a writable one")


def finished(target: Array, out: Any) -> Any:
    """What the caller gets: his ``out``, or the new array in kind. Only when it is filled: JAX copies what it does not like."""
    return out if out is not None else give_back(target.data, target.kind)


def shared(a: Array, b: Array) -> bool:
    """Whether two host arrays have bytes in common; interleaved ones need not."""
    if not (a.device == b.device == "cpu" and np.may_share_memory(a.data, b.data)):
        return False
    try:
        return np.shares_memory(a.data, b.data, max_work=10**6)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def run(
    plan: Plan,
    backend: Backend | None,
    inputs: Sequence[Callable[[int, int], Part]],
    outputs: Sequence[Callable[[int, int], Part]],
    progress: Progress | None = None,
) -> None:
    """Bind the plan and run it once a chunk.

    Parameters
    ----------
    plan
        What to run.
    backend
        Where; None opens the plan's own device.
    inputs, outputs
        For each slot a function of ``(start, stop)``, the chunk's units, that returns what the bound plan is called with: the
        part of the caller's array, or a function that fills (takes) the plan's own buffer.
    progress
        Called with units done and units in all, after each chunk.
    """
    backend = backend or running_backend(plan.limits.device)
    ranges = plan.chunks
    total = ranges[-1][1] if ranges else 0
    with plan.bind(backend) as bound:
        for start, stop in ranges:
            bound(*(part(start, stop) for part in inputs), out=[part(start, stop) for part in outputs], size=stop - start)
            if progress is not None:
                progress(stop, total)


def whole(array: Array) -> Callable[[int, int], Part]:
    """An input or output that every chunk uses whole."""
    return lambda start, stop: array.data


def rows(array: Array) -> Callable[[int, int], Part]:
    """An input or output cut along its first axis with the chunks."""
    return lambda start, stop: array.data[start:stop]
