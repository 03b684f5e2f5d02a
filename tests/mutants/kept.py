"""Faults in what is kept from call to call."""

from __future__ import annotations

from tests.mutants import Mutant

READY = "footprint/plan/ready.py"
EXACT = "footprint/plan/exact.py"
BOUNDED = ("tests/unit/test_ready.py::test_what_is_kept_is_bounded_and_the_oldest_goes_first",)
DEVICES = "tests/unit/test_ready_devices.py::test_"
WITH_PLANS = ("tests/unit/test_ready.py::test_calls_go_with_their_plans",)
NEEDED = ("tests/unit/test_ready.py::test_what_is_kept_is_given_up_where_a_plan_needs_it",)
COUNTED = tuple(f"tests/unit/test_ready.py::test_all_that_is_kept_is_counted_and_given_back[{n}]" for n in (3, 4, 5, 6, 7, 8))
KINDS = "tests/backend/test_array_kinds.py"
LONG = ("tests/property/test_calls.py::test_a_long_table_is_known_again_by_its_bytes",)
TABLES = ("tests/property/test_calls.py::test_tables_that_look_alike",)
NUMBERS = ("tests/property/test_calls.py::test_numbers_that_look_alike",)
TEXTS = ("tests/property/test_calls.py::test_what_is_equal_and_means_another_thing_has_another_text",)

FITTED = (
    "tests/unit/test_ready.py::test_a_plan_whose_memory_is_too_large_to_keep_is_fitted_once",
    "tests/unit/test_ready.py::test_a_fitted_plan_serves_budgets_it_would_be_chosen_for",
)
CARRIED = ("tests/unit/test_carry.py::test_every_byte_comes_where_it_belongs_and_no_other_is_touched",)
PINS, BUS = "footprint/plan/pins.py", "tests/backend/test_pinned.py::test_"
FRAMES, STREAM = "footprint/plan/frames.py", "tests/backend/test_stream.py::test_"
RESULTS = "footprint/plan/results.py"
PINNED = ("tests/unit/test_ready.py::test_host_memory_outlives_a_plan_that_is_too_large_to_keep",)

PEAK = "tests/memory/test_peak.py::test_"

