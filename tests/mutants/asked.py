"""Faults in what is asked for and refused, in frames that differ, in values beyond a dtype, and in years that are words."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        "footprint/cli/job.py",
        'if border(boundary) != "constant":',
        "if False:",
        ("tests/unit/test_words_of_options.py::test_a_constant_that_no_border_asks_for_is_refused",),
        "a constant is ignored where the border has none",
    ),
    Mutant(
        "footprint/cli/outputs.py",
        "            if _joins(name, read, frames):",
        "            if False:",
        ("tests/unit/test_folders_of_frames.py::test_an_output_among_the_frames_is_refused",),
        "an output lies among the frames that the next run reads",
    ),
    Mutant(
        "footprint/io/frame_source.py",
        "for file in looked_at(self._files[1:]):",
        "for file in ():",
        ("tests/unit/test_folders_of_frames.py::test_a_frame_that_differs_is_told_of_before_the_run",),
        "a frame that differs ends a run in its middle",
    ),
    Mutant(
        "footprint/api/select.py",
        "check(self.kept if angles is None else self.kept[angles])",
        "check()",
        ("tests/unit/test_folders_of_frames.py::test_a_projection_that_is_left_out_may_be_damaged",),
        "a damaged projection that is left out ends a run",
    ),
    Mutant(
        "footprint/api/find_tilt.py",
        'raise ArgumentError("tilt", error.got',
        'raise ArgumentError("center", error.got',
        ("tests/unit/test_words_of_searches.py::test_a_tilt_that_cannot_be_found_names_the_tilt",),
        "a tilt that cannot be found is told of the axis",
    ),
    Mutant(
        "footprint/api/_light.py",
        "flags[rows] |= np.where(np.isnan(level), EMPTY, 0)",
        "pass",
        ("tests/unit/test_wide_apertures.py::test_an_annulus_without_pixels_is_flagged",),
        "a flux is NaN by its annulus, and has no flag",
    ),
    Mutant(
        "footprint/api/_wcs.py",
        "header = _with_year(header)",
        "pass",
        ("tests/unit/test_wcs_words.py::test_positions_of_b1950_are_those_of_1950",),
        "B1950 is read as 2000",
    ),
    Mutant(
        "footprint/dtypes.py",
        '    with np.errstate(over="ignore", invalid="ignore"):\n        np.copyto(dst, src, casting="unsafe")',
        '    np.copyto(dst, src, casting="unsafe")',
        ("tests/backend/test_huge_values.py::test_numpy_warns_of_nothing",),
        "NumPy warns of casts from within",
    ),
    Mutant(
        "footprint/kernels/fit/cpu.py",
        "if not det < math.inf:",
        "if False:",
        ("tests/backend/test_huge_values.py::test_light_whose_moments_overflow_has_fits_from_a_pixel",),
        "a fit of light whose moments overflow divides by 0",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/sigma_clip_steps.h",
        ": variance - variance;",
        ": 0.0;",
        ("tests/backend/test_huge_values.py::test_squares_that_overflow_leave_no_noise",),
        "a clip on a GPU has a noise of 0 where squares overflow",
        devices="opencl",
    ),
]
