"""Sums across and then down by way of a ring of rows on a GPU's chip: its sizes, and the weights that two neighbours share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footprint.kernels.common.launch import CORES, MAX_GROUPS_Y
from footprint.spec import Limits

SIDE = 4
"""Numbers of a vector."""
BLOCK = 16
"""Results of a work-item, side by side of a row and then of a column."""
RINGS = (384, 256, 128, 64, 32)
"""Work-items of a group, each with a column of results."""
FEW, NARROW = 48, 128
"""Weights up to which narrow groups are quicker than wide ones, which fetch less and share instructions; and columns of those."""
ROOM = 227 << 10
"""Bytes on the chip of all groups of a core, where a group may have as many; where it has less, its core has more."""
RESERVED = 1 << 10
"""Bytes of a group that are not its own."""
MOST = 512
"""Work-items of a core whose sums stay in registers."""
ENOUGH = 256
"""Work-items of a core with which two sums in one pass are quicker than one after the other."""
FULL = 512
"""Work-items that keep a core as busy as can be."""
FETCHED = 0.15
"""What it takes to fetch a number, over what its sums take."""
SHARED = 33
"""Least of the most weights along an axis, where sharing products pays (measured at 8192 x 8192 on an H100)."""
NEAR = 2.5
"""Most that a weight is times its neighbour, where neighbours share products: what is lost grows with it."""
HEAVY = 4.0
"""Most that such weights add up to: differences of numbers that are not near the largest then stay finite."""

STEEP, LEVEL = 40, 20
"""Most shared products of a chain, of weights that fall off, and of weights that are much alike, whose sums lose more."""


@dataclass(frozen=True)
class Ring:
    """What a group has on the chip: ``blocks`` blocks of rows of sums across of ``items`` columns, and one of the image's rows."""

    tall: int
    wide: int
    shift: int
    items: int

    @property
    def blocks(self) -> int:
        """Blocks of rows that one of results is summed of."""
        return (BLOCK + self.tall - 2) // BLOCK + 1

    @property
    def vectors(self) -> int:
        """Vectors of a row of the image."""
        return -(-(self.shift + self.items + self.wide - 1) // SIDE)

    @property
    def lanes(self) -> int:
        """Work-items that take a row, of which the first have a vector each; 0 where they are too few."""
        fit = (n for n in range(self.vectors, self.items + 1) if self.items % n == 0)
        return max(next(fit, 0), self.items // BLOCK) if self.vectors <= self.items else 0

    @property
    def raw_pitch(self) -> int:
        """Numbers from row to row of it: eight work-items that read a vector each of as many rows find them in all banks."""
        return -(-(SIDE * self.vectors - 4) // 32) * 32 + 4

    @property
    def pitch(self) -> int:
        """The same of sums."""
        return self.items + 4

    @property
    def local(self) -> int:
        """Bytes of the rows."""
        return 4 * BLOCK * (self.raw_pitch + self.blocks * self.pitch)

    @property
    def nbytes(self) -> int:
        """All of it: also where each row of the next block begins."""
        return self.local + 8 * BLOCK + 64

    @property
    def resident(self) -> int:
        """Groups that a core holds."""
        return max(min(ROOM // (self.nbytes + RESERVED), MOST // self.items), 1)

    @property
    def busy(self) -> int:
        """Work-items that a core holds."""
        return self.resident * self.items


def rings_of(limits: Limits, taps: tuple[int, int], shift: int = SIDE - 1) -> list[Ring]:
    """Those that a chip holds; first what keeps most work-items on a core, of those the widest, or the narrow ones."""
    rings = (Ring(*taps, shift, items) for items in RINGS if items <= limits.group)
    fit = [ring for ring in rings if ring.lanes and ring.nbytes <= limits.local_mem]
    return sorted(fit, key=lambda ring: (-ring.busy, abs(ring.items - NARROW) if max(taps) <= FEW else -ring.items))


def ring_for(limits: Limits, taps: tuple[int, int], shift: int, shape: tuple[int, int, int]) -> tuple[Ring, int]:
    """The ring that ends soonest with planes of so many rows and columns, and rows of results of a group."""
    planes, height, width = shape
    cores, found = limits.cores or CORES, []
    for ring in rings_of(limits, taps, shift):
        strips = planes * -(-width // ring.items)
        for each in range(1, 4 * ring.resident + 1):
            runs = min(max(each * cores // strips, 1), -(-height // BLOCK), MAX_GROUPS_Y)
            rows = -(-height // (runs * BLOCK)) * BLOCK
            rounds, rest = divmod(-(-strips * -(-height // rows) // cores), ring.resident)
            items = rounds * max(ring.busy, FULL) + (max(rest * ring.items, FULL) if rest else 0)
            # Of the rows before the first result only sums across are made; columns beside it are fetched alone.
            fetched = FETCHED * (ring.items + ring.wide) / ring.items if max(taps) > FEW else 0
            found.append((items * (rows + ring.tall // 2 + BLOCK) * (1 + fetched), ring, rows))
    if not found:
        raise ValueError(f"a ring of {taps[0]} by {taps[1]} weights does not fit {limits.local_mem} bytes")
    return min(found, key=lambda one: one[0])[1:]


def in_rings(limits: Limits, taps: tuple[int, int]) -> bool:
    """Whether a GPU has room for so many weights down and across, of float32, and for enough work-items beside each other."""
    return limits.family == "gpu" and any(ring.busy >= ENOUGH for ring in rings_of(limits, taps))


def shared(limits: Limits, *weights: np.ndarray) -> bool:
    """Whether a GPU lets neighbours share products of these weights, down and across: many float32 that change little."""
    tall, wide = (table.size for table in weights)
    return (
        all(table.dtype == np.float32 and _smooth(table.astype(float)) for table in weights)
        and min(tall, wide) > 1
        and max(tall, wide) >= SHARED
        and in_rings(limits, (tall, wide))
    )


def _smooth(weights: np.ndarray) -> bool:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = weights[1:] / weights[:-1]
    return bool((weights > 0).all() and weights.sum() <= HEAVY and (ratios <= NEAR).all() and (ratios >= 1 / NEAR).all())


def pairs_of(weights: np.ndarray) -> int:
    """Most pairs of weights in a chain."""
    return STEEP if weights.sum() <= weights.max() * weights.size / 2 else LEVEL


def with_sums(weights: np.ndarray) -> np.ndarray:
    """The table of weights that neighbours share: every two, and their sum."""
    pairs = weights[: weights.size // 2 * 2].reshape(-1, 2)
    return np.append(np.column_stack([pairs, pairs.sum(1)]), weights[pairs.size :]).astype(weights.dtype)
