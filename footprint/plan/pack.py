"""Puts slots with lifetimes into as few bytes as it can: largest first, best-fitting gap, ties by id; deterministic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from footprint.errors import BudgetError
from footprint.spec import aligned

# Bytes of what may be written to a disk from where it lies, and what its place is then a multiple of.
_LARGE, _SECTOR = 1 << 19, 512


@dataclass(frozen=True)
class Item:
    """A slot to place: ``nbytes`` from step ``first`` to ``last`` of its thread, inclusive; None: of several, for whole phases."""

    id: int
    nbytes: int
    first: int
    last: int
    name: str = ""
    thread: int | None = 0
    copy: int = 0

    def clashes(self, other: Item) -> bool:
        """Whether both may be alive at once: two threads' may at any time, what lives for whole phases meets all in them."""
        if None not in (self.thread, other.thread) and self.thread != other.thread:
            return True
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Placed:
    """Where an item lies: ``offset`` in the ``block``-th block."""

    item: Item
    block: int
    offset: int
    nbytes: int


def pack(items: Iterable[Item], align: int = 64, max_block: int = 1 << 62) -> tuple[list[Placed], tuple[int, ...]]:
    """Place every item so that no two that live at the same time overlap; return the places and the size of each block.

    A second block is opened only when the first would pass ``max_block``, the largest allocation the device makes.
    """
    placed: list[Placed] = []
    blocks: list[int] = []
    for item in sorted(items, key=lambda one: (-one.nbytes, one.first, one.id, one.copy)):
        # Large ones come first, so all of them begin where a disk can have them as they lie.
        size = aligned(item.nbytes, align if item.nbytes < _LARGE else max(align, _SECTOR))
        check_block(item.name or f"slot {item.id}", size, max_block)
        best: tuple[int, int, int] | None = None
        for block in range(len(blocks)):
            gap, offset = _gap(placed, block, item, size)
            if offset + size <= max_block and (best is None or (gap, block) < best[:2]):
                best = (gap, block, offset)
        if best is None:
            blocks.append(0)
            best = (0, len(blocks) - 1, 0)
        _, block, offset = best
        placed.append(Placed(item, block, offset, size))
        blocks[block] = max(blocks[block], offset + size)
    return placed, tuple(blocks)


def _gap(placed: list[Placed], block: int, item: Item, size: int) -> tuple[int, int]:
    """The tightest gap for the item in one block, and its offset; the open end counts as the loosest."""
    busy = sorted((p.offset, p.offset + p.nbytes) for p in placed if p.block == block and p.item.clashes(item))
    at, best, best_at = 0, 1 << 63, -1
    for start, stop in busy:
        if size <= start - at < best:
            best, best_at = start - at, at
        at = max(at, stop)
    return (best, best_at) if best_at >= 0 else (1 << 63, at)


def check_block(name: str, nbytes: int, max_block: int) -> None:
    """BudgetError where ``nbytes`` that must lie in one piece are more than the device's largest allocation."""
    if nbytes > max_block:
        what, fix = "one array, limited by the device's largest block,", "reduce the job, or use another device"
        raise BudgetError(max_block, {name: nbytes}, nbytes, what, fix)
