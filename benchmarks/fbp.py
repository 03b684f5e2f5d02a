"""FBP of one slice beside skimage's iradon and ASTRA's CPU FBP: ``python -m benchmarks.fbp [--angles 1500] [--size 2048]``.

The peers take half a minute and more a slice, so they run once, after a warm-up on a small slice; ours take turns. All start from
the same float32 sinogram of the Shepp-Logan head and the error of each against the head itself is printed with its time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import footprint as fp
from benchmarks.timing import compare, report
from footprint.api._arrays import where
from footprint.backend.registry import open_backend
from footprint.io.phantom import projections, volume


def iradon(sinogram: np.ndarray, angles: np.ndarray) -> np.ndarray:
    from skimage.transform import iradon as peer

    return peer(sinogram.T, np.rad2deg(angles), circle=True)


def astra(sinogram: np.ndarray, angles: np.ndarray) -> np.ndarray:
    import astra as peer

    n = sinogram.shape[1]
    grid = peer.create_vol_geom(n, n)
    lines = peer.create_proj_geom("parallel", 1.0, n, angles)
    projector = peer.create_projector("linear", lines, grid)
    data, image = peer.data2d.create("-sino", lines, sinogram), peer.data2d.create("-vol", grid)
    config = peer.astra_dict("FBP") | {"ProjectorId": projector, "ProjectionDataId": data, "ReconstructionDataId": image}
    algorithm = peer.algorithm.create(config)
    peer.algorithm.run(algorithm)
    out = peer.data2d.get(image)
    peer.algorithm.delete(algorithm)
    peer.data2d.delete([data, image])
    peer.projector.delete(projector)
    return out


def error(image: np.ndarray, truth: np.ndarray) -> float:
    """Root mean square inside the seen circle; the peers' axes may point the other way, so the better view counts."""
    n = len(truth)
    y, x = np.mgrid[:n, :n] - (n - 1) / 2
    seen = np.hypot(x, y) < 0.45 * n
    return min(float(np.sqrt(np.mean((view - truth)[seen] ** 2))) for view in (image, image[::-1]))


def once(
    name: str, call: Callable[[np.ndarray, np.ndarray], np.ndarray], sinogram: np.ndarray, angles: np.ndarray
) -> tuple[float, np.ndarray]:
    call(np.ascontiguousarray(sinogram[::50, ::16]), angles[::50])
    start = time.perf_counter()
    image = call(sinogram, angles)
    return time.perf_counter() - start, image


def main(n_a: int, n: int, device: str, peers: bool) -> None:
    angles, center = np.linspace(0, np.pi, n_a, endpoint=False), (n - 1) / 2
    sinogram = projections(n, np.zeros(1), angles, center)[:, 0].astype(np.float32)
    truth = volume(n, np.zeros(1), center)[0]
    out = np.empty((n, n), np.float32)
    methods = ("direct", "fourier")
    calls = {m: (lambda m=m: fp.fbp(sinogram, angles, method=m, out=out, device=device)) for m in methods}
    timings = compare(calls, turns=5)
    report(f"{n_a} x {n} -> {n} x {n}, device {device}", timings)
    for name, call in calls.items():
        gups = n_a * n * n / timings[name].median / 1e9
        print(f"  {name}: rmse to the head {error(call(), truth):.4f}, {gups:.2f} GUPS")
    with fp.plan_fbp((n_a, n), angles, method="fourier", device=device).bind(open_backend(where(device))) as bound:
        bound(sinogram[None], out=[out[None]])
        steps = bound.profile(sinogram[None], out=[out[None]])
    print("  fourier, ms: " + ", ".join(f"{name} {1e3 * seconds:.2f}" for name, seconds in steps.items()))
    for name, peer in (("skimage.iradon", iradon), ("ASTRA CPU FBP", astra)) if peers else ():
        try:
            seconds, image = once(name, peer, sinogram, angles)
        except ImportError as missing:
            print(f"  {name}: not here ({missing})")
            continue
        ratios = ", ".join(f"{seconds / timings[m].median:.1f} x {m}" for m in methods)
        print(f"  {name}: {seconds:.2f} s, rmse {error(image, truth):.4f}: {ratios}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angles", type=int, default=1500)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-peers", action="store_true")
    words = parser.parse_args()
    main(words.angles, words.size, words.device, not words.no_peers)
