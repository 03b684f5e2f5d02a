"""What the caller gave and gets: arrays of any library seen alike, where a call runs, what it may take."""

from __future__ import annotations

import operator
import os
import re
from array import array as buffer
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from footprint.api._units import is_masked_array, refuse_masked, refuse_more, refuse_within
from footprint.backend.arrays import kind_called
from footprint.backend.arrays import kind_of as array_kind
from footprint.backend.device import Device, parse
from footprint.backend.fft.base import with_fft
from footprint.backend.overlap import one_memory, shared_memory
from footprint.backend.registry import choose_device, device_array, device_limits, empty_on
from footprint.dtypes import ACCEPTED, COMPLEX, numpys
from footprint.errors import ArgumentError, ShapeError
from footprint.plan.ready import READY, SHARE, with_room
from footprint.plan.results import RESULTS
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits
from footprint.units import format_bytes, kind_of, parse_bytes

Memory = str | int | float | None
Progress = Callable[[int, int], None]


# What NumPy makes arrays of that does not say so by an attribute; Pillow's images do by one of their own.
_LIKE_ARRAYS = (list, tuple, int, float, memoryview, buffer)
# What functions take of a file that take no open image.
_MAPPED = 'numpy.load("FILE.npy", mmap_mode="r")'
# Letters of what is shown as it was given.
_LONG = 80


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
    order
        The caller's axes in the order in which ``data`` has them; None where that is their own.
    """

    data: Any
    kind: str
    device: str
    order: tuple[int, ...] | None = None

    @cached_property
    def spec(self) -> ArraySpec:
        """Shape and dtype."""
        return ArraySpec(tuple(self.data.shape), self.data.dtype.str)

    @property
    def direct(self) -> bool:
        """Whether kernels of its own space can use it where it lies."""
        return bool(self.data.flags.c_contiguous) and (self.device != "cpu" or self.data.dtype.isnative)

    @property
    def given(self) -> Given:
        """How a plan meets it."""
        return Given("host" if self.device == "cpu" else "device", self.direct, order=self.order)


def receive(array: Any, name: str, kinds: str = ACCEPTED) -> Array:
    """See an argument as an array without a copy, from NumPy, CuPy, PyTorch, JAX or Numba; lists are copied."""
    library = array_kind(array)
    if library.later:
        fix = f"give its .compute(); if that does not fit into memory, write it to a file and give {_MAPPED}"
        raise ArgumentError(name, f"{kind_of(array)} of {library.name}, which is still to be computed", "an array in memory", fix)
    if library.labelled:
        if not hasattr(array, "data"):
            raise ArgumentError(
                name, f"{kind_of(array)} of {library.name}", "one array", 'give one of its variables, as dataset["name"]'
            )
        return receive(array.data, name, kinds)
    kind, device, array = library.name, "cpu", library.resolved(array)
    if type(array) is not np.ndarray:
        refuse_masked(array, name)
        refuse_more(array, name)
    if isinstance(array, np.ndarray):
        # A matrix stays one however it is indexed, and no kernel takes a masked array, even one that has nothing masked.
        data: Any = np.asarray(array) if isinstance(array, np.matrix) or is_masked_array(array) else array
        kind = "numpy"
    elif (name_of := _numpys_lack(array)) and hasattr(array, "__dlpack__"):
        raise ArgumentError(
            name, f"{kind_of(array)} of {name_of}, which NumPy lacks", "an array of plain numbers", _wider(array, name_of)
        )
    elif hasattr(array, "__cuda_array_interface__"):
        data, device = device_array(array)
    elif hasattr(array, "__dlpack__"):
        try:
            data = np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError) as error:
            # Tensors with a gradient, numbers that NumPy does not have, memory it cannot reach; arrays of JAX while it traces.
            got = f"{kind_of(array)} that is not handed over ({_line(error)})"
            raise ArgumentError(name, got, "an array of plain numbers in the host's memory") from error
    elif hasattr(array, "host_bytes"):
        # NumPy would read all of an open file, which no plan counts.
        raise ArgumentError(name, kind_of(array), "an array", _as_array(array))
    elif hasattr(array, "__array__") or hasattr(array, "__array_interface__") or isinstance(array, _LIKE_ARRAYS):
        if isinstance(array, list | tuple):
            refuse_within(array, name)
        try:
            data, kind = np.asarray(array), "numpy"
        except ValueError:
            raise ShapeError(name, f"{kind_of(array)} of uneven rows", "an array") from None
        except RuntimeError:
            # What a sparse array answers.
            raise ArgumentError(name, kind_of(array), "an array", _as_array(array)) from None
        except TypeError as error:
            # What JAX's keys answer, and lists of what is no number.
            said, _, fix = _line(error).partition(". ")
            fix = fix[:1].lower() + fix[1:]
            raise ArgumentError(name, f"{kind_of(array)} of which NumPy makes no array ({said})", "numbers", fix) from None
    elif isinstance(array, str | os.PathLike):
        fix = "footprint.open_image(...).array() reads one; find_sources and the like also take the open image itself"
        if name == "out":
            fix = "save the result, or if the function writes to files, as reconstruct does, give footprint.create_volume(...)"
        elif name == "mask":
            fix = "call the function as footprint's, which opens masks by name"
        raise ArgumentError(name, f"the name {os.fspath(array)!r}", "an array", fix)
    else:
        raise ArgumentError(name, kind_of(array), "an array", _as_array(array))
    if data.dtype.kind not in kinds:
        fix = {"c": "give .real and .imag one after the other", "V": _wider(data, data.dtype.name)}.get(data.dtype.kind, "")
        raise ShapeError(name, f"dtype {data.dtype}", f"{'' if 'c' in kinds else 'real '}numbers: float, integer or bool", fix)
    return Array(data, kind, device)


def _line(error: Exception) -> str:
    """What a library's error says first."""
    return str(error).strip().partition("\n")[0].rstrip(".")


