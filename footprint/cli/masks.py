"""What ``footprint convolve`` reads beside its image: the mask, the pixels that are left out, and how much each counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import click

from footprint.errors import ArgumentError, FormatError


def beside_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that name what lies beside the image."""
    for option in (
        click.option("--weight", default=None, metavar="FILE", help="How much each pixel counts; those not above 0 are left out."),
        click.option("--masked", default=None, metavar="FILE", help="Leave out the pixels where this image is not 0."),
    ):
        command = option(command)
    return command


def not_a_mask(_ctx: click.Context, _param: click.Parameter, image: str) -> str:
    """The image as it was given; ArgumentError where it is the name of a mask."""
    from pathlib import Path

    from footprint.api._beam import named_beam
    from footprint.io.named_mask import is_named

    if (is_named(image) or named_beam(image) is not None) and not Path(image).exists():
        raise ArgumentError("image", repr(image), "an image, as the mask comes after it")
    return image


@contextmanager
def open_beside(**files: str | None) -> Iterator[dict[str, Any]]:
    """The images that the options name, opened."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(_opened(name, file)) for name, file in files.items() if file is not None}


@contextmanager
def _opened(name: str, path: str) -> Iterator[Any]:
    """An image, or a grey picture."""
    from footprint.io.image import open_image
    from footprint.io.picture import channel, is_picture, open_picture

    if is_picture(path):
        with open_picture(path) as picture:
            if picture.channels > 1:
                raise FormatError(path, f"has {picture.channels} channels", f"--{name} takes a grey picture")
            yield channel(picture, 0)
        return
    try:
        image = open_image(path)
    except FormatError as error:
        # --plane is the image's.
        raise FormatError(path, error.problem, f"--{name} is one plane" if "--plane" in error.fix else error.fix) from error
    with image:
        yield image


def open_mask(path: str, source: Any, mode: str) -> Any:
    """The mask: a file's, one by name, or the one that gives the source's image a beam."""
    from pathlib import Path

    from footprint.api._beam import named_beam
    from footprint.io.named_mask import open_mask as opened

    beam = None if Path(path).exists() else named_beam(path)
    return opened(path, ", beam:12arcsec") if beam is None else _matching(path, beam, source, mode)


def _matching(path: str, beam: tuple[float, float, float], source: Any, mode: str) -> Any:
    """The mask that gives an image a beam, by its header."""
    from footprint.api._beam import WIDEST, beam_mask

    if mode != "same":
        raise ArgumentError("mode", repr(mode), "same, for a mask that is a beam")
    if source.header is None:
        raise FormatError(source.path, "has no header that gives its beam", "give a FITS image")
    try:
        return beam_mask(source.header, beam, source.shape[-2:])
    except ArgumentError as error:
        if error.name == "target":
            if error.got == repr(beam):
                # What was typed is in other units, and in other words, than the function's.
                wanted = f"a beam such as beam:12arcsec or beam:12x8,pa=30, the larger axis first, below {WIDEST:g} degrees"
                raise ArgumentError("mask", repr(path), wanted) from None
            raise ArgumentError("mask", error.got, error.wanted, error.fix) from None
        raise FormatError(source.path, f"has {error.got} in its header", f"wanted {error.wanted}") from None
