"""Several masks in one call: the bits of one call each, the image brought once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import footprint as fp
from tests import far


@pytest.fixture
def bank(rng):
    return 0.5 + rng.random((3, 4, 5))


def one_each(image, bank, masks, **how):
    """Call after call."""
    return np.array([fp.convolve(x, w, **how) for x, w in zip(image if masks == "each" else [image] * len(bank), bank)])


@pytest.mark.parametrize("masks", ["all", "each"])
@pytest.mark.parametrize("more", ["propagate", "interpolate", "fft"])
def test_every_mask_makes_what_it_makes_alone(masks, more, device, rng, bank):
    if device != "cpu" and more == "fft":
        pytest.skip("transforms of tiles take long to compile, and are launched by the same loop")
    image = rng.standard_normal((3, 61, 37) if masks == "each" else (61, 37), "f4")
    how = {"method": "fft"} if more == "fft" else {"nan": more}
    how |= {"boundary": "mirror", "device": device}
    image[..., 30:40, 3:20] = np.nan
    np.testing.assert_array_equal(fp.convolve(image, bank, masks=masks, **how), one_each(image, bank, masks, **how))


def test_masks_of_every_kind(rng, bank):
    """Signals, volumes, pictures, complex numbers, sizes of results; lists, other layouts."""
    how = {"device": "cpu", "masks": "all"}
    image = rng.standard_normal((20, 23))
    want = [scipy.signal.convolve2d(image, w) for w in bank]
    np.testing.assert_allclose(fp.convolve(image, bank, "full", **how), want, atol=1e-12)
    want = [scipy.signal.correlate2d(image, w, "valid") for w in bank]
    got = fp.correlate(image.astype(">f8"), np.asfortranarray(bank), "valid", **how)
    np.testing.assert_allclose(got, want, atol=1e-12)
    np.testing.assert_allclose(fp.correlate(image, bank.tolist(), "valid", **how), want, atol=1e-12)
    want = [scipy.signal.correlate(image + 1j, 1j * w, "same", "direct") for w in bank]
    np.testing.assert_allclose(fp.correlate(image + 1j, 1j * bank, **how), want, atol=1e-12)
    want = [scipy.signal.convolve(image[0], w, "same", "direct") for w in bank[0]]
    np.testing.assert_allclose(fp.convolve(image[0], bank[0], **how), want, atol=1e-12)
    photo, volumes = rng.standard_normal((20, 23, 3)), bank[:, None, :, :2]
    want = [[scipy.signal.convolve2d(photo[..., c], w, "same") for c in range(3)] for w in bank]
    got = fp.convolve(photo, bank, axes=(0, 1), **how)
    np.testing.assert_allclose(got, np.moveaxis(want, 1, -1), atol=1e-12)
    want = [scipy.signal.convolve(photo, w, "same", "direct") for w in volumes]
    np.testing.assert_allclose(fp.convolve(photo, volumes, **how), want, atol=1e-12)


def test_an_image_is_brought_once(device, bank):
    how = {"dtype": ">f4", "masks": "all", "device": device}
    plan = fp.plan_convolve((300, 200), bank.shape, **how)
    assert plan.n_parts == 1 and plan.outputs[0].spec.shape == (3, 300, 200)
    brought = [step for step in plan.steps if step.action == "fill" and step.refs[0].slot.name == "image"]
    assert len(brought) == 1 and not any(loop.first <= plan.steps.index(brought[0]) <= loop.last for loop in plan.loops)


def test_parts_have_the_bits_of_the_whole(device, rng, bank):
    """By rows, and where not even one row of all results fits, by masks."""
    image = rng.standard_normal((31, 37)).astype(">f4")
    how = {"boundary": "mirror", "masks": "all", "device": device}
    want = fp.convolve(image, bank, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(image, bank, memory=1, **how)
    least, cuts = caught.value.smallest, set()
    for memory in (least, 2 * least, 4 * least):
        plan = fp.plan_convolve(image.shape, bank.shape, dtype=">f4", memory=memory, **how)
        cuts |= {cut.unit for cut in plan.cuts if cut.count > 1}
        assert plan.footprint.total <= memory
        np.testing.assert_array_equal(fp.convolve(image, bank, memory=memory, **how), want)
    assert cuts == {"rows", "masks"}


def test_masks_of_a_device_stay_there(rng, bank):
    image = rng.standard_normal((31, 37), "f4")
    want = fp.convolve(image, bank, masks="all", device="cpu")
    with far.far_device():
        got = fp.convolve(far.ndarray(image.copy()), bank, masks="all")
        assert type(got) is far.ndarray
        np.testing.assert_array_equal(got.get(), want)


def test_what_cannot_be_is_said(rng, bank):
    image = rng.random((20, 23))
    for shape, masks, method, said in (
        ((20, 23), "one", "auto", 'mask: got 3 dimensions, wanted 2, as many as the image; masks="all" takes its first axis'),
        ((20, 23), "many", "auto", "masks: got 'many', wanted one of one, all, each"),
        (
            (2, 20, 23),
            "each",
            "auto",
            "mask: got 3 masks, wanted 2, one for each image of the batch; masks=.all. filters by all of",
        ),
        ((20, 23), "all", "separable", "'separable' for several masks"),
        ((23,), "all", "auto", "mask: got 3 dimensions, wanted 2, as many as the image and one"),
    ):
        with pytest.raises((fp.ArgumentError, fp.ShapeError), match=said):
            fp.convolve(np.ones(shape), bank, masks=masks, method=method, device="cpu")
    bank[1] -= bank[1].mean()
    with pytest.raises(fp.ArgumentError, match="weights whose sum is 0"):
        fp.convolve(image, bank, masks="all", nan="interpolate", device="cpu")