def _numpys_lack(array: Any) -> str:
    """What an array's dtype is called where NumPy has no such numbers, as bfloat16; else empty, also for other words."""
    kind = getattr(array, "dtype", None)
    # Libraries have dtypes of all sorts; their last word is the number's.
    name = kind.name if isinstance(kind, np.dtype) else str(kind).rpartition(".")[2]
    if not re.fullmatch(r"(bfloat|float|complex|u?int)\d\w*", name):
        return ""
    try:
        numpys(name)
    except TypeError:
        return name
    return ""


def _wider(array: Any, name: str) -> str:
    """What makes numbers that NumPy has of those of a dtype that it lacks; empty where they are none."""
    wide = next((wide for part, wide in (("complex", "complex64"), ("float", "float32"), ("int", "int8")) if part in name), "")
    if hasattr(array, "float"):
        return f"give its .{ {'complex64': 'cfloat', 'int8': 'char'}.get(wide, 'float') }()" if wide else ""
    return f'give its .astype("{wide}")' if wide else ""


def _as_array(thing: Any) -> str:
    """What makes an array of a thing; the ``data`` of a sparse one are only those that are not 0."""
    words = ("toarray()", "todense()", "data", "array()")
    found = next((word for word in words if callable(getattr(thing, word[:-2], None)) or hasattr(thing, word)), "")
    mapped = f", or {_MAPPED}" if found and hasattr(thing, "host_bytes") else ""
    return f"give its .{found}{mapped}" if found else ""


