"""What callers hand in from Python: arrays of other libraries, and one table of what can be wrong."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import footprint as fp


class Foreign:
    """An array of a library that, as JAX does with memory it does not like, copies what it is handed by DLPack."""

    __module__ = "foreign"

    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize(
    "verb",
    [
        lambda x: fp.convolve(x, np.ones((1, 1))),
        lambda x: fp.pad(x, 1),
        lambda x: fp.ramp_filter(x, filter="none"),
        lambda x: fp.backproject(x),
        lambda x: fp.fbp(x),
        lambda x: fp.threshold(x, 0.5),
        lambda x: fp.label(x)[0],
    ],
)
def test_results_go_back_in_kind_when_they_are_there(verb, monkeypatch, rng):
    monkeypatch.setitem(sys.modules, "foreign", types.SimpleNamespace(from_dlpack=lambda data: Foreign(data)))
    values = rng.standard_normal((40, 30), np.float32)
    found = verb(Foreign(values))
    assert isinstance(found, Foreign)
    np.testing.assert_array_equal(found.values, verb(values))


IMAGE, SCAN = np.ones((6, 8), np.float32), (6, 4, 8)
# What is called, and words its sentence must have.
BAD = {
    "plan-length": (lambda: fp.plan_convolve(512, (3, 3)), "shape 512 (512, 512)"),
    "plan-fraction": (lambda: fp.plan_sigma_clip((5.5, 5)), "shape (5.5, 5)"),
    "plan-negative": (lambda: fp.plan_measure((5, -5)), "shape (5, -5)"),
    "plan-mask-negative": (lambda: fp.plan_convolve((5, 5), (3, -3)), "mask_shape (3, -3)"),
    "plan-dtype": (lambda: fp.plan_threshold((5, 5), "foo"), "dtype 'foo' 'float32'"),
    "plan-complex": (lambda: fp.plan_convolve((5, 5), (3, 3), dtype="complex64"), "dtype 'complex64' real"),
    "plan-stack": (lambda: fp.plan_fbp((4, 5, 6, 7), 180), "shape (4, 5, 6, 7) (n_angles, n_x)"),
    "plan-scan": (lambda: fp.plan_reconstruct(5), "scan 5"),
    "plan-scan-dtype": (lambda: fp.plan_reconstruct(SCAN, dtype="xx"), "dtype 'xx'"),
    "plan-scan-groups": (lambda: fp.plan_reconstruct(SCAN, n_flat_groups="1"), "n_flat_groups '1' 0"),
    "scan-path": (lambda: fp.reconstruct("scan.nx"), "scan str open_scan"),
    "axis-path": (lambda: fp.rotation_axis("scan.nx"), "scan str open_scan"),
    "shifts": (lambda: fp.plan_reconstruct(SCAN, shifts=["a"] * 6), "shifts numbers"),
    "axis-shifts": (lambda: fp.plan_reconstruct(SCAN, axis_shifts=["a"] * 6), "axis_shifts numbers"),
    "i0": (lambda: fp.plan_reconstruct(SCAN, i0=np.ones(2), n_flat_groups=0), "i0 'border'"),
    "axis-none": (lambda: fp.plan_reconstruct(SCAN, center=None), "center None 'auto'"),
    "axis": (lambda: fp.backproject(IMAGE, center=[1, 2]), "center [1, 2] pixels"),
    "roi-number": (lambda: fp.backproject(IMAGE, roi=5), "roi 5 whole"),
    "roi-fraction": (lambda: fp.backproject(IMAGE, roi=(0.5, 2, 0, 2)), "roi 0.5 whole"),
    "roi-text": (lambda: fp.fbp(IMAGE, roi="0123"), "roi '0123' whole"),
    "uneven": (lambda: fp.convolve([[1, 2], [3]], IMAGE), "image uneven"),
    "valid-empty": (lambda: fp.convolve(np.ones((0, 3)), np.ones((2, 5)), mode="valid"), "mask (2, 5) (0, 3)"),
    "connectivity": (lambda: fp.label(IMAGE, np.array([4, 8])), "connectivity 4 8"),
    "out-list": (lambda: fp.convolve(IMAGE, [[1]], out=IMAGE.tolist()), "out list"),
    "share-of-unknown": (lambda: fp.plan_convolve((5, 5), (3, 3), memory="80%", device="null"), "memory '80%' null tell"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_one_clear_sentence(case):
    call, wanted = BAD[case]
    with pytest.raises(fp.FootprintError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".")
    missing = [word for word in wanted.split() if word not in sentence]
    assert not missing, f"no {missing} in: {sentence}"


def test_budgets_may_be_numpys_numbers():
    plans = [fp.plan_convolve((64, 64), (3, 3), memory=memory, device="cpu") for memory in (10**6, np.int64(10**6))]
    assert plans[0] == plans[1]
