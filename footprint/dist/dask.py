"""Footprint's verbs on Dask arrays: lazy in, lazy out, each block planned within the budget given.

Blocks of an image overlap by what the operation says a pixel needs of its neighbours; sinograms, projections and slices of a stack
are independent. Every task plans for itself, so ``memory`` bounds one task beside the arrays it reads and makes: a worker with
``n`` threads takes at most ``n`` times that. `task_plan` is the plan of the largest one.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from footprint.answers import answering, check_keywords
from footprint.api._arrays import on_host, receive, where
from footprint.api._filtered import Asked
from footprint.api._sides import given_beside
from footprint.api._turned import plan_turned
from footprint.api.convolve import convolve as _convolve
from footprint.api.convolve import correlate as _correlate
from footprint.api.convolve import plan_convolve, plan_correlate
from footprint.dist.blocks import apart, beside_image, check_lazy, da, largest, overlapped
from footprint.dist.door import mask_axes
from footprint.dist.lazy import (
    FILTERS,
    STACKS,
    Lazy,
    check_memory,
    filter_of,
    halos_of,
    operation,
    options_of,
    plan_of,
    stack_of,
    whole,
)
from footprint.dtypes import COMPLEX
from footprint.errors import ArgumentError, choose
from footprint.io.named_mask import mask_called
from footprint.ops.windows import reach_of
from footprint.plan.plan import Plan
from footprint.plan.slots import NOTHING, Halo
from footprint.spec import ArraySpec

SUMS: dict[str, Lazy] = {}
"""Sums with a mask: blocks overlap."""


@functools.partial(answering, home=__name__)
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
    origin: Any = 0,
    axes: Any = None,
    masks: str = "one",
    method: str = "auto",
    dtype: Any = None,
    out: Any = None,
    memory: Any = None,
    device: str = "auto",
) -> Any:
    """Convolve a Dask array with a mask, same size; as `footprint.convolve`, lazily, block by block with the mask's halo.

    Large masks go by transforms of tiles, or as products, as each block's shape decides; blocks then differ from the whole by
    rounding.

    Parameters
    ----------
    image : dask.array.Array (n_x,), (n_y, n_x), (n_z, n_y, n_x), or with more axes
        Any chunks of known size; Dask joins those smaller than the mask's halo. Chunks that are ``numpy.ma`` arrays, as those of
        ``dask.array.ma`` are, bring what is masked.
    mask : array (k_x,), (k_y, k_x) or (k_z, k_y, k_x), or str
        In memory.
    boundary : {"constant", "nearest", "reflect", "mirror", "wrap"}
        What lies outside.
    masked, weight : dask.array.Array or array, optional
        As in `footprint.convolve`, of the image's shape; in any chunks, which are brought to the image's.
    cval, nan, origin, axes, method, dtype, memory, device
        As in `footprint.convolve`; ``memory`` bounds one task.
    mode, masks, out
        As in `footprint.convolve`, where they ask for nothing that no lazy array has: "same", "one" and None.

    Returns
    -------
    dask.array.Array
        Not computed.

    Raises
    ------
    ArgumentError, ShapeError
        For an unknown boundary, a mask that is empty, or arrays that do not fit together, or are not numbers and of known size.
        What only the worker can know (the device, the budget) is refused there.
    """
    how: dict[str, Any] = {"boundary": boundary, "cval": cval, "nan": nan, "origin": origin, "axes": axes, "method": method}
    return _summed("convolve", image, mask, mode, masks, out, {"masked": masked, "weight": weight}, how, dtype, memory, device)


@functools.partial(answering, home=__name__)
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
    origin: Any = 0,
    axes: Any = None,
    masks: str = "one",
    method: str = "auto",
    dtype: Any = None,
    out: Any = None,
    memory: Any = None,
    device: str = "auto",
) -> Any:
    """Correlate a Dask array with a mask, same size; as `footprint.correlate`, lazily. All else as in `convolve`."""
    how: dict[str, Any] = {"boundary": boundary, "cval": cval, "nan": nan, "origin": origin, "axes": axes, "method": method}
    return _summed("correlate", image, mask, mode, masks, out, {"masked": masked, "weight": weight}, how, dtype, memory, device)


def _summed(
    verb: str, image: Any, mask: Any, mode: Any, masks: Any, out: Any, sides: dict[str, Any], how: dict[str, Any], dtype: Any,
    memory: Any, device: str,
) -> Any:  # fmt: skip
    """Convolve or correlate, block by block."""
    check_lazy("image", image, f"footprint.{verb}", COMPLEX)
    check_memory(memory)
    mask = apart(on_host(receive(_held(mask, how["axes"], image.shape, masks), "mask", COMPLEX).data))
    how = apart(how)
    image, beside = _with_sides(image, sides)
    kinds = {word: one.dtype for word, one in beside.items()}
    # All that is wrong with shapes, dtypes and numbers shows here and not in a worker; no device is needed for it.
    made, halos = _sums(verb, image, mask, (mode, masks, out), {**how, "result": dtype, **kinds}, image.shape, None, "null")

    def block(part: np.ndarray, *others: np.ndarray) -> np.ndarray:
        eager = _convolve if verb == "convolve" else _correlate
        given: dict[str, Any] = dict(zip(beside, others))
        return eager(part, mask, **how, dtype=dtype, memory=memory, device=device, **given)

    return overlapped(block, image, halos, made.outputs[0].spec.dtype, *beside.values())


def _held(mask: Any, axes: Any, shape: tuple[int, ...], masks: str) -> Any:
    """A mask, in memory where it is given by name: tasks have it with them."""
    if not isinstance(mask, str | os.PathLike):
        return mask
    count, whole = mask_axes(axes, shape)
    with mask_called(mask, count, masks, True, whole) as found:
        return np.asarray(found)


def _sums(
    verb: str, image: Any, mask: Any, ends: tuple[Any, ...], how: dict[str, Any], shape: tuple[int, ...] | None, memory: Any,
    device: str
) -> tuple[Plan, list[Halo]]:  # fmt: skip
    """The plan of sums of an image of this shape, or of the largest block, and what a pixel needs along every axis.

    ``ends`` are mode, masks and out, ``how`` the other arguments of `plan_convolve`; the mask may be a shape.
    """
    mode, masks, out = ends
    options_of({"out": out})
    if mode in ("full", "valid"):
        fix = "dask.array.pad the array first" if mode == "full" else "cut the ends off the result"
        raise ArgumentError("mode", repr(mode), "'same' for a Dask array, whose result has its chunks", fix)
    if masks != "one":
        raise ArgumentError("masks", repr(masks), "'one' for a Dask array", "call it for every mask")
    plan: Callable[..., Plan] = plan_convolve if verb == "convolve" else plan_correlate
    of = functools.partial(plan, mask=mask, mode=mode, dtype=image.dtype, **how)
    # No array is larger than the whole: what is wrong shows before anything is cut.
    made = of(image.shape, device="null")
    asked = Asked.of(mode, how["boundary"], None, how["nan"], how["origin"], how["axes"])
    along = range(image.ndim) if asked.axes is None else [axis % image.ndim for axis in asked.axes]
    taps = tuple(getattr(mask, "shape", mask))
    moves = asked.origin * len(taps) if len(asked.origin) == 1 else asked.origin
    halos = [NOTHING] * image.ndim
    for axis, k, move in zip(along, taps, moves):
        # Output y reads rows y - k // 2 to y - k // 2 + k - 1 where the mask is not moved; a convolution's is turned round.
        halos[axis] = reach_of(-(k // 2) + (move if verb == "convolve" else -move), k, asked.boundary)
    if shape is not None:
        return made, halos
    return of(largest(image, halos), memory=memory, device=device), halos


def _with_sides(image: Any, sides: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """An image whose chunks are plain, and what lies beside it."""
    masked = given_beside(sides["masked"], None)[0]
    if isinstance(image._meta, np.ma.MaskedArray):
        if masked is not None:
            fix = "give dask.array.ma.getdata(image) and both masks in one"
            raise ArgumentError("masked", "an array, although the image's chunks are masked arrays", "one of the two", fix)
        # Chunks that happen to have nothing masked are summed as the others are.
        image, masked = da.ma.getdata(image), da.ma.getmaskarray(image)
    sides = sides | {"masked": masked}
    return image, {word: beside_image(word, one, image) for word, one in sides.items() if one is not None}


def task_plan(verb: str, array: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Plan:
    """Plan the largest task of a verb of this module.

    Parameters
    ----------
    verb : str
        One of `SUMS`, `FILTERS` or `STACKS`.
    array : dask.array.Array
        What the verb is given.
    *args, memory, device, **options
        As the verb takes them; the device is looked for where this is called.

    Returns
    -------
    Plan
        What a task takes beside its block of the array, the halo around that, and its block of the result: ``footprint.total``.
    """
    choose("verb", verb, (*SUMS, *FILTERS, *STACKS))
    if verb in SUMS:
        return _plan_sums(verb, array, args, options, memory, device)
    if verb in STACKS:
        stack = whole(verb, array)
        shape = (max(stack.chunks[0], default=0), *stack.shape[1:])
        return plan_of(verb)(shape, *args, dtype=array.dtype, memory=memory, device=device, **options_of(options))
    op, order = operation(verb, array, args, options, device)
    block = largest(array, halos_of(op, order, array.ndim))
    return plan_turned(verb, op, ArraySpec(block, array.dtype.str), order, where(device), memory)


def _plan_sums(verb: str, image: Any, args: tuple[Any, ...], options: dict[str, Any], memory: Any, device: str) -> Plan:
    """The same of `convolve` and `correlate`."""
    check_lazy("image", image, f"footprint.{verb}", COMPLEX)
    check_keywords(verb, options, tuple(inspect.signature(SUMS[verb]).parameters))
    given = inspect.signature(SUMS[verb]).bind(image, *args, **options)
    given.apply_defaults()
    how = {name: given.arguments[name] for name in ("boundary", "cval", "nan", "origin", "axes", "method")}
    image, beside = _with_sides(image, {name: given.arguments[name] for name in ("masked", "weight")})
    how |= {"result": given.arguments["dtype"], **{name: one.dtype for name, one in beside.items()}}
    ends = tuple(given.arguments[name] for name in ("mode", "masks", "out"))
    mask = _held(given.arguments["mask"], how["axes"], image.ndim, given.arguments["masks"])
    return _sums(verb, image, mask, ends, how, None, memory, device)[0]


gaussian_filter = filter_of("gaussian_filter")
uniform_filter = filter_of("uniform_filter")
sobel = filter_of("sobel")
laplace = filter_of("laplace")
gaussian_laplace = filter_of("gaussian_laplace")
unsharp_mask = filter_of("unsharp_mask")
median_filter = filter_of("median_filter")
rank_filter = filter_of("rank_filter")
percentile_filter = filter_of("percentile_filter")
minimum_filter = filter_of("minimum_filter")
maximum_filter = filter_of("maximum_filter")
fbp = stack_of("fbp")
ramp_filter = stack_of("ramp_filter")
backproject = stack_of("backproject")
project = stack_of("project")
sirt = stack_of("sirt")
cgls = stack_of("cgls")
tv = stack_of("tv")
remove_stripes = stack_of("remove_stripes")
paganin = stack_of("paganin")
remove_zingers = stack_of("remove_zingers")
untilt = stack_of("untilt")
SUMS |= {"convolve": convolve, "correlate": correlate}


def taker(name: str) -> Lazy | None:
    """Who takes a Dask array in place of the public verb of that name, or of its plan; None where nobody does."""
    forms = SUMS | FILTERS | STACKS
    verb = name.removeprefix("plan_")
    if verb not in forms:
        return None
    return forms[name] if verb == name else functools.partial(_plan_lazily, verb)


def _plan_lazily(verb: str, array: Any, *args: Any, **options: Any) -> Plan:
    """What `footprint.plan_...` answers to a Dask array in place of a shape: the plan of the largest task."""
    if "dtype" in options:
        raise ArgumentError("dtype", repr(options["dtype"]), "none beside a Dask array, which has one of its own")
    if verb in SUMS and "result" in options:
        options["dtype"] = options.pop("result")
    return task_plan(verb, array, *args, **options)
