"""Unsharp masks of projections; float32, no workspace. Beyond the detector there is its mirror image, c b a | a b c d.

``weights`` (R + 1,) are those of a Gaussian, the middle first.

* ``blur_rows(lines, weights, blurred)``: (n, m, n_x) to (n m, n_x), along x.
* ``sharpen(lines, blurred, weights, out, amount=, z0=, y0=, total=)``: ``out`` (n, k, n_x) is (1 + amount) times what is there less
  amount times ``blurred``, blurred along z; ``lines`` begin with row ``z0`` of ``total``, the result with row ``y0``.
"""
