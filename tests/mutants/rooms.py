"""Faults in operations, files, words, budgets and the command line."""

from tests.mutants import Mutant

BACKEND, UNIT = "tests/backend/test_", "tests/unit/test_"
GAINS = (BACKEND + "fbp.py::test_gains_are_those_of_the_formulas",)
WEDGE = (BACKEND + "fbp.py::test_the_sides_of_a_missing_wedge_count_with_the_gap_on_their_other_side",)
FILTERS, FITS, RAW, SCAN, UNITS, ERRORS, MAIN = (
    f"footprint/{n}.py" for n in ("ops/filters", "io/fits", "io/raw", "io/scan", "units", "errors", "cli/main")
)

MUTANTS = [
    Mutant(FILTERS, "        return np.sinc(x)\n", "        return np.sinc(x / 2)\n", GAINS, "Lanczos is Shepp and Logan's"),
    Mutant(FILTERS, "return 0.54 + 0.46 * np.cos", "return 0.5 + 0.5 * np.cos", GAINS, "Hamming is Hann's"),
    Mutant(FILTERS, "    kernel[0] = 0.25\n", "    kernel[0] = 0.0\n", GAINS, "the ramp's mean"),
    Mutant(FILTERS, "np.where(frequency <= 0.5 * cutoff, gains, 0)", "np.where(frequency <= 0.5, gains, 0)", GAINS, "no cutoff"),
    Mutant(FILTERS, "-0.5j / np.pi, 0)", "0.5j / np.pi, 0)", GAINS, "the sign of Hilbert's"),
    Mutant(
        FILTERS, "_window(shape, frequency / (0.5 * cutoff))", "_window(shape, frequency / 0.5)", GAINS, "windows do not stretch"
    ),
    Mutant("footprint/ops/backproject.py", "others.max() > 0:", "others.max() > 100:", WEDGE, "missing-wedge rule off"),
    Mutant("footprint/ops/backproject.py", "_WEDGE = 3.0", "_WEDGE = 1.5", WEDGE, "a wide gap is a wedge"),
    Mutant(
        "footprint/ops/backproject.py",
        "weights[order] = (gaps + np.roll(gaps, 1)) / 2",
        "weights[order] = gaps",
        WEDGE,
    ),
    Mutant(
        "footprint/ops/flatfield.py",
        "max(0, int(np.ceil(highest)))",
        "max(0, int(np.floor(highest)))",
        ("tests/null/test_halos.py::test_shifts_want_the_rows_they_read_and_no_others",),
        "halo: floor for ceil",
    ),
    Mutant(
        "footprint/ops/flatfield.py",
        "max(0, -int(np.floor(lowest)))",
        "max(0, -int(np.ceil(lowest)))",
        ("tests/null/test_halos.py::test_shifts_want_the_rows_they_read_and_no_others",),
        "halo before: ceil for floor",
    ),
    Mutant(
        "footprint/ops/flatfield.py",
        "return Halo(-self.first, self.first)",
        "return Halo(0, 0)",
        (BACKEND + "growth.py::test_operations_of_the_tests_own_run_from_file_to_file",),
        "rows that only neighbours needed are taken for the first of the result",
    ),
    Mutant(
        "footprint/ops/flatfield.py",
        "    if log != MinusLog() or dead != DeadPixels():\n",
        "    if dead != DeadPixels():\n",
        (BACKEND + "growth.py::test_the_usual_steps_are_fused_and_others_are_not",),
        "a logarithm with bounds of its own is fused away",
    ),
    Mutant(
        "footprint/plan/builder.py",
        "return ref.slot.id in self.spares",
        'return ref.slot.kind == "scratch"',
        (BACKEND + "growth.py::test_what_two_steps_read_is_spoilt_by_neither",),
        "what others read, too, is filtered in place",
    ),
    Mutant(
        "footprint/ops/convolve.py",
        'return {"same": -(taps // 2), "full": 1 - taps, "valid": 0}[self.mode] - origin',
        'return {"same": -((taps - 1) // 2), "full": 1 - taps, "valid": 0}[self.mode] - origin',
        (BACKEND + "convolve.py::test_modes",),
        "centre of an even mask",
    ),
    Mutant(
        "footprint/ops/known.py",
        "replace(self.of, cval=0.0 if unknown else 1.0)",
        "replace(self.of, cval=1.0)",
        (BACKEND + "convolve_nan.py::test_a_nan_outside_is_none_of_what_is_known[cpu]",),
        "what is not known outside counts",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        ' or (how.boundary == "constant" and math.isnan(cval))',
        "",
        (BACKEND + "convolve_nan.py::test_a_nan_outside_is_none_of_what_is_known[cpu]",),
        "integers with nothing known outside",
    ),
    Mutant(
        "footprint/kernels/convolve/cpu.py",
        "top, filled = start, filled - (start - top)",
        "top, filled = start, filled - (start - top) + 1",
        (BACKEND + "convolve_dtypes.py::test_many_rows_of_integers_are_shared_among_threads[u1]",),
        "a row of a converted strip that is not there",
    ),
    Mutant(
        "footprint/kernels/volume/cpu.py",
        "and z + z0 + depth <= image_depth",
        "and z + z0 + depth <= image_depth + 1",
        (BACKEND + "convolve_axes.py::test_volumes_of_awkward_shapes[cpu-shape2-mask_shape2]",),
        "a plane beyond the last",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "tuple(-n if flip else n for n in how.origin)",
        "tuple(n for n in how.origin)",
        (BACKEND + "convolve_axes.py::test_origins_are_ndimages[cpu-mirror]",),
        "the origin of a turned mask",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "not flip and complex_mask",
        "complex_mask",
        (BACKEND + "convolve_complex.py::test_complex_numbers_are_scipys[cpu-c8-c8]",),
        "a convolution takes the conjugate",
    ),
    Mutant(
        "footprint/ops/complex_sums.py",
        "replace(self.of, cval=0.0) if number else self.of",
        "self.of",
        (BACKEND + "convolve_complex.py::test_what_lies_outside_is_real[cpu]",),
        "the constant outside has an imaginary part",
    ),
    Mutant(
        "footprint/ops/convolve.py",
        "lo, hi = -first, first + taps - 1",
        "lo, hi = -first, first + taps - 2",
        (BACKEND + "convolve.py::test_blocks_of_rows_equal_the_whole_to_the_last_bit[cpu-constant-f4]",),
        "a row short behind",
    ),
    Mutant(
        "footprint/ops/gather.py",
        "high = total - 1 if _meets(first, last, total - 1, period) else high",
        "high = high",
        ("tests/property/test_gather.py::test_a_continued_line_takes_exactly_what_its_part_shows",),
        "what mirrors never turns at the end",
    ),
    Mutant(
        "footprint/ops/gather.py",
        "return int(some[:, 0].min()), int(some[:, 1].max()) + 1",
        "return int(some[:, 0].min()), int(some[:, 1].max())",
        ("tests/property/test_gather.py::test_a_list_takes_at_least_what_its_part_names",),
    ),
    Mutant(
        "footprint/ops/gather.py",
        "-(-size // self.each) + (self.each > 1)",
        "-(-size // self.each)",
        ("tests/property/test_gather.py::test_a_list_takes_at_least_what_its_part_names",),
        "room for a part that begins with a stretch only",
    ),
    Mutant(
        "footprint/ops/vertical_shift.py",
        "whole = np.floor(shifts, dtype",
        "whole = np.trunc(shifts, dtype",
        ("tests/null/test_halos.py::test_a_shift_is_whole_rows_and_a_rest_from_0_to_1",),
        "negative shifts are cut towards 0",
    ),
    # -- files ---------------------------------------------------------------------------------------------------------
    Mutant(
        FITS,
        "zero == (-128 if bits == 8 else 2.0 ** (bits - 1))",
        "zero != 0",
        (UNIT + "io_image.py::test_fits_integers_with_another_zero",),
        "any BZERO flips the top bit",
    ),
    Mutant(FITS, "            values *= self._scale\n", "", (UNIT + "io_image.py::test_fits_scaled_with_blank",), "BSCALE"),
    Mutant(
        FITS,
        "            values += self._zero\n",
        "            pass\n",
        (UNIT + "io_image.py::test_fits_scaled_with_blank",),
        "BZERO",
    ),
    Mutant(FITS, "values[stored == self._blank] = np.nan", "pass", (UNIT + "io_image.py::test_fits_scaled_with_blank",), "BLANK"),
    Mutant(FITS, '64: ">i8", -32: ">f4"', '64: ">i8", -32: "<f4"', (UNIT + "io_image.py::test_fits_of_every_type",), "byte order"),
    Mutant(
        RAW,
        "            out.byteswap(inplace=True)\n",
        "            pass\n",
        (UNIT + "io_image.py::test_fits_of_every_type",),
        "byte order of rows read in place",
    ),
    Mutant(
        RAW,
        "self._read_rows(i * self.shape[1] + rows.start, out[i - start])",
        "self._read_rows(i * self.shape[1], out[i - start])",
        (UNIT + "io_image.py::test_fits_of_every_type",),
        "offset of rows",
    ),
    Mutant(
        RAW,
        "at = self.offset + start * step + rows.start * self.row_bytes",
        "at = self.offset + rows.start * self.row_bytes",
        (UNIT + "io_chunks.py::test_rows_that_lie_as_they_are_take_one_call_a_frame",),
        "rows of later frames read at once",
    ),
    Mutant(
        "footprint/io/chunks.py",
        "(at + (first - y * high) * row for at",
        "(at + first * row for at",
        (UNIT + "io_chunks.py::test_rows_that_lie_as_they_are_take_one_call_a_frame",),
        "rows of chunks read at once",
    ),
    Mutant(
        "footprint/io/tiff.py",
        "[int(w) if w.isdigit() else w for w in",
        "[w for w in",
        (UNIT + "io_scan.py::test_tiff",),
        "page 10 before page 9",
    ),
    Mutant(
        "footprint/io/nxtomo.py", "keep &= kinds != -1", "keep &= kinds != -2", (UNIT + "io_scan.py::test_key_tells_frames_apart",)
    ),
    Mutant(
        "footprint/io/nxtomo.py",
        "values = values[index]",
        "values = values[: len(index)]",
        (UNIT + "io_scan.py::test_key_tells_frames_apart",),
    ),
    Mutant(
        "footprint/io/angles.py",
        "radians = values * _UNITS[unit or named]",
        "radians = 1.0 * values",
        (UNIT + "io_scan.py::test_angle_units",),
    ),
    # -- words and numbers -----------------------------------------------------------------------------------------------
    Mutant(
        UNITS,
        '_SCALE[_letter + "B"] = 1000**_power',
        '_SCALE[_letter + "B"] = 1024**_power',
        ("tests/null/test_units.py::test_reads",),
        "4GB is 4GiB",
    ),
    Mutant(UNITS, "share = number / 100", "share = number", ("tests/null/test_units.py::test_reads",)),
    Mutant(UNITS, "if not 0 < share <= 1:", "if not 0 <= share <= 1:", ("tests/null/test_units.py::test_refuses",)),
    Mutant(UNITS, "if not 1 <= size < 2**63:", "if not size < 2**63:", ("tests/null/test_units.py::test_refuses",)),
    Mutant(
        UNITS,
        'if abs(n) < 1024 or unit == "EiB":',
        'if abs(n) <= 1024 or unit == "EiB":',
        ("tests/null/test_units.py::test_writes",),
    ),
    Mutant(
        ERRORS,
        "return type(self), (self.budget, self.terms, self.smallest, self.what, self.fix)",
        "return type(self), (self.budget, self.terms, self.budget, self.what, self.fix)",
        (UNIT + "errors.py::test_errors_travel",),
    ),
    Mutant(
        ERRORS,
        "    error.__dict__.update(values)\n",
        "",
        (UNIT + "errors.py::test_errors_travel",),
        "errors lose their parts on the way",
    ),
    Mutant(
        "footprint/spec.py",
        "checks = (\n            (self.family == wanted.family and self.host == wanted.host,",
        "checks = (\n            (True,",
        ("tests/null/test_plan_binding.py::test_a_plan_for_more_than_the_device_has_is_refused",),
    ),
    Mutant(
        "footprint/spec.py",
        "return -(-nbytes // align) * align",
        "return nbytes // align * align",
        ("tests/null/test_plan.py::test_a_table_no_step_reads_takes_nothing",),
    ),
    Mutant(
        "footprint/plan/ready.py",
        "SHARE = 0.8",
        "SHARE = 1.0",
        (UNIT + "exit_codes.py::test_without_a_budget_a_job_may_take_four_fifths_of_what_is_free",),
        "all of the free memory",
    ),
    # -- runs that go on ---------------------------------------------------------------------------------------------------
    Mutant(
        "footprint/io/unfinished.py",
        "            if before != now:",
        "            if False:",
        (UNIT + "resume.py::test_another_job_is_refused_by_name",),
        "a run goes on with another's slices",
    ),
    Mutant(
        "footprint/io/volume.py",
        "            unfinished.start({**self._facts, **facts})",
        "            unfinished.known = {**self._facts, **facts}",
        (UNIT + "resume.py::test_a_stopped_run_goes_on_to_the_same_bits",),
        "a journal that is not written down",
    ),
    Mutant(
        "footprint/io/unfinished.py",
        "            if not self.known or not self.path.exists():",
        "            if not self.path.exists():",
        (UNIT + "resume.py::test_torn_journals",),
        "rows of a job that nobody knows",
    ),
    # -- the command line ------------------------------------------------------------------------------------------------
    Mutant(
        MAIN,
        "def _fail(sentence: str, code: int = 2)",
        "def _fail(sentence: str, code: int = 1)",
        (UNIT + "exit_codes.py::test_an_error_is_a_sentence_and_a_code",),
        "exit code of a mistake",
    ),
    Mutant(
        MAIN,
        'nothing half-written was left behind.", 130)',
        'nothing half-written was left behind.")',
        (UNIT + "exit_codes.py::test_an_error_is_a_sentence_and_a_code",),
        "exit code of Ctrl-C",
    ),
]
