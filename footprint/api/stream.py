"""Filter frames as they come: a camera's, a video's, a stack's."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from footprint.api._arrays import Memory, limits_and_budget, receive, where
from footprint.api.convolve import weights_of
from footprint.backend.registry import running_backend
from footprint.errors import ArgumentError, BudgetError, ShapeError, choose
from footprint.flow.builder import RING, Builder
from footprint.flow.lifetime import OVERLAPPED
from footprint.flow.plan import Plan, finish
from footprint.flow.ready import bind
from footprint.flow.slots import Given
from footprint.flow.stream import FrameStream
from footprint.kernels.common.borders import border
from footprint.ops.base import Op
from footprint.ops.convolve import Correlate
from footprint.ops.job import job_of
from footprint.spec import ArraySpec

VERBS = ("convolve", "correlate")


def stream(
    frames: Iterable[Any],
    verb: str | Op = "convolve",
    mask: Any = None,
    *,
    mode: str = "same",
    boundary: str = "constant",
    cval: float = 0.0,
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
        All of one shape and dtype, on the host. Integers of 8 and 16 bits cross to a GPU as they are.
    verb : {"convolve", "correlate"} or an operation
        What is done to each; an operation of one input and one output is done as it is.
    mask, mode, boundary, cval
        As in `convolve`.
    dtype : dtype, optional
        Of the results, a floating one; the sums' own unless given.
    depth : int
        Copies of what lies between two stages: 2 for the least latency, more where times vary.
    memory : str, int or float, optional
        The most the stream may take beside the frames and results that others hold.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    FrameStream
        An iterator of results. An array that nobody holds any more is used again. ``statistics`` has frames a second and latencies;
        ``close`` (or ``with``) ends it early.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        No frame, frames that differ, a word that is unknown, a budget that is too small.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> frames = (np.full((32, 32), i, "uint16") for i in range(5))
    >>> [round(float(frame[16, 16]), 3) for frame in fp.stream(frames, mask=np.ones((3, 3)) / 9)]
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 1:
        raise ArgumentError("depth", repr(depth), "a number from 1 up")
    coming = iter(frames)
    first = next(coming, None)
    if first is None:
        raise ShapeError("frames", "none", "at least one frame")
    seen = receive(first, "frames")
    if seen.device != "cpu":
        raise ArgumentError("frames", f"arrays on {seen.device}", "arrays in host memory", "call the verb on each frame instead")
    op, rest = _operation(verb, mask, seen.spec, mode, boundary, cval)
    name = where(device)
    plan = plan_stream(seen.spec, op, [array.spec for array in rest], dtype, int(depth), memory, name)
    bound = bind(plan, running_backend(name))
    others = {slot.id: array.data for slot, array in zip(plan.inputs[1:], rest)}
    return FrameStream(bound, itertools.chain([first], coming), others, int(depth))


def plan_stream(frame: ArraySpec, op: Op, rest: list[ArraySpec], dtype: Any, depth: int, memory: Memory, device: str) -> Plan:
    """The plan of one frame, ``depth`` of them under way at a time."""
    limits, budget = limits_and_budget(device, memory)
    specs = op.out_specs(*op.in_specs(frame, *rest))
    if len(specs) != 1:
        raise ArgumentError("verb", f"an operation with {len(specs)} results", "one result a frame")
    kind = np.dtype(specs[0].dtype if dtype is None else dtype)
    if kind.kind != "f" and np.dtype(specs[0].dtype).kind == "f":
        raise ShapeError("dtype", str(kind), "a floating dtype such as float32")
    result = ArraySpec(specs[0].shape, kind.str)
    # A frame is handed over with its lanes, so even what kernels could read where it lies is carried.
    given = Given(direct=False)
    job = job_of(limits, op, [(frame, given), *((spec, Given()) for spec in rest)], [(result, given)])
    smallest: Plan | None = None
    for ring in (RING, RING // 16, RING // 128):
        builder = Builder(limits, (), ring)
        job.record(builder)
        plan = finish(builder, "stream", OVERLAPPED, depth)
        if budget is None or plan.footprint.total <= budget:
            return plan
        smallest = plan
    assert smallest is not None and budget is not None
    raise BudgetError(budget, smallest.footprint.terms(), smallest.footprint.total, "stream")


def _operation(verb: Any, mask: Any, frame: ArraySpec, mode: str, boundary: str, cval: float) -> tuple[Op, list[Any]]:
    if isinstance(verb, Op):
        if mask is not None:
            raise ArgumentError("mask", "an array", "none beside an operation", "give the operation its own")
        return verb, []
    choose("verb", verb, VERBS)
    if mask is None:
        raise ArgumentError("mask", "None", "an array of weights")
    if len(frame.shape) != 2:
        raise ShapeError("frames", f"shape {frame.shape}", "(n_y, n_x)")
    weights = weights_of(mask, verb == "convolve", frame.dtype)
    return Correlate(weights.spec.shape, mode, border(boundary), float(cval)), [weights]
