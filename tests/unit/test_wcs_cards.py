"""Headers that astropy and wcslib have something to say of, or read otherwise than they are written."""

from __future__ import annotations

import json
import logging
import sys
import threading
import warnings

import numpy as np
import pytest
from astropy import log
from astropy.io import fits

import footprint as fp
from footprint.__main__ import entry
from footprint.api._wcs import _single, wcs_of
from footprint.io.filtered import filtered_header

SKY = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 30.0, "CRPIX2": 32.0, "CRVAL1": 10.0, "CRVAL2": -30.0}
SKY |= {"CDELT1": -0.002, "CDELT2": 0.002, "BUNIT": "Jy/beam", "BMAJ": 0.008, "BMIN": 0.008, "BPA": 0.0}
SIP = {"A_ORDER": 2, "B_ORDER": 2, "A_2_0": 1e-4, "B_0_2": -1e-4}


@pytest.fixture
def image(rng):
    data = rng.standard_normal((64, 60)).astype(np.float32)
    data[30:34, 40:43] += 60
    return data


@pytest.mark.parametrize("words", [["sources"], ["plan", "sources"], ["convolve", "beam:40arcsec"]], ids=lambda words: words[0])
def test_astropys_log_does_not_reach_standard_output(monkeypatch, capsys, tmp_path, image, words):
    # Of a header that was met before the WCS is known.
    fits.writeto(tmp_path / "a.fits", image, fits.Header(SKY | SIP | {"CRVAL1": float(len(words[0]))}))
    out = [] if words[0] == "plan" else ["-o", str(tmp_path / f"o.{'ecsv' if words[0] == 'sources' else 'fits'}")]
    command, mask = (words, []) if words[0] != "convolve" else (words[:1], words[1:])
    monkeypatch.setattr(sys, "argv", ["footprint", *command, str(tmp_path / "a.fits"), *mask, *out, "--json"])
    with pytest.raises(SystemExit) as exit_:
        entry()
    said = capsys.readouterr()
    assert not exit_.value.code and json.loads(said.out), said


def test_a_users_log_is_as_it_was_and_says_what_other_threads_say(capsys):
    heard, before = [], (log.level, list(log.handlers), list(log.filters))
    ours = logging.Handler()
    ours.emit = lambda record: heard.append(record.getMessage())

    class Header(fits.Header):
        """Says something in another thread while a WCS is made of it."""

        def tostring(self, *args, **options):
            other = threading.Thread(target=log.warning, args=("from elsewhere",))
            other.start()
            other.join()
            return super().tostring(*args, **options)

    log.addHandler(ours)
    try:
        wcs_of(Header(SKY | SIP))
        assert set(heard) == {"from elsewhere"}
        log.warning("from here")
        assert heard[-1] == "from here"
    finally:
        log.removeHandler(ours)
    assert (log.level, log.handlers, log.filters) == before


def written(cards, **raw):
    """A header whose cards of these names have this text for a value."""
    header = fits.Header(cards)
    for key, text in raw.items():
        header.pop(key, None)
        header.append(fits.Card.fromstring(f"{key:8}= {text:>20} / as written"))
    return header


