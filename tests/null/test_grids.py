"""No launch has more groups than a device starts, however long an image is along any axis: such a plan would fail when it runs."""

from __future__ import annotations

import pytest

import footprint as fp
from footprint.kernels.common.launch import MAX_GROUPS_Y, Launch

PLANES = ((8_400_000, 4), (8_400_000, 300), (70_000_000, 4), (300, 8_400_000), (1, 600_000_000))
VOLUMES = ((70_000, 64, 64), (2, 9_000_000, 8), (9_000_000, 8, 8))


def of_size(verb, *args):
    return lambda shape, **how: verb(shape, *args, **how)


def masked(*sides):
    return lambda shape, **how: fp.plan_convolve(shape, sides[-len(shape) :], **how)


STACKS = ((1_000_000, 8, 64), (70_000, 64), (8, 70_000, 64), (5_000_000, 64))
VERBS = {
    "fbp": fp.plan_fbp,
    "ramp_filter": fp.plan_ramp_filter,
    "convolve small": masked(3, 3, 3),
    "convolve": masked(5, 13, 13),
    "convolve large": masked(9, 63, 63),
    "convolve down": lambda shape, **how: fp.plan_convolve(shape, (101, *(1 for _ in shape[1:])), **how),
    "convolve across": lambda shape, **how: fp.plan_convolve(shape, (*(1 for _ in shape[1:]), 101), **how),
    "gaussian": of_size(fp.plan_gaussian_filter, 2),
    "gaussian wide": of_size(fp.plan_gaussian_filter, 21),
    "uniform": of_size(fp.plan_uniform_filter, 5),
    "uniform wide": of_size(fp.plan_uniform_filter, 31),
    "sobel": fp.plan_sobel,
    "laplace": fp.plan_laplace,
    "pad": of_size(fp.plan_pad, 3, "reflect"),
    "threshold": fp.plan_threshold,
    "median": lambda shape, **how: fp.plan_median_filter(shape, (1, 3, 3)[-len(shape) :], **how),
    "minimum wide": lambda shape, **how: fp.plan_minimum_filter(shape, (1, 31, 31)[-len(shape) :], **how),
    "label": fp.plan_label,
    "sigma_clip": fp.plan_sigma_clip,
    "find_sources": fp.plan_find_sources,
    "find_sources on a mesh": lambda shape, **how: fp.plan_find_sources(shape, background="mesh", deblend=True, **how),
    "background": fp.plan_background,
    "measure": fp.plan_measure,
    "apertures": lambda shape, **how: fp.plan_apertures(shape, 8_400_000, **how),
    "remove_stripes": fp.plan_remove_stripes,
    "remove_zingers": of_size(fp.plan_remove_zingers, 1.0),
    "untilt": of_size(fp.plan_untilt, 1.0),
}
SHAPES = {"fbp": STACKS, "ramp_filter": STACKS, "remove_stripes": VOLUMES, "remove_zingers": VOLUMES, "untilt": VOLUMES}
SHAPES |= dict.fromkeys(("label", "find_sources", "find_sources on a mesh", "background", "measure", "apertures"), PLANES)


@pytest.mark.parametrize("verb", VERBS)
def test_launches_have_no_more_groups_than_a_device_starts(monkeypatch, verb):
    made, begin = [], Launch.__init__

    def kept(launch, *args, **named):
        begin(launch, *args, **named)
        made.append((launch.entry, launch.grid, shape))

    monkeypatch.setattr(Launch, "__init__", kept)
    for shape in SHAPES.get(verb, (*PLANES, *VOLUMES)):
        VERBS[verb](shape, device="null:h100")
    assert made
    assert not [one for one in made if one[1][0] >= 1 << 31 or max(one[1][1:]) > MAX_GROUPS_Y]
