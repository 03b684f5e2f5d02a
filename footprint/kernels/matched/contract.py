"""What a mean by weights over the pixels that have data is made with.

``launch("matched.known", image, values, good)``: ``values`` and ``good`` have the image's shape and dtype; where the image is
finite they are its value and 1, elsewhere 0 and 0.

``launch("matched.mean", good, sums, shares, start=)`` puts ``sums / shares`` in the place of ``sums``: row r of these, the sums of
weights times values and of weights times good, is of row ``start + r`` of ``good``. It is NaN where there is no data, and where
less than `LEAST` of all weights, which add up to 1, have some.
"""

LEAST = 0.5
