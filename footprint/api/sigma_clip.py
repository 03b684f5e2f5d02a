"""Clip an image's outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, described, where
from footprint.api._blank import blanked, plain_of, without_pixels
from footprint.api._call import call, planned
from footprint.api._image import Image, foretold, from_file, host, see
from footprint.api._recall import looks, recall, remember, replay
from footprint.api._units import refuse_parts, unmasked
from footprint.errors import flag
from footprint.kernels.sigma_clip.contract import COUNT, HIGH, ITERATIONS, LOW, MEAN, MEDIAN, STD
from footprint.ops.sigma_clip import SigmaClip, as_rows, check_maxiters, check_positive
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

# Statistics before there are any: copied, as to fill an array anew takes five times as long.
_NOTHING = np.full(8, np.nan)


@dataclass(frozen=True)
class Clip:
    """Statistics of the pixels left after clipping.

    Attributes
    ----------
    mean, median, std
        Of the pixels left, in float64; the std is that of the population.
    low, high
        The last bounds.
    count
        Pixels left.
    iterations
        Clips made, the last that changed nothing among them.
    """

    mean: float
    median: float
    std: float
    low: float
    high: float
    count: int
    iterations: int


def sigma_clip(
    image: Any,
    sigma: float = 3.0,
    *,
    maxiters: int | None = None,
    strict: bool = True,
    memory: Memory = None,
    device: str = "auto",
) -> Clip:
    """Clip at median -+ sigma std repeatedly until nothing changes, and describe what is left.

    Count and median are exactly those of a sort in float64, though no pixel is moved. Values that are not finite are ignored. A
    clip that would leave nothing, as in a constant image, is skipped.

    Parameters
    ----------
    image : array of any shape, a FITS HDU, or an open image with ``read(rows, out)``
        Real numbers of any dtype, byte order and strides; with more than two axes on a device, C-contiguous. Not copied; if kernels
        cannot read it in place, blocks of rows are copied. Masked pixels of a masked array are left out, like NaN.
    sigma : float
        Half the width that is kept, in standard deviations.
    maxiters : int, optional
        The most clips; with None, until nothing changes (astropy's default is 5).
    strict : bool
        Keep low < x < high; False keeps low <= x <= high, as astropy does.
    memory : str, int or float, optional
        The most memory the run may take beyond the image.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    Clip
        mean, median, std, low, high, count, iterations.

    Raises
    ------
    ShapeError
        An empty image, or one without a finite pixel.
    ArgumentError, BudgetError
        A sigma that is not above 0, or a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> clip = fp.sigma_clip(np.array([1.0, 2.0, 3.0, 2.0, 1.0, 3.0, 2.0, 90.0]), sigma=2)
    >>> clip.count, clip.median
    (7, 2.0)
    """
    look = looks("sigma_clip", (sigma, maxiters, strict, memory, device), image) if getattr(image, "ndim", 0) == 2 else None
    stats, counts, known = _NOTHING.copy(), np.zeros(8, np.int64), recall(look)
    # One without a finite pixel goes on to the error.
    if known is not None and replay(known, [image], [stats, counts]) and counts[COUNT]:
        return clip_of(stats, counts, None)
    image = plain_of(image, "image", cube=True)
    refuse_parts(image, "image", "with numpy.nan where its .mask is set")
    pixels, mask = unmasked(image)
    seen = see(pixels, flat=True)
    if mask is not None:
        seen, _ = blanked(seen, "nan", {"mask": np.reshape(mask, seen.spec.shape)})
    op = _op(sigma, maxiters, strict)
    key = call("sigma_clip", op, [seen.face], [host(stats), host(counts)], seen.where(device), memory)
    remember(look, key, ArraySpec(stats.shape, "float64"))
    return clip_of(stats, counts, seen)


def clip_of(stats: np.ndarray, counts: np.ndarray, image: Image | None) -> Clip:
    """The clip's result, or an error where no pixel is finite."""
    if counts[COUNT] == 0:
        assert image is not None
        raise without_pixels(image)
    numbers = stats.tolist()
    found = numbers[MEAN], numbers[MEDIAN], numbers[STD], numbers[LOW], numbers[HIGH]
    return Clip(*found, int(counts[COUNT]), int(counts[ITERATIONS]))


def plan_sigma_clip(
    shape: tuple[int, ...],
    sigma: float = 3.0,
    *,
    dtype: str = "float32",
    maxiters: int | None = None,
    strict: bool = True,
    streamed: bool = False,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `sigma_clip` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    dtype : str
        Of the image.
    streamed : bool
        Whether it comes from a file.
    sigma, maxiters, strict, memory, device
        As in `sigma_clip`.

    Returns
    -------
    Plan
        Its outputs are statistics and counts.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_sigma_clip((8192, 8192), device="cpu").footprint.total < 8192**2
    True
    """
    spec, _ = described(shape, dtype)
    spec = ArraySpec(as_rows(spec.shape), spec.dtype)
    op = _op(sigma, maxiters, strict)
    ins = [from_file(spec, None)] if streamed else foretold(spec)
    return planned("sigma_clip", op, ins, foretold(*op.out_specs(spec)), where(device), memory)


def _op(sigma: float, maxiters: int | None, strict: bool) -> SigmaClip:
    return SigmaClip(check_positive("sigma", sigma), check_maxiters(maxiters), flag("strict", strict))
