"""Reads shared among threads: the bytes of the file, whoever asks for them and however they lie."""

from __future__ import annotations

import os
import threading
import time
import tracemalloc
from queue import SimpleQueue

import numpy as np
import pytest

from footprint.errors import FormatError
from footprint.io.frames import turn_bytes
from footprint.io.raw import RawFrames
from footprint.plan.faces import COPIERS, Copiers

FRAMES, ROWS, COLUMNS = 12, 1100, 512
# All of it, rows of one frame, and rows of each.
BLOCKS = [(0, 12, slice(0, 1100)), (1, 2, slice(3, 1099)), (0, 7, slice(1, 1090))]


@pytest.fixture
def reads(monkeypatch):
    """Threads that read, as on a machine of many cores."""
    monkeypatch.setattr(Copiers, "workers", property(lambda self: 4))
    seen, preadv = set(), os.preadv

    def spied(*args):
        seen.add(threading.get_ident())
        return preadv(*args)

    monkeypatch.setattr(os, "preadv", spied)
    return seen


@pytest.fixture
def image(tmp_path, rng):
    """Frames behind some other bytes, big-endian, and their file."""
    values = rng.integers(0, 1 << 32, (FRAMES, ROWS, COLUMNS), np.uint32).astype(">u4")
    path = tmp_path / "frames.raw"
    path.write_bytes(b"before " + values.tobytes())
    return values, RawFrames(path, 7, values.shape, values.dtype)


def read(frames, start, stop, rows):
    out = np.full((stop - start, rows.stop - rows.start, COLUMNS), 7, frames.dtype)
    frames.read(start, stop, rows, out)
    return out


@pytest.mark.parametrize("start, stop, rows", [*BLOCKS, (2, 3, slice(5, 6)), (0, 12, slice(0, 100))])
def test_several_threads_read_what_one_does(reads, image, start, stop, rows):
    values, frames = image
    np.testing.assert_array_equal(read(frames, start, stop, rows), values[start:stop, rows])


@pytest.mark.parametrize("start, stop, rows", BLOCKS)
def test_a_large_block_is_read_by_several_threads(reads, image, monkeypatch, start, stop, rows):
    _, frames = image
    several, preadv = threading.Event(), os.preadv

    # Until a second thread reads, the first waits for it.
    def met(*args):
        done = preadv(*args)
        if len(reads) > 1:
            several.set()
        assert several.wait(20)
        return done

    monkeypatch.setattr(os, "preadv", met)
    read(frames, start, stop, rows)


def test_short_reads_are_one_thread_s(reads, image, monkeypatch):
    _, frames = image
    preadv = os.preadv

    # So slow that others would come by.
    def slow(*args):
        time.sleep(0.01)
        return preadv(*args)

    monkeypatch.setattr(os, "preadv", slow)
    read(frames, 0, 12, slice(0, 100))
    assert len(reads) == 1


def test_a_file_that_shrinks_is_told_of_from_any_thread(reads, image):
    _, frames = image
    os.truncate(frames.path, 7 + (FRAMES * ROWS - 3) * COLUMNS * 4)
    with pytest.raises(FormatError, match="ended early"):
        read(frames, 0, 12, slice(0, 1100))


def test_threads_that_copy_may_read_themselves(reads, image):
    values, frames = image
    box = SimpleQueue()
    jobs = 40
    for job in range(jobs):
        COPIERS.start(box, job, lambda: np.testing.assert_array_equal(read(frames, 0, 12, slice(0, 1100)), values))
    errors = [box.get(timeout=60)[1] for _ in range(jobs)]
    assert errors == [None] * jobs


@pytest.mark.parametrize("kind", ["u2", "i4", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(1,), (7, 33), (5, 4, 3)])
def test_bytes_are_turned_where_numbers_lie(rng, kind, shape):
    stored = rng.integers(0, 256, (*shape, np.dtype(kind).itemsize), np.uint8)
    wanted = np.ascontiguousarray(stored[..., ::-1])
    if kind[0] == "c":
        # The real part comes first in either order.
        half = np.dtype(kind).itemsize // 2
        wanted = np.concatenate([wanted[..., half:], wanted[..., :half]], axis=-1)
    for whole in (stored.copy(), np.repeat(stored, 2, axis=0)[::2]):
        numbers = whole.view(kind)[..., 0]
        turn_bytes(numbers)
        np.testing.assert_array_equal(numbers[..., None].copy().view(np.uint8), wanted)


def test_turning_bytes_takes_no_memory():
    numbers = np.arange(1 << 18, dtype=np.float32).reshape(512, 512)
    tracemalloc.start()
    turn_bytes(numbers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000
