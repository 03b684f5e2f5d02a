"""Rates of the streaming kernels on a CUDA device beside their peers and floors: ``python -m benchmarks.gpu``.

Device time only: kernels are replayed from a graph, arrays stay on the device. Every result is first checked against a
float64 computation of a part of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import cupy
import cupyx.scipy.ndimage
import cupyx.scipy.signal
import numpy as np
import scipy.ndimage
import scipy.signal

from benchmarks.device import captured, copy_rate, fma_rate, median
from footprint.backend.cuda import CudaBackend, View, open_backend
from footprint.kernels.common.table import state_specs, work_specs
from footprint.ops.convolve import Correlate
from footprint.ops.overlap_save import OverlapSave, by_method
from footprint.spec import ArraySpec

Peers = dict[str, Callable[[], object]]


class Bench:
    """A device, its two ceilings, and the table."""

    def __init__(self) -> None:
        self.backend: CudaBackend = open_backend(0)
        self.kept: list[object] = []
        self.copy, self.fma = copy_rate(), fma_rate()
        print(f"copy {self.copy / 1e12:.2f} TB/s   FMA {self.fma / 1e12:.1f} TFLOP/s")
        print(f"{'work':<34}{'ms':>9}{'floor':>9}{'floor/ms':>10}   peers, ms")

    def kernel(self, name: str, *arrays: cupy.ndarray, **numbers: Any) -> Callable[[], None]:
        """One launch, ready to be repeated, with what it keeps and the workspace it asks for."""
        specs = tuple(ArraySpec(a.shape, a.dtype.str) for a in arrays)
        state = state_specs(self.backend.limits, name, specs, numbers)
        arrays, specs = (*arrays, *(cupy.empty(s.shape, s.dtype) for s in state)), (*specs, *state)
        work = tuple(cupy.empty(w.shape, w.dtype) for w in work_specs(self.backend.limits, name, specs, numbers))
        views = tuple(View(a.data.ptr, ArraySpec(a.shape, a.dtype.str)) for a in (*arrays, *work))
        ready = self.backend.compile(name, specs, numbers)
        self.kept.append((arrays, work))
        return lambda: self.backend.launch(ready, views)

    def row(self, name: str, call: Callable[[], None], nbytes: float, flops: float = 0.0, peers: Peers | None = None) -> None:
        """Time and print one line."""
        floor = max(nbytes / self.copy, flops / self.fma)
        took = captured(call, 20 if floor < 1e-4 else 4)
        others = "  ".join(f"{peer} {1e3 * median(run, 3):.3f}" for peer, run in (peers or {}).items())
        print(f"{name:<34}{1e3 * took:9.4f}{1e3 * floor:9.4f}{100 * floor / took:9.0f} %   {others}", flush=True)


def torch_convolution(image: cupy.ndarray, mask: cupy.ndarray) -> Peers:
    """PyTorch's, without TF32, where it is installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    a = torch.from_dlpack(image)[None, None]
    w = torch.from_dlpack(mask)[None, None]
    return {"torch": lambda: torch.nn.functional.conv2d(a, w, padding="same")}


