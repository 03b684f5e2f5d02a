"""One source or two: models fitted to what is left in windows, where noise is correlated."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from footprint.kernels.common.jit import njit
from footprint.kernels.pairs.contract import (
    BETTER,
    CENTRE_X,
    CENTRE_Y,
    HEIGHT,
    JOINED,
    LARGE,
    LEAST,
    LEVEL,
    LONG,
    MOST,
    MOVES,
    NEAR,
    NOISE,
    NUGGET,
    OTHER,
    PARTS,
    REFITS,
    SECOND,
    SHAPE,
    SMALL,
    WIDE,
    X,
    Y,
)
from footprint.kernels.pairs.models import BOTH, POINT, START, TWO, brightest_left, factor, fit, tell, whiten
from footprint.kernels.pairs.models import SHAPE as ONE


@njit(cache=True, nogil=True)
def _gather(row, radius, step, steps, given, beam, at):
    """Places and values of a window's pixels, in noises, with the row's own Gaussian put back; how many."""
    side, n = 2 * radius + 1, 0
    # An ellipse of the beam's shape, and as large as a circle of so many steps.
    most = (steps * step) ** 2 * math.sqrt(beam[0] * beam[2] - beam[1] * beam[1]) * (1 + 1e-9)
    for j in range(-(radius // step), radius // step + 1):
        for i in range(-(radius // step), radius // step + 1):
            y, x = j * step, i * step
            value = row[(radius + y) * side + radius + x]
            if beam[0] * y * y + 2 * beam[1] * y * x + beam[2] * x * x > most or math.isnan(value):
                continue
            dy, dx = y - given[Y], x - given[X]
            e = given[SHAPE] * dy * dy + 2 * given[SHAPE + 1] * dy * dx + given[SHAPE + 2] * dx * dx
            at[0, n], at[1, n] = y, x
            at[2, n] = (value - given[LEVEL] + given[HEIGHT] * math.exp(-0.5 * e)) / given[NOISE]
            n += 1
    return n


@njit(cache=True, nogil=True)
def _correlate(at, n, noise, root):
    """The covariance of the noise at these places, and its root; whether there is one."""
    for i in range(n):
        for j in range(i):
            dy, dx = at[0, i] - at[0, j], at[1, i] - at[1, j]
            root[i, j] = noise[0] * math.exp(-0.25 * (noise[1] * dy * dy + 2 * noise[2] * dy * dx + noise[3] * dx * dx))
        root[i, i] = 1 + NUGGET
    return factor(root, n)


@njit(cache=True, nogil=True)
def _long(yy, yx, xx):
    """The standard deviation along the longer axis of an inverse covariance, and that axis."""
    half, mean = 0.5 * (yy - xx), 0.5 * (yy + xx)
    spread = math.hypot(half, yx)
    turn = 0.5 * math.atan2(-yx, half)
    # Along it the exponent is least.
    return 1 / math.sqrt(max(mean - spread, 1e-300)), math.sin(turn), math.cos(turn)


@njit(cache=True, nogil=True)
def _high(chi, parameters, n):
    """How high, in noises, a source of a model has to be: more where the model leaves more than noise."""
    return LEAST * math.sqrt(max(1.0, chi / (n - parameters))) if chi < np.inf else np.inf


@njit(cache=True, nogil=True)
def _of_two(two, both, n, s):
    """Chi squared of two points, and of a point beside a Gaussian, with 2 a parameter; infinite where one of them is faint."""
    return (
        two + 12 if min(s[TWO, 0], s[TWO, 3]) >= _high(two, 6, n) else np.inf,
        both + 18 if min(s[BOTH, 0], s[BOTH, 3]) >= _high(both, 9, n) else np.inf,
    )


@njit(cache=True, nogil=True)
def _margin(best, n):
    """By how much chi squared of one has to be over the best of two: more where that leaves more than noise, as what else is there
    is fitted by whatever may be.
    """
    return BETTER * max(1.0, (best - 2 * MOST) / (n - MOST)) if best < np.inf else BETTER


@njit(cache=True, nogil=True)
def _choose(row, given, beam, noise, found, radius, step, root, at, b, s):
    """Fit one row's window anew, and say what it is."""
    length, across, along = _long(given[SHAPE], given[SHAPE + 1], given[SHAPE + 2])
    usual = _long(beam[0], beam[1], beam[2])[0]
    n = _gather(row, radius, step, LARGE if length > WIDE * usual else SMALL, given, beam, at)
    if n <= 2 * MOST or not _correlate(at, n, noise, root):
        return
    reach, q = radius * 1.5, s[START]
    for i in range(6):
        q[i] = given[HEIGHT + i]
    q[0] /= given[NOISE]
    one = fit(0, 1, ONE, np.inf, beam, reach, root, at, n, b, s)
    if not math.isfinite(one):
        return
    if length > LONG * usual:
        found[0] = MOVES
    shape = s[ONE]
    # What two can win at most is what one leaves; noise alone leaves more than half of its pixels' number.
    if one > BETTER + 0.5 * n:
        for i in range(3):
            q[i] = given[HEIGHT + i]
        q[0] /= given[NOISE]
        point = fit(1, 0, POINT, np.inf, beam, reach, root, at, n, b, s)
        length, across, along = _long(shape[3], shape[4], shape[5])
        far = math.sqrt(max(length * length - usual * usual, 0.25 * usual * usual))
        two = np.inf
        for way in (0.8, -0.8):
            q[0], q[1], q[2] = 0.6 * shape[0], shape[1] + way * far * across, shape[2] + way * far * along
            q[3], q[4], q[5] = 0.5 * shape[0], shape[1] - 1.5 * way * far * across, shape[2] - 1.5 * way * far * along
            two = fit(2, 0, TWO, two, beam, reach, root, at, n, b, s)
        if math.isfinite(point):
            left = brightest_left(1, 0, s[POINT], beam, at, n, b)
            for i in range(3):
                q[i], q[3 + i] = s[POINT, i], left[i]
            two = fit(2, 0, TWO, two, beam, reach, root, at, n, b, s)
        left = brightest_left(0, 1, shape, beam, at, n, b)
        for i in range(3):
            q[i] = left[i]
        for i in range(6):
            q[3 + i] = shape[i]
        both = fit(1, 1, BOTH, np.inf, beam, reach, root, at, n, b, s)
        two, both = _of_two(two, both, n, s)
        least = min(point + 6, one + 12) - _margin(min(two, both), n)
        if min(two, both) < least:
            found[0], found[1] = PARTS, one + 12 - min(two, both)
            if two <= both:
                tell(2, 0, s[TWO], beam, given[NOISE], root, at, n, b, s, found[2:])
            else:
                tell(1, 1, s[BOTH], beam, given[NOISE], root, at, n, b, s, found[2:])
            return
    if found[0] == MOVES:
        tell(0, 1, shape, beam, given[NOISE], root, at, n, b, s, found[2:])


