"""Where a GPU takes an image for sources whole, and where in parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import footprint as fp
from footprint.backend.null import PROFILES
from footprint.backend.registry import device_limits
from footprint.errors import LimitError
from footprint.kernels.common.launch import A
from footprint.kernels.deblend.gpu_parts import Part
from footprint.ops.elsewhere import Elsewhere
from footprint.ops.job import plan_op
from footprint.ops.search import Rules
from footprint.ops.sigma_clip import SigmaClip
from footprint.plan.slots import Given
from footprint.spec import ArraySpec
from tests.ways import lanes_aside


def test_a_gpu_takes_the_image_whole_where_it_can(monkeypatch):
    """Else in parts; and a catalogue that it has no room for goes to the processor unless the GPU was named."""
    options = {"deblend": True, "streamed": True}
    whole = fp.plan_find_sources((3000, 3000), device="null:h100", **options)
    parts = fp.plan_find_sources((3000, 3000), memory="50MB", device="null:h100", **options)
    assert whole.n_parts == 1 < parts.n_parts and parts.footprint.total <= 50e6 < whole.footprint.total
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_find_sources((3000, 3000), memory=6_500_000, device="null:h100", **options)
    least = fp.plan_find_sources((3000, 3000), memory=caught.value.smallest, device="null:h100", **options)
    assert least.footprint.total <= caught.value.smallest < 20e6
    monkeypatch.setenv("FOOTPRINT_DEVICE", "null:h100")
    assert fp.plan_find_sources((3000, 3000), memory="50MB", **options).limits == whole.limits
    less = fp.plan_find_sources((3000, 3000), memory=6_500_000, **options)
    assert less.limits.host and less.n_parts > 1


@pytest.mark.parametrize("together", [0, 132], ids=["one launch after another", "all in one launch"])
@pytest.mark.parametrize("background", ["global", "mesh"])
def test_what_every_pass_looks_at_crosses_the_bus_once(background, together, monkeypatch):
    """Images of over a GiB crossed it four or five times, in parts of the sizes that are best where there is one pass."""
    monkeypatch.setitem(PROFILES, "h100", replace(PROFILES["h100"], together=together))
    for memory, whole in ((None, True), ("6GB", True), ("2.2GB", False)):
        plan = fp.plan_find_sources((16384, 16384), background=background, memory=memory, device="null:h100")
        assert dict(plan.seconds)["upload"] == pytest.approx((1 << 30) / 50e9, rel=0.01)
        # Else the parts that have crossed stay.
        assert (plan.n_parts == 1) == whole


@pytest.mark.parametrize(
    "given", [{"contrast": 0.002}, {"elsewhere": (Elsewhere(0, SigmaClip()),)}], ids=lambda given: next(iter(given))
)
def test_several_gpus_take_what_goes_to_one_of_them_whole(given):
    """What is kept from part to part is on one device, so parts would be more work, and for nothing."""
    steps = Rules(**given).steps(5000)
    ins = [ArraySpec((3000, 3000))] * len(steps.inputs)
    limits = replace(device_limits("null:h100"), devices=2)
    plan = plan_op(
        limits, None, "sources", steps, [(one, Given()) for one in ins], [(one, Given()) for one in steps.out_specs(*ins)]
    )
    assert plan.n_parts == 1


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_parts_of_sizes_that_stay_alone_are_planned(dtype, monkeypatch):
    """Sizes that seem slower are not recorded where every pass reads them again, and may be the best where they stay."""
    lanes_aside(monkeypatch)
    monkeypatch.setattr("footprint.ops.sigma_clip.usual_passes", lambda limits: 5)
    for width in (700, 901, 1500):
        for memory in (6e6, 12e6, 20e6):
            plan = fp.plan_find_sources((1500, width), dtype=dtype, memory=memory, streamed=True, device="null:h100")
            assert plan.footprint.total <= memory


def test_a_gpu_counts_places_by_32_bits():
    options = {"deblend": True, "flood": 3, "streamed": True, "measure_on": 1, "device": "null:h100"}
    plan = fp.plan_find_sources((65536, 65535), **options)
    assert plan.n_parts > 2 and plan.outputs[3].spec.shape[0] > 5e6
    with pytest.raises(fp.ShapeError, match="image: got 4294967295 pixels, wanted at most 4294967294 where a GPU"):
        fp.plan_find_sources((65537, 65535), **options)


def test_a_part_of_more_pixels_than_31_bits_count_is_refused():
    """Its size was handed to a kernel as it was, a negative number."""
    arrays = A(0), A(1), A(2)
    with pytest.raises(LimitError, match="image: got 2621440000 pixels, wanted at most 2147"):
        Part(PROFILES["h100"], ArraySpec((65536, 40000)), 0, arrays, 3, first=0, height=65536, sigma=5.0, connectivity=4)
