"""Open every damaged file of a folder and say, line by line, what came of it. Run as a child: a crash must not end the tests."""

from __future__ import annotations

import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

from footprint.errors import FootprintError
from footprint.io.image import open_image
from footprint.io.scan import open_scan
from footprint.io.shifts import read_shifts


def use_scan(path: Path) -> None:
    with open_scan(path) as scan:
        if scan.n_x > 1 << 16:
            return
        n, rows = min(3, scan.n_angles), min(2, scan.n_z)
        scan.read(slice(0, rows), np.empty((n, rows, scan.n_x), np.float32), slice(scan.n_angles - n, scan.n_angles))
        if scan.n_flats <= 100:
            scan.flat_means(slice(0, 1))
            scan.darks(slice(0, 1))
        scan.host_bytes(1)
        repr(scan)


def use_image(path: Path) -> None:
    with open_image(path) as image:
        n_y, n_x = image.shape
        if n_x < 1 << 16:
            image.read(slice(0, 1), np.empty((1, n_x)))
            image.read(slice(n_y - 1, n_y), np.empty((1, n_x), np.float32))
        image.wcs, image.beam, image.unit, image.host_bytes(1)


def main(folder: Path, first: int) -> None:
    warnings.simplefilter("ignore")
    for path in sorted(folder.iterdir())[first:]:
        print("start", path.name, flush=True)
        use = use_image if "image" in path.name else use_scan
        if "shifts" in path.name:
            use = lambda p: read_shifts(p, 3)
        try:
            use(path)
            print("fine", flush=True)
        except FootprintError as error:
            sentence = str(error)
            good = str(path) in sentence and "\n" not in sentence and sentence.endswith(".") and len(sentence) < 600
            print("refused" if good else f"poor sentence: {sentence!r}", flush=True)
        except BaseException:
            print("raised", " | ".join(traceback.format_exc().splitlines()), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
