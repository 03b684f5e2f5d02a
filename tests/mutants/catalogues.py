"""Faults in what touches at corners, in beams of planes, in catalogues of other programs, and in who is blamed."""

from tests.mutants import Mutant

_CORNERS = ("tests/backend/test_corners.py::test_parts_of_islands_that_edges_connect",)

MUTANTS = [
    Mutant(
        "footprint/kernels/deblend/climb.py",
        "(v > best) & (corners | lower | left)",
        "(v > best) & corners",
        _CORNERS,
        "a slanted summit is two",
        plain=True,
    ),
    Mutant(
        "footprint/kernels/deblend/passes.py",
        "further = over[after] if beside | int(mine[after] != 0) else node",
        "further = over[after]",
        _CORNERS,
        "islands that touch at a corner are one",
        plain=True,
    ),
    Mutant(
        "footprint/io/beams.py",
        'if str(header.get(f"CTYPE{len(shape) - axis}", "")).strip().upper() == "STOKES":',
        "if False:",
        ("tests/unit/test_io_beams.py::test_a_plane_has_the_beam_of_its_channel_and_polarisation",),
        "a polarisation counts as a channel, which has another's beam",
    ),
    Mutant(
        "footprint/io/catalog.py",
        ", use_names_over_ids=True",
        "",
        ("tests/unit/test_foreign_catalogues.py::test_selavys_columns_have_their_names",),
        "columns are called by the IDs of a VOTable",
    ),
    Mutant(
        "footprint/io/commented.py",
        'made[name].unit = "deg"',
        "pass",
        ("tests/unit/test_foreign_catalogues.py::test_names_below_comments_are_those_of_columns_and_pybdsf_has_degrees",),
        "degrees of PyBDSF are arcseconds",
    ),
    Mutant(
        "footprint/api/_foreign.py",
        "there = spelt.keys() - several",
        "there = spelt.keys()",
        ("tests/unit/test_foreign_catalogues.py::test_places_of_a_join_may_be_eithers",),
        "of two places in a join the first counts",
    ),
    Mutant(
        "footprint/api/_blank.py",
        "if _leaves_none(mask, weight):",
        "if False:",
        ("tests/unit/test_told_apart.py::test_who_leaves_no_pixel_is_named",),
        "where a mask leaves no pixel the image is blamed",
    ),
    Mutant(
        "footprint/api/_beam.py",
        "if not by_the_beam(unit):",
        'if "beam" not in unit.lower():',
        ("tests/unit/test_told_apart.py::test_a_beam_that_is_spelt_by_its_first_letter",),
        "a brightness by the beam keeps its numbers where the beam is one letter",
    ),
    Mutant(
        "footprint/cli/masks.py",
        "if error.got == repr(beam):",
        "if False:",
        ("tests/unit/test_told_apart.py::test_a_beam_of_the_shell_is_answered_in_its_words",),
        "arcseconds are answered in degrees",
    ),
    Mutant(
        "footprint/api/_errors.py",
        'data["x_err"][rows] *= np.sqrt(xx)',
        "pass",
        ("tests/backend/test_elongated.py::test_a_centre_is_as_sure_along_each_axis_as_the_pixels_make_it",),
        "a long source's error along it is a disc's",
    ),
    Mutant(
        "footprint/api/_sky.py",
        "tie=tie)",
        "tie=None)",
        ("tests/backend/test_elongated.py::test_errors_on_the_sky_are_those_of_both_axes_together",),
        "on the sky both errors of a slanted source are independent",
    ),
    Mutant(
        "footprint/api/_foreign.py",
        "if not own and",
        "if False and",
        ("tests/unit/test_foreign_catalogues.py::test_angles_of_sep_are_radians",),
        "SEP's angles are read as degrees",
    ),
    Mutant(
        "footprint/api/_foreign.py",
        "return None if pair is None else (pair, 1)",
        "return None if pair is None else (pair, 0)",
        ("tests/unit/test_foreign_catalogues.py::test_shapes_by_the_names_of_sextractor_and_photutils",),
        "SExtractor's first pixel is 0",
    ),
    Mutant(
        "footprint/api/_foreign.py",
        "found[:, :2] *= size",
        "pass",
        ("tests/unit/test_foreign_catalogues.py::test_spreads_of_sextractor_on_the_sky_are_standard_deviations_in_degrees",),
        "SExtractor's standard deviations are full widths",
    ),
    Mutant(
        "footprint/io/fits_tables.py",
        "[i for i, name in tables.items() if name == _SOURCES] or list(tables)",
        "list(tables)",
        ("tests/unit/test_foreign_catalogues.py::test_of_fits_ldac_the_sources_are_read",),
        "a header's cards are a catalogue",
    ),
    Mutant(
        "footprint/api/background.py",
        "blanked(plain, check_blank(blank), masks,",
        'blanked(plain, "nan", masks,',
        ("tests/unit/test_hdus.py::test_maps_of_a_padded_image_are_those_of_its_search",),
        "zeros around a mosaic are sky",
    ),
    Mutant(
        "footprint/api/_units.py",
        "next(has, 0)",
        "0",
        ("tests/unit/test_hdus.py::test_of_a_file_the_hdu_with_an_image_is_named",),
        "a header alone is called an image",
    ),
]
