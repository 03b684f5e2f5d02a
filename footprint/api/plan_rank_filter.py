"""Plans of medians, other ranks, minima and maxima."""

from __future__ import annotations

from typing import Any

from footprint.api._arrays import Memory
from footprint.api._rank import Window, percentage, planned_rank
from footprint.api._window import whole
from footprint.kernels.common.borders import shows_borders
from footprint.plan.plan import Plan


@shows_borders("mode")
def plan_median_filter(
    shape: tuple[int, ...],
    size: Any = None,
    *,
    dtype: str = "float32",
    footprint: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `median_filter` of a C-contiguous image of this shape and dtype: every byte it will take, before any data.

    Parameters
    ----------
    shape : tuple of int
        Of the image.
    dtype : str
        Of the image.
    size, footprint, mode, cval, origin, axes, memory, device
        As in `median_filter`.

    Returns
    -------
    Plan
        Its parts are planes, rows, and where not even a row fits, columns.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_median_filter((8192, 8192), 5, dtype="uint16", device="cpu").n_parts
    1
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return planned_rank("median_filter", shape, dtype, None, how, memory, device)


@shows_borders("mode")
def plan_percentile_filter(
    shape: tuple[int, ...],
    percentile: float,
    size: Any = None,
    *,
    dtype: str = "float32",
    footprint: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `percentile_filter` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    percentile : float
        As in `percentile_filter`.
    shape, size, dtype, footprint, mode, cval, origin, axes, memory, device
        As in `plan_median_filter`.

    Returns
    -------
    Plan
        As of `plan_median_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_percentile_filter((512, 512), 20, 5, device="cpu").n_parts
    1
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return planned_rank("percentile_filter", shape, dtype, percentage(percentile), how, memory, device)


@shows_borders("mode")
def plan_rank_filter(
    shape: tuple[int, ...],
    rank: int,
    size: Any = None,
    *,
    dtype: str = "float32",
    footprint: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `rank_filter` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    rank : int
        As in `rank_filter`.
    shape, size, dtype, footprint, mode, cval, origin, axes, memory, device
        As in `plan_median_filter`.

    Returns
    -------
    Plan
        As of `plan_median_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_rank_filter((512, 512), -1, 3, device="cpu").n_parts
    1
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return planned_rank("rank_filter", shape, dtype, whole("rank", rank), how, memory, device)


@shows_borders("mode")
def plan_minimum_filter(
    shape: tuple[int, ...],
    size: Any = None,
    *,
    dtype: str = "float32",
    footprint: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `minimum_filter` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape, size, dtype, footprint, mode, cval, origin, axes, memory, device
        As in `plan_median_filter`.

    Returns
    -------
    Plan
        As of `plan_median_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_minimum_filter((512, 512), 3, device="cpu").n_parts
    1
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return planned_rank("minimum_filter", shape, dtype, 0, how, memory, device)


@shows_borders("mode")
def plan_maximum_filter(
    shape: tuple[int, ...],
    size: Any = None,
    *,
    dtype: str = "float32",
    footprint: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    axes: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `maximum_filter` of a C-contiguous image of this shape and dtype.

    Parameters
    ----------
    shape, size, dtype, footprint, mode, cval, origin, axes, memory, device
        As in `plan_median_filter`.

    Returns
    -------
    Plan
        As of `plan_median_filter`.

    Examples
    --------
    >>> import footprint as fp
    >>> fp.plan_maximum_filter((512, 512), 3, device="cpu").n_parts
    1
    """
    how = Window(size, footprint, mode, cval, origin, axes)
    return planned_rank("maximum_filter", shape, dtype, -1, how, memory, device)
