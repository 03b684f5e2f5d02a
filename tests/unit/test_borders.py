"""One table of borders: every word of it means the same in every verb, and "reflect" what the verb's users read."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.kernels.common import borders
from footprint.kernels.common.borders import BORDERS, NUMPY, border, numpy_border

RNG = np.random.default_rng(2)
ROWS = [re.split(r"\s{2,}", line) for line in borders.__doc__.splitlines() if re.match(rf"({'|'.join(BORDERS)}) ", line)]
WORDS = [(word, ours) for ours, _, words, _ in ROWS for word in words.split(", ")]


def test_the_table_that_is_shown_is_the_one_that_is_used():
    assert [(ours, theirs) for ours, _, _, theirs in ROWS] == list(NUMPY.items())
    assert dict(WORDS) == borders._WORDS
    for ours, picture, _, theirs in ROWS:
        row = np.array(list("abcd"))
        outside = {"constant_values": "k"} if theirs == "constant" else {}
        want = "".join(np.pad(row, 3, theirs, **outside))
        assert picture.replace(" ", "").replace("|", "") == want
        codes = "".join("k" if (at := borders.source_index(i, 4, borders.CODES[ours])) < 0 else "abcd"[at] for i in range(-3, 7))
        assert codes == want


@pytest.mark.parametrize(("word", "ours"), [*WORDS, ("Symmetric", "reflect")])
def test_a_word_means_the_same_in_every_verb(word, ours):
    image, mask = RNG.standard_normal((7, 9)), RNG.standard_normal((5, 4))
    on = {"device": "cpu"}
    np.testing.assert_array_equal(fp.convolve(image, mask, boundary=word, **on), fp.convolve(image, mask, boundary=ours, **on))
    np.testing.assert_array_equal(fp.pad(image, 3, word, **on), np.pad(image, 3, NUMPY[ours]))
    rows = image.astype("f4")
    want = fp.ramp_filter(rows, padding=NUMPY[ours], **on)
    np.testing.assert_array_equal(fp.ramp_filter(rows, padding=word, **on), want)
    np.testing.assert_array_equal(fp.fbp(rows, padding=word, **on), fp.fbp(rows, padding=NUMPY[ours], **on))
    assert border(word) == border(word, readers="numpy") == ours


def test_reflect_is_what_its_users_read():
    image, mask = RNG.standard_normal((7, 9)), RNG.standard_normal((5, 3))
    np.testing.assert_allclose(
        fp.correlate(image, mask, boundary="reflect", device="cpu"),
        scipy.ndimage.correlate(image, mask, mode="reflect"),
        atol=1e-13,
    )
    np.testing.assert_array_equal(fp.pad(image, 4, "reflect", device="cpu"), np.pad(image, 4, "reflect"))
    odd = {"reflect_type": "odd"}
    np.testing.assert_allclose(fp.pad(image, 4, "mirror", device="cpu", **odd), np.pad(image, 4, "reflect", **odd), atol=1e-13)
    assert (border("reflect"), numpy_border("reflect", "padding")) == ("reflect", "reflect")
    assert border("reflect", readers="numpy") == "mirror"


@pytest.mark.parametrize(("call", "argument"), [
    (lambda word: fp.convolve(np.ones((3, 3)), np.ones((3, 3)), boundary=word), "boundary"),
    (lambda word: fp.ramp_filter(np.ones((3, 3)), padding=word), "padding"),
    (lambda word: fp.pad(np.ones(3), 1, word), "mode"),
])  # fmt: skip
def test_a_word_that_is_none_is_refused(call, argument):
    for word in ("reflected", "", None, 3):
        with pytest.raises(fp.ArgumentError, match=argument):
            call(word)


def test_paganin_takes_the_words_of_the_table():
    image = 1 + 0.1 * RNG.random((6, 8), np.float32)
    made = lambda padding: fp.paganin(image, delta_beta=9, energy=20, distance=0.1, pixel_size=5e-6, padding=padding, device="cpu")
    for word, ours in (("nearest", "edge"), ("mirror", "reflect"), ("grid-mirror", "symmetric"), ("constant", "zeros")):
        np.testing.assert_array_equal(made(word), made(ours))
    with pytest.raises(fp.ArgumentError, match="padding: got 'wrap'"):
        made("periodic")


FILTERS = {
    plan + name
    for plan in ("", "plan_")
    for name in (
        "gaussian_filter uniform_filter sobel laplace gaussian_laplace unsharp_mask "
        "median_filter rank_filter percentile_filter minimum_filter maximum_filter"
    ).split()
}


def _taken(name):
    """The argument that a public function takes a border by, None where it takes none; "**" hides some."""
    hidden = {"plan_correlate": "boundary", "try_axes": "padding", "plan_try_axes": "padding"}
    value = getattr(fp, name)
    names = inspect.signature(value).parameters if inspect.isfunction(value) else ()
    return hidden.get(name) or next((word for word in ("boundary", "padding", "mode") if word in names), None)


@pytest.mark.parametrize("name", [name for name in fp.__all__ if _taken(name)])
def test_every_docstring_that_takes_a_border_shows_the_table_once(name):
    text, argument = inspect.getdoc(getattr(fp, name)), _taken(name)
    assert borders.TABLE.count("\n") == len(BORDERS) + 3
    assert text.count(borders.TABLE) == 1
    means = (
        "c b a|abcd|d c b, as in scipy.ndimage"
        if argument == "boundary" or name in FILTERS
        else "d c b|abcd|c b a, as in numpy.pad"
    )
    assert f'As ``{argument}``, "reflect" is {means}' in text
    # Among the notes, which numpydoc has after returns and before examples, and once.
    heads = re.findall(r"^(\w+)\n-+$", text, re.M)
    assert len(set(heads)) == len(heads) and "Returns" in heads[: heads.index("Notes")]
    assert heads[heads.index("Notes") + 1 :] in ([], ["Examples"], ["Raises", "Examples"])
    assert borders.TABLE in re.split(r"^\w+\n-{3,}$", text, flags=re.M)[heads.index("Notes") + 1]


@pytest.mark.parametrize("notes", ["", "    Notes\n    -----\n    A note.\n\n"])
@pytest.mark.parametrize("examples", ["", "    Examples\n    --------\n    >>> 1\n    1\n    "])
def test_the_table_goes_into_docstrings_with_and_without_indentation(notes, examples):
    """From Python 3.13 on the compiler takes it off."""
    doc = f"Do.\n\n    Parameters\n    ----------\n    mode : str\n        A border.\n\n{notes}{examples}"
    found = []
    for text in (doc, inspect.cleandoc(doc)):
        verb = lambda: None
        verb.__doc__ = text
        found.append(inspect.cleandoc(borders.shows_borders("mode", but="But.")(verb).__doc__))
    assert found[0] == found[1]
    assert f"Notes\n-----\n{'A note.' if notes else 'What'}" in found[0] and found[0].count(borders.TABLE) == 1
    assert re.search(r"\nBut\.(\n\nExamples\n|$)", found[0])


def test_the_none_of_astropy_is_told_what_it_is_here():
    with pytest.raises(fp.ArgumentError, match=r'boundary: got None.*astropy.*mode="valid"'):
        fp.convolve(np.ones((4, 4)), np.ones((3, 3)), boundary=None, device="cpu")


SLIPS = {"refelct": "reflect", "miror": "mirror", "Nearst": "nearest", "replicat": "replicate", "wrp": "wrap"}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_of_the_pen_is_told_the_nearest_word(slip):
    image, told = np.ones((4, 4)), f"wanted one of .*; the nearest is {SLIPS[slip]}; "
    for call in (
        lambda: fp.convolve(image, "box:3", boundary=slip),
        lambda: fp.gaussian_filter(image, 1, mode=slip),
        lambda: border(slip, readers="numpy"),
    ):
        with pytest.raises(fp.ArgumentError, match=told):
            call()
    with pytest.raises(fp.ArgumentError) as caught:
        border("something else")
    assert "the nearest is" not in str(caught.value)
