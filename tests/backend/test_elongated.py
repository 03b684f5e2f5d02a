"""Errors of positions of what is longer than it is wide, against noise propagated pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

import footprint as fp


def light(shape, x, y, a, b, degrees, peak):
    """A Gaussian, turned from x towards y."""
    rows, columns = np.indices(shape)
    turn = np.radians(degrees)
    along = (columns - x) * np.cos(turn) + (rows - y) * np.sin(turn)
    across = (rows - y) * np.cos(turn) - (columns - x) * np.sin(turn)
    return peak * np.exp(-0.5 * ((along / a) ** 2 + (across / b) ** 2))


def propagated(image, labels, noise, row):
    """The covariance of a centre over a label's pixels, each with noise of its own."""
    y, x = np.nonzero(labels == row["label"])
    away = np.stack([x - row["x"], y - row["y"]])
    return noise**2 * (away @ away.T) / image[y, x].sum() ** 2


def measured(image, noise, **options):
    labels = np.empty(image.shape, "i4")
    table = fp.find_sources(image, 5, background=0, noise=noise, labels=labels, device="cpu", **options)
    return table, labels


@pytest.mark.parametrize("degrees", [0, 25, 90, 160])
@pytest.mark.parametrize("axes", [(10, 1.5), (4, 2), (3, 3)])
def test_a_centre_is_as_sure_along_each_axis_as_the_pixels_make_it(axes, degrees):
    image = light((90, 90), 45.2, 44.7, *axes, degrees, 200)
    table, labels = measured(image, 5)
    spread = propagated(image, labels, 5, table[0])
    assert np.allclose([table["x_err"][0], table["y_err"][0]], np.sqrt(np.diag(spread)), rtol=0.03)


@pytest.mark.parametrize("turn", [0, 30, 110])
def test_errors_on_the_sky_are_those_of_both_axes_together(turn):
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    header = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 45, "CRPIX2": 45, "CRVAL1": 10.0, "CRVAL2": 20.0}
    matrix = 1e-4 * np.array([[-c, s], [s, c]])
    header |= {f"CD{i + 1}_{j + 1}": float(matrix[i, j]) for i in range(2) for j in range(2)}
    image = light((90, 90), 45, 44, 9, 2, 40, 200)
    table, labels = measured(image, 5, header=header)
    spread = matrix @ propagated(image, labels, 5, table[0]) @ matrix.T
    assert np.allclose([table["ra_err"][0], table["dec_err"][0]], np.sqrt(np.diag(spread)), rtol=0.04)


def test_rows_and_single_pixels_have_errors_of_their_own_width():
    image = np.zeros((20, 60))
    image[4, 10:40] = 100.0
    image[12, 20] = 100.0
    table, labels = measured(image, 5)
    spread = propagated(image, labels, 5, table[0])
    # A place in a pixel varies by 1/12 of its area.
    least = 5 * np.sqrt(30 / 12) / 3000
    assert np.isclose(table["x_err"][0], np.sqrt(spread[0, 0]), rtol=0.03) and np.isclose(table["y_err"][0], least, rtol=0.03)
    assert np.allclose([table["x_err"][1], table["y_err"][1]], 5 / np.sqrt(12) / 100, rtol=0.03)


def test_the_scatter_of_a_centre_is_what_its_errors_say(rng):
    """Over pixels that noise does not choose: what a threshold cuts off no error holds."""
    image = light((60, 60), 30.3, 29.8, 5, 1.5, 20, 60)
    table, labels = measured(image, 1)
    rows = [fp.measure(image + rng.standard_normal(image.shape), labels, device="cpu")[0] for _ in range(400)]
    for axis in "xy":
        assert np.isclose(np.std([row[axis] for row in rows]), table[f"{axis}_err"][0], rtol=0.12)


def test_photons_of_sources_add_as_the_page_of_catalogues_says(rng):
    gain, noise = 2.0, np.sqrt(50.0)
    truth = light((60, 70), 35.3, 30.2, 5, 2, 25, 2000)
    table, labels = measured(truth, noise)
    drawn = [rng.poisson((truth + 100) * gain) / gain - 100 for _ in range(400)]
    rows = [fp.measure(image, labels, device="cpu")[0] for image in drawn]
    discs = [fp.apertures(image, [(35.3, 30.2)], 8, noise=noise, device="cpu")[0] for image in drawn]
    row, turn = table[0], np.radians(table["theta"][0])
    along_x = (row["a"] * np.cos(turn)) ** 2 + (row["b"] * np.sin(turn)) ** 2
    for column, found, error, photons in (
        ("flux", rows, row["flux_err"], row["flux"] / gain),
        ("x", rows, row["x_err"], along_x / (gain * row["flux"])),
        ("aper1_flux", discs, discs[0]["aper1_flux_err"], discs[0]["aper1_flux"] / gain),
    ):
        assert np.isclose(np.std([one[column] for one in found]), np.hypot(error, np.sqrt(photons)), rtol=0.12)
