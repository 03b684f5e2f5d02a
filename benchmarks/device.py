"""Honest timings on a CUDA device: events, warm-up, medians, and the two ceilings of the chip measured in the same run."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import cupy
import numpy as np

_FMA = r"""
extern "C" __global__ void chains(float *out, float a) {
  float x[8];
  for (int i = 0; i < 8; i++) x[i] = threadIdx.x + i;
  for (int k = 0; k < 4096; k++)
    _Pragma("unroll") for (int i = 0; i < 8; i++) x[i] = fmaf(x[i], a, 1.f);
  float sum = 0;
  for (int i = 0; i < 8; i++) sum += x[i];
  if (sum == 1e9f) *out = sum;
}"""


def median(call: Callable[[], object], repeats: int = 9, calls: int = 1) -> float:
    """Median seconds of a call between two events on the current stream; ``calls`` follow each other in one interval."""
    call()
    call()
    times = []
    for _ in range(repeats):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(calls):
            call()
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop) / calls / 1e3)
    return statistics.median(times)


def captured(call: Callable[[], object], calls: int = 10) -> float:
    """Median seconds of device time of a call, replayed from a graph: what the host takes to start it is left out."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        call()
        stream.synchronize()
        stream.begin_capture()
        for _ in range(calls):
            call()
        graph = stream.end_capture()
        return median(lambda: graph.launch(stream)) / calls


def copy_rate() -> float:
    """Bytes a second a device copy reads and writes."""
    a = cupy.random.random(1 << 26, dtype=np.float32)
    b = cupy.empty_like(a)
    nbytes, stream = a.nbytes, cupy.cuda.runtime

    def copy() -> None:
        stream.memcpyAsync(b.data.ptr, a.data.ptr, nbytes, stream.memcpyDeviceToDevice, cupy.cuda.get_current_stream().ptr)

    return 2 * nbytes / captured(copy)


def fma_rate() -> float:
    """Floating-point operations a second of eight independent chains a thread."""
    kernel, out = cupy.RawKernel(_FMA, "chains"), cupy.zeros(1, np.float32)
    groups = 16 * cupy.cuda.Device().attributes["MultiProcessorCount"]
    return 2 * 8 * 4096 * 256 * groups / median(lambda: kernel((groups,), (256,), (out, np.float32(0.99))))
