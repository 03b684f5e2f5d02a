"""Sizes on the sky, against points of each ellipse that astropy places one by one, and errors against differences of those."""

from __future__ import annotations

import warnings

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table
from astropy.wcs import WCS
from astropy.wcs.utils import pixel_to_pixel

import footprint as fp
from footprint.api._ellipses import OnSky, ellipses
from footprint.api._onsky import on_sky as on_sky_of
from footprint.api._sky import sky_of
from footprint.api._table import Columns

WIDTH = 2 * np.sqrt(2 * np.log(2))
PLAIN = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRPIX1": 46, "CRPIX2": 41, "CRVAL1": 10.0, "CRVAL2": -30.0}
PLAIN |= {"CDELT1": -4e-4, "CDELT2": 4e-4, "BUNIT": "Jy/beam", "BMAJ": 1.6e-3, "BMIN": 1.2e-3, "BPA": 35.0}
HEADERS = {
    "plain": PLAIN,
    "east to the right": PLAIN | {"CDELT1": 4e-4},
    "turned, of sides 1 to 2": PLAIN | {"CDELT1": -2e-4, "PC1_1": 0.8, "PC1_2": -0.6, "PC2_1": 0.6, "PC2_2": 0.8},
    "skew": {**PLAIN, "CD1_1": -3e-4, "CD1_2": 1e-4, "CD2_1": 5e-5, "CD2_2": 4e-4},
    "declination first": PLAIN
    | {"CTYPE1": "DEC--SIN", "CTYPE2": "RA---SIN", "CRVAL1": -30.0, "CRVAL2": 10.0, "CDELT1": 4e-4, "CDELT2": -3e-4},
    "near the pole": PLAIN | {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL2": 89.98},
    "far from the tangent point": PLAIN | {"CRPIX1": -60000, "CRPIX2": 50000},
    "galactic": PLAIN | {"CTYPE1": "GLON-TAN", "CTYPE2": "GLAT-TAN"},
    "microarcseconds": PLAIN | {"CDELT1": -6e-10, "CDELT2": 6e-10, "BMAJ": 2.4e-9, "BMIN": 1.8e-9},
}
for name in ("CDELT1", "CDELT2"):
    del HEADERS["skew"][name]


def image():
    """Ellipses, one of them nearly round, one a point, in faint noise."""
    y, x = np.mgrid[:80, :90]
    made = np.random.default_rng(2).normal(scale=0.2, size=(80, 90))
    for at_x, at_y, a, b, theta in ((20, 22, 5, 2.5, 20), (64, 25, 4, 3, -70), (24, 60, 3.3, 3.2, 10), (65, 58, 6, 1.8, 85)):
        c, s = np.cos(np.radians(theta)), np.sin(np.radians(theta))
        along, across = c * (x - at_x) + s * (y - at_y), c * (y - at_y) - s * (x - at_x)
        made += 60 * np.exp(-(along**2 / a**2 + across**2 / b**2) / 2)
    return made


def on_sky(wcs, x, y, shape, scale):
    """Full widths in arcseconds and position angle, by the separations of astropy's places of a small ellipse's points."""
    a, b, theta = shape
    n = 3600
    t, turn = np.arange(n) * np.pi / n, np.radians(theta)
    over, up = a * np.cos(t), b * np.sin(t)
    over, up = np.cos(turn) * over - np.sin(turn) * up, np.sin(turn) * over + np.cos(turn) * up
    scale /= np.sqrt(a * b)
    # On both sides, so that what bends drops out.
    ends = [wcs.pixel_to_world(x + side * scale * over, y + side * scale * up).icrs for side in (-1, 1)]
    apart = ends[0].separation(ends[1]).to_value(u.arcsec)
    far = int(np.argmax(apart))
    # Between samples: the highest of a parabola through the square.
    low, high, up = (apart[(far + i) % n] ** 2 for i in (-1, 0, 1))
    shift = (low - up) / (2 * (low - 2 * high + up))
    place = wcs.pixel_to_world(x, y).icrs
    back, angles = (place.position_angle(end).to_value(u.deg) for end in ends)
    angles = angles + ((back - angles + 270) % 180 - 90) / 2
    turned = [(angles[(far + i) % n] - angles[far] + 90) % 180 - 90 for i in (-1, 0, 1)]
    pa = angles[far] + shift * (turned[2] - turned[0]) / 2 + shift**2 * (turned[2] + turned[0]) / 2
    return np.array([apart.max(), apart.min(), 0]) * WIDTH / (2 * scale) + [0, 0, pa % 180]


def differ(ours, theirs):
    """Relative sizes, and angles in degrees whichever end they are told from."""
    return np.array([ours[0] / theirs[0] - 1, ours[1] / theirs[1] - 1, (ours[2] - theirs[2] + 90) % 180 - 90])


def rows(table, prefix, names, end=""):
    return np.stack([table[f"{prefix}{name}{end}"].value for name in names], 1)


@pytest.fixture(scope="module", params=HEADERS)
def found(request):
    header = fits.Header(HEADERS[request.param])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = fp.find_sources(image(), 20, flood=5, deblend=True, fit="gaussian", header=header, device="cpu")
        wcs = WCS(header)
    assert len(table) == 4 and table["fit_major"].unit == u.arcsec and table["deconv_pa_err"].unit == u.deg
    # Of microarcseconds, degrees in 64 bits have few digits.
    return table, wcs, header, *((3e-4, 4.0) if request.param == "microarcseconds" else (1e-5, 0.1))


@pytest.mark.parametrize(("prefix", "x", "y"), [("", "x", "y"), ("fit_", "fit_x", "fit_y"), ("deconv_", "fit_x", "fit_y")])
def test_sizes_are_those_of_points_on_the_sky(found, prefix, x, y):
    table, wcs, _, near, scale = found
    ours, pixels = rows(table, prefix, ("major", "minor", "pa")), rows(table, prefix, ("a", "b", "theta"))
    assert np.all((ours[:, 2] >= 0) & (ours[:, 2] < 180)) and np.array_equal(np.isnan(ours), np.isnan(pixels))
    assert np.isfinite(ours).sum() >= 9
    for row in np.flatnonzero(np.isfinite(ours).all(1)):
        off = differ(ours[row], on_sky(wcs, table[x][row], table[y][row], pixels[row], scale))
        assert np.all(np.abs(off) < [near, near, 3e3 * near]), off


def test_errors_are_those_of_differences(found):
    table, wcs, *_, scale = found
    if scale > 1:
        pytest.skip("differences of degrees in 64 bits have too few digits")
    pixels, errors = (rows(table, "fit_", ("a", "b", "theta"), end) for end in ("", "_err"))
    ours = rows(table, "fit_", ("major", "minor", "pa"), "_err")
    for row in range(3):  # not the one that is nearly round
        total = np.zeros(3)
        for k in range(3):
            step = np.zeros(3)
            step[k] = 1e-2 * (1 if k < 2 else 10)
            place = (wcs, table["fit_x"][row], table["fit_y"][row])
            ends = [on_sky(*place, pixels[row] + side * step, scale) for side in (-1, 1)]
            change = np.array([*(ends[1] - ends[0])[:2], (ends[1][2] - ends[0][2] + 90) % 180 - 90])
            total += (change / (2 * step[k]) * errors[row, k]) ** 2
        assert np.allclose(ours[row], np.sqrt(total), rtol=1e-3), (ours[row], np.sqrt(total))


def covariance(major, minor, pa):
    """Of full widths, towards north and east."""
    way = np.array([np.cos(np.radians(pa)), np.sin(np.radians(pa))])
    across = np.array([-way[1], way[0]])
    return major**2 * np.outer(way, way) + minor**2 * np.outer(across, across)


def told(spread):
    squares, ways = np.linalg.eigh(spread)
    return np.array([*np.sqrt(squares[::-1]), np.degrees(np.arctan2(ways[1, 1], ways[0, 1])) % 180])


def test_the_beam_on_the_sky_is_taken_off(found):
    """As the header has the beam, where the projection is flat; and errors by differences."""
    table, _, header, *_ = found
    if header["CRPIX1"] < 0 or header["CRVAL2"] > 89 or header["CTYPE1"].startswith("GLON"):
        pytest.skip("the header's beam is that of the tangent point, its angle from the north of the header's own frame")
    beam = covariance(3600 * header["BMAJ"], 3600 * header["BMIN"], header["BPA"])
    fit, ours = (rows(table, prefix, ("major", "minor", "pa")) for prefix in ("fit_", "deconv_"))
    errors, wrong = (rows(table, prefix, ("major", "minor", "pa"), "_err") for prefix in ("fit_", "deconv_"))
    left = np.flatnonzero(np.isfinite(ours).all(1))
    assert len(left) >= 2
    for row in left:
        off = differ(ours[row], told(covariance(*fit[row]) - beam))
        assert np.all(np.abs(off) < [1e-3, 1e-3, 0.05]), off
    if header.get("CDELT1") != -header.get("CDELT2", 0):
        # Errors of the sizes on the sky are independent only where those in pixels have the same axes.
        return
    for row in left[left < 3]:
        steps = np.diag([1e-4 * fit[row, 0], 1e-4 * fit[row, 1], 1e-2])
        total = np.zeros(3)
        for k, step in enumerate(steps):
            up, down = (told(covariance(*(fit[row] + side * step)) - beam) for side in (1, -1))
            change = up - down
            change[2] = (change[2] + 90) % 180 - 90
            total += (change / (2 * step[k]) * errors[row, k]) ** 2
        assert np.allclose(wrong[row], np.sqrt(total), rtol=0.01), (wrong[row], np.sqrt(total))


def test_what_is_round_has_any_angle_and_a_line_no_width():
    one = np.ones(1)
    round_, wrong = ellipses((2 * one, 2 * one, 0 * one), (0.1 * one, 0.1 * one, 1e6 * one))
    assert round_.major == round_.minor == 2 and wrong.angle == np.pi / 2
    line, _ = ellipses((2 * one, 0 * one, 30 * one), onto=np.array([[[-0.6], [0.8]], [[0.8], [0.6]]]))
    point, _ = ellipses((0 * one, 0 * one, 0 * one))
    assert np.isclose(line.major, 2) and line.minor == 0 and point.major == point.minor == 0
    lost, _ = ellipses((2 * one, 1 * one, 0 * one), less=(1.0, 0.0, 2.0))
    assert np.isclose(lost.major, np.sqrt(3)) and np.isnan(lost.minor) and lost.angle == 0
    none, _ = ellipses((np.nan * one, one, one))
    assert np.isnan(none).all()


@pytest.mark.parametrize("whose", ["ours", "PyBDSF", "Aegean"])
def test_shapes_of_a_catalogue_are_right_in_an_image_of_other_pixels(whose):
    """Pixels of the image that a catalogue is of were taken for pixels of the one that is measured."""
    coarse, fine = PLAIN, PLAIN | {"CRPIX1": 92, "CRPIX2": 70, "CDELT1": -2e-4, "CDELT2": 2.5e-4}
    fine |= {"PC1_1": 0.8, "PC1_2": -0.6, "PC2_1": 0.6, "PC2_2": 0.8}
    y, x = np.mgrid[:160, :190]
    x, y = pixel_to_pixel(WCS(fits.Header(fine)), WCS(fits.Header(coarse)), x, y)
    made = np.zeros(x.shape)
    for at_x, at_y, a, b, theta in ((40, 30, 4, 2, 25), (60, 50, 3, 2.5, -60)):
        c, s = np.cos(np.radians(theta)), np.sin(np.radians(theta))
        made += 7 * np.exp(-(((c * (x - at_x) + s * (y - at_y)) / a) ** 2 + ((c * (y - at_y) - s * (x - at_x)) / b) ** 2) / 2)
    columns = {"x": np.array([40.0, 60]), "y": np.array([30.0, 50]), "a": np.array([4.0, 3]), "b": np.array([2, 2.5])}
    columns |= {"x_err": np.zeros(2), "y_err": np.zeros(2), "theta": np.array([25.0, -60])}
    known = Columns(columns)
    sizes = OnSky(known)
    place = on_sky_of(lambda: sky_of(None, coarse).told, *(columns[name] for name in ("x", "y", "x_err", "y_err")), sizes)
    names = {"ours": ("major", "minor", "pa"), "PyBDSF": ("Maj", "Min", "PA"), "Aegean": ("a", "b", "pa")}[whose]
    table = Table({"ra": place.ra, "dec": place.dec} | dict(zip(names, sizes.found.values())))
    if whose == "PyBDSF":
        for name in names[:2]:
            table[name] = table[name] / 3600 * u.deg
    found = fp.measure_at(made, table, shapes="catalogue", header=fine, background=0.0, noise=0.01, device="cpu")
    assert np.allclose(found["fit_peak"], 7, rtol=1e-4) and np.all(found["fit_chi2"] < 1e-3)
