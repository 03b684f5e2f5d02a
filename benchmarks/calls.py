"""Whole calls: the time on the wall from a call to its synchronised end, ours beside other packages in the same run.

    python -m benchmarks.calls              the table, on the CPU and on a GPU where there is one
    python -m benchmarks.calls --starts     the first result of each verb in a fresh process, with nothing compiled and from disk
    python -m benchmarks.calls --only convolve --quick
    python -m benchmarks.calls --on gpu     those of a GPU alone

Each row says where its arrays live. All are warm: a contestant is called first, then they take turns, and the median of the turns
is printed, with the ratio to ours. Beside it: the first call in this process (it compiles or loads what is new to it) and the
hundredth by itself. "device" is the time the GPU was busy with a call, by events behind other work, so that what the host takes to
start it is not in it; "over" is the median less that. "cpu" is the least processor time of ours, all threads', which other work on
the machine changes less than the clock on the wall. Results are compared with the first peer's before anything is timed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import footprint as fp
from benchmarks.timing import compare

Call = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    name, arrays
        What is called, and where what it is given and what it returns live.
    ours, peers
        The calls; a peer that is not installed is not among them. The first peer's result is compared with ours.
    within
        Largest difference over the largest magnitude that counts as the same; None where results are not of one kind.
    """

    name: str
    arrays: str
    ours: Call
    peers: Mapping[str, Call] = field(default_factory=dict)
    within: float | None = 1e-5


def installed(**peers: tuple[str, Callable[[Any], Call]]) -> dict[str, Call]:
    """The peers whose package there is: ``name=(package, what makes its call from the package)``."""
    found = {}
    for name, (package, make) in peers.items():
        try:
            found[name] = make(__import__(package, fromlist=["_"]))
        except ImportError:
            continue
    return found


def on_host(value: Any) -> np.ndarray:
    """The array as NumPy's."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.squeeze(value.get() if hasattr(value, "get") and not isinstance(value, np.ndarray) else np.asarray(value))


def check(row: Row) -> None:
    """Ours against the first peer."""
    if row.within is None or not row.peers:
        return
    name, peer = next(iter(row.peers.items()))
    ours, other = (on_host(call()).astype(float) for call in (row.ours, peer))
    apart = np.abs(ours - other).max() / max(np.abs(other).max(), 1e-300)
    if not apart <= row.within:
        sys.exit(f"{row.name}: ours and {name}'s differ by {apart:.1e}, more than {row.within:.0e}")


# What each verb is given, as NumPy arrays; ``n`` is the side of an image.


def noise(*shape: int) -> np.ndarray:
    """Standard normal float32, the same in every run."""
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def blobs(n: int) -> np.ndarray:
    """A mask of islands."""
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(noise(n, n), 2) > 0.1


def mix(xp: Any, stack: Any, shifts: np.ndarray) -> Call:
    """A vertical shift by array arithmetic, an angle at a time."""
    whole, part = np.floor(shifts).astype(int), np.mod(shifts, 1).astype(np.float32)

    def call() -> Any:
        out = xp.zeros_like(stack)
        for a, (s, f) in enumerate(zip(whole, part)):
            n = stack.shape[1]
            for shift, weight in ((s, 1 - f), (s + 1, f)):
                lo, hi = max(0, -shift), min(n, n - shift)
                out[a, lo:hi] += weight * stack[a, lo + shift : hi + shift]
        return out

    return call


def ramp(xp: Any, rows: Any) -> Call:
    """The ramp filter by a library's FFT: the same response, rows padded to twice their length."""
    from footprint.ops.filters import response

    n = rows.shape[-1]
    gains = xp.asarray(response("ramlak", 2 * n).real.astype(np.float32))
    return lambda: xp.fft.irfft(xp.fft.rfft(rows, 2 * n) * gains, 2 * n)[..., :n]


