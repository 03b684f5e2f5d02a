"""Faults in projection and in what iterates."""

from tests.mutants import Mutant

PROJECT, ITERATE = "tests/backend/test_project.py::", "tests/backend/test_iterative.py::"
SHARED = (PROJECT + "test_a_pixel_is_shared_by_two_bins",)
SIRT, CGLS, TV = ((ITERATE + f"test_steps_are_those_with_a_dense_matrix[cpu-{n}]",) for n in ("sirt, nonnegative", "cgls", "tv"))
OP, CPU, STEP = (f"footprint/{n}.py" for n in ("ops/iterative", "kernels/project/cpu", "kernels/iterative/cpu"))

MUTANTS = [
    Mutant(CPU, "back = min(0.0, (LANES - 1) * step)", "back = 0.0", SHARED, "lines that run backwards are read from their front"),
    Mutant(CPU, "(-3.0 - low) / step, (n - low) / step", "(1.0 - low) / step, (n - 6.0 - low) / step", SHARED, "ends of a line"),
    Mutant(
        "footprint/kernels/project/project.knl",
        "if (!(most > -4.0 && least < (f64)n)) continue;",
        "if (!(most > -2.0 && least < (f64)n - 1.0)) continue;",
        SHARED,
        "tiles of lines that see the border only are left out",
        devices="cpu,opencl",
    ),
    Mutant(
        OP,
        "self.geometry.table(weighted=False)",
        "self.geometry.table()",
        SIRT,
        "angles are weighed as for backprojection",
    ),
    Mutant(OP, 'b.launch("iterative.dots", direction, old)', 'b.launch("iterative.dots", volume, old)', CGLS, "no first step"),
    Mutant(OP, "            b.copy(new, old)\n", "", CGLS, "conjugate directions by the first gradient"),
    Mutant(STEP, "volume[z, i] = lowest if value < lowest else value", "volume[z, i] = value", SIRT, "values below 0 stay"),
    Mutant(
        STEP,
        "                spread -= dual[z, 1, y - 1, x]",
        "                spread -= dual[z, 1, y, x - 1]",
        TV,
        "divergence",
    ),
    Mutant(
        "footprint/api/_way.py",
        "roi = tuple(end - field.offset for end in roi)",
        "roi = tuple(roi)",
        ("tests/backend/test_iterative_scan.py::test_half_acquisitions_are_seen_where_the_detector_was",),
        "a field whose axis is near the first pixel is not moved",
    ),
]
