"""OpenCL devices through PyOpenCL: the same kernel texts on any vendor's GPU, and on a CPU through PoCL.

Memory is shared virtual memory (OpenCL 2.0, coarse-grained): a view may then start at any element, where sub-buffers would
have to start at the device's alignment (512 bytes on NVIDIA), which rows of an image do not keep.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, final

import numpy as np
import pyopencl as cl

from footprint import settings
from footprint.backend.base import Backend, Baked, Callers, failed
from footprint.backend.compiling import compiling
from footprint.backend.fft.base import transforms
from footprint.backend.memory import free_host_bytes
from footprint.backend.opencl_launch import Built, Ready
from footprint.backend.opencl_pinned import Pinned
from footprint.dtypes import in_one_piece, put_into
from footprint.errors import BackendError, ShapeError
from footprint.kernels.common.launch import A, Launch, W
from footprint.kernels.common.load import text
from footprint.kernels.common.table import program
from footprint.spec import ArraySpec, Limits
from footprint.units import counted, format_bytes, kind_of

# The largest vector of the language, long16: more is refused by PoCL, and no kernel text needs it.
_ALIGN = 128
# The share of the device's memory that callers' arrays may have in buffers of their pages: one in so many.
_PINNED = 16
_SHARED_MEMORY = cl.device_svm_capabilities.COARSE_GRAIN_BUFFER
# Bytes that one command copies or sets to zero: NVIDIA's driver never ended one that set 3 GB to zero.
_AT_ONCE = 1 << 30


class View(NamedTuple):
    """An array on the device: its bytes as PyOpenCL takes them (None where there are none), and its spec."""

    memory: Any
    spec: ArraySpec


class Block(NamedTuple):
    """One allocation: the memory, and its host-side address range, which is only ever sliced and never read here."""

    memory: Any
    bytes: np.ndarray


@functools.cache
def _found() -> list[Any]:
    try:
        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as error:
        raise BackendError("opencl", f"no platform responds: {error}", "install a driver, or pocl-opencl-icd for the CPU") from None


def _device(index: int) -> Any:
    found = _found()
    if not 0 <= index < len(found):
        few = counted(len(found), "OpenCL devices")
        raise BackendError(f"opencl:{index}", f"found {few}", "choose one of " + ", ".join(devices()))
    return found[index]


def _across_a_bus(device: Any) -> bool:
    """Whether pinned memory means something: to a device that is the processor all memory is as near."""
    return not device.type & cl.device_type.CPU


def _pairs(device: Any) -> bool:
    """Whether integers of 16 bits are compared two at a time: by NVIDIA's from capability 9 on, elsewhere as vectors are."""
    try:
        return int(device.compute_capability_major_nv) >= 9
    except (cl.Error, AttributeError):
        return True


def devices() -> list[str]:
    """Every device of every platform, in the platforms' order."""
    found = [f"opencl:{i}" for i in range(len(_found()))]
    if not found:
        raise BackendError("opencl", "no OpenCL device is installed", "install a driver, or pocl-opencl-icd for the CPU")
    return found


def limits(index: int = 0) -> Limits:
    """Limits of one device. OpenCL does not tell how much memory is free, but a CPU's is the system's."""
    device = _device(index)
    return Limits(
        device=f"opencl:{index}",
        family="gpu",
        host=False,
        align=_ALIGN,
        max_block=int(device.max_mem_alloc_size),
        free=free_host_bytes() if device.type & cl.device_type.CPU else None,
        local_mem=int(device.local_mem_size),
        group=int(device.max_work_group_size),
        cores=int(device.max_compute_units),
        fft="stockham",
        memory=0 if device.type & cl.device_type.CPU else int(device.global_mem_size),
        pairs=_pairs(device),
    )


def empty(index: int, spec: ArraySpec) -> np.ndarray:
    """Results of an OpenCL run go to host memory: callers have no device arrays of this kind."""
    return np.empty(spec.shape, spec.dtype)


