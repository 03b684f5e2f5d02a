"""Wavelet transforms of sinograms, and the slow part of a column; float32 and C-contiguous, no workspace.

``taps`` float32 (2, F) are a wavelet's low and high decomposition filters. Lines are mirrored at their ends, d c b a | a b c d, and
``low[k] = sum_j taps[0, j] line[2 k + 1 - j]``, so that a line of w gives (w + F - 1) // 2 values each.

* ``analyse_rows(lines, taps, low, high)``: (n, m, w) to (n, m, h) both.
* ``analyse_columns(lines, taps, low)``: (n, m, w) to (n, h, w), the low one alone.
* ``synthesise_columns(low, taps, lines)``: (n, h, w) to (n, m, w), ``lines[i] = sum_k taps[0, 2 k + 1 - i] low[k]``.
* ``synthesise_rows(low, high, taps, lines, both=, off=)``: (n, m, h) both to (n, m, w), the sum of the two; without ``both`` low is
  not read, with ``off`` the result is taken off what ``lines`` holds.
* ``project(lines, basis, found)``: (n, m, w) and (j, m) to (n, j, w), ``found[j, x] = sum_a basis[j, a] lines[a, x]``.
* ``expand(found, basis, lines)``: the other way, ``lines[a, x] = sum_j basis[j, a] found[j, x]``.
"""
