"""Footprint's verbs on Dask arrays: lazy in, lazy out, each block planned within the budget given.

Blocks of an image overlap by what the operation says a pixel needs of its neighbours; sinograms, projections and slices of a stack
are independent. Every task plans for itself, so ``memory`` bounds one task beside the arrays it reads and makes: a worker with
``n`` threads takes at most ``n`` times that. `task_plan` is the plan of the largest one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import footprint
from footprint.answers import answering, check_keywords
from footprint.api._arrays import where
from footprint.api._call import Described
from footprint.api._turned import Order, plan_turned
from footprint.api.convolve import convolve as _convolve
from footprint.api.convolve import plan_convolve
from footprint.dtypes import ACCEPTED
from footprint.errors import ArgumentError, ShapeError, choose, missing_extra
from footprint.kernels.common.borders import border
from footprint.ops.base import Op
from footprint.ops.windows import reach_of
from footprint.plan.plan import Plan
from footprint.plan.slots import NOTHING, Given, Halo
from footprint.spec import ArraySpec
from footprint.units import kind_of

try:
    import dask.array as da
    from dask.array.overlap import ensure_minimum_chunksize
except ModuleNotFoundError as error:
    raise missing_extra("dask", "dask", "footprint.dist.dask") from error

Lazy = Callable[..., Any]

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
    *,
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    method: str = "auto",
    dtype: Any = None,
    memory: Any = None,
    device: str = "auto",
) -> Any:
    """Convolve a Dask image with a mask, same size; as `footprint.convolve`, lazily, block by block with the mask's halo.

    Large masks go by transforms of tiles, or as products, as each block's shape decides; blocks then differ from the whole by rounding.

    Parameters
    ----------
    image : dask.array.Array (n_y, n_x)
        Any chunks of known size; Dask joins those smaller than the mask's halo. Chunks that are ``numpy.ma`` arrays, as those of
        ``dask.array.ma`` are, bring what is masked.
    mask : array (k_y, k_x)
        In memory.
    boundary : {"constant", "nearest", "reflect", "mirror", "wrap"}
        What lies outside.
    masked, weight : dask.array.Array or array, optional
        As in `footprint.convolve`, of the image's shape; in any chunks, which are brought to the image's.
    cval, nan, method, dtype, memory, device
        As in `footprint.convolve`; ``memory`` bounds one task.

    Returns
    -------
    dask.array.Array
        Not computed.

    Raises
    ------
    ArgumentError, ShapeError
        For an unknown boundary, a mask that is empty, or arrays that are not two-dimensional, real and of known size. What only
        the worker can know (the device, the budget) is refused there.
    """
    mask = np.asarray(mask)
    _check_lazy("image", image, "footprint.convolve")
    if image.ndim != 2 or mask.ndim != 2:
        raise ShapeError("image", f"{image.ndim} dimensions and a mask of {mask.ndim}", "2 and 2")
    name = border(boundary)
    if isinstance(image._meta, np.ma.MaskedArray):
        if masked is not None:
            fix = "give dask.array.ma.getdata(image) and both masks in one"
            raise ArgumentError("masked", "an array, beside an image whose chunks are masked arrays", "one of the two", fix)
        # Chunks that happen to have nothing masked are summed as the others are.
        image, masked = da.ma.getdata(image), da.ma.getmaskarray(image)
    beside = {word: _beside_image(word, one, image) for word, one in {"masked": masked, "weight": weight}.items() if one is not None}
    how: dict[str, Any] = {"boundary": boundary, "cval": cval, "nan": nan, "method": method}
    # All that is wrong with shapes, dtypes and numbers shows here and not in a worker; no device is needed for it.
    kinds: dict[str, Any] = {word: one.dtype for word, one in beside.items()}
    made = plan_convolve(image.shape, mask, dtype=image.dtype, result=dtype, device="null", **how, **kinds)
    # Output y reads rows y - k // 2 to y - k // 2 + k - 1.
    halos = [reach_of(-(k // 2), k, name) for k in mask.shape]

    def block(part: np.ndarray, *others: np.ndarray) -> np.ndarray:
        sides: dict[str, Any] = dict(zip(beside, others))
        return _convolve(part, mask, **how, dtype=dtype, memory=memory, device=device, **sides)

    return _overlapped(block, image, halos, made.outputs[0].spec.dtype, *beside.values())


def _beside_image(name: str, array: Any, image: Any) -> Any:
    """What lies beside an image, as a Dask array of its shape."""
    if not isinstance(array, da.Array):
        array = np.asarray(array)
        if array.shape == image.shape:
            array = da.from_array(array, chunks=image.chunks)
    if array.shape != image.shape:
        raise ShapeError(name, f"shape {array.shape}", f"the image's {image.shape}", "dask.array.broadcast_to makes it so")
    return array


def task_plan(verb: str, array: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Plan:
    """Plan the largest task of a verb of this module.

    Parameters
    ----------
    verb : str
        One of `FILTERS` or `STACKS`.
    array : dask.array.Array
        What the verb is given.
    *args, memory, device, **options
        As the verb takes them; the device is looked for where this is called.

    Returns
    -------
    Plan
        What a task takes beside its block of the array, the halo around that, and its block of the result: ``footprint.total``.
    """
    choose("verb", verb, (*FILTERS, *STACKS))
    if verb in STACKS:
        whole = _whole(verb, array)
        shape = (max(whole.chunks[0], default=0), *whole.shape[1:])
        return _plan_of(verb)(shape, *args, dtype=array.dtype, memory=memory, device=device, **_options(options))
    op, order = _operation(verb, array, args, options)
    halos = _halos(op, order, array.ndim)
    block: list[int] = []
    for sizes, halo, total in zip(_joined(array, halos).chunks, halos, array.shape):
        lo, hi = _beside(halo) if len(sizes) > 1 else (0, 0)
        block.append(max(sizes) + lo + hi if halo.wrap else min(max(sizes) + lo + hi, total))
    return plan_turned(verb, op, ArraySpec(tuple(block), array.dtype.str), order, where(device), memory)


def _filter(verb: str) -> Lazy:
    """A filter of images whose blocks overlap by the operation's own halo."""

    def lazy(input: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Any:
        op, order = _operation(verb, input, args, options)
        dtype = op.out_specs(*op.in_specs(ArraySpec((1,) * input.ndim, input.dtype.str)))[0].dtype
        eager = getattr(footprint, verb)

        def block(part: np.ndarray) -> np.ndarray:
            found: np.ndarray = eager(part, *args, memory=memory, device=device, **options)
            return found

        return _overlapped(block, input, _halos(op, order, input.ndim), dtype)

    FILTERS[verb] = lazy
    return _named(lazy, verb, "block by block, to the same bits. Dask joins chunks that are smaller than what a pixel reaches.")


def _stack(verb: str) -> Lazy:
    """A verb of a stack whose first axis may be cut anywhere."""

    def lazy(stack: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Any:
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


def _plan_of(verb: str) -> Callable[..., Plan]:
    found: Callable[..., Plan] = getattr(footprint, f"plan_{verb}")
    return found


def _operation(verb: str, image: Any, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Op, Order]:
    """What a filter does with an image, and the order of axes it takes; the eager verb's own errors where it can do nothing."""
    _check_lazy("input", image, f"footprint.{verb}")
    eager = getattr(footprint, verb)
    known = inspect.signature(eager)
    check_keywords(verb, options, tuple(known.parameters))
    given = known.bind(Described(ArraySpec(image.shape, image.dtype.str), Given()), *args, **options)
    _options(given.arguments)
    found: tuple[Op, Order] = eager(*given.args, **given.kwargs)
    return found


def _halos(op: Op, order: Order, n_axes: int) -> list[Halo]:
    """What a pixel needs along every axis of the array."""
    found = [NOTHING] * n_axes
    for at, axis in enumerate(op.axes[0]):
        reach = op.halo(axis)
        assert isinstance(reach, Halo), f"{type(op).__name__} reaches what no block has beside it"
        found[at if order is None else order[at]] = reach
    return found


def _beside(halo: Halo) -> tuple[int, int]:
    """What a block has beside it; Dask adds what comes from the other end to both sides alike."""
    return (max(halo.lo, halo.hi),) * 2 if halo.wrap else (halo.lo, halo.hi)


def _joined(image: Any, halos: list[Halo]) -> Any:
    """The image in chunks that have all that their neighbours need of them; an axis that is no longer than that in one."""
    chunks = []
    for sizes, total, halo in zip(image.chunks, image.shape, halos):
        most = max(*_beside(halo), 1)
        chunks.append((total,) if most >= total else ensure_minimum_chunksize(most, sizes))
    return image.rechunk(tuple(chunks))


def _overlapped(block: Callable[..., np.ndarray], image: Any, halos: list[Halo], dtype: str, *beside: Any) -> Any:
    """A filter, block by block: a block has its neighbours' rows beside it, and at the image's ends the filter's own border.

    What lies beside the image is cut as it is.
    """
    image = _joined(image, halos)
    depth: dict[int, Any] = {}
    outside: dict[int, str] = {}
    for axis, halo in enumerate(halos):
        # An axis in one chunk has its ends, so that nothing is added there.
        alone = len(image.chunks[axis]) == 1
        depth[axis] = 0 if alone else _beside(halo)[0] if halo.wrap else _beside(halo)
        outside[axis] = "periodic" if halo.wrap and not alone else "none"
    # With ``meta`` given Dask does not try ``block`` on an empty array first.
    meta = np.empty((0,) * image.ndim, dtype)
    arrays = [image, *(one.rechunk(image.chunks) for one in beside)]
    many = len(arrays)
    return da.map_overlap(block, *arrays, depth=[depth] * many, boundary=[outside] * many, meta=meta, trim=True)


def _whole(verb: str, stack: Any) -> Any:
    """A stack with its last two axes in one chunk each."""
    name = next(iter(inspect.signature(getattr(footprint, verb)).parameters))
    _check_lazy(name, stack, f"footprint.{verb}")
    if stack.ndim != 3:
        raise ShapeError(name, f"{stack.ndim} dimensions", "3, the first of which may be in chunks")
    return stack.rechunk({1: -1, 2: -1})


def _check_lazy(name: str, array: Any, eager: str) -> None:
    if not isinstance(array, da.Array):
        raise ArgumentError(name, kind_of(array), "a dask.array.Array", f"{eager} takes arrays in memory")
    if array.dtype.kind not in ACCEPTED:
        raise ShapeError(name, f"dtype {array.dtype}", "real numbers: float, integer or bool")
    if any(n != n for n in array.shape):
        raise ShapeError(name, f"chunks of unknown size {array.shape}", "known ones", "call compute_chunk_sizes() first")


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
