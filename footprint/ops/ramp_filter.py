"""The row filter of filtered backprojection: on the chip where a line fits, else in batches through one transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.errors import ShapeError
from footprint.kernels.common.borders import numpy_border
from footprint.kernels.ramp_filter import lines
from footprint.kernels.ramp_filter.fused import fused, tables
from footprint.ops.base import Op, Table
from footprint.ops.filters import fast_length, response
from footprint.plan.builder import Builder
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec

# Padded rows and spectra of one batch: a few second-level caches, so that the transform's memory does not grow with the stack.
_BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class RampFilter(Op):
    """Multiply the spectrum of every row by a filter's gains.

    Attributes
    ----------
    filter
        Name, or (P // 2 + 1) gains.
    padding
        What lies beyond the row's ends, by any name of it; kept by numpy.pad's.
    cutoff
        Share of the Nyquist frequency.
    dims
        Names of the axes, the last of which is filtered along and has none.
    """

    filter: str | np.ndarray | Table = "ramlak"
    padding: str = "constant"
    cutoff: float = 1.0
    dims: str = "za."

    in_place = True
    units = {"z": "slices", "a": "angles"}  # noqa: RUF012  shared, never changed
    look = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.filter, str | Table):
            object.__setattr__(self, "filter", Table(self.filter))
        object.__setattr__(self, "padding", numpy_border(self.padding, "padding"))

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the sinograms."""
        return (self.dims,)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """All but a row."""
        return self.dims.replace(".", "")

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sinogram and out."""
        return ("sinogram",), ("out",)

    def gains(self, n_x: int, least: int = 0) -> np.ndarray:
        """The filter at the frequencies of the padded length, 2 n_x or ``least``; also checks its name."""
        usual, padded = fast_length(2 * n_x), fast_length(max(2 * n_x, least))
        if isinstance(self.filter, str) or padded == usual:
            return response(self._shape, padded, self.cutoff)
        own = response(self._shape, usual)
        return np.interp(np.fft.rfftfreq(padded), np.fft.rfftfreq(usual), own).astype(np.complex64)

    @property
    def _shape(self) -> str | np.ndarray:
        return self.filter.array if isinstance(self.filter, Table) else self.filter

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Shape and dtype of the result: float32."""
        (rows,) = specs
        if len(rows.shape) < 2 or rows.shape[-1] < 1:
            raise ShapeError("sinogram", f"shape {rows.shape}", "(n_angles, n_x) or (n_z, n_angles, n_x) with n_x of at least 1")
        self.gains(rows.shape[-1])
        return (ArraySpec(rows.shape, "float32", self.dims),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Filter from where the rows lie to where the result does, if kernels can read and write there."""
        rows, out = refs[0], refs[-1]
        with b.deliver(out, "float32") as filtered:
            here = rows if rows is out or b.readable(rows, "float32") else filtered
            if here is not rows:
                b.fetch(rows, filtered)
            n_x = rows.spec.shape[-1]
            self._filter(b, here.reshape(-1, n_x), filtered.reshape(-1, n_x))

    def _filter(self, b: Builder, rows: Ref, filtered: Ref) -> None:
        """Filter float32 ``rows`` ``(n, n_x)``, which may be ``filtered`` itself."""
        n, n_x = rows.spec.shape
        gains = self.gains(n_x)
        padded = 2 * (len(gains) - 1)
        if fused(b.limits, n_x, padded) is not None:
            twiddle, paired = tables(gains, padded)
            given = b.const(twiddle, "twiddles"), b.const(paired, "filter")
            b.launch("ramp_filter.fused", rows, filtered, *given, padded=padded, mode=self.padding)
            return
        radices = lines.factors(padded) if b.limits.family == "cpu" and b.limits.fused else None
        if radices is not None:
            roots, order, pairs = lines.tables(gains, radices)
            others = b.const(roots, "roots"), b.const(order, "places"), b.const(pairs, "filter")
            b.launch("ramp_filter.lines", rows, filtered, *others, padded=padded, mode=self.padding, radices=radices)
            return
        filter_ = b.const(gains, "filter")
        batch = max(1, min(n, _BATCH_BYTES // (8 * padded)))
        with b.repeat(rows, batch) as loop:
            part, done = rows.window(loop, batch), filtered.window(loop, batch)
            wide = b.scratch((batch, padded), name="padded rows").like_rows(part)
            spectrum = b.scratch((batch, len(gains)), "complex64", "spectrum").like_rows(part)
            self.forward(b, part, wide, spectrum)
            b.launch("ramp_filter.scale", spectrum, filter_)
            b.fft(spectrum, wide, inverse=True)
            b.launch("ramp_filter.crop", wide, done)

    def forward(self, b: Builder, rows: Ref, wide: Ref, spectrum: Ref) -> None:
        """Transform rows; zeros are the transform's own padding, all others are written out first."""
        if self.padding == "constant":
            b.fft(rows, spectrum)
        else:
            b.launch("ramp_filter.pad", rows, wide, mode=self.padding)
            b.fft(wide, spectrum)
