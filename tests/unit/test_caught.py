"""An error that was caught keeps nothing that its frames hold, arrays, files or plans, until Python looks for cycles."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import h5py
import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import open_backend
from footprint.plan.cross import Lane
from footprint.plan.faces import COPIERS


class Broken(Exception):
    pass


class Number:
    """What no array of numbers takes."""

    def __float__(self) -> float:
        raise Broken


def copied(_: Path) -> None:
    given = np.zeros((300, 1000), "O")
    given[-1, -1] = Number()
    COPIERS.copy(np.zeros(given.shape), given)


def told(*what: Any) -> SimpleQueue[Any]:
    """What a thread says in the end."""
    box: SimpleQueue[Any] = SimpleQueue()
    box.put(what)
    return box


def landed(_: Path) -> None:
    lane = Lane(open_backend("null"))
    lane._box = told(0, Broken())
    lane.copied()


def streamed(_: Path) -> None:
    def frames() -> Any:
        yield np.ones((8, 8), "f4")
        raise Broken

    list(fp.stream(frames(), mask=np.ones((3, 3), "f4"), device="cpu"))


def given_up(_: Path) -> None:
    """A stream that is left when its source has failed; its error comes from elsewhere."""
    failed: list[weakref.ref[Broken]] = []

    def frames() -> Any:
        yield np.ones((8, 8), "f4")
        error = Broken()
        failed.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    with fp.stream(frames(), mask=np.ones((3, 3), "f4"), device="cpu") as results:
        next(results)
        while results._job.running:
            time.sleep(0.001)
    assert failed[0]() is None
    raise Broken


def linked(folder: Path) -> None:
    with h5py.File(folder / "scan.nx", "w") as file:
        file["entry/instrument/detector/data"] = h5py.ExternalLink("none.h5", "/data")
    fp.open_scan(folder / "scan.nx")


@pytest.mark.parametrize("fail", [copied, landed, streamed, given_up, linked])
def test_an_error_that_was_caught_is_gone(tmp_path: Path, fail: Callable[[Path], None]) -> None:
    gc.disable()
    try:
        try:
            fail(tmp_path)
        except (Broken, fp.FormatError) as error:
            left = weakref.ref(error)
        # The thread it comes from lets go of it when it is told, or a moment later.
        until = time.monotonic() + 5
        while left() is not None and time.monotonic() < until:
            time.sleep(0.001)
        assert left() is None
    finally:
        gc.enable()
