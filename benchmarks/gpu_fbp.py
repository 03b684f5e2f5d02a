"""Whole filtered backprojection on a CUDA device beside nabu, ASTRA and ToMoBAR, as far as they are installed.

``python -m benchmarks.gpu_fbp``: sinograms and slices stay on the device, but for ASTRA's, whose two-dimensional FBP copies them
from the host and back. The first slice of each is compared with ours by its rms difference within the seen circle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

import footprint as fp
from benchmarks.device import median

Peer = tuple[str, Callable[[cupy.ndarray, np.ndarray], Callable[[], Any]]]


def nabu(sinograms: cupy.ndarray, angles: np.ndarray) -> Callable[[], Any]:
    """Slice by slice, as its pipeline does."""
    from nabu.reconstruction.fbp import CudaBackprojector

    n_z, n_a, n = sinograms.shape
    one = CudaBackprojector((n_a, n), angles=angles, filter_name="ramlak")
    out = cupy.empty((n_z, n, n), np.float32)

    def call() -> cupy.ndarray:
        for z in range(n_z):
            one.fbp(sinograms[z], output=out[z])
        return out

    return call


def astra(sinograms: cupy.ndarray, angles: np.ndarray) -> Callable[[], Any]:
    """FBP_CUDA, copies from and to the host included."""
    import astra as toolbox

    n_z, _, n = sinograms.shape
    host = sinograms.get()
    volume, detector = toolbox.create_vol_geom(n, n), toolbox.create_proj_geom("parallel", 1.0, n, angles)

    def call() -> np.ndarray:
        for z in range(n_z):
            sino, rec = toolbox.data2d.create("-sino", detector, host[z]), toolbox.data2d.create("-vol", volume)
            job = toolbox.astra_dict("FBP_CUDA") | {"ProjectionDataId": sino, "ReconstructionDataId": rec, "FilterType": "ram-lak"}
            made = toolbox.algorithm.create(job)
            toolbox.algorithm.run(made)
            found = toolbox.data2d.get(rec)
            toolbox.algorithm.delete(made)
            toolbox.data2d.delete([sino, rec])
        return found[None]

    return call


def tomobar(sinograms: cupy.ndarray, angles: np.ndarray) -> Callable[[], Any]:
    """Its FBP (a sinc filter of its own), all slices at once."""
    from tomobar.methodsDIR_CuPy import RecToolsDIRCuPy

    n_z, _, n = sinograms.shape
    tools = RecToolsDIRCuPy(n, 0, n_z, 0.0, angles, n, device_projector=0)
    return lambda: tools.FBP(sinograms, data_axes_labels_order=["detY", "angles", "detX"])


PEERS: tuple[Peer, ...] = (("nabu", nabu), ("ASTRA", astra), ("ToMoBAR", tomobar))


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
    ours = median(lambda: fp.fbp(sinograms, angles, method="direct", out=out, device="cuda"), 5)
    line = f"{f'{n_z} x {n_a} x {n}':<28}{1e3 * ours:10.2f}   "
    y, x = np.mgrid[:n, :n] - (n - 1) / 2
    seen = cupy.asarray(y**2 + x**2 < (0.45 * n) ** 2)
    level = float(cupy.sqrt((out[0][seen] ** 2).mean()))
    for name, make in PEERS:
        try:
            call = make(sinograms, angles)
            found = cupy.asarray(call())[0]
        except (ImportError, OSError) as error:
            line += f"{name} left out ({error})  "
            continue
        took = median(call, 3)
        differ = min(float(cupy.sqrt(((turn - out[0])[seen] ** 2).mean())) for turn in (found, found[::-1]))
        line += f"{name} {1e3 * took:.2f} ({took / ours:.1f} x, {differ / level:.3f})  "
    return line


def main() -> None:
    print(f"{'FBP on the device':<28}{'ours, ms':>10}   peers: ms (times ours, rms difference over the head's rms)")
    for shape in ((1, 1500, 2048), (1, 2048, 2048), (1, 4000, 4096), (16, 1500, 2048)):
        print(compare(*shape), flush=True)


if __name__ == "__main__":
    main()
