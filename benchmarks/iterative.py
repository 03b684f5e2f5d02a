"""SIRT, CGLS and TV beside ASTRA's SIRT: ``python -m benchmarks.iterative [--slices 64] [--device cuda] [--no-peers]``.

ASTRA iterates on a GPU with a projector and a backprojector that are no transposes of each other, slice by slice and with its
3-D SIRT (parallel beams, the whole stack at once); on the processor it is timed slice by slice, with a few iterations. Seconds are
those of all slices and iterations, from and to host arrays; processor time of all threads is beside them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import footprint as fp
from footprint.io.phantom import projections


def astra(sinograms: np.ndarray, angles: np.ndarray, iterations: int, gpu: bool) -> np.ndarray:
    import astra as peer

    n = sinograms.shape[2]
    grid, lines = peer.create_vol_geom(n, n), peer.create_proj_geom("parallel", 1.0, n, angles)
    out = np.empty((len(sinograms), n, n), np.float32)
    projector = None if gpu else peer.create_projector("linear", lines, grid)
    for z, sinogram in enumerate(sinograms):
        data, image = peer.data2d.create("-sino", lines, sinogram), peer.data2d.create("-vol", grid)
        config = peer.astra_dict("SIRT_CUDA" if gpu else "SIRT")
        config |= {"ProjectionDataId": data, "ReconstructionDataId": image} | ({} if gpu else {"ProjectorId": projector})
        algorithm = peer.algorithm.create(config)
        peer.algorithm.run(algorithm, iterations)
        out[z] = peer.data2d.get(image)
        peer.algorithm.delete(algorithm)
        peer.data2d.delete([data, image])
    return out


def astra_stack(sinograms: np.ndarray, angles: np.ndarray, iterations: int) -> np.ndarray:
    """All slices in one run of ASTRA's SIRT3D_CUDA, the way to run a stack there."""
    import astra as peer

    n_z, _, n = sinograms.shape
    grid = peer.create_vol_geom(n, n, n_z)
    lines = peer.create_proj_geom("parallel3d", 1.0, 1.0, n_z, n, angles)
    data, volume = peer.data3d.create("-sino", lines, sinograms), peer.data3d.create("-vol", grid)
    algorithm = peer.algorithm.create(peer.astra_dict("SIRT3D_CUDA") | {"ProjectionDataId": data, "ReconstructionDataId": volume})
    peer.algorithm.run(algorithm, iterations)
    out = peer.data3d.get(volume)
    peer.algorithm.delete(algorithm)
    peer.data3d.delete([data, volume])
    return out


def timed(name: str, call: Callable[[], object], count: int) -> None:
    """Warm up, then print seconds, and those of one slice and iteration."""
    call()
    start, work = time.perf_counter(), time.process_time()
    call()
    seconds, work = time.perf_counter() - start, time.process_time() - work
    each = f"{1e3 * seconds / count:.3f} ms a slice and iteration"
    print(f"  {name:<16} {seconds:9.3f} s  {each}, {1e3 * work / count:.3f} ms of processor time", flush=True)


def main(n_z: int, n_a: int, n: int, iterations: int, device: str, peers: bool) -> None:
    angles = np.linspace(0, np.pi, n_a, endpoint=False)
    lines = projections(n, np.linspace(-0.3, 0.3, n_z), angles, (n - 1) / 2)
    sinograms = np.ascontiguousarray(lines.transpose(1, 0, 2), np.float32)
    volume, seen = np.empty((n_z, n, n), np.float32), np.empty_like(sinograms)
    print(f"{n_z} slices of {n} x {n}, {n_a} angles, {iterations} iterations, device {device}")
    timed("sirt", lambda: fp.sirt(sinograms, angles, iterations=iterations, out=volume, device=device), n_z * iterations)
    timed("cgls", lambda: fp.cgls(sinograms, angles, iterations=iterations, out=volume, device=device), n_z * iterations)
    timed("tv", lambda: fp.tv(sinograms, angles, weight=1.0, iterations=iterations, out=volume, device=device), n_z * iterations)
    timed("projection", lambda: fp.project(volume, angles, out=seen, device=device), n_z)
    timed("backprojection", lambda: fp.backproject(seen, angles, weighted=False, out=volume, device=device), n_z)
    if peers:
        gpu = device.startswith("cuda")
        some, few = (sinograms, iterations) if gpu else (sinograms[:1], min(iterations, 3))
        try:
            timed("ASTRA SIRT", lambda: astra(some, angles, few, gpu), len(some) * few)
            if gpu:
                timed("ASTRA SIRT 3-D", lambda: astra_stack(some, angles, few), len(some) * few)
        except ImportError as missing:
            print(f"  ASTRA SIRT: not installed ({missing})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=64)
    parser.add_argument("--angles", type=int, default=180)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-peers", action="store_true")
    words = parser.parse_args()
    main(words.slices, words.angles, words.size, words.iterations, words.device, not words.no_peers)
