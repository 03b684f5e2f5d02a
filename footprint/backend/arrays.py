"""Arrays of the libraries that users have: one class a library, the only place above the backends' own files that names one."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from footprint.errors import warn


class Address:
    """An array of another library as a launch sees it."""

    __slots__ = ("data", "ptr")

    def __init__(self, ptr: int) -> None:
        self.ptr, self.data = ptr, self


class Backwards:
    """A device array that is to be read from its last element to its first: a copy of it, made where one is asked for.

    Parameters
    ----------
    lies
        The array as it lies, as a launch takes it.
    turn
        Makes the copy, as a launch takes it.
    """

    __slots__ = ("_made", "_turn", "lies")

    def __init__(self, lies: Any, turn: Callable[[], Any]) -> None:
        self.lies, self._turn = lies, turn
        self._made: Any = None

    @property
    def data(self) -> Any:
        """Of the copy."""
        if self._made is None:
            self._made = self._turn()
        return self._made.data


class _FlippedTensor(Address):
    """A copy of a tensor from its last element to its first, kept as long as its address."""

    __slots__ = ("_tensor",)

    def __init__(self, array: Any) -> None:
        self._tensor = array.flip(tuple(range(array.ndim)))
        super().__init__(self._tensor.data_ptr())


class ArrayKind:
    """Arrays of one library, as the door sees them; this class is any library that speaks the common protocols.

    Attributes
    ----------
    name
        The library's module.
    turns
        Whether `weights` works on its arrays.
    later
        Whether its arrays are descriptions of what is still to be computed.
    labelled
        Whether its arrays are arrays of another library, ``data``, with names and coordinates.
    seen
        Whether some of its arrays are `view`ed by a library whose calls are made again sooner.
    strided
        Whether its arrays are launched as they are, with their axes in any order.
    """

    turns = False
    later = False
    labelled = False
    seen = False
    strided = False

    def __init__(self, name: str) -> None:
        self.name = name

    def look(self, array: Any) -> Hashable | None:
        """Shape, dtype, layout and place: all that decides how a plan meets it. None where only `receive` can tell."""
        return None

    def view(self, array: Any) -> Any | None:
        """The same memory as an array of NumPy or CuPy; None where there is none, or only `receive` can tell."""
        return None

    def resolved(self, array: Any) -> Any:
        """The array itself, or a copy where its memory holds other numbers than it shows."""
        return array

    def launched(self, array: Any) -> Any:
        """The array as a launch takes it."""
        raise NotImplementedError

    def whole(self, array: Any) -> bool:
        """Whether the address of an array on a device that `look` knows says all of it, so that its axes are nothing to a plan."""
        return True

    def span(self, array: Any) -> tuple[int, int]:
        """Its first byte and the one after its last, C-contiguous."""
        start = int(array.__cuda_array_interface__["data"][0])
        return start, start + int(array.nbytes)

    def empty(self, shape: tuple[int, ...], dtype: Any, like: Any) -> Any | None:
        """A new array where ``like`` is; None where this thread would make it elsewhere. MemoryError where there is no room."""
        raise NotImplementedError

    def in_order(self, array: Any, turned: bool, dtype: str) -> Any:
        """The array, turned round along every axis if wanted; on a device C-contiguous and of this dtype, too."""
        raise NotImplementedError

    def weights(self, array: Any, turned: bool, dtype: str) -> Any | None:
        """The same of an array that `look` knows, as a launch takes it, copied if need be; None where the long way must."""
        raise NotImplementedError

    def written(self, array: Any) -> None:
        """Tell the library that the numbers of its array have changed, where it keeps account of that."""

    def back(self, data: Any) -> Any:
        """A result of a backend's own kind as this library's, no copy; as it is where the library says of no way."""
        made = getattr(sys.modules.get(self.name), "from_dlpack", None)
        return data if made is None else made(data)


class _NumPy(ArrayKind):
    turns = strided = True

    def look(self, array: Any) -> Hashable | None:
        flags = array.flags
        return array.shape, array.dtype, flags.c_contiguous, flags.writeable

    def launched(self, array: Any) -> Any:
        return array

    def span(self, array: Any) -> tuple[int, int]:
        return np.lib.array_utils.byte_bounds(array)

    def empty(self, shape: tuple[int, ...], dtype: Any, like: Any) -> Any | None:
        return np.empty(shape, dtype)

    def in_order(self, array: Any, turned: bool, dtype: str) -> Any:
        # As it lies: what has to be copied is the plan's business.
        return _turned(array) if turned else array

    def weights(self, array: Any, turned: bool, dtype: str) -> Any | None:
        return self.in_order(array, turned, dtype)

    def back(self, data: Any) -> Any:
        return data


class _CuPy(ArrayKind):
    turns = strided = True

    def look(self, array: Any) -> Hashable | None:
        return "cupy", array.shape, array.dtype, array.flags.c_contiguous, array.data.device_id

    def launched(self, array: Any) -> Any:
        return array

    def whole(self, array: Any) -> bool:
        return bool(array.flags.c_contiguous)

    def span(self, array: Any) -> tuple[int, int]:
        first = array.data.ptr
        if array.flags.c_contiguous:
            return first, first + array.nbytes
        ends = [(n - 1) * step for n, step in zip(array.shape, array.strides)] if array.size else []
        after = first + sum(end for end in ends if end > 0) + (array.dtype.itemsize if array.size else 0)
        return first + sum(end for end in ends if end < 0), after

    def empty(self, shape: tuple[int, ...], dtype: Any, like: Any) -> Any | None:
        cupy = sys.modules["cupy"]
        return cupy.empty(shape, dtype) if cupy.cuda.runtime.getDevice() == like.data.device_id else None

    def in_order(self, array: Any, turned: bool, dtype: str) -> Any:
        # In one kernel, or none.
        return (_turned(array) if turned else array).astype(dtype, order="C", copy=False)

    def weights(self, array: Any, turned: bool, dtype: str) -> Any | None:
        if turned and array.dtype is _dtype(dtype) and array.flags.c_contiguous:
            return Backwards(array, lambda: self.in_order(array, turned, dtype))
        return self.in_order(array, turned, dtype)

    def back(self, data: Any) -> Any:
        return data


class _PyTorch(ArrayKind):
    turns = seen = True

    def view(self, array: Any) -> Any | None:
        try:
            return None if array.is_cuda or array.requires_grad or array.is_conj() or array.is_neg() else array.numpy()
        except (AttributeError, RuntimeError, TypeError):
            # Of another device or layout, or numbers that NumPy lacks.
            return None

    def resolved(self, array: Any) -> Any:
        # Conjugates and what they are made of are a flag of the tensor, of which DLPack says nothing.
        for flag in ("conj", "neg"):
            if getattr(array, f"is_{flag}", bool)():
                array = getattr(array, f"resolve_{flag}")()
        return array

    def look(self, array: Any) -> Hashable | None:
        # Contiguous, of no graph, and on the stream that CuPy is on: then its address says all.
        if not (array.is_cuda and array.is_contiguous() and not array.requires_grad):
            return None
        if array.is_neg() or array.is_conj():
            return None
        cupy, index = sys.modules.get("cupy"), array.device.index
        if cupy is None or _torch_stream()(index) != cupy.cuda.get_current_stream().ptr:
            return None
        return "torch", array.shape, array.dtype, index

    def launched(self, array: Any) -> Any:
        return Address(array.data_ptr())

    def weights(self, array: Any, turned: bool, dtype: str) -> Any | None:
        if array.dtype != _torch_dtype(dtype):
            return None
        there = Address(array.data_ptr())
        return Backwards(there, lambda: _FlippedTensor(array)) if turned else there

    def span(self, array: Any) -> tuple[int, int]:
        start = array.data_ptr()
        return start, start + array.nbytes

    def empty(self, shape: tuple[int, ...], dtype: Any, like: Any) -> Any | None:
        torch = sys.modules["torch"]
        try:
            return torch.empty(shape, dtype=_torch_dtype(dtype), device=like.device)
        except torch.cuda.OutOfMemoryError as error:
            raise MemoryError(str(error)) from None

    def written(self, array: Any) -> None:
        # Autograd may have kept this very tensor for a gradient: it must see that the numbers are others now.
        tell = getattr(sys.modules["torch"].autograd.graph, "increment_version", None)
        if tell is not None:
            tell(array)


class _Jax(ArrayKind):
    seen = True

    def view(self, array: Any) -> Any | None:
        from footprint.backend.registry import device_array

        try:
            # Of an array whose memory was given away JAX's platform ends the process.
            if array.is_deleted():
                return None
            return np.from_dlpack(array) if array.platform() == "cpu" else device_array(array)[0]
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            # Traced, on several devices, or of numbers that NumPy lacks.
            return None

    def span(self, array: Any) -> tuple[int, int]:
        start = array.unsafe_buffer_pointer()
        return start, start + array.nbytes

    def back(self, data: Any) -> Any:
        made = sys.modules["jax"].numpy.from_dlpack(data)
        if made.dtype != data.dtype:
            cure = "jax.config.update('jax_enable_x64', True), or an array of NumPy"
            warn(f"the result, of {data.dtype}, was rounded to {made.dtype}, as JAX keeps no more digits; to have them give {cure}")
        return made


class _Numba(ArrayKind):
    def back(self, data: Any) -> Any:
        return sys.modules["numba.cuda"].as_cuda_array(data)


class _Dask(ArrayKind):
    later = True


class _Xarray(ArrayKind):
    labelled = True


NUMPY = _NumPy("numpy")
_OTHERS = (_CuPy("cupy"), _PyTorch("torch"), _Jax("jax"), _Numba("numba"), _Dask("dask"), _Xarray("xarray"))
_KINDS = {one.name: one for one in (NUMPY, *_OTHERS)}
# Packages of a library that go by another name.
_PACKAGES = {"jaxlib": "jax", "numba_cuda": "numba"}
# Types that are their library's array and nothing more: a subclass may be, and do, anything.
_PLAIN = {"cupy": "ndarray", "torch": "Tensor"}


def kind_called(name: str) -> ArrayKind:
    """The kind of a library's name."""
    found = _KINDS.get(name)
    return found if found is not None else ArrayKind(name)


