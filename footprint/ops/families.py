"""What operations of a family share: filters of images along their axes, of projections, and of sinograms in place."""

from __future__ import annotations

from abc import abstractmethod

from footprint.dtypes import sum_dtype
from footprint.errors import ShapeError
from footprint.ops.base import Op
from footprint.plan.builder import Builder
from footprint.plan.slots import NOTHING, Given, Halo, Reach, Ref
from footprint.spec import ArraySpec, Limits
from footprint.units import counted

# Of one batch, where one thing is not more already: a few second-level caches, whatever the size of a part. Sinograms, a few of
# which are not work enough for all cores of a GPU, are so much more for each of them.
_BATCH_BYTES, _BATCH_CORE = 16 << 20, 512 << 10


def led(dims: str, leads: str) -> str:
    """The names of axes, one of which comes before the others; as they are where that is none."""
    return leads + dims.replace(leads, "")


class ImageFilter(Op):
    """One array as large as another, every value from those around it; cut along every axis.

    Attributes
    ----------
    dims, leads
        Names of the array's axes, and of the one that is cut before all others; empty where that is the first.
    """

    dims: str
    leads: str = ""

    units = {"z": "planes", "y": "rows", "x": "pixels"}  # noqa: RUF012  shared, never changed

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the array."""
        return (self.dims,)

    @property
    def cut(self) -> str:  # type: ignore[override]
        """Every axis."""
        return led(self.dims, self.leads)

    def cuts_on(self, limits: Limits, ins: tuple[Given, ...]) -> str:
        """All that can be read in parts: files are read by rows, and of an array on a device the other end lies elsewhere."""
        given = ins[0]
        far = lambda axis: given.space == "device" and getattr(self.halo(axis), "wrap", False)
        return "".join(axis for axis in self.cut if not far(axis) and (given.owner == "caller" or axis != "x" or self.cut == "x"))

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Array and result."""
        return ("input",), ("output",)

    def made(self, dtype: str) -> str:
        """The result's dtype: that of sums, unless said otherwise."""
        return sum_dtype(dtype)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """As large."""
        (image,) = specs
        if len(image.shape) != len(self.dims):
            raise ShapeError("input", counted(len(image.shape), "dimensions"), f"{len(self.dims)}")
        return (ArraySpec(image.shape, self.made(image.dtype), self.dims),)


class ProjectionFilter(Op):
    """Projections (n_angles, n_z, n_x) to as many in float32, every value from those of its own projection."""

    axes = ("azx",)
    cut = "za"
    units = {"z": "rows", "a": "angles"}  # noqa: RUF012  shared, never changed

    @property
    @abstractmethod
    def reach_z(self) -> int:
        """Rows to both sides that a value comes from."""

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Projections and out."""
        return ("projections",), ("out",)

    def halo(self, axis: str) -> Reach:
        """The rows that count."""
        return Halo(self.reach_z, self.reach_z) if axis == "z" else NOTHING

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        if len(specs[0].shape) != 3:
            raise ShapeError("projections", f"shape {specs[0].shape}", "(n_z, n_x) or (n_angles, n_z, n_x)")
        return (ArraySpec(specs[0].shape, "float32", "azx"),)


class SinogramFilter(Op):
    """Sinograms (n_z, n_angles, n_x) in place in float32, every one by itself, a batch at a time."""

    axes = ("zax",)
    cut = "z"
    in_place = True
    units = {"z": "slices"}  # noqa: RUF012  shared, never changed

    def nbytes(self, n_a: int, n_x: int) -> int:
        """What is worked on of a sinogram, by which batches are made."""
        return 4 * n_a * n_x

    @abstractmethod
    def on_batch(self, b: Builder, part: Ref, most: int) -> None:
        """Record the work on some sinograms, so many at most."""

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sinogram and out."""
        return ("sinogram",), ("out",)

    def out_specs(self, *specs: ArraySpec) -> tuple[ArraySpec, ...]:
        """The same shape, float32."""
        if len(specs[0].shape) != 3:
            raise ShapeError("sinogram", f"shape {specs[0].shape}", "(n_angles, n_x) or (n_z, n_angles, n_x)")
        return (ArraySpec(specs[0].shape, "float32", "zax"),)

    def record(self, b: Builder, *refs: Ref) -> None:
        """Work where the result lies."""
        lines, out = refs
        if lines is out:
            self._batches(b, out)
            return
        with b.deliver(out, "float32") as y:
            b.fetch(lines, y)
            self._batches(b, y)

    def _batches(self, b: Builder, lines: Ref) -> None:
        n, n_a, n_x = lines.spec.shape
        if n_a * n_x == 0:
            return
        batch = batch_of(n, self.nbytes(n_a, n_x), b.limits.cores)
        with b.repeat(lines, batch) as loop:
            self.on_batch(b, lines.window(loop, batch), batch)


def batch_of(count: int, nbytes: int, cores: int = 0) -> int:
    """How many of so many things are worked on at once, each of so many bytes, by so many cores of a GPU."""
    return max(1, min(count, (_BATCH_BYTES + _BATCH_CORE * cores) // nbytes))
