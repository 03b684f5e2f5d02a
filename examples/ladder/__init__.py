"""Convolution on a GPU, one idea a rung, in Numba-CUDA: what every tutorial teaches, each rung as short as it can be.

A rung is a module with ``launch(image, mask, out)``: out = image convolved with mask, zeros outside, on device arrays of any
library with ``__cuda_array_interface__``. ``benchmarks/ladder.py`` climbs them and prints what each step buys.
"""

import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # noqa: NPY201  numba-cuda 0.30 asks for the name that NumPy 2.5 removed
