"""Faults in the search over maps of background and noise."""

from tests.mutants import Mutant

LOCAL, MESH = "footprint/kernels/local_sources/cpu.py", "footprint/kernels/mesh/cpu.py"
BINS = "footprint/kernels/mesh/bins.py"
HELD, ELSEWHERE = "footprint/kernels/held/cpu.py", "footprint/api/_elsewhere.py"
REFERENCE = ("tests/backend/test_local_sources.py::test_equals_the_reference",)
PARTS = ("tests/backend/test_local_sources.py::test_parts_change_no_bit",)
APART = ("tests/backend/test_local_deblend.py::test_equals_the_sorted_list_of_pixels",)
SQUEEZE = "footprint/kernels/find_sources/squeeze.py"
AGAIN = ("tests/backend/test_squeezed.py::test_rows_are_used_again",)
CELLS = ("tests/backend/test_background.py::test_bins_tell_what_sorted_values_do",)
MAPS = ("tests/backend/test_background.py::test_equals_the_reference",)
SQUARES = ("tests/backend/test_held.py::test_equals_linear_least_squares",)
OTHERS = ("tests/backend/test_held.py::test_found_on_one_and_measured_on_others",)
BY_LABEL = ("tests/backend/test_held.py::test_islands_over_a_mesh_are_measured_on_others",)