def found(image, header):
    """The catalogue and what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        table = fp.find_sources(image, 8.0, header=header, device="cpu")
    return table, [str(w.message) for w in told if w.category is UserWarning]


def test_exponents_of_fortran_are_read(image):
    raw = {"CRVAL1": "1.0D1", "CRVAL2": "-3.0d+1", "CDELT1": "-2.D-03", "CDELT2": "+.2D-2", "LONPOLE": "1.8D2", "BMAJ": "8D-3"}
    header = written(SKY, **raw)
    plain, told = found(image, fits.Header(SKY | {"LONPOLE": 180.0}))
    table, same = found(image, header)
    assert told == same == [] and all(np.array_equal(table[name], plain[name]) for name in plain.colnames)
    assert "1.0D1" in header.tostring()


def test_other_cards_of_a_header_with_such_exponents_stay_as_they_are():
    header = written(SKY, CRVAL1="1.0D1", NOTE="'KEYWORD = 1.0D1 / 2'", DATE="'2.0D1'", OTHER="10.0")
    header.add_history("CRVAL2  = 1.0D1")
    made = _single(header)
    assert made["CRVAL1"] == 10 and made.tostring() == header.tostring().replace("1.0D1 / as", "1.0E1 / as", 1)
    plain = fits.Header(SKY)
    assert _single(plain) is plain


MATRIX = {key: value for key, value in SKY.items() if not key.startswith("CDELT")}


@pytest.mark.parametrize("text", ["NaN", "'10:00:00'", "1e400", "'10.0'", "inf"])
@pytest.mark.parametrize("key", ["CRVAL1", "CRPIX2"])
def test_what_is_no_number_is_told_as_what_is_missing_is(image, key, text):
    header, without = written(SKY, **{key: text}), fits.Header(SKY)
    del without[key]
    table, told = found(image, header)
    default, missing = found(image, without)
    assert f"no {key} (taken as 0)" in missing[0]
    value = "inf" if text == "1e400" else text if text.startswith("'") else repr(text)
    words = f"positions and sizes on the sky may be wrong: the header has {value} for {key}, which is no number (taken as 0)"
    assert told == [words] and np.array_equal(table["ra"], default["ra"])


@pytest.mark.parametrize("value", [np.nan, np.inf, "10:00:00", np.float32("nan")])
def test_a_mapping_is_read_as_a_header_is(image, value):
    assert "for CRVAL1, which is no number (taken as 0)" in found(image, SKY | {"CRVAL1": value})[1][0]
    table, told = found(image, SKY | {"CDELT1": value})
    assert "ra" not in table.colnames and any("CDELT1 is" in one and "which is no number" in one for one in told)


@pytest.mark.parametrize(
    ("cards", "raw", "why"),
    [
        (SKY, {"CDELT1": "NaN"}, "CDELT1 is 'NaN', which is no number"),
        (SKY, {"CDELT1": "1e400"}, "CDELT1 is inf, which is no number"),
        (
            SKY,
            {"CDELT1": "'-.002'", "CDELT2": "'x'"},
            "CDELT1 is '-.002', which is no number, and CDELT2 is 'x', which is no number",
        ),
        (SKY, {"CDELT1": "0.0"}, "CDELT1 is 0"),
        (SKY, {"CDELT1": "0", "CDELT2": "0"}, "CDELT1 and CDELT2 are 0"),
        (SKY | {"PC1_1": 1.0, "PC1_2": 1.0, "PC2_1": 1.0, "PC2_2": 1.0}, {}, "its PC matrix is singular"),
        (MATRIX | {"CD1_1": 1e-3, "CD1_2": 3e-4, "CD2_1": 1e-3, "CD2_2": 3e-4}, {}, "its CD matrix is singular"),
        (SKY | {"CD1_1": 1e-3, "CD1_2": 1e-3, "CD2_1": 1e-3, "CD2_2": 1e-3}, {"CDELT1": "NaN"}, "its CD matrix is singular"),
        (MATRIX | {"CD1_1": 1e-3}, {"CD2_2": "'1e-3'"}, "CD2_2 is '1e-3', which is no number"),
    ],
)
def test_pixels_of_no_size_have_no_places(image, cards, raw, why):
    table, told = found(image, written(cards, **raw))
    assert "ra" not in table.colnames and len(table) == 1
    assert f"the catalogue has no ra and dec, since the header's coordinates cannot be used ({why})" in told


def test_what_does_not_count_may_be_anything(image):
    """Beside a matrix nobody reads CDELT; of a third axis nobody reads anything."""
    cards = MATRIX | {"CD1_1": -0.002, "CD2_2": 0.002}
    other = written(cards, CDELT1="NaN", CROTA2="'none'", CRVAL3="NaN", CDELT3="'x'", CTYPE3="'FREQ'")
    table, told = found(image, other)
    assert told == [] and np.allclose(table["ra"], found(image, fits.Header(SKY))[0]["ra"])
    tiny = SKY | {"CDELT1": -1e-9, "CDELT2": 1e-2}
    assert "ra" in found(image, fits.Header(tiny))[0].colnames


@pytest.mark.parametrize(("text", "value"), [("-8e-3", "-0.008"), ("NaN", "'NaN'"), ("'wide'", "'wide'"), ("1e400", "inf")])
def test_a_beam_that_is_none_is_told_with_its_value(image, text, value):
    told = found(image, written(SKY, BMIN=text))[1]
    words = f"the image is in Jy / beam and its header has a BMIN of {value}, which is no beam"
    assert told == [f"fluxes are sums over pixels, not in Jy: {words}"]
    for other in ("0.0", ""):
        assert "its header has no beam (BMAJ, BMIN)" in found(image, written(SKY, BMIN=other))[1][0]


@pytest.mark.parametrize("text", ["NaN", "'NaN'", "-8e-3", "1e400"])
def test_what_is_filtered_has_no_beam_of_what_is_none(text):
    header = written(SKY | {"BUNIT": "Jy/pixel"}, BMAJ=text)
    made, note = filtered_header(header, "gaussian:2", (17, 17), (0, 0), "convolved by", sigma=2.0)
    assert not {"BMAJ", "BMIN", "BPA"} & set(made) and "is left out" in note