def described(
    shape: Any, dtype: Any, name: str = "shape", kinds: str = ACCEPTED, of_dtype: str = "dtype"
) -> tuple[ArraySpec, Given]:
    """Spec of an array of which only the numbers are known, and how a plan meets it: C-contiguous on the host.

    ``name`` and ``of_dtype`` are the arguments that they come from.
    """
    try:
        if isinstance(shape, bytes | dict | set) or getattr(shape, "ndim", 1) != 1:
            # Python would find whole numbers in these, too: a table's are the names of its columns.
            raise TypeError
        lengths = tuple(operator.index(n) for n in shape)
    except TypeError:
        way = _way_to_shape(shape)
        # What is an array may have nothing left to show.
        got = kind_of(shape) if way or len(repr(shape)) > _LONG else repr(shape)
        raise ArgumentError(name, got, "a tuple of whole numbers such as (512, 512)", way) from None
    if min(lengths, default=0) < 0:
        raise ShapeError(name, lengths, "lengths of 0 or more")
    try:
        kind = numpys(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if kind.kind not in kinds:
        wanted = f"a dtype of {'' if 'c' in kinds else 'real '}numbers, such as 'float32' or 'uint16'"
        raise ShapeError(of_dtype, repr(dtype), wanted)
    return ArraySpec(lengths, kind.str), Given("host", kind.isnative)


def _way_to_shape(thing: Any) -> str:
    """What of a thing is a shape: of an array, of what holds one, as an NDData does, or of one of a list of HDUs."""
    if hasattr(thing, "shape"):
        return "give its .shape"
    if hasattr(getattr(thing, "data", None), "shape"):
        return "give its .data.shape"
    return "give hdus[0].shape" if type(thing).__name__ == "HDUList" else ""


def where(device: str | Sequence[str], *arrays: Array) -> Device:
    """The device a call runs on, or several: named, or where its first device array is, or the default."""
    on_device = next((a.device for a in arrays if a.device != "cpu"), None)
    return choose_device(device, on_device)


def limits_and_budget(device: str, memory: Memory, fft: str = "auto") -> tuple[Limits, int | None]:
    """Limits of the device and the bytes a plan may take there: ``memory``, or four fifths of what is free."""
    limits = replace(with_fft(device_limits(device), fft), devices=len(parse(device).each))
    if limits.free is not None:
        # What is kept for later calls is given up where this one needs it.
        limits = replace(limits, free=limits.free + READY.kept(limits.device))
    if memory is None:
        return limits, int(SHARE * limits.free) if limits.free is not None else None
    if isinstance(memory, np.generic):
        memory = memory.item()
    share = "" if limits.free is None else ", or a share of free memory such as '80%'"
    fix = f"{device} does not report what is free, so a share of it has no meaning" if limits.free is None else ""
    try:
        return limits, parse_bytes(memory, limits.free)
    except ValueError as error:
        raise ArgumentError("memory", repr(memory), f"bytes such as '4GB' or 4000000000{share}", fix) from error


def output(out: Any, spec: ArraySpec, like: Array, name: str = "out") -> Array:
    """The array a result goes to, as the plan sees it: ``out`` checked, or a new one where ``like`` is; see `finished`."""
    if out is None:
        data = new(spec) if like.device == "cpu" else with_room(lambda: empty_on(like.device, spec))
        return Array(data, like.kind, like.device)
    given = receive(out, name, COMPLEX)
    check_writable(given, out, name)
    if tuple(given.data.shape) != spec.shape:
        raise ShapeError(name, f"shape {tuple(given.data.shape)}", f"{spec.shape}")
    kind, wanted = np.dtype(given.data.dtype).kind, np.dtype(spec.dtype).kind
    if kind != wanted and (wanted in "fc" or kind == "c"):
        sort = {"f": "floating ", "c": "complex "}.get(wanted, "")
        fix = "round the result, for example with numpy.rint, if you want whole numbers" if wanted == "f" and kind in "iub" else ""
        raise ShapeError(name, f"dtype {given.data.dtype}", f"a {sort}dtype such as {np.dtype(spec.dtype).name}", fix)
    return given


def new(spec: ArraySpec, name: str = "result") -> np.ndarray:
    """A new array on the host; ShapeError where the system has no room for one of that size."""
    try:
        return with_room(lambda: RESULTS.new(spec.shape, spec.dtype))
    except (MemoryError, ValueError, OverflowError) as error:
        raise too_large(name, spec) from error


def too_large(name: str, spec: ArraySpec) -> ShapeError:
    """The error for an array that the system has no room for."""
    return ShapeError(
        name, f"{spec}, {format_bytes(spec.nbytes)}", "one that fits into the memory of this machine", "reduce the job"
    )


def on_host(array: Any) -> Any:
    """An array as it is, or a copy of one on a device."""
    if not hasattr(array, "__cuda_array_interface__"):
        return array
    return array.get() if hasattr(array, "get") else device_array(array)[0].get()


def check_writable(given: Array, array: Any, name: str) -> None:
    """Raise where what is written to ``given`` would not be in the caller's ``array``, or must not be."""
    if array_kind(array).resolved(array) is not array:
        raise ArgumentError(name, f"{kind_of(array)} that shows other numbers than its memory holds", "a new one, or a plain view")
    # What is no array was copied, as a list is.
    if given.device == "cpu" and given.data is not array and not hasattr(array, "__dlpack__"):
        raise ArgumentError(name, kind_of(array), "an array that can be changed in place")
    if given.device == "cpu" and not given.data.flags.writeable:
        raise ShapeError(name, "a read-only array", "a writable one")
    data = given.data
    # NumPy gives an array without elements strides of 0.
    if 0 in data.strides and data.size and any(n > 1 and not step for n, step in zip(data.shape, data.strides)):
        raise ShapeError(name, "a view that repeats its elements (a stride of 0)", "an array with memory for every element")


def finished(target: Array, out: Any) -> Any:
    """What the caller gets: his ``out``, or the new array in kind. Only when it is filled: JAX copies what it does not like."""
    return kind_called(target.kind).back(target.data) if out is None else written(out)


def written(out: Any) -> Any:
    """The caller's array, whose library is told that its numbers are others now."""
    if type(out) is not np.ndarray:
        array_kind(out).written(out)
    return out


def shared(a: Array, b: Array) -> bool:
    """Whether two arrays have bytes in common."""
    return a.device == b.device and shared_memory(a.data, b.data)


def same_memory(a: Array, b: Array) -> bool:
    """Whether two arrays are one: the same bytes, seen the same way."""
    return a.device == b.device and one_memory(a.data, b.data)
