"""Names of sources as the IAU has them: the position, cut off and never rounded."""

from __future__ import annotations

import numpy as np

LENGTH = len("JHHMMSS.ss+DDMMSS.s")


def names(ra: np.ndarray, dec: np.ndarray, out: np.ndarray) -> None:
    """Write ``JHHMMSS.ss+DDMMSS.s`` of each position in degrees to an array of bytes; empty where there is no position."""
    known = np.isfinite(ra) & np.isfinite(dec)
    hundredths = np.floor(np.where(known, ra, 0) % 360 * 24000).astype(np.int64)
    tenths = np.floor(np.abs(np.where(known, dec, 0)) * 36000).astype(np.int64)
    # What is a rounding error under a whole is that whole.
    for whole, exact in ((hundredths, np.where(known, ra, 0) % 360 * 24000), (tenths, np.abs(np.where(known, dec, 0)) * 36000)):
        whole += exact - whole > 1 - 1e-7
    hundredths %= 8640000
    signs = np.where(np.signbit(dec), "-", "+")
    for i, (some, t, sign, d) in enumerate(zip(known.tolist(), hundredths.tolist(), signs.tolist(), tenths.tolist())):
        hours, minutes, seconds = t // 360000, t // 6000 % 60, t % 6000
        degrees, arcmin, arcsec = d // 36000, d // 600 % 60, d % 600
        text = f"J{hours:02}{minutes:02}{seconds / 100:05.2f}{sign}{degrees:02}{arcmin:02}{arcsec / 10:04.1f}" if some else ""
        out[i] = text.encode()
