"""Faults in sums by products of matrices of halves."""

from tests.mutants import Mutant

_HERE = "tests/backend/test_gpu_matrix.py::test_"
_RUN = "tests/null/test_emulated_matrix.py::test_"
_TRUE, _BYTES = (f"{_RUN}sums_are_those_of_float64[{case}]" for case in ("most weights", "bytes"))
_TEXT, _CONTRACT, _GPU = (f"footprint/kernels/matrix/{name}" for name in ("matrix.cuda.knl", "contract.py", "gpu.py"))

MUTANTS = [
    Mutant(
        _CONTRACT,
        "row[AHEAD + shift_of(halves.size) :][: halves.size]",
        "row[AHEAD :][: halves.size]",
        (_HERE + "tables_hold_all_bits_of_weights[41]",),
        "weights lie where numbers begin that are read sooner",
    ),
    Mutant(
        _CONTRACT,
        "% EVEN + -results_of(taps) % SIDE",
        "% EVEN",
        (_HERE + "lines_are_read_from_even_places_which_costs_no_results", _TRUE),
        "results that units leave out have weights",
    ),
    Mutant(
        _CONTRACT,
        "neighbours((exact - first.astype(np.float64))",
        "neighbours((exact - first.astype(np.float64) * 0)",
        (_HERE + "tables_hold_all_bits_of_weights[41]",),
        "the second half of a weight is the first",
    ),
    Mutant(
        _CONTRACT,
        "return -power_of(wide) - more, more - power_of(tall)",
        "return -power_of(wide), -power_of(tall)",
        (_HERE + "sums_stay_within_what_halves_hold",),
        "sums of many weights are larger than halves",
    ),
    Mutant(
        _CONTRACT,
        "image.size == 0 or not limits.halves or",
        "image.size == 0 or",
        (_HERE + "it_is_taken_where_direct_sums_are_longer",),
        "devices without matrix units are asked for them",
    ),
    Mutant(_TEXT, "(STEPS - 1) * SIDE);", "STEPS * SIDE);", (_TRUE,), "results are summed with the weights of others"),
    Mutant(_TEXT, "if (c < PIECES) BEGIN", "BEGIN", (_TRUE,), "weights are read behind the last ones"),
    Mutant(_TEXT, "FOUR_OF(from[h] + x + 16 * s, next)", "FOUR_OF(from[h] + x, next)", (_TRUE,), "half of a step is read twice"),
    Mutant(_TEXT, "large[s], WEIGHTS(c, s, 0)", "large[s], WEIGHTS(c, 0, 0)", (_TRUE,), "halves of a step have the same weights"),
    Mutant(_TEXT, "back[k / 2 % 2]", "back[0]", (_TRUE,), "lines beside each other have one scale"),
    Mutant(
        _TEXT, "for (int k = 1; k < 4; k *= 2)", "for (int k = 1; k < 2; k *= 2)", (_TRUE,), "half of the numbers set their scale"
    ),
    Mutant(_TEXT, "4 * t + m, (int)length", "4 * t, (int)length", (_TRUE,), "of a step at an edge other numbers are read"),
    Mutant(
        _TEXT,
        "WEIGHTS(c, s, 1), COLUMNS(c), s)",
        "WEIGHTS(c, s, 0), COLUMNS(c), s)",
        (_BYTES,),
        "what halves lack of weights is the halves",
    ),
    Mutant(
        _TEXT,
        "    odd[0] = 1; \\\n",
        "",
        (_RUN + "what_is_not_finite_counts_as_nothing_and_is_told_of",),
        "what is not finite is never told of",
    ),
    Mutant(
        _GPU,
        "(first_y, first_x)[axis] % SIDE",
        "0",
        (_RUN + "a_part_has_the_bits_of_the_whole",),
        "parts have matrices of their own",
    ),
    Mutant(
        _GPU,
        "powers[1 - axis]",
        "powers[axis]",
        (_RUN + "sums_across_may_be_larger_than_any_number",),
        "sums across are multiplied by what those down are",
    ),
]
