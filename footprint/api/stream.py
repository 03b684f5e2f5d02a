"""Filter frames as they come: a camera's, a video's, a stack's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Array, Memory, Progress, described, limits_and_budget, receive, where
from footprint.api._call import meeting
from footprint.api._filtered import Asked, number, operation
from footprint.api._frames import coming_of, each_alone, on_host_as
from footprint.api._labels import beside as line_up
from footprint.api._labels import is_labelled
from footprint.api._mask import held_bytes, mask_slot, shape_of, weights_of
from footprint.api._method import for_frames
from footprint.api._sides import Beside, arrays_beside, given_beside, held, held_beside, is_given, rows_beside, values_of
from footprint.backend.arrays import kind_called
from footprint.backend.device import parse
from footprint.backend.registry import running_backend
from footprint.dtypes import floating, sum_dtype
from footprint.errors import ArgumentError, BudgetError, ShapeError, choose, flag, nearest
from footprint.kernels.common.borders import shows_borders
from footprint.ops.base import Op
from footprint.ops.job import Meeting, job_of_op
from footprint.plan.builder import RING, Builder
from footprint.plan.frames import END, Frames
from footprint.plan.lifetime import OVERLAPPED
from footprint.plan.plan import Plan, finish
from footprint.plan.predict import crossed, lane_seconds
from footprint.plan.rates import rates
from footprint.plan.ready import bind
from footprint.plan.slots import Given
from footprint.plan.stream import At, FrameStream, run_stack
from footprint.spec import ArraySpec
from footprint.units import counted, kind_of

Reading = Callable[[str], int]
"""Bytes a source's library holds beside the block while a frame is read into it, contiguous and of this dtype."""

VERBS = ("convolve", "correlate")
# Frames between two stages: each is planned, and far fewer keep all stages at work.
_DEEPEST = 1000


