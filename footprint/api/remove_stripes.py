"""Remove stripes from sinograms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._tomo import on_stack, planned_stack
from footprint.errors import ArgumentError, choose
from footprint.ops.base import Op
from footprint.ops.fourier_wavelet import FourierWavelet
from footprint.ops.remove_stripes import METHODS, SYNONYMS, RemoveStripes
from footprint.ops.wavelets import NAMES
from footprint.plan.plan import Plan

_SIZES = {"sorting": 21, "large": 61, "dead": 61, "all": 61}
# The settings that say something in each method.
_USED = {
    **dict.fromkeys(("mean", "mean-division", "double-flatfield"), ("sigma",)),
    "sorting": ("size",),
    **dict.fromkeys(("large", "dead"), ("snr", "size")),
    "all": ("snr", "size", "small"),
    "fw": ("sigma", "level", "wavelet"),
}
# What they are where nobody says; None where that is the method's own.
_USUAL = {"small": 21, "snr": 3.0, "level": 7, "wavelet": "sym16"}


def remove_stripes(
    sinogram: Any,
    method: str = "sorting",
    *,
    size: int | None = None,
    small: int = 21,
    snr: float = 3.0,
    sigma: float | None = None,
    level: int = 7,
    wavelet: str = "sym16",
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Remove stripes from a sinogram: what does not change from angle to angle, and would make rings in a slice.

    Parameters
    ----------
    sinogram : array (n_angles, n_x) or (n_z, n_angles, n_x)
        Any real dtype; computed in float32. Line integrals, with no NaN.
    method : str
        ``mean``: subtract what a Gaussian of ``sigma`` removes from the mean over angles; ``mean-division``: divide by it.
        ``double-flatfield``: the same with -log of the mean transmission, exp(-line), which is what a second flat field made of all
        projections removes. ``sorting``: every column's values in order, medians over ``size`` columns of equal rank, back to their
        angles; for stripes of a few pixels that vary slowly. ``large``: columns divided by the ratio of their mean to that of their
        neighbours' medians, and replaced if they stand out by more than ``snr``; for broad stripes. ``dead``: columns that
        fluctuate far less or more than others are interpolated, then ``large``. ``all``: ``dead``, then ``sorting`` over ``small``
        columns. ``fw``: remove slow variations along the angle from the details along x, in ``level`` levels of a wavelet
        transform.
    size : int, optional
        Columns of the median: 21, or 61 for ``large``, ``dead`` and ``all``.
    small : int
        Columns of the sorting that ends ``all``.
    snr : float
        How far outside the noise a column must be to count as a stripe; a smaller number finds more.
    sigma : float, optional
        For ``mean`` and the like, in columns: 30. For ``fw``, in periods over all angles: 1; larger removes more.
    level, wavelet : int, str
        For ``fw``: how many times the sinogram is halved, and the wavelet: haar, db2, db4, db5, db8, db15, sym4, sym8 or sym16.
    out : array like the sinogram, optional
        Where the result goes: a floating array, or ``sinogram`` itself.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        ``out``, or a new float32 array of the sinogram's shape. The bits are the same whatever ``memory`` allows.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays or settings do not fit, or not one sinogram fits ``memory``.

    Notes
    -----
    ``sorting``, ``large``, ``dead`` and ``all`` are algorithms 3, 5, 6 and all of Vo, Atwood and Drakopoulos, Optics Express 26,
    28396 (2018), with its defaults; ``fw`` is the filter of Munch et al., Optics Express 17, 8567 (2009), sinograms mirrored at
    their ends. All need all angles of a slice at once.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> sinogram = np.ones((4, 9)) + np.arange(4)[:, None]
    >>> sinogram[:, 4] += 5
    >>> fp.remove_stripes(sinogram, "sorting", size=3)[:, 4]
    array([1., 2., 3., 4.], dtype=float32)
    """
    op = stripes_of(method, size, small, snr, sigma, level, wavelet)
    return on_stack("remove_stripes", "sinogram", sinogram, op, out, memory, device)


def plan_remove_stripes(
    shape: tuple[int, ...],
    method: str = "sorting",
    *,
    dtype: str = "float32",
    size: int | None = None,
    small: int = 21,
    snr: float = 3.0,
    sigma: float | None = None,
    level: int = 7,
    wavelet: str = "sym16",
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `remove_stripes` of a C-contiguous sinogram, or stack of them, of this shape and dtype.

    Parameters
    ----------
    shape, dtype
        Of the sinogram.
    method, size, small, snr, sigma, level, wavelet, memory, device
        As in `remove_stripes`.

    Returns
    -------
    Plan
        Its chunks are slices.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_remove_stripes((8, 180, 256), "all", device="cpu").n_parts
    1
    """
    op = stripes_of(method, size, small, snr, sigma, level, wavelet)
    return planned_stack("remove_stripes", shape, dtype, op, memory, device)


def stripes_of(
    method: Any,
    size: int | None = None,
    small: int = 21,
    snr: float = 3.0,
    sigma: float | None = None,
    level: int = 7,
    wavelet: str = "sym16",
) -> Op:
    """The operation of a method by its name, or a peer's, every setting checked."""
    word = SYNONYMS.get(method, method) if isinstance(method, str) else method
    choose("method", word, (*METHODS, "fw"))
    given = {"size": size, "small": small, "snr": snr, "sigma": sigma, "level": level, "wavelet": wavelet}
    size = _SIZES.get(word, 21) if size is None else size
    for what, value in (("size", size), ("small", small)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ArgumentError(what, repr(value), "a whole number of columns, 1 or more")
    snr, sigma = _above("snr", snr), _above("sigma", (1.0 if word == "fw" else 30.0) if sigma is None else sigma)
    if not isinstance(level, int | np.integer) or isinstance(level, bool) or not 1 <= level <= 16:
        raise ArgumentError("level", repr(level), "a whole number from 1 to 16")
    choose("wavelet", wavelet, NAMES)
    for what, setting in given.items():
        if what not in _USED[word] and setting != _USUAL.get(what):
            raise ArgumentError(what, repr(setting), f"only what {word!r} uses: {', '.join(_USED[word])}")
    if word == "fw":
        return FourierWavelet(wavelet, int(level), sigma)
    return RemoveStripes(word, int(size), int(small), snr, sigma)


def check_used(name: str, settings: Any) -> None:
    """Raise where a mapping of settings, an argument ``name``, has one that its method does not use."""
    if not isinstance(settings, Mapping) or not isinstance(settings.get("method"), str):
        return
    method = str(settings["method"])
    method = SYNONYMS.get(method) or method
    known = {each for used in _USED.values() for each in used}
    idle = [key for key in settings if key in known.difference(_USED.get(method, known))]
    if idle:
        wanted = f"only what {method!r} uses: {', '.join(_USED[method])}"
        raise ArgumentError(name, f"the setting {idle[0]!r}", wanted)


def _above(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (np.isfinite(number) and 0 < number <= 1e6):
        raise ArgumentError(name, repr(value), "a number above 0")
    return number
