"""What public functions answer to keywords that they do not have, and to other libraries' words."""

from __future__ import annotations

import importlib
import inspect
import pickle
import re

import numpy as np
import pytest
import scipy.ndimage

import footprint as fp
from footprint.elsewhere import ABSENT, ARGUMENTS, HERE, MODULES, NOTES

VERBS = [name for name in fp.__all__ if inspect.isfunction(getattr(fp, name))]
IMAGE, MASK = np.ones((4, 5)), np.ones((3, 3))


def said(verb, *args, **named):
    with pytest.raises(TypeError) as caught:
        verb(*args, **named)
    sentence = str(caught.value)
    assert "\n" not in sentence and caught.value.__suppress_context__
    return sentence


def named_of(verb):
    all_of_it = inspect.signature(verb).parameters.values()
    return [one.name for one in all_of_it if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def test_any_unknown_keyword_is_answered_by_the_nearest():
    open_ended = []
    for name, verb in ((name, getattr(fp, name)) for name in VERBS):
        assert pickle.loads(pickle.dumps(verb)) is verb
        known = named_of(verb)
        if len(known) < len(inspect.signature(verb).parameters):
            open_ended.append(name)
            continue
        # No argument is given, so that what is missing is told after.
        for one in known:
            assert said(verb, **{one + "q": 0}) == f"{name}() got an unexpected keyword argument '{one}q'; the nearest is {one}="
        takes = re.escape(", ".join(f"{one}=" for one in known) or "none")
        assert re.fullmatch(rf"{name}\(\) got an unexpected keyword argument 'zzzzzz'; it takes {takes}", said(verb, zzzzzz=0))
    passed_on = ["plan_pad", "plan_try_axes", "try_axes", "value_range"]
    assert sorted(open_ended) == ["estimate_max_chunk_size", "estimate_required_memory", *passed_on]


def test_what_goes_on_to_another_verb_is_answered_too(tmp_path):
    from footprint.io.phantom import write_scan

    write_scan(tmp_path / "scan.nx", n_angles=8, n_z=2, n_x=16)
    with fp.open_scan(tmp_path / "scan.nx") as scan:
        assert "'filtr'; the nearest is filter=" in said(fp.value_range, scan, filtr="hann")
        assert "'filtr'; the nearest is filter=" in said(fp.try_axes, scan, [8.0], filtr="hann")
    for verb in (fp.plan_correlate, fp.plan_convolve):
        assert "'boundry'; the nearest is boundary=" in said(verb, (4, 5), (3, 3), boundry="wrap")
    assert "'stat_len'; the nearest is stat_length=" in said(fp.plan_pad, (4, 5), 1, stat_len=2)
    assert "plan_fbp() got an unexpected keyword argument 'angels'; the nearest is angles=" in said(
        fp.estimate_required_memory, "fbp", (4, 5, 6), angels=2
    )


def test_words_of_other_libraries_are_arguments_here():
    known = {one for name in VERBS for one in named_of(getattr(fp, name))}
    assert set(ARGUMENTS) | {one for ours, _ in NOTES for one in ours.split()} <= known
    for verb in map(fp.__dict__.get, VERBS):
        mine = named_of(verb)
        # A word that a verb has needs no translation, but where it is given twice.
        assert not [note for note in NOTES if {*note[0].split(), note[1]} <= set(mine) and note != ("mask masked", "mask")], verb


@pytest.mark.parametrize(
    ("verb", "args", "named", "wanted"),
    [
        ("label", (IMAGE,), {"structure": MASK}, "'structure'; that is connectivity=, 4 or 8"),
        ("measure", (IMAGE,), {"label_img": MASK}, "that is labels= here"),
        ("pad", (IMAGE,), {"npad": 1}, "that is pad_width= here"),
        ("gaussian_filter", (), {"image": IMAGE}, "that is input= here"),
        ("median_filter", (IMAGE,), {"kernel_size": 3}, "that is size= here"),
        ("uniform_filter", (IMAGE,), {"ksize": 3}, "that is size= here"),
        ("sobel", (IMAGE,), {"axes": 3}, "that is axis= here"),
        ("fbp", (IMAGE,), {"theta": 3}, "that is angles= here"),
        ("find_sources", (IMAGE,), {"thresh_pix": 3}, "that is sigma= here"),
        ("sigma_clip", (IMAGE,), {"sigma_lower": 3}, "bounds lie sigma= to either side"),
        ("convolve", (IMAGE,), {"weights": MASK}, "'weights'; the mask is the second argument"),
        ("correlate", (IMAGE, MASK), {"output": IMAGE}, "'output'; a result goes to the array out="),
        (
            "convolve",
            (IMAGE, MASK),
            {"mask": IMAGE},
            "multiple values for argument 'mask'; .* pixels that are left out are masked=",
        ),
        ("convolve", (IMAGE, MASK, "full", "direct"), {}, "but 4 were given; name what comes after mode, as in boundary="),
        ("label", (IMAGE, 4, 5), {}, "but 3 were given; name what comes after connectivity, as in out="),
        ("correlate", (IMAGE, MASK), {"anchor": (0, 0)}, "'anchor'; origin= counts from the window's middle"),
        ("correlate", (IMAGE, MASK), {"delta": 3}, "'delta'; add it to the result"),
        ("gaussian_filter", (IMAGE, 1), {"channel_axis": -1}, r"axes= are those to filter, such as \(0, 1\) of a picture"),
        ("gaussian_filter", (IMAGE, 1), {"preserve_range": True}, "numbers keep their range"),
        ("minimum_filter", (IMAGE,), {"structure": MASK}, "that is footprint= here"),
        ("sobel", (IMAGE,), {"dx": 1}, r"'dx'; axis=1 is OpenCV's dx=1"),
        ("stream", ([IMAGE], "median_filter"), {"size": 3}, r"'size'; other verbs are called on each frame, as in \(fp.median_"),
        ("open_image", (), {"filename": "a"}, "that is path= here"),
    ],
)
def test_words_of_other_libraries_are_answered(verb, args, named, wanted):
    assert re.search(wanted, said(getattr(fp, verb), *args, **named))


@pytest.mark.parametrize(
    ("theirs", "ours"), [("find_center_vo", 'rotation_axis(scan, method="vo")'), ("recon", "fbp("), ("remove_all_stripe", '"all"')]
)
def test_functions_of_tomopy_are_answered(theirs, ours):
    with pytest.raises(AttributeError, match=rf"no attribute '{theirs}'; call footprint\..*{re.escape(ours)}"):
        getattr(fp, theirs)


def test_what_is_not_offered_is_said_to_be_so():
    for name in "generic_filter zoom wiener bilateralFilter distance_transform_edt spline_filter sosfiltfilt".split():
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; what .* calls so is not offered here"):
            getattr(fp, name)
    with pytest.raises(AttributeError, match="'ndimage'; its functions are in footprint itself"):
        fp.ndimage  # noqa: B018
    for library, names in ("scipy.ndimage", ABSENT), ("scipy.signal", ABSENT):
        peer = importlib.import_module(library)
        assert all(hasattr(peer, name) for name, of in names.items() if of == library and name != "vectorized_filter")
    assert not (set(ABSENT) | set(MODULES)) & (set(fp.__all__) | set(HERE))


def test_erosion_of_a_mask_is_its_minimum(rng):
    mask, cross = rng.random((30, 40)) > 0.4, np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
    for name in "binary_erosion", "binary_dilation":
        found = eval(f"fp.{HERE[name]}", {"fp": fp, "mask": mask, "structure": cross})
        np.testing.assert_array_equal(found, getattr(scipy.ndimage, name)(mask, cross))


def test_errors_from_within_stay_as_they_are():
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'mask'$"):
        fp.convolve(IMAGE)

    def frames():
        yield IMAGE
        raise TypeError("unexpected keyword argument 'zzz'")

    with pytest.raises(TypeError, match=r"'zzz'$"):
        list(fp.stream(frames(), mask=MASK, device="cpu"))


def test_arguments_in_the_order_of_opencv_are_answered_in_one_line():
    # cv2.filter2D(image, ddepth, kernel), whose kernel was quoted number by number, and cv2.Sobel(image, ddepth, dx, dy)
    with pytest.raises(
        fp.ArgumentError, match=r"^mode: got an ndarray, wanted one of same, full, valid; the mask comes second; .*$"
    ):
        fp.correlate(IMAGE, -1, MASK)
    with pytest.raises(
        fp.ArgumentError, match=r"^output: got 0, wanted an array, or a dtype such as 'float32'; axis=1 is OpenCV's dx=1"
    ):
        fp.sobel(IMAGE, 1, 0)
    with pytest.raises(fp.ArgumentError, match=r"^method: got an ndarray, wanted one of auto, .*$"):
        fp.convolve(IMAGE, MASK, method=MASK)


def test_a_mask_is_swapped_with_the_image_only_where_that_helps():
    for mask, said in ((np.ones((5, 5)), r"; swap the two\.$"), (np.ones((5, 2)), r'in mode "valid"\.$')):
        with pytest.raises(fp.ShapeError, match=said):
            fp.convolve(IMAGE, mask, "valid", device="cpu")


def test_correlate_says_what_becomes_of_what_is_swapped(rng):
    """What it said to do gave the result backwards, and conjugated."""
    signal = pytest.importorskip("scipy.signal")
    images = [rng.random(shape) for shape in ((4, 3), (6, 7), (4, 3), (6, 7))]
    image, mask = images[0] + 1j * images[2], images[1] + 1j * images[3]
    for one, other, also in ((images[0], images[1], ""), (image, mask, " and conjugate"), (image, images[1], " and conjugate")):
        for plan in False, True:
            with pytest.raises(fp.ShapeError, match=rf"; swap the two, and reverse{also} the result\.$"):
                fp.plan_correlate((4, 3), other, "valid", dtype=one.dtype) if plan else fp.correlate(one, other, "valid")
        want, got = signal.correlate(one, other, "valid", "direct"), fp.correlate(other, one, "valid")
        np.testing.assert_allclose(np.flip(got).conj(), want, rtol=1e-12)
        assert not np.allclose(got, want)


def test_several_masks_are_hinted_at_where_axes_are_too_few():
    with pytest.raises(fp.ArgumentError, match=r'axes: got \(0, 1\), wanted 3 of them, .*; masks="all"'):
        fp.convolve(IMAGE, MASK[None], axes=(0, 1), device="cpu")