@shows_borders("boundary")
def stream(
    frames: Iterable[Any],
    verb: str | Op = "convolve",
    mask: Any = None,
    *,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    method: str = "auto",
    dtype: Any = None,
    depth: int = 2,
    memory: Memory = None,
    device: str = "auto",
) -> FrameStream:
    """Filter every frame of an iterable; results come in order, while later frames are read and computed.

    At most ``depth`` frames are in each of three stages: read, computed, handed on. A slow consumer slows the source and loses
    nothing.

    Parameters
    ----------
    frames : iterable of arrays (n_y, n_x)
        All of one shape and dtype, on the host; of NumPy, PyTorch, JAX or what else `convolve` takes. Integers of 8 and 16 bits
        cross to a GPU as they are.
    verb : {"convolve", "correlate"}
        What is done to each frame, or that function itself. Call other functions on each frame, as in
        ``(fp.median_filter(frame, 3) for frame in frames)``, and these two on frames in colour, of complex numbers, or of one
        dimension; a call like an earlier one finds its plan and memory ready. (If you extend Footprint, an operation with one input
        and one output also works.)
    mask : array (k_y, k_x), or str
        As in `convolve`.
    mode, boundary, cval, nan, method
        As in `convolve`, except that "separable" is not available for frames.
    masked, weight : array (n_y, n_x), optional
        As in `convolve`; one for all frames.
    dtype : dtype, optional
        Dtype of sums and results, as in `convolve`; for an operation, of its results.
    depth : int
        Copies of what lies between two stages: 2 for the least latency, more if times vary.
    memory : str, int or float, optional
        The most memory the stream may take beyond the frames and results that others hold.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    FrameStream
        An iterator of results, arrays of the same library as the first frame (xarray's: without labels). An array that nobody holds
        any more is reused. ``statistics`` has frames per second and latencies; ``close`` (or ``with``) ends it early, and closes
        ``frames`` if that is a generator.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        No frame, frames that differ, an unknown word, a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> frames = (np.full((32, 32), i, "uint16") for i in range(5))
    >>> [round(float(frame[16, 16]), 3) for frame in fp.stream(frames, mask="box:3")]
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    depth = _depth(depth)
    coming = coming_of(frames)
    first: Any = next(coming, END)
    if first is END:
        raise ShapeError("frames", "none", "at least one frame")
    seen = on_host_as(first, "frames")
    names: Any = None
    beside = given_beside(masked, weight)
    if is_labelled(first):
        beside = line_up(first, masked, "masked", "frames"), line_up(first, weight, "weight", "frames")
        # Coordinates may change from frame to frame.
        names = SimpleNamespace(dims=first.dims)
    op, weights = _operation(verb, mask, seen.spec, Asked.of(mode, boundary, dtype, nan), cval, beside)
    rest: list[Array] = [] if weights is None else [weights]
    if rest:
        rest += map(_brought, arrays_beside(beside, seen.spec.shape, "frame").values())
    name = where(device)
    if weights is not None:
        op = for_frames(method, op, seen.spec, name)
    # A frame is handed over with its lanes, so even what kernels could read where it lies is carried.
    given = Given(direct=False)
    also = [(array.spec, array.given) for array in rest]
    plan = _planned("stream", _Passing(op, (seen.spec, given), also, dtype, given), depth, memory, name)
    others = {slot.id: array.data for slot, array in zip(plan.inputs[1:], rest)}

    def see(frame: Any, number: int) -> np.ndarray:
        word = f"frame {number}"
        found: np.ndarray = on_host_as(frame if names is None else line_up(names, frame, word, "first frame"), word).data
        return found

    kind = Frames(see, kind_called(seen.kind).back)
    return FrameStream(bind(plan, running_backend(name)), coming, seen.data, others, depth, kind)


@shows_borders("boundary")
def plan_convolve_frames(
    shape: tuple[int, int, int],
    mask_shape: Any,
    *,
    dtype: str = "float32",
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    method: str = "auto",
    result: Any = None,
    depth: int = 2,
    reading: Reading | None = None,
    writing: int = 0,
    holding: int = 0,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `convolve_frames`: frames on their way lie in the plan's own memory, so the budget covers them.

    Parameters
    ----------
    shape : tuple of int
        ``(n_frames, n_y, n_x)`` of the stack.
    dtype : str
        Of the stack.
    mask_shape : tuple of int, array, open image or str
        The mask's, or the mask itself, as in `convolve`; one of a file is read once and held.
    mode, boundary, cval, nan, method, memory, device
        As in `stream`.
    result : dtype, optional
        The ``dtype`` of `convolve`.
    depth : int
        Copies of what lies between two stages; fewer where the memory does not suffice.
    reading : callable, optional
        ``reading(dtype)``: bytes the source's library takes beside the block, contiguous and of that dtype; a bound.
    masked, weight : open image, array or dtype, optional
        As in `plan_convolve_rows`; one for all frames, read once and held.
    writing : int
        Bytes the output's writer takes beside the blocks.
    holding : int
        Bytes of a mask that comes from a file: it is read once and held. Those of ``masked`` and ``weight`` are not among them.

    Returns
    -------
    Plan
        Of one frame; its seconds are those of all frames.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_convolve_frames((1000, 2048, 2048), (13, 13), dtype="uint16", memory="100MB", device="cpu")
    >>> plan.footprint.total < 100_000_000
    True
    """
    stack, _ = described(shape, dtype)
    if len(stack.shape) != 3:
        raise ShapeError("shape", stack.shape, "(n_frames, n_y, n_x)")
    frame, count = ArraySpec(stack.shape[1:], stack.dtype), stack.shape[0]
    how, beside = Asked.of(mode, boundary, result, nan, name="result"), given_beside(masked, weight)
    taps, file = shape_of(mask_shape)
    holding += held_bytes(file, how.sums or sum_dtype(dtype))
    op, weights = operation(frame, taps, how, number(cval), beside=beside)
    sides = rows_beside(beside, frame.shape)
    holding += held_beside(sides)
    name = where(device)
    op = for_frames(method, op, frame, name)
    # What comes from files is read once, and held beside the frames.
    source = Given(owner="source", beside=lambda block: holding + (reading(block.dtype) if reading is not None else 0))
    # Latencies are kept for their percentiles.
    sink = Given(owner="source", beside=lambda block: writing + 3 * 8 * count)
    also = [meeting(mask_slot(weights)), *(meeting(held(one)) for one in sides)]
    return _planned("convolve", _Passing(op, (frame, source), also, result, sink, count), _depth(depth), memory, name)


