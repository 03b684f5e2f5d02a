"""The covariance that a table's sizes and angles say, beside the reference's."""

import numpy as np


def same_covariance(table, wanted, of=slice(None), rtol=1e-6, atol=1e-6):
    """Whether ``a``, ``b`` and ``theta`` are those of ``xx``, ``yy`` and ``xy``, of these rows."""
    turn, a2, b2 = np.radians(table["theta"]), table["a"] ** 2, table["b"] ** 2
    xx, yy = a2 * np.cos(turn) ** 2 + b2 * np.sin(turn) ** 2, a2 * np.sin(turn) ** 2 + b2 * np.cos(turn) ** 2
    found = {"xx": xx, "yy": yy, "xy": (a2 - b2) * np.sin(2 * turn) / 2}
    return all(np.allclose(found[name][of], wanted[name][of], rtol=rtol, atol=atol) for name in found)
