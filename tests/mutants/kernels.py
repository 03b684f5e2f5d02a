"""Faults in the arithmetic of the CPU's kernels and of what they share."""

from tests.mutants import Mutant

BACKEND = "tests/backend/test_"
INDEX = ("tests/property/test_convolve.py::test_source_index_is_numpys",)
BOUNDS = (BACKEND + "sigma_clip.py::test_pixels_on_a_bound_stay_where_that_counts_as_inside",)
BORDERS, CLIP, PAD, LINES, SOURCES = (
    f"footprint/kernels/{n}.py" for n in ("common/borders", "sigma_clip/cpu", "pad/cpu", "flatfield/cpu", "find_sources/cpu")
)

KERNELS = [
    Mutant(BORDERS, "return i if i < n else 2 * n - 1 - i", "return i if i < n else 2 * n - 2 - i", INDEX, "reflect is mirror"),
    Mutant(BORDERS, "return i if i < n else 2 * n - 2 - i", "return i if i < n else 2 * n - 1 - i", INDEX, "mirror is reflect"),
    Mutant(BORDERS, "return 0 if i < 0 else n - 1", "return 0", INDEX, "nearest is the first"),
    Mutant(BORDERS, "        return i % n\n", "        return -1\n", INDEX, "wrap is constant"),
    Mutant(BORDERS, '"symmetric": "reflect"', '"symmetric": "mirror"', (BACKEND + "convolve.py::test_names_of_borders",)),
    Mutant(
        "footprint/kernels/threshold/cpu.py",
        "(v - background > level)",
        "(v - background >= level)",
        (BACKEND + "threshold.py::test_what_is_not_finite_is_not_marked_and_equal_is_not_over",),
    ),
    Mutant(
        "footprint/kernels/threshold/cpu.py",
        "& (v < np.inf)",
        "& (v <= np.inf)",
        (BACKEND + "threshold.py::test_what_is_not_finite_is_not_marked_and_equal_is_not_over",),
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "flat, reach = labels.reshape(-1), int(connectivity == 8)",
        "flat, reach = labels.reshape(-1), 0",
        (BACKEND + "label.py::test_shapes_that_join_late",),
        "connectivity 8 is 4",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "for y in range(rows, mask.shape[0], rows):",
        "for y in range(rows, mask.shape[0], 2 * rows):",
        (BACKEND + "label.py::test_more_rows_than_bands",),
        "every other band is joined",
    ),
    Mutant(
        "footprint/kernels/label/cpu.py",
        "if x + 1 < width and above[x + 1] and not row[x + 1]:",
        "if x + 1 < width and above[x + 1] and row[x + 1]:",
        (BACKEND + "label.py::test_shapes_and_densities",),
        "no joins to the upper right",
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
        "footprint/kernels/measure/cpu.py",
        "    _measure(image, labels, first, 0.0, moments, boxes)",
        "    _measure(image, labels, 0, 0.0, moments, boxes)",
        ("tests/property/test_sources_by_parts.py::test_measured_in_parts_to_the_same_bits",),
        "every part is measured as the first",
    ),
    Mutant(
        "footprint/kernels/measure/cpu.py",
        "if 0 < k <= n:",
        "if 0 < k < n:",
        (BACKEND + "measure.py::test_of_equal_peaks_the_first_in_raster_order_counts",),
        "the last label is not measured",
    ),
    Mutant(
        "footprint/kernels/measure/cpu.py",
        "gather(row, first, x - 1, y + r, background,",
        "gather(row, first, x - 1, y + r + 1, background,",
        (BACKEND + "measure.py::test_of_equal_peaks_the_first_in_raster_order_counts",),
    ),
    Mutant(
        SOURCES,
        "        if value > peak:\n",
        "        if value >= peak:\n",
        (
            BACKEND + "find_sources.py::test_of_equal_peaks_in_joined_arms_the_first_in_raster_order_counts",
            BACKEND + "find_sources.py::test_dtypes",
        ),
        "of tied peaks of a run the last",
    ),
    Mutant(
        SOURCES,
        "moments[k, PEAK] == moments[root, PEAK] and sooner)",
        "moments[k, PEAK] == moments[root, PEAK] and not sooner)",
        (BACKEND + "find_sources.py::test_of_equal_peaks_in_joined_arms_the_first_in_raster_order_counts",),
        "of tied peaks of an island the later",
    ),
    Mutant(
        SOURCES,
        "keep = boxes[k, PIXELS] >= min_area",
        "keep = boxes[k, PIXELS] > min_area",
        (BACKEND + "find_sources.py::test_options",),
    ),
    Mutant(
        CLIP,
        "0.0 if zero else stats[MEDIAN]",
        "stats[MEDIAN]",
        (BACKEND + "find_sources.py::test_options",),
        "the lesson's background",
    ),
    Mutant(
        CLIP,
        "-first_above(-numbers[BOUND_HI], dtype, strict)",
        "-first_above(-numbers[BOUND_HI], dtype)",
        BOUNDS,
        "strict=False's upper bound in passes",
    ),
    Mutant(CLIP, "return first_above(numbers[BOUND_LO], dtype, strict),", "return first_above(numbers[BOUND_LO], dtype),", BOUNDS),
    Mutant(
        "footprint/kernels/sigma_clip/clip_loops.py",
        "(strict and kept[next_b - 1] == high)",
        "kept[next_b - 1] == high",
        BOUNDS,
        "strict=False's upper bound among what was kept",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/clip_loops.py",
        "median = low_value + (high_value - low_value) * 0.5",
        "median = high_value",
        (BACKEND + "sigma_clip.py::test_shapes",),
        "median of an even number",
    ),
    Mutant(
        CLIP,
        "if marks[TURNS] == maxiters:",
        "if marks[TURNS] > maxiters:",
        (BACKEND + "sigma_clip.py::test_counting_keeps_to_maxiters",),
    ),
    Mutant(
        "footprint/kernels/vertical_shift/cpu.py",
        "z = k if shift >= 0 else height - 1 - k",
        "z = k",
        (BACKEND + "vertical_shift.py::test_in_place_is_out_of_place",),
        "rows overwritten before they are read",
    ),
    Mutant(
        "footprint/kernels/vertical_shift/cpu.py",
        "far = -1 <= z < height - 1 and f != 0",
        "far = 0 <= z < height - 1 and f != 0",
        (BACKEND + "vertical_shift.py::test_stacks",),
        "half a row beyond the border",
    ),
    Mutant(
        "footprint/kernels/vertical_shift/cpu.py",
        "< height - 1 and f != 0",
        "< height - 1",
        (BACKEND + "vertical_shift.py::test_whole_shifts_move_nan_and_nothing_else",),
        "a row with weight 0 is read",
    ),
    Mutant(
        "footprint/kernels/muladd/cpu.py",
        "s0 = dst_start[2] + first * dst_step[2], other_start[2] + first * other_step[2]",
        "s0 = dst_start[2] + first * dst_step[2], other_start[2] + first * dst_step[2]",
        (BACKEND + "muladd.py::test_long_rows_with_steps_of_their_own",),
        "offset of a strided block",
    ),
    Mutant(
        "footprint/kernels/muladd/cpu.py",
        "    if a == 0:\n",
        "    if a == 0 and b == 0:\n",
        (BACKEND + "muladd.py::test_zero_overwrites_nan_and_other_factors_keep_it",),
    ),
    Mutant(
        PAD, "return 0.5 * (float(lower) + upper)", "return upper", (BACKEND + "pad.py::test_modes",), "median of an even number"
    ),
    Mutant(PAD, "np.rint(value) if integer else value", "value", (BACKEND + "pad.py::test_dtypes",), "means of integers are cut"),
    Mutant(PAD, "rises = turn if turned else turn + 1", "rises = turn", (BACKEND + "pad.py::test_odd_reflections",)),
    Mutant(
        PAD,
        "start, stop = (lo, lo + left) if side == 0",
        "start, stop = (lo, hi) if side == 0",
        (BACKEND + "pad.py::test_values_and_lengths_a_side",),
    ),
    Mutant(
        PAD,
        "width, far = (lo, k) if k < lo else (n - hi, n - 1 - k)",
        "width, far = (lo, k) if k < lo else (n - hi, k - hi)",
        (BACKEND + "pad.py::test_modes",),
    ),
    Mutant(
        LINES,
        "(np.float32(i - x + 1) / np.float32(end - x + 1))",
        "(np.float32(i - x) / np.float32(end - x + 1))",
        (BACKEND + "flatfield.py::test_dead_pixels_take_their_neighbours_values",),
    ),
    Mutant(
        LINES,
        "(_ONE - weight) * near[x] + weight * far[x]",
        "weight * near[x] + (_ONE - weight) * far[x]",
        (BACKEND + "flatfield.py::test_lines",),
        "flats weighed the wrong way round",
    ),
    Mutant(
        LINES, "if x < border or x >= n - border:", "if x < border or x > n - border:", (BACKEND + "flatfield.py::test_border",)
    ),
    Mutant(
        LINES,
        "row, f = z + z0 + whole[a], fraction[a]",
        "row, f = z + whole[a], fraction[a]",
        (BACKEND + "flatfield.py::test_shift",),
    ),
    Mutant(
        "footprint/kernels/ramp_filter/cpu.py",
        "return j if j < n else (period - j if mode == 2 else period - 1 - j)",
        "return j if j < n else period - 1 - j",
        (BACKEND + "fbp.py::test_rows_are_filtered",),
        "reflect is symmetric",
    ),
    Mutant(
        "footprint/kernels/ramp_filter/cpu.py",
        "before = (width - n) // 2",
        "before = (width - n) // 2 + 1",
        (BACKEND + "fbp.py::test_rows_are_filtered",),
    ),
    Mutant(
        "footprint/kernels/rotation_axis/cpu.py",
        "x0, x1 = max(0, m - n_x + 1), min(n_x - 1, m) + 1",
        "x0, x1 = max(0, m - n_x + 1), min(n_x - 1, m)",
        (BACKEND + "rotation_axis.py::test_correlations",),
    ),
    Mutant(
        "footprint/kernels/slices/cpu.py",
        "math.floor(cx + half) + 1",
        "math.floor(cx + half)",
        (BACKEND + "fbp.py::test_the_circle_has_the_pixels_within_its_radius",),
    ),
    Mutant(
        "footprint/kernels/backproject/cpu.py",
        "weight = np.float32(table[a, 3])",
        "weight = np.float32(table[0, 3])",
        (BACKEND + "fbp.py::test_backprojection",),
        "one angle's weight for all",
    ),
    Mutant(
        "footprint/kernels/backproject/cpu.py",
        "corner = table[a, 2] + x0 * cos + y0 * nsin",
        "corner = table[a, 2] + x0 * cos",
        (BACKEND + "fbp.py::test_backprojection",),
        "every row of tiles is the first",
    ),
    Mutant(
        "footprint/kernels/fourier/cpu.py",
        "(1.0 if f == 0 or f == n_f - 1 else 2.0)",
        "(1.0 if f == 0 else 2.0)",
        (BACKEND + "fbp.py::test_fourier_equals_the_plain_sum",),
        "the highest frequency counts twice",
    ),
]
