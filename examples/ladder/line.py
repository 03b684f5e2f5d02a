"""A signal and a few taps, 'valid': one thread an output. The image of the ladder has one row here."""

import examples.ladder  # noqa: F401, I001  (prepares NumPy for numba-cuda)
from numba import cuda


@cuda.jit
def kernel(signal, taps, out):
    x = cuda.grid(1)
    if x < out.size:
        total = 0.0 * signal[0]
        for k in range(taps.size):
            total += taps[taps.size - 1 - k] * signal[x + k]
        out[x] = total


def launch(signal, taps, out):
    block = 256
    kernel[-(-out.size // block), block](signal, taps, out)
