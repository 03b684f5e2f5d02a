"""Parts along two axes, where parts along one would read many of their neighbours' rows again."""

from __future__ import annotations

import pytest

import footprint as fp

HOW = {"device": "null:h100"}


def crossed(plan: fp.Plan, nbytes: int) -> float:
    """How often an image crosses the bus."""
    return dict(plan.seconds)["upload"] * 50e9 / nbytes


@pytest.mark.parametrize("memory", [1e9, 2e8, 1e8, 5e7])
@pytest.mark.parametrize("filtered", ["gaussian", "sums"])
def test_blocks_of_a_volume_read_it_twice_at_most(memory, filtered):
    """One plane at a time with all planes beside it, as it was, reads it 17 times and more."""
    shape = (2048, 2048, 2048)
    if filtered == "gaussian":
        plan = fp.plan_gaussian_filter(shape, 2, memory=memory, **HOW)
    else:
        plan = fp.plan_convolve(shape, (7, 7, 7), method="direct", memory=memory, **HOW)
    assert plan.footprint.total <= memory and crossed(plan, 4 * 2048**3) < 2
    deep, tall = (cut.size for cut in plan.cuts)
    assert plan.cuts[0].axis + plan.cuts[1].axis == "zy" and abs(deep - tall) <= 1


@pytest.mark.parametrize(
    "shape, sigma, memory, parts", [((2048,) * 3, 2, 1e8, 1024), ((2048,) * 3, 2, 3e7, 5041), ((512,) * 3, 3, 3e7, 64)]
)
def test_a_processor_takes_blocks_where_planes_would_be_summed_again_and_again(shape, sigma, memory, parts):
    """It reads whole planes where they lie, any number of times, but sums those beside every plane for each."""
    plan = fp.plan_gaussian_filter(shape, sigma, memory=memory, device="cpu")
    assert plan.footprint.total <= memory and plan.n_parts <= parts
    deep, tall = plan.cuts
    assert (deep.axis, tall.axis) == ("z", "y") and deep.size == tall.size


def test_cubes_of_a_volume_are_taken_where_blocks_with_whole_rows_do_not_fit():
    """Single rows of a plane, cut into pieces, were 8,388,608 parts, and read it 9,900 times."""
    plan = fp.plan_uniform_filter((2048, 2048, 2048), 101, memory=5e7, **HOW)
    assert plan.footprint.total <= 5e7 and plan.n_parts < 10_000 and crossed(plan, 4 * 2048**3) < 8
    assert [cut.axis for cut in plan.cuts] == ["z", "y", "x"] and len({cut.size for cut in plan.cuts}) == 1


@pytest.mark.parametrize("memory, parts", [(2e8, 100), (1e8, 289), (5e7, 1156)])
def test_blocks_of_an_image_are_as_wide_as_tall(memory, parts):
    """Single rows, cut into pieces, with all rows beside them were 131,072 parts, and read the image 2200 times."""
    plan = fp.plan_gaussian_filter((32768, 32768), 100, memory=memory, **HOW)
    assert plan.footprint.total <= memory and plan.n_parts <= parts and crossed(plan, 4 * 32768**2) < 10
    assert [cut.axis for cut in plan.cuts] == ["y", "x"] and plan.cuts[0].size == plan.cuts[1].size


def test_whole_rows_are_taken_where_pieces_of_them_would_not_be_far_fewer():
    """Pieces take longer to cross than their bytes say."""
    some = fp.plan_maximum_filter((32768, 32768), 301, memory=2e8, **HOW)
    assert [cut.axis for cut in some.cuts] == ["y"] and 2 < crossed(some, 4 * 32768**2) < 4
    few = fp.plan_maximum_filter((32768, 32768), 301, memory=1e8, **HOW)
    assert [cut.axis for cut in few.cuts] == ["y", "x"] and crossed(few, 4 * 32768**2) < 2


def test_the_least_memory_is_that_of_a_pixel_and_those_beside_it():
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_gaussian_filter((32768, 32768), 100, memory=1, **HOW)
    plan = fp.plan_gaussian_filter((32768, 32768), 100, memory=caught.value.smallest, **HOW)
    assert plan.footprint.total <= caught.value.smallest < 22e6
    with pytest.raises(fp.BudgetError):
        fp.plan_gaussian_filter((32768, 32768), 100, memory=caught.value.smallest - 1000, **HOW)


def test_larger_parts_are_tried_where_few_rows_are_little_beside_their_neighbours():
    """Parts of a GiB have 32 planes of 2048 x 2048 in and out, and 16 beside them."""
    plan = fp.plan_gaussian_filter((2048, 2048, 2048), 2, **HOW)
    assert crossed(plan, 4 * 2048**3) < 1.2
