"""Launches of the CUDA backend by the driver's own call, arguments laid out in memory once: a repeated one costs microseconds.

CuPy's door to the driver is compiled: by `ctypes` the same launch takes the host twice as long.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from cupy.cuda import driver, runtime

from footprint.backend.arrays import Backwards
from footprint.kernels.common.launch import Launch
from footprint.spec import ArraySpec

_CELL = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}


class Baking:
    """One launch, ready but for the addresses of the caller's arrays.

    Parameters
    ----------
    function
        Handle of the kernel.
    args, launch, tables
        As loaded: an int is the place of an array; (address, array) of tables in constant memory.
    ptrs, open_at, specs
        Addresses by place, None where a call gives them; those places' keys and offsets; specs of tables.
    turning
        Makes the launch that copies the caller's array of a key backwards to an address.
    """

    def __init__(
        self,
        function: int,
        args: tuple[int | np.generic, ...],
        launch: Launch,
        tables: tuple[tuple[int, int], ...],
        ptrs: list[int | None],
        open_at: dict[int, tuple[int, int]],
        specs: dict[int, ArraySpec],
        turning: Callable[[int, int, ArraySpec], Baking] | None = None,
    ) -> None:
        cells = [self._cell(a, ptrs) for a in args]
        self._cells = cells
        self._open = [(cell, *open_at[a]) for cell, a in zip(cells, args) if isinstance(a, int) and a in open_at]
        self._pointers = (ctypes.c_void_p * len(cells))(*[ctypes.addressof(cell) for cell in cells])
        self._params = ctypes.addressof(self._pointers)
        self._shape = (function, *launch.grid, *launch.group, launch.local)
        self._together = launch.together
        self._tables = [(address, ptrs[a], open_at.get(a), specs[a]) for address, a in tables]
        self._turning, self._turns = turning, dict[int, Baking]()

    @staticmethod
    def _cell(a: Any, ptrs: list[int | None]) -> Any:
        if isinstance(a, int):
            return ctypes.c_uint64(ptrs[a] or 0)
        kind = _CELL[a.dtype.itemsize]
        return kind.from_buffer_copy(a.tobytes())

    def __call__(self, feeds: Mapping[int, Any], stream: int) -> None:
        """Queue it; cells are written anew, so one thread at a time."""
        for address, ptr, given, spec in self._tables:
            if given is not None and type(feeds[given[0]]) is Backwards and self._turning is not None:
                self._turn(address, given[0], spec, feeds, stream)
                continue
            source = ptr if given is None else feeds[given[0]].data.ptr + given[1]
            runtime.memcpyAsync(address, source, spec.nbytes, runtime.memcpyDeviceToDevice, stream)
        for cell, key, offset in self._open:
            cell.value = feeds[key].data.ptr + offset
        if self._together:
            driver.launchCooperativeKernel(*self._shape, stream, self._params)
        else:
            driver.launchKernel(*self._shape, stream, self._params, 0)

    def _turn(self, address: int, key: int, spec: ArraySpec, feeds: Mapping[int, Any], stream: int) -> None:
        """Fill a table in one launch, where a copy in the other order and one to the table would be two."""
        assert self._turning is not None
        if address not in self._turns:
            self._turns[address] = self._turning(address, key, spec)
        self._turns[address]({key: feeds[key].lies}, stream)


@dataclass(eq=False, slots=True)
class Ready:
    """A loaded launch: its function, arguments (an int is the place of an array), and (address, array) of its tables.

    Which arrays it was ``given`` last, and the launch laid out for them: a step with its own is launched in a fifth of the time.
    """

    entry: Any
    args: tuple[int | np.generic, ...]
    launch: Launch
    tables: tuple[tuple[int, int], ...]
    given: tuple[Any, ...] | None = None
    baked: Baking | None = None

    def again(self, arrays: tuple[Any, ...]) -> Baking | None:
        """The launch laid out for these arrays, from the second time on that they are given one after the other."""
        if arrays is not self.given:
            self.given, self.baked = arrays, None
        elif self.baked is None:
            ptrs, specs = [view.ptr for view in arrays], {place: view.spec for place, view in enumerate(arrays)}
            self.baked = Baking(self.entry.ptr, self.args, self.launch, self.tables, ptrs, {}, specs)
        return self.baked