MUTANTS = [
    Mutant(LOCAL, "& (spread > 0)", "& (spread >= 0)", REFERENCE, "a noise of 0 is a threshold"),
    Mutant(LOCAL, " or _any(flags[r + 1])", "", REFERENCE, "the row before an island is another's"),
    Mutant(LOCAL, "put(last_row[0], rows[(block.shape[0] - 1) % 2])", "last_row[0] = 0", PARTS, "a part has no row before it"),
    Mutant(
        SQUEEZE,
        "least_peak * moments[k, SPREAD] if",
        "least_peak if",
        REFERENCE,
        "a peak is compared with a number, not with its noise",
    ),
    Mutant(SQUEEZE, "LABEL], WHERE] = 1", "LABEL], WHERE] = half", AGAIN, "what has a run in one of two rows is taken for ended"),
    Mutant(SQUEEZE, "boxes[first, PIXELS] += boxes[k, PIXELS]", "pass", AGAIN, "pieces of an island are lost with their rows"),
    Mutant(
        "footprint/kernels/find_sources/cpu.py",
        "places[met, START] == y * tested.size + first",
        "places[met, START] >= 0",
        AGAIN,
        "a component whose row was used again is painted as the next",
    ),
    Mutant(
        "footprint/kernels/find_sources/cpu.py",
        "_flag(block, least, largest, flags, r, r + 1)",
        "flags[r] = False",
        ("tests/backend/test_find_sources.py::test_one_thread_and_all_find_the_same",),
        "rows that threads share have nothing over the threshold",
    ),
    Mutant(
        "footprint/kernels/find_sources/cpu.py",
        "count[0] += count[0] // (FREED - 1) + 1",
        "count[0] -= count[0] // 2",
        AGAIN,
        "the capacity that is said to do does not",
    ),
    Mutant("footprint/ops/local_sources.py", "which=which", "which=0", REFERENCE, "the noise is the background"),
    Mutant(
        "footprint/ops/local_sources.py",
        'first=b.first(target, "y")',
        "first=0",
        PARTS,
        "every part has the first one's maps",
    ),
    Mutant("footprint/kernels/deblend/cpu.py", "over / noise if noise > 0", "over if noise > 0", APART, "ranks are not in noises"),
    Mutant(
        "footprint/ops/local_sources.py",
        "if again or not b.several else ()",
        "if not again else ()",
        PARTS,
        "maps of another part are kept",
    ),
    Mutant(BINS, "if start <= r < stop:", "if start <= r:", CELLS, "a rank is looked for in the bin of one before it"),
    Mutant(BINS, "(starts[b]) // STEP, -(", "(starts[b + 1]) // STEP, -(", CELLS, "a sum begins after what is under the bound"),
    Mutant(BINS, "if s >= first:", "if s >= 0:", CELLS, "sums have what lies far below, and none of the others' digits"),
    Mutant(MESH, "c2, c3 = bend[k] / 2", "c2, c3 = bend[k] / 3", MAPS, "a spline that does not bend enough"),
    Mutant(MESH, "_curve(smooth[4 * k + part, y]", "_curve(smooth[4 * k, y]", MAPS, "what bends along y is straight along x"),
    Mutant(
        "footprint/api/_search.py",
        "lowest(lower) if chosen else level\n",
        "level\n",
        ("tests/backend/test_source_columns.py::test_the_smallest_area_is_half_of_what_a_point_at_the_threshold_covers",),
        "the smallest area is of a threshold that is not taken",
    ),
    Mutant(
        "footprint/api/_negatives.py",
        '"peak_interp", "filtered_snr")',
        '"filtered_snr")',
        ("tests/backend/test_reliability.py::test_so_many_are_real_at_any_budget",),
        "an interpolated peak of a hole is above the background",
    ),
    Mutant(
        "footprint/kernels/matched/cpu.py",
        "shares[y, x] >= LEAST",
        "shares[y, x] > 0",
        ("tests/backend/test_matched.py::test_finds_what_the_filtered_image_has_and_measures_the_image",),
        "few pixels with data pass for the mean of a beam",
    ),
    Mutant(
        "footprint/ops/matched.py",
        "else first - begins",
        "else 0",
        ("tests/backend/test_matched.py::test_parts_change_no_bit",),
        "a part's holes lie where the rows before it have theirs",
    ),
    Mutant(
        "footprint/kernels/windowed/cpu.py",
        "own[X] + 2 * dx, own[Y] + 2 * dy",
        "own[X] + dx, own[Y] + dy",
        ("tests/backend/test_windowed.py::test_equals_the_reference",),
        "a window goes by once the mean",
    ),
    Mutant(
        "footprint/kernels/windowed/cpu.py",
        "        if first == 0:\n            table[k, LIGHT",
        "        if True:\n            table[k, LIGHT",
        ("tests/backend/test_windowed.py::test_parts_change_no_bit",),
        "a window across parts has the light of the last",
    ),
    Mutant(HELD, "total -= w[3, q] * w[2, q]", "total -= w[2, q]", SQUARES, "neighbours' light is not weighted"),
    Mutant(HELD, "if i == m - 1 else 0.0\n", "if i == 0 else 0.0\n", SQUARES, "the error of a neighbour's height"),
    Mutant(
        "footprint/kernels/held/solver.py", "_less(a, -alpha, eased, a)", "_less(a, 0.0, eased, a)", SQUARES, "half a step is lost"
    ),
    Mutant(
        HELD,
        "total += shares[k, i] * of[near[k, i]]",
        "total = of[k]",
        ("tests/backend/test_held.py::test_places_within_a_pixel_of_each_other_take_few_steps",),
        "what overlaps most is not solved beforehand",
    ),
    Mutant(ELSEWHERE, "change = yy, yx, xx", "change = 0.0, 0.0, 0.0", OTHERS, "shapes are those of another beam"),
    Mutant(HELD, "sums[label - 1, SUM], sums", "sums[k, SUM], sums", BY_LABEL, "sums of another label's pixels"),
    Mutant(
        "footprint/api/_places.py",
        "    if pair is None:",
        "    if pair == ():",
        ("tests/backend/test_held.py::test_bad_places_are_named",),
        "a table without places is looked into",
    ),
    Mutant(
        "footprint/kernels/held/held.knl",
        "total += ease(near, shares, VECTOR(from), j) *",
        "total += VECTOR(from)[j] *",
        ("tests/backend/test_gpu_held.py::test_known_places_equal_the_processors",),
        "neighbours' light is that of heights that are not eased",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/ops/pipeline.py",
        '(name in again or not known[name].axes.strip("."))',
        "name in again",
        ("tests/backend/test_gpu_held.py::test_other_images_equal_the_processors",),
        "tables come before it is known how many rows they have",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/model/model.knl",
        "i64 at = (second ? count[0] : 0) +",
        "i64 at = 0 +",
        ("tests/backend/test_gpu_residual.py::test_what_fits_leave_is_the_processors",),
        "what a second search finds takes the place of what the first did",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/model/model.knl",
        "const f64 y = (f64)(first + i / width)",
        "const f64 y = (f64)(i / width)",
        ("tests/backend/test_gpu_residual.py::test_images_of_fits_in_parts",),
        "fits are drawn on the first part alone",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/deblend/climb.py",
        "                flat[r * width + x] = up\n",
        "                flat[r * width + x] = flat[up - 1]\n",
        ("tests/backend/test_deblend.py::test_numbers_are_not_written_over_by_threads_that_still_halve_paths",),
        "a number is written where another thread still halves the path",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/passes.py",
        "bands[t, PLACE] = marks[STORED] + t * each",
        "bands[t, PLACE] = marks[STORED]",
        ("tests/backend/test_deblend.py::test_bands_of_rows_side_by_side_change_nothing",),
        "bands of rows store their passes in the same places",
    ),
    Mutant(
        "footprint/kernels/deblend/passes.py",
        "row.dtype.type(-np.inf)",
        "-row[0] * 0 - np.inf",
        ("tests/backend/test_local_deblend.py::test_equals_the_sorted_list_of_pixels",),
        "no pass is over a row that begins with NaN",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/measure/cpu.py",
        "if none and r >= high:",
        "if r >= high:",
        ("tests/backend/test_deblend.py::test_bands_of_rows_side_by_side_change_nothing",),
        "what goes on below a band is not measured there",
    ),
    Mutant(
        "footprint/kernels/deblend/tree.py",
        "fewest <= basins[PIXELS, younger] <= most",
        "basins[PIXELS, younger] <= most",
        ("tests/backend/test_deblend.py::test_parts_like_points_need_a_shallow_pass",),
        "what is smaller than points parts at a shallow pass",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/tree.py",
        "beamed = low <= _apart(top, passes[e, CODE] >> 3, width) <= up",
        "beamed = low <= _apart(top, basins[FIRST, younger], width) <= up",
        ("tests/backend/test_deblend.py::test_parts_like_points_need_a_shallow_pass",),
        "a pass is as far as where a part begins",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/tree.knl",
        "apart(top, BASIN(k, PLACE), width, low, up)",
        "1",
        ("tests/backend/test_gpu_deblend.py::test_equals_the_sorted_list_of_pixels",),
        "on a device a pass may be as far as it likes",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/deblend/tree.knl",
        "beamed ? shallow : prominence",
        "prominence",
        ("tests/backend/test_gpu_deblend.py::test_equals_the_sorted_list_of_pixels",),
        "on a device no pass is shallow enough",
        devices="cpu,opencl",
    ),
    Mutant(
        "footprint/kernels/fit/grid.py",
        "terms = paired + terms[2 * len(paired) :]",
        "terms = paired",
        ("tests/backend/test_fit.py::test_series_of_a_gaussian_are_its_values",),
        "the last terms of the exponential are lost where their number is odd",
    ),
    Mutant(
        "footprint/kernels/deblend/passes.py",
        "rank == best[HEIGHT] and code < best[CODE]",
        "rank == best[HEIGHT] and code > best[CODE]",
        ("tests/backend/test_deblend.py::test_of_equal_passes_the_first_counts",),
        "of equal passes of two basins in two rows the later",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/pairs/cpu.py",
        "            r = root[i, j]\n",
        "            r = root[j, i]\n",
        ("tests/backend/test_pairs.py::test_models_are_those_of_least_squares",),
        "pixels are whitened by the wrong half of a matrix",
    ),
    Mutant(
        "footprint/kernels/pairs/contract.py",
        "LONG = 0.01, 30.0,",
        "LONG = 0.01, -30.0,",
        ("tests/backend/test_pairs.py::test_pairs_are_parted_and_nothing_else_is",),
        "what is no better told by two is parted",
    ),
    Mutant(
        "footprint/api/_pairs.py",
        'np.einsum("kij,kij->", here, there)) / here.size',
        'np.einsum("kij,kij->", here, here)) / here.size',
        ("tests/backend/test_pairs.py::test_noise_tells_how_it_is_correlated",),
        "noise is like itself however far off",
    ),
    Mutant(
        "footprint/api/_pairs.py",
        "old[rows], more = bright[:, at_column], faint[:, at_column]",
        "more = faint[:, at_column]",
        ("tests/backend/test_pairs.py::test_pairs_are_parted_and_nothing_else_is",),
        "the brighter of a pair keeps the fit to both",
    ),
]
