"""Names of sources as the IAU has them: the position, cut off and never rounded."""

from __future__ import annotations

import numpy as np

LENGTH = len("JHHMMSS.ss+DDMMSS.s")
# Where a digit stands, and how many of them there are, from the last one on.
_ACROSS = ((9, 10), (8, 10), (6, 10), (5, 6), (4, 10), (3, 6), (2, 10), (1, 10))
_UP = ((18, 10), (16, 10), (15, 6), (14, 10), (13, 6), (12, 10), (11, 10))


def names(ra: np.ndarray, dec: np.ndarray, out: np.ndarray) -> None:
    """Write ``JHHMMSS.ss+DDMMSS.s`` of positions in degrees to a contiguous array of bytes; empty where there is none."""
    known = np.isfinite(ra) & np.isfinite(dec)
    whole = []
    for exact in (np.where(known, ra, 0) % 360 * 24000, np.abs(np.where(known, dec, 0)) * 36000):
        # What is a rounding error under a whole is that whole. Quotients of 32 bits take a third of the time.
        whole.append(np.floor(exact + 1e-7).astype(np.int32))
    hundredths, tenths = whole
    hundredths %= 8640000
    # Letter by letter of all names at once: a name at a time takes longer than finding the sources.
    letters = out.view(np.uint8).reshape(len(out), out.dtype.itemsize)
    letters[:, :LENGTH] = np.frombuffer(b"JHHMMSS.ss+DDMMSS.s", np.uint8)
    letters[:, 10] = np.where(np.signbit(dec), ord("-"), ord("+"))
    for left, digits in ((hundredths, _ACROSS), (tenths, _UP)):
        for at, most in digits:
            tens = left // most
            letters[:, at] = ord("0") + left - most * tens
            left = tens
    letters[~known] = 0
