"""Real scans load, and agree with what is known about them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from footprint.errors import FormatError
from footprint.io.image import open_image
from footprint.io.scan import Scan, open_scan


def whole(scan: Scan, dtype: object = None) -> np.ndarray:
    out = np.empty(scan.shape, dtype or scan.dtype)
    scan.read(slice(0, scan.n_z), out)
    return out


def corrected(scan: Scan) -> np.ndarray:
    dark, flat = scan.dark_mean().astype(float), scan.flat_means()[0].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (whole(scan, np.float64) - dark) / (flat - dark)


def savu_tiff(data: Path) -> Scan:
    folder = data / "tomography" / "savu_24737_tiff"
    return open_scan(
        folder / "tiffs", folder / "flat_00001.tiff", folder / "dark_00001.tiff", angles=f"{folder / 'angles.txt'}[10:101]"
    )


def test_tooth_from_both_formats_is_one_scan(data: Path) -> None:
    folder = data / "tomography"
    with open_scan(folder / "tomopy_tooth" / "tooth.h5") as a, open_scan(folder / "tooth_nxtomo.nx") as b:
        assert (a.layout, b.layout) == ("DXchange", "NXtomo")
        assert a.shape == b.shape == (181, 2, 640) and a.n_flats == b.n_flats == a.n_darks == b.n_darks == 10
        np.testing.assert_array_equal(whole(a), whole(b))
        np.testing.assert_array_equal(a.flats(), b.flats())
        np.testing.assert_array_equal(a.darks(), b.darks())
        np.testing.assert_allclose(a.angles, b.angles, rtol=0, atol=1e-12)
        assert np.rad2deg(a.angles[-1]) == pytest.approx(179.006, abs=1e-3)
        np.testing.assert_array_equal(a.flat_means(), b.flat_means())


def test_savu_from_both_formats_is_one_scan(data: Path) -> None:
    with savu_tiff(data) as a, open_scan(data / "tomography" / "savu_24737_nxtomo.nx") as b:
        assert a.shape == b.shape == (91, 135, 160) and a.dtype == b.dtype == np.uint16
        np.testing.assert_array_equal(whole(a), whole(b))
        np.testing.assert_allclose(a.angles, b.angles, atol=np.deg2rad(1e-4))
        assert np.rad2deg(a.angles[[0, -1]]) == pytest.approx([-88.2, 91.8], abs=1e-3)
        # The NXtomo twin's flat and dark are rounded to uint16.
        np.testing.assert_allclose(a.flat_means(), b.flat_means(), atol=0.5)
        np.testing.assert_allclose(a.dark_mean(), b.dark_mean(), atol=0.5)
        rows = np.empty((20, 3, 160), np.float32)
        a.read(slice(66, 69), rows, slice(30, 50))
        np.testing.assert_array_equal(rows, whole(b)[30:50, 66:69])


def test_savu_angles_are_asked_for(data: Path) -> None:
    folder = data / "tomography" / "savu_24737_tiff"
    with pytest.raises(FormatError, match=r"lists 111 angles for 91 projections; select its lines"):
        open_scan(folder / "tiffs", folder / "flat_00001.tiff", folder / "dark_00001.tiff", angles=folder / "angles.txt")


def test_savu_correction_matches_its_own(data: Path) -> None:
    path = data / "tomography" / "savu_24737_tiff" / "reference_flatfield_corrected.mrc"
    nx, ny, nz, mode = np.fromfile(path, "<i4", 4)
    assert mode == 12
    reference = np.fromfile(path, "<f2", offset=1024).reshape(nz, ny, nx).astype(float)
    with savu_tiff(data) as scan:
        ours = corrected(scan)
    # Pixel (0, 0) is dead: its flat equals its dark.
    difference = np.abs(ours - reference)
    difference[:, 0, 0] = 0
    assert np.isfinite(difference).all()
    assert difference.max() < 0.0199 and np.median(difference) < 0.0027


def test_diad_through_its_external_links(data: Path) -> None:
    with open_scan(data / "tomography" / "diad_k11" / "k11-18014.nxs") as scan:
        assert scan.layout == "DIAD" and scan.shape == (3001, 22, 26) and scan.dtype == np.uint16
        assert (scan.n_flats, scan.n_darks, scan.n_flat_groups) == (100, 100, 2)
        assert np.rad2deg(scan.angles[[0, -1]]) == pytest.approx([89.995, 269.995], abs=1e-3)
        assert (np.diff(scan.angles) > 0).all()
        images = corrected(scan)
        assert 0.5 < np.median(images) < 1.5
        lower, upper, weight = scan.flat_weights()
        assert lower.max() == 0 and upper.min() == 1 and (np.diff(weight) > 0).all() and 0 < weight[0] < weight[-1] < 1
        rows = np.empty((5, 1, 26), np.float32)
        scan.read(slice(7, 8), rows, slice(2000, 2005))
        np.testing.assert_array_equal(rows[:, 0], [scan.projection(i)[7] for i in range(2000, 2005)])


def test_every_image_opens(data: Path) -> None:
    seen = set()
    for path in sorted((data / "astronomy").rglob("*.fits")):
        if ".srl." in path.name or ".cat." in path.name or path.name == "1904_comp.fits":
            with pytest.raises(FormatError, match="holds no image"):
                open_image(path)
            continue
        plane = 1 if "_3d" in path.name else None
        if plane is not None:
            with pytest.raises(FormatError, match=r"cube of shape \(3, 192, 192\).*plane=0 to 2"):
                open_image(path)
        with open_image(path, plane=plane) as image:
            pixels = image.array()
            assert pixels.dtype == np.float32 and pixels.dtype.isnative and pixels.shape == image.shape
            assert image.wcs is not None and image.beam is not None and image.beam.pixels > 1 and image.unit.upper() == "JY/BEAM"
            from astropy.io import fits

            stored = fits.getdata(path).reshape(-1, *image.shape)[image.plane]
            np.testing.assert_array_equal(pixels, stored)
        seen.add(path.name)
    assert len(seen) >= 15
    with open_image(data / "astronomy" / "scorpio" / "ScorpioS17Field.fits") as image:
        assert image.shape == (1000, 1000) and image.beam.major == pytest.approx(6.5 / 3600, rel=1e-6)


def test_real_scans_warn_of_nothing(data: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        savu_tiff(data).close()
        for name in ("tooth_nxtomo.nx", "savu_24737_nxtomo.nx", "diad_k11/k11-18014.nxs", "tomopy_tooth/tooth.h5"):
            open_scan(data / "tomography" / name).close()
