"""How a result was made, as JSON has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from footprint.errors import printable


def plain(value: Any) -> Any:
    """A value for JSON: an infinity or NaN would be none, so it is a word."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value if not isinstance(value, str) else printable(value)
    return printable(str(value))


def plain_table(about: Mapping[str, Any]) -> dict[str, Any]:
    """All that is known of a table of values."""
    return {name: plain(value) for name, value in about.items() if value is not None}