@njit(cache=True, nogil=True)
def _put(which, given, at, n, share, values):
    """Add a share of a row's Gaussian to values at places of the window of another, or of its own."""
    y, x = which[CENTRE_Y] + which[Y] - given[CENTRE_Y], which[CENTRE_X] + which[X] - given[CENTRE_X]
    for i in range(n):
        dy, dx = at[0, i] - y, at[1, i] - x
        e = which[SHAPE] * dy * dy + 2 * which[SHAPE + 1] * dy * dx + which[SHAPE + 2] * dx * dx
        values[i] += share * which[HEIGHT] * math.exp(-0.5 * e) / given[NOISE]


@njit(cache=True, nogil=True)
def _start(which, given, shaped, q):
    """Start a source from where a row has it."""
    q[0] = which[HEIGHT] / given[NOISE]
    q[1], q[2] = which[CENTRE_Y] + which[Y] - given[CENTRE_Y], which[CENTRE_X] + which[X] - given[CENTRE_X]
    for i in range(3 if shaped else 0):
        q[3 + i] = which[SHAPE + i]


@njit(cache=True, nogil=True)
def _couple(row, given, other, beam, noise, found, radius, step, root, at, b, s):
    """Fit two rows anew that are near each other, in the window of one of them, and say whether they are one, or lie elsewhere."""
    n = _gather(row, radius, step, LARGE, given, beam, at)
    if n <= 2 * MOST or not _correlate(at, n, noise, root):
        return
    for i in range(n):
        b[i, 0] = at[2, i]
    _put(given, given, at, n, -1.0, b[:, 0])
    now = whiten(root, n, b, 1) + 24
    _put(other, given, at, n, 1.0, at[2])
    reach, q = radius * 1.5, s[START]
    one = two = both = np.inf
    for way in range(2):
        bright, faint = (given, other) if way == 0 else (other, given)
        _start(bright, given, True, q)
        one = fit(0, 1, ONE, one, beam, reach, root, at, n, b, s)
        _start(bright, given, False, q)
        _start(faint, given, True, q[3:])
        both = fit(1, 1, BOTH, both, beam, reach, root, at, n, b, s)
    _start(given, given, False, q)
    point = fit(1, 0, POINT, np.inf, beam, reach, root, at, n, b, s)
    _start(given, given, False, q)
    _start(other, given, False, q[3:])
    two = fit(2, 0, TWO, np.inf, beam, reach, root, at, n, b, s)
    if math.isfinite(one):
        left = brightest_left(0, 1, s[ONE], beam, at, n, b)
        for i in range(3):
            q[i] = left[i]
        for i in range(6):
            q[3 + i] = s[ONE, i]
        both = fit(1, 1, BOTH, both, beam, reach, root, at, n, b, s)
    two, both = _of_two(two, both, n, s)
    # What is as high as noise, or below it, is no source either: beside something large a point may take the place of both.
    point = point if s[POINT, 0] >= LEAST else np.inf
    one = one if s[ONE, 0] >= LEAST else np.inf
    double, single = min(two, both), min(point + 6, one + 12)
    best = min(double, now)
    if single < np.inf and best > single - _margin(best, n):
        found[0], found[1] = JOINED, single - best
        if point + 6 <= one + 12:
            tell(1, 0, s[POINT], beam, given[NOISE], root, at, n, b, s, found[2:])
        else:
            tell(0, 1, s[ONE], beam, given[NOISE], root, at, n, b, s, found[2:])
    elif double <= now:
        found[0], found[1] = REFITS, single - best
        if two <= both:
            tell(2, 0, s[TWO], beam, given[NOISE], root, at, n, b, s, found[2:])
        else:
            tell(1, 1, s[BOTH], beam, given[NOISE], root, at, n, b, s, found[2:])


