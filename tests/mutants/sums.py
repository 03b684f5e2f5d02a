"""Faults in sums along the axes of images, signals and stacks, on the CPU."""

from tests.mutants import Mutant

BACKEND = "tests/backend/test_"
PIECES = BACKEND + "long_sums.py::test_rows_in_several_pieces_are_summed_alike_by_any_threads_and_wherever_they_lie"

MUTANTS = [
    Mutant(
        "footprint/kernels/separable/contract.py",
        "taps[0] * taps[1] * most, image",
        "taps[0] * most, image",
        (BACKEND + "small_windows.py::test_sums_of_integers_that_32_bits_do_not_hold_are_made_another_way",),
        "sums of integers run over",
    ),
    Mutant(
        "footprint/kernels/separable/cpu_counts.py",
        "-1 if column < 0 else -2 - column",
        "-1",
        (BACKEND + "small_windows.py::test_means_of_integers_are_exact_but_for_roundings",),
        "means at a strip's end lack columns that are summed with another strip",
    ),
    Mutant(
        "footprint/ops/separable.py",
        'how["start"] = b.first(out, "y") if b.in_parts(out, "y") else 0',
        'how["start"] = 0',
        (BACKEND + "small_windows.py::test_parts_have_the_bits_of_the_whole",),
        "rows of means that share sums are counted anew in every part",
    ),
    Mutant(
        "footprint/kernels/separable/cpu_near.py",
        "if cross:\n        return",
        "if False:\n        return",
        (BACKEND + "small_windows.py::test_a_laplacian_leaves_corners_alone",),
        "at an edge a Laplacian multiplies corners by 0, and a NaN there spreads",
    ),
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
    Mutant(
        "footprint/ops/convolve.py",
        "return float(deep * tall * (wide + each))",
        "return float(deep * tall * wide)",
        (BACKEND + "convolve_transforms.py::test_volumes_are_transformed_where_direct_sums_have_been_measured_to_take_longer",),
        "direct sums of volumes are taken where transforms need a quarter of their time",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu_lines.py",
        "turn == 1, turn == turns - 1, at_once)",
        "turn == 1, False, at_once)",
        (BACKEND + "convolve_digits.py",),
        "what the totals of a long mask of one row lost is never added",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu_sums.py",
        "b.select(second, e.zero(), e.load(0, place))",
        "e.load(0, place)",
        (PIECES,),
        "what the totals of a row lost begins with what is left of the block before",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu_lines.py",
        "min(end, image_width - width + 1 - x0)",
        "end",
        (PIECES,),
        "a row's last outputs are summed where it lies, with what lies behind it",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu_lines.py",
        "end, left = x + columns, max(begin, -x0)",
        "end, left = x + columns, begin",
        (PIECES,),
        "a row's first outputs are summed where it lies, with what lies before it",
    ),
    Mutant(
        "footprint/ops/separated.py",
        "if outside or self.rank != 1",
        "if self.rank != 1",
        ("tests/backend/test_box_sums.py::test_a_mask_of_one_number_goes_in_one_pass",),
        "a mask of one number takes what lies outside for 0",
    ),
    Mutant(
        "footprint/api/_method.py",
        "equal = short and _is_of_one_number(mask)",
        "equal = False",
        ("tests/backend/test_box_sums.py::test_a_mask_of_one_number_goes_in_one_pass",),
        "the first budget named for a mask of one number is another method's",
    ),
    Mutant(
        "footprint/api/_lines.py",
        "(factor if name == dims[-1] else 1.0)",
        "(factor if name == dims[0] else 1.0)",
        ("tests/backend/test_edges.py::test_volumes",),
        "what lies outside a volume is added to what has been scaled already",
    ),
    Mutant(
        "footprint/io/named_mask.py",
        'if isinstance(masks, str) and masks != "one":',
        "if False:",
        ("tests/unit/test_named_mask.py::test_names_that_python_refuses",),
        "a mask by name has one axis too many where several are asked for",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/clip_loops.py",
        "keys[i] = key ^ (sign | (every & (set_ - one if back else zero - set_)))",
        "keys[i] = key ^ sign",
        (BACKEND + "sigma_clip.py::test_pixels_put_aside_are_sorted_whatever_their_values",),
        "numbers below 0 are sorted by their size",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/cpu_scan.py",
        'between((">", window_hi), ("<=", bulk_hi))',
        'between((">=", window_hi), ("<=", bulk_hi))',
        (BACKEND + "sigma_clip.py::test_what_is_put_aside_is_what_is_wanted_in_the_image_s_order",),
        "by vectors, what lies on the upper edge of the window is only counted",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/cpu_scan.py",
        "safe = row.size // lanes * lanes, k + np.int64(sums[s, 0]) - lanes",
        "safe = row.size // lanes * lanes, k + np.int64(sums[s, 0])",
        (BACKEND + "sigma_clip.py::test_what_is_put_aside_is_what_is_wanted_in_the_image_s_order",),
        "a strip writes over what another has put aside",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/cpu_scan.py",
        "for part in range(1, parts):",
        "for part in range(1, 1):",
        (BACKEND + "sigma_clip.py::test_what_lies_in_the_bulks_is_counted_and_summed",),
        "the upper half of each vector of float32 is left out of the sums",
    ),
]
