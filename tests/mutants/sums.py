"""Faults in sums along the axes of images, signals and stacks, on the CPU."""

from tests.mutants import Mutant

BACKEND = "tests/backend/test_"

MUTANTS = [
    Mutant(
        "footprint/kernels/separable/cpu_crowd.py",
        "column * lanes if column >= 0 else -1",
        "column * lanes if column >= 0 else 0",
        (BACKEND + "short_sums.py::test_small_planes_of_a_stack_have_the_bits_of_each_alone",),
        "beyond a row lies its first pixel",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu_tall.py",
        "range(r + 1, ROWS)",
        "range(r, ROWS)",
        (BACKEND + "long_sums.py::test_columns_of_every_height_are_summed_under_every_border",),
        "the end of a chain goes beyond its weights",
    ),
]
