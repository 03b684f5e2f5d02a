"""From a scan's file to a volume's: ``python -m benchmarks.reconstruct [--angles 720 --rows 32 --size 512 --memory 1GB]``.

The scan (an NXtomo of uint16, gzip by projections, flats, darks, a dead column) is made on the spot. Every contestant reads it,
corrects it, reconstructs all rows and writes a volume, in a process of its own, warmed on a scan of a few pixels; then they take
turns. A row has the median of seconds, the processor's seconds, the ratio to ours by direct sums (the median of the turns'
ratios), the growth of the process's memory at its highest, and the error against the head itself, which phase retrieval blurs.

Peers that sum directly take so long that they make ``--peer-rows`` of the rows; their seconds are those for as many as ours, in
proportion, and the row says so; their memory is that of the rows they made. They are skimage's iradon (its axis moved by linear
interpolation, which smooths its noise), ASTRA's CPU FBP and TomoPy's gridrec, where they are installed.

``--iterative`` adds SIRT, 100 iterations of 64 slices of 512 x 512 from 180 angles, beside ASTRA's: see `benchmarks.iterative`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import iterative
from footprint.backend.memory import PeakMeter
from footprint.io.phantom import Scan, write_scan
from footprint.units import format_bytes

BEAM = {"delta_beta": 20, "energy": 25, "distance": 0.05, "pixel_size": 2e-6}
Road = Callable[[Scan, Path, Any], np.ndarray]


def ours(method: str, **steps: Any) -> Road:
    def road(scan: Scan, folder: Path, how: Any) -> np.ndarray:
        import footprint as fp
        from footprint.io.image import open_image
        from footprint.io.volume import create_volume

        target = folder / f"{method}{len(steps)}.h5"
        with fp.open_scan(scan.path) as opened:
            shape = fp.plan_reconstruct(opened, center=scan.center, device=how.device, written=True).outputs[0].spec.shape
            with create_volume(target, shape, overwrite=True) as volume:
                chosen = fp.steps(**steps) if steps else None
                settings = {"method": method, "steps": chosen, "memory": how.memory, "device": how.device}
                fp.reconstruct(opened, center=scan.center, out=volume, **settings)
        image = np.empty(shape[1:], np.float32)
        with open_image(f"{target}:/entry/reconstruction/results/data", shape[0] // 2) as opened:
            opened.read(slice(0, shape[1]), image)
        return image

    return road


def peer(slices: Callable[[np.ndarray, np.ndarray, float], np.ndarray], whole: bool, rings: bool = False) -> Road:
    """The road of a library that reconstructs arrays: sinograms (n_z, n_angles, n_x) to slices."""

    def road(scan: Scan, folder: Path, how: Any) -> np.ndarray:
        import h5py

        with h5py.File(scan.path) as file:
            keys = file["entry/instrument/detector/image_key"][()]
            data, angles = file["entry/instrument/detector/data"], file["entry/sample/rotation_angle"][()]
            rows = slice(None) if whole else some_rows(data.shape[1], how.peer_rows)
            frames = data[:, rows].astype(np.float32)
        dark, flat = frames[keys == 2].mean(axis=0), frames[keys == 1].mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (frames[keys == 0] - dark) / (flat - dark)
        before, after = scan.dead_column - 1, scan.dead_column + 1
        shares[..., scan.dead_column] = 0.5 * (shares[..., before] + shares[..., after])
        turned = np.deg2rad(angles[keys == 0])
        if rings:
            shares = phase_of_tomopy(shares)
        lines = np.ascontiguousarray(-np.log(np.clip(shares, 1e-6, 10)).swapaxes(0, 1))
        volume = slices(rings_of_tomopy(lines) if rings else lines, turned, scan.center)
        with h5py.File(folder / "peer.h5", "w") as file:
            file["data"] = volume
        return volume[len(volume) // 2]

    return road


def some_rows(n_z: int, count: int) -> slice:
    count = min(count, n_z)
    first = n_z // 2 - count // 2
    return slice(first, first + count)


def iradon(lines: np.ndarray, angles: np.ndarray, center: float) -> np.ndarray:
    from scipy.ndimage import shift
    from skimage.transform import iradon as one

    n = lines.shape[2]
    moved = [shift(sinogram, (0, n // 2 - center), order=1, mode="nearest") for sinogram in lines]
    return np.stack([one(sinogram.T, np.rad2deg(angles), circle=True).astype(np.float32) for sinogram in moved])


def astra(lines: np.ndarray, angles: np.ndarray, center: float) -> np.ndarray:
    import astra as library

    n = lines.shape[2]
    grid = library.create_vol_geom(n, n)
    rays = library.geom_postalignment(library.create_proj_geom("parallel", 1.0, n, angles), (n - 1) / 2 - center)
    projector = library.create_projector("linear", rays, grid)
    found = []
    for sinogram in lines:
        data, image = library.data2d.create("-sino", rays, sinogram), library.data2d.create("-vol", grid)
        ids = {"ProjectorId": projector, "ProjectionDataId": data, "ReconstructionDataId": image}
        algorithm = library.algorithm.create(library.astra_dict("FBP") | ids)
        library.algorithm.run(algorithm)
        found.append(library.data2d.get(image))
        library.algorithm.delete(algorithm)
        library.data2d.delete([data, image])
    return np.stack(found)


def gridrec(lines: np.ndarray, angles: np.ndarray, center: float) -> np.ndarray:
    import tomopy

    return tomopy.recon(lines, angles, center=center, sinogram_order=True, algorithm="gridrec", filter_name="ramlak")


def phase_of_tomopy(shares: np.ndarray) -> np.ndarray:
    import tomopy

    lengths = {"pixel_size": 100 * BEAM["pixel_size"], "dist": 100 * BEAM["distance"]}
    return tomopy.retrieve_phase(shares, **lengths, energy=BEAM["energy"], alpha=1 / BEAM["delta_beta"] / (4 * np.pi**2), pad=True)


def rings_of_tomopy(lines: np.ndarray) -> np.ndarray:
    import tomopy

    return tomopy.remove_all_stripe(lines.swapaxes(0, 1)).swapaxes(0, 1)


# Name -> the road, the module it needs, and whether it makes all rows.
ROADS: dict[str, tuple[Road, str, bool]] = {
    "Footprint, direct": (ours("direct"), "footprint", True),
    "Footprint, Fourier": (ours("fourier"), "footprint", True),
    "Footprint, rings by sorting, Fourier": (ours("fourier", rings="sorting"), "footprint", True),
    "Footprint, phase, rings vo-all, Fourier": (ours("fourier", phase=BEAM, rings="all"), "footprint", True),
    "skimage iradon": (peer(iradon, False), "skimage", False),
    "ASTRA CPU FBP": (peer(astra, False), "astra", False),
    "TomoPy gridrec": (peer(gridrec, True), "tomopy", True),
    "TomoPy phase, vo-all, gridrec": (peer(gridrec, True, True), "tomopy", True),
}


def work(name: str, folder: Path, how: Any, line: Any) -> None:
    """One contestant: warm, then a turn each time it is asked; what goes wrong is told as a sentence."""
    try:
        road = ROADS[name][0]
        road(write_scan(folder / "few.nx", 40, 2, 64), folder, how)
        line.send(None)
        while (scan := line.recv()) is not None:
            with PeakMeter() as meter:
                start, busy = time.perf_counter(), time.process_time()
                image = road(scan, folder, how)
                times = time.perf_counter() - start, time.process_time() - busy
            line.send((*times, meter.growth if meter.known else None, image))
    except Exception as wrong:
        line.send(f"{type(wrong).__name__}: {wrong}")


def error(image: np.ndarray, scan: Scan) -> float:
    """Root mean square inside the object's circle as a share of the head's range; peers' slices may be moved, or upside down."""
    from scipy.ndimage import shift

    truth = scan.truth[len(scan.truth) // 2]
    n = len(truth)
    y, x = np.mgrid[:n, :n] - scan.center
    seen = np.hypot(x, y) < 0.45 * n
    views = [shift(view, scan.center - axis, order=1) for view in (image, image[::-1]) for axis in (n // 2, (n - 1) / 2)]
    differ = [float(np.sqrt(np.mean((view - truth)[seen] ** 2))) for view in (image, image[::-1], *views)]
    return min(differ) / float(np.ptp(truth))


def main(how: Any) -> None:
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        scan = write_scan(Path(place) / "scan.nx", how.angles, how.rows, how.size)
        size = format_bytes(scan.path.stat().st_size)
        print(f"{how.angles} projections of {how.rows} x {how.size}, {size} in the file; device {how.device}, {how.memory}")
        lines = {}
        for i, (name, (_, module, _)) in enumerate(ROADS.items()):
            if find_spec(module) is None or (how.no_peers and module != "footprint"):
                print(f"  {name}: {'left out' if how.no_peers else 'not installed'}")
                continue
            (folder := Path(place) / str(i)).mkdir()
            lines[name], far = context.Pipe()
            worker = context.Process(target=work, args=(name, folder, how, far), daemon=True)
            worker.start()
            far.close()
            if (wrong := lines[name].recv()) is not None:
                print(f"  {name}: {wrong}")
                del lines[name]
        found: dict[str, list[Any]] = {name: [] for name in lines}
        # They have the file; the truth stays here.
        asked = replace(scan, truth=np.empty(0))
        for _ in range(how.turns):
            for name, line in lines.items():
                line.send(asked)
                found[name].append(line.recv())
        for line in lines.values():
            line.send(None)
        show(found, scan, how)


def show(found: dict[str, list[Any]], scan: Scan, how: Any) -> None:
    first = [turn[0] for turn in next(iter(found.values()))]
    wide = max(len(name) for name in found)
    print(f"  {'':<{wide}}  {'seconds':>9}  {'processor':>9}  {'ratio':>8}  {'memory':>9}  error")
    for name, turns in found.items():
        wrong = [turn for turn in turns if isinstance(turn, str)]
        if wrong:
            print(f"  {name}: {wrong[0]}")
            continue
        share = 1.0 if ROADS[name][2] else how.rows / min(how.peer_rows, how.rows)
        seconds, busy = (share * statistics.median(turn[k] for turn in turns) for k in (0, 1))
        ratio = statistics.median(share * turn[0] / own for turn, own in zip(turns, first))
        peak = "not known" if turns[0][2] is None else format_bytes(max(turn[2] for turn in turns))
        line = f"  {name:<{wide}}  {seconds:9.3f}  {busy:9.3f}  {ratio:7.2f}x  {peak:>9}  {100 * error(turns[0][3], scan):.2f} %"
        print(line + (f"  ({how.peer_rows} rows, in proportion)" if share > 1 else ""), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--angles", type=int, default=720)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--peer-rows", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--iterative", action="store_true")
    words = parser.parse_args()
    main(words)
    if words.iterative:
        iterative.main(64, 180, 512, 100, words.device, not words.no_peers)
