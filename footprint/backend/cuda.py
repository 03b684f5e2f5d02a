"""NVIDIA devices through CuPy: kernel texts by NVRTC with binaries kept on disk, plain allocations, the caller's stream."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, final

import cupy
import numpy as np
from cupy.cuda import driver, function, nvrtc, pinned_memory, runtime

from footprint.backend import nvml
from footprint.backend.base import Backend, Baked, Callers, failed
from footprint.backend.cuda_binary import binary
from footprint.backend.cuda_launch import Baking, Ready
from footprint.backend.cuda_turns import Current, address_of, in_rows, marked, rows_down, rows_up, span
from footprint.backend.fft.base import transforms
from footprint.dtypes import in_one_piece, put_into
from footprint.errors import BackendError
from footprint.kernels.common.launch import A, Launch, W
from footprint.kernels.common.load import text
from footprint.kernels.common.table import program
from footprint.spec import ArraySpec, Limits
from footprint.units import counted, format_bytes

# cudaMalloc's own alignment: slots then start where any vector load may.
_ALIGN = 256
# Of the on-chip memory a block may use the driver keeps this much.
_RESERVED = 1024
# cudaMemoryTypeHost, and cudaHostRegisterPortable: for all devices.
_PINNED, _FOR_ALL = 1, 1


class View(NamedTuple):
    """An array on the device: where it starts, and its spec."""

    ptr: int
    spec: ArraySpec


class Block(NamedTuple):
    """Device memory, one allocation; ``ptr`` 0 where nothing was asked for. It goes when ``held`` goes."""

    ptr: int
    nbytes: int
    held: Any = None


def devices() -> list[str]:
    """Every device the driver shows."""
    try:
        return [f"cuda:{i}" for i in range(runtime.getDeviceCount())]
    except runtime.CUDARuntimeError as error:
        raise BackendError("cuda", f"the driver reports: {error}", "check nvidia-smi") from None


@functools.cache
def _fixed(index: int) -> Limits:
    """What does not change while the process runs; the context's size is what starting it added to the device's use."""
    count = len(devices())
    if not 0 <= index < count:
        raise BackendError(f"cuda:{index}", f"found {counted(count, 'CUDA devices')}", "choose one of " + ", ".join(devices()))
    bus = runtime.deviceGetPCIBusId(index)
    before = nvml.used(bus)
    with cupy.cuda.Device(index):
        runtime.free(0)
        context = max(nvml.used(bus) - before, 0)
        told = runtime.getDeviceProperties(index)
    return Limits(
        device=f"cuda:{index}",
        family="gpu",
        host=False,
        align=_ALIGN,
        local_mem=int(told["sharedMemPerBlockOptin"]) or int(told["sharedMemPerBlock"]) - _RESERVED,
        group=int(told["maxThreadsPerBlock"]),
        cores=int(told["multiProcessorCount"]),
        fft="cufft",
        together=int(told["multiProcessorCount"]) if told["cooperativeLaunch"] else 0,
        # Compute capability 9 has an instruction for them; before it one of a pair takes two.
        pairs=int(told["major"]) >= 9,
        # Those of 10 and later have others; NVRTC 12 was the first that knew them.
        halves=(int(told["major"]), int(told["minor"])) == (9, 0) and nvrtc.getVersion() >= (12, 0),
        memory=int(told["totalGlobalMem"]),
        context=context,
    )


def limits(index: int = 0) -> Limits:
    """Limits of one device, with what is free now."""
    fixed = _fixed(index)
    with cupy.cuda.Device(index):
        return replace(fixed, free=int(runtime.memGetInfo()[0]))


def receive(array: Any) -> tuple[cupy.ndarray, str]:
    """Any library's device array as a CuPy array, no copy, ordered after the work that library has queued on it."""
    if isinstance(array, cupy.ndarray):
        data = array
    elif hasattr(array, "__dlpack__"):
        data = cupy.from_dlpack(array)
    else:
        data = cupy.asarray(array)
    return data, f"cuda:{data.device.id}"


