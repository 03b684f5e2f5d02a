"""What a value is, to the last bit, as text: two values with equal texts mean the same to whatever they are given to."""

from __future__ import annotations

import dataclasses
import hashlib
import marshal
from collections import deque
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from footprint import settings
from footprint.dtypes import ACCEPTED

T = TypeVar("T")

# Types whose values their repr tells from all others: 1, 1.0, True and "1" apart, 0.0 and -0.0 apart, every digit of a float.
_PLAIN = frozenset((int, float, str, bool, type(None)))
# Types of NumPy arrays that are nothing but their shape, dtype and bytes.
_ARRAYS = (np.ndarray, np.memmap)
# Longer texts go by their digest.
_LONG = 512
# Bytes of arrays that are known again, at most, and the share of what may be kept that they are.
_MOST, _SHARE = 64 << 10, 16


def exact(*values: Any) -> str | None:
    """The text of some values; None where one is of a type that is not known to be all that its parts are.

    What is kept from call to call is found by it, so a type that is not listed here means no finding, never a wrong one: subclasses
    of numbers and arrays, arrays on devices and columns of tables may hold, or come to hold, more than they show.
    """
    try:
        text = repr(values) if _PLAIN.issuperset(map(type, values)) else _many(values)
    except (_UnknownError, ValueError):  # whole numbers of thousands of digits have no repr
        return None
    return text if len(text) <= _LONG else digest(text.encode())


def told(values: tuple[Any, ...]) -> str | bytes | None:
    """The same of one tuple, of few plain values as bytes, which are written in a tenth of the time that their text takes.

    Of this version of the format they are by value alone: later ones tell whether two values are one object.
    """
    if _PLAIN.issuperset(map(type, values)):
        data = marshal.dumps(values, 2)
        if len(data) <= _LONG:
            return data
    return exact(*values)


def digest(*parts: bytes | memoryview) -> str:
    """128 bits of some bytes, in hexadecimal digits."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(part)
    return found.hexdigest()


# Tables of all plans there are.
_TABLES: WeakValueDictionary[tuple[Any, ...], np.ndarray] = WeakValueDictionary()


def shared(array: np.ndarray, text: str) -> np.ndarray:
    """A table of a plan, or the equal one that another has: a job is recorded many times until it fits its budget.

    ``text`` is the digest of its bytes.
    """
    return _TABLES.setdefault((array.shape, array.dtype.str, text), array)


class Latest(Generic[T]):
    """What was made of the last few small arrays: to see that one is the same again takes a fraction of the time of making it.

    Parameters
    ----------
    times
        What is kept of an array takes so many times its bytes.

    Attributes
    ----------
    every, nbytes
        All there are; bytes of what they keep, counted when something comes, as every call of any verb asks for it.
    """

    every: ClassVar[list[Latest[Any]]] = []
    nbytes: ClassVar[int] = 0

    def __init__(self, times: int = 1) -> None:
        self._times = times
        self._found: deque[tuple[bytes, object, int, T]] = deque(maxlen=4)
        Latest.every.append(self)

    def get(self, data: bytes, how: object = None) -> T | None:
        """What was made, in such a way, of an array of these bytes."""
        for known, made, _, value in tuple(self._found):
            if known == data and made == how:
                return value
        return None

    def put(self, data: bytes, value: T, how: object = None) -> None:
        """Keep what was made of an array, where it is small."""
        nbytes = self._times * len(data)
        if nbytes <= min(_MOST, settings.kept_bytes() // _SHARE):
            self._found.append((data, how, nbytes, value))
            self._count()

    def clear(self) -> None:
        """Give it back."""
        self._found.clear()
        self._count()

    @staticmethod
    def _count() -> None:
        Latest.nbytes = sum(one[2] for latest in Latest.every for one in tuple(latest._found))


_DIGESTS: Latest[str] = Latest()


def kept() -> int:
    """Bytes of what was made of the last small arrays."""
    return Latest.nbytes


def forget() -> None:
    """Give them back."""
    for one in Latest.every:
        one.clear()


def _digest_of(array: np.ndarray) -> str:
    data = array.tobytes()
    text = _DIGESTS.get(data)
    if text is None:
        text = digest(data)
        _DIGESTS.put(data, text)
    return text


class _UnknownError(Exception):
    """A type that is not known exactly."""


def _many(values: Any) -> str:
    """Plain values as one text, with an ellipsis, which is none of them, where one of the others is, and then those."""
    values = tuple(values)
    plain = tuple(value if type(value) in _PLAIN else ... for value in values)
    return "; ".join((repr(plain), *(_one(value) for value in values if type(value) not in _PLAIN)))


def _one(value: Any) -> str:
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if kind is tuple or kind is list:
        return f"{kind.__name__}({repr(value) if _PLAIN.issuperset(map(type, value)) else _many(value)})"
    if kind in _ARRAYS:
        if value.dtype.kind not in ACCEPTED or value.dtype.char == "g":
            raise _UnknownError  # bytes of long doubles have gaps
        return f"array({value.dtype.str}, {value.shape}, {_digest_of(value)})"
    if kind is Table:
        return f"Table({value.array.dtype.str}, {value.array.shape}, {value.digest.hex()})"
    if kind is dict:
        return f"dict({_many(value)}; {_many(value.values())})"
    if isinstance(value, np.generic) and kind.__module__ == "numpy" and value.dtype.kind in ACCEPTED and value.dtype.char != "g":
        return f"{value.dtype.str}:{value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        if value.kind not in ACCEPTED and value.kind != "c":
            raise _UnknownError
        return f"dtype({value.str})"
    if kind is type and (value in (bool, int, float, complex) or (issubclass(value, np.generic) and value.__module__ == "numpy")):
        return f"{value.__module__}.{value.__qualname__}"
    # Ours are their fields; what another package's are, it alone knows.
    if dataclasses.is_dataclass(kind) and kind.__module__.startswith("footprint."):
        return f"{kind.__module__}.{kind.__qualname__}({_many(getattr(value, one.name) for one in dataclasses.fields(kind))})"
    raise _UnknownError


class Table:
    """A small array of numbers as part of an operation: read-only, hashed by its bytes, so that equal operations are equal."""

    def __init__(self, values: Any, dtype: Any = None) -> None:
        self.array = np.ascontiguousarray(values, dtype)
        if self.array is values or self.array.base is not None:
            self.array = self.array.copy()
        self.array.flags.writeable = False

    @cached_property
    def digest(self) -> bytes:
        """Of shape, dtype and bytes."""
        return hashlib.blake2b(self.array.tobytes(), digest_size=16, person=str(self.array.dtype)[:16].encode()).digest()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)

    def __len__(self) -> int:
        return len(self.array)

    def __hash__(self) -> int:
        return hash((self.array.shape, self.digest))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.array.shape == other.array.shape and self.digest == other.digest

    def __repr__(self) -> str:
        return f"Table({self.array.dtype}, {self.array.shape})"
