"""Whole filtered backprojection on a CUDA device beside nabu, ASTRA and ToMoBAR, as far as they are installed.

``python -m benchmarks.gpu_fbp``: times are of one slice. Each peer is called as its experts call it: nabu with device arrays in and
out; ASTRA with its objects made once, its two-dimensional FBP taking the sinogram from the host and giving the slice back there;
ToMoBAR on a stack of at least 32 slices. The first slice of each is compared with ours by its rms difference in the seen circle.

Below that, the Fourier method at each of its accuracies beside direct sums, with its rms difference to the CPU's slice and what
each step takes; ``--fourier`` does only that.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

import footprint as fp
from benchmarks.device import median
from footprint.backend.registry import open_backend
from footprint.kernels.fourier.taps import TAPS

Slices = Sequence[Any]
Peer = tuple[str, Callable[[cupy.ndarray, np.ndarray], Callable[[], Slices]]]
STACK = 32


def nabu(sinograms: cupy.ndarray, angles: np.ndarray) -> Callable[[], Slices]:
    """Slice by slice, as its pipeline does; its filter and textures are made once."""
    from nabu.reconstruction.fbp import CudaBackprojector

    n_z, n_a, n = sinograms.shape
    one = CudaBackprojector((n_a, n), angles=angles, filter_name="ramlak")
    if not isinstance(sinograms, one._processing.array_class):  # an older one would copy them to the host and back
        raise ImportError("this nabu takes no CuPy arrays: 2025 or later")
    out = cupy.empty((n_z, n, n), np.float32)
    pairs = [(sinograms[z], out[z]) for z in range(n_z)]

    def call() -> Slices:
        for sinogram, image in pairs:
            one.fbp(sinogram, output=image)
        return out

    return call


def astra(sinograms: cupy.ndarray, angles: np.ndarray) -> Callable[[], Slices]:
    """FBP_CUDA with its data and algorithm made once; copies from and to the host included."""
    import astra as toolbox

    host, n = sinograms.get(), sinograms.shape[2]
    volume, detector = toolbox.create_vol_geom(n, n), toolbox.create_proj_geom("parallel", 1.0, n, angles)
    sino, rec = toolbox.data2d.create("-sino", detector), toolbox.data2d.create("-vol", volume)
    job = toolbox.astra_dict("FBP_CUDA") | {"ProjectionDataId": sino, "ReconstructionDataId": rec, "FilterType": "ram-lak"}
    made = toolbox.algorithm.create(job)

    def call() -> Slices:
        found = []
        for sinogram in host:
            toolbox.data2d.store(sino, sinogram)
            toolbox.algorithm.run(made)
            found.append(toolbox.data2d.get(rec))
        return found

    return call


def tomobar(sinograms: cupy.ndarray, angles: np.ndarray, method: str = "FBP") -> Callable[[], Slices]:
    """Its FBP (a sinc filter of its own) or its Fourier inversion, all slices of a stack at once."""
    from tomobar.methodsDIR_CuPy import RecToolsDIRCuPy

    stack = cupy.concatenate([sinograms] * -(-STACK // len(sinograms)))
    n_z, _, n = stack.shape
    tools = RecToolsDIRCuPy(n, 0, n_z, 0.0, angles, n, device_projector=0)
    run, options = getattr(tools, method), {} if method == "FBP" else {"filter_type": "ramp"}
    return lambda: run(stack, data_axes_labels_order=["detY", "angles", "detX"], **options)


def tomobar_fourier(sinograms: cupy.ndarray, angles: np.ndarray) -> Callable[[], Slices]:
    """Its Fourier inversion."""
    return tomobar(sinograms, angles, "FOURIER_INV")


PEERS: tuple[Peer, ...] = (("nabu", nabu), ("ASTRA", astra), ("ToMoBAR", tomobar), ("ToMoBAR Fourier", tomobar_fourier))


def phantom(n_z: int, n_a: int, n: int) -> tuple[cupy.ndarray, np.ndarray]:
    """Line integrals of the Shepp-Logan head."""
    from footprint.io.phantom import projections

    angles = np.arange(n_a) * np.pi / n_a
    one = projections(n, np.zeros(1), angles, (n - 1) / 2)[:, 0]
    return cupy.asarray(np.repeat(one[None], n_z, 0), np.float32), angles


def compare(n_z: int, n_a: int, n: int) -> str:
    """A line of the table."""
    sinograms, angles = phantom(n_z, n_a, n)
    out = cupy.empty((n_z, n, n), np.float32)
    ours = median(lambda: fp.fbp(sinograms, angles, method="direct", out=out, device="cuda"), 5) / n_z
    line = f"{f'{n_z} x {n_a} x {n}':<28}{1e3 * ours:10.2f}   "
    y, x = np.mgrid[:n, :n] - (n - 1) / 2
    seen = cupy.asarray(y**2 + x**2 < (0.45 * n) ** 2)
    level = float(cupy.sqrt((out[0][seen] ** 2).mean()))
    for name, make in PEERS:
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # some talk while they work
                call = make(sinograms, angles)
                slices = call()
                found, took = cupy.asarray(slices[0]), median(call, 3) / len(slices)
        except (ImportError, OSError, cupy.cuda.memory.OutOfMemoryError) as error:
            line += f"{name} left out ({error})  "
            continue
        # Their axes may point the other way.
        views = (found, found[::-1], found[:, ::-1], found[::-1, ::-1])
        differ = min(float(cupy.sqrt(((view - out[0])[seen] ** 2).mean())) for view in views)
        line += f"{name} {1e3 * took:.2f} ({took / ours:.1f} x, {differ / level:.3f})  "
    return line


def fourier(n_z: int, n_a: int, n: int) -> str:
    """A line of the Fourier method's table, and its steps."""
    sinograms, angles = phantom(n_z, n_a, n)
    out = cupy.empty((n_z, n, n), np.float32)

    def call(**options: Any) -> float:
        return 1e3 * median(lambda: fp.fbp(sinograms, angles, out=out, device="cuda", **options), 5) / n_z

    direct = call(method="direct")
    line = f"{f'{n_z} x {n_a} x {n}':<28}{direct:10.2f}   "
    host = sinograms[0].get()
    for accuracy in TAPS:
        took = call(method="fourier", accuracy=accuracy)
        want = fp.fbp(host, angles, method="fourier", accuracy=accuracy, device="cpu")
        differ = np.sqrt(np.mean((out[0].get() - want) ** 2) / np.mean(want**2))
        line += f"{accuracy:.0e}: {took:.3f} ({direct / took:.1f} x, {differ:.1e})  "
    with fp.plan_fbp((n_a, n), angles, method="fourier", device="cuda").bind(open_backend("cuda")) as bound:
        image = np.empty((1, n, n), np.float32)
        bound(host[None], out=[image])
        steps = bound.profile(host[None], out=[image])
    return line + "\n    " + ", ".join(f"{name} {1e3 * seconds:.3f}" for name, seconds in steps.items())


def main(peers: bool) -> None:
    if peers:
        beside_peers()
    print(f"{'FBP, device arrays':<28}{'direct':>10}   Fourier: ms a slice (times as fast, rms difference to the CPU)")
    for shape in ((1, 1500, 2048), (1, 4000, 4096), (16, 1500, 2048)):
        print(fourier(*shape), flush=True)


def beside_peers() -> None:
    """Direct sums beside the peers."""
    print(f"{'FBP, device arrays':<28}{'ours, ms':>10}   peers: ms a slice (times ours, rms difference over the head's rms)")
    for shape in ((1, 1500, 2048), (1, 2048, 2048), (1, 4000, 4096), (32, 1500, 2048)):
        print(compare(*shape), flush=True)


if __name__ == "__main__":
    main(peers="--fourier" not in sys.argv)
