"""The refractive index of a material, from tables that are kept by others."""

from __future__ import annotations

from typing import Any

import numpy as np

from footprint.errors import ArgumentError, missing_extra

# keV cm: wavelength times energy.
_HC = 1.239841984e-7
# keV between which elements are tabulated.
_LOWEST, _HIGHEST = 0.25, 430.0


def delta_beta_of(formula: str, density: Any, energy: float) -> float:
    """Decrement of the refractive index over its absorption part, delta / beta.

    Beta is the wavelength over 4 pi times the whole attenuation a length, scattering included, as a projection sees it.

    Parameters
    ----------
    formula
        Such as ``H2O`` or ``SiO2``.
    density
        In g/cm³.
    energy
        In keV.

    Raises
    ------
    ArgumentError
        No formula, a density that is none, or an energy that is not tabulated.
    ExtraError
        Where the package xraydb is not installed.
    """
    wanted = "a number above 0, or a chemical formula with its density in g/cm³, such as SiO2:density=2.65"
    if density is None:
        raise ArgumentError("delta_beta", repr(formula), wanted)
    try:
        mass = float(density)
    except (TypeError, ValueError, OverflowError):
        mass = float("nan")
    if not (np.isfinite(mass) and mass > 0):
        raise ArgumentError("density", repr(density), f"the density of {formula} in g/cm³")
    if not _LOWEST <= energy <= _HIGHEST:
        raise ArgumentError("energy", energy, f"{_LOWEST:g} to {_HIGHEST:g} keV, for which materials are tabulated")
    try:
        import xraydb
    except ImportError as error:
        raise missing_extra("xraydb", "optics", f"delta/beta of {formula}") from error
    try:
        if not xraydb.chemparse(formula):
            raise ValueError(formula)
        delta, _, _ = xraydb.xray_delta_beta(formula, mass, 1000 * energy)
        attenuation = xraydb.material_mu(formula, 1000 * energy, mass)
    except (ValueError, KeyError, ZeroDivisionError) as error:
        raise ArgumentError("delta_beta", repr(formula), wanted) from error
    return float(4 * np.pi * delta * energy / (_HC * attenuation))
