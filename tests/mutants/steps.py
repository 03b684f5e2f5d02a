"""Faults in the steps between open beam and backprojection."""

from tests.mutants import Mutant

STRIPES, PHASE, ZINGERS, SHELL = (
    f"tests/{n}.py::test_"
    for n in ("backend/test_remove_stripes", "backend/test_paganin", "backend/test_remove_zingers", "unit/test_cli_steps")
)
CHIP = "footprint/kernels/remove_stripes/sort_ranks.knl"
NETWORK = "footprint/kernels/remove_stripes/cpu_network.py"
BITS_OF_KEYS = (STRIPES + "values_that_differ_in_their_last_bits",)
RANKS, SORT, OP = (
    "footprint/kernels/remove_stripes/cpu_ranks.py",
    "footprint/kernels/remove_stripes/cpu.py",
    "footprint/ops/remove_stripes.py",
)
EVERY = (STRIPES + "every_method_is_the_plain_algorithm",)
ROUGH = ("tests/unit/test_cpu_kernels.py::test_what_columns_fluctuate",)
SCANS, STOPPED = "tests/unit/test_io_quantities.py::test_", "tests/unit/test_scan_stopped.py::test_"
BITS = (PHASE + "the_same_bits_at_any_budget",)

BY_ROW = "tests/backend/test_axis_by_row.py::test_"
LEVELS = ("tests/unit/test_io_ome_zarr.py::test_compressed_levels_as_the_formats_own_library_reads_them",)
OWN = (BY_ROW + "slices_about_axes_of_their_own",)

