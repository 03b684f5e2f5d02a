"""Convolve and correlate signals and images."""

from __future__ import annotations

from typing import Any

from footprint.api._arrays import Memory
from footprint.api._filtered import Asked, filtered, planned_sums
from footprint.api._sides import given_beside
from footprint.kernels.common.borders import shows_borders
from footprint.plan.plan import Plan


@shows_borders("boundary")
def convolve(
    image: Any,
    mask: Any,
    mode: str = "same",
    *,
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    origin: int | tuple[int, ...] = 0,
    axes: Any = None,
    masks: str = "one",
    method: str = "auto",
    dtype: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Convolve a signal, an image or a volume with a mask, out[y, x] = sum of mask[i, j] image[y + c_y - i, x + c_x - j].

    Direct sums take every tap: no weight is too small to count, and float32 results are within 1e-6 of the sum of ``|mask|
    |image|`` under masks of any size, on every device. See ``method`` for the others, which differ by rounding only.

    Parameters
    ----------
    image : array (n_x,), (n_y, n_x), (n_z, n_y, n_x), or with more axes
        Numbers of any dtype, byte order and strides; bool and integers of 8 and 16 bits are read as they are stored. NaN and
        infinities spread to every output they touch, also under a weight of zero, as 0 times NaN is NaN (scipy.ndimage leaves such
        weights out), unless ``nan`` says otherwise. The unit of an astropy Quantity is kept, times the mask's; an NDData or CCDData
        with a mask, unit or uncertainty is refused.
    mask : array (k_x,), (k_y, k_x) or (k_z, k_y, k_x), or str
        Any size, odd or even, real or complex, with as many dimensions as the image, or as ``axes`` has entries. Or the name of
        one, as for the command: "gaussian:sigma=2" ("gaussian:fwhm=5", "gaussian:2,truncate=3"), "box:5" ("box:5x7"), "disk:7",
        "log:1.5", or of a file, as `open_image` reads it, or a ``.npy`` file with any number of axes.
    mode : {"same", "full", "valid"}
        The size of the result, with the conventions of ``scipy.signal.convolve``: "full" has n + k - 1 outputs an axis, "same" the
        n in the middle of them (starting at (k - 1) // 2, so c = (k - 1) // 2; for an even mask ``scipy.ndimage.convolve`` puts the
        centre one further), "valid" the n - k + 1 that reach nothing outside. If the mask is larger than the image there are none,
        so that is refused (SciPy swaps the two; do so yourself if you mean it, and see `correlate`).
    boundary : {"constant", "nearest", "reflect", "mirror", "wrap"}
        What lies outside: ``cval``; the last sample; abcd|dcba (numpy.pad's "symmetric"); abcd|cba (numpy.pad's "reflect");
        abcd|abcd. The notes have the names that other libraries give them, which are accepted where no two differ.
    cval : float
        Value outside for "constant"; NaN means that it is not known.
    nan : {"propagate", "interpolate", "ignore"}
        What to do about NaN in the image: it spreads; or each result is the sum over the pixels that are not NaN, divided by the
        share of the mask's sum that fell on them, and NaN where there are none (``astropy.convolution`` with
        ``normalize_kernel=False``; the mask's sum must be over a hundredth of that of its magnitudes); or NaN adds nothing
        (astropy's "fill" with 0).
    masked : array, optional
        Of the image's shape; pixels where it is not 0 are left out (``mask=`` of ``astropy.convolution``), as NaN is with
        ``nan="interpolate"``, or with "ignore" if you ask for that. With "propagate", NaN that is not masked still spreads. A
        ``numpy.ma`` array brings its own mask.
    weight : array, optional
        Of the image's shape: how much each pixel counts, (sum of mask weight image) times (sum of mask) / (sum of mask weight), the
        normalised convolution; pixels whose weight is not above 0 are left out. With ``nan="ignore"`` only the sum of mask weight
        image. The outside (``cval``) has no weight; with ``masked`` alone it counts as known, unless ``cval`` is NaN. If weight
        times image exceeds float32, as with variances in tiny units, scale the weights, or ask for ``dtype="float64"``.
    origin : int or tuple of int
        Moves the mask's centre c, along all axes or each, in mode "same"; 0 lies on it.
    axes : tuple of int, optional
        The axes of the image that the mask's axes stand for, in order; along the others every image is filtered on its own.
        Required if the image has more axes than the mask, and for a mask by name if the last of three has a length of 3 or 4, as a
        picture's colours do. On a device they are the image's last, in order.
    masks : {"one", "all", "each"}
        With "all" the mask's first axis counts masks: each of them filters the image, which is loaded once, and the result has that
        axis in front. With "each" the image's first axis counts images, and each is filtered by the mask with the same index.
    method : {"auto", "direct", "separable", "fft"}
        "direct" sums, tap by tap. "fft": transforms of tiles (overlap-save) of signals, images and volumes; the weights are finite.
        Results are within 1e-6 (float64: 1e-14) of the sum of ``|mask|`` times the largest ``|image|`` of the tile, so next to
        something very much brighter, direct sums keep more digits; NaN and infinities reach what they reach in direct sums.
        "separable": the mask as a sum of products of a column and a row, found by its singular values until what is left is at most
        2^-24 of the sum of ``|mask|`` if mask or sums are float32, as a mask of that dtype is a product to no more digits (else
        2^-48); what is left out is missing from the sums; refused if it has too many. "auto" chooses "fft" if, from the shapes of
        image and mask alone, it is predicted to take at most 0.75 of the time of direct sums (0.85 on GPUs), as for large images
        and masks from about 11 x 11, 110 samples or 7 x 7 x 7, on GPUs 14 x 14. Otherwise, and with ``nan``, ``masked`` or
        ``weight``, it chooses "direct". If the two sums of a product are predicted to be faster still, it examines the weights of a
        mask in host memory, and chooses "separable" if every weight is, to 2^-22 (float64: 2^-48) of itself, the product of a
        column and a row, as in Gaussians and boxes. The choice does not depend on memory, threads or parts; the plan says which
        method, and why.
    dtype : dtype, optional
        Dtype of the sums and the result, "float32" or "float64" ("complex64", "complex128"); "float16" gives float32 sums, rounded
        at the end.
    out : array, optional
        Where the result goes: a floating array of the result's shape, apart from ``image``.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in: "2GB", bytes, or a share of the free memory. Rows are
        processed in blocks if the whole does not fit; the result is the same to the last bit.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        float32 for float16, float32, bool and integers of 8 and 16 bits; float64 for all others, unless ``dtype`` is
        given; where image or mask is complex, complex64 or complex128, by the image's precision. Sums have this dtype,
        and image and mask are rounded to it.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays do not fit together, a word is unknown, or not even one row fits ``memory``.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.convolve(np.array([1.0, 2.0, 4.0]), np.array([1.0, -1.0]), mode="full")
    array([ 1.,  1.,  2., -4.])
    """
    words = (mode, boundary, dtype, nan, origin, axes, method, masks)
    return filtered(image, mask, True, words, cval, given_beside(masked, weight), out, memory, device)


@shows_borders("boundary")
def correlate(
    image: Any,
    mask: Any,
    mode: str = "same",
    *,
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    origin: int | tuple[int, ...] = 0,
    axes: Any = None,
    masks: str = "one",
    method: str = "auto",
    dtype: Any = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Correlate a signal, an image or a volume with a mask, out[y, x] = sum of mask[i, j] image[y - k_y // 2 + i,
    x - k_x // 2 + j].

    The convolution with the mask flipped in every axis; all else as in `convolve`. In mode "same" tap k // 2 lies on the output, as
    in ``scipy.signal.correlate`` and ``scipy.ndimage.correlate``. The conjugate of a complex mask is used. A mask that is larger
    than the image has no "valid" outputs: with the two swapped the result is reversed along every axis, and conjugated.

    Parameters
    ----------
    image, mask, mode, boundary, cval, nan, masked, weight, origin, axes, masks, method, dtype, out, memory, device
        As in `convolve`.

    Returns
    -------
    array
        As in `convolve`.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.correlate(np.array([1.0, 2.0, 4.0]), np.array([-1.0, 1.0]), mode="valid")
    array([1., 2.])
    """
    words = (mode, boundary, dtype, nan, origin, axes, method, masks)
    return filtered(image, mask, False, words, cval, given_beside(masked, weight), out, memory, device)


@shows_borders("boundary")
def plan_convolve(
    shape: tuple[int, ...],
    mask: Any,
    mode: str = "same",
    *,
    dtype: str = "float32",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    origin: int | tuple[int, ...] = 0,
    axes: Any = None,
    masks: str = "one",
    method: str = "auto",
    mask_dtype: Any = None,
    result: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `convolve` of a C-contiguous image of this shape and dtype: every byte it will take, before any data.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    mask : tuple of int, array or str
        The mask's shape, or the mask itself, as in `convolve`: ``method="auto"`` looks at the weights, so only a plan made with the
        mask itself is the plan of the call. A shape alone is planned as a mask that is not separable.
    dtype : str
        Of the image.
    mode, boundary, cval, nan, origin, axes, masks, method, memory, device
        As in `convolve`; with "separable" and only the mask's shape, one product is planned.
    mask_dtype : dtype, optional
        Of the mask, if only its shape is given and it is complex.
    masked, weight : dtype, optional
        Dtypes of the arrays that the call will be given.
    result : dtype, optional
        The ``dtype`` of `convolve`.

    Returns
    -------
    Plan
        Bound, it takes the image, the mask in order of correlation (a convolution's flipped, ``np.flip(mask)``), ``masked`` and
        ``weight``. Where "auto" found the mask to be a product of a column and a row, or where all its weights are equal, or
        ``method`` is "separable", other masks must be such as well; where they are not, `ArgumentError` says so. A plan with
        "direct" takes any.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.plan_convolve((8192, 8192), (13, 13), memory="1GB", device="cpu").footprint.total < 10**9
    True
    >>> "separable" in fp.plan_convolve((8192, 8192), np.ones((13, 13)), device="cpu").notes[0]
    True
    """
    how = Asked.of(mode, boundary, result, nan, origin, axes, method, masks, "result")
    return planned_sums(shape, mask, True, how, (dtype, mask_dtype), cval, given_beside(masked, weight), memory, device)


@shows_borders("boundary")
def plan_correlate(
    shape: tuple[int, ...],
    mask: Any,
    mode: str = "same",
    *,
    dtype: str = "float32",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    origin: int | tuple[int, ...] = 0,
    axes: Any = None,
    masks: str = "one",
    method: str = "auto",
    mask_dtype: Any = None,
    result: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `correlate` of a C-contiguous image of this shape and dtype; as of `convolve`.

    Parameters
    ----------
    shape, mask, mode, dtype, boundary, cval, nan, masked, weight, origin, axes, masks, method, mask_dtype, result, memory, device
        As in `plan_convolve`.

    Returns
    -------
    Plan
        As of `plan_convolve`, but bound it takes the mask as `correlate` does: as it is, also a complex one.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_correlate((512, 512), (5, 5), boundary="wrap", device="cpu").n_parts
    1
    """
    how = Asked.of(mode, boundary, result, nan, origin, axes, method, masks, "result")
    return planned_sums(shape, mask, False, how, (dtype, mask_dtype), cval, given_beside(masked, weight), memory, device)
