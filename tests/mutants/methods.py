"""Faults in the methods of convolution."""

from tests.mutants import Mutant

METHODS = "tests/backend/test_convolve_methods.py::test_"
TRANSFORMS = "tests/backend/test_convolve_transforms.py::test_"
GPU = "tests/backend/test_gpu_overlap_save.py::test_"
LINES = "tests/backend/test_gpu_overlap_lines.py::test_"

METHODS_OF_CONVOLUTION = [
    Mutant(
        "footprint/kernels/overlap_save/cpu.py",
        "store(work, at, pitch, out, to, columns, tall, counts[h], sizes[h] + sized, add, lost)",
        "store(work, at, pitch, out, to, columns, tall, counts[h], sizes[0] + sized, add, lost)",
        (METHODS + "a_bright_tile_does_not_leak_into_the_dark_one_beside_it",),
        "the second tile of a pair comes back at the size of the first",
    ),
    Mutant(
        "footprint/kernels/overlap_save/cpu.py",
        "                work[at : at + plane] = 0\n        for s",
        "                pass\n        for s",
        (METHODS + "the_same_bits_at_every_budget[cpu-fft-f4-constant]",),
        "a tile without a neighbour is paired with what lay there",
    ),
    Mutant(
        "footprint/kernels/overlap_save/cpu.py",
        "if odds[h]:",
        "if odds[0]:",
        (METHODS + "what_is_not_finite_reaches_what_direct_sums_reach",),
        "what is not finite in the second tile of a pair is forgotten",
    ),
    Mutant(
        "footprint/ops/overlap_save.py",
        "return (self.side + 1 - self.block[0])",
        "return 1",
        (METHODS + "the_same_bits_at_every_budget[cpu-fft-f4-constant]",),
        "parts begin between tiles",
    ),
    Mutant(
        "footprint/ops/overlap_save.py",
        "* (2 if len(self.taps) == 1 else 1)",
        "",
        (TRANSFORMS + "the_same_bits_at_every_budget_and_with_any_threads",),
        "a part of a signal begins with the second segment of a pair",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/cpu.py",
        "exponent, add = sizes[h] + sized, j0 > 0",
        "exponent, add = sizes[0] + sized, j0 > 0",
        (TRANSFORMS + "a_bright_tile_does_not_leak_into_the_dark_one_beside_it",),
        "the second segment of a pair comes back at the size of the first",
    ),
    Mutant(
        "footprint/kernels/overlap_volume/cpu.py",
        "                work[spectrum + k * step : spectrum + (k + 1) * step] = 0\n                continue\n            for h",
        "                continue\n            for h",
        (TRANSFORMS + "the_same_bits_at_every_budget_and_with_any_threads",),
        "planes beyond the last are what the tile before left",
    ),
    Mutant(
        "footprint/kernels/overlap_volume/cpu.py",
        "((k0 + k - q) * taps_y + i0)",
        "(k0 * taps_y + i0)",
        (TRANSFORMS + "what_is_not_finite_reaches_what_direct_sums_reach",),
        "an infinity goes by the weights of another plane of the mask",
    ),
    Mutant(
        "footprint/kernels/overlap_save/overlap_save.knl",
        "factor2 = POWER(-size_of(known[LARGEST + 1]))",
        "factor2 = factor1",
        (METHODS + "a_bright_tile_does_not_leak_into_the_dark_one_beside_it[opencl:0]",),
        "the tiles of a pair have one size on a GPU",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_save/overlap_save.knl",
        "if (odd2) known[ODD + 1] = 1;",
        "if (odd2) known[ODD] = 1;",
        (METHODS + "what_is_not_finite_reaches_what_direct_sums_reach[opencl:0]",),
        "what is not finite in the second tile of a pair is laid to the first on a GPU",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_save/overlap_save.knl",
        "n > 0, keep, n == total - 1);\n        if (r < deep && c < other)",
        "n > first, keep, n == total - 1);\n        if (r < deep && c < other)",
        (GPU + "more_blocks_than_are_kept_at_once",),
        "the second launch forgets what the first made",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/line.h",
        "x[d * R + j] = mul(x[d * R + j], w[j * (S) + m])",
        "x[d * R + j] = mul(x[d * R + j], w[d * (S) + m])",
        (LINES + "segments_of_every_length[opencl:0-32-f4]",),
        "a line's numbers are turned back by others' roots of unity",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/overlap_lines.knl",
        "size2 = size_of(known[1]) + sizes[n - first]",
        "size2 = size_of(known[0]) + sizes[n - first]",
        (LINES + "a_bright_tile_does_not_leak_into_the_dark_one_beside_it",),
        "the second segment of a pair comes back at the size of the first on a GPU",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/overlap_long.knl",
        "FREQUENCY(u) + UNITS * b",
        "FREQUENCY(u) + b",
        (LINES + "tiles_beyond_the_chip_make_the_sums_in_any_parts[opencl:0-signal]",),
        "columns of a long segment are turned by other frequencies",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/overlap_long.knl",
        "taps = weights + from + k * stride",
        "taps = weights + k * stride",
        (LINES + "what_is_not_finite_reaches_what_direct_sums_reach",),
        "an infinity goes by the weights of the mask's first block",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/long.py",
        "np.int64, (*places, first)",
        "np.int64, (*places, 0)",
        (LINES + "a_second_batch_of_pairs_goes_on_where_the_first_ended",),
        "every batch of pairs makes the first one's results",
        devices="opencl",
    ),
    Mutant(
        "footprint/ops/separated.py",
        "beyond = cval * float(tall.sum(dtype=float))",
        "beyond = cval",
        (METHODS + "products_make_the_sums",),
        "beyond the sums down lies the image's constant",
    ),
    Mutant(
        "footprint/api/_turned.py",
        "spec.shape[order.index(axis)] for",
        "spec.shape[order[axis]] for",
        ("tests/unit/test_arguments.py::test_the_axis_that_is_not_filtered_may_be_any_of_three",),
        "colours come back in the wrong order of axes",
    ),
    Mutant(
        "footprint/dist/dask.py",
        "found[at if order is None else order[at]] = reach",
        "found[at] = reach",
        ("tests/unit/test_dask.py::test_colours_of_a_picture",),
        "blocks of a picture get their neighbours' pixels along the colours",
    ),
    Mutant(
        "footprint/dist/dask.py",
        "(max(halo.lo, halo.hi),) * 2 if halo.wrap else",
        "(halo.hi, halo.lo) if halo.wrap else",
        ("tests/unit/test_dask.py::test_a_mask_of_even_size_wraps",),
        "what comes from the other end is a row short",
    ),
]
