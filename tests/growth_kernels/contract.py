"""Kernels of operations that live in the tests alone; none needs workspace.

``launch("tests.growth_kernels:unsharp", lines, out, first=, start=, total=)``: rows of the first axis, float32. ``out`` begins with
row ``first`` and ``lines`` with row ``start`` of ``total``, at whose ends borders are clamped::

    out[z] = 2 lines[z] - mean of lines[z - 3] .. lines[z + 3]

``launch("tests.growth_kernels:off_mean", stack, out)``: ``out[a] = stack[a] - mean over a of stack``.
"""

REACH = 3
"""Rows to both sides."""
