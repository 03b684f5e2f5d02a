"""What a bound plan of sums makes of the mask that it is handed: the same in another dtype, or the products in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from footprint.errors import ArgumentError, ShapeError
from footprint.ops.separated import Separated, alike, beyond, in_rows, product_of, separated
from footprint.plan.slots import Given, Slot
from footprint.spec import ArraySpec

_OWN = "plan with this mask, or with method='direct'"


@dataclass(frozen=True)
class OfMask:
    """See `plan.handed.Taken`: of a mask in order of correlation.

    Attributes
    ----------
    spec
        Of the mask that the plan was made for.
    sums
        Dtype of the sums; complex for a complex mask.
    of
        The operation, where columns and rows are taken in the mask's place.
    whole
        Whether they are found as by ``method="separable"``, by the singular values, and not as one product.
    """

    spec: ArraySpec
    sums: str
    of: Separated | None = None
    whole: bool = False

    @property
    def count(self) -> int:
        """See `plan.handed.Taken`."""
        return 1 if self.of is None else 2

    def shown(self, slot: Slot) -> Slot:
        """See `plan.handed.Taken`."""
        return slot if self.of is None else replace(slot, name="mask", spec=self.spec, given=Given(direct=False))

    def __call__(self, mask: np.ndarray) -> tuple[np.ndarray, ...]:
        """See `plan.handed.Taken`."""
        wanted, kind = np.dtype(self.spec.dtype), mask.dtype
        # Sums are made in their own dtype, whatever a mask comes in. Else digits that the plan has no place for would be dropped.
        able = self.of is not None or wanted == np.dtype(self.sums) or np.can_cast(kind, wanted)
        if kind.kind not in ("biufc" if wanted.kind == "c" else "biuf") or not able:
            raise ShapeError("mask", f"dtype {kind}", f"{wanted}, as the plan was made for")
        return (np.ascontiguousarray(mask, wanted),) if self.of is None else self._products(self.of, mask)

    def _products(self, of: Separated, mask: np.ndarray) -> tuple[np.ndarray, ...]:
        """Columns and rows of a mask that is what the plan was made for; refused where the plan's sums would not be the mask's."""
        if self.whole:
            found, tall, wide = separated(of, mask, self.sums)
            if found.rank > of.rank:
                raise ArgumentError("mask", f"a sum of {found.rank} products", f"one of {of.rank}, as the plan was made for", _OWN)
            tall, wide = (np.pad(one, ((0, of.rank - len(one)), (0, 0))) for one in (tall, wide))
            outside, equal = (*found.beyond, *(0.0,) * (of.rank - found.rank)), found.equal
        else:
            product = product_of(mask, self.sums)
            if product is None:
                wanted = "the product of a column and a row, as the plan was made for"
                raise ArgumentError("mask", "other weights", wanted, _OWN)
            (tall, wide), outside, equal = in_rows(product, self.sums), (beyond(of.cval, product[0]),), alike(product)
        if any(one and not other for one, other in zip(of.equal, equal)):
            raise ArgumentError("mask", "weights that differ", "equal ones, as the plan was made for", _OWN)
        if of.boundary == "constant" and not np.array_equal(outside, of.beyond, equal_nan=True):
            raise ArgumentError("mask", "other weights", f"those that the plan was made with, as cval is {of.cval:g}", _OWN)
        return tall, wide
