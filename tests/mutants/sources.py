"""Faults in what takes sources apart and fits them."""

from tests.mutants import Mutant

BACKEND = "tests/backend/test_"

SOURCES = [
    Mutant(
        "footprint/kernels/deblend/cpu.py",
        "if best < v <= largest:\n            best, way = v, 5",
        "if best <= v <= largest:\n            best, way = v, 5",
        (BACKEND + "deblend.py::test_equals_the_sorted_list_of_pixels",),
        "of equal neighbours not the first",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/cpu.py",
        "if way < 3 and basins[k, AT] == y * width + x:",
        "if way < 3:",
        (BACKEND + "deblend.py::test_strips_change_nothing",),
        "a basin is linked where another's pixel climbs",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/cpu.py",
        "most < row[x + d] <= largest",
        "most <= row[x + d] <= largest",
        (BACKEND + "deblend.py::test_strips_change_nothing",),
        "across a strip, of equal values the later",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/tree.py",
        "contrast * (peaks[elder] - background)",
        "contrast * (peaks[younger] - background)",
        (BACKEND + "deblend.py::test_contrast_goes_by_the_higher_summit",),
        "contrast goes by the summit that ends",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/tree.py",
        "keys[e] = a != b",
        "keys[e] = a == b",
        (BACKEND + "deblend.py::test_parts_change_no_bit",),
        "passes of a cycle are kept, the forest is lost",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/tree.py",
        "height == near_heights[h] and code < near[h, CODE]",
        "height == near_heights[h] and code > near[h, CODE]",
        (BACKEND + "deblend.py::test_equals_the_sorted_list_of_pixels",),
        "of equal passes of two basins the later",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/fit/cpu.py",
        "if c > 1e-4:",
        "if c > 0.9999:",
        (BACKEND + "fit.py::test_equals_scipys_least_squares",),
        "errors as if pixels were independent",
        plain=True,
    ),
]
