"""What nabu was asked, and what it was given: read by `make_nabu`, which needs nabu, and by the tests, which do not."""

from __future__ import annotations

import numpy as np

from footprint.io.phantom import projections

N_X, CENTER = 28, 12.3
ANGLES = np.linspace(0, np.pi, 36, endpoint=False)
TURN = np.linspace(0, 2 * np.pi, 72, endpoint=False)
# Off by less than a pixel from projection to projection.
WOBBLE = 0.8 * np.sin(3 * ANGLES)
FILTERS = ("ramlak", "shepp-logan", "cosine", "hamming", "hann", "tukey", "lanczos", "hilbert")
# Filter, padding, and what is passed of the frequencies.
ROWS = [(name, "constant", 1.0) for name in FILTERS]
ROWS += [("ramlak", padding, 1.0) for padding in ("edge", "reflect", "symmetric", "wrap")]
ROWS += [("ramlak", "constant", 0.5), ("hann", "constant", 0.7), ("shepp-logan", "edge", 0.5)]

# How nabu says it, and how we do; angles and what else is given are of the whole case.
SLICES: dict[str, tuple[dict, dict]] = {
    "plain": ({}, {}),
    "axis": ({"rot_center": CENTER}, {"center": CENTER}),
    "angles": ({"rot_center": CENTER, "angles": ANGLES + 0.4}, {"center": CENTER, "angles": ANGLES + 0.4}),
    "turn": ({"rot_center": CENTER, "angles": TURN}, {"center": CENTER, "angles": TURN}),
    "wobble": ({"rot_center": CENTER, "axis_correction": WOBBLE}, {"center": CENTER, "axis_shifts": WOBBLE}),
    "region": ({"rot_center": CENTER, "slice_roi": (3, 20, 5, 26)}, {"center": CENTER, "roi": (3, 20, 5, 26)}),
    "centered": ({"rot_center": CENTER, "centered_axis": True}, {"center": CENTER, "centered": True}),
    "circle": ({"clip_outer_circle": True}, {"circle": True}),
    # Its ramp ends nowhere, whatever cutoff it is told.
    "size": ({"rot_center": CENTER, "pixel_size_cm": 0.5, "filter_cutoff": 0.8}, {"center": CENTER, "pixel_size": 0.5}),
}
# A half acquisition: detector pixels, and the axis on a half pixel, where nabu's stitched rows have it.
HALF_X, HALF = 20, 14.5
PHASE = {"distance": 0.1, "energy": 20, "delta_beta": 60.0, "pixel_size": 2e-6}
PADDINGS = ("edge", "reflect", "symmetric", "zeros")
# Angles, rows, columns and axis of the scan whose axis is searched.
AXIS_SHAPE, AXIS = (60, 6, 64), 34.2
SHIFTS = np.array([0.0, 1.0, -2.0, 0.3, -0.6, 2.7, -5.0, 9.0])
# What frames are in time: 2 darks, 1 flats, 0 projections; and the ring's current then.
KEYS = np.array([2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0])
CURRENT = np.array([0, 200, 199, 197, 196, 190, 188, 187, 185, 183, 181, 180.0])


def head(angles: np.ndarray, center: float, n_x: int = N_X, radius: float | None = None) -> np.ndarray:
    """Line integrals (n_angles, n_x) of a slice of the head, of 1/n_x a pixel."""
    return (projections(n_x, np.array([0.1]), angles, center, radius)[:, 0] / n_x).astype("f4")


def slice_lines(name: str) -> np.ndarray:
    """The sinogram of a case of `SLICES`; noise keeps it from being smooth."""
    ours = SLICES[name][1]
    angles, wobble = ours.get("angles", ANGLES), ours.get("axis_shifts", 0)
    lines = np.concatenate([head(angles[k : k + 1], ours.get("center", 13.5) + w) for k, w in enumerate(wobble + 0 * angles)])
    return lines + np.float32(0.05) * grain(lines.shape)


def half_lines() -> np.ndarray:
    """Of a half acquisition, without noise: the field is wider than the detector."""
    return head(TURN, HALF, HALF_X, 13.0)


def turned_scan() -> np.ndarray:
    """Line integrals (n_angles, n_z, n_x) of a whole turn."""
    n_angles, n_z, n_x = AXIS_SHAPE
    angles = np.linspace(0, 2 * np.pi, n_angles, endpoint=False)
    return (projections(n_x, np.linspace(-0.2, 0.2, n_z), angles, AXIS, 26.0) / n_x).astype("f4")


def grain(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers from -1 to 1 without order, the same in every version of NumPy: multiples of 1/500."""
    k = np.arange(int(np.prod(shape)), dtype=np.uint64)
    k = (k * 2654435761 + 12345) % (1 << 32)
    k = ((k ^ (k >> np.uint64(15))) * 2246822519) % (1 << 32)
    k = ((k ^ (k >> np.uint64(13))) * 3266489917) % (1 << 32)
    return (((k ^ (k >> np.uint64(16))) % 1001).astype("f4") / 500 - 1).reshape(shape)


def image() -> np.ndarray:
    """A transmission (20, 24) with edges and grain."""
    y, x = np.mgrid[:20, :24]
    disc = np.hypot(y - 9, x - 13) < 7
    return (1 - 0.4 * disc + 0.03 * grain((20, 24)) - 0.01 * x).astype("f4")


def zingers() -> np.ndarray:
    """The same with bright spots, away from the rim."""
    found = image()
    for y, x in ((4, 5), (10, 13), (10, 14), (15, 20)):
        found[y, x] += 3
    return found


def striped() -> np.ndarray:
    """A sinogram (24, 32) with a slow swell, whose columns are off by a little; one is dead, one restless, one far off."""
    a, x = np.mgrid[:24, :32]
    lines = 1 + 0.3 * np.sin(0.2 * x) * np.cos(0.13 * a) + 0.03 * grain((24, 57))[:, :32] + 0.02 * grain((1, 32))
    # Not quite constant, as equal values have no order.
    lines[:, 13] = 0.9 + 1e-4 * np.arange(24)
    lines[:, 7] += 0.3 * grain((24,))
    lines[:, 22] += 0.4
    return lines.astype("f4")


def frames() -> np.ndarray:
    """Raw frames (n, 4, 6) of `KEYS`."""
    beam = 1000 + 40 * np.arange(24).reshape(4, 6)
    lit = beam * (CURRENT / 200)[:, None, None] * (1 + 0.05 * grain((len(KEYS), 4, 6)))
    return np.where((KEYS == 2)[:, None, None], 0, lit).astype("u2") + np.uint16(90)


# What a sinogram is normalised by: nothing, a row, rows.
LEVELS = {"chebyshev": None, "subtraction": 1.5 + grain((32,)), "division": 1.5 + grain((24, 32))}
