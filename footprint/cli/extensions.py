"""Extensions of FITS files: which is taken of several, and how the outputs of one are called."""

from __future__ import annotations

import re
from pathlib import Path

from footprint.errors import FormatError, warn
from footprint.io.fits_units import images_in
from footprint.io.inflated import is_gzip
from footprint.io.kinds import begins, bracketed


def stem_of(image: str) -> str:
    """The name of an image's file without its suffixes, with its extension behind it where one is named."""
    file, word = bracketed(image)
    name = Path(file if word is not None else file.partition("[")[0]).name
    for suffix in (".gz", ".fz"):
        name = name.removesuffix(suffix)
    return Path(name).stem if word is None else f"{Path(name).stem}_{re.sub(r'[^A-Za-z0-9.+-]+', '_', str(word))}"


def tell_extension(image: str) -> dict[str, str]:
    """Which extension is read of a file that has several with images, where none was named; warns of the others.

    A file that is compressed as a whole would have to be read to its end to know.
    """
    try:
        if not Path(image).is_file() or is_gzip(image) or not begins(image, "fits"):
            return {}
        found = images_in(image)
    except (OSError, FormatError):
        return {}
    if len(found) < 2:
        return {}
    names = list(found.values())
    first, second = (name if name and names.count(name) == 1 else str(index) for index, name in list(found.items())[:2])
    warn(f"{image}: only {first} of {len(found)} extensions with an image is read; '{image}[{second}]' is the next")
    return {"extension": first}
