"""Sums over what is known: NaN apart from numbers, and what their absence takes from a sum. No workspace.

Arrays are of one dtype, float32 or float64, and of any shape, but for ``known``, which may be uint8, too.

* ``fill(image, values)``: 0 where ``image`` is NaN; the two may be one.
* ``split(image, values, known)``: the same, and 1 in ``known`` where it is a number, 0 where it is none.
* ``weigh(image, masked, weight, values, known, by_mask=, by_weight=, spreads=, counts=)``: ``image`` times ``weight`` in
  ``values``, and ``weight`` in ``known``; 0 in both where ``masked``, of uint8, is not 0, where ``weight`` is not over 0, and,
  unless it ``spreads``, where ``image`` is NaN. Without ``by_mask`` none is masked, without ``by_weight`` all weights are 1,
  without ``counts`` nothing is written to ``known``; those arrays are then not looked at. ``image`` and ``values`` may be one.
* ``ratio(sums, below, whole)``: ``sums`` times the element of ``whole`` over ``below``, in place; NaN where that is 0.
"""
