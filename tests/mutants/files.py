"""Faults in what reads files straight to where their numbers are wanted, and in what shows them."""

from tests.mutants import Mutant

JP2 = "tests/unit/test_io_jp2.py::test_"
PACKED = "tests/unit/test_io_hdf5_packed.py::test_"
CODED = "tests/unit/test_io_coded.py::test_"
DECODER, BUFFERS, CHUNKS, PIECES, CREW = (
    f"footprint/{n}.py" for n in ("kernels/bitshuffle/cpu", "io/coded", "io/chunks", "io/pieces", "plan/crew")
)
UNSHUFFLE = "footprint/kernels/shuffle/cpu.py"
VIEW, PLANES = "footprint/cli/view_server.py", "footprint/io/planes.py"
SHOWN, OF_VOLUME = "tests/unit/test_cli_view.py::test_", "tests/unit/test_planes.py::test_planes_are_those_of_the_volume"
DAMAGE = (CODED + "damaged_blocks_are_refused_and_nothing_beside_them_is_touched",)
VALUES = (CODED + "rows_of_all_dtypes_equal_those_of_hdf5",)
BLOCKS = (CODED + "only_blocks_that_hold_the_rows_are_read",)
IMAGES = "tests/unit/test_io_direct.py::test_images_of_every_kind_go_to_the_disk_whatever_their_rows"
NAMES = "tests/unit/test_io_output.py::test_all_names_are_given_or_none_however_a_run_ends"