def kind_of(array: Any) -> ArrayKind:
    """The kind of an array, by the package its type comes from."""
    return kind_of_type(type(array))  # type: ignore[arg-type]  # mypy takes metaclasses for unhashable


@functools.lru_cache(64)
def kind_of_type(kind: type) -> ArrayKind:
    """The same, of the type."""
    if issubclass(kind, np.ndarray):
        return NUMPY
    name = kind.__module__.partition(".")[0]
    return kind_called(_PACKAGES.get(name, name))


def plain_kind(array: Any) -> ArrayKind | None:
    """The kind of an array whose type is its library's own and known here; None for subclasses and all else."""
    return _plain_kind(type(array))  # type: ignore[arg-type]


@functools.lru_cache(64)
def _plain_kind(kind: type) -> ArrayKind | None:
    if kind is np.ndarray:
        return NUMPY
    name = kind.__module__
    return _KINDS[name] if _PLAIN.get(name) == kind.__name__ else None


# A look-up takes a third of the time that a name's dtype does.
_dtype = functools.lru_cache(32)(np.dtype)


@functools.lru_cache(32)
def _torch_dtype(dtype: Any) -> Any:
    """PyTorch's of NumPy's dtype: its name alone takes NumPy a while."""
    return getattr(sys.modules["torch"], np.dtype(dtype).name)


@functools.cache
def _torch_stream() -> Callable[[int], int]:
    """What tells PyTorch's current stream on a device, as a number; as an object it takes twenty times as long."""
    torch = sys.modules["torch"]
    slow: Callable[[int], int] = lambda index: int(torch.cuda.current_stream(index).cuda_stream)
    return getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", slow)


def _turned(array: Any) -> Any:
    return array[(slice(None, None, -1),) * array.ndim]
