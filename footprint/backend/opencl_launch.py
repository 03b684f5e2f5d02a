"""Launches of the OpenCL backend, and the kernels that hold their arguments."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

import numpy as np
import pyopencl as cl

from footprint.kernels.common.launch import Launch

# Kernels of an entry, some KB each: more launches than have arguments of their own in any plan, and fewer than a job has parts.
_MOST = 32


class _Held:
    """A kernel, and whose arguments it has."""

    __slots__ = ("kernel", "owner")

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.owner: object = None


class Built:
    """A program, and its kernels: PyOpenCL takes longer to make one than to set its arguments, and these longer than to launch it.

    Parameters
    ----------
    program
        PyOpenCL's, built.

    Attributes
    ----------
    lock
        Held from when a launch looks for its kernel until it is queued: then its arguments are the queue's.
    """

    def __init__(self, program: Any) -> None:
        self._program, self.lock = program, threading.Lock()
        self._kernels, self._next = defaultdict[str, list[_Held]](list), defaultdict[str, int](int)

    def take(self, entry: str, alone: bool) -> _Held:
        """A kernel for a launch that has none: a new one, which it may have ``alone``, or the one that was taken longest ago."""
        kernels = self._kernels[entry]
        if alone:
            return _Held(cl.Kernel(self._program, entry))
        if len(kernels) < _MOST:
            kernels.append(_Held(cl.Kernel(self._program, entry)))
            return kernels[-1]
        self._next[entry] = (self._next[entry] + 1) % _MOST
        return kernels[self._next[entry]]


class Ready:
    """A compiled launch: its kernel and arguments, an int being the place of an array."""

    __slots__ = ("_args", "_built", "_entry", "_given", "_held", "_mark", "_shape")

    def __init__(self, built: Built, args: tuple[int | np.generic, ...], launch: Launch) -> None:
        self._built, self._entry, self._args = built, launch.entry, args
        self._shape = tuple([groups * items for groups, items in zip(launch.grid, launch.group)]), launch.group
        # What a kernel remembers of its launch, which would be kept with its arrays otherwise.
        self._mark, self._held, self._given = object(), _Held(None), ()

    def queue(self, queue: Any, arrays: tuple[Any, ...]) -> None:
        """Launch, with arguments set where the kernel has others: that takes four times as long as the launch."""
        with self._built.lock:
            held = self._held
            if held.owner is not self._mark or arrays is not self._given:
                values = [arrays[a].memory if isinstance(a, int) else a for a in self._args]
                # Where another launch has set an address, NVIDIA's driver takes no word that there is none.
                empty = any(value is None for value in values)
                if empty or held.owner is not self._mark:
                    held = self._held = self._built.take(self._entry, alone=empty)
                # Whatever ends this in the middle, the arguments are nobody's until all are set.
                held.owner = None
                held.kernel.set_args(*values)
                held.owner, self._given = self._mark, arrays
            cl.enqueue_nd_range_kernel(queue, held.kernel, *self._shape)
