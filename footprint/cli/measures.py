"""Numbers of the command line that may have their unit behind them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import click

from footprint.errors import ArgumentError


class Measure(click.ParamType):
    """A number of ``unit``, or one with a unit that ``table`` knows; ``such`` is an example for the error sentence."""

    name = "measure"

    def __init__(self, unit: str, table: Callable[[], dict[str, float]], such: str) -> None:
        self.unit, self.table, self.such = unit, table, such

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number in the option's unit."""
        if not isinstance(value, str):
            return float(value)
        found = re.fullmatch(r"\s*([-+.\d]+(?:[eE][-+]?\d+)?)\s*([^\W\d]+|°)\s*", value)
        try:
            return float(value) if found is None or found[2] in ("nan", "inf") else float(found[1]) * self._factor(found[2])
        except (ValueError, KeyError):
            option = max(param.opts, key=len) if param is not None else self.name
            raise ArgumentError(
                option, repr(value), f"a number of {self.unit}, or one with its unit, such as {self.such}"
            ) from None

    def _factor(self, unit: str) -> float:
        # Capitals that matter are in the table: keV, KeV and kev are one.
        table = self.table()
        return table[unit] if unit in table else table[unit.lower()]


def _energies() -> dict[str, float]:
    from footprint.io.nxtomo import ENERGIES

    return ENERGIES


def _lengths() -> dict[str, float]:
    from footprint.io.nxtomo import LENGTHS

    return LENGTHS


def _angles() -> dict[str, float]:
    return {
        "deg": 1.0,
        "degree": 1.0,
        "degrees": 1.0,
        "°": 1.0,
        "rad": 180 / math.pi,
        "radian": 180 / math.pi,
        "mrad": 0.18 / math.pi,
    }


ENERGY = Measure("keV", _energies, "20000eV")
METRES = Measure("metres", _lengths, "100mm")
ANGLE = Measure("degrees", _angles, "1.57rad")
