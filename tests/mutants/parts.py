"""Faults in what a GPU does with sources in parts of rows."""

from tests.mutants import Mutant

TEXT, TREE = "footprint/kernels/deblend/parts.knl", "footprint/kernels/deblend/tree.knl"
FILE = "tests/backend/test_gpu_deblend_parts.py::test_"
CUT = (FILE + "equals_the_sorted_list_of_pixels_wherever_it_is_cut",)
EQUAL = (FILE + "of_equal_passes_the_first_counts",)
DOWN = (FILE + "a_pass_down_over_an_edge_comes_after_those_up",)
LATER = (FILE + "a_higher_pass_takes_the_place_of_one_that_an_earlier_part_had",)
MADE = (FILE + "all_that_is_made_of_sources_is_that_of_the_whole",)


def on_a_gpu(file: str, text: str, fault: str, why: str, tests: tuple[str, ...] = CUT) -> Mutant:
    return Mutant(file, text, fault, tests, why, devices="cpu,opencl")


MUTANTS = [
    Mutant(
        "footprint/plan/fit.py",
        ">= _DEAR or twice > self.job.cost.seconds(rate)",
        ">= _DEAR",
        ("tests/null/test_blocks.py::test_a_processor_takes_blocks_where_planes_would_be_summed_again_and_again",),
        "a processor sums all planes beside each, one plane after another",
    ),
    Mutant(
        "footprint/kernels/find_sources/contract.py",
        "for share in (1024, 6144, 16384))",
        "for share in (1024,))",
        ("tests/backend/test_find_sources.py::test_where_memory_is_short_there_is_room_for_fewer_sources[cpu-mesh]",),
        "a large image of few sources does not fit for want of room for many",
    ),
    Mutant(
        "footprint/plan/fit.py",
        "lambda n: self.cut(-(-n // self.job.grain))",
        "lambda n: self.cut(1)",
        ("tests/null/test_blocks.py::test_blocks_of_a_volume_read_it_twice_at_most[gaussian-200000000.0]",),
        "one plane at a time is read with all that lie beside it",
    ),
    Mutant(
        "footprint/plan/fit.py",
        'share = _IN_PIECES if self.job.axes[number][0] == "x" else FASTER',
        "share = FASTER",
        ("tests/null/test_blocks.py::test_whole_rows_are_taken_where_pieces_of_them_would_not_be_far_fewer",),
        "rows cross a bus in pieces, which takes longer",
    ),
    on_a_gpu(TEXT, "!(pixels[to] > top)", "!(pixels[to] >= top)", "across an edge, of equal pixels the later"),
    on_a_gpu(TEXT, "if (up < 0) BASIN(before", "if (0) BASIN(before", "what climbs out of a first row is a basin"),
    on_a_gpu(TEXT, "live && component != k ? BASIN(k, PLACE)", "0 ? BASIN(k, PLACE)", "passes of earlier parts are forgotten"),
    on_a_gpu(TEXT, ", LIVE) = (i32)first;", ", LIVE) = 0;", "forests of earlier parts do not grow on", LATER),
    on_a_gpu(TEXT, " || BASIN(k, WAY) != way) return;", ") return;", "of the passes of one pixel any", EQUAL),
    on_a_gpu(TEXT, "below ? 7 - side : 1 + side", "1 + side", "passes downwards over an edge are ranked as upward ones", DOWN),
    on_a_gpu(
        TEXT, "if (!reach && side && !nodes[x] && !seam[to]) continue;", "", "what climbs over an edge crosses to other islands"
    ),
    on_a_gpu(TEXT, "if (!reach && side && !seam[x] && !nodes[c]) continue;", "", "islands of two parts meet at a corner"),
    on_a_gpu(TEXT, "!(to < 0 ? seam[to - dx + width]", "!(to < 0 ? 0", "corners over an edge are no neighbours"),
    on_a_gpu(
        "footprint/kernels/deblend/neighbours.h",
        "nodes[i + dx] || nodes[to - dx] ?",
        "nodes[i + dx] ?",
        "a corner above a gap is no neighbour",
        ("tests/backend/test_corners.py::test_parts_of_islands_that_edges_connect",),
    ),
    on_a_gpu(TREE, "ATOMIC_ADD_G(&BASIN(whole, PIXELS), BASIN(k, PIXELS));", "", "pieces keep their pixels"),
    on_a_gpu(TREE, "BASIN(k, OWNER) == k && BASIN_OF(k) == k;", "BASIN(k, OWNER) == k;", "pieces of basins are sources"),
    on_a_gpu(TREE, "end_of(basins, OWNER, BASIN_OF(k))", "end_of(basins, OWNER, k)", "pieces have no label"),
    on_a_gpu(
        "footprint/kernels/measure/measure.knl",
        "boxes[(i64)k * 8 + 7] = first + row;",
        "boxes[(i64)k * 8 + 7] = row;",
        "maps are read at another row than the peak's",
        MADE,
    ),
    on_a_gpu(
        "footprint/ops/deblend.py",
        "x, values, stats, at_peaks = seen(turn + 1 == most)",
        "x, values, stats, at_peaks = seen(turn == 0)",
        "maps are saved when parts are seen for the first time of several",
        MADE,
    ),
    on_a_gpu(
        "footprint/ops/again.py",
        "b.bring(here(b, labels), dtype",
        "b.bring(labels, dtype",
        "labels that are gone with their part are read again",
        MADE,
    ),
    on_a_gpu(
        "footprint/plan/steps.py",
        'slot.kind in ("const", "kept") and slot.reach',
        'slot.kind == "const" and slot.reach',
        "all parts of an input that stays are written to where the first two lie",
        ("tests/backend/test_gpu_parts.py::test_a_file_of_the_kernels_own_dtype_stays",),
    ),
    Mutant(
        "footprint/plan/fit.py",
        "for rung in self.rungs if job.whole_first and whole else ():",
        "for rung in ():",
        ("tests/null/test_sources_on_gpus.py",),
        "what would fit whole goes in parts, which are three times the work",
    ),
    Mutant(
        "footprint/kernels/deblend/gpu_parts.py",
        "label.check_size(block.size)",
        "pass",
        ("tests/null/test_sources_on_gpus.py",),
        "parts of over 2^31 pixels are tried",
    ),
]
