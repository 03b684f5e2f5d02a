"""Numbers as whole ones of 8 or 16 bits; no workspace.

``launch("quantize", values, out, low=, high=)``: ``out`` (uint8 or uint16) is float32 ``values`` clipped to ``low`` .. ``high``, as
shares of that range of the dtype's largest number, rounded to even, all in float64; NaN is 0. Any shape.
"""