def convolutions(bench: Bench, rng: np.random.Generator, peers: bool) -> None:
    for n, size in (
        (8192, 3),
        (8192, 5),
        (8192, 7),
        (8192, 9),
        (8192, 13),
        (8192, 15),
        (8192, 21),
        (8192, 31),
        (2048, 15),
        (200, 13),
    ):
        image, mask = cupy.asarray(rng.random((n, n), "f4")), cupy.asarray(rng.random((size, size), "f4"))
        out = cupy.empty_like(image)
        places = {"y0": -(size // 2), "x0": -(size // 2), "border_y": "reflect", "border_x": "reflect", "cval": 0.0}
        call = bench.kernel("convolve", image, mask, out, **places)
        call()
        part = scipy.ndimage.correlate(image[:99, :99].get().astype("f8"), mask.get().astype("f8"), mode="reflect")[:60, :60]
        np.testing.assert_allclose(out[:60, :60].get(), part, rtol=1e-5)
        others: Peers = {}
        if peers:
            others["cupyx"] = lambda image=image, mask=mask, out=out: cupyx.scipy.ndimage.correlate(image, mask, output=out)
            others |= torch_convolution(image, mask)
        bench.row(f"convolve {n}² f4, {size} x {size}", call, 2 * image.nbytes, 2 * image.size * mask.size, others)
    image, mask = cupy.asarray(rng.random((2048, 2048))), cupy.asarray(rng.random((15, 15)))
    places = {"y0": -7, "x0": -7, "border_y": "reflect", "border_x": "reflect", "cval": 0.0}
    call = bench.kernel("convolve", image, mask, cupy.empty_like(image), **places)
    bench.row("convolve 2048² f8, 15 x 15", call, 2 * image.nbytes, 4 * image.size * mask.size)


def tiles(bench: Bench, rng: np.random.Generator, peers: bool) -> None:
    """Large masks, by transforms of tiles on the chip."""
    image = cupy.asarray(rng.random((8192, 8192), "f4"))
    out = cupy.empty_like(image)
    for size in (15, 17, 31, 63, 127):
        mask = cupy.asarray(rng.random((size, size), "f4"))
        op = by_method("fft", Correlate((size, size)), ArraySpec(image.shape), bench.backend.limits)
        assert isinstance(op, OverlapSave)
        half, shape = -(size // 2), {"tile": op.tile, "block": op.block}
        places = {"y0": half, "x0": half, "border_y": "constant", "border_x": "constant", "cval": 0.0}
        call = bench.kernel("overlap_save", image, mask, out, **shape, **places)
        call()
        part = scipy.signal.fftconvolve(image[:300, :300].get().astype("f8"), mask[::-1, ::-1].get().astype("f8"), "same")
        np.testing.assert_allclose(out[:200, :200].get(), part[:200, :200], rtol=0, atol=1e-6 * float(mask.sum()))
        others: Peers = {}
        if peers:
            flipped = cupy.ascontiguousarray(mask[::-1, ::-1])
            others["cupyx fftconvolve"] = lambda w=flipped: cupyx.scipy.signal.fftconvolve(image, w, "same")
            others["oaconvolve"] = lambda w=flipped: cupyx.scipy.signal.oaconvolve(image, w, "same")
        bench.row(f"tiles of {op.tile}², 8192² f4, {size} x {size}", call, 2 * image.nbytes, 0.0, others)


def lines(bench: Bench, rng: np.random.Generator, peers: bool) -> None:
    signal = cupy.asarray(rng.random((1, 10**8), "f4"))
    out = cupy.empty_like(signal)
    for taps in (5, 15, 101, 1001):
        mask = cupy.asarray(rng.random((1, taps), "f4"))
        places = {"y0": 0, "x0": -(taps // 2), "border_y": "none", "border_x": "reflect", "cval": 0.0}
        call = bench.kernel("convolve", signal, mask, out, **places)
        others: Peers = {}
        if peers and taps < 1000:
            others["cupyx"] = lambda mask=mask: cupyx.scipy.ndimage.correlate1d(signal[0], mask[0], output=out[0])
        bench.row(f"convolve 10⁸ f4, {taps} taps", call, 2 * signal.nbytes, 2 * signal.size * taps, others)


def streams(bench: Bench, rng: np.random.Generator) -> None:
    n, border = 8192, 8
    image = cupy.asarray(rng.random((1, n, n), "f4"))
    inner = cupy.ascontiguousarray(image[:, border:-border, border:-border])
    out = cupy.empty_like(image)
    places: dict[str, int | str] = {"z0": 0, "z_base": 0, "z_n": 1, "border_z": "none"}
    for axis in "yx":
        places |= {f"{axis}0": -border, f"{axis}_base": 0, f"{axis}_n": n - 2 * border, f"border_{axis}": "nearest"}
    call = bench.kernel("pad", inner, out, fill=0.0, **places)
    call()
    np.testing.assert_array_equal(out[0].get(), np.pad(inner[0].get(), border, mode="edge"))
    bench.row("pad 8176² to 8192², edge", call, inner.nbytes + out.nbytes)
    steps = {"dst_start": (0, 0, 0), "dst_step": (1, 1, 1), "other_start": (0, 0, 0), "other_step": (1, 1, 1), "count": (1, n, n)}
    bench.row("muladd 8192²", bench.kernel("muladd", out, image, a=0.5, b=0.25, **steps), 3 * image.nbytes)
    bench.row("muladd 8192², a = 0", bench.kernel("muladd", out, image, a=0.0, b=0.25, **steps), 2 * image.nbytes)
    stack, moved = image.reshape(64, 1024, 1024), out.reshape(64, 1024, 1024)
    shifts = cupy.asarray(np.stack([rng.integers(-5, 5, 64), rng.random(64)], 1, dtype="f4", casting="unsafe"))
    bench.row("vertical shift 64 x 1024²", bench.kernel("vertical_shift", stack, shifts, moved, z0=0), 2 * stack.nbytes)
    bench.row("vertical shift, in place", bench.kernel("vertical_shift", stack, shifts, stack, z0=0), 2 * stack.nbytes)


def transfers(rng: np.random.Generator) -> None:
    """Push, compute, pull: a float64 image from pinned host memory and back, beside the bare transfers."""
    import footprint as fp

    def pinned(shape: tuple[int, ...]) -> np.ndarray:
        nbytes = int(np.prod(shape)) * 8
        return np.frombuffer(cupy.cuda.alloc_pinned_memory(nbytes), np.float64, nbytes // 8).reshape(shape)

    image, out, mask = pinned((2048, 2048)), pinned((2048, 2048)), rng.random((15, 15))
    image[:] = rng.random(image.shape)
    there = cupy.empty_like(image)

    def bare() -> None:
        there.set(image)
        there.get(out=out)

    plan = fp.plan_convolve(image.shape, mask.shape, dtype="float64", device="cuda")
    with plan.bind(open_backend(0)) as bound:
        ours, wire = median(lambda: bound(image, mask, out=[out]), 15), median(bare, 15)
    print(f"2048² f8 with 15 x 15, host to host: {1e3 * ours:.3f} ms, bare transfers {1e3 * wire:.3f} ms, {ours / wire:.2f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peers", action="store_true", help="our kernels only")
    options = parser.parse_args()
    rng, bench = np.random.default_rng(0), Bench()
    convolutions(bench, rng, not options.no_peers)
    tiles(bench, rng, not options.no_peers)
    lines(bench, rng, not options.no_peers)
    streams(bench, rng)
    transfers(rng)


if __name__ == "__main__":
    main()
