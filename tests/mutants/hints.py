"""Faults in what errors propose, and in what they take for a mistake."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        "footprint/errors.py",
        "max(len(given), len(names[name])) // 4",
        "max(len(given), len(names[name])) // 2",
        ("tests/unit/test_hints.py::test_no_name_is_proposed_that_is_not_close",),
        "names are proposed that share half of their letters",
    ),
    Mutant(
        "footprint/elsewhere.py",
        '("flood", word): _SIGMAS',
        '("radii", word): _SIGMAS',
        ("tests/unit/test_hints.py::test_words_of_astropy_photutils_and_pytorch",),
        "an absolute threshold is taken for multiples of the noise",
    ),
    Mutant(
        "footprint/api/_mask.py",
        "if not np.isfinite(values).all():",
        "if False:",
        ("tests/unit/test_hints.py::test_weights_that_are_no_numbers_are_not_taken_for_a_sum_of_0",),
        "weights of NaN are said to sum to 0",
    ),
    Mutant(
        "footprint/settings.py",
        "if text.isdecimal() and int(text) > 0:",
        "if text.isdecimal():",
        ("tests/unit/test_hints.py::test_a_number_of_threads_that_is_none_is_refused",),
        "no threads at all are asked for",
    ),
    Mutant(
        "footprint/api/_lit.py",
        " or _unknown(job.scan, job.start):",
        ":",
        ("tests/unit/test_bad_pixels.py::test_flats_and_darks_that_tell_nothing_are_refused_by_the_name_of_their_file",),
        "flats of NaN are said to be saturated",
    ),
    Mutant(
        "footprint/io/scan.py",
        "parts.path if group is None or group.frames is frames else group.frames.path",
        "parts.path",
        ("tests/unit/test_bad_pixels.py::test_flats_and_darks_that_tell_nothing_are_refused_by_the_name_of_their_file",),
        "the scan is blamed for another file's flats",
    ),
    Mutant(
        "footprint/ops/fbp.py",
        "checked().check_shifts().check_circle",
        "checked().check_circle",
        ("tests/backend/test_fbp.py::test_shifts_are_refused_that_leave_nothing",),
        "shifts that leave nothing of a volume are taken",
    ),
    Mutant(
        "footprint/cli/chosen.py",
        "low - first <= shift <= high - last",
        "low <= shift <= high",
        ("tests/unit/test_cli_chosen.py::test_shifts_may_put_the_axis_as_far_off_as_it_may_lie",),
        "shifts are taken for positions of the axis",
    ),
    Mutant(
        "footprint/cli/excluded.py",
        "own = _degrees(scan)\n    inside",
        "own = np.mod(_degrees(scan), 360)\n    inside",
        ("tests/unit/test_cli_chosen.py::test_angles_of_several_turns_are_those_of_the_file",),
        "projections of all turns are left out for those of one",
    ),
    Mutant(
        "footprint/io/nxtomo.py",
        "if not within[0] > 0 and not (",
        "if not (",
        ("tests/unit/test_io_quantities.py::test_a_pixel_size_in_another_unit_than_it_says_is_no_pixel_size",),
        "pixels of 0 m are ignored without a word",
    ),
    Mutant(
        "footprint/cli/chosen.py",
        "if not 0 < size < math.inf:",
        "if False:",
        ("tests/unit/test_cli_words.py::test_a_mistake_is_told_in_the_words_of_the_shell",),
        "a length below 0 is told in other numbers than were given",
    ),
    Mutant(
        "footprint/ops/backproject.py",
        "return len(angles) < 2 or len(_distinct(np.mod(angles, np.pi))[1]) < 2",
        "return len(angles) < 2",
        ("tests/unit/test_wedge.py::test_one_direction_is_said",),
        "of many projections from one direction nothing is said",
    ),
    Mutant(
        "footprint/api/_sides.py",
        "described(shape, dtype, name, of_dtype=name)",
        "described(shape, dtype, name)",
        ("tests/unit/test_hints.py::test_a_dtype_that_is_none_is_named_as_its_argument",),
        "the dtype of weights is blamed on the image's",
    ),
]
