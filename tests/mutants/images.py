"""Faults in what is read of images that other programs write, and in what of it goes on to the result."""

from tests.mutants import Mutant

_COLOURS = "tests/unit/test_frames_in_colour.py::"
_SIZES = "tests/unit/test_pixel_sizes.py::"
_TIFF = "tests/unit/test_tiff_of_others.py::"
_ZARR = "tests/unit/test_zarr_of_others.py::"

MUTANTS = [
    Mutant(
        "footprint/io/frames.py",
        'np.can_cast(dtype, out.dtype, "safe")',
        'np.can_cast(dtype, out.dtype, "unsafe")',
        ("tests/unit/test_whole_images.py::test_rows_are_not_read_into_integers_that_do_not_hold_them",),
        "60000 is read as 96",
    ),
    Mutant(
        "footprint/io/frame_source.py",
        "        check_depth(self.path)\n",
        "",
        (_COLOURS + "test_a_folder_of_colours_of_16_bits_is_refused",),
        "frames of 16 bits a colour are cut to 8",
    ),
    Mutant(
        "footprint/io/frame_source.py",
        'if getattr(image, "coloured", False) and not self.lost:',
        "if False:",
        (_COLOURS + "test_colours_after_a_grey_frame_are_told",),
        "frames in colour that come later become grey without a word",
    ),
    Mutant(
        "footprint/io/zarr_codecs.py",
        'else "end"] += _SUM',
        'else "end"] += 0',
        (_ZARR + "test_sums_after_compression_are_no_part_of_what_is_compressed",),
        "a sum behind a compressed chunk is taken for a part of it",
    ),
    Mutant(
        "footprint/io/zarr_frames.py",
        "if len(numbers) != 1:",
        "if not numbers:",
        (_ZARR + "test_the_only_image_of_a_group_of_images_is_taken",),
        "the first of several images is taken as if it were the only one",
    ),
    Mutant(
        "footprint/io/scale.py",
        'z = self.z if set(axes) <= {"Z"} else None',
        "z = self.z",
        (_SIZES + "test_what_is_not_known_is_not_made_up", _SIZES + "test_axes_of_zarr_may_have_any_units_and_some_none"),
        "channels and times lie as far apart as slices",
    ),
    Mutant(
        "footprint/io/scale.py",
        "by = 1.0 if name in (unit, None)",
        "by = 1.0 if name",
        (_SIZES + "test_axes_of_zarr_may_have_any_units_and_some_none",),
        "nanometres count as micrometres",
    ),
    Mutant(
        "footprint/io/scale.py",
        '"resolution": (1 / told.x, 1 / told.y)',
        '"resolution": (1 / told.y, 1 / told.x)',
        (_SIZES + "test_sizes_of_a_stack_go_from_any_file_to_any",),
        "pixels that are wider than high become higher than wide",
    ),
    Mutant(
        "footprint/io/scale.py",
        '_MOST = {"jpeg": 65535,',
        '_MOST = {"jpeg": 2**40,',
        (_SIZES + "test_a_picture_of_a_microscope_has_more_pixels_an_inch_than_jpeg_counts",),
        "a JPEG of a microscope's image cannot be written",
    ),
    Mutant(
        "footprint/io/image_writer.py",
        'bool(getattr(like, "inverted", False))',
        "False",
        (_TIFF + "test_white_as_0_stays_so_in_tiff_and_is_told_elsewhere",),
        "an image whose 0 is white comes out inverted",
    ),
    Mutant(
        "footprint/cli/sources_job.py",
        "replace(source.scale, z=None)",
        "source.scale",
        (_SIZES + "test_planes_of_a_search_are_no_steps_along_z",),
        "planes that were chosen lie one step apart",
    ),
    Mutant(
        "footprint/io/tiff_pages.py",
        "        file.open()\n",
        "        pass\n",
        (_TIFF + "test_an_image_in_several_files_is_read_without_a_word",),
        "pages in other files than the first are read from closed ones",
    ),
    Mutant(
        "footprint/api/_labels.py",
        "dims.index(axis) if isinstance(axis, str) else axis",
        "wanted.index(axis) if isinstance(axis, str) else axis",
        ("tests/unit/test_labels.py::test_axes_go_by_names_or_by_numbers",),
        "axes by name are the first ones",
    ),
]
