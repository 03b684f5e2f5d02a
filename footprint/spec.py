"""What an array is, and what a device allows: plain frozen numbers, no data and no device."""

from __future__ import annotations

import math
import operator
import sys
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from footprint.errors import ShapeError


@lru_cache(maxsize=64)
def _kind(dtype: str) -> tuple[str, int]:
    """A dtype as NumPy writes it, and bytes of one element: a plan asks for the same few hundreds of times."""
    kind = np.dtype(dtype)
    return sys.intern(kind.str), kind.itemsize


@dataclass(frozen=True)
class ArraySpec:
    """Shape and dtype of a C-contiguous array; ``axes`` names them, one letter each, where parts and halos go by name."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    axes: str = field(default="", compare=False)
    # Bytes of one element, and of all: every block that moves is asked for them.
    itemsize: int = field(init=False, repr=False, compare=False)
    nbytes: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            # By way of a list: of an iterator Python makes a tuple of ten and cuts it, and keeps up to 2000 of each length that are
            # done with, which no iterator takes again. What planning and running make over and over held 0.9 MB beside the plan's.
            shape = (*map(operator.index, self.shape),)
        except TypeError:
            shape = (-1,)
        if shape and min(shape) < 0:
            # Priced as it stands, it would make a plan of negative bytes, or of other lengths than were asked for.
            raise ShapeError("shape", self.shape, "whole numbers, 0 or more")
        dtype, itemsize = _kind(self.dtype)
        # Not by way of its dict, which would take as many bytes again of every spec.
        put = object.__setattr__
        put(self, "shape", shape)
        put(self, "dtype", dtype)
        put(self, "itemsize", itemsize)
        put(self, "nbytes", math.prod(shape) * itemsize)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def length(self, axis: str) -> int:
        """Length along a named axis."""
        return self.shape[self.axes.index(axis)]

    def named(self, axes: str) -> ArraySpec:
        """The same with other names of its axes."""
        return self if axes == self.axes else ArraySpec(self.shape, self.dtype, axes)

    def __str__(self) -> str:
        return f"{np.dtype(self.dtype).name} ({', '.join(map(str, self.shape))})"


@dataclass(frozen=True)
class Limits:
    """What a device allows a plan to assume.

    Attributes
    ----------
    device
        Name as the user writes it: ``cpu``, ``cuda:0``, ``opencl:1``, ``null``.
    family
        Which kernels it runs: ``cpu`` (Numba) or ``gpu`` (one text for CUDA, HIP and OpenCL).
    host
        Whether kernels read and write the host's arrays directly, with no copy.
    align
        Bytes at which every slot of the arena starts.
    max_block
        The largest single allocation, in bytes.
    free
        Free bytes when it was asked, or None where the device does not tell.
    threads
        Threads that run side by side and so need a workspace each (CPU).
    local_mem
        Bytes of on-chip memory one work-group may use (GPU).
    group
        The largest work-group (GPU).
    cores
        Compute units (GPU).
    fft
        Which FFT library serves it: a name of ``backend.fft``.
    fused
        Whether rows that fit on the chip are filtered there, without that library (GPU).
    context
        Bytes the runtime itself holds, measured at start; reported, never ours.
    devices
        How many of them share the parts of a job.
    together
        Work-groups of the largest size that surely run side by side, so that they may wait for each other; 0 where not known (GPU).
    memory
        Bytes of memory of its own, where it tells (GPU).
    pairs
        Whether two integers of 16 bits are compared as fast as one (GPU).
    halves
        Whether units multiply matrices of floats of 16 bits that lie on the chip, 64 lines at a time (GPU).
    """

    device: str = "null"
    family: str = "cpu"
    host: bool = True
    align: int = 64
    max_block: int = 1 << 62
    free: int | None = None
    threads: int = 1
    local_mem: int = 0
    group: int = 0
    cores: int = 0
    fft: str = "numpy"
    fused: bool = True
    context: int = field(default=0, compare=False)
    devices: int = field(default=1, compare=False)
    together: int = 0
    memory: int = field(default=0, compare=False)
    pairs: bool = False
    halves: bool = False

    def lacks(self, wanted: Limits) -> str:
        """What a plan made for ``wanted`` would miss here, in words; empty where it runs."""
        checks = (
            (self.family == wanted.family and self.host == wanted.host, f"for a {wanted.family}, this is a {self.family}"),
            (wanted.align % self.align == 0, f"aligned to {wanted.align} bytes, {self.align} are needed"),
            (self.local_mem >= wanted.local_mem, f"with {wanted.local_mem} bytes on chip, here are {self.local_mem}"),
            (self.group >= wanted.group, f"with groups of {wanted.group}, here are {self.group} at most"),
            (self.together >= wanted.together, f"with {wanted.together} groups that wait for each other, here are {self.together}"),
            (self.halves or not wanted.halves, "with units for matrices of halves, this has none"),
            (self.memory > 0 or wanted.memory == 0, "for a device with memory of its own, this has none"),
            (self.fft == wanted.fft or wanted.fft == "vkfft", f"with FFTs by {wanted.fft}, here by {self.fft}"),
        )
        return next((words for holds, words in checks if not holds), "")


def aligned(nbytes: int, align: int) -> int:
    """Round ``nbytes`` up to a multiple of ``align``."""
    return -(-nbytes // align) * align
