"""Faults in what catalogues say of places on the sky, in the cells of meshes, in the memory they take, and in sums along rows."""

from tests.mutants import Mutant

_HAIR = ("tests/backend/test_local_deblend.py::test_what_stands_out_by_a_hair_is_not_passed_over",)
_CELLS = ("tests/backend/test_local_deblend.py::test_what_is_told_from_the_cells_is_what_maps_of_them_tell",)

MUTANTS = [
    Mutant(
        "footprint/api/_sky.py",
        "threading.get_ident()",
        "0",
        ("tests/unit/test_sky.py::test_a_header_is_known_again_by_all_it_says_and_in_its_thread_alone",),
        "threads share a WCS",
    ),
    Mutant(
        "footprint/api/_onsky.py",
        "((found.dec_err, onto[0]), (found.ra_err, onto[1]))",
        "((found.dec_err, onto[1]), (found.ra_err, onto[0]))",
        ("tests/unit/test_sky.py::test_errors_on_the_sky_point_east_and_north_wherever_the_axes_do",),
        "an error towards north is one of right ascension",
    ),
    Mutant(
        "footprint/api/_onsky.py",
        "_wrap(ra, 2 * np.pi)",
        "pass",
        ("tests/unit/test_sky.py::test_places_are_astropys_to_the_last_bit",),
        "right ascensions turned from another frame are negative",
    ),
    Mutant(
        "footprint/ops/deblend.py",
        "np.dtype(nodes.spec.dtype) == np.int32",
        "False",
        ("tests/backend/test_local_deblend.py::test_labels_take_the_place_of_basins",),
        "labels have memory of their own beside the basins they are painted from",
    ),
    Mutant(
        "footprint/api/_onsky.py",
        "wcs.all_pix2world(xy.copy(), 0)",
        "wcs.all_pix2world(xy, 0)",
        ("tests/backend/test_held.py::test_places_stay_to_the_last_bit_what_they_were_given_as",),
        "a WCS counts from 1 in the caller's own array",
    ),
    Mutant(
        "footprint/api/_zenithal.py",
        "scale = tilt @ scale",
        "scale = scale @ tilt",
        ("tests/unit/test_directions.py::test_pixels_are_on_the_sky_what_neighbours_say",),
        "north of a galactic image is taken for that of its frame",
    ),
    Mutant(
        "footprint/kernels/deblend/on_mesh.py",
        "return piece - 1, 4",
        "return piece - 1, 1",
        _HAIR,
        "pixels are compared with a corner of their cell",
    ),
    Mutant(
        "footprint/kernels/deblend/on_mesh.py",
        "near[s] = above[s + one] | here[s + one] | below[s + one]",
        "near[s] = here[s + one]",
        _HAIR,
        "what lies above and below a peak is not told",
    ),
    Mutant(
        "footprint/kernels/fit/on_mesh.py",
        "return known and low > 1e-6 * high",
        "return known",
        _CELLS,
        "pixels without noise are fitted",
    ),
    Mutant(
        "footprint/kernels/mesh/mesh_cells.knl",
        "middle = (i32)there / 2,",
        "middle = 0,",
        ("tests/backend/test_background.py::test_one_pixel_far_below_takes_no_digits_of_the_others",),
        "a cell's sums start from its lowest value, whatever that is",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/mesh/mesh_cells.knl",
        "NEXT(6) MOVE(0, 3) MERGE_16 MOVE(3, 0) MERGE_8",
        "NEXT(6) MOVE(0, 3) MERGE_16 MOVE(3, 0) MERGE_4",
        ("tests/backend/test_background.py::test_equals_the_reference",),
        "a merge of a cell's values leaves out a step",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/fit/solver.py",
        '@njit(cache=True, nogil=True, error_model="numpy")\ndef slopes(',
        "@njit(cache=True, nogil=True)\ndef slopes(",
        ("tests/backend/test_fit.py::test_a_pixel_that_drowns_all_others_is_fitted",),
        "the angle of a fit that is round to the last bit is divided by 0",
    ),
    Mutant(
        "footprint/kernels/mesh/mesh_cells.knl",
        "d > FARTHEST ? FARTHEST :",
        "",
        ("tests/backend/test_background.py::test_pixels_beyond_float32_are_clipped_like_others",),
        "a pixel beyond float32 takes 0 times infinity into its cell's sums",
        devices="opencl",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu_sums.py",
        "e.mul(leap, e.add(block, k))",
        "e.mul(leap, block)",
        ("tests/backend/test_long_sums.py::test_rows_of_every_length_of_mask_are_summed_alike_wherever_they_lie",),
        "of two blocks of a row that are held at once both go to the place of the first",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu_sums.py",
        "either(later, b.sub(taps, half), half)",
        "half",
        ("tests/backend/test_long_sums.py::test_rows_of_every_length_of_mask_are_summed_alike_wherever_they_lie",),
        "an odd number of taps in two halves has one of them twice",
    ),
    Mutant(
        "footprint/kernels/common/digits.py",
        "for t in range(shares):\n                count",
        "for t in range(shares - 1, -1, -1):\n                count",
        ("tests/backend/test_sigma_clip.py::test_many_pixels_put_aside_are_sorted_by_several_threads",),
        "threads that sort put later numbers of a digit before earlier ones",
    ),
    Mutant(
        "footprint/plan/fit.py",
        "if _BRIEFLY.get():",
        "if not _BRIEFLY.get():",
        ("tests/null/test_planning.py::test_only_the_last_refusal_names_a_comfortable_budget",),
        "the last refusal does not say which budget would be comfortable",
    ),
]