@shows_borders("boundary")
def convolve_frames(
    read: At,
    shape: tuple[int, int, int],
    dtype: str,
    mask: Any,
    write: At,
    *,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
    nan: str = "propagate",
    masked: Any = None,
    weight: Any = None,
    method: str = "auto",
    result: Any = None,
    depth: int = 2,
    flip: bool = True,
    reading: Reading | None = None,
    writing: int = 0,
    memory: Memory = None,
    device: str = "auto",
    on_plan: Callable[[Plan], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, float]:
    """Convolve every frame of a stack that is never whole in memory: later frames are read while earlier ones are written.

    Parameters
    ----------
    read : callable
        ``read(number, out)`` puts a frame into ``out``, casting to its dtype; frames are asked for in order.
    shape, dtype
        ``(n_frames, n_y, n_x)`` of the stack.
    mask, mode, boundary, cval, nan, method, memory, device
        As in `stream`; ``memory`` covers the frames on their way, too.
    masked, weight : open image or array, optional
        As in `stream`.
    write : callable
        ``write(number, block)`` takes the results, in order.
    flip : bool
        False correlates.
    result, depth, reading, writing
        As in `plan_convolve_frames`.
    on_plan : callable, optional
        Called with the plan before anything is allocated or read.
    progress : callable, optional
        ``progress(frames_done, frames)``.

    Returns
    -------
    dict
        Frames, seconds, frames per second; milliseconds from the beginning of a frame's reading to the end of its writing: median,
        95 %, largest.
    """
    sums = floating(result, "result")[0] or sum_dtype(dtype)
    beside = given_beside(masked, weight)
    weights = weights_of(mask, flag("flip", flip), sums, scaled=Asked.of(mode, boundary, None, nan).scales(beside))
    options: dict[str, Any] = {"mode": mode, "boundary": boundary, "cval": cval, "nan": nan, "method": method}
    options |= {"result": result, "depth": depth, "masked": masked, "weight": weight}
    options |= {"memory": memory, "device": device, "reading": reading, "writing": writing, "holding": held_bytes(mask, sums)}
    plan = plan_convolve_frames(shape, weights.spec.shape, dtype=dtype, **options)
    if on_plan is not None:
        on_plan(plan)
    with bind(plan, running_backend(where(device))) as bound:
        rest = [weights, *rows_beside(beside, shape[1:])]
        others = {slot.id: values_of(one) for slot, one in zip(plan.inputs[1:], rest)}
        return run_stack(bound, shape[0], read, write, others, progress)


class _Passing(NamedTuple):
    """What every frame goes through.

    Attributes
    ----------
    op
        The operation, whose first input is a frame.
    frame, rest
        The inputs as they meet the plan: what changes, and what is the same for all frames.
    dtype
        Of the results; None for the operation's own.
    out
        Asked a result meets the plan.
    n_frames
        Frames that pass; 0 where nobody knows.
    """

    op: Op
    frame: Meeting
    rest: list[Meeting]
    dtype: Any
    out: Given
    n_frames: int = 0


def _planned(name: str, passing: _Passing, depth: int, memory: Memory, device: str) -> Plan:
    """The plan of one frame, ``depth`` of them under way or as many as the budget allows; its seconds are those of all frames."""
    if len(parse(device).each) > 1:
        raise ArgumentError("device", repr(str(device)), "one device", "run a stream on each")
    limits, budget = limits_and_budget(device, memory)
    op, ins, dtype, count = passing.op, [passing.frame, *passing.rest], passing.dtype, passing.n_frames
    specs = op.out_specs(*op.in_specs(*(spec for spec, _ in ins)))
    if len(specs) != 1:
        raise ArgumentError("verb", f"an operation with {len(specs)} results", "one with a single result for each frame")
    kind = specs[0].dtype if dtype is None else described((), dtype)[0].dtype
    if np.dtype(kind).kind != "f" and np.dtype(specs[0].dtype).kind == "f":
        raise ShapeError("dtype", str(np.dtype(kind)), "a floating dtype such as float32")
    result = ArraySpec(specs[0].shape, kind)
    job = job_of_op(limits, op, ins, [(result, passing.out)])
    rate = rates(limits)
    smallest: Plan | None = None
    for copies in (depth >> k for k in range(depth.bit_length())):
        for ring in (RING, RING // 16, RING // 128):
            builder = Builder(limits, (), ring)
            job.record(builder)
            if count:
                builder.note(f"input and output are one frame's; {counted(count, 'frames')} pass, one after another")
            plan = finish(builder, name, OVERLAPPED, copies)
            if budget is None or plan.footprint.total <= budget:
                each = lane_seconds(rate, job.cost, builder, crossed(builder, rate))
                return replace(plan, seconds=tuple((lane, count * t) for lane, t in each) if count else ())
            if smallest is None or plan.footprint.total < smallest.footprint.total:
                smallest = plan
    assert smallest is not None and budget is not None
    raise BudgetError(budget, smallest.footprint.terms(), smallest.footprint.total, name)


def _depth(depth: Any) -> int:
    if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or not 1 <= depth <= _DEEPEST:
        raise ArgumentError("depth", repr(depth), f"a whole number, 1 or more and at most {_DEEPEST}")
    return int(depth)


def _operation(verb: Any, mask: Any, frame: ArraySpec, how: Asked, cval: Any, beside: Beside) -> tuple[Op, Array | None]:
    if isinstance(verb, Op):
        if mask is not None or is_given(beside):
            name = "mask" if mask is not None else "masked" if beside[0] is not None else "weight"
            raise ArgumentError(name, "an array", "none beside an operation", "give the operation its own")
        return verb, None
    if callable(verb) and getattr(verb, "__module__", "") == "footprint":
        verb = verb.__name__
    if not isinstance(verb, str):
        raise ArgumentError(
            "verb", kind_of(verb), "'convolve', 'correlate' or an operation", "name what comes after it, as in mask="
        )
    fix = f"a mask is named, as in mask={verb!r}" if ":" in verb else nearest(verb, VERBS)
    choose("verb", verb, VERBS, fix or "call any other on each frame, as in (fp.median_filter(frame, 3) for frame in frames)")
    if mask is None:
        raise ArgumentError("mask", "None", "an array of weights")
    if len(frame.shape) != 2:
        raise ShapeError("frames", f"shape {frame.shape}", "(n_y, n_x)", each_alone(verb, len(frame.shape)))
    weights = weights_of(receive(mask, "mask").data, verb == "convolve", how.sums or frame.dtype, scaled=how.scales(beside))
    assert isinstance(weights, Array)
    return operation(frame, weights.spec.shape, how, number(cval), beside=beside)[0], weights


def _brought(beside: Array) -> Array:
    """What lies beside frames, on the host as they are."""
    return Array(values_of(beside), beside.kind, "cpu")
