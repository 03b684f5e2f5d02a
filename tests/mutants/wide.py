"""Faults in wide Gaussians."""

from tests.mutants import Mutant

_GROUPS = "tests/null/test_coarse_groups.py::test_"
_UNITS = "tests/null/test_emulated_units.py::test_"
_SUMS = _UNITS + "units_sum_wide_gaussians"
_BOTH, _BACK = (f"footprint/kernels/coarse/coarse_{name}.cuda.knl" for name in ("both", "units"))
_CPU, _ODD, _STRIPS = (f"footprint/kernels/coarse/{name}.py" for name in ("cpu", "cpu_odd", "strips"))
_HERE = "tests/backend/test_wide_gaussians.py::test_"
_TRUE = _HERE + "it_is_the_gaussian_that_direct_sums_make[constant-reflect]"
_LEAK = _HERE + "light_beyond_the_weights_does_not_leak_in[40.0]"
_PARTS = _HERE + "parts_in_tiles_have_the_bits_of_the_whole"
_REACH = _HERE + "what_is_not_finite_goes_as_far_as_the_weights"

MUTANTS = [
    Mutant(
        _CPU,
        "for r in range(j, min(j + ROWS, step)):",
        "for r in range(j, min(j + ROWS - 1, step)):",
        (_HERE + "gaussians_of_any_width[77.7]",),
        "a step that is several chains lacks the last row of one",
    ),
    Mutant(_CPU, "_tame(own, 0, n * STRIP)", "_tame(own, 0, 0)", (_REACH + "[one-reflect]",), "NaN goes as far as coarse rows do"),
    Mutant(
        _CPU,
        "_tame(lines, at, (end - x) * LANES)",
        "_tame(lines, at, 0)",
        (_REACH + "[one-reflect]",),
        "NaN goes as far as coarse columns do",
    ),
    Mutant(_CPU, "places[ODD] = int(odd)", "places[ODD] = 0", (_REACH + "[one-reflect]",), "NaN counts as 0 and is forgotten"),
    Mutant(
        _CPU,
        "stride, first_y % step, first_x % stride)",
        "stride, 0, first_x % stride)",
        (_PARTS,),
        "parts have coarse rows of their own",
    ),
    Mutant(
        _CPU,
        "stride, first_y % step, first_x % stride)",
        "stride, first_y % step, 0)",
        (_PARTS,),
        "parts have coarse columns of their own",
    ),
    Mutant(
        _CPU,
        "own[(v * taps + x // stride - first + q) * LANES + k]",
        "own[(v * taps + q) * LANES + k]",
        (_LEAK,),
        "all of a vector's results have its first one's coarse columns",
    ),
    Mutant(_CPU, "= -drop[", "= drop[", (_TRUE,), "what lies beyond the ends of a wide Gaussian is added"),
    Mutant(
        _CPU,
        "y0 + reaches[0] + 1, codes[0]",
        "y0 + reaches[0], codes[0]",
        (_LEAK,),
        "the last weight is taken to lie beyond the ends",
    ),
    Mutant(
        _CPU,
        "y = source_index(top + block * step + r, height, code_y)",
        "y = min(max(top + block * step + r, 0), height - 1)",
        (_TRUE, _HERE + "it_is_the_gaussian_that_direct_sums_make[normal-wrap]"),
        "every border is the nearest pixel",
    ),
    Mutant(
        _ODD,
        "if marks[k] == PLUS:",
        "if marks[k] & PLUS:",
        (_REACH + "[signs-reflect]",),
        "infinities of both signs make one",
    ),
    Mutant(
        _ODD,
        "first = max(first - reach + 1, 0)",
        "first = max(first - reach + 2, 0)",
        (_REACH + "[one-reflect]",),
        "the first row that sees NaN does not",
    ),
    Mutant(
        _ODD,
        "more = min(seen, reach - seen)",
        "more = seen",
        (_REACH + "[few-reflect]",),
        "what is not finite goes farther down than the weights",
    ),
    Mutant(
        _STRIPS,
        "return (LANES - 2) // stride + 1",
        "return 1",
        (_PARTS,),
        "a vector's last results lack a coarse column",
    ),
    Mutant(
        "footprint/kernels/coarse/contract.py",
        "steps[0], steps[1], steps[0] - 1, steps[1] - 1)",
        "steps[0], steps[1], 0, 0)",
        (_HERE + "no_part_needs_more_than_the_largest_at_its_worst_place",),
        "a part that begins elsewhere writes past its workspace",
    ),
    Mutant(
        "footprint/kernels/coarse/contract.py",
        "return max((self.way.tall + 1) * self.step, (self.way.beside(self.stride) + 1) * self.stride, self.far + 1)",
        "return self.reach",
        (_HERE + "parts_have_the_bits_of_the_whole[0.6-reflect]",),
        "parts lack what coarse rows come from",
    ),
    Mutant(
        "footprint/ops/coarse.py",
        'limits.family == "cpu":\n            return Cost(2',
        'limits.family == "core":\n            return Cost(2',
        (_HERE + "it_is_taken_where_it_is_quicker",),
        "a processor is thought to take as long as a GPU's work does",
    ),
    Mutant(
        "footprint/ops/coarse.py",
        "if tall.way != way_of(b.limits):",
        "if False:",
        (_HERE + "what_was_chosen_for_another_device_is_summed_directly",),
        "a GPU is handed a processor's tables",
    ),
    Mutant(
        "footprint/kernels/coarse/grid.py",
        "around = min((self.way.places + self.taps) * self.stride + more, 2 * self.near)",
        "around = 0",
        (_GROUPS + "no_part_leaves_more_than_the_largest_at_its_worst_place[units]",),
        "groups of units write past their workspace in a part that has a border on both sides",
    ),
    Mutant(
        "footprint/kernels/coarse/grid.py",
        "return max((begin - self.top) // block, 0)",
        "return max((begin - self.top) // block + 1, 0)",
        (_GROUPS + "no_block_is_gathered_of_which_nothing_counts",),
        "rows just above an image, which its border makes, are not gathered",
    ),
    Mutant(
        _BACK,
        "(has_one ? first_sum : 0) + ",
        "first_sum + ",
        (_SUMS + "[reflected]",),
        "what a block that is not gathered would have left is counted",
    ),
    Mutant(
        "footprint/kernels/coarse/units.py",
        "before = max(-(-grid.top // block), 0)",
        "before = 0",
        (_GROUPS + "rows_that_no_result_comes_from_are_gathered_across",),
        "rows above those that coarse rows come from have no coarse columns",
    ),
    Mutant(
        "footprint/kernels/coarse/ways.py",
        "return 8 if self.units and self.tiles(stride, 8) < self.tiles(stride, 9) else 9",
        "return 6 if self.units else 9",
        (_GROUPS + "six_coarse_columns_make_a_gaussian[50.0]",),
        "coarse columns end too soon",
    ),
    Mutant(
        _BACK,
        "multiply(small[e], most, low[d][e][0], low[d][e][1]);",
        "",
        (_SUMS + "[reflected]",),
        "units read 11 bits of coarse rows",
    ),
    Mutant(_BACK, "sum - results[x];", "sum;", (_SUMS + "[reflected]",), "lines have what lies beyond their weights, too"),
    Mutant(
        _BACK,
        "after_other += rest, one += forward, other += forward;",
        "after_other += rest, one += forward, other += forward + 1;",
        (_SUMS + "[wrapped]",),
        "half of the rows take the weights of a coarse row beside theirs",
    ),
    Mutant(
        _BACK,
        "w[t][h] = AS_U32(under[8 * (t - 8) + 4 * h]);",
        "w[t][h] = AS_U32(under[8 * (t - 7) + 4 * h]);",
        (_SUMS + "[reflected]",),
        "what lies beyond the ends down is eight rows off",
    ),
    Mutant(
        _BOTH,
        "#define TURNED(column) (turned ? SIDE - 1 - (column) : (column))",
        "#define TURNED(column) (column)",
        (_SUMS + "[reflected]",),
        "columns beyond a border that reflects are taken from the wrong side",
    ),
    Mutant(_BOTH, "0x4240 + 0x101 * digit", "0x4240", (_SUMS + "[wrapped]",), "numbers of 16 bits are two of their low digits"),
    Mutant(
        _BOTH,
        "top ? 0xe480e480u : 0xe400e400u",
        "0xe400e400u",
        (_SUMS + "[wrapped]",),
        "numbers with a sign are 128 too large beyond the ends of the weights",
    ),
    Mutant(
        "footprint/kernels/coarse/pairs.py",
        "return np.stack((high, eleven(values - high)))",
        "return np.stack((high, eleven(values - values)))",
        (_SUMS + "[reflected]", _GROUPS + "numbers_of_units_are_halves_of_what_they_stand_for"),
        "units read 11 bits of weights",
    ),
    Mutant(
        "footprint/kernels/coarse/gpu.py",
        "first_x % steps[-1]",
        "0",
        (_UNITS + "a_part_has_the_bits_of_the_whole",),
        "coarse points of lines lie where a part begins",
    ),
]
