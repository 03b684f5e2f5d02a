"""Jobs of the memory tests on stacks of frames and videos; `tests.memory.jobs` runs them."""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

import footprint as fp
from footprint.io.frame_source import open_source
from footprint.io.image_writer import create_stack, writing_bytes

Job = tuple[Callable[[Any], Any], Callable[[Any], Any]]
RNG = np.random.default_rng(3)


def _frames(source: Any, result: str, **beside: Any) -> Job:
    """A stack of frames to a FITS cube, whose bytes are the other way round; with what lies ``beside`` every frame."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    target, mask = Path(folder) / "cube.fits", np.ones((9, 9)) / 81
    options: dict[str, Any] = {"result": result, "reading": source.host_bytes, "device": "cpu", **beside}
    options["writing"] = max(writing_bytes(target, source.shape, result, given) for given in (result, "f4"))
    about: tuple[Any, ...] = (source.shape, source.dtype.str)
    source.load()

    def run(memory: Any) -> None:
        with create_stack(target, source.shape, result, overwrite=True) as writer:
            write = lambda number, block: writer.write(slice(number, number + 1), block[None])
            fp.convolve_frames(source.read, *about, mask, write, memory=memory, **options)

    return lambda memory: fp.plan_convolve_frames(source.shape, mask.shape, dtype=about[1], memory=memory, **options), run


def convolve_frames(scale: int) -> Job:
    """Big-endian TIFF pages that the reader has to decode."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    stack = RNG.integers(0, 999, (12, 128 * scale, 1024)).astype("u2")
    tifffile.imwrite(Path(folder) / "stack.tif", stack, byteorder=">", compression="zlib", photometric="minisblack")
    return _frames(open_source(Path(folder) / "stack.tif"), "f8")


def convolve_cube(scale: int) -> Job:
    """Frames that the reader has only to cast, and weights in a file that are held beside them."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    np.save(Path(folder) / "stack.npy", RNG.integers(0, 999, (12, 256 * scale, 1024)).astype("u2"))
    np.save(Path(folder) / "weight.npy", RNG.random((256 * scale, 1024)).astype(">f4"))
    weight = fp.open_image(Path(folder) / "weight.npy")
    return _frames(open_source(Path(folder) / "stack.npy"), "f4", weight=weight)


def convolve_video(scale: int) -> Job:
    """A video whose decoder keeps frames that others refer to."""
    import av

    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    path = Path(folder) / "film.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast", "refs": "16", "bf": "4"})
        stream.height, stream.width, stream.pix_fmt = 128 * scale, 512, "yuv420p"
        for _ in range(24):
            noise = RNG.integers(0, 255, (128 * scale, 512)).astype("u1")
            container.mux(stream.encode(av.VideoFrame.from_ndarray(noise, format="gray")))
        container.mux(stream.encode(None))
    return _frames(open_source(path), "f4")


JOBS: dict[str, Callable[[int], Job]] = {
    "convolve_frames": convolve_frames,
    "convolve_cube": convolve_cube,
    **({"convolve_video": convolve_video} if importlib.util.find_spec("av") else {}),
}
