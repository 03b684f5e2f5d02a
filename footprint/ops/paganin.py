"""Phase retrieval from single-distance projections of a homogeneous object: Paganin's low-pass, with a finite reach along z."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from footprint.errors import ArgumentError
from footprint.kernels.common.stages import stages, turns
from footprint.kernels.ramp_filter import lines
from footprint.kernels.transforms.contract import halves
from footprint.ops.families import ProjectionFilter, batch_of
from footprint.ops.filters import fast_length
from footprint.plan.builder import Builder
from footprint.plan.rates import Cost
from footprint.plan.slots import Ref
from footprint.spec import ArraySpec, Limits

PADDINGS = ("edge", "reflect", "symmetric", "air", "zeros")
# What rows that do not count may come to; as the others are scaled up for them, a frequency may miss twice as much.
_MISSED = 5e-5
# Where the filter hardly blurs, what is missed falls slowly with the reach and is noise's: rows enough to have it small.
_ENOUGH = 64
# A weight below this counts for nothing in float32.
_NOTHING = 3e-8
# Frequencies whose weights are made at a time: they take memory that no plan counts.
_TOGETHER = 16
# Blurs over more pixels than this are slips of a unit.
MOST = 2000.0


@dataclass(frozen=True)
class Paganin(ProjectionFilter):
    """Transmission (n_angles, n_z, n_x) through 1 / (1 + length^2 k^2), k in radians a pixel.

    Along x it is a product of spectra of rows. Along z it is, at every frequency along x, a sum over so many rows to both sides
    that what is left out changes no frequency by more than `missed`: a part of the rows then gives the bits of the whole.

    Attributes
    ----------
    length
        Pixels it blurs over: sqrt(wavelength distance delta / (4 pi beta)) / pixel size.
    padding
        What stands beyond the projection, one of `PADDINGS`; ``air`` is 1, the open beam.
    """

    length: float
    padding: str = "edge"

    def __post_init__(self) -> None:
        if self.length > MOST:
            fix = "energy is in keV, distance and pixel size are in metres"
            raise ArgumentError("phase", f"a blur over {self.length:.4g} pixels", f"{MOST:.0f} at most", fix)

    @property
    def reach_z(self) -> int:
        """Rows to both sides."""
        return _cut_off(self.length)[0]

    @property
    def missed(self) -> float:
        """The most by which the rows beyond would change a frequency, of 1 for the lowest."""
        return _cut_off(self.length)[1]

    def padded(self, n_x: int) -> int:
        """Length of the padded rows: what stands beyond one end is out of reach of the other."""
        return fast_length(n_x + 2 * self.reach_z)

    def cost(self, limits: Limits, *specs: ArraySpec) -> Cost:
        """Two transforms of padded rows, and the weights that count."""
        n_a, n_z, n_x = specs[0].shape
        width = self.padded(n_x)
        _, _, reach = self._table(limits, width)
        rows = n_a * n_z
        return Cost(24 * rows * width, rows * 8.0 * reach.sum(), 5, rows * 10.0 * width * math.log2(len(reach)))

    def record(self, b: Builder, *refs: Ref) -> None:
        """Record batches of projections: rows to spectra, their sums, and back."""
        given, out = refs
        rows = b.bring(given, "float32")
        n, m, n_x = rows.spec.shape
        if n * m * n_x == 0:
            return
        width = self.padded(n_x)
        own, weights, far = self._table(b.limits, width)
        taps, reach = b.const(weights, "weights of rows"), b.const(far, "rows that count")
        if b.limits.host:
            b.library("weights of rows as they were made", weights.nbytes, bound=False)
        where = {"first": b.first(out, "z"), "start": b.first(given, "z"), "total": given.slot.spec.length("z")}
        batch = batch_of(n, 8 * width * m, b.limits.cores)
        with b.deliver(out, "float32") as made, b.repeat(rows, batch) as loop:
            part, y = rows.window(loop, batch), made.window(loop, batch)
            k = made.spec.shape[1]
            spectrum = b.scratch((batch * m, len(far)), "complex64", "spectra").like_rows(part.reshape(-1, n_x))
            blurred = b.scratch((batch * k, len(far)), "complex64", "blurred spectra").like_rows(y.reshape(-1, n_x))
            back = self._there(b, part, spectrum, width, own)
            b.launch("paganin.blur", spectrum, taps, reach, part, y, blurred, mode=self.padding, **where)
            back(blurred, y)
        b.note(
            f"phase: each row needs {self.reach_z} rows on both sides; "
            f"rows farther away would change no frequency by more than {self.missed:.1g}"
        )

    def _table(self, limits: Limits, width: int) -> tuple[tuple[int, ...] | None, np.ndarray, np.ndarray]:
        """Radices of our own transforms, None where a library makes them; weights, and how many count."""
        own = lines.factors(width) if limits.family == "cpu" and limits.fused else None
        # Transforms of our own leave the factor 1/n of the way back.
        return own, *_taps(self.length, width, 1.0 if own is None else 1 / width)

    def _there(
        self, b: Builder, part: Ref, spectrum: Ref, width: int, radices: tuple[int, ...] | None
    ) -> Callable[[Ref, Ref], None]:
        """Record rows padded and transformed; returned is what records the way back."""
        n_x, level = part.spec.shape[2], 1.0 if self.padding == "air" else 0.0
        rows = part.reshape(-1, n_x)
        if radices is not None:
            tables = [b.const(table, f"table {k} of rows") for k, table in enumerate(halves(radices))]
            how: dict[str, Any] = {"level": level, "radices": radices}
            mode = "constant" if self.padding in ("air", "zeros") else self.padding
            b.launch("transforms.forward", rows, *tables, spectrum, padded=width, mode=mode, **how)
            return lambda blurred, y: b.launch("transforms.backward", blurred, *tables, y.reshape(-1, n_x), **how)
        if stages(b.limits, width // 2) is not None:
            # On a device whose chips hold a row it is transformed there.
            chip = b.const(turns(width // 2), "twiddles")
            border: dict[str, Any] = {"mode": self.padding, "level": level}
            b.launch("paganin.forward", part, chip, spectrum, **border)
            return lambda blurred, y: b.launch("paganin.backward", blurred, chip, y, **border)
        wide = b.scratch((*spectrum.slot.spec.shape[:1], width), "float32", "padded rows").like_rows(rows)
        b.launch("paganin.pad", part, wide, mode=self.padding, level=level)
        b.fft(wide, spectrum)

        def back(blurred: Ref, y: Ref) -> None:
            narrow = b.scratch((*blurred.slot.spec.shape[:1], width), "float32", "padded rows back").like_rows(y.reshape(-1, n_x))
            b.fft(blurred, narrow, inverse=True)
            b.launch("paganin.crop", narrow, y, level=level)

        return back


def blur_length(delta_beta: float, energy: float, distance: float, pixel_size: float) -> float:
    """Pixels the filter blurs over, of keV and metres."""
    wavelength = 1.23984198433e-9 / energy
    return math.sqrt(wavelength * distance * delta_beta / (4 * math.pi)) / pixel_size


def _rows(length: float, k: np.ndarray, n: int) -> np.ndarray:
    """Weights (n // 2 + 1, len(k)) of rows 0, 1, ... away at frequencies ``k`` along x, by n samples of the spectrum along z."""
    along = 2 * np.pi * np.fft.rfftfreq(n)
    return np.fft.irfft(1 / (1 + length**2 * (along[:, None] ** 2 + k**2)), n, axis=0)[: n // 2 + 1]


@lru_cache(maxsize=16)
def _cut_off(length: float) -> tuple[int, float]:
    """Rows that count to both sides, and the most that is missed."""
    n = 1 << (8 * (math.ceil(10 * length) + _ENOUGH)).bit_length()
    weights = _rows(length, np.zeros(1), n)[:, 0]
    # What all farther ones would come to together.
    beyond = 2 * (np.abs(weights).sum() - np.cumsum(np.abs(weights)))
    reach = min(int(np.argmax(beyond <= _MISSED)), max(_ENOUGH, math.ceil(10.3 * length)))
    kept = np.zeros(n)
    kept[: reach + 1] = weights[: reach + 1]
    kept[n - reach :] = weights[reach:0:-1]
    along = 2 * np.pi * np.fft.rfftfreq(n)
    return reach, float(np.abs(np.fft.rfft(kept / kept.sum()).real - 1 / (1 + (length * along) ** 2)).max())


@lru_cache(maxsize=4)
def _taps(length: float, width: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights (R + 1, width // 2 + 1, twice) of rows at every frequency along x, and the farthest that counts there.

    They may be megabytes: all that a search for a plan records share them.
    """
    reach, _ = _cut_off(length)
    k = 2 * np.pi * np.fft.rfftfreq(width)
    taps = np.empty((reach + 1, len(k)), np.float32)
    for at in range(0, len(k), _TOGETHER):
        some = k[at : at + _TOGETHER]
        weights = _rows(length, some, 1 << (8 * (reach + 1)).bit_length())[: reach + 1]
        # What is the same in all rows passes as if all of them counted.
        weights *= 1 / (1 + (length * some) ** 2) / (2 * weights.sum(axis=0) - weights[0])
        taps[:, at : at + _TOGETHER] = weights
    counts = np.abs(taps) > _NOTHING
    far = reach - np.argmax(counts[::-1], axis=0)
    # One that counts at a frequency counts at all lower ones.
    doubled = np.repeat(taps, 2, axis=1)
    doubled *= np.float32(scale)
    doubled.flags.writeable = False
    return doubled, np.maximum.accumulate(far[::-1])[::-1].astype(np.int32)
