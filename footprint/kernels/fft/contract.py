"""Lines of any axis for transforms that know rows only.

``launch("fft.lines", array, lines, axis=)``: the lines of ``array`` along ``axis`` become the rows of ``lines`` (rows, n), in the
order of the other axes; ``launch("fft.unlines", lines, array, axis=)`` brings them back. Elements of 4, 8 or 16 bytes.
"""

from __future__ import annotations
