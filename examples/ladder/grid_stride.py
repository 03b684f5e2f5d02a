"""A grid-stride loop: as many groups as the chip runs at once, each thread takes many outputs."""

import examples.ladder  # noqa: F401, I001  (prepares NumPy for numba-cuda)
from numba import cuda


@cuda.jit
def kernel(image, mask, out):
    height, width = image.shape
    x0, y0 = cuda.grid(2)
    across, down = cuda.gridsize(2)
    for y in range(y0, height, down):
        for x in range(x0, width, across):
            total = 0.0 * mask[0, 0]
            for i in range(mask.shape[0]):
                for j in range(mask.shape[1]):
                    row, column = y + mask.shape[0] // 2 - i, x + mask.shape[1] // 2 - j
                    if 0 <= row < height and 0 <= column < width:
                        total += mask[i, j] * image[row, column]
            out[y, x] = total


def launch(image, mask, out):
    block = (32, 8)
    cores = cuda.get_current_device().MULTIPROCESSOR_COUNT
    across = -(-out.shape[1] // block[0])
    kernel[(across, max(1, min(-(-out.shape[0] // block[1]), 8 * cores // across + 1))), block](image, mask, out)
