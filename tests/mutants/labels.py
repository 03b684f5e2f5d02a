"""Faults in labels."""

from tests.mutants import Mutant

BACKEND = "tests/backend/test_"

MUTANTS = [
    Mutant(
        "footprint/kernels/label/label.knl",
        "for (i32 side = -REACH; side <= REACH; side++)",
        "for (i32 side = 0; side <= REACH; side++)",
        (BACKEND + "label.py::test_in_parts_of_rows_numbers_are_those_of_the_whole",),
        "parts do not meet at corners on one side",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/label/label.knl",
        "if (table[k] == k + 1) table[k] = -++number;",
        "if (table[k] == k + 1) table[k] = -(i32)k - 1;",
        (BACKEND + "label.py::test_in_parts_of_rows_numbers_are_those_of_the_whole",),
        "numbers have gaps",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/label/label.knl",
        "labels[i] = table[met[1] + labels[i] - 1];",
        "labels[i] = table[labels[i] - 1];",
        (BACKEND + "label.py::test_in_parts_of_rows_numbers_are_those_of_the_whole",),
        "every part takes the first one's numbers",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "mask.reshape(-1), int(connectivity == 8)\n    if few",
        "mask.reshape(-1), 0\n    if few",
        (BACKEND + "label.py::test_shapes_that_join_late",),
        "connectivity 8 is 4",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "for y in range(rows, height, rows):",
        "for y in range(rows, height, 2 * rows):",
        (BACKEND + "label.py::test_more_rows_than_bands",),
        "every other band is joined",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "& ~up & ((up >> _ONE) | (up_next << _HIGHEST))",
        "& ~up & (up >> _ONE)",
        (BACKEND + "label.py::test_runs_that_cross_from_word_to_word",),
        "no joins to the upper right from word to word",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "meet = starts(here & up, here_before & up_before)",
        "meet = starts(here & up, here_before | up_before)",
        (BACKEND + "label.py::test_runs_that_cross_from_word_to_word",),
        "runs that meet where a word begins are not joined",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "if up_begin:\n            up_run",
        "if here_begin and up_begin:\n            up_run",
        (BACKEND + "label.py::test_runs_that_cross_from_word_to_word",),
        "where a run above began is forgotten",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "    if first:\n        _join_seam",
        "    if False:\n        _join_seam",
        ("tests/property/test_sources_by_parts.py::test_what_joins_late_joins_over_parts",),
        "parts are not joined",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "range(max(x - reach, 0), min(x + reach, width - 1) + 1)",
        "range(x, x + 1)",
        ("tests/property/test_sources_by_parts.py::test_what_joins_late_joins_over_parts",),
        "corners do not join over parts",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "    met[1] += found",
        "    met[1] = found",
        ("tests/property/test_sources_by_parts.py::test_what_joins_late_joins_over_parts",),
        "a part is painted with the numbers of another",
    ),
    Mutant(
        "footprint/kernels/local_sources/cpu.py",
        "        if before or this or after:",
        "        if this or after:",
        ("tests/backend/test_local_sources.py::test_few_islands_about_the_ends_of_stretches",),
        "a row is not told from its level right of a stretch that holds something",
    ),
    Mutant(
        "footprint/kernels/local_sources/cpu.py",
        "        if before or this or after:",
        "        if before or this:",
        ("tests/backend/test_local_sources.py::test_few_islands_about_the_ends_of_stretches",),
        "a row is not told from its level left of a stretch that holds something",
    ),
    Mutant(
        "footprint/kernels/local_sources/cpu.py",
        "flags[max(r - 1, 0)], flags[r], flags[min",
        "flags[r], flags[r], flags[min",
        ("tests/backend/test_local_sources.py::test_few_islands_about_the_ends_of_stretches",),
        "a row is not told from its level below a peak",
    ),
    Mutant(
        "footprint/kernels/local_sources/cpu.py",
        "flags[min(r + 1, flags.shape[0] - 1)]",
        "flags[r]",
        ("tests/backend/test_local_sources.py::test_few_islands_about_the_ends_of_stretches",),
        "a row is not told from its level above a peak",
    ),
    Mutant(
        "footprint/kernels/local_sources/cpu.py",
        "flags, r, r == 0 or last, flat, tested)",
        "flags, r, False, flat, tested)",
        ("tests/backend/test_local_sources.py::test_few_islands_about_the_ends_of_stretches",),
        "a row is not told from its level for peaks of another part",
    ),
]
