"""Dead pixels from their neighbours along x; no workspace.

``launch("dead_pixels", rows, out, empty=0.0)``: float32 (..., n_x), not one array. A NaN gets the value between its nearest good
neighbours along x, by distance; at an end the nearest one's; ``empty`` where the row has none.
"""
