"""Make pywavelets.npz: `python -m tests.golden.make_pywavelets` where PyWavelets is installed.

The filter of Munch, Trtik, Marone and Stampanoni, Optics Express 17, 8567 (2009), by PyWavelets' transforms.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
import pywt

from tests.golden import nabu_cases as cases

LEVEL, SIGMA = 3, 1.0


def munch(lines: np.ndarray, wavelet: str) -> np.ndarray:
    """Details along x damped where they are slow along the angle; lines are mirrored at their ends."""
    found = pywt.wavedec2(lines.astype(float), wavelet, mode="symmetric", level=LEVEL)
    for at, (flat, steep, both) in enumerate(found[1:], 1):
        periods = np.fft.fftfreq(len(steep), 1 / len(steep))[:, None]
        damped = np.fft.fft(steep, axis=0) * (1 - np.exp(-(periods**2) / (2 * SIGMA**2)))
        found[at] = flat, np.fft.ifft(damped, axis=0).real, both
    return pywt.waverec2(found, wavelet, mode="symmetric")[: len(lines), : lines.shape[1]]


made = {name: munch(cases.striped(), name).astype("f4") for name in ("db5", "sym8")}
np.savez_compressed(Path(__file__).with_name("pywavelets.npz"), version=np.array(version("pywavelets")), **made)
