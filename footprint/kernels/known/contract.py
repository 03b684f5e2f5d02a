"""Sums over what is known: NaN apart from numbers, and what their absence takes from a sum. No workspace.

Arrays are of one dtype, float32 or float64, and of any shape, but for ``known``, which may be uint8, too.

* ``fill(image, values)``: 0 where ``image`` is NaN; the two may be one.
* ``split(image, values, known)``: the same, and 1 in ``known`` where it is a number, 0 where it is none.
* ``ratio(sums, below, whole)``: ``sums`` times the element of ``whole`` over ``below``, in place; NaN where that is 0.
"""
