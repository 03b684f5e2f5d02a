"""What every backend does, and nothing more; one file implements it for one kind of device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

import numpy as np

from footprint.backend.process import OPENED
from footprint.errors import BackendError
from footprint.spec import ArraySpec, Limits

# A device array is whatever the backend's own views are: an ndarray, a CuPy array, a cl.Buffer with an offset.
Array = Any
Block = Any
Kernel = Any
Callers = tuple[tuple[int, int, int, ArraySpec], ...]
Baked = Callable[[Mapping[int, Any], Any], None]


class Transforms(Protocol):
    """Row transforms of one bound plan, with handles and a work area that no other plan has."""

    def prepare(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> Any:
        """Take now what transforms of these specs will need, so that a run allocates nothing."""
        ...

    def __call__(self, src: Array, dst: Array, inverse: bool, scaled: bool = True) -> None:
        """Real to half-complex over the last axis, or back, or complex to complex; a short source counts as zero-padded.

        Backwards there is a factor of 1/n where ``scaled``.
        """
        ...

    def release(self) -> None:
        """Give all of it back; to be called when nothing queued uses it."""
        ...


class Backend(ABC):
    """One device. Every concrete class is final; none overrides another.

    One process has one backend a device, and plans of several threads meet in it: whatever it keeps is for all of them or locked,
    and what a run writes to belongs to the plan that is run.

    Attributes
    ----------
    limits
        What the device allows.
    in_rows
        Whether rows of pinned memory that lie apart cross in one transfer.
    """

    limits: Limits
    in_rows: ClassVar[bool] = False

    def __init__(self) -> None:
        OPENED.append(True)

    @abstractmethod
    def alloc(self, nbytes: int) -> Block:
        """One block of exactly ``nbytes``; BackendError, with nothing left allocated, when the device has no more."""

    @abstractmethod
    def free(self, block: Block) -> None:
        """Give a block back."""

    @abstractmethod
    def host(self, nbytes: int) -> np.ndarray:
        """Bytes of host memory as uint8 that transfers to this device are fastest from (pinned, where that means something)."""

    @abstractmethod
    def reaches(self, array: np.ndarray) -> bool:
        """Whether transfers come and go by themselves where an array lies, as where `host` put it: it needs no copy on the way."""

    @abstractmethod
    def pin(self, array: np.ndarray) -> bool:
        """Keep an array's pages where they are, so that this device `reaches` all of it until `unpin`; False where it cannot be."""

    @abstractmethod
    def unpin(self, address: int) -> None:
        """Let the pages of the array at this address go; no transfer of them is under way."""

    @abstractmethod
    def view(self, block: Block, offset: int, spec: ArraySpec) -> Array:
        """An array of ``spec`` that starts ``offset`` bytes into ``block``."""

    @abstractmethod
    def adopt(self, array: Any, offset: int, spec: ArraySpec) -> Array:
        """The caller's own array as kernels see it, from ``offset`` bytes on; no copy."""

    @abstractmethod
    def write(self, dst: Array, src: np.ndarray) -> None:
        """Host to device, or a casting copy between host arrays; ``src`` must stay as it is until `sync`.

        Rows that lie apart go to a device in one transfer where it `reaches` them.

        On a device ``src`` may also be an array there, in any strides: a casting copy, queued.
        """

    @abstractmethod
    def read(self, dst: np.ndarray, src: Array, wait: bool = True) -> None:
        """Device to host; done when it returns, or without ``wait`` (contiguous ``dst`` of the same dtype) when `mark` says so.

        ``dst`` may also be an array of the device, in any strides: a casting copy, queued.
        """

    @abstractmethod
    def clear(self, dst: Array) -> None:
        """Fill with zero bytes."""

    @abstractmethod
    def lane(self, number: int, threads: int) -> AbstractContextManager[Any]:
        """`inside` for a thread whose work goes to a queue of its own, beside those of other numbers."""

    @abstractmethod
    def mark(self) -> Any:
        """An event that happens when all that this thread's queue holds now has ended; None where calls end at once."""

    @abstractmethod
    def after(self, event: Any) -> None:
        """What this thread starts from now on waits for an event, on the device."""

    @abstractmethod
    def wait(self, event: Any) -> None:
        """Wait here for an event."""

    @abstractmethod
    def copy(self, dst: Array, src: Array) -> None:
        """Device to device, casting."""

    @abstractmethod
    def compile(self, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> Kernel:
        """Make a kernel ready for arrays of these specs; ``specs`` leaves out the workspace."""

    @abstractmethod
    def launch(self, kernel: Kernel, arrays: tuple[Array, ...]) -> None:
        """Start a compiled kernel on arrays and their workspace."""

    @abstractmethod
    def bake(self, kernel: Kernel, arrays: tuple[Array, ...], callers: Callers) -> Baked:
        """A launch of which only the caller's arrays are open, for calls that come again and again.

        ``arrays`` has None where ``callers`` says ``(place, key, offset, spec)``; the result is called with those arrays by key,
        and with what `here` gives.
        """

    @abstractmethod
    def sender(self, dst: Array) -> Callable[[np.ndarray, Any], None]:
        """A `write` of which only the source is open, so small that the driver takes it along; called with it and `here`."""

    @abstractmethod
    def inside(self, threads: int) -> AbstractContextManager[Any]:
        """Around a job: the calling thread has this device and kernels so many threads; afterwards both are as the caller had them.

        Yields what baked launches need to know of the calling thread: its queue; None where there are none.
        """

    @abstractmethod
    def transforms(self, limits: Limits) -> Transforms:
        """Row transforms for one bound plan, by the library and with the threads that its limits name."""

    @abstractmethod
    def sync(self) -> None:
        """Wait until all that was started has ended."""

    @abstractmethod
    def rest(self) -> None:
        """Wait until every queue of this device is empty: before memory that a stopped job may still use is given back."""

    @abstractmethod
    def used(self) -> int:
        """Bytes of this device's memory the process holds now."""

    @abstractmethod
    def fault(self, error: BaseException) -> BackendError | None:
        """An error of the device's driver during a run, in words for the user; None for any other error."""


def failed(device: str, error: BaseException) -> BackendError:
    """What `fault` returns: a device that fell off the bus, ran into an error of its own, or was taken away."""
    said = str(error).strip().split("\n")[0][:200]
    fix = "start the job again, on another device if this one is lost; with --resume (resume=True) it continues where it was"
    problem = BackendError(device, f"failed during a run ({said})", fix)
    # It is handed from a lane's thread to the caller's before it is raised.
    problem.__cause__ = error
    return problem