MUTANTS = [
    Mutant(
        "footprint/io/scan.py",
        "usual / parts.flats.current",
        "parts.flats.current / usual",
        ("tests/unit/test_io_reduction.py::test_projections_and_flats_are_divided_by_their_current",),
        "flats are multiplied by their current",
    ),
    Mutant(
        "footprint/api/_counts.py",
        "seen[rows] = b",
        "seen[:0] = b",
        ("tests/unit/test_bad_pixels.py::test_rows_are_counted_once",),
        "rows that are read again are counted again",
    ),
    Mutant(
        "footprint/api/_counts.py",
        "                self._count((start, stop), found, of)\n",
        "                pass\n",
        ("tests/unit/test_bad_pixels.py::test_a_run_that_goes_on_has_counted_what_the_first_one_read",),
        "a run that goes on counts its own rows alone",
    ),
    Mutant(
        "footprint/io/told.py",
        "file.write(said.ljust(len(kept)))",
        "file.write(said)",
        ("tests/unit/test_bad_pixels.py::test_every_format_says_it",),
        "what is left of the room stays behind the text",
    ),
    Mutant(
        "footprint/io/reduction.py",
        "len(frames) if self.level is None else count",
        "len(frames)",
        ("tests/unit/test_io_reduction.py::test_saturated_flats_are_left_out",),
        "saturated flats count as dark ones",
    ),
    Mutant(
        "footprint/ops/backproject.py",
        "if not (low <= lowest and highest <= high):",
        "if lowest < low or highest > high:",
        ("tests/backend/test_fbp.py::test_bad_arguments_are_named",),
        "an axis that is NaN passes",
    ),
    Mutant(
        "footprint/ops/backproject.py",
        "low, high = -0.5 - n_x, 2 * n_x - 0.5",
        "low, high = -0.5, n_x - 0.5",
        ("tests/backend/test_iterative.py::test_an_axis_off_the_detector",),
        "an axis off the detector is refused",
    ),
    Mutant(
        "footprint/ops/backproject.py",
        '"cx": self._axis - x0',
        '"cx": self.center - x0',
        ("tests/backend/test_centered.py::test_parts_of_a_pixel_and_the_circle",),
        "the circle of a slice that is moved stays",
    ),
    Mutant(
        "footprint/io/zarr_levels.py",
        "[*shares, (sums[-1:], rows[-1:])] if odd",
        "shares if odd",
        LEVELS,
        "the last of an odd number",
    ),
    Mutant("footprint/io/ome_zarr.py", "self._pack(z, chunk, plain)", "pass", LEVELS, "rows that come apart are lost"),
    Mutant(
        "footprint/ops/reconstruct.py", "needed[0] if i < at else start", "needed[0]", (BY_ROW + "rows_around_are_not_the_slices",)
    ),
    Mutant("footprint/ops/backproject.py", "[first:][:", "[:", OWN, "axes of other rows"),
    Mutant(
        "footprint/ops/half_acquisition.py",
        "moves = slides(b, self.slice_shifts, self.first, rows)",
        "moves = None",
        ("tests/backend/test_half_acquisition.py::test_every_slice_about_its_own_axis",),
        "rays on both sides of another axis are blended",
    ),
    Mutant(
        "footprint/ops/iterative.py",
        "iterate(b, slid(b, table, moves.row(z)), ",
        "iterate(b, table, ",
        (BY_ROW + "what_iterates_has_axes_of_its_own",),
    ),
    Mutant(
        "footprint/api/axis_by_row.py",
        "if median < least:",
        "if median > least or not best.any():",
        (BY_ROW + "some_heights_may_be_wrong",),
    ),
    Mutant("footprint/api/find_tilt.py", "rest / math.copysign(", "0 * math.copysign(", (BY_ROW + "a_tilt_is_found",)),
    Mutant(
        "footprint/api/find_tilt.py",
        "_SHOWN[1]), shown)",
        "_SHOWN[1]), 1)",
        (BY_ROW + "a_tilt_is_found_though_rows_lean_the_other_way",),
    ),
    Mutant(RANKS, "    if bits == _TOP:\n", "    if bits == _TOP + 1:\n", (STRIPES + "negative_zero_stays_behind_zero",)),
    Mutant(RANKS, "LANES + x - begin]", "LANES + x - first]", BITS_OF_KEYS, "the last columns are taken for others"),
    Mutant(
        NETWORK,
        "every(0x7FC00000), bits)",
        "bits, bits)",
        (STRIPES + "not_a_number_stays_in_its_column_and_goes_to_the_last_rank",),
        "what is no number has a sign",
    ),
    Mutant(
        NETWORK, "while at > 0 and keys[at - 1] > key", "while False", BITS_OF_KEYS, "keys of equal highest bits stay as they are"
    ),
    Mutant(CHIP, "if (mixed[column])", "if (0)", BITS_OF_KEYS, "keys of equal highest bits stay as they are", devices="opencl"),
    Mutant(CHIP, "above & 0xFFFFu", "above & 0x7FFFu", BITS_OF_KEYS, "a bit is in neither half", devices="opencl"),
    Mutant(SORT, "min(x + 2, n)", "min(x + 1, n)", EVERY, "neighbours of a stripe are not marked"),
    Mutant(SORT, "abs(f[x] - around / 10)", "abs(g[x] - around / 10)", ROUGH, "the value after is compared with what is around"),
    Mutant(RANKS, "at + _mirrored(turn - 1 - before", "at + _mirrored(turn - before", EVERY, "another value leaves the window"),
    Mutant(OP, "_DROP = 0.05", "_DROP = 0.1", EVERY),
    Mutant(OP, "self._marks(ratio, snr, 2)", "self._marks(ratio, snr, 0)", (STRIPES + "columns_at_the_ends_are_not_bridged",)),
    Mutant(
        "footprint/ops/fourier_wavelet.py",
        "(k == 0) | (2 * k == m)",
        "(k == 0)",
        (STRIPES + "wavelets_at_any_shape_and_setting",),
        "the fastest wave counts twice",
    ),
    Mutant(
        "footprint/ops/fourier_wavelet.py",
        "enough = _NOTHING * ",
        "enough = 1e-3 * ",
        (STRIPES + "wavelets_at_any_shape_and_setting",),
        "what is left of slow waves still counts",
    ),
    Mutant(
        "footprint/ops/fourier_wavelet.py",
        "part, off=True",
        "part, off=False",
        (STRIPES + "wavelets_at_any_shape_and_setting",),
        "what is to be removed is what is left",
    ),
    Mutant(
        "footprint/ops/fourier_wavelet.py",
        "2 * n - 1 - folded",
        "2 * n - 2 - folded",
        (STRIPES + "wavelets_at_any_shape_and_setting",),
        "waves are mirrored about the last value",
    ),
    Mutant(
        "footprint/kernels/fourier_wavelet/cpu.py",
        "range(wanted - first, rows)",
        "range(rows)",
        (STRIPES + "wavelets_at_any_shape_and_setting",),
        "rows summed twice are taken off twice",
    ),
    Mutant(
        "footprint/ops/normalize.py",
        'axes="a." if each else ""',
        'axes=""',
        ("tests/backend/test_normalize.py::test_in_a_reconstruction",),
        "every group of angles is normalised by the first rows",
    ),
    Mutant(
        "footprint/kernels/paganin/cpu.py",
        "e.add(e.mul(loop.index, 2), ROWS - 1 + k)",
        "e.add(e.mul(loop.index, 2), ROWS - 2 + k)",
        (PHASE + "no_frequency_misses_more_than_the_plan_says", *BITS),
        "rows have the weights of their neighbours",
    ),
    Mutant(
        "footprint/kernels/paganin/cpu.py",
        "        tile[m * STRETCH :] = 0\n",
        "",
        (PHASE + "it_is_the_filter_to_what_is_said_to_be_missed",),
        "beyond a detector in air is what the last call left",
    ),
    Mutant(
        "footprint/plan/predict.py",
        " and slot.given.stored else",
        " else",
        ("tests/null/test_planning.py::test_a_described_scan_is_read_as_fast_as_memory_is_copied",),
        "arrays are read at the disk's rate",
    ),
    Mutant(
        "footprint/kernels/normalize/contract.py",
        "(n * n - 1) / (3 * n * n)",
        "1 / 3",
        ("tests/backend/test_normalize.py::test_rows_lose_the_parabola_that_fits_them_best",),
        "a parabola has a mean of its own",
    ),
    Mutant("footprint/ops/families.py", "Halo(self.reach_z, self.reach_z)", "Halo(self.reach_z, self.reach_z - 1)", BITS),
    Mutant("footprint/ops/paganin.py", '"first": b.first(out, "z")', '"first": b.first(given, "z")', BITS),
    Mutant(
        "footprint/ops/paganin.py",
        "        weights *= 1 / (1 + (length * some) ** 2) / (2 * weights.sum(axis=0) - weights[0])\n",
        "",
        (PHASE + "no_frequency_misses_more_than_the_plan_says",),
        "a flat projection darkens",
    ),
    Mutant(
        "footprint/api/steps.py",
        "DeadPixels(empty=1.0)",
        "DeadPixels()",
        (PHASE + "a_row_that_is_dead_all_along_is_air",),
        "a dead row is black",
    ),
    Mutant(
        "footprint/kernels/remove_zingers/cpu.py",
        "half, size * size // 2",
        "half, size * size // 2 - 1",
        (ZINGERS + "it_is_the_median_where_it_is_passed",),
    ),
    Mutant("footprint/kernels/remove_zingers/cpu.py", "unit % k + moved]", "unit % k]", (ZINGERS + "the_same_bits_at_any_budget",)),
    Mutant(
        "footprint/ops/remove_zingers.py",
        "return self.size // 2",
        "return self.size // 2 - 1",
        (ZINGERS + "the_same_bits_at_any_budget",),
    ),
    Mutant("footprint/cli/steps.py", "own / 100", "own", (SHELL + "options_are_the_steps_of_the_library",), "cm taken for m"),
    Mutant(
        "footprint/kernels/minus_log/cpu.py",
        "+ power * _REST",
        "- power * _REST",
        ("tests/backend/test_flatfield.py::test_logarithms_of_the_cpu_are_right_to_the_last_place",),
        "a logarithm is off in its third digit",
    ),
    Mutant(
        "footprint/cli/excluded.py",
        "enumerate(scan.times)",
        "enumerate(range(scan.n_angles))",
        ("tests/unit/test_cli_chosen.py::test_projections_are_left_out_by_frame_and_by_angle",),
        "a list of frames is one of projections",
    ),
    Mutant(
        "footprint/cli/nabu.py",
        "else last + 1",
        "else last",
        ("tests/unit/test_cli_peers.py::test_a_configuration_of_nabu_is_the_same_job",),
        "nabu's last row is lost",
    ),
    Mutant(
        "footprint/cli/peers.py",
        "int(last or first) + 1",
        "int(last or first)",
        ("tests/unit/test_cli_peers.py::test_spellings",),
        "the slice that ends a range is lost",
    ),
    Mutant(
        "footprint/cli/page.py",
        "html.escape(printable(str(value)), quote=True)",
        "printable(str(value))",
        ("tests/unit/test_cli_report.py::test_it_needs_no_other_file_and_is_no_markup_of_the_scan",),
    ),
    Mutant(
        "footprint/api/_looks.py",
        "room -= kept if",
        "room -= 0 if",
        ("tests/unit/test_cli_report.py::test_it_stays_within_the_plan",),
        "rows that are kept are not counted",
    ),
    Mutant(
        "footprint/api/_black.py",
        "if on_counts is None or not isinstance(scan, Without):",
        "if True:",
        ("tests/unit/test_bad_pixels.py::test_projections_without_light_are_told_where_the_volume_is",),
        "a volume says that projections without light were used",
    ),
    Mutant(
        "footprint/api/_black.py",
        "if self._unknown:",
        "if False:",
        ("tests/backend/test_dropouts.py::test_what_is_no_number_is_said_and_counted",),
        "a projection of NaN is air in silence",
    ),
    Mutant(
        "footprint/io/nxtomo.py",
        '(group, (f"sample/{side}_pixel_size",)),',
        "",
        (SCANS + "pixels_are_those_that_the_sample_sees_and_distances_those_that_waves_travel",),
        "the sample's own pixel size is not looked for",
    ),
    Mutant(
        "footprint/io/nxtomo.py",
        "abs(down - across) > _SQUARE * across",
        "False",
        (SCANS + "pixels_that_are_no_squares_are_warned_of",),
        "pixels that are no squares are taken in silence",
    ),
    Mutant(
        "footprint/io/nxtomo.py",
        "(np.abs(several - value) <= _SQUARE * np.abs(value)).all()",
        "True",
        (SCANS + "of_several_energies_none_is_taken",),
        "of several energies the first is taken",
    ),
    Mutant(
        "footprint/api/_scan.py",
        "abs(given - factor * metres) <= 0.01 * factor * metres",
        "False",
        (SCANS + "a_pixel_size_in_another_unit_than_centimetres_is_warned_of",),
        "a pixel size in metres counts centimetres in silence",
    ),
    Mutant(
        "footprint/io/nxtomo.py",
        "values = values[:n_frames]",
        "values = values[-n_frames:]",
        (STOPPED + "of_a_scan_that_was_stopped_the_frames_that_are_there_are_taken",),
        "a stopped scan has the angles of frames that were never taken",
    ),
    Mutant(
        "footprint/io/angles.py",
        "return unit_of(name, inside[1], unit_named(found))",
        'return "deg"',
        (STOPPED + "angles_may_be_a_dataset",),
        "angles of a dataset in radians are read as degrees",
    ),
    Mutant(
        "footprint/io/angles.py",
        "steps != np.median(steps)",
        "steps < 0",
        (STOPPED + "angles_that_are_assumed_tell_of_files_that_are_missing",),
        "a file that is missing from a folder is not spoken of",
    ),
]
