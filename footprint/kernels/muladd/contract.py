"""``dst[R] = a dst[R] + b other[S]`` in place: the kernel ``muladd`` needs no workspace.

``launch("muladd", dst, other, a=, b=, dst_start=, dst_step=, other_start=, other_step=, count=)``: both arrays 3-D
and of the same dtype; the five tuples have an entry an axis; element ``k`` of an axis lies at ``start + k * step``,
for ``k < count``; a count of None is all of ``dst``. With ``a == 0`` the old value is not read, so NaN is
overwritten. Half precision and integers are no kernel's dtype.
"""

from __future__ import annotations
