"""Mark pixels over a level."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Array, Memory, described, finished, output, receive, shared, where
from footprint.api._call import call, plan_verb
from footprint.api._recall import again, looks, remember
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.threshold import Threshold
from footprint.plan.plan import Plan
from footprint.spec import ArraySpec

# Names of the axes of an array, the last of them the most usual.
_AXES = "abcdefghijklmnopqrstuvwzyx"


def threshold(
    image: Any, level: float, *, background: float = 0.0, out: Any = None, memory: Memory = None, device: str = "auto"
) -> Any:
    """Mark the finite pixels with image - background > level, compared in float64.

    Parameters
    ----------
    image : array of any shape
        Real numbers of any dtype, byte order and strides.
    level, background : float
        For pixels over five sigma: ``level=5 * clip.std, background=clip.median``.
    out : bool array of the image's shape, optional
        Where the mask goes.
    memory : str, int or float, optional
        The most memory the run may take beyond the arrays you pass in.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    bool array of the image's shape

    Raises
    ------
    ArgumentError, ShapeError, BudgetError
        A level that is not a number, an ``out`` that does not fit, a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> fp.threshold(np.array([1.0, np.nan, 3.0]), 2)
    array([False, False,  True])
    """
    look = looks("threshold", (level, background, memory, device), image, out)
    found = again(look, [image], out, lambda mask: mask.view(np.uint8))
    if found is not None:
        return found
    source = receive(image, "image")
    op = _op(level, background, source.data.ndim)
    shape = tuple(source.data.shape)
    target = output(out, ArraySpec(shape, "bool"), source)
    if target.data.dtype != np.dtype(bool):
        raise ShapeError("out", f"dtype {target.data.dtype}", "bool")
    if out is not None and out is not image and shared(source, target):
        raise ArgumentError("out", "memory shared with image", "memory of its own, or image itself")
    if source.spec.size == 0:
        return finished(target, out)
    # One byte either way: kernels write it as a number.
    marks = Array(target.data.view(np.uint8), target.kind, target.device)
    key = call("threshold", op, [source], [marks], where(device, source, target), memory)
    remember(look, key, ArraySpec(shape, "bool"))
    return finished(target, out)


def plan_threshold(
    shape: tuple[int, ...],
    level: float = 0.0,
    *,
    dtype: str = "float32",
    background: float = 0.0,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `threshold` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    dtype : str
        Of the image.
    level, background, memory, device
        As in `threshold`.

    Returns
    -------
    Plan
        Its output is the mask as bytes of 0 and 1.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_threshold((512, 512), device="cpu").nbytes
    0
    """
    spec, _ = described(shape, dtype)
    return plan_verb("threshold", _op(level, background, len(spec.shape)), [spec], where(device), memory)


def _op(level: Any, background: Any, n_axes: int) -> Threshold:
    numbers = []
    for name, value in (("level", level), ("background", background)):
        try:
            numbers.append(float(value))
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(name, repr(value), "a number") from None
        if np.isnan(numbers[-1]):
            raise ArgumentError(name, value, "a number")
    return Threshold(numbers[0], numbers[1], _AXES[len(_AXES) - min(n_axes, len(_AXES)) :].rjust(n_axes, "."))