def simple(xp: Any, put: Callable[[np.ndarray], Any], where: str, n: int, device: str) -> Iterator[Row]:
    """The verbs whose peer is a line of array arithmetic, at one size."""
    peer = xp.__name__
    image, given = put(noise(n, n)), {"device": device}
    size = f"{n}²"
    target, scratch = put(noise(n, n)), put(noise(n, n))

    def plain() -> Any:
        scratch.__imul__(0.5)
        scratch.__iadd__(0.25 * image)

    yield Row(f"muladd {size}", where, lambda: fp.muladd(target, image, 0.5, 0.25, **given), {peer: plain}, None)
    yield Row(f"threshold {size}", where, lambda: fp.threshold(image, 1.5, **given), {peer: lambda: image > 1.5}, 0)
    yield Row(f"pad {size} by 4", where, lambda: fp.pad(image, 4, "edge", **given), {peer: lambda: xp.pad(image, 4, "edge")}, 0)
    stack, shifts = put(noise(4, n, n)), np.array([0.25, -1.5, 2.75, 1.0])
    yield Row(
        f"vertical_shift 4 x {size}", where, lambda: fp.vertical_shift(stack, shifts, **given), {peer: mix(xp, stack, shifts)}
    )
    rows = put(noise(n, max(n, 64)))
    yield Row(f"ramp_filter {n} x {max(n, 64)}", where, lambda: fp.ramp_filter(rows, **given), {peer: ramp(xp, rows)})
    angles = np.arange(n) * np.pi / n
    sinogram = put(noise(n, n))
    yield Row(f"backproject {n} x {n}", where, lambda: fp.backproject(sinogram, angles, **given), {})


def small_filters(where: str, device: str) -> Iterator[Row]:
    """What a small image costs in every filter, and in convolutions beyond the plain one, where the call is more than the sums."""
    image, stack, mask, given = noise(32, 32), noise(8, 32, 32), noise(5, 5), {"device": device}
    filters: dict[str, tuple[Any, ...]] = {"gaussian_filter": (1.0,), "uniform_filter": (5,), "sobel": (), "laplace": ()}
    filters |= {"gaussian_laplace": (1.0,), "median_filter": (3,), "percentile_filter": (20, 3), "maximum_filter": (3,)}
    for name, words in filters.items():
        peers = installed(SciPy=("scipy.ndimage", lambda m, n=name, w=words: lambda: getattr(m, n)(image, *w)))
        yield Row(f"{name} 32²", where, lambda n=name, w=words: getattr(fp, n)(image, *w, **given), peers)
    yield Row("unsharp_mask 32²", where, lambda: fp.unsharp_mask(image, 1.0, **given), {})
    options: dict[str, dict[str, Any]] = {
        "masked": {"masked": image > 1},
        "weight": {"weight": image},
        "nan": {"nan": "interpolate"},
    }
    for name, more in options.items():
        yield Row(f"convolve 32², 5², {name}", where, lambda m=more: fp.convolve(image, mask, **m, **given), {})
    yield Row("convolve 8 x 32², 5²", where, lambda: fp.convolve(stack, mask, axes=(1, 2), **given), {})
    yield Row("convolve 32², by name", where, lambda: fp.convolve(image, "gaussian:sigma=1", **given), {})


