"""What `measure` is launched with.

``launch("measure", image, labels, moments, boxes)``: ``image`` float32 or float64, ``labels`` int32 of its shape (n_y, n_x),
0 is no island; ``moments`` float64 (n, 4) and ``boxes`` int64 (n, 8) with the columns of `kernels.find_sources`, row ``k - 1``
for label ``k``; labels over n are left out. Sums are float64 in raster order of the runs of a row, on a GPU whole numbers of a
unit fine enough for the label, so that their order means nothing; the column LABEL is k. A value that is not finite makes its
label's sums NaN or infinite (on a GPU always NaN), and no other's.
"""
