"""A tile in dynamic shared memory: its size is a launch argument, so any mask that fits on chip will do."""

import examples.ladder  # noqa: F401, I001  (prepares NumPy for numba-cuda)
from numba import cuda, float32

BLOCK = 32


@cuda.jit
def kernel(image, mask, out):
    tile = cuda.shared.array(0, float32)
    height, width = image.shape
    high, wide = BLOCK + mask.shape[0] - 1, BLOCK + mask.shape[1] - 1
    above, left = mask.shape[0] // 2, mask.shape[1] // 2
    x0, y0 = cuda.blockIdx.x * BLOCK, cuda.blockIdx.y * BLOCK
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(ty, high, BLOCK):
        for j in range(tx, wide, BLOCK):
            row, column = y0 + i - (mask.shape[0] - 1 - above), x0 + j - (mask.shape[1] - 1 - left)
            inside = 0 <= row < height and 0 <= column < width
            tile[i * wide + j] = image[row, column] if inside else float32(0)
    cuda.syncthreads()
    if y0 + ty < height and x0 + tx < width:
        total = float32(0)
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                total += mask[mask.shape[0] - 1 - i, mask.shape[1] - 1 - j] * tile[(ty + i) * wide + tx + j]
        out[y0 + ty, x0 + tx] = total


def launch(image, mask, out):
    grid = (-(-out.shape[1] // BLOCK), -(-out.shape[0] // BLOCK))
    nbytes = (BLOCK + mask.shape[0] - 1) * (BLOCK + mask.shape[1] - 1) * 4
    kernel[grid, (BLOCK, BLOCK), 0, nbytes](image, mask, out)
