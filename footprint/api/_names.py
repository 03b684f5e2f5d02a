"""Names of sources as the IAU has them: the position, cut off and never rounded."""

from __future__ import annotations

import numpy as np

LENGTH = len("JHHMMSS.ss+DDMMSS.s")
_ACROSS = ((1, 3600000, 10), (2, 360000, 10), (3, 60000, 6), (4, 6000, 10), (5, 1000, 6), (6, 100, 10), (8, 10, 10), (9, 1, 10))
_UP = ((11, 360000, 10), (12, 36000, 10), (13, 6000, 6), (14, 600, 10), (15, 100, 6), (16, 10, 10), (18, 1, 10))


def names(ra: np.ndarray, dec: np.ndarray, out: np.ndarray) -> None:
    """Write ``JHHMMSS.ss+DDMMSS.s`` of positions in degrees to a contiguous array of bytes; empty where there is none."""
    known = np.isfinite(ra) & np.isfinite(dec)
    hundredths = np.floor(np.where(known, ra, 0) % 360 * 24000).astype(np.int64)
    tenths = np.floor(np.abs(np.where(known, dec, 0)) * 36000).astype(np.int64)
    # What is a rounding error under a whole is that whole.
    for whole, exact in ((hundredths, np.where(known, ra, 0) % 360 * 24000), (tenths, np.abs(np.where(known, dec, 0)) * 36000)):
        whole += exact - whole > 1 - 1e-7
    hundredths %= 8640000
    # Letter by letter of all names at once: a name at a time takes longer than finding the sources.
    letters = out.view(np.uint8).reshape(len(out), out.dtype.itemsize)
    letters[:, :LENGTH] = np.frombuffer(b"JHHMMSS.ss+DDMMSS.s", np.uint8)
    letters[:, 10] = np.where(np.signbit(dec), ord("-"), ord("+"))
    # Where a digit stands, the unit it counts, and how many of them there are.
    for whole, digits in ((hundredths, _ACROSS), (tenths, _UP)):
        for at, unit, most in digits:
            letters[:, at] = ord("0") + whole // unit % most
    letters[~known] = 0