def cpu_rows() -> Iterator[Row]:
    """NumPy arrays on the processor."""
    where, given = "NumPy, CPU", {"device": "cpu"}
    for n, taps in ((32, 5), (256, 13), (2048, 13)):
        image, mask = noise(n, n), noise(taps, taps)
        flipped = mask[::-1, ::-1].copy()
        peers = installed(
            SciPy=("scipy.ndimage", lambda m, a=image, w=mask: lambda: m.convolve(a, w, mode="constant")),
            OpenCV=("cv2", lambda m, a=image, w=flipped: lambda: m.filter2D(a, -1, w, borderType=m.BORDER_CONSTANT)),
        )
        if n > 1000:
            peers = dict(reversed(peers.items()))  # SciPy takes half a second
        yield Row(f"convolve {n}², {taps}²", where, lambda a=image, w=mask: fp.convolve(a, w, **given), peers)
    yield from small_filters(where, "cpu")
    for n in (32, 2048):
        yield from simple(np, np.ascontiguousarray, where, n, "cpu")
        mask, image = blobs(n), noise(n, n)
        labels = installed(SciPy=("scipy.ndimage", lambda m, a=mask: lambda: m.label(a)[0]))
        yield Row(f"label {n}²", where, lambda a=mask: fp.label(a, **given)[0], labels, 0)
        clip = installed(
            astropy=("astropy.stats", lambda m, a=image: lambda: m.sigma_clipped_stats(a, sigma=3, maxiters=None, cenfunc="median"))
        )
        yield Row(f"sigma_clip {n}²", where, lambda a=image: fp.sigma_clip(a, **given), clip, None)
    from benchmarks.find_sources import lesson, radio_field

    field = radio_field(2048, 1000)
    yield Row(
        "find_sources 2048²", where, lambda: fp.find_sources(field, lesson=True, **given), {"SciPy": lambda: lesson(field)}, None
    )
    big, mask, out = noise(8192, 8192), noise(13, 13), np.empty((8192, 8192), np.float32)
    flipped = mask[::-1, ::-1].copy()
    peers = installed(OpenCV=("cv2", lambda m: lambda: m.filter2D(big, -1, flipped, borderType=m.BORDER_CONSTANT)))
    yield Row("convolve 8192², 13², fresh", where, lambda: fp.convolve(big, mask, **given), peers)
    yield Row("convolve 8192², 13², out=", where, lambda: fp.convolve(big, mask, out=out, **given), peers)


def gpu_rows() -> Iterator[Row]:
    """CuPy arrays, and NumPy arrays that go to the GPU and come back."""
    import cupy
    import cupyx.scipy.ndimage as ndimage

    from benchmarks.gpu import torch_convolution
    from benchmarks.gpu_fbp import nabu, phantom
    from benchmarks.gpu_tomography import lesson, sky

    where, given = "CuPy", {"device": "cuda"}
    for n in (256, 2048):
        image, mask = cupy.asarray(noise(n, n)), cupy.asarray(noise(13, 13))
        peers = {"cupyx": lambda a=image, w=mask: ndimage.convolve(a, w, mode="constant")}
        peers |= torch_convolution(image, mask[::-1, ::-1].copy())
        yield Row(f"convolve {n}², 13²", where, lambda a=image, w=mask: fp.convolve(a, w, **given), peers)
    for n in (32, 2048):
        yield from simple(cupy, cupy.asarray, where, n, "cuda")
        islands, image = cupy.asarray(blobs(n)), cupy.asarray(noise(n, n))
        peers = {"cupyx": lambda a=islands: ndimage.label(a)[0]}
        yield Row(f"label {n}²", where, lambda a=islands: fp.label(a, **given)[0], peers, 0)
        yield Row(f"sigma_clip {n}²", where, lambda a=image: fp.sigma_clip(a, **given), {}, None)
    sinograms, angles = phantom(1, 1500, 512)
    peers = {}
    try:
        peers["nabu"] = nabu(sinograms, angles)
    except (ImportError, OSError):
        pass
    yield Row("fbp 1500 x 512, direct", where, lambda: fp.fbp(sinograms, angles, method="direct", **given), peers, None)
    wide, turned = phantom(1, 1500, 2048)
    for method in ("direct", "fourier"):
        yield Row(f"fbp 1500 x 2048, {method}", where, lambda m=method: fp.fbp(wide, turned, method=m, **given), {}, None)
    field = cupy.asarray(sky(2048, 185, np.random.default_rng(0)))
    yield Row("find_sources 2048²", where, lambda: fp.find_sources(field, **given), {"lesson": lambda: lesson(field)}, None)
    big, mask, out = noise(8192, 8192), noise(13, 13), np.empty((8192, 8192), np.float32)
    peers = {"cupyx, copies": lambda: ndimage.convolve(cupy.asarray(big), cupy.asarray(mask), mode="constant").get()}
    for name, options in (("fresh", {}), ("out=", {"out": out})):
        call = lambda options=options: fp.convolve(big, mask, **options, **given)
        yield Row(f"convolve 8192², 13², {name}", "NumPy to NumPy", call, peers)


