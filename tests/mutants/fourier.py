"""Faults of the Fourier method."""

from __future__ import annotations

from tests.mutants import Mutant

TESTS = "tests/backend/test_fourier.py::"

MUTANTS = [
    Mutant(
        "footprint/ops/fourier.py",
        "if _PART * n < self.seen:",
        "if False:",
        (TESTS + "test_an_axis_outside_the_detector",),
        "a slice about an axis off the detector sees what is beside it",
    ),
    Mutant(
        "footprint/ops/fourier.py",
        "return self.taps.sigma * _FAR_BESIDE",
        "return self.taps.sigma",
        (TESTS + "test_a_tile_or_region_is_as_near_to_the_plain_sum_as_the_whole",),
        "a tile sees the object beside it",
    ),
    Mutant(
        "footprint/ops/fourier.py",
        "gains[[0, -1]] /= 2",
        "gains[0] /= 2",
        (TESTS + "test_accuracy_is_what_it_says_on_noise",),
        "the highest frequency counts twice",
    ),
    Mutant(
        "footprint/kernels/fourier/cpu.py",
        "for strip in range(2 * thread + colour, strips, 2 * threads)",
        "for strip in range(thread, strips, threads)",
        (TESTS + "test_equals_the_plain_sum",),
        "strips are spread twice",
    ),
    Mutant(
        "footprint/kernels/fourier/cpu.py",
        "if colour == 0 and not accumulate:",
        "if colour == 1 and not accumulate:",
        (TESTS + "test_equals_the_plain_sum",),
        "strips are cleared when others have written to them",
    ),
    Mutant(
        "footprint/kernels/fourier/cpu_spread.py",
        "2 * ((column + i) % cells)",
        "2 * min(column + i, cells - 1)",
        (TESTS + "test_accuracy_is_what_it_says_on_noise",),
        "cells beyond the highest frequency do not wrap",
    ),
    Mutant(
        "footprint/kernels/fourier/cpu.py",
        "    for j in range(1, MARGIN):",
        "    for j in range(2, MARGIN):",
        (TESTS + "test_accuracy_is_what_it_says_on_noise",),
        "one row beyond the half-plane is forgotten",
    ),
    Mutant(
        "footprint/kernels/fourier/fourier.knl",
        "const i32 images = v < beside - top || v >= top - beside ? 2 : 1;",
        "const i32 images = 1;",
        (TESTS + "test_accuracy_is_what_it_says_on_noise",),
        "a device forgets what wraps",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/fourier/fourier.knl",
        "*last = begins[bin_of(middle + wide, bins) + 1];",
        "*last = begins[bin_of(middle + wide, bins)];",
        (TESTS + "test_angles_that_crowd",),
        "the last bin of directions is left out",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/fourier/fourier.knl",
        "if (lane < other) {",
        "if (lane < other / 2) {",
        (TESTS + "test_accuracy_is_what_it_says_on_noise",),
        "about the origin a half of the group is not summed",
        devices="opencl",
    ),
    Mutant(
        "footprint/ops/fourier.py",
        "cos, nsin = self.geometry.table().T[:2]",
        "cos, nsin = np.abs(self.geometry.table().T[:2])",
        (TESTS + "test_equals_the_plain_sum",),
        "angles have no direction",
    ),
    Mutant(
        "footprint/ops/fourier.py",
        "np.arange(len(cos)) // together",
        "np.arange(len(cos)) // len(cos)",
        (TESTS + "test_groups_of_angles_and_tiles_equal_the_whole",),
        "a group has the directions of angles of others",
    ),
    Mutant(
        "footprint/plan/fit.py",
        "self.tried.shape(self.fewer(found, rung), rung)",
        "self.tried.shape(found, rung)",
        ("tests/null/test_planning.py::test_tiles_are_summed_in_groups_as_large_as_the_budget_has_room_for",),
        "tiles are summed from the smallest groups there are",
    ),
    Mutant(
        "footprint/plan/steps.py",
        "rows, copies, ends)",
        "rows, copies)",
        ("tests/property/test_plan_poison.py::test_poison",),
        "all parts of a sum take the first one's steps",
    ),
]
