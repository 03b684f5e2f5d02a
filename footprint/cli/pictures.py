"""Pictures in ``footprint convolve`` and ``footprint filter``: colour by colour, rounded and clipped to what a picture holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from footprint.errors import ArgumentError, FormatError
from footprint.io.kinds import called
from footprint.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from footprint.cli.render import Reporter
    from footprint.io.colour_tiff import ColourTiff
    from footprint.io.picture import Channel, Picture

# What takes rows of a result, from start to stop.
Take = Callable[[int, int, np.ndarray], None]
# The share of values that may be cut off without a word: a sharpened edge overshoots here and there.
_TOLD = 0.01


@contextmanager
def _first_colour(image: str) -> Iterator[Channel]:
    from footprint.io.picture import channel, open_picture

    with open_picture(image) as picture:
        yield channel(picture, 0)


def open_input(
    image: str, plane: int | tuple[int, ...] | None, otherwise: Callable[[str, Any], Any]
) -> AbstractContextManager[Any]:
    """What a job reads, for its plan: a picture's first colour, as all are done alike, or what ``otherwise`` opens."""
    from footprint.io.picture import is_picture

    if not is_picture(image):
        opened: AbstractContextManager[Any] = otherwise(image, plane)
        return opened
    refuse(plane=plane)
    return _first_colour(image)


def refuse(**options: Any) -> None:
    """Options that a picture's job has no use for."""
    for name, value in options.items():
        if value is not None:
            fix = "every colour is filtered, and rounded to the picture's dtype"
            raise ArgumentError(name, value, "none for a picture", fix)


def check_image_out(
    image: str, plane: int | tuple[int, ...] | None, target: str, overwrite: bool, open_source: Callable[..., Any]
) -> None:
    """Raise where the result of what is no picture cannot be written; who asks for a picture is first told why there is none."""
    from footprint.cli.extensions import tell_extension
    from footprint.io.image_writer import check_image

    if called(target, "png", "jpeg"):
        if image.lower().endswith(".gif") and os.path.exists(image):
            raise FormatError(image, "is read as a video, whose frames are grey", "save the picture as PNG")
        with open_source(image, plane):
            pass
    check_image(target, overwrite)
    tell_extension(image)


def tell_colours(reporter: Reporter, source: Any, target: str) -> None:
    """Say how a source is read that may be meant otherwise: pages along several axes, colours, a palette, or white as 0."""
    if getattr(source, "lost", ""):
        reporter.warn(source.lost)
    if getattr(source, "indexed", False):
        fix = "save it as RGB if its colours are meant"
        reporter.warn(f"{source.path}: has a palette; its numbers are filtered, and the palette is not kept; {fix}.")
    if getattr(source, "inverted", False) and not called(target, "tiff"):
        fix = "give a name ending in .tif to keep that"
        reporter.warn(f"{source.path}: stores white as 0; the stored numbers are filtered, and {target} shows 0 as black; {fix}.")
    whole = getattr(source, "whole", ())
    if len(whole) > 3:
        pages = " x ".join(map(str, whole[:-2]))
        reporter.warn(f"{source.path}: has {pages} pages; they are filtered and written as {source.shape[0]} frames of one stack.")
    count, height, width = (*source.shape, 0, 0)[:3]
    if len(source.shape) == 3 and width in (3, 4) and min(count, height) > 4:
        fix = "save a picture as PNG, or its colours as the first axis"
        reporter.warn(f"{source.path}: is filtered as {count} frames of {height} x {width} pixels; {fix}.")


def is_written(source: Any) -> bool:
    """Whether the result of a source is a file written by rows: a picture's is held, and counted with what is read."""
    from footprint.io.picture import Channel

    return not isinstance(source, Channel)


def unread(picture: Picture | ColourTiff) -> SimpleNamespace:
    """A colour whose pixels stay on the disk: what kernels are loaded with, before a budget is checked."""
    return SimpleNamespace(shape=picture.shape, dtype=picture.dtype, read=lambda rows, out: None)


def filtered(
    reporter: Reporter,
    picture: Picture | ColourTiff,
    target: str,
    overwrite: bool,
    shape: tuple[int, int],
    job: Callable[..., object],
    unknown: str = "of NaN",
) -> None:
    """Write a picture whose colours of ``shape`` are made by ``job(channel, take, on_plan)``; transparency is copied.

    ``unknown`` says of which pixels there is no number.
    """
    from footprint.io.picture import channel, save

    # Of each colour, values that were cut off, and those that were no number.
    lost = np.zeros((picture.colours, 2), np.int64)
    with reporter.measured():
        made = np.empty((*shape, picture.channels), picture.dtype)
        for number in range(picture.colours):
            # One plan is all colours'.
            job(channel(picture, number, shape), _rounded(made[..., number], lost[number]), None if number else reporter.plan)
        if picture.colours < picture.channels:
            made[..., -1] = picture.pixels[..., -1]
        save(picture, target, made, overwrite)
    # What makes a pixel unknown, as a mask does, is the same for all its colours.
    cut, holes = int(lost[:, 0].sum()), int(lost[:, 1].max())
    if holes:
        fix = "NaN remains if the image is a grey TIFF, FITS or .npy"
        reporter.warn(f"{target}: {counted(holes, 'pixels')} {unknown} {'is' if holes == 1 else 'are'} 0 in a picture; {fix}.")
    share, most = cut / (shape[0] * shape[1] * picture.colours), np.iinfo(picture.dtype).max
    if share > _TOLD:
        fix = "the result is floating-point, and complete, if the image is a grey TIFF, FITS or .npy"
        reporter.warn(f"{target}: {share:.0%} of the values were below 0 or over {most}, and are 0 or {most} in a picture; {fix}.")


def _rounded(out: np.ndarray, lost: np.ndarray) -> Take:
    """Puts rows into ``out``, to the nearest number that its dtype holds, and 0 for NaN.

    Those beyond are counted in the first number of ``lost``, NaN in the second.
    """
    most = np.iinfo(out.dtype).max

    def take(start: int, stop: int, block: np.ndarray) -> None:
        # A row at a time: nothing is held that grows with the picture.
        for target, row in zip(out[start:stop], block):
            whole = np.rint(row)
            holes = np.isnan(whole)
            # What a cast makes of NaN is the processor's affair.
            whole[holes] = 0
            target[...] = np.clip(whole, 0, most)
            lost[:] += np.count_nonzero(whole != target), np.count_nonzero(holes)

    return take
