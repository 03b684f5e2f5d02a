"""Real images beside the catalogues that other finders made of them: what is matched, and how fluxes and places compare."""

import numpy as np
import pytest

from footprint.io.image import open_image

crossmatch = pytest.importorskip("benchmarks.crossmatch", reason="the benchmarks lie beside the tests in the repository only")

# Theirs, matched, missed over 7 noises, extra at most; peaks and fluxes agree within, and places within so many beams.
KNOWN = {
    "VAST epoch01, Selavy": (4, 4, 0, 0, 0.003, 0.003, 0.01),
    "VAST epoch02, Selavy": (7, 7, 0, 0, 0.003, 0.003, 0.01),
    "1904-66 AIT, Aegean": (47, 40, 1, 19, 0.01, 0.03, 0.01),
    "ScorpioFaintSNRField, PyBDSF": (15, 15, 0, 37, 0.1, 0.1, 0.02),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KNOWN)
def test_other_finders_rows_are_found_again(data, name):
    theirs, matched, bright, extra, peak, flux, place = KNOWN[name]
    path, read = crossmatch.cases(data / "astronomy")[name]
    with open_image(path) as image:
        m = crossmatch.match(image, read())
    assert m.theirs == theirs and m.matched >= matched and m.missed == theirs - m.matched
    assert m.missed_bright <= bright and m.ours - m.matched <= extra, m
    assert abs(m.peak[0] - 1) < peak and abs(m.flux[0] - 1) < flux, m
    assert np.hypot(m.east, m.north) < place, m
    if "Selavy" in name:
        # Of sources of the beam's shape, 15 x 10 arcseconds.
        assert abs(m.major[0] - 1) < 1e-3 and abs(m.minor[0] - 1) < 1e-3 and abs(m.pa[0]) < 0.05 and m.long == m.pairs >= 4


def test_pairs_are_one_to_one_and_the_closest_first():
    """The nearer of two takes what both are near to, and the other what is left within reach."""
    xy, other = np.array([[0.0, 0], [1, 0], [50, 50]]), np.array([[0.9, 0], [-1.5, 0], [53, 50]])
    assert crossmatch.closest(xy, other, 2).tolist() == [[1, 0], [0, 1]]
    assert crossmatch.closest(xy[:0], other, 2).shape == (0, 2)
