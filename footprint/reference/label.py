"""Connected components by SciPy."""

import numpy as np
from scipy import ndimage


def label(mask: np.ndarray, connectivity: int = 4) -> tuple[np.ndarray, int]:
    """Return the int32 label image and the number of components."""
    structure = np.ones((3, 3)) if connectivity == 8 else None
    labels = np.zeros(np.shape(mask), np.int32)
    return labels, ndimage.label(np.not_equal(mask, 0), structure, output=labels)
