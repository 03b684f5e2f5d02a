"""Kernels of the tests' own operations: NumPy, one row or one slice at a time, so that no result depends on how a job is cut."""

from __future__ import annotations

import time

import numpy as np


def mix(out, *sources, salt):
    """Depends on every source and on which step it is; a line counts in every row, fewer rows as far as they go."""
    out[...] = salt % 7
    for source in sources:
        if source.ndim < out.ndim:
            out += np.float32(0.25) * source
        else:
            out[: len(source)] += np.float32(0.25) * source[: len(out)]


def add(out, source):
    """Accumulate: the old content matters."""
    out[: len(source)] += np.float32(0.125) * source[: len(out)]


def tally(state, x):
    """Accumulate row by row, in order."""
    for row in x:
        state *= np.float32(0.5)
        state += row


def blend(out, x, state):
    out[...] = x + np.float32(0.5) * state


def count(flag, turn, last):
    flag[0] = turn >= last


def flat(x, light, dark, out):
    np.subtract(x, dark, out=out)
    out /= light - dark


def minus_log(x, out):
    np.maximum(x, 1e-6, out=out)
    np.log(out, out=out)
    np.negative(out, out=out)


def smooth(x, out, taps, start, y0, total):
    """A filter along the middle axis; beyond the detector's first and last row their values go on.

    ``y0`` is the detector's row of the first result, ``start`` the row of the block that it lies on.
    """
    half = len(taps) // 2
    for row in range(out.shape[1]):
        at = [min(max(y0 + row + k - half, 0), total - 1) - y0 + start for k in range(len(taps))]
        out[:, row] = sum(t * x[:, i] for t, i in zip(taps, at))


def ripple(x, out, taps, x0, y0):
    """The same where rows beyond an end are those of the other end: a part finds them in its window."""
    half = len(taps) // 2
    for row in range(out.shape[1]):
        at = [y0 + row + k - half - x0 for k in range(len(taps))]
        out[:, row] = sum(t * x[:, i % x.shape[1]] for t, i in zip(taps, at))


def shift(x, moves, out, x0, y0, total):
    for image, move, result in zip(x, moves, out):
        for row in range(out.shape[1]):
            at = min(max(y0 + row + move, 0), total - 1)
            low = min(int(np.floor(at)), total - 1)
            high, part = min(low + 1, total - 1), at - low
            result[row] = (1 - part) * image[low - x0] + (part * image[high - x0] if part else 0)


def mean(x, out):
    out[...] = 0
    for image in x:
        out += image
    out /= len(x)


def subtract(x, mean, out):
    np.subtract(x, mean, out=out)


def transpose(x, out):
    out[...] = x.transpose(1, 0, 2)


def zero(out):
    out[...] = 0


def gather(lines, angles, out):
    """Add the lines of some angles to an image of every slice, angle by angle."""
    n = out.shape[-1]
    at = np.arange(n) - (n - 1) / 2
    for a, angle in enumerate(angles):
        hit = np.rint(np.add.outer(at * np.sin(angle), at * np.cos(angle) + (n - 1) / 2)).astype(int)
        inside = (hit >= 0) & (hit < n)
        for image, line in zip(out, lines):
            image += np.where(inside, line[a][np.clip(hit, 0, n - 1)], 0)


def scale(out, factor):
    out *= factor


def clip(x, state, row):
    """Add what lies between the limits, row by row."""
    low, high = (state[1], state[2]) if state[0] else (-np.inf, np.inf)
    for line in x.reshape(-1, x.shape[-1]):
        inside = (line > low) & (line < high)
        np.multiply(line, inside, out=row)
        state[3] += inside.sum()
        state[4] += row.sum()
        state[5] += np.multiply(row, row, out=row).sum()


def clip_end(state, done, sigma):
    n, mean = state[3], state[4] / state[3]
    std = np.sqrt(max(state[5] / n - mean * mean, 0))
    done[0] = state[6] == n
    state[:] = state[0] + 1, mean - sigma * std, mean + sigma * std, 0, 0, 0, n, mean


def share(x, state, out):
    np.subtract(x, state[7], out=out)


def nap(x, out, seconds):
    time.sleep(seconds)
    out[...] = x


def fail(x, out, y0, at):
    if y0 >= at:
        raise IndexError(f"row {y0}")
    out[...] = x