MUTANTS = [
    Mutant(
        READY,
        "    if plan.footprint.total >= _TRIMMED:",
        "    if plan.footprint.total < 0:",
        (f"{PEAK}what_planning_left_in_the_heap_is_given_back_before_memory_is_taken",),
        "what planning leaves in the heap stays beside the plan's memory",
    ),
    Mutant(
        "footprint/plan/plan.py",
        "b.library(TABLES, sum(array.nbytes for array in constants.values()), bound=False)",
        "b.library(TABLES, 0, bound=False)",
        (f"{PEAK}tables_are_counted_where_they_are_copied_from_too",),
        "tables that constants are copied from are in no plan",
    ),
    Mutant(
        "footprint/backend/memory.py",
        "        if _inside == 1:\n            _set(_OWN)",
        "        if _inside == 1:\n            _set(_LATER)",
        (f"{PEAK}blocks_that_a_library_frees_while_a_file_is_read_go_back",),
        "what a file's library frees stays in heaps",
    ),
    Mutant(
        "footprint/plan/builder.py",
        "shared(array, same[-1])",
        "array",
        ("tests/null/test_plan.py::test_equal_tables_of_several_plans_are_one",),
        "every record of a job has tables of its own",
    ),
    Mutant(
        "footprint/kernels/common/sources.py",
        "            todo += filter(None, (_file(name, root) for name in names))\n",
        "",
        ("tests/unit/test_kernel_sources.py::test_a_kernel_is_made_anew_when_any_text_changes_that_it_hangs_on",),
        "what a kernel takes from other files may change behind its machine code",
    ),
    Mutant(
        FRAMES,
        "                self._backend.wait(there)\n",
        "                pass\n",
        (STREAM + "frames_are_queued_while_results_are_on_their_way",),
        "results of a stream are handed on before they are there",
    ),
    Mutant(
        FRAMES,
        "self._seen - self._taken < self._most or",
        "self._seen - self._taken <= self._most or",
        (STREAM + "frames_are_queued_while_results_are_on_their_way",),
        "a stream has more frames under way than it says",
    ),
    Mutant(
        FRAMES,
        '        there = bound.crossing.latest("write")\n        if there is None:\n',
        '        there = bound.crossing.latest("write")\n        if True:\n',
        (STREAM + "frames_are_queued_while_results_are_on_their_way",),
        "a stream waits for each result before it queues the next frame",
    ),
    Mutant(
        RESULTS,
        "sys.getrefcount(memory[i]) == 2",
        "sys.getrefcount(memory[i]) >= 2",
        ("tests/unit/test_results.py::test_what_anybody_sees_is_not_written_again",),
        "a result that is still held is written again",
    ),
    Mutant(
        RESULTS,
        ">= _EACH:",
        ">= 99:",
        ("tests/unit/test_results.py::test_no_more_is_kept_than_may_be",),
        "results pile up",
    ),
    Mutant(
        RESULTS,
        "self._asked[made.nbytes] == 1 or ",
        "",
        ("tests/unit/test_results.py::test_what_is_let_go_of_is_used_again_by_results_of_that_size",),
        "a result that stays alone is kept",
    ),
    Mutant(
        READY,
        "            RESULTS.clear()\n",
        "",
        ("tests/unit/test_results.py::test_a_budget_counts_it_as_free_and_memory_that_is_short_has_it_back",),
        "memory that is short does not have back what results left",
    ),
    Mutant(
        PINS,
        "if known.crossed > _OFTEN * known.nbytes and",
        "if",
        (BUS + "arrays_that_cross_again_are_pinned_and_cross_as_they_lie",),
        "an array that crosses once is pinned",
    ),
    Mutant(
        PINS,
        "                weakref.finalize(owner, self._gone, key).atexit = False\n",
        "",
        (BUS + "pages_go_with_the_array",),
        "pages stay pinned when their array is gone",
    ),
    Mutant(
        PINS,
        "    while isinstance(array.base, np.ndarray):\n        array = array.base\n",
        "",
        (BUS + "rows_that_lie_apart_cross_in_one_transfer",),
        "views of one array are not known as its own",
    ),
    Mutant(PINS, "array if array.flags.owndata else None", "array", (BUS + "what_cannot_be_pinned_crosses_as_before",)),
    Mutant(
        PINS, "                break\n", "                pass\n", (BUS + "no_more_is_pinned_than_may_be",), "all give way to one"
    ),
    Mutant(
        "footprint/plan/cross.py",
        "if together or (backend.in_rows and _ROW <= where.run <= where.stride):",
        "if together:",
        (BUS + "rows_that_lie_apart_cross_in_one_transfer",),
    ),
    Mutant(
        FRAMES,
        "            if read is not None:\n                backend.wait(read)\n",
        "",
        (BUS + "a_frame_has_been_read_when_the_next_is_asked_for",),
        "a frame is overwritten while it crosses",
    ),
    Mutant(
        READY,
        "if not READY.kept() and not PINS.nbytes:",
        "if not READY.kept():",
        (BUS + "memory_that_is_short_gives_pinned_arrays_up",),
        devices="cpu",
    ),
    Mutant(
        "footprint/kernels/common/kept.py",
        "hexdigest()[:32]",
        "hexdigest()[:0]",
        ("tests/unit/test_jit.py::test_processes_that_compile_at_once_keep_each_their_own_code",),
        "one signature's code is written over another's",
    ),
    Mutant(
        "footprint/kernels/common/kept.py",
        "data if found == self._whole(key) else None",
        "data",
        ("tests/unit/test_jit.py::test_code_of_another_signature_or_cut_short_is_compiled_anew",),
    ),
    Mutant(
        "footprint/api/_arrays.py",
        'and (self.device != "cpu" or self.data.dtype.isnative)',
        'or self.device != "cpu"',
        ("tests/backend/test_array_kinds.py::test_strides_of_other_arguments_and_in_place[cupy]",),
        "strides on a device are not looked at",
    ),
    Mutant(READY, "return fits and self.plan", "return fits or self.plan", FITTED, "a plan serves a budget it does not fit"),
    Mutant(READY, "if self.budget == budget:", "if True:", FITTED, "a plan serves any budget"),
    Mutant(
        "footprint/api/_call.py",
        "if kept is not None and kept.plan is not plan and kept.plan != plan:",
        "if False:",
        ("tests/unit/test_ready.py::test_several_devices_find_their_plans_again",),
        "a device runs another plan than the first",
    ),
    Mutant("footprint/plan/carry.py", "first = number * self.transfer - self.lead", "first = number * self.transfer", CARRIED),
    Mutant("footprint/kernels/carry/cpu.py", "there = base + row * stride + (at - row * run)", "there = base + at", CARRIED),
    Mutant("footprint/kernels/carry/cpu.py", "_stream(to + head, of + head, blocks)", "_stream(to + head, of, blocks)", CARRIED),
    Mutant(
        READY,
        "self._devices * (self._limit or 0)",
        "(self._limit or 0)",
        (DEVICES + "a_job_on_two_devices_may_keep_as_much_on_each",),
        "devices of one job share what one may keep",
    ),
    Mutant(READY, "        self._unpin(device)\n", "", PINNED, "pinned memory that is replaced stays counted"),
    Mutant(READY, "for one in self._pinned.get(device, ())) != sizes", "for one in self._pinned.get(device, ())) == ()", PINNED),
    Mutant(READY, "if alone or bound.held > most or", "if alone or bound.held > 2 * most or", BOUNDED),
    Mutant(
        READY,
        "while self._on[device][0] > most * self._devices",
        "while self._on[device][0] > self._room",
        (DEVICES + "a_device_with_much_memory_keeps_a_share_of_it",),
        "plans on the host fill what a GPU may keep",
    ),
    Mutant(
        READY,
        "given_up.append(self._drop(next(iter(self._idle))))",
        "given_up.append(self._drop(next(reversed(self._idle))))",
        (DEVICES + "a_device_with_much_memory_keeps_a_share_of_it",),
        "the newest of all is given up first",
    ),
    Mutant(
        READY,
        "next(k for k, b in self._idle.items() if",
        "next(k for k, b in reversed(self._idle.items()) if",
        BOUNDED,
        "the newest of a device is given up first",
    ),
    Mutant(
        READY,
        "    READY.give_up()\n    PINS.clear()\n",
        "    PINS.clear()\n",
        ("tests/unit/test_ready.py::test_what_is_kept_is_given_up_before_an_allocation_fails",),
    ),
    Mutant(READY, "if known.key == key]", "if known.key != key]", WITH_PLANS, "calls stay when their plan goes"),
    Mutant(READY, "if known.key not in self._idle or look", "if look", WITH_PLANS, "calls are remembered whose plan is not kept"),
    Mutant(READY, "        self.give_up()\n        PINS.clear()\n", "        PINS.clear()\n", WITH_PLANS, "clear keeps plans"),
    Mutant(READY, "            self._remembered += nbytes\n", "", WITH_PLANS, "what is known of calls is not counted"),
    Mutant(
        READY,
        "free is not None and plan.footprint.total > SHARE * free",
        "free is not None and plan.footprint.total > 4 * free",
        NEEDED,
        "what is kept is counted as free and not given up",
    ),
    Mutant(
        READY,
        "(settings.kept_bytes() if self._limit is None else self._limit)",
        "settings.kept_bytes()",
        ("tests/unit/test_ready.py::test_the_limit_is_a_size",),
        "the limit shown is not the one in force",
    ),
    Mutant("footprint/plan/bind.py", " + _objects(plan)\n", "\n", COUNTED, "Python's objects are free"),
    Mutant(EXACT, "{value.shape}, {_digest_of(value)})", "{value.shape}, {value!r})", TABLES, "the middle of tables is left out"),
    Mutant(
        EXACT,
        "    raise _UnknownError\n\n\nclass",
        "    return repr(value)\n\n\nclass",
        (*TABLES, *NUMBERS),
        "any type goes by its repr",
    ),
    Mutant(EXACT, "if known == data and", "if len(known) == len(data) and", LONG, "a table as long as the last is the last"),
    Mutant(EXACT, 'f"{value.dtype.str}:{value.tobytes().hex()}"', "repr(float(value))", TEXTS, "float32 for float64"),
    Mutant(
        EXACT,
        "marshal.dumps(values, 2)",
        "marshal.dumps(values)",
        ("tests/property/test_calls.py::test_what_is_the_same_is_told_the_same",),
        "calls that say the same by other objects are not known again",
    ),
    Mutant(EXACT, 'f"{kind.__name__}({repr', 'f"({repr', TEXTS, "a list for a tuple"),
    Mutant(
        "footprint/api/_call.py",
        "exact(op, memory, fft,",
        "exact(op, fft,",
        ("tests/unit/test_ready.py::test_a_byte_is_not_all_there_is",),
        "a plan of another budget",
    ),
    Mutant(
        "footprint/settings.py",
        "return ask(_DECIDE[0]), ask(_DECIDE[1])",
        "return ask(_DECIDE[1]), ask(_DECIDE[1])",
        ("tests/property/test_calls.py::test_the_environment_decides_as_arguments_do",),
        "a plan of other threads",
    ),
    Mutant(
        "footprint/api/_recall.py",
        "found.append((array.shape, array.dtype, flags.c_contiguous or array.strides, flags.writeable))",
        "found.append((array.shape, array.dtype, flags.writeable))",
        ("tests/property/test_calls.py::test_arrays_of_every_layout",),
        "strided arrays are read as if they were contiguous",
    ),
    Mutant(
        "footprint/api/_recall.py",
        "    except MemoryError:\n        return None",
        "    except MemoryError:\n        raise",
        (
            "tests/unit/test_ready.py::test_results_find_what_is_kept_given_up",
            f"{KINDS}::test_kept_memory_is_given_up_before_a_result_finds_no_room",
        ),
        "a repeated call's result finds no room beside what is kept",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "if not kind_of(seen.mask).turns or not (type(seen.mask) is np.ndarray or kind_of(seen.given.data) is not NUMPY):",
        "if not kind_of(seen.mask).turns:",
        (f"{KINDS}::test_masks_from_elsewhere",),
        "a mask is left where it is in the second call",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "mask[::-1] if flip and several",
        "mask if flip and several",
        ("tests/unit/test_small_calls.py::test_a_call_like_an_earlier_one_is_recalled_and_goes_by_its_own_data",),
        "the second call of several masks has them in the other order",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        'words[3] == "interpolate") or has_sum(mask)):',
        'words[3] == "interpolate") or True):',
        ("tests/unit/test_small_calls.py::test_a_recalled_call_is_refused_as_the_first_is",),
        "the second call divides by a sum that is 0",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "_PRODUCTS.get(mask.tobytes(), look)",
        "_PRODUCTS.get(mask[:1].tobytes() * len(mask), look)",
        ("tests/unit/test_small_calls.py::test_a_mask_that_is_to_be_taken_apart_is_found_again_by_its_values",),
        "a mask's products are never found again",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "(flip, *words, beside[0] is None, cval, memory, device)",
        "(flip, *words, cval, memory, device)",
        ("tests/unit/test_small_calls.py::test_what_is_masked_is_not_taken_for_weights",),
        "weights are taken for what is masked, if they were that in an earlier call",
    ),
    Mutant(
        "footprint/ops/overlap_save.py",
        "return _by_method(method, op, repr(op.cval),",
        'return _by_method(method, op, "",',
        ("tests/unit/test_small_calls.py::test_the_method_found_for_a_shape_keeps_the_border_of_each_operation",),
        "0 stands outside where -0 was asked for",
    ),
    Mutant(
        "footprint/backend/arrays.py",
        "        start = array.data_ptr()\n",
        "        start = array.data.ptr\n",
        (f"{KINDS}::test_a_second_call_and_out",),
        "PyTorch's arrays fail with out=",
    ),
    Mutant(
        "footprint/backend/overlap.py",
        "        return first < stop and start < end",
        "        return first < stop and start > end",
        (f"{KINDS}::test_out_that_shares_memory_is_refused_in_every_call",),
    ),
    Mutant(
        "footprint/api/sigma_clip.py",
        'looks("sigma_clip", (sigma, maxiters, strict, memory, device), image)',
        'looks("sigma_clip", (sigma, strict, memory, device), image)',
        ("tests/unit/test_ready.py::test_a_clip_like_an_earlier_one_goes_by_its_own_options_and_pixels",),
        "a second clip makes as many passes as the first was given",
    ),
]
