"""Minus the logarithm of the transmission; no workspace.

``launch("minus_log", transmission, out, lowest=1e-6, highest=10.0)``: ``out = -log(clip(transmission, lowest, highest))``, both
float32 of any shape, perhaps one array; NaN stays NaN.
"""

from __future__ import annotations

LOWEST, HIGHEST = 1e-6, 10.0
"""Bounds of the transmission: below the one is noise or a shadow, above the other a flaw."""
