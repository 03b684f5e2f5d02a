"""The one table of dtypes: what is accepted, read as it is stored, summed in, returned, and sent across a bus."""

from __future__ import annotations

import numpy as np

from footprint.errors import ArgumentError

ACCEPTED = "fiub"
"""Kinds of the arrays that verbs take: floats, integers, bool."""
COMPLEX = ACCEPTED + "c"
"""The same of those that take complex numbers, too."""
READ_AS_STORED = ("uint8", "uint16", "float32")
"""What projections are read as; everything else is cast to float32 on the way in."""


def native(dtype: str | np.dtype) -> str:
    """The same dtype in the machine's byte order."""
    return np.dtype(dtype).newbyteorder("=").str


def put_into(dst: np.ndarray, src: np.ndarray) -> None:
    """Copy, casting as the dtypes say: what is beyond a dtype's range is infinite, as where kernels cast, without a warning.

    Whether NumPy's was seen depended on the device, and on the thread that copied.
    """
    if dst.dtype == src.dtype:
        np.copyto(dst, src)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        np.copyto(dst, src, casting="unsafe")


def in_one_piece(array: np.ndarray, dtype: str | np.dtype) -> np.ndarray:
    """The array itself where it is C-contiguous and of this dtype, else a copy that is, cast as by `put_into`."""
    if array.dtype == dtype:
        return np.ascontiguousarray(array)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(array, dtype)


def sum_dtype(dtype: str | np.dtype) -> str:
    """What sums of values of ``dtype`` are formed in and returned as: float32 for small dtypes, float64 for others."""
    kind = np.dtype(dtype)
    small = kind.itemsize <= {"f": 4, "c": 8}.get(kind.kind, 2)
    return "float32" if small else "float64"


def complex_of(dtype: str | np.dtype) -> str:
    """The complex dtype whose parts are of a real one."""
    return np.result_type(np.dtype(dtype), np.complex64).str


def numpys(dtype: object) -> np.dtype:
    """NumPy's dtype of what stands for one, PyTorch's own too; TypeError where it has none, as for bfloat16."""
    foreign = type(dtype).__name__ == "dtype" and not isinstance(dtype, np.dtype)
    found = np.dtype(str(dtype).rpartition(".")[2] if foreign else dtype)  # type: ignore[call-overload]
    if found.type.__module__ != "numpy":
        raise TypeError(f"{dtype} is not NumPy's")
    return found


def floating(dtype: object, name: str = "dtype") -> tuple[str, str]:
    """What sums are formed in, and returned as, where ``dtype`` is asked for; twice "" for None: what `sum_dtype` says."""
    if dtype is None:
        return "", ""
    try:
        kind = numpys(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if kind.kind not in "fc" or kind.itemsize > {"f": 8, "c": 16}[kind.kind]:
        fix = "round the result, for example with numpy.rint, if you want whole numbers" if kind.kind in "iub" else ""
        wanted = "float16, float32 or float64; complex64 or complex128 where numbers are complex"
        raise ArgumentError(name, repr(dtype), wanted, fix)
    return sum_dtype(kind), native(kind)


def kernel_dtype(dtype: str | np.dtype) -> str:
    """What kernels that compare values read: float32 where it holds every value of ``dtype``, else float64."""
    return "float32" if np.can_cast(np.dtype(dtype), np.float32, "safe") else "float64"


def read_dtype(stored: object) -> str:
    """The dtype that a block of raw projections is read in."""
    name = np.dtype(stored).newbyteorder("=").name  # type: ignore[call-overload]
    return name if name in READ_AS_STORED else "float32"


def across(src: str, dst: str) -> str:
    """The dtype that crosses a bus: the smaller of the two, as the device converts faster than the host."""
    small, large = native(src), native(dst)
    if np.dtype(small).kind not in ACCEPTED:
        return large
    return small if np.dtype(small).itemsize < np.dtype(large).itemsize else large
