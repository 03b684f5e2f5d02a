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

import footprint
from footprint.answers import answering, check_keywords
from footprint.api._arrays import limits_and_budget, on_host, receive, where
from footprint.api._call import Described
from footprint.api._filtered import Asked
from footprint.api._turned import Order, plan_turned
from footprint.api.convolve import convolve as _convolve
from footprint.api.convolve import correlate as _correlate
from footprint.api.convolve import plan_convolve, plan_correlate
from footprint.dist.blocks import beside_image, check_lazy, da, joined, largest, overlapped
from footprint.dist.door import mask_axes
from footprint.dtypes import COMPLEX
from footprint.errors import ArgumentError, ShapeError, choose
from footprint.io.named_mask import mask_called
from footprint.ops.base import Op
from footprint.ops.windows import reach_of
from footprint.plan.plan import Plan
from footprint.plan.slots import NOTHING, Given, Halo
from footprint.spec import ArraySpec
from footprint.units import kind_of


Lazy = Callable[..., Any]

SUMS: dict[str, Lazy] = {}
"""Sums with a mask: blocks overlap."""
FILTERS: dict[str, Lazy] = {}
"""Filters of images: blocks overlap."""
STACKS: dict[str, Lazy] = {}
"""Verbs whose stack's first axis, slices or projections, may come in any chunks; the others are gathered into one."""
# What a call has beside its options.
_LATER = ("output", "out", "progress")


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

    Large masks go by transforms of tiles, or as products, as each block's shape decides; blocks then differ from the whole by rounding.

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
        For an unknown boundary, a mask that is empty, or arrays that do not fit together, or are not numbers and of known size. What only
        the worker can know (the device, the budget) is refused there.
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
    _check_memory(memory)
    mask = on_host(receive(_held(mask, how["axes"], image.shape, masks), "mask", COMPLEX).data)
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
    verb: str, image: Any, mask: Any, ends: tuple[Any, ...], how: dict[str, Any], shape: tuple[int, ...] | None, memory: Any, device: str
) -> tuple[Plan, list[Halo]]:  # fmt: skip
    """The plan of sums of an image of this shape, or of the largest block, and what a pixel needs along every axis.

    ``ends`` are mode, masks and out, ``how`` the other arguments of `plan_convolve`; the mask may be a shape.
    """
    mode, masks, out = ends
    _options({"out": out})
    if mode in ("full", "valid"):
        fix = "dask.array.pad the array first" if mode == "full" else "cut the ends off the result"
        raise ArgumentError("mode", repr(mode), "'same' for a Dask array, whose result has its chunks", fix)
    if masks != "one":
        raise ArgumentError("masks", repr(masks), "'one' for a Dask array", "call it for every mask")
    of = functools.partial(plan_convolve if verb == "convolve" else plan_correlate, mask=mask, mode=mode, dtype=image.dtype, **how)
    # No array is larger than the whole: what is wrong shows before anything is cut.
    whole = of(image.shape, device="null")
    asked = Asked.of(mode, how["boundary"], None, how["nan"], how["origin"], how["axes"])
    along = range(image.ndim) if asked.axes is None else [axis % image.ndim for axis in asked.axes]
    taps = tuple(getattr(mask, "shape", mask))
    moves = asked.origin * len(taps) if len(asked.origin) == 1 else asked.origin
    halos = [NOTHING] * image.ndim
    for axis, k, move in zip(along, taps, moves):
        # Output y reads rows y - k // 2 to y - k // 2 + k - 1 where the mask is not moved; a convolution's is turned round.
        halos[axis] = reach_of(-(k // 2) + (move if verb == "convolve" else -move), k, asked.boundary)
    if shape is not None:
        return whole, halos
    return of(largest(image, halos), memory=memory, device=device), halos


def _with_sides(image: Any, sides: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """An image whose chunks are plain, and what lies beside it."""
    masked = sides["masked"]
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
        whole = _whole(verb, array)
        shape = (max(whole.chunks[0], default=0), *whole.shape[1:])
        return _plan_of(verb)(shape, *args, dtype=array.dtype, memory=memory, device=device, **_options(options))
    op, order = _operation(verb, array, args, options, device)
    block = largest(array, _halos(op, order, array.ndim))
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


def _filter(verb: str) -> Lazy:
    """A filter of images whose blocks overlap by the operation's own halo."""

    def lazy(input: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Any:
        op, order = _operation(verb, input, args, options)
        _check_memory(memory)
        dtype = op.out_specs(*op.in_specs(ArraySpec((1,) * input.ndim, input.dtype.str)))[0].dtype
        eager, whole = getattr(footprint, verb), ArraySpec(input.shape, input.dtype.str)

        def block(part: np.ndarray) -> np.ndarray:
            found: np.ndarray = eager(Described(whole, Given(), part), *args, memory=memory, device=device, **options)
            return found

        return overlapped(block, input, _halos(op, order, input.ndim), dtype)

    FILTERS[verb] = lazy
    return _named(lazy, verb, "block by block, to the same bits. Dask joins chunks that are smaller than what a pixel reaches.")


def _stack(verb: str) -> Lazy:
    """A verb of a stack whose first axis may be cut anywhere."""

    def lazy(stack: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Any:
        _bound(verb, stack, args, options)
        _check_memory(memory)
        whole, options = _whole(verb, stack), _options(options)
        # Wrong arguments show here and not in a worker, and the plan knows the shape of a result.
        made = _plan_of(verb)(stack.shape, *args, dtype=stack.dtype, device="null", **options).outputs[0].spec
        eager = getattr(footprint, verb)

        def block(part: np.ndarray) -> np.ndarray:
            found: np.ndarray = eager(np.ascontiguousarray(part), *args, memory=memory, device=device, **options)
            return found

        chunks = (whole.chunks[0], *((n,) for n in made.shape[1:]))
        return whole.map_blocks(block, meta=np.empty((0, 0, 0), made.dtype), chunks=chunks)

    STACKS[verb] = lazy
    return _named(lazy, verb, "chunk by chunk along the first axis; the other two are gathered into one chunk.")


def _named(lazy: Lazy, verb: str, how: str) -> Lazy:
    lazy.__name__ = lazy.__qualname__ = verb
    lazy.__doc__ = f"""As `footprint.{verb}`, of a Dask array and lazily: {how}

    Arguments are those of `footprint.{verb}`, without a place for the result; ``memory`` bounds one task.
    """
    return lazy


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Options without a place for the result, which none can have."""
    for name in _LATER:
        if options.get(name) is not None:
            raise ArgumentError(name, kind_of(options[name]), "None, as nothing runs yet", "store or watch the Dask array")
    return {name: value for name, value in options.items() if name not in _LATER}


def _bound(verb: str, array: Any, args: tuple[Any, ...], options: dict[str, Any]) -> inspect.BoundArguments:
    """The arguments of a verb by name; where they are not those it has, what it says of that itself."""
    eager = getattr(footprint, verb)
    try:
        return inspect.signature(eager).bind(array, *args, **options)
    except TypeError:
        # The call ends before the verb begins.
        answering(eager.__wrapped__)(array, *args, **options)
        raise


def _check_memory(memory: Any) -> None:
    """Refuse here what is no budget anywhere; how much a share is, the worker knows."""
    limits_and_budget("cpu", memory)


def _plan_of(verb: str) -> Callable[..., Plan]:
    found: Callable[..., Plan] = getattr(footprint, f"plan_{verb}")
    return found


def _operation(
    verb: str, image: Any, args: tuple[Any, ...], options: dict[str, Any], device: str = "null"
) -> tuple[Op, Order]:
    """What a filter does with an image, and the order of axes it takes; the eager verb's own errors where it can do nothing."""
    check_lazy("input", image, f"footprint.{verb}")
    eager = getattr(footprint, verb)
    given = _bound(verb, Described(ArraySpec(image.shape, image.dtype.str), Given()), args, options)
    _options(given.arguments)
    found: tuple[Op, Order] = eager(*given.args, **given.kwargs, device=device)
    return found


def _halos(op: Op, order: Order, n_axes: int) -> list[Halo]:
    """What a pixel needs along every axis of the array."""
    found = [NOTHING] * n_axes
    for at, axis in enumerate(op.axes[0]):
        reach = op.halo(axis)
        assert isinstance(reach, Halo), f"{type(op).__name__} reaches what no block has beside it"
        found[at if order is None else order[at]] = reach
    return found


def _whole(verb: str, stack: Any) -> Any:
    """A stack with its last two axes in one chunk each."""
    name = next(iter(inspect.signature(getattr(footprint, verb)).parameters))
    check_lazy(name, stack, f"footprint.{verb}")
    if stack.ndim != 3:
        raise ShapeError(name, f"{stack.ndim} dimensions", "3, the first of which may be in chunks")
    return stack.rechunk({1: -1, 2: -1})


gaussian_filter = _filter("gaussian_filter")
uniform_filter = _filter("uniform_filter")
sobel = _filter("sobel")
laplace = _filter("laplace")
gaussian_laplace = _filter("gaussian_laplace")
unsharp_mask = _filter("unsharp_mask")
median_filter = _filter("median_filter")
rank_filter = _filter("rank_filter")
percentile_filter = _filter("percentile_filter")
minimum_filter = _filter("minimum_filter")
maximum_filter = _filter("maximum_filter")
fbp = _stack("fbp")
ramp_filter = _stack("ramp_filter")
backproject = _stack("backproject")
project = _stack("project")
sirt = _stack("sirt")
cgls = _stack("cgls")
tv = _stack("tv")
remove_stripes = _stack("remove_stripes")
paganin = _stack("paganin")
remove_zingers = _stack("remove_zingers")
untilt = _stack("untilt")
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