def empty(index: int, spec: ArraySpec) -> cupy.ndarray:
    """A new array for a result the caller keeps, from the caller's own CuPy allocator."""
    with cupy.cuda.Device(index):
        try:
            return cupy.empty(spec.shape, spec.dtype)
        except cupy.cuda.memory.OutOfMemoryError:
            raise BackendError(f"cuda:{index}", f"no {format_bytes(spec.nbytes)} left for the result") from None


def placed(index: int, array: Any) -> cupy.ndarray:
    """A copy of a host array, by the caller's own CuPy."""
    there = empty(index, ArraySpec(array.shape, array.dtype.str))
    with cupy.cuda.Device(index):
        there.set(array)
    return there


@final
class CudaBackend(Backend):
    """Runs plans on one NVIDIA device, on CuPy's current stream."""

    in_rows = True

    def __init__(self, index: int = 0) -> None:
        self.index = index
        super().__init__()
        self.limits = limits(index)
        self.bus = runtime.deviceGetPCIBusId(index)
        self._arch = "sm_" + cupy.cuda.Device(index).compute_capability
        self._shared: dict[tuple[Any, ...], Any] = {}
        self._lanes: dict[int, Any] = {}
        self._lock = threading.Lock()

    def alloc(self, nbytes: int) -> Block:
        """One allocation where the caller's CuPy makes its own; its pool is emptied before the device is called full."""
        if nbytes == 0:
            return Block(0, 0)
        with cupy.cuda.Device(self.index):
            for last in (False, True):
                try:
                    held = cupy.cuda.alloc(nbytes)
                    return Block(held.ptr, nbytes, held)
                except (cupy.cuda.memory.OutOfMemoryError, runtime.CUDARuntimeError):
                    if not last:
                        cupy.get_default_memory_pool().free_all_blocks()
            free = int(runtime.memGetInfo()[0])
        problem = f"{format_bytes(nbytes)} were planned and {format_bytes(free)} are free now"
        raise BackendError(f"cuda:{self.index}", problem, "give a smaller memory budget, or wait for the other program")

    def free(self, block: Block) -> None:
        """It goes back to whom it came from with the last that holds it."""

    def host(self, nbytes: int) -> np.ndarray:
        """Pinned memory: transfers run at the bus's rate instead of a quarter of it."""
        try:
            held = pinned_memory.PinnedMemoryPointer(pinned_memory.PinnedMemory(nbytes), 0)
        except runtime.CUDARuntimeError:
            raise BackendError("cuda", f"the system could not provide {format_bytes(nbytes)} of pinned host memory") from None
        return np.frombuffer(held, np.uint8, nbytes)

    def reaches(self, array: np.ndarray) -> bool:
        """Pinned memory, whoever's it is, also in rows that lie apart."""
        first, nbytes = array.ctypes.data, span(array)
        return nbytes > 0 and all(runtime.pointerGetAttributes(at).type == _PINNED for at in (first, first + nbytes - 1))

    def pin(self, array: np.ndarray) -> bool:
        """The driver keeps other calls waiting meanwhile, some 25 ms for 1 GiB."""
        try:
            with cupy.cuda.Device(self.index):
                runtime.hostRegister(array.ctypes.data, array.nbytes, _FOR_ALL)
        except runtime.CUDARuntimeError:
            return False
        return True

    def unpin(self, address: int) -> None:
        """A driver that is gone has let them go."""
        with contextlib.suppress(runtime.CUDARuntimeError), cupy.cuda.Device(self.index):
            runtime.hostUnregister(address)

    def view(self, block: Block, offset: int, spec: ArraySpec) -> View:
        """An address."""
        return View(block.ptr + offset, spec)

    def adopt(self, array: cupy.ndarray, offset: int, spec: ArraySpec) -> View:
        """The address of the caller's array."""
        return View(array.data.ptr + offset, spec)

    def write(self, dst: View, src: np.ndarray) -> None:
        """Host to device, queued: pinned ``src`` must stay as it is until `sync`; other memory is staged before this returns."""
        if isinstance(src, cupy.ndarray):
            with self.inside(1):
                cupy.copyto(self._array(dst), src, casting="unsafe")
            return
        with self.inside(1) as stream:
            if in_rows(src, dst.spec):
                rows_up(dst.ptr, src, stream)
                return
            src = in_one_piece(src, dst.spec.dtype)
            runtime.memcpyAsync(dst.ptr, src.ctypes.data, src.nbytes, runtime.memcpyHostToDevice, stream)

    def read(self, dst: np.ndarray, src: View, wait: bool = True) -> None:
        """Device to host."""
        if isinstance(dst, cupy.ndarray):
            with self.inside(1):
                cupy.copyto(dst, self._array(src), casting="unsafe")
            return
        if not wait and in_rows(dst, src.spec):
            with self.inside(1) as stream:
                rows_down(dst, src.ptr, stream)
            return
        whole = dst.flags.c_contiguous and dst.dtype == np.dtype(src.spec.dtype)
        target = dst if whole else np.empty(src.spec.shape, src.spec.dtype)
        with self.inside(1) as stream:
            runtime.memcpyAsync(target.ctypes.data, src.ptr, src.spec.nbytes, runtime.memcpyDeviceToHost, stream)
            if wait or not whole:
                runtime.streamSynchronize(stream)
        if not whole:
            put_into(dst, target)

    def clear(self, dst: View) -> None:
        """Zeros, queued."""
        if dst.spec.nbytes:
            with self.inside(1) as stream:
                runtime.memsetAsync(dst.ptr, 0, dst.spec.nbytes, stream)

    def lane(self, number: int, threads: int) -> contextlib.AbstractContextManager[Any]:
        """A stream of its own, kept for the next job; made current on this device."""
        return self._on(number)

    @contextlib.contextmanager
    def _on(self, number: int) -> Iterator[None]:
        with cupy.cuda.Device(self.index):
            with self._lock:
                if number not in self._lanes:
                    self._lanes[number] = cupy.cuda.Stream(non_blocking=True)
            with self._lanes[number]:
                yield

    def mark(self) -> Any:
        """An event on the current stream."""
        with self.inside(1):
            return marked()

    def after(self, event: Any) -> None:
        """The current stream waits."""
        if event is not None:
            with self.inside(1) as stream:
                runtime.streamWaitEvent(stream, event.ptr)

    def wait(self, event: Any) -> None:
        """Wait here; who need not wait need not let another thread have the interpreter either."""
        if event is not None and not event.done:
            event.synchronize()

    def copy(self, dst: View, src: View) -> None:
        """A copy, or one pass of the kernel ``cast``."""
        if dst.spec.dtype == src.spec.dtype:
            with self.inside(1) as stream:
                runtime.memcpyAsync(dst.ptr, src.ptr, src.spec.nbytes, runtime.memcpyDeviceToDevice, stream)
            return
        self.launch(self.compile("cast", (src.spec, dst.spec), {}), (src, dst))

    def compile(self, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> list[Ready]:
        """Load the launches of one kernel; binaries are kept on disk, so a text is compiled once a machine."""
        launches = program(self.limits, kernel, specs, numbers).launches
        with cupy.cuda.Device(self.index):
            return [self._load(launch, len(specs)) for launch in launches if 0 not in launch.grid]

    def _load(self, launch: Launch, n_arrays: int) -> Ready:
        key = (launch.source, launch.entry, launch.defines, launch.local)
        found = self._shared.get(key)
        # Kernels with tables are not shared: two plans' tables would overwrite each other in the module's constant memory.
        if found is None or launch.tables:
            module = function.Module()
            module.load(binary(text(launch.source, launch.defines, "cuda"), self._arch + "a" * launch.own))
            found = (module, module.get_function(launch.entry))
            if launch.local:
                # Beyond 48 KB, static arrays included, a kernel must be allowed to.
                attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                driver.funcSetAttribute(found[1].ptr, attribute, launch.local)
            self._shared.setdefault(key, found)
        module, entry = found

        def place(a: Any) -> Any:
            return a.index if isinstance(a, A) else n_arrays + a.index if isinstance(a, W) else a

        tables = tuple((module.get_global_var(name), place(a)) for name, a in launch.tables)
        return Ready(entry, tuple(map(place, launch.args)), launch, tables)

    def launch(self, kernel: list[Ready], arrays: tuple[View, ...]) -> None:
        """Queue the launches on the current stream."""
        with self.inside(1) as stream:
            for ready in kernel:
                if (baked := ready.again(arrays)) is not None:
                    baked({}, stream)
                    continue
                for address, index in ready.tables:
                    table = arrays[index]
                    runtime.memcpyAsync(address, table.ptr, table.spec.nbytes, runtime.memcpyDeviceToDevice, stream)
                values, launch = tuple(np.uint64(arrays[a].ptr) if isinstance(a, int) else a for a in ready.args), ready.launch
                ready.entry(launch.grid, launch.group, values, launch.local, enable_cooperative_groups=launch.together)

    def bake(self, kernel: list[Ready], arrays: tuple[View, ...], callers: Callers) -> Baked:
        """Queue the launches through the driver itself, their arguments laid out once."""
        open_at = {place: (key, offset) for place, key, offset, _ in callers}
        ptrs = [None if place in open_at else view.ptr for place, view in enumerate(arrays)]
        specs = {place: spec for place, _, _, spec in callers}
        specs |= {place: view.spec for place, view in enumerate(arrays) if view is not None}
        fixed = (ptrs, open_at, specs, self._turning)
        baked = [Baking(ready.entry.ptr, ready.args, ready.launch, ready.tables, *fixed) for ready in kernel]
        if len(baked) == 1:
            return baked[0]

        def run(feeds: Mapping[int, Any], here: int) -> None:
            for one in baked:
                one(feeds, here)

        return run

    def _turning(self, address: int, key: int, spec: ArraySpec) -> Baking:
        """The launch that copies the caller's array of a key backwards to an address."""
        (ready,) = self.compile("cast", (spec, spec), {"backwards": True})
        return Baking(ready.entry.ptr, ready.args, ready.launch, (), [None, address], {0: (key, 0)}, {})

    def sender(self, dst: View) -> Callable[[np.ndarray, Any], None]:
        """The copy alone: device and stream are known by then."""
        dtype, copy, kind = np.dtype(dst.spec.dtype), runtime.memcpyAsync, runtime.memcpyHostToDevice
        ptr, nbytes = dst.ptr, dst.spec.nbytes

        def send(src: np.ndarray, here: int) -> None:
            src = in_one_piece(src, dtype)
            copy(ptr, address_of(src), nbytes, kind, here)

        return send

    def inside(self, threads: int) -> Current:
        """The current stream's handle on this device, which is current inside."""
        return Current(self.index)

    def transforms(self, limits: Limits) -> Any:
        """By cuFFT in a work area of our own, or by VkFFT."""
        return transforms(self, limits.fft)

    def sync(self) -> None:
        """Wait for the current stream."""
        with self.inside(1) as stream:
            runtime.streamSynchronize(stream)

    def rest(self) -> None:
        """Wait for the device."""
        with cupy.cuda.Device(self.index) as device:
            device.synchronize()

    def used(self) -> int:
        """What NVIDIA's own count says this process holds, or the whole device's use where it does not tell."""
        mine = nvml.used_by_process(self.bus)
        if mine is not None:
            return mine
        with cupy.cuda.Device(self.index):
            free, total = runtime.memGetInfo()
        return int(total - free)

    def _array(self, view: View) -> cupy.ndarray:
        """A view as CuPy's array, for its copies; it owns nothing."""
        held = cupy.cuda.UnownedMemory(view.ptr, view.spec.nbytes, self, self.index)
        return cupy.ndarray(view.spec.shape, view.spec.dtype, cupy.cuda.MemoryPointer(held, 0))

    def fault(self, error: BaseException) -> BackendError | None:
        """What the runtime and the driver raise; after most of them nothing of this process runs on the device any more."""
        ours = isinstance(error, runtime.CUDARuntimeError | driver.CUDADriverError)
        return failed(self.limits.device, error) if ours else None


def open_backend(index: int = 0) -> CudaBackend:
    """The backend of one device."""
    return CudaBackend(index)
