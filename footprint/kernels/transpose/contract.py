"""The first two axes of a stack exchanged; no workspace.

``launch("transpose", stack, out)``: float32 (n, m, n_x) to (m, n, n_x), ``out[j, i] = stack[i, j]``.
"""