def busy_time(call: Call) -> Callable[[], float] | None:
    """Seconds the GPU itself takes: a kernel that only waits is put before the call, so that all of it is queued when it ends.

    What a call waits for inside (the number of labels, say) is in it: there the GPU idles while the host goes on.
    """
    import cupy

    wait = cupy.RawKernel(
        r"""extern "C" __global__ void wait(long long ticks) { long long t = clock64(); while (clock64() - t < ticks); }""", "wait"
    )

    def once() -> float:
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        wait((1,), (1,), (np.int64(4_000_000),))
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return cupy.cuda.get_elapsed_time(start, stop) / 1e3

    return lambda: statistics.median(once() for _ in range(9))


def processor_time(call: Call, least: float) -> float:
    """Seconds of processors that a call takes: the least of a few means over ``least`` seconds."""
    found = []
    for _ in range(5):
        count, start, began = 0, time.process_time(), time.perf_counter()
        while not count or time.perf_counter() - began < least:
            call()
            count += 1
        found.append((time.process_time() - start) / count)
    return min(found)


def ms(seconds: float) -> str:
    """Milliseconds to three digits."""
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def print_row(row: Row, sync: Call | None, quick: bool) -> None:
    """Time one row and print it."""

    def ended(call: Call) -> Call:
        if sync is None:
            return call
        return lambda: (call(), sync())

    def timed(call: Call) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    ours = ended(row.ours)
    first = timed(ours)
    check(row)
    budget, spent, hundredth = 2.0, 0.0, first
    for _ in range(99):
        hundredth = timed(ours)
        spent += hundredth
        if spent > budget:
            break
    calls = {"ours": ours} | {name: ended(peer) for name, peer in row.peers.items()}
    least, patience = (0.005, 2.0) if quick else (0.05, 30.0)
    times = compare(calls, turns=3 if quick else 9, least=least, patience=patience)
    mine = times["ours"]
    busy = busy_time(row.ours)() if sync is not None else None
    device, over = (ms(busy), ms(max(0.0, mine.median - busy))) if busy is not None else ("-", "-")
    spent = processor_time(ours, least)
    others = "   ".join(f"{name} {ms(t.median)} ({mine.ratio(t):.2g} x)" for name, t in times.items() if t is not mine)
    columns = ms(mine.median), ms(spent), device, over, ms(first), ms(hundredth)
    print(f"{row.name:<28}{row.arrays:<16}{''.join(f'{one:>9}' for one in columns)}   {others}", flush=True)


def table(only: str, quick: bool, on: str) -> None:
    """All rows, those of a GPU where there is one."""
    columns = "".join(f"{name:>9}" for name in ("median", "cpu", "device", "over", "first", "100th"))
    print(f"{'ms, whole calls':<28}{'arrays':<16}{columns}   peers (times ours)")
    for row in cpu_rows() if on != "gpu" else ():
        if only in row.name:
            print_row(row, None, quick)
    if on == "cpu":
        return
    if not any(name.startswith("cuda") and not why for name, why in fp.devices()):
        print("GPU rows: no GPU here")
        return
    import cupy

    # A chip that comes from idling takes a second to reach its clocks.
    warm, until = cupy.zeros(1 << 24, np.float32), time.perf_counter() + 1
    while time.perf_counter() < until:
        warm += 1
        cupy.cuda.get_current_stream().synchronize()
    for row in gpu_rows():
        if only in row.name:
            print_row(row, cupy.cuda.get_current_stream().synchronize, quick)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", action="store_true", help="first results in fresh processes")
    parser.add_argument("--only", default="", help="rows, or verbs, whose name has this in it")
    parser.add_argument("--on", choices=("cpu", "gpu"), help="rows of one of the two")
    parser.add_argument("--quick", action="store_true", help="few turns: to see whether it runs")
    options = parser.parse_args()
    if options.starts:
        from benchmarks.starts import starts

        starts(options.only)
    else:
        table(options.only, options.quick, options.on)
