"""Dead pixels from their neighbours along x; no workspace.

``launch("dead_pixels", rows, out)``: float32 (..., n_x), not one array. A NaN gets the value between its nearest good neighbours
along x, by distance; at an end the nearest one's; 0 where the row has none.
"""
