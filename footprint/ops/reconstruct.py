"""From raw projections to slices: flat field, dead pixels, minus log, vertical shifts, filter, backprojection, circle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from footprint.ops.fbp import TOO_LARGE, Fbp
from footprint.ops.flatfield import Flatfield
from footprint.ops.fourier import FourierBackproject
from footprint.plan.builder import Builder
from footprint.plan.fit import Variant
from footprint.plan.slots import Given, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import counted

# Angles that are corrected, filtered and summed at a time where a slice's whole sinogram does not fit.
_GROUPS = (256, 16)
TILES = "rows of a slice"
"""What is counted where a run makes a tile of one slice."""

Slots = tuple[Ref, Ref, Ref, Ref]
Make = Callable[[Builder, int], Slots]


@dataclass(frozen=True, eq=False)
class Reconstruct:
    """The whole pipeline on a block of detector rows.

    Attributes
    ----------
    flatfield, fbp
        The two halves: raw block to sinograms, sinograms to slices.
    """

    flatfield: Flatfield
    fbp: Fbp

    def out_specs(self, raw: ArraySpec, rows: int) -> tuple[ArraySpec, ...]:
        """The slices of ``rows`` detector rows, and every check of the arguments."""
        n_angles, _, n_x = raw.shape
        return self.fbp.out_specs(ArraySpec((rows, n_angles, n_x)))

    def record(self, b: Builder, raw: Ref, flats: Ref, dark: Ref, out: Ref) -> None:
        """Record a run on ``raw`` (n_angles, rows and halo, n_x), ``flats`` (n_groups, rows and halo, n_x) and their dark."""
        n_a, _, n_x = raw.spec.shape
        sino = b.scratch((out.spec.shape[0], n_a, n_x), name="sinograms")
        self.flatfield.record(b, b.bring(raw), b.bring(flats), b.bring(dark), sino)
        self.fbp.record(b, sino, out, consume=True)

    def record_groups(
        self, b: Builder, raw: Ref, flats: Ref, dark: Ref, out: Ref, angles: int, geometry: Ref | None = None
    ) -> None:
        """Record the same with ``angles`` projections at a time, so that no whole sinogram is ever held.

        ``geometry`` is the table of the tile that ``out`` is, where it is one. Its circle is left to the caller, who alone knows
        where the tile lies: one record serves all tiles.
        """
        n_a, _, n_x = raw.spec.shape
        n_z = out.spec.shape[0]
        light, shade = b.bring(flats), b.bring(dark)
        shifts, times = self.flatfield.tables(b)
        table = b.const(self.fbp.geometry.table(self.fbp.scale), "geometry") if geometry is None else b.bring(geometry)
        with b.deliver(out) as volume:
            b.launch("slices.fill", volume, value=0.0)
            with b.repeat(-(-n_a // angles)) as group:

                def part(ref: Ref) -> Ref:
                    return ref.window(group, angles)

                block = b.bring(part(raw))
                moved = None if shifts is None else (part(shifts[0]), part(shifts[1]))
                now = (part(times[0]), part(times[1]), part(times[2]))
                sino = b.scratch((angles, n_z * n_x), name="sinograms of some angles").like_rows(now[0]).reshape(n_z, -1, n_x)
                self.flatfield.step(b, block, light, shade, sino, moved, now)
                self.fbp.ramp.record(b, sino.reshape(-1, n_x))
                b.launch("backproject", sino, part(table), volume, accumulate=True)
            if geometry is None:
                self.fbp.mask(b, volume)

    def record_polar(self, b: Builder, raw: Ref, flats: Ref, dark: Ref, out: Ref, angles: int) -> None:
        """Record the Fourier method on whole sinograms, ``angles`` of a slice transformed at a time."""
        n_a, _, n_x = raw.spec.shape
        sino = b.scratch((out.spec.shape[0], n_a, n_x), name="sinograms")
        self.flatfield.record(b, b.bring(raw), b.bring(flats), b.bring(dark), sino)
        transform = FourierBackproject(self.fbp.geometry, self.fbp.ramp, self.fbp.scale)
        transform.record_groups(b, sino, out, angles, lambda volume: self.fbp.mask(b, volume))

    def variants(self, rows: int, make: Make, limits: Limits, tile: Make | None = None) -> list[Variant]:
        """Ways to cut the job, the one to prefer first.

        ``make(b, n)`` makes the slots of ``n`` slices, ``tile(b, n)`` those of ``n`` rows of one, where that takes less.
        """
        method, note = self.fbp.choose_method(limits)

        def whole(op: Reconstruct, said: str = note) -> Variant:
            return Variant("slices", rows, lambda b, n: op.record(b, *make(b, n)), note=said)

        def groups(angles: int) -> Variant:
            def record(b: Builder, n: int) -> None:
                direct.record_groups(b, *make(b, n), min(angles, len(self.fbp.angles)))

            said = f"method: direct (the sinogram of one slice does not fit, so {angles} angles at a time are filtered and summed)"
            return Variant("slices", rows, record, note=said)

        def parts(angles: int) -> Variant:
            said = f"{note}; one slice does not fit, so {angles} angles at a time are transformed"
            return Variant("slices", rows, lambda b, n: self.record_polar(b, *make(b, n), angles), note=said)

        def tiles(make: Make) -> Variant:
            angles = min(_GROUPS[-1], len(self.fbp.angles))

            def record(b: Builder, n: int) -> None:
                # After the scan's, so that inputs keep their order.
                slots = make(b, n)
                b.library("geometry of the slice", 32 * len(self.fbp.angles), bound=False)
                geometry = b.inp(ArraySpec((len(self.fbp.angles), 4), "float64"), "geometry", Given(owner="plan"))
                direct.record_groups(b, *slots, angles, geometry)

            said = "method: direct (one slice does not fit, so its projections are read again for every tile of its rows, "
            said += f"{counted(angles, 'angles')} at a time)"
            return Variant(TILES, self.fbp.geometry.shape[0], record, note=said, times=rows)

        direct = Reconstruct(self.flatfield, self.fbp.by("direct"))
        parts_of_slices = [*map(groups, _GROUPS), *([tiles(tile)] if tile else [])]
        if method == "fourier":
            fewer = (n for n in _GROUPS if n < len(self.fbp.angles))
            polar = [whole(Reconstruct(self.flatfield, self.fbp.by("fourier"))), *map(parts, fewer)]
            return polar if self.fbp.method == "fourier" else [*polar, whole(direct, TOO_LARGE), *parts_of_slices]
        return [whole(direct), *parts_of_slices]
