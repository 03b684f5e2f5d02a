"""The steps people ask for by name, in the places where they belong among those of a reconstruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from footprint.api.paganin import phase_of
from footprint.api.remove_stripes import check_used, stripes_of
from footprint.api.remove_zingers import zingers_of
from footprint.api.untilt import untilt_of
from footprint.errors import ArgumentError, choose
from footprint.ops.base import Op, Table
from footprint.ops.dropouts import Dropouts
from footprint.ops.flatfield import DeadPixels, MinusLog, ShiftSinograms, Sinograms
from footprint.ops.normalize import METHODS, Normalize
from footprint.ops.reconstruct import Steps
from footprint.ops.unsharp import Unsharp
from footprint.units import kind_of, none_of

Setting = str | float | Mapping[str, Any] | Op | None


def steps(
    *,
    zingers: Setting = None,
    tilt: Setting = None,
    phase: Setting = None,
    unsharp: Setting = None,
    normalization: Setting = None,
    rings: Setting = None,
) -> Steps:
    """Make the ``steps`` of `reconstruct` from settings: each operation in its place among the usual ones.

    The order is that of the beam: open beam, dead pixels, zingers, tilt, phase, unsharp mask, minus log, transposition, vertical
    shifts, normalisation, rings, backprojection.

    Parameters
    ----------
    zingers : float, mapping or Op, optional
        The threshold of `remove_zingers`, or its settings: ``{"threshold": 0.2, "size": 5}``. On transmissions; dead pixels are
        then replaced before it.
    tilt : mapping or Op, optional
        Settings of `untilt` and the detector's size: ``{"degrees": 0.3, "rows": 2048, "columns": 2560}``. After zingers; dead
        pixels are then replaced before it.
    phase : mapping or Op, optional
        Settings of `paganin`: ``{"delta_beta": 500, "energy": 30, "distance": 0.2, "pixel_size": 1e-6}`` (keV, metres). Right
        before minus log; dead pixels are then replaced before it.
    unsharp : float, mapping or Op, optional
        How much of what a Gaussian removes is added back, or this amount and the Gaussian's ``sigma`` in pixels (1 by default):
        ``{"amount": 3, "sigma": 0.8}``. After phase, before minus log; `unsharp_mask` does the same to other images.
    normalization : str, mapping or Op, optional
        ``"chebyshev"``: subtract from every row of a sinogram the parabola that fits it best. ``"subtraction"`` or ``"division"``,
        as in ``{"method": "subtraction", "array": a}``: subtract from all sinograms, or divide them by, an array ``(n_x,)`` or
        ``(n_angles, n_x)`` for the pixels and projections that are taken. Before rings.
    rings : str, mapping or Op, optional
        A method of `remove_stripes`, or its settings: ``{"method": "all", "snr": 2.5}``. Right before what joins or
        backprojects sinograms.

    Returns
    -------
    callable
        For ``reconstruct(scan, steps=...)`` and ``plan_reconstruct``.

    Raises
    ------
    ArgumentError
        A setting that is unknown or does not fit.

    Examples
    --------
    >>> import footprint as fp
    >>> plan = fp.plan_reconstruct((180, 16, 64), steps=fp.steps(rings="sorting"), device="cpu")
    >>> any("remove_stripes" in step.kernel for step in plan.steps)
    True
    """
    check_used("rings", rings)
    return _Chosen(
        _made("zingers", zingers, zingers_of, "threshold"),
        _made("tilt", tilt, untilt_of, "degrees"),
        _made("phase", phase, phase_of, "delta_beta"),
        _made("unsharp", unsharp, unsharp_of, "amount"),
        _made("normalization", normalization, normalization_of, "method"),
        _made("rings", rings, stripes_of, "method"),
    )


def unsharp_of(amount: Any, sigma: Any = 1.0) -> Unsharp:
    """The operation of these settings, every one checked."""
    numbers = []
    for what, value, most in (("amount", amount, 1e6), ("sigma", sigma, 100.0)):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not 0 < number <= most:
            raise ArgumentError(what, repr(value), f"a number above 0, {most:.0f} at most")
        numbers.append(number)
    return Unsharp(*numbers)


def normalization_of(method: Any, array: Any = None) -> Normalize:
    """The operation of these settings, every one checked."""
    choose("method", method, METHODS)
    if method == METHODS[0]:
        if array is not None:
            raise ArgumentError("method", f"an array with {method}", "no array: it fits a parabola to every row")
        return Normalize(method)
    if array is None:
        raise ArgumentError("method", f"{method} without an array", f"{{'method': {method!r}, 'array': ...}}")
    table = np.asarray(array)
    if table.ndim not in (1, 2) or table.dtype.kind not in "biuf":
        raise ArgumentError("method", f"an array of {table.dtype} {table.shape}", "real numbers (n_x,) or (n_angles, n_x)")
    table = np.atleast_2d(table).astype(np.float32)
    bad = ~np.isfinite(table) | ((table <= 0) & (method == "division"))
    if bad.any():
        wanted = "finite numbers above 0" if method == "division" else "finite numbers"
        raise ArgumentError("method", f"{float(table[bad][0]):.6g} among the array's values", wanted)
    return Normalize(method, Table(table))


@dataclass(frozen=True)
class _Chosen:
    """Puts operations among the usual steps; as text, it names them with every setting."""

    zingers: Op | None
    tilt: Op | None
    phase: Op | None
    unsharp: Op | None
    normalization: Op | None
    rings: Op | None

    def __call__(self, usual: list[Op]) -> Sequence[Op]:
        found = list(usual)
        for name in ("zingers", "tilt", "phase", "unsharp"):
            if getattr(self, name) is not None:
                _before_log(found, getattr(self, name), name)
        # The later goes in first, as both go behind the same step.
        for name in ("rings", "normalization"):
            if getattr(self, name) is not None:
                _put(found, getattr(self, name), name, after=(Sinograms, Dropouts, ShiftSinograms))
        return found

    def __str__(self) -> str:
        return ", ".join(str(op) for op in (getattr(self, field.name) for field in fields(self)) if op is not None)


def _made(name: str, given: Setting, make: Callable[..., Op], main: str) -> Op | None:
    """The operation that a setting asks for; ``main`` is what a word or number alone stands for."""
    if given is None or isinstance(given, Op):
        return given
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        given = {main: given}
    if not isinstance(given, Mapping):
        raise ArgumentError(name, kind_of(given), f"a {main}, a mapping of settings, or an operation")
    known = make.__code__.co_varnames[: make.__code__.co_argcount]
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ArgumentError(name, f"the setting {unknown[0]!r}", f"some of {', '.join(known)}")
    if main not in given:
        raise ArgumentError(name, f"no {main}", f"one, as in {{{main!r}: ...}}")
    needed = known[: len(known) - len(make.__defaults__ or ())]
    lacking = [key for key in needed if key not in given]
    if lacking:
        example = ", ".join(f"{key!r}: ..." for key in needed)
        raise ArgumentError(name, none_of(lacking), f"all that it needs, as in {{{example}}}")
    try:
        return make(**given)
    except ArgumentError as error:
        if error.name not in known:
            raise
        # Settings of several steps have the same names; a method is named by its step.
        setting = "" if error.name == "method" else f" for {error.name}"
        raise type(error)(name, f"{error.got}{setting}", error.wanted, error.fix) from None


def _before_log(found: list[Op], op: Op, name: str) -> None:
    """Insert where projections are transmissions without dead pixels."""
    log = next((i for i, step in enumerate(found) if isinstance(step, MinusLog)), None)
    if log is None:
        raise ArgumentError(name, "steps without MinusLog", "transmissions, of which the logarithm is taken after it")
    if any(isinstance(step, DeadPixels) for step in found[:log]):
        found.insert(log, op)
        return
    # What is spread out takes NaN with it, and a row that is dead all along is best taken for air.
    found[:] = [*found[:log], DeadPixels(empty=1.0), op, *(s for s in found[log:] if not isinstance(s, DeadPixels))]


def _put(found: list[Op], op: Op, name: str, after: tuple[type[Op], ...]) -> None:
    """Insert behind the last step of some kinds."""
    places = [i for i, step in enumerate(found) if isinstance(step, after)]
    if not places:
        raise ArgumentError(name, "steps without sinograms", f"a step of {' or '.join(kind.__name__ for kind in after)} before it")
    found.insert(places[-1] + 1, op)
