"""What `find_sources` over maps is launched with: kernels as in `kernels.find_sources`, with background and noise at every pixel.

``launch("local_sources.table", block, level, spread, count, moments, boxes, *state, turn=, first=, height=, sigma=, connectivity=,
min_area=, seed=)``, ``local_sources.labelled`` and ``local_sources.paint`` as there, with maps of the block's shape and dtype in
place of ``stats``: set is what has ``value - level`` over ``sigma * spread``, where the spread is over 0. Values are told from the
level, and rounded to the block's dtype. ``moments`` have two more columns, level and spread at the peak, and it is that spread that
``seed`` times is compared with the peak.
"""

from __future__ import annotations

from footprint.kernels.find_sources import contract
from footprint.kernels.find_sources.contract import table_state
from footprint.spec import ArraySpec, Limits

labelled_state = table_state


def table_work(limits: Limits, block: ArraySpec, *rest: ArraySpec, **_: object) -> tuple[ArraySpec, ...]:
    """The flags of a block; a row and the one before it told from the level, and what of it is set."""
    return *contract.table_work(limits, block), ArraySpec((3, block.shape[1]), block.dtype)


labelled_work = paint_work = table_work
