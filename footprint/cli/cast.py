"""``--output-dtype`` and ``--range`` of ``footprint reconstruct``: volumes of 8 and 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from footprint.cli.beside import beside
from footprint.errors import ArgumentError

_DTYPE = "Data type of the volume: float32, uint16 or uint8."
_RANGE = "Values that 0 and the largest number stand for: A:B, or percentiles of some slices (default: 0.05%:99.95%)."
_WANTED = "A:B such as -0.5:2, or percentiles such as 0.1%:99.9%"


def cast_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the volume's numbers."""
    for option in (
        click.option("--range", "out_range", default=None, metavar="A:B", help=_RANGE),
        click.option("--output-dtype", "out_dtype", default="float32", show_default=True, help=_DTYPE),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Cast:
    """What becomes of the values: the dtype, and the range, or the percentiles it is to be found by."""

    dtype: str
    range: tuple[float, float] | None = None
    percentiles: tuple[float, float] | None = None

    def given_to(self, job: dict[str, Any]) -> None:
        """Put what is known into the job: memory and time do not depend on the range."""
        job["out_dtype"], job["out_range"] = self.dtype, (0.0, 1.0) if self.percentiles else self.range

    def plan(self, budget: int | None, make: Callable[[int | None], Any]) -> tuple[Any, int | None]:
        """The plan that ``make`` makes of a budget, with the pixels that the range is found by; and the budget without them."""
        from footprint.api.value_range import most_bytes

        if self.percentiles is None:
            return make(budget), budget
        return beside("pixels that the range is found by", most_bytes(), budget, make, ", or the range in numbers")

    def find(self, source: Any, job: dict[str, Any], memory: int, device: str, black_frames: str) -> dict[str, Any]:
        """The range, found where it is not given; the job has it then. Figures of the report and the metadata."""
        if self.dtype == "float32":
            return {}
        if self.percentiles is not None:
            from footprint.api.value_range import value_range

            names = [name for name in job if name not in ("out_dtype", "out_range")]
            settings = {name: job[name] for name in names} | {"black_frames": black_frames}
            job["out_range"] = value_range(source, percentiles=self.percentiles, memory=memory, device=device, **settings)
        low, high = job["out_range"]
        found: dict[str, Any] = {"output_dtype": self.dtype, "value_offset": low}
        found["value_scale"] = (high - low) / (255 if self.dtype == "uint8" else 65535)
        return found | ({"percentiles": list(self.percentiles)} if self.percentiles else {})


def cast_of(job: dict[str, Any]) -> Cast:
    """What the options say, taken out of the job."""
    from footprint.api.value_range import PERCENTILES
    from footprint.errors import choose
    from footprint.ops.quantize import DTYPES

    dtype, text = choose("--output-dtype", job.pop("out_dtype"), ("float32", *DTYPES)), job.pop("out_range")
    if dtype == "float32":
        if text is not None:
            raise ArgumentError("--range", repr(text), "none without --output-dtype uint8 or uint16")
        return Cast(dtype)
    if text is None:
        return Cast(dtype, percentiles=PERCENTILES)
    words = text.split(":")
    percent = all(word.endswith("%") for word in words)
    try:
        low, high = (float(word.removesuffix("%") if percent else word) for word in words)
    except ValueError:
        raise ArgumentError("--range", repr(text), _WANTED) from None
    if percent:
        if not 0 <= low < high <= 100:
            wanted = "A%:B%, percentiles from 0 to 100, the first below the second"
            raise ArgumentError("--range", repr(text), wanted)
        return Cast(dtype, percentiles=(low, high))
    if not low < high or abs(low) == float("inf") or high == float("inf"):
        raise ArgumentError("--range", repr(text), f"{_WANTED}, the first below the second")
    return Cast(dtype, (low, high))
