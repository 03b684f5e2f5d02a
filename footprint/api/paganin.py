"""Phase retrieval by Paganin's filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.api._arrays import Memory
from footprint.api._optics import delta_beta_of
from footprint.api._tomo import on_stack, planned_stack
from footprint.errors import ArgumentError, choose, warn
from footprint.kernels.common.borders import is_border, numpy_border, shows_borders
from footprint.ops.paganin import PADDINGS, Paganin, blur_length
from footprint.plan.plan import Plan

# What no beamline has, and the unit that it would be in.
_MOST = {"energy": 2000.0, "distance": 1000.0, "pixel_size": 0.01}
# Metres from sample to detector beyond which hardly a beamline goes.
_FAR = 50.0
_SLIPS = {"energy": "eV", "distance": "millimetres", "pixel_size": "micrometres"}
_PADDED = '"constant" is "zeros" here, "air" stands for 1, and "wrap" is refused.'


@shows_borders("padding", "numpy", _PADDED)
def paganin(
    projections: Any,
    *,
    delta_beta: float | str,
    energy: float,
    distance: float,
    pixel_size: float,
    padding: str = "edge",
    density: float | None = None,
    out: Any = None,
    memory: Memory = None,
    device: str = "auto",
) -> Any:
    """Filter transmissions by 1 / (1 + L^2 k^2), L^2 = wavelength distance (delta / beta) / (4 pi), k in radians a length.

    What comes out is the transmission that the object alone would have; minus its logarithm is a line integral of attenuation.

    Parameters
    ----------
    projections : array (n_z, n_x) or (n_angles, n_z, n_x)
        Transmission, 1 in the open beam, with no NaN; any real dtype, computed in float32.
    delta_beta : float or str
        Ratio of the refractive index's decrement to its absorption part; or the formula of a material, such as "SiO2", to take its
        ratio from the extra ``optics`` (xraydb).
    energy : float
        Of the beam, in keV.
    distance : float
        From sample to detector, in metres; effective where the beam diverges.
    pixel_size : float
        In metres; effective where the beam diverges.
    padding : str
        What stands beyond the projection: "edge", "reflect" (d c b|a b c d), "symmetric" (c b a|a b c d), "air" (1) or "zeros".
        Other libraries' names of borders are accepted where no two differ: "nearest" is "edge", "mirror" is "reflect".
    density : float, optional
        Of that material, in g/cm³.
    out : array like the projections, optional
        Where the result goes: a floating array of its own.
    memory : str, int or float, optional
        The most memory a run may take beyond the arrays you pass in.
    device : str
        "auto", "cpu", "cuda", "cuda:1", "opencl".

    Returns
    -------
    array
        ``out``, or a new float32 array of the projections' shape. The bits are the same whatever ``memory`` allows.

    Raises
    ------
    ShapeError, ArgumentError, BudgetError
        Where arrays or settings do not fit, or too little fits ``memory``.

    Notes ----- Paganin et al., Journal of Microscopy 206, 33 (2002). A row of the result is a sum over about 10 L rows on both
    sides, not over all, so that any part of the rows can be made alone. The rows left out change the gain at no frequency by more
    than 1e-4 of that at the lowest (1.6e-3 for L below 3 pixels, where at most 64 rows are used). The plan's notes give both
    numbers.

    Examples
    --------
    >>> import numpy as np, footprint as fp
    >>> dot = np.ones((5, 5))
    >>> dot[2, 2] = 0
    >>> fp.paganin(dot, delta_beta=100, energy=20, distance=0.1, pixel_size=5e-6)[2].round(2)
    array([0.98, 0.94, 0.87, 0.94, 0.98], dtype=float32)
    """
    op = phase_of(delta_beta, energy, distance, pixel_size, padding, density)
    return on_stack("paganin", "projections", projections, op, out, memory, device)


@shows_borders("padding", "numpy", _PADDED)
def plan_paganin(
    shape: tuple[int, ...],
    *,
    dtype: str = "float32",
    delta_beta: float | str,
    energy: float,
    distance: float,
    pixel_size: float,
    padding: str = "edge",
    density: float | None = None,
    memory: Memory = None,
    device: str = "auto",
) -> Plan:
    """Plan `paganin` of a C-contiguous projection, or stack of them, of this shape and dtype.

    Parameters
    ----------
    shape, dtype
        Of the projections.
    delta_beta, energy, distance, pixel_size, padding, density, memory, device
        As in `paganin`.

    Returns
    -------
    Plan
        Its chunks are rows.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_paganin((8, 64, 64), delta_beta=100, energy=20, distance=0.1, pixel_size=5e-6, device="cpu")
    >>> plan.notes[0][:43]
    'phase: each row needs 64 rows on both sides'
    """
    op = phase_of(delta_beta, energy, distance, pixel_size, padding, density)
    return planned_stack("paganin", shape, dtype, op, memory, device)


def phase_of(delta_beta: Any, energy: Any, distance: Any, pixel_size: Any, padding: str = "edge", density: Any = None) -> Paganin:
    """The operation of these settings, every one checked."""
    units = {"energy": " of keV", "distance": " of metres", "pixel_size": " of metres", "delta_beta": ""}
    numbers: list[float] = []
    for what, value in zip(units, (energy, distance, pixel_size, delta_beta)):
        if what == "delta_beta" and isinstance(value, str) and value[:1].isalpha() and value.lower() not in ("nan", "inf"):
            numbers.append(delta_beta_of(value, density, numbers[0]))
            continue
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not (np.isfinite(number) and number > 0):
            raise ArgumentError(what, repr(value), f"a number{units[what]} above 0")
        if number > _MOST.get(what, np.inf):
            fix = f"this one may be in {_SLIPS[what]}"
            raise ArgumentError(what, repr(value), f"a number{units[what]}, at most {_MOST[what]:g}", fix)
        if what == "distance" and number > _FAR:
            warn(f"a distance of {number:g} metres is rare, as detectors stand within {_FAR:g}: it may be in millimetres")
        numbers.append(number)
        if what == "delta_beta" and density is not None:
            raise ArgumentError(
                "density", repr(density), "it together with a material, whose formula delta_beta then is, such as SiO2"
            )
    if is_border(padding):
        named = numpy_border(padding, "padding")
        # Of the constants only 0 has its own name.
        padding = "zeros" if named == "constant" else named
    choose("padding", padding, PADDINGS)
    return Paganin(blur_length(numbers[3], *numbers[:3]), padding)
