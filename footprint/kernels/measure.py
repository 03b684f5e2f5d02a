"""What `measure` is launched with.

``launch("measure", image, labels, moments, boxes)``: ``image`` float32 or float64, ``labels`` int32 of its shape (n_y, n_x),
0 is no island; ``moments`` float64 (n, 4) and ``boxes`` int64 (n, 8) with the columns of `kernels.find_sources`, row ``k - 1``
for label ``k``; labels over n are left out. Sums are float64 in raster order of the runs of a row; the column LABEL is k.
"""