@final
class OpenClBackend(Backend):
    """Runs plans on one OpenCL device, on an in-order queue of its own."""

    def __init__(self, index: int = 0) -> None:
        device = _device(index)
        if not device.get_info(cl.device_info.SVM_CAPABILITIES) & _SHARED_MEMORY:
            raise BackendError(f"opencl:{index}", f"{device.name} has no shared virtual memory", "use another device")
        super().__init__()
        self.limits = limits(index)
        self.context = cl.Context([device])
        self._usual = cl.CommandQueue(self.context)
        self._current = threading.local()
        self._lanes: dict[int, Any] = {}
        self._programs: dict[tuple[Any, ...], Built] = {}
        self._lock, self._building = threading.Lock(), threading.Lock()
        self._used = 0
        self._pinned = Pinned(self.context, self._usual)

    def alloc(self, nbytes: int) -> Block:
        """One allocation, touched so that a full device says so now and not in the middle of a run."""
        if nbytes == 0:
            return Block(None, np.empty(0, np.uint8))
        try:
            flags = cl.svm_mem_flags.READ_WRITE
            memory = cl.SVMAllocation(self.context, nbytes, self.limits.align, flags, queue=self.queue)
            whole: Any = (ctypes.c_char * nbytes).from_address(memory.svm_ptr)
            block = Block(memory, np.frombuffer(whole, np.uint8))
            self._zero(block.bytes)
            self.queue.finish()
        except (cl.Error, MemoryError) as error:
            problem = f"{format_bytes(nbytes)} were planned and the device refused them ({error})"
            raise BackendError(self.limits.device, problem, "give a smaller memory budget") from None
        self._count(nbytes)
        return block

    def _zero(self, memory: np.ndarray) -> None:
        """Queue it, for bytes of the device."""
        for start in range(0, memory.nbytes, _AT_ONCE):
            cl.enqueue_svm_memfill(self.queue, cl.SVM(memory[start : start + _AT_ONCE]), np.zeros(1, np.uint8))

    def _copy(self, dst: Any, src: Any) -> Any:
        """Queue it, from and to memory as PyOpenCL takes it; the event of its end."""
        if dst.mem.nbytes <= _AT_ONCE:
            return cl.enqueue_copy(self.queue, dst, src, is_blocking=False)
        to, of = (side.mem.reshape(-1).view(np.uint8) for side in (dst, src))
        both = ((cl.SVM(to[i : i + _AT_ONCE]), cl.SVM(of[i : i + _AT_ONCE])) for i in range(0, to.nbytes, _AT_ONCE))
        return [cl.enqueue_copy(self.queue, *one, is_blocking=False) for one in both][-1]

    def free(self, block: Block) -> None:
        """Release it once the queue is done with it."""
        if block.memory is not None:
            self.queue.finish()
            block.memory.release()
            self._count(-block.bytes.nbytes)

    def _count(self, nbytes: int) -> None:
        with self._lock:
            self._used += nbytes

    def buffer(self, nbytes: int) -> Any:
        """Memory for libraries that take no shared virtual memory; views cannot be made of it."""
        try:
            memory = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes)
        except (cl.Error, MemoryError) as error:
            problem = f"{format_bytes(nbytes)} were planned and the device refused them ({error})"
            raise BackendError(self.limits.device, problem, "give a smaller memory budget") from None
        self._count(nbytes)
        return memory

    def give(self, memory: Any, nbytes: int) -> None:
        """Release what ``buffer`` gave."""
        self.queue.finish()
        memory.release()
        self._count(-nbytes)

    def host(self, nbytes: int) -> np.ndarray:
        """The driver's own host memory, mapped for good: transfers run at the bus's rate instead of a sixth of it."""
        if not nbytes or not _across_a_bus(self.context.devices[0]):
            return np.empty(nbytes, np.uint8)
        try:
            return self._pinned.new(nbytes)
        except (cl.Error, MemoryError) as error:
            problem = f"the system could not provide {format_bytes(nbytes)} of pinned host memory ({error})"
            raise BackendError(self.limits.device, problem, "give a smaller memory budget") from None

    def reaches(self, array: np.ndarray) -> bool:
        """Memory of `host`, and pinned arrays."""
        return self._pinned.reaches(array)

    def pin(self, array: np.ndarray) -> bool:
        """As a buffer that uses the array's own pages; the driver has as many bytes ready for it on the device, so not too many."""
        if not _across_a_bus(self.context.devices[0]) or self._pinned.taken + array.nbytes > self.limits.memory // _PINNED:
            return False
        return self._pinned.take(array)

    def unpin(self, address: int) -> None:
        """The buffer goes, the pages stay the array's."""
        self._pinned.let_go(address)

    def view(self, block: Block, offset: int, spec: ArraySpec) -> View:
        """A slice of the block's addresses."""
        if spec.nbytes == 0 or block.memory is None:
            return View(None, spec)
        return View(cl.SVM(block.bytes[offset : offset + spec.nbytes]), spec)

    def adopt(self, array: Any, offset: int, spec: ArraySpec) -> View:
        """Nobody's arrays lie on an OpenCL device."""
        raise ShapeError("array", f"{kind_of(array)} on a device", "an array in host memory")

    def write(self, dst: View, src: np.ndarray) -> None:
        """Host to device; only from memory that it `reaches` it goes on when this returns."""
        if dst.memory is not None:
            host = in_one_piece(src, dst.spec.dtype)
            if not host.flags.writeable:
                # PyOpenCL takes writable memory only, even to read it.
                window: Any = (ctypes.c_char * host.nbytes).from_address(host.ctypes.data)
                host = np.frombuffer(window, host.dtype)
            copied = self._copy(dst.memory, cl.SVM(host))
            if not self.reaches(host):
                copied.wait()

    def read(self, dst: np.ndarray, src: View, wait: bool = True) -> None:
        """Device to host; without ``wait`` it goes on by itself into memory that it `reaches` only."""
        if src.memory is None:
            return
        whole = dst.flags.c_contiguous and dst.dtype == np.dtype(src.spec.dtype)
        target = dst if whole else np.empty(src.spec.shape, src.spec.dtype)
        copied = self._copy(cl.SVM(target), src.memory)
        if wait or not whole or not self.reaches(target):
            copied.wait()
        if not whole:
            put_into(dst, target)

    def clear(self, dst: View) -> None:
        """Zeros."""
        if dst.memory is not None:
            self._zero(dst.memory.mem)

    def lane(self, number: int, threads: int) -> contextlib.AbstractContextManager[Any]:
        """A queue of its own, kept for the next job."""
        return self._on(number)

    @contextlib.contextmanager
    def _on(self, number: int) -> Iterator[None]:
        with self._lock:
            if number not in self._lanes:
                self._lanes[number] = cl.CommandQueue(self.context)
        self._current.queue = self._lanes[number]
        try:
            yield
        finally:
            self._current.queue = None

    @property
    def queue(self) -> Any:
        """The queue of the calling thread."""
        return getattr(self._current, "queue", None) or self._usual

    def mark(self) -> Any:
        """A marker on this thread's queue."""
        event = cl.enqueue_marker(self.queue)
        self.queue.flush()
        return event

    def after(self, event: Any) -> None:
        """The queue of the calling thread waits."""
        if event is not None:
            cl.enqueue_barrier(self.queue, wait_for=[event])

    def wait(self, event: Any) -> None:
        """Wait here."""
        if event is not None:
            event.wait()

    def copy(self, dst: View, src: View) -> None:
        """A copy, or one pass of the kernel ``cast``."""
        if dst.memory is None:
            return
        if dst.spec.dtype == src.spec.dtype:
            self._copy(dst.memory, src.memory)
        else:
            self.launch(self.compile("cast", (src.spec, dst.spec), {}), (src, dst))

    def compile(self, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> list[Ready]:
        """Build the launches of one kernel; PyOpenCL keeps binaries in our cache folder."""
        launches = program(self.limits, kernel, specs, numbers).launches
        return [self._build(launch, len(specs)) for launch in launches if 0 not in launch.grid]

    def _build(self, launch: Launch, n_arrays: int) -> Ready:
        key = (launch.source, launch.defines)
        with self._building:
            if key not in self._programs:
                self._programs[key] = Built(self._compiled(launch))
            built = self._programs[key]

        def place(a: Any) -> Any:
            return a.index if isinstance(a, A) else n_arrays + a.index if isinstance(a, W) else a

        tables = (place(array) for _, array in launch.tables)
        return Ready(built, (*tables, *map(place, launch.args)), launch)

    def _compiled(self, launch: Launch) -> Any:
        """A program, built; PyOpenCL finds what it has built before in the folder."""
        folder = settings.cache_dir() / "opencl"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        source = cl.Program(self.context, text(launch.source, launch.defines, "opencl"))
        kept: Any = str(folder) if folder.is_dir() else False
        try:
            with compiling(), warnings.catch_warnings():
                # NVIDIA's compiler reports its registers as if that were a complaint
                warnings.simplefilter("ignore", cl.CompilerWarning)
                return source.build(["-cl-std=CL1.2", "-w"], cache_dir=kept)
        except cl.RuntimeError as error:
            problem = f"a kernel text does not compile:\n{error}"
            raise BackendError(self.limits.device, problem, "please report this") from None

    def launch(self, kernel: list[Ready], arrays: tuple[View, ...]) -> None:
        """Queue the launches."""
        queue = self.queue
        for ready in kernel:
            ready.queue(queue, arrays)

    def bake(self, kernel: list[Ready], arrays: tuple[View, ...], callers: Callers) -> Baked:
        """Queue the launches; nobody's arrays lie on an OpenCL device, so all is fixed but the queue."""

        def run(feeds: Mapping[int, Any], here: Any) -> None:
            for ready in kernel:
                ready.queue(here, arrays)

        return run

    def sender(self, dst: View) -> Callable[[np.ndarray, Any], None]:
        """The plain copy."""
        return lambda src, here: self.write(dst, src)

    def inside(self, threads: int) -> contextlib.AbstractContextManager[Any]:
        """The queue."""
        return contextlib.nullcontext(self.queue)

    def transforms(self, limits: Limits) -> Any:
        """By our own kernels, or by VkFFT."""
        return transforms(self, limits.fft)

    def sync(self) -> None:
        """Wait for the queue."""
        self.queue.finish()

    def rest(self) -> None:
        """Wait for every queue."""
        for queue in (self._usual, *self._lanes.values()):
            queue.finish()

    def used(self) -> int:
        """What this backend has allocated: OpenCL has no count of the device's."""
        return self._used

    def fault(self, error: BaseException) -> BackendError | None:
        """What PyOpenCL raises."""
        return failed(self.limits.device, error) if isinstance(error, cl.Error) else None


def open_backend(index: int = 0) -> OpenClBackend:
    """The backend of one device."""
    return OpenClBackend(index)