MUTANTS = [
    Mutant(
        "footprint/io/tiff_pages.py",
        "if at == remembered:",
        "if at >= remembered:",
        ("tests/unit/test_hostile_files.py::test_pages_that_lead_back_to_one_before",),
        "a page after the one that is remembered passes for it",
    ),
    Mutant(
        "footprint/io/picture.py",
        "if not stat.S_ISREG(os.stat(path).st_mode):",
        "if False:",
        ("tests/unit/test_hostile_files.py::test_a_pipe_is_named_as_one_and_nobody_waits_for_it",),
        "who asks whether a pipe is a picture waits for its writer",
    ),
    Mutant(
        "footprint/errors.py",
        "level, frame = level + 1, frame.f_back",
        "level, frame = level, frame.f_back",
        ("tests/unit/test_errors.py::test_warnings_name_the_line_that_called",),
        "warnings name a line of ours",
    ),
    Mutant(
        "footprint/cli/finished.py",
        "for name in asked if (name in said) != (name in now)",
        "for name in ()",
        ("tests/unit/test_cli_outputs.py::test_a_finished_volume_is_not_resumed_and_says_what_it_was_made_with",),
        "a setting that a finished volume has and this job has not is passed over",
    ),
    Mutant(
        "footprint/api/_resume.py",
        "if is_dataclass(inner) and not isinstance(inner, type):",
        "if False:",
        ("tests/unit/test_resume.py::test_numbers_of_an_iterative_method_are_compared_too",),
        "a stopped run of SIRT goes on with other angles",
    ),
    Mutant(
        "footprint/io/raw.py",
        "(min(first, at), max(last, at + nbytes))",
        "(at, at + nbytes)",
        ("tests/unit/test_io_volume.py::test_a_large_volume_goes_to_the_disk_while_it_is_written",),
        "only the last piece written is let go of",
    ),
    Mutant(
        "footprint/io/stacks.py",
        "early=rows.stop < last",
        "early=True",
        ("tests/unit/test_io_chunks.py::test_what_comes_later_is_inflated_and_checked_later",),
        "the checksums of a compressed scan are never reached",
    ),
    Mutant(
        "footprint/api/_way.py",
        "return least if _seconds(least) < _FAR * _seconds(found[-1]) else found[-1]",
        "return found[-1]",
        ("tests/unit/test_io_chunks.py::test_slices_are_not_kept_whole_where_that_decodes_a_scan_once_for_each",),
        "a gzipped scan is decoded once for every slice, where parts of slices would do with a few times",
    ),
    Mutant(
        "footprint/io/direct.py",
        "return first, done",
        "return first, last",
        ("tests/unit/test_io_direct.py::test_what_is_refused_is_written_the_ordinary_way",),
        "what a disk did not take is missing from a volume",
    ),
    Mutant(
        "footprint/io/raw.py",
        "            i, lead = i + n, 0",
        "            i += n",
        (IMAGES,),
        "pieces after the first lie where a disk does not take them",
    ),
    Mutant(
        "footprint/io/npy.py",
        "(offset - np.lib.format.MAGIC_LEN - 2)",
        "(offset - np.lib.format.MAGIC_LEN)",
        (IMAGES,),
        "a lengthened header says the wrong length",
    ),
    Mutant(
        DECODER, "if distance == 0 or distance > to - start:", "if distance == 0:", DAMAGE, "what lies before a block is repeated"
    ),
    Mutant(DECODER, "if count < 0 or count + 4 > stop - to:", "if count < 0:", DAMAGE, "repeats run past a block"),
    Mutant(DECODER, "if stored > min(layout.size - pos - 4, most):", "if stored > layout.size:", DAMAGE, "a block past its chunk"),
    Mutant(
        BUFFERS, "[: box.src // layout.block // stride + 1]", "[: box.src // layout.block + 1]", BLOCKS, "starts behind the rows"
    ),
    Mutant(
        BUFFERS,
        "guess = (-(-box.last // layout.block) - block)",
        "guess = (blocks - block)",
        BLOCKS,
        "reads on to the end of chunks",
    ),
    Mutant(UNSHUFFLE, "width - 1 - plane if swap else plane", "plane", VALUES, "bytes of planes in the file's order"),
    Mutant(
        UNSHUFFLE, "swap else plane, plane == 0, box", "swap else plane, first == 0, box", VALUES, "each byte clears the others"
    ),
    Mutant(
        UNSHUFFLE,
        "    return (dst + box.length) * width <= out.size",
        "    return dst * width <= out.size",
        (CODED + "bytes_that_were_shuffled_go_nowhere_else",),
        "elements are written beyond their memory",
    ),
    Mutant(
        "footprint/cli/nabu.py",
        "if key == _MEMORY[0] and amount is not None:",
        "if False:",
        ("tests/unit/test_cli_peers.py",),
        "a share of the memory becomes gigabytes",
    ),
    Mutant(
        "footprint/io/output.py",
        "if found and not packed:",
        "if found:",
        ("tests/unit/test_io_volume.py::test_what_is_compressed_may_fit_after_all",),
        "what is compressed is refused for its size before",
    ),
    Mutant(PIECES, "(length == high * wide and to.frame == length)", "length == high * wide", VALUES, "frames run into each other"),
    Mutant(
        CHUNKS,
        "        if mask:\n            with self._cache",
        "        if False:\n            with self._cache",
        (CODED + "filters_that_were_skipped_and_blocks_of_other_sizes",),
        "what no filter was used on is decoded",
    ),
    Mutant(
        "footprint/io/hdf5.py",
        "return bool(plain) and dataset.file.userblock_size == 0",
        "return True",
        (CODED + "what_lies_elsewhere_is_read_by_hdf5",),
        "numbers that are not NumPy's are taken as they lie",
    ),
    Mutant(
        CREW,
        "                raise error\n            finally",
        "                pass\n            finally",
        (CODED + "the_first_error_ends_all_and_nobody_is_waited_for_who_has_not_come",),
        "an error of a thread is lost",
    ),
    Mutant(
        VIEW,
        'or self.headers["Host"] not in self.server.hosts',
        "or False",
        (SHOWN + "other_names_of_this_machine_are_refused",),
        "any name is served",
    ),
    Mutant(
        VIEW,
        'return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), kept.encode())',
        "return bool(given) and kept.startswith(given)",
        (SHOWN + "only_the_token_opens",),
        "a part of the token opens",
    ),
    Mutant(VIEW, '            self._once = ""\n', "", (SHOWN + "an_address_that_serves_once",), "it serves again"),
    Mutant(PLANES, "(slice(a // k * k, b, k) for", "(slice(a, b, k) for", (OF_VOLUME,), "blocks follow the box"),
    Mutant(PLANES, "use = weight > 0", "use = weight >= 0", (OF_VOLUME,), "a neighbour without weight is NaN"),
    Mutant(
        CHUNKS,
        "first = -(-down.start // step) * step",
        "first = down.start // step * step",
        (OF_VOLUME,),
        "rows of the chunk before",
    ),
    Mutant(
        "footprint/io/zarr_frames.py",
        "return int(np.ravel_multi_index(inside, chunks)) * self.deep if lead else 0",
        "return 0",
        ("tests/unit/test_planes.py::test_chunks_of_zarr_that_were_never_written_and_axes_before_slices",),
        "all times of a chunk are the first",
    ),
    Mutant(
        "footprint/io/zarr_frames.py",
        "shard, chunks = chunks, tuple(",
        "shard, _ = chunks, tuple(",
        ("tests/unit/test_planes.py::test_of_a_shard_a_chunk_is_held",),
        "a shard is read whole",
    ),
    Mutant(
        "footprint/io/join.py",
        "    if a < stop:",
        "    if a < start:",
        ("tests/unit/test_io_join.py::test_parts_of_different_volumes_are_refused",),
        "rows that are in two parts",
    ),
    Mutant(
        "footprint/io/jp2.py",
        "        if i != self._number:",
        "        if i > self._number:",
        (JP2 + "slices_of_different_sizes_are_no_volume", JP2 + "slices_are_those_that_another_decoder_reads"),
        "the slice before is the one that was decoded last",
    ),
    Mutant(
        "footprint/io/pile.py",
        "        if packed:\n            self.packed",
        "        if packed and not self.packed[number]:\n            self.packed",
        (PACKED + "any_order_threads_and_stop_make_the_same_file",),
        "of a chunk that was written twice the first counts",
    ),
    Mutant(
        "footprint/io/hdf5_packed.py",
        "self.whole = begun and",
        "self.whole = False and",
        (PACKED + "any_order_threads_and_stop_make_the_same_file",),
        "a file that was whole and had no name yet is emptied",
    ),
    Mutant(
        "footprint/io/hdf5_packed.py",
        "            raise taken.gone()",
        "            pass",
        (PACKED + "a_full_disk_is_an_error_and_no_crash",),
        "chunks that the disk had no room for are missing from the file",
    ),
    Mutant(
        "footprint/kernels/bitshuffle/encode.py",
        "        if _load32(src + seen) != word or seen >= i:",
        "        if seen >= i:",
        (PACKED + "the_numbers_are_those_that_h5py_reads",),
        "bytes of the same hash pass for the same bytes",
    ),
    Mutant(
        "footprint/io/volume.py",
        "                self._sink.close()\n            self._out.discard()",
        "                self._sink.finish()\n            self._out.discard()",
        (JP2 + "a_stopped_run_goes_on_with_rows_of_a_slice",),
        "what came in rows is packed before it is whole",
    ),
    Mutant(
        "footprint/io/jp2.py",
        "return (8 + len(text))",
        "return len(text)",
        (JP2 + "slices_are_those_that_another_decoder_reads",),
        "a box is told to be shorter than it is",
    ),
    Mutant(
        "footprint/ops/job.py",
        "leaner = [given.lean() for",
        "leaner = [False for",
        ("tests/unit/test_io_fits_tiles.py::test_a_budget_smaller_than_a_compressed_image_does",),
        "what was decompressed is held though the budget has no room",
    ),
    Mutant(
        "footprint/io/fits_tiles.py",
        "if where == lead and first <=",
        "if first <=",
        ("tests/unit/test_io_fits_tiles.py::test_planes_of_a_cube_in_tiles",),
        "a band of tiles is that of another plane",
    ),
    Mutant(
        "footprint/io/tile_sizes.py",
        "told > most or",
        "told < 0 or",
        ("tests/unit/test_io_fits_tiles.py::test_a_gzipped_tile_of_more_than_its_pixels_is_refused_before_it_is_inflated",),
        "what a tile says of its size is not heard",
    ),
    Mutant(
        "footprint/io/tile_sizes.py",
        "return done > most",
        "return False",
        ("tests/unit/test_io_fits_tiles.py::test_a_gzipped_tile_of_more_than_its_pixels_is_refused_before_it_is_inflated",),
        "a trailer that does not tell the truth is believed",
    ),
    Mutant(
        "footprint/io/catalog.py",
        "return _from_votable(path)",
        'return Table.read(path, format="votable")',
        ("tests/unit/test_io_catalog.py::test_a_votable_tells_noise_threshold_and_beam",),
        "what a VOTable says of its table is not read",
    ),
    Mutant(
        "footprint/io/formats.py",
        'if part in ("", None) or word == self.parts:',
        "if True:",
        ("tests/unit/test_io_image.py::test_a_part_that_a_format_does_not_have_is_no_other_part",),
        "a name's part that a format does not have is left out, and another image read",
    ),
    Mutant(
        "footprint/io/colour_tiff.py",
        'if info.get("orientation", 1) != 1 else []',
        'if info.get("orientation", 1) == 0 else []',
        ("tests/unit/test_cli_pictures.py::test_which_way_is_up_is_kept_between_formats",),
        "a photograph lies on its side as TIFF",
    ),
    Mutant(
        "footprint/kernels/common/kept.py",
        "raise KeyboardInterrupt from None",
        "raise",
        ("tests/unit/test_jit.py::test_a_stop_that_llvm_drops_is_a_stop",),
        "Ctrl-C while a kernel is compiled ends in Numba's RuntimeError",
    ),
    Mutant(
        "footprint/api/_beam.py",
        "gain = _gain(unit or unit_of(header), areas)",
        "gain = _gain(unit_of(header), areas)",
        ("tests/backend/test_match_beam.py::test_a_quantity_has_its_own_unit",),
        "a Quantity in Jy/beam is matched as if it were by the pixel",
    ),
    Mutant(
        "footprint/api/_beam.py",
        "return _sampled(between, inverse @ _covariance(told(steps)) @ inverse.T, _FEW) is not None",
        "return True",
        ("tests/backend/test_match_beam.py::test_the_round_beam_that_a_refusal_names_will_do[30.0]",),
        "a refusal names a beam that is refused, too",
    ),
    Mutant(
        "footprint/api/_arrays.py",
        '"cpu", library.resolved(array)',
        '"cpu", array',
        ("tests/unit/test_handed_over.py::test_the_sign_of_a_tensor_may_be_a_flag",),
        "the imaginary part of a conjugate has the wrong sign",
    ),
    Mutant(
        "footprint/io/tiff_bands.py",
        "if self._last is None or self._last[0] != key:",
        "if True:",
        ("tests/unit/test_io_tiff_bands.py::test_blocks_of_rows_decode_every_tile_once_and_hold_no_page",),
        "every block of rows decodes its tiles anew",
    ),
    Mutant(
        "footprint/io/tiff_bands.py",
        "start = (plane * -(-self._n_z // self.high) + at) * across",
        "start = (plane * (self._n_z // self.high) + at) * across",
        ("tests/unit/test_io_tiff_bands.py::test_rows_are_those_of_the_page",),
        "planes of a page begin where the one before has not ended",
    ),
    Mutant(
        "footprint/io/naming.py",
        "signal.signal(number, lambda number, frame: came.append(number))",
        "pass",
        (NAMES,),
        "a stop leaves a result set aside",
    ),
    Mutant(
        "footprint/io/naming.py",
        "with _Note(moves if len(moves) > 1 else []):",
        "with _Note([]):",
        (NAMES,),
        "a run that was killed leaves some of its outputs without names",
    ),
    Mutant(
        "footprint/io/naming.py",
        "(move.old is not None or not os.path.lexists(move.target))",
        "True",
        ("tests/unit/test_io_output.py::test_a_name_that_was_taken_since_a_run_was_killed_is_left_alone",),
        "what a killed run was to name takes the name of another's file",
    ),
    Mutant(
        "footprint/io/inflated.py",
        "self._recent[min((number & -number).bit_length(), _STEPS) - 1] = point",
        "pass",
        ("tests/unit/test_io_chunks.py::test_going_back_a_little_in_a_gzip_file_inflates_little",),
        "a gzipped image is inflated from its beginning for every part",
    ),
    Mutant(
        "footprint/api/_image.py",
        "return None if seconds is None else lambda shape: seconds(shape[0])",
        "return None",
        ("tests/unit/test_io_chunks.py::test_a_plan_foretells_what_decompressing_an_image_takes",),
        "a plan does not foretell what decompressing an image takes",
    ),
    Mutant(
        "footprint/cli/join.py",
        "as {printable(target)}",
        "as {target}",
        ("tests/unit/test_cli_outputs.py::test_no_name_of_a_joined_volume_or_a_configuration_moves_the_terminal",),
        "the name of a joined volume moves the terminal",
    ),
]
