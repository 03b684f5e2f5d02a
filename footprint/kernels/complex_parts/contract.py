"""Complex numbers apart and together. No workspace; arrays of any shape; parts of one dtype, numbers of either precision.

* ``split(numbers, real, imaginary, sign=)``: the parts of complex numbers, the imaginary one times ``sign``.
* ``join(real, imaginary, numbers)``: complex numbers of their parts.
* ``product(a, b, c, d, numbers)``: the real parts ``a - b``, the imaginary parts ``c + d``.
"""
