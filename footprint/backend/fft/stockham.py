"""Row FFTs by our own kernels, for devices whose makers ship no FFT library: any length, work of two complex copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from footprint.kernels.fft.gpu import fft_program
from footprint.spec import ArraySpec, Limits, aligned

if TYPE_CHECKING:
    from footprint.backend.opencl import OpenClBackend

SCALES = True
"""Whether a transform backwards comes with its factor 1/n at no cost."""


def library(limits: Limits, src: ArraySpec, dst: ArraySpec, inverse: bool) -> tuple[int, bool]:
    """Its two work arrays, to the byte."""
    return sum(aligned(work.nbytes, limits.align) for work in fft_program(limits, src, dst, inverse=inverse).work), False


class RowFFT:
    """One work area serves all transforms of a bound plan; it grows to the largest."""

    def __init__(self, backend: OpenClBackend) -> None:
        self.backend = backend
        self._block: Any = None
        self.size = 0

    def __call__(self, src: Any, dst: Any, inverse: bool, scaled: bool = True) -> None:
        """Transform the rows of one view into another."""
        limits, work = self.backend.limits, self.prepare(src.spec, dst.spec, inverse)
        views, offset = [], 0
        for w in work:
            views.append(self.backend.view(self._block, offset, w))
            offset += aligned(w.nbytes, limits.align)
        kernel = self.backend.compile("fft", (src.spec, dst.spec), {"inverse": inverse, "scaled": scaled})
        self.backend.launch(kernel, (src, dst, *views))

    def prepare(self, src: ArraySpec, dst: ArraySpec, inverse: bool, scaled: bool = True) -> tuple[ArraySpec, ...]:
        """The work arrays of a transform; the area that holds them is made large enough."""
        limits = self.backend.limits
        work = fft_program(limits, src, dst, inverse=inverse).work
        need = sum(aligned(w.nbytes, limits.align) for w in work)
        if need > self.size:
            self.release()
            self._block, self.size = self.backend.alloc(need), need
        return work

    def release(self) -> None:
        """Give the work area back."""
        block, self._block, self.size = self._block, None, 0
        if block is not None:
            self.backend.free(block)
