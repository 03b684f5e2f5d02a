"""Faults in a GPU's transforms of tiles and sums in strips."""

from tests.mutants import Mutant

METHODS = "tests/backend/test_convolve_methods.py::test_"
GPU = "tests/backend/test_gpu_overlap_save.py::test_"
LINES = "tests/backend/test_gpu_overlap_lines.py::test_"
VOLUMES = "tests/backend/test_gpu_overlap_volume.py::test_"

MUTANTS = [
    Mutant(
        "footprint/kernels/overlap_save/overlap_save.knl",
        "sides[r] = r < count + span - 1 ?",
        "sides[r] = r < TILE ?",
        (METHODS + "transforms_of_tiles_make_the_sums[opencl:0-shape2-taps2-constant]",),
        "the second half of a tile on a GPU has no samples",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_save/tile.h",
        "odd |= !finite(one) | !finite(other);",
        "odd |= !finite(one);",
        (METHODS + "what_is_not_finite_reaches_what_direct_sums_reach[opencl:0]",),
        "what is not finite in the second half of a tile is forgotten on a GPU",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_save/tile.h",
        "at + TILE, v.x * rest",
        "at + TILE, v.y * rest",
        (METHODS + "transforms_of_tiles_make_the_sums[opencl:0-shape2-taps2-constant]",),
        "the second half of a tile on a GPU is the first's results",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_volume/overlap_volume.knl",
        "x[d * R1 + j] = MAKE2(Z, a.x * scales[k], a.y * scales[k]);",
        "x[d * R1 + j] = a;",
        (VOLUMES + "what_is_bright_stays_in_its_tile_and_faint_planes_keep_their_digits",),
        "planes of a tile are added up as though they were of one size",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_volume/overlap_volume.knl",
        "weights + from + q * plane",
        "weights + from",
        (VOLUMES + "what_is_not_finite_reaches_what_direct_sums_reach",),
        "an infinity goes by the weights of the mask's first plane on a GPU",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_save/overlap_save.knl",
        "fold, known, size, n > 0, keep",
        "fold, known, size, n > first, keep",
        (GPU + "more_blocks_than_are_kept_at_once",),
        "the second launch forgets what the first made",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/line.h",
        "x[d * R + j] = mul(x[d * R + j], turn[j * (S)])",
        "x[d * R + j] = mul(x[d * R + j], turn[d * (S)])",
        (LINES + "segments_of_every_length[opencl:0-32-f4]",),
        "a line's numbers are turned back by others' roots of unity",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/overlap_lines.knl",
        "begins[X] + h * LEN + i",
        "begins[X] + h + i",
        (LINES + "signals_make_the_sums[opencl:0-constant]",),
        "the second half of a segment on a GPU are samples of the first",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/overlap_long.knl",
        "others = some - FAR;",
        "others = some;",
        (LINES + "tiles_beyond_the_chip_make_the_sums_in_any_parts[opencl:0-signal]",),
        "a long segment's second half is stored beyond its results",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/overlap_long.knl",
        "4 * FREQUENCY(u) - 1",
        "4 * FREQUENCY(u) + 3",
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
        "many, A(0), found, spectra, np.int64(first)",
        "many, A(0), found, spectra, np.int64(0)",
        (LINES + "a_second_batch_of_tiles_goes_on_where_the_first_ended",),
        "every batch of tiles makes the first one's results",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/separable/separable.knl",
        "sums[larger_of(KH - 2 * CHAIN_Y)][m]",
        "sums[larger_of(KH - CHAIN_Y)][m]",
        ("tests/backend/test_gpu_separable.py::test_sums_down_and_across",),
        "the second of three chains waits with what the first came to",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/separable/separable.knl",
        "BORDER_X == 0 && (outside >> m & 1) ? cval : found[m]",
        "found[m]",
        ("tests/backend/test_edges.py::test_scipys_results",),
        "beyond a constant border lie sums of it",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/separable/column.knl",
        "sums[KH - (c + 1) * CHAIN][m]",
        "sums[KH - c * CHAIN][m]",
        ("tests/backend/test_gpu_separable.py::test_sums_down",),
        "a chain in the middle adds what another one has come to",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/overlap_lines/long.py",
        "read = of.weights if of_mask else of.image",
        "read = of.image",
        ("tests/backend/test_gpu_overlap_lines.py::test_integers_are_read_as_they_are_stored",),
        "a mask's numbers are read as if they were the image's",
        devices="opencl",
    ),
]
