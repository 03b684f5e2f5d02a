"""Catalogues as users get them: columns that become an astropy Table when more is asked of them than how many rows they have.

Importing astropy's tables takes a fresh process a third of a second, and making one of two dozen columns as long as a GPU takes to
find the sources of an image.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Columns:
    """What a table is made of.

    Attributes
    ----------
    data
        Arrays of one length, by the names of their columns, in their order.
    units, descriptions
        Those of columns that have one; units as text, or astropy's.
    meta
        The table's.
    made
        Whether a Table has been made of it.
    """

    data: dict[str, np.ndarray]
    units: dict[str, Any] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    made: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.data.values()), ()))

    def insert(self, after: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        """Put columns after those of these names."""
        data: dict[str, np.ndarray] = {}
        for name, column in self.data.items():
            data[name] = column
            if name in after:
                data.update(after[name])
        self.data = data

    def scale(self, name: str, factor: float, unit: Any) -> None:
        """Multiply a column, where it lies, and give it a unit."""
        np.multiply(self.data[name], factor, out=self.data[name])
        self.units[name] = unit

    def table(self) -> Any:
        """The table, whose columns are the arrays themselves."""
        made = object.__new__(Catalogue)
        made.__dict__.update(_columns=self, _lock=threading.RLock())
        return made


class Catalogue:
    """An astropy Table that is not made yet.

    ``len``, ``meta`` and ``colnames`` are answered from its `Columns`; whatever else is asked makes this very object a Table, and
    is astropy's to answer. ``isinstance`` says Table from the start, and ``type(table)(...)`` makes one.
    """

    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """A Table."""
        from astropy.table import Table

        return Table(*args, **options)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What isinstance() goes by where the type is none of those asked for: Table, as soon as anyone can ask for that."""
        table = getattr(sys.modules.get("astropy.table"), "Table", None)
        if table is None:
            return Catalogue
        columns = self.__dict__.get("_columns")
        # An answer that is the object's type tells isinstance() nothing: it has looked at that before. So where another thread has
        # made this a Table just now, it hears of a kind of Table. From here on nothing is called, so that no thread comes between.
        return _kind_of(table) if columns is None or columns.made else table

    def __len__(self) -> int:
        columns = self.__dict__.get("_columns")
        return len(self) if columns is None else len(columns)

    @property
    def meta(self) -> Any:
        """The table's own."""
        columns = self.__dict__.get("_columns")
        return self.meta if columns is None else columns.meta

    @property
    def colnames(self) -> list[str]:
        """Names of its columns."""
        columns = self.__dict__.get("_columns")
        return self.colnames if columns is None else list(columns.data)

    def __getattr__(self, name: str) -> Any:
        _become(self)
        return getattr(self, name)


# What Python asks of a type, past __getattr__.
_ASKED = (
    *("array", "bytes", "copy", "deepcopy", "delattr", "delitem", "dir", "eq", "getitem", "getstate", "ior", "ne", "or"),
    *("reduce", "reduce_ex", "repr", "setattr", "setitem", "str"),
)


def _answered(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        _become(self)
        return getattr(type(self), name)(self, *args, **options)

    method.__name__ = name
    return method


for _word in _ASKED:
    setattr(Catalogue, f"__{_word}__", _answered(f"__{_word}__"))


@functools.cache
def _kind_of(table: type) -> type:
    return type(table.__name__, (table,), {})


def _become(catalogue: Any) -> None:
    """Make it what ``Table(columns, copy=False)`` makes, without the questions that this asks of data that may be no arrays."""
    from astropy.table import Column, Table

    from footprint.api._columns import meaning

    own = catalogue.__dict__
    columns, lock = own.get("_columns"), own.get("_lock")
    if columns is None or lock is None:
        return
    with lock:
        if type(catalogue) is not Catalogue:
            # Another thread was first.
            return
        table, found = Table(), []
        for name, data in columns.data.items():
            column = data.view(Column)
            told = meaning(name)
            column.name, column.description = name, columns.descriptions.get(name) or (told.description if told else None)
            if columns.units.get(name) is not None:
                column.unit = columns.units[name]
            found.append((name, column))
        table.columns, table.meta = table.TableColumns(found), columns.meta
        # Nothing asks a column before the table is all but there: it would ask its table. Threads that come in between wait at the
        # lock, and what stops this leaves all that is needed to begin anew.
        for _, column in found:
            column.parent_table = catalogue
        columns.made = True
        own.update(table.__dict__)
        object.__dict__["__class__"].__set__(catalogue, Table)
        del own["_columns"], own["_lock"]
