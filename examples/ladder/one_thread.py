"""One thread an output: every thread reads its whole neighbourhood from global memory."""

import examples.ladder  # noqa: F401, I001  (prepares NumPy for numba-cuda)
from numba import cuda


@cuda.jit
def kernel(image, mask, out):
    x, y = cuda.grid(2)
    height, width = image.shape
    if y >= height or x >= width:
        return
    total = 0.0 * mask[0, 0]
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            row, column = y + mask.shape[0] // 2 - i, x + mask.shape[1] // 2 - j
            if 0 <= row < height and 0 <= column < width:
                total += mask[i, j] * image[row, column]
    out[y, x] = total


def launch(image, mask, out):
    block = (32, 8)
    grid = (-(-out.shape[1] // block[0]), -(-out.shape[0] // block[1]))
    kernel[grid, block](image, mask, out)
