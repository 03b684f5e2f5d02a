"""A device that allocates and runs nothing: it plans on a laptop for a machine that is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

import numpy as np

from footprint import settings
from footprint.backend.base import Backend, Baked, Callers
from footprint.errors import ArgumentError, BackendError
from footprint.spec import ArraySpec, Limits

# What a plan needs to know of a device that is not here; free is what an idle one offers.
PROFILES = {
    "": Limits(device="null", threads=settings.threads()),
    "h100": Limits("null:h100", "gpu", False, 256, 1 << 62, 79 << 30, 1, 232448, 1024, 132, "cufft", pairs=True, halves=True),
    "a100": Limits("null:a100", "gpu", False, 256, 1 << 62, 79 << 30, 1, 166912, 1024, 108, "cufft"),
    "rtx4090": Limits("null:rtx4090", "gpu", False, 256, 1 << 62, 23 << 30, 1, 101376, 1024, 128, "cufft"),
}


def limits(profile: str = "") -> Limits:
    """Limits of a named profile."""
    if profile not in PROFILES:
        raise ArgumentError("device", repr(f"null:{profile}"), "null, " + ", ".join(f"null:{p}" for p in PROFILES if p))
    return PROFILES[profile]


def devices() -> list[str]:
    """Every profile that can be planned for."""
    return [p.device for p in PROFILES.values()]


class _Transforms:
    def __init__(self, backend: NullBackend) -> None:
        self._backend = backend

    def prepare(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> None:
        """Nothing to prepare."""

    def __call__(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> None:
        """Note that one was asked for."""
        self._backend.launched.append("ifft" if inverse else "fft")

    def release(self) -> None:
        """Nothing to give back."""


@final
class NullBackend(Backend):
    """Counts what it is asked for."""

    def __init__(self, profile: str = "") -> None:
        super().__init__()
        self.limits = limits(profile)
        self.allocated = 0
        self.hosted = 0
        self.launched: list[str] = []

    def alloc(self, nbytes: int) -> int:
        """Count the bytes."""
        self.allocated += nbytes
        return nbytes

    def free(self, block: int) -> None:
        """Take the bytes off the count."""
        self.allocated -= block

    def host(self, nbytes: int) -> np.ndarray:
        """Count the bytes; untouched, they cost nothing."""
        self.hosted += nbytes
        return np.empty(nbytes, np.uint8)

    def reaches(self, array: np.ndarray) -> bool:
        """Nothing moves."""
        return False

    def pin(self, array: np.ndarray) -> bool:
        """Nothing moves."""
        return False

    def unpin(self, address: int) -> None:
        """Nothing is pinned."""

    def view(self, block: int, offset: int, spec: ArraySpec) -> ArraySpec:
        """Check that the view lies inside."""
        if offset + spec.nbytes > block:
            raise AssertionError(f"a view of {spec} at {offset} leaves its block of {block} bytes")
        return spec

    def adopt(self, array: Any, offset: int, spec: ArraySpec) -> ArraySpec:
        """Nothing to adopt."""
        return spec

    def write(self, dst: ArraySpec, src: np.ndarray) -> None:
        """Nothing moves."""

    def read(self, dst: np.ndarray, src: ArraySpec, wait: bool = True) -> None:
        """Nothing moves, and flags read as set: passes end."""
        dst.fill(1)

    def clear(self, dst: ArraySpec) -> None:
        """Nothing to clear."""

    def lane(self, number: int, threads: int) -> AbstractContextManager[Any]:
        """No queues."""
        return nullcontext()

    def mark(self) -> None:
        """Nothing to wait for."""

    def after(self, event: Any) -> None:
        """Nothing to wait for."""

    def wait(self, event: Any) -> None:
        """Nothing to wait for."""

    def copy(self, dst: ArraySpec, src: ArraySpec) -> None:
        """Nothing moves."""

    def compile(self, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> str:
        """The name stands for the kernel."""
        return kernel

    def launch(self, kernel: str, arrays: tuple[ArraySpec, ...]) -> None:
        """Note the name."""
        self.launched.append(kernel)

    def bake(self, kernel: str, arrays: tuple[ArraySpec, ...], callers: Callers) -> Baked:
        """Note the name at every call."""
        return lambda feeds, here: self.launched.append(kernel)

    def sender(self, dst: Any) -> Callable[[np.ndarray, Any], None]:
        """The plain copy."""
        return lambda src, here: self.write(dst, src)

    def inside(self, threads: int) -> AbstractContextManager[Any]:
        """No queues."""
        return nullcontext()

    def transforms(self, limits: Limits) -> _Transforms:
        """Note that one was asked for."""
        return _Transforms(self)

    def sync(self) -> None:
        """Nothing to wait for."""

    def rest(self) -> None:
        """No queues."""

    def used(self) -> int:
        """What was counted."""
        return self.allocated

    def fault(self, error: BaseException) -> BackendError | None:
        """It has no driver."""
        return None


def open_backend(profile: str = "") -> NullBackend:
    """The null device of a profile."""
    return NullBackend(profile)
