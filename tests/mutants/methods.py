"""Faults in the methods of convolution."""

from tests.mutants import Mutant

METHODS = "tests/backend/test_convolve_methods.py::test_"
GPU = "tests/backend/test_gpu_overlap_save.py::test_"

METHODS_OF_CONVOLUTION = [
    Mutant(
        "footprint/kernels/overlap_save/cpu.py",
        "    exponent = _scale(most, work.itemsize)\n    _multiply(work, at, pitch, rows, tile, exponent)",
        "    exponent = 0",
        (METHODS + "a_bright_tile_does_not_leak_into_the_dark_one_beside_it",),
        "a bright tile leaks into its neighbour",
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
        "return self.tile + 1 - self.block[0]",
        "return 1",
        (METHODS + "the_same_bits_at_every_budget[cpu-fft-f4-constant]",),
        "parts begin between tiles",
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
        "footprint/ops/separated.py",
        "beyond = cval * float(tall.sum(dtype=float))",
        "beyond = cval",
        (METHODS + "products_make_the_sums",),
        "beyond the sums down lies the image's constant",
    ),
]
