"""Arrays with named axes beside others: brought to one order by the names, since a position says nothing of what an axis is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from footprint.backend.arrays import kind_of
from footprint.errors import ArgumentError, ShapeError

_FIX = "rename them, or give its .data, which goes by position"


def is_labelled(array: Any) -> bool:
    """Whether it is one array whose axes have names."""
    return kind_of(array).labelled and hasattr(array, "data") and hasattr(array, "dims")


def beside(image: Any, array: Any, name: str, of: str = "image") -> Any:
    """The numbers of what lies pixel for pixel beside a labelled image, in its order of axes; all else as it is given.

    Raises where the axes have other names, or an axis other coordinates. An axis without coordinates goes by its name alone.
    """
    if not is_labelled(array) or not array.dims:
        return array
    if set(array.dims) != set(image.dims):
        raise ShapeError(name, f"dimensions {array.dims}", f"the {of}'s {image.dims}", _FIX)
    mine, theirs = getattr(image, "indexes", {}), getattr(array, "indexes", {})
    for axis in image.dims:
        # Where lengths differ, the verb says of shapes what is to be said.
        if axis in mine and axis in theirs and len(mine[axis]) == len(theirs[axis]) and not mine[axis].equals(theirs[axis]):
            fix = "xarray.align, or give its .data, which goes by position"
            raise ArgumentError(name, f"coordinates along {axis!r} that are not the {of}'s", "the same", fix)
    return array.transpose(*image.dims).data


def window(image: Any, mask: Any, name: str, axes: Any, masks: str = "one") -> Any:
    """The numbers of a mask, or of several, in the order of the image's axes where both have the same names for them.

    Coordinates of a mask are its own, such as offsets from its centre, and names that the image does not have go by position.
    """
    if not is_labelled(mask) or not is_labelled(image):
        return mask
    along = _along(image.dims, axes, masks)
    own = mask.dims[max(len(mask.dims) - len(along), 0) :]
    if not set(own) & set(along):
        return mask.data
    if set(own) != set(along):
        fix = f"give axes={tuple(map(image.dims.index, own))}" if axes is None and set(own) < set(image.dims) else _FIX
        raise ShapeError(name, f"dimensions {mask.dims}", f"those the image is filtered along, {along}", fix)
    return mask.transpose(*mask.dims[: len(mask.dims) - len(along)], *along).data


def positions(dims: Sequence[Any], axes: Any, name: str) -> Any:
    """Axes by their numbers where some are given by their names; all else as it is given."""
    several = isinstance(axes, list | tuple)
    wanted = axes if several else (axes,)
    if not any(isinstance(axis, str) for axis in wanted):
        return axes
    if any(isinstance(axis, str) and axis not in dims for axis in wanted):
        raise ArgumentError(name, repr(axes), f"dimensions of the array, {tuple(dims)}, or whole numbers")
    found = tuple(dims.index(axis) if isinstance(axis, str) else axis for axis in wanted)
    return found if several else found[0]


def _along(dims: Sequence[Any], axes: Any, masks: str) -> tuple[Any, ...]:
    """The names of the axes that an image is filtered along; those that it does not have, the verb refuses."""
    if axes is None:
        return tuple(dims[masks == "each" :])
    wanted = axes if hasattr(axes, "__len__") else (axes,)
    return tuple(dims[a] for a in wanted if isinstance(a, int) and -len(dims) <= a < len(dims))
