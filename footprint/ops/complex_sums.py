"""Correlation of complex numbers by the sums of their parts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from footprint.dtypes import complex_of, native
from footprint.ops.convolve import OfSums
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits


@dataclass(frozen=True)
class ComplexSums(OfSums):
    """The sums of ``of`` where the image is complex, or the mask, or both; ``conjugate`` takes the mask's conjugate.

    ``many`` says how many of the two are complex.
    """

    many: int
    conjugate: bool = False

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """Those of the sums, of complex numbers."""
        return tuple(ArraySpec(spec.shape, complex_of(spec.dtype), spec.axes) for spec in self.of.out_specs(*specs))

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Two sums, or four, of real numbers."""
        kind = self.of.summed(specs[0].dtype)
        real = [ArraySpec(spec.shape, kind, spec.axes) for spec in specs]
        return sum((self.of.cost(limits, *real) for _ in range(2 * self.many)), Cost(launches=0))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record the parts of both, the sums of each pair, and the result."""
        image, weights, out = refs
        self.of.tell(b)
        kind = self.of.summed(image.spec.dtype)
        images = self._parts(b, image, kind, 1.0)
        masks = self._parts(b, weights, kind, -1.0 if self.conjugate else 1.0)
        found: list[Ref] = []
        for number, x in enumerate(images):
            # A constant outside is real.
            of = replace(self.of, cval=0.0) if number else self.of
            for w in masks:
                sums = b.like(out, kind, f"sums {len(found)}")
                of.launch(b, x, w, sums, out)
                found.append(sums)
        with b.deliver(out, dtype=native(out.spec.dtype)) as y:
            if len(found) == 2:
                b.launch("complex_parts.join", *found, y)
            else:
                # The products of two real parts, and of two imaginary ones, are real.
                b.launch("complex_parts.product", found[0], found[3], found[1], found[2], y)

    def _parts(self, b: Builder, ref: Ref, kind: str, sign: float) -> list[Ref]:
        """Real and imaginary parts where it is complex."""
        if np.dtype(ref.spec.dtype).kind != "c":
            return [b.bring(ref, dtype=kind)]
        name = ref.slot.name
        real, imaginary = b.like(ref, kind, f"{name}, real part"), b.like(ref, kind, f"{name}, imaginary part")
        # Kernels know no complex numbers of more than 16 bytes.
        stored = min(np.dtype(native(ref.spec.dtype)), np.dtype("complex128"), key=lambda found: found.itemsize)
        b.launch("complex_parts.split", b.bring(ref, dtype=stored.str), real, imaginary, sign=sign)
        return [real, imaginary]
