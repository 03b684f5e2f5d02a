"""Footprint's filters and stacks as functions of Dask arrays: one is made of each verb, which plans and runs its blocks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import footprint
from footprint.answers import answering
from footprint.api._arrays import limits_and_budget
from footprint.api._call import Described
from footprint.api._turned import Order
from footprint.api._window import asked, kind_asked
from footprint.dist.blocks import apart, check_lazy, overlapped
from footprint.errors import ArgumentError, ShapeError
from footprint.ops.base import Op
from footprint.plan.plan import Plan
from footprint.plan.slots import NOTHING, Given, Halo
from footprint.spec import ArraySpec
from footprint.units import kind_of

Lazy = Callable[..., Any]

FILTERS: dict[str, Lazy] = {}
"""Filters of images: blocks overlap."""
STACKS: dict[str, Lazy] = {}
"""Verbs whose stack's first axis, slices or projections, may come in any chunks; the others are gathered into one."""
# What a call has beside its options.
_LATER = ("output", "out", "progress")


def filter_of(verb: str) -> Lazy:
    """A filter of images whose blocks overlap by the operation's own halo."""

    def lazy(input: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Any:
        args, options = apart((args, options))
        op, order = operation(verb, input, args, options)
        check_memory(memory)
        own = op.out_specs(*op.in_specs(ArraySpec((1,) * input.ndim, input.dtype.str)))[0].dtype
        dtype = kind_asked(_bound(verb, input, args, options).arguments.get("output"), own)
        eager, whole = getattr(footprint, verb), ArraySpec(input.shape, input.dtype.str)

        def block(part: np.ndarray) -> np.ndarray:
            found: np.ndarray = eager(Described(whole, Given(), part), *args, memory=memory, device=device, **options)
            return found

        return overlapped(block, input, halos_of(op, order, input.ndim), dtype)

    FILTERS[verb] = lazy
    return _named(lazy, verb, "block by block, to the same bits. Dask joins chunks that are smaller than what a pixel reaches.")


def stack_of(verb: str) -> Lazy:
    """A verb of a stack whose first axis may be cut anywhere."""

    def lazy(stack: Any, *args: Any, memory: Any = None, device: str = "auto", **options: Any) -> Any:
        args, options = apart((args, options))
        _bound(verb, stack, args, options)
        check_memory(memory)
        one, options = whole(verb, stack), options_of(options)
        # Wrong arguments show here and not in a worker, and the plan knows the shape of a result.
        made = plan_of(verb)(stack.shape, *args, dtype=stack.dtype, device="null", **options).outputs[0].spec
        eager = getattr(footprint, verb)

        def block(part: np.ndarray) -> np.ndarray:
            found: np.ndarray = eager(np.ascontiguousarray(part), *args, memory=memory, device=device, **options)
            return found

        chunks = (one.chunks[0], *((n,) for n in made.shape[1:]))
        return one.map_blocks(block, meta=np.empty((0, 0, 0), made.dtype), chunks=chunks)

    STACKS[verb] = lazy
    return _named(lazy, verb, "chunk by chunk along the first axis; the other two are gathered into one chunk.")


def _named(lazy: Lazy, verb: str, how: str) -> Lazy:
    lazy.__name__ = lazy.__qualname__ = verb
    lazy.__doc__ = f"""As `footprint.{verb}`, of a Dask array and lazily: {how}

    Arguments are those of `footprint.{verb}`, without a place for the result; ``memory`` bounds one task.
    """
    return lazy


def options_of(options: dict[str, Any]) -> dict[str, Any]:
    """Options without a place for the result, which none can have; a filter's may be a dtype."""
    for name in _LATER:
        given = options.get(name)
        if given is not None and not (name == "output" and asked(given)[0]):
            wanted = "a dtype, or None" if name == "output" else "None"
            raise ArgumentError(name, kind_of(given), f"{wanted}, as nothing runs yet", "store or watch the Dask array")
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


def check_memory(memory: Any) -> None:
    """Refuse here what is no budget anywhere; how much a share is, the worker knows."""
    limits_and_budget("cpu", memory)


def plan_of(verb: str) -> Callable[..., Plan]:
    """What plans a verb by a shape."""
    found: Callable[..., Plan] = getattr(footprint, f"plan_{verb}")
    return found


def operation(verb: str, image: Any, args: tuple[Any, ...], options: dict[str, Any], device: str = "null") -> tuple[Op, Order]:
    """What a filter does with an image, and the order of axes it takes; the eager verb's own errors where it can do nothing."""
    check_lazy("input", image, f"footprint.{verb}")
    eager = getattr(footprint, verb)
    given = _bound(verb, Described(ArraySpec(image.shape, image.dtype.str), Given()), args, options)
    options_of(given.arguments)
    found: tuple[Op, Order] = eager(*given.args, **given.kwargs, device=device)
    return found


def halos_of(op: Op, order: Order, n_axes: int) -> list[Halo]:
    """What a pixel needs along every axis of the array."""
    found = [NOTHING] * n_axes
    for at, axis in enumerate(op.axes[0]):
        reach = op.halo(axis)
        assert isinstance(reach, Halo), f"{type(op).__name__} reaches what no block has beside it"
        found[at if order is None else order[at]] = reach
    return found


def whole(verb: str, stack: Any) -> Any:
    """A stack with its last two axes in one chunk each."""
    name = next(iter(inspect.signature(getattr(footprint, verb)).parameters))
    check_lazy(name, stack, f"footprint.{verb}")
    if stack.ndim != 3:
        fix = f"give {name}[None] for one" if stack.ndim == 2 else ""
        raise ShapeError(name, f"{stack.ndim} dimensions", "3, the first of which may be in chunks", fix)
    return stack.rechunk({1: -1, 2: -1})
