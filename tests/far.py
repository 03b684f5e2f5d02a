"""A device that is none: CuPy's and PyTorch's arrays as far as Footprint sees them, in host memory, and the CPU to run on them.

What a call does with arrays of other libraries is thereby tested where there is no GPU: the second call, ``out=``, memory that is
short. Kernels are the CPU's; host arrays cross to this device and back as they do to a GPU.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from footprint.backend import cpu, registry
from footprint.backend.cpu import CpuBackend
from footprint.errors import BackendError
from footprint.plan.ready import READY
from footprint.spec import ArraySpec, Limits

# Bytes for results while so much is set; None is no bound.
ROOM: list[Any] = [None]
# Where the tensors lay whose numbers PyTorch was told to be others now.
WRITTEN: list[int] = []


class _Base:
    """Bytes that NumPy holds and nobody may know it."""

    def __init__(self, host: np.ndarray) -> None:
        self._host = host
        self.shape, self.ndim, self.nbytes = host.shape, host.ndim, host.nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._host.__array_interface__

    def __getitem__(self, at: Any) -> Any:
        return type(self)(self._host[at])

    def reshape(self, *shape: Any) -> Any:
        return type(self)(self._host.reshape(*shape))

    def __array__(self, *how: Any) -> None:
        raise TypeError("an array of a device is not converted by itself")


class ndarray(_Base):
    """CuPy's, of that name."""

    def __init__(self, host: np.ndarray) -> None:
        super().__init__(host)
        self.dtype, self.flags, self.strides, self.size = host.dtype, host.flags, host.strides, host.size
        self.data = SimpleNamespace(ptr=host.__array_interface__["data"][0], device_id=0)
        self.device = SimpleNamespace(id=0)

    def get(self) -> np.ndarray:
        return self._host.copy()

    def transpose(self, order: Any) -> ndarray:
        return ndarray(self._host.transpose(order))

    def view(self, dtype: Any) -> ndarray:
        return ndarray(self._host.view(dtype))

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> ndarray:
        return ndarray(self._host.astype(dtype, order, copy=copy))

    def __ne__(self, other: object) -> Any:
        return ndarray(self._host != other)

    __hash__ = None  # type: ignore[assignment]


class Tensor(_Base):
    """PyTorch's: ``data`` is a tensor, and where it lies ``data_ptr`` says."""

    is_cuda, requires_grad, device = True, False, SimpleNamespace(index=0)

    @property
    def dtype(self) -> str:
        return f"torch.{self._host.dtype.name}"

    @property
    def data(self) -> Tensor:
        return Tensor(self._host)

    def is_neg(self) -> bool:
        return False

    is_conj = is_neg

    def data_ptr(self) -> int:
        return int(self._host.__array_interface__["data"][0])

    def is_contiguous(self) -> bool:
        return bool(self._host.flags.c_contiguous)

    def __dlpack__(self, *how: Any) -> None:
        raise NotImplementedError


ndarray.__module__, Tensor.__module__ = "cupy", "torch"


class FarBackend(CpuBackend):  # type: ignore[misc]  # final for users; the tests look inside
    """The CPU behind a bus, by which it reaches what is ``pinned``: bytes by address; ``most`` at once, all of them in ``ever``."""

    in_rows = True

    def __init__(self) -> None:
        super().__init__()
        self.limits = limits()
        self.pinned: dict[int, int] = {}
        self.ever: list[int] = []
        self.most = 1 << 40

    def reaches(self, array: np.ndarray) -> bool:
        first, end = np.lib.array_utils.byte_bounds(array)
        return any(start <= first and end <= start + nbytes for start, nbytes in self.pinned.items())

    def pin(self, array: np.ndarray) -> bool:
        if sum(self.pinned.values()) + array.nbytes > self.most:
            return False
        self.pinned[array.ctypes.data] = array.nbytes
        self.ever.append(array.ctypes.data)
        return True

    def unpin(self, address: int) -> None:
        del self.pinned[address]

    def write(self, dst: Any, src: Any) -> None:
        """From the host, or from an array of the device in its strides."""
        src = getattr(src, "_host", src)
        super().write(dst.reshape(src.shape), src)

    def read(self, dst: Any, src: Any, wait: bool = True) -> None:
        """The other way."""
        dst = getattr(dst, "_host", dst)
        super().read(dst, src.reshape(dst.shape), wait)

    def adopt(self, array: Any, offset: int, spec: ArraySpec) -> np.ndarray:
        """By its address, as a GPU's driver would."""
        window = (ctypes.c_char * spec.nbytes).from_address(array.data.ptr + offset)
        return np.ndarray(spec.shape, spec.dtype, memoryview(window))


# -- a backend's module ----------------------------------------------------------------------------------------------------
def limits(index: int = 0) -> Limits:
    return replace(cpu.limits(), device="cuda:0", host=False, free=1 << 30)


def devices() -> list[str]:
    return ["cuda:0"]


def open_backend(index: int = 0) -> FarBackend:
    return FarBackend()


def receive(array: Any) -> tuple[ndarray, str]:
    return ndarray(array._host), "cuda:0"


def empty(index: int, spec: ArraySpec) -> ndarray:
    try:
        return _empty(spec.shape, spec.dtype)
    except MemoryError:
        raise BackendError("cuda:0", "no room for the result") from None


def _empty(shape: Any, dtype: Any) -> ndarray:
    if ROOM[0] is not None and not ROOM[0]():
        raise MemoryError
    return ndarray(np.empty(shape, dtype))


@contextmanager
def far_device() -> Iterator[None]:
    """``cuda`` is this device, and CuPy and PyTorch are these."""
    cupy, torch = ModuleType("cupy"), ModuleType("torch")
    here = SimpleNamespace(ptr=0, cuda_stream=0)
    cupy.__spec__, torch.__spec__ = ModuleSpec("cupy", None), ModuleSpec("torch", None)
    cupy.__dict__.update(ndarray=ndarray, empty=_empty)
    cupy.cuda = SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 0), get_current_stream=lambda: here)  # type: ignore[attr-defined]
    torch.__dict__.update(Tensor=Tensor, from_dlpack=lambda array: Tensor(array._host))
    torch.__dict__.update({name: name for name in ("float32", "float64", "int32", "bool")})
    torch.empty = lambda shape, dtype, device: Tensor(_empty(shape, dtype)._host)  # type: ignore[attr-defined]
    graph = SimpleNamespace(increment_version=lambda tensor: WRITTEN.append(tensor.data_ptr()))
    torch.autograd = SimpleNamespace(graph=graph)  # type: ignore[attr-defined]
    torch.cuda = SimpleNamespace(current_stream=lambda device: here, OutOfMemoryError=MemoryError)  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in ("cupy", "torch")}
    usual = registry._KINDS["cuda"]
    caches = {name: getattr(registry, name) for name in ("_kind", "_open", "_cuda_is_here")}
    READY.clear()
    try:
        sys.modules.update(cupy=cupy, torch=torch)
        registry._KINDS["cuda"] = (__name__, "", "")
        for name, cached in caches.items():
            setattr(registry, name, lru_cache(cached.__wrapped__))
        yield
    finally:
        READY.clear()
        ROOM[0] = None
        registry._KINDS["cuda"] = usual
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
        for name, cached in caches.items():
            setattr(registry, name, cached)