@njit(cache=True, nogil=True)
def _nearest(k, given, near):
    """Of rows that are in order along y the one nearest to this, within ``near`` pixels; -1 for none."""
    y, x, best, least = given[k, 0] + given[k, Y], given[k, 1] + given[k, X], -1, near * near
    for way in (-1, 1):
        j = k + way
        while 0 <= j < given.shape[0]:
            dy, dx = given[j, 0] + given[j, Y] - y, given[j, 1] + given[j, X] - x
            if not abs(dy) < near:
                break
            if dy * dy + dx * dx < least:
                best, least = j, dy * dy + dx * dx
            j += way
    return best


@njit(cache=True, nogil=True)
def _looks(k, other, given):
    """Whether a row is the one in whose window both are fitted anew: the higher, where a second search found either."""
    height, its = given[k, HEIGHT], given[other, HEIGHT]
    return (given[k, SECOND] > 0 or given[other, SECOND] > 0) and (height > its or (height == its and k < other))


@njit(cache=True, parallel=True, nogil=True)
def _split(rests, given, beam, noise, found, root, at, b, s, radius, step, first, near):
    n, threads = rests.shape[0], root.shape[0]
    for t in prange(threads):
        # One after the other by turns: what is near is alike, and would be one thread's.
        for i in range(t, n, threads):
            k = first + i
            found[i] = 0.0
            if not (math.isfinite(given[k, HEIGHT]) and given[k, NOISE] > 0):
                continue
            other = _nearest(k, given, near)
            if other >= 0 and _nearest(other, given, near) == k:
                if _looks(k, other, given):
                    found[i, OTHER] = other
                    _couple(rests[i], given[k], given[other], beam, noise, found[i], radius, step, root[t], at[t], b[t], s[t])
                continue
            _choose(rests[i], given[k], beam, noise, found[i], radius, step, root[t], at[t], b[t], s[t])


def split(rests, given, beam, noise, found, root, at, b, s, *, step, first) -> None:
    """See `footprint.kernels.pairs.contract`."""
    radius = (math.isqrt(rests.shape[1]) - 1) // 2
    width = 2 * math.sqrt(2 * math.log(2)) / (beam[0] * beam[2] - beam[1] * beam[1]) ** 0.25
    _split(rests, given, beam, noise, found, root, at, b, s, radius, step, first, NEAR * width)
