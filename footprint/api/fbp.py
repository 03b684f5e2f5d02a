"""Reconstruct slices from sinograms by filtered backprojection."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Memory, Progress, finished, limits_and_budget, output, receive, shared, where
from footprint.api._call import call, meeting
from footprint.api._half import say_of_axis
from footprint.api._recall import again, looks, remember
from footprint.api._tomo import angles_of, described_stack, gains, in_slices, numbers, position, stacked
from footprint.errors import ArgumentError, flag
from footprint.kernels.common.borders import shows_borders
from footprint.ops.base import Table
from footprint.ops.fbp import Fbp, plan_by_method
from footprint.ops.job import Meeting, plan_op
from footprint.plan.plan import Plan
from footprint.plan.slots import Given
from footprint.spec import ArraySpec, Limits


class Filtered(NamedTuple):
    """Arguments of `fbp` that say how slices are made, as they were given and in its order."""

    center: Any = None
    filter: Any = "ramlak"
    padding: str = "constant"
    method: str = "direct"
    interpolation: str = "linear"
    accuracy: float = 1e-4
    roi: Any = None
    pixel_size: Any = None
    circle: bool = False
    axis_shifts: Any = None
    cutoff: float = 1.0
    centered: bool = False
    margin: int = 0

    def op(self, angles: np.ndarray, n_x: int) -> Fbp:
        """The operation, of values that can be compared."""
        kept = self._asdict()
        del kept["centered"], kept["margin"]
        kept["circle"] = flag("circle", self.circle)
        kept["center"] = position((n_x - 1) / 2 if self.center is None else self.center)
        kept["filter"] = self.filter if isinstance(self.filter, str) else Table(gains(self.filter))
        kept["roi"], kept["middle"] = self.box(n_x), self.middle(n_x)
        kept["axis_shifts"] = None if self.axis_shifts is None else Table(numbers("axis_shifts", self.axis_shifts))
        return Fbp(Table(angles), n_x, **kept)

    def box(self, width: int) -> Any:
        """The region of slices of such a width: as given, or all of them and the margin."""
        margin = self.margin
        if not isinstance(margin, int | np.integer) or isinstance(margin, bool) or margin < 0:
            raise ArgumentError("margin", repr(margin), "a whole number of pixels, 0 or more")
        if self.roi is None and margin:
            return (-int(margin), width + int(margin)) * 2
        return tuple(self.roi) if isinstance(self.roi, list | np.ndarray) else self.roi

    def middle(self, width: int) -> float | None:
        """Where the axis lies in slices of such a width; None where they are not moved."""
        return (width - 1) / 2 if flag("centered", self.centered) else None


@shows_borders("padding", "numpy")
def fbp(
    sinogram: Any,
    angles: Any = None,
    *,
    center: float | None = None,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    method: str = "direct",
    interpolation: str = "linear",
    accuracy: float = 1e-4,
    roi: tuple[int, int, int, int] | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    cutoff: float = 1.0,
    centered: bool = False,
    margin: int = 0,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
    progress: Progress | None = None,
) -> Any:
    """Reconstruct slices by filtered backprojection, f(x, y) = sum of weight_a (q * p_a)(h_a(x, y)).

    ``h = center + cos(t) (x - center) - sin(t) (y - center)`` is where a pixel falls on the detector, q the filter, and each
    angle's weight is half the gap to its neighbours modulo 180 degrees, so uneven angles and full turns come out right. Projections
    seen from one direction, as in several turns, share its weight.

    Parameters
    ----------
    sinogram : array (n_angles, n_x) or (n_z, n_angles, n_x)
        Line integrals: minus the logarithm of the transmission. Any real dtype; computed in float32; not changed.
    angles : array (n_angles,), optional
        Radians, or a Quantity in any unit of angle; equally spaced over [0, pi) by default.
    center : float, optional
        Rotation axis in pixels from the centre of pixel 0; (n_x - 1) / 2 by default. It may lie up to n_x pixels off the detector,
        with a warning: no pixel is then seen from all directions.
    filter : str or array (P // 2 + 1,)
        "ramlak", "shepp-logan", "cosine", "hamming", "hann", "tukey", "lanczos", "hilbert", "parzen", "none", or gains at
        ``numpy.fft.rfftfreq(P)``, where P is the smallest 2^a 3^b 5^c 7^d that is at least 2 n_x.
    padding : {"constant", "edge", "reflect", "symmetric", "wrap"}
        What lies beyond the detector while filtering: zeros; aaa|abcd|ddd; dcb|abcd|cba (scipy.ndimage's "mirror"); cba|abcd|dcb
        (scipy.ndimage's "reflect"); bcd|abcd|abc. The names are numpy.pad's; the notes have those of other libraries, which are
        accepted where no two differ.
    method : {"direct", "fourier"}
        Direct summation, or the adjoint non-uniform FFT of the filtered polar spectrum: on the CPU about ten times as fast for
        thousands of angles, with a grid of frequencies larger than a slice. The two agree within the seen circle as far as sharp
        edges allow; outside it direct sums treat samples beyond the detector as 0, Fourier as the filter's tail.
    interpolation : {"linear", "sinc"}
        Between the samples of a filtered row: "linear", which weakens high frequencies and noise with them, or "sinc", which keeps
        them (Fourier method only). Fourier weakens frequencies as linear interpolation does, without its aliases.
    accuracy : {1e-3, 1e-4, 1e-5}
        For the Fourier method: root mean square error on white noise, as a share of the slice's own. Direct sums ignore it.
    roi : (x0, x1, y0, y1), optional
        Region of the slice, end-exclusive, in pixels of the n_x by n_x square.
    pixel_size : float, optional
        Divides the result: in centimetres, it gives 1/cm.
    circle : bool
        Zeros outside the circle that every projection has seen; an error if the axis lies off the detector, as there is no such
        circle.
    axis_shifts : array (n_angles,), optional
        Shift of each projection on the detector, in pixels: added to h.
    cutoff : float
        Share of the Nyquist frequency above which the filter passes nothing.
    centered : bool
        Move slices so that the axis lies in their middle, at ((n - 1) / 2, (n - 1) / 2) of n by n pixels; ``roi`` counts in the
        moved slice.
    margin : int
        How many pixels slices extend beyond the detector's width, on all four sides; ignored with a ``roi``.
    out : array (n_y, n_x) or (n_z, n_y, n_x), optional
        Where the slices go, of a floating dtype.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in: "2GB", bytes, or a share of the free memory. Slices are
        processed in chunks; one that does not fit is cut into groups of angles, then into tiles of rows.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".
    fft : str
        Which FFT is used for rows: "auto" is our own kernel if a row fits on the chip, otherwise the device's usual library; or
        name a library for all rows: "cufft" or "vkfft" on CUDA, "stockham" (ours) or "vkfft" on OpenCL (extra ``vkfft``).
    progress : callable, optional
        ``progress(slices_done, slices)``; if one slice is made in tiles, it counts rows.

    Returns
    -------
    array (n_y, n_x) or (n_z, n_y, n_x)
        float32, of the sinogram's kind of array.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError, BackendError
        Where arrays do not fit together, a word is unknown, or not even a row of a slice fits ``memory``.

    References
    ----------
    A. C. Kak and M. Slaney, Principles of Computerized Tomographic Imaging, IEEE Press 1988, chapter 3.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> disc = np.repeat(2 * np.sqrt(np.maximum(20**2 - (np.arange(64) - 31.5) ** 2, 0))[None], 90, axis=0)
    >>> float(fp.fbp(disc)[24:40, 24:40].mean().round(2))
    1.0
    """
    how = Filtered(
        center, filter, padding, method, interpolation, accuracy, roi, pixel_size, circle, axis_shifts, cutoff, centered, margin
    )
    look = looks("fbp", (angles, *how, memory, device, fft), sinogram, out) if progress is None else None
    flat = look is not None and getattr(sinogram, "ndim", 0) == 2
    found = again(look, [sinogram[None] if flat else sinogram], out, (lambda target: target[None]) if flat else None)
    if found is not None:
        return found
    source, flat = stacked(receive(sinogram, "sinogram"), "sinogram")
    _, n_a, n_x = source.spec.shape
    op = how.op(angles_of(angles, n_a), n_x)
    result = op.out_specs(source.spec)[0]
    wanted = ArraySpec(result.shape[1:], result.dtype) if flat else result
    target = output(out, wanted, source)
    if out is not None and shared(source, target):
        raise ArgumentError("out", "memory shared with sinogram", "memory of its own")
    volume, _ = stacked(target, "out")
    say_of_axis(op.geometry)
    on = where(device, source, target)

    def make() -> Plan:
        return _plan(*limits_and_budget(on, memory, fft), op, meeting(source), meeting(volume))

    watched = in_slices(progress, *result.shape[:2])
    key = call("fbp", op, [source], [volume], on, memory, fft=fft, progress=watched, make=make)
    remember(look, key, target.spec)
    return finished(target, out)


@shows_borders("padding", "numpy")
def plan_fbp(
    shape: tuple[int, ...],
    angles: Any = None,
    *,
    dtype: str = "float32",
    center: float | None = None,
    filter: str | np.ndarray = "ramlak",
    padding: str = "constant",
    method: str = "direct",
    interpolation: str = "linear",
    accuracy: float = 1e-4,
    roi: tuple[int, int, int, int] | None = None,
    pixel_size: float | None = None,
    circle: bool = False,
    axis_shifts: Any = None,
    cutoff: float = 1.0,
    centered: bool = False,
    margin: int = 0,
    memory: Memory = None,
    device: str = "auto",
    fft: str = "auto",
) -> Plan:
    """Plan `fbp` of C-contiguous sinograms of this shape and dtype on the host: every byte, before any data.

    Parameters
    ----------
    shape : (n_angles, n_x) or (n_z, n_angles, n_x)
        Of the sinograms.
    angles, dtype, center, filter, padding, method, interpolation, accuracy, roi, pixel_size, circle, axis_shifts, cutoff, centered,
    margin, memory, device, fft
        As in `fbp`; ``angles`` may be their number.

    Returns
    -------
    Plan
        Its chunks are slices.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_fbp((43200, 16384), memory="4.3GB", device="null:h100")
    >>> plan.footprint.total < 4.3e9
    True
    """
    spec, given = described_stack(shape, dtype)
    _, n_a, n_x = spec.shape
    how = Filtered(
        center, filter, padding, method, interpolation, accuracy, roi, pixel_size, circle, axis_shifts, cutoff, centered, margin
    )
    op = how.op(angles_of(angles, n_a), n_x)
    result = op.out_specs(spec)[0]
    return _plan(*limits_and_budget(where(device), memory, fft), op, (spec, given), (result, Given()))


def _plan(limits: Limits, budget: int | None, op: Fbp, sino: Meeting, out: Meeting) -> Plan:
    return plan_by_method(op, lambda one: plan_op(limits, budget, "fbp", one, [sino], [out], [one.note]))
