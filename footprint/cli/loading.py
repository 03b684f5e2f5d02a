"""Libraries and compiled kernels of a convolution, loaded before the job that is measured."""

from __future__ import annotations

import math
from typing import Any

# Pixels of the largest image of zeros that kernels are loaded with: it lies beside what a job plans.
_WARM = 1 << 20
# Bytes that are read beside a row, at most, before a job is planned.
_BESIDE = 16 << 20
# Weights along an axis of a mask that all larger ones share their kernels with.
_LARGE = 65


def read_a_row(source: Any) -> None:
    """Load the library that decodes a file; not where a row comes with so much that the plan has to be asked first."""
    import numpy as np

    if hasattr(source, "load"):
        # What it would hold for later passes it is not asked yet: once counted, a large compressed image would be read whole.
        source.load(_BESIDE)
        return
    beside = getattr(source, "host_bytes", None)
    if beside is None or beside(1, source.dtype) <= _BESIDE:
        source.read(slice(0, 1), np.empty((1, source.shape[1]), source.dtype))


def load(source: Any, mask: Any, target: str, options: dict[str, Any]) -> None:
    """Load libraries and compiled kernels with images and masks of a few pixels: what is measured after is the data's."""
    import tempfile
    from contextlib import suppress
    from pathlib import Path

    import numpy as np

    from footprint.api._sides import BESIDE
    from footprint.api.convolve import convolve
    from footprint.api.stream import convolve_frames
    from footprint.errors import FootprintError
    from footprint.io.frame_source import FrameSource
    from footprint.io.image import create_image
    from footprint.kernels.common.few import SMALL, TOUCH
    from footprint.kernels.separable.contract import TALLIED

    if isinstance(source, FrameSource):
        source.load()
    else:
        read_a_row(source)
    # Kernels go by the mask's shape up to where weights no longer fit on a chip, or equal ones are no longer summed in one pass.
    product = options["method"] == "separable"
    most = TALLIED[1] + 1 if product and max(mask.shape) > TALLIED[1] else _LARGE
    shape = tuple(min(n, most) for n in mask.shape)
    weights = np.ones(shape)
    if product and not getattr(mask, "equal", None):
        # Equal weights are summed by kernels of their own.
        weights *= math.prod(np.ix_(*(np.minimum(np.arange(n), np.arange(n)[::-1]) + 1.0 for n in shape)))
    beside = {name: options[name].dtype for name in BESIDE if name in options}
    wanted = options.get("result")
    plain = {name: value for name, value in options.items() if name not in (*beside, "result")}

    def sides(*shape: int) -> dict[str, Any]:
        return plain | {name: np.zeros(shape, kind) for name, kind in beside.items()}

    def run(*shape: int) -> Any:
        return convolve(np.zeros(shape, source.dtype), weights, dtype=wanted, **sides(*shape))

    # Equal weights go down columns that lie side by side by a kernel of its own.
    few = run(2, _LARGE)
    # More work goes to all threads, by a kernel of its own.
    height, width = source.shape[-2:]
    taps = sum(weights.shape) if product else weights.size
    rows = SMALL // (min(taps, TOUCH if beside or product else taps) * width) + 1
    if options["method"] == "fft":
        run(*((height, width) if height * width < _WARM else (1024, _WARM // 1024)))
    elif rows <= height and rows * width <= 2 * _WARM:
        run(rows, width)
    if isinstance(source, FrameSource):
        # Lanes have threads of their own, from which the kernels' are started once more.
        frame = (min(rows, height, _WARM // width + 1), width)
        made = {"result": wanted, **sides(*frame)}
        convolve_frames(lambda _, block: block.fill(0), (2, *frame), source.dtype.str, weights, lambda *_: None, **made)
    # The temporary folder is not the job's: where it is full or read-only, the job goes on.
    with suppress(FootprintError, OSError), tempfile.TemporaryDirectory() as folder:
        with create_image(Path(folder) / f"few{Path(target).suffix}", few.shape, few.dtype) as writer:
            writer.write(slice(0, 2), few)
