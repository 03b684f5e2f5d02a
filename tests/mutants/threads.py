"""Faults in what threads share, in streams, and in what is foretold."""

from tests.mutants import Mutant

LOST = ("tests/backend/test_device_lost.py::test_a_lost_device_ends_a_run_that_goes_on_to_the_same_bits",)

THREADS = "tests/backend/test_threads.py::test_"
PREDICT = "tests/null/test_predict.py::test_"
FRAMES, BIND, DRIVER, FORETOLD, CREW = (f"footprint/plan/{n}.py" for n in "frames bind drive predict crew".split())

JIT = "footprint/kernels/common/parts.py"
COMPILED = "tests/unit/test_jit.py::test_"

MUTANTS = [
    Mutant(
        "footprint/backend/base.py",
        "    problem.__cause__ = error\n",
        "",
        LOST,
        "what the driver said of a device lost in a lane's thread is not told",
        devices="opencl",
    ),
    Mutant(
        JIT,
        "        return found[::-1]",
        "        return found",
        (COMPILED + "a_kernel_is_optimised_once_with_what_it_calls",),
        "what a kernel calls is linked before the kernel asks for it, and so left out",
    ),
    Mutant(
        JIT,
        "        if context.codegen()._library_class is Part:",
        "        if False:",
        (COMPILED + "a_kernel_is_optimised_once_with_what_it_calls",),
        "every helper is optimised by itself as well",
    ),
    Mutant(
        JIT,
        "a.literal_value == 0 else a",
        "a.literal_value == 1 else a",
        (COMPILED + "a_part_is_compiled_once_for_a_number_that_begins_at_0",),
        "what a sum that begins at 0 is handed to is compiled twice",
    ),
    Mutant(
        JIT,
        "one == two or all(",
        "one == two and all(",
        (COMPILED + "flags_of_kernels_are_numbas",),
        "flags told what they would be untold are others, and what Numba compiled for them is not found",
    ),
    Mutant(
        "footprint/backend/compiling.py",
        "if _running and not _shown:",
        "if _running and not _listeners:",
        ("tests/unit/test_compiling.py::test_a_command_without_a_bar_says_it_as_a_call_does",),
        "commands without a bar compile without a word",
    ),
    Mutant(
        "footprint/backend/notice.py",
        "if not self._said:",
        "if True:",
        ("tests/unit/test_compiling.py::test_calls_from_python_say_once_that_they_compile",),
        "every kernel that is compiled is told of",
    ),
    Mutant(
        "footprint/backend/cpu.py",
        "        if self._before != self._wanted:\n            _numba().write(self._before)",
        "        pass",
        (THREADS + "kernels_in_every_thread_have_the_threads_asked_for_and_the_caller_keeps_its_own",),
        "the caller's number of threads is lost",
    ),
    Mutant(
        FRAMES,
        "del self._memory[: -self._most]",
        "pass",
        (THREADS + "a_stream_keeps_few_arrays_for_results_that_were_let_go",),
        "arrays for results pile up",
    ),
    Mutant(
        FRAMES,
        "            self.cut_off = error\n            return END",
        "            self.fail(error)\n            raise",
        (THREADS + "what_was_finished_before_a_source_failed_is_handed_on_first",),
        "a source's error comes before results that are finished",
    ),
    Mutant(
        FRAMES,
        "return self.running <= self._asks",
        "return self.running == 0",
        (THREADS + "a_stream_is_closed_although_its_source_blocks",),
        "who closes a stream waits for its source",
    ),
    Mutant(
        BIND,
        "        if self.late():\n            threading",
        "        if False:\n            threading",
        (THREADS + "a_job_that_is_stopped_twice_is_left_at_once_and_its_memory_when_its_threads_end",),
        "memory goes while threads use it",
    ),
    Mutant(
        DRIVER,
        "        if i or before < 0 or self.queues[0] or not self.job.shared:\n",
        "        if True:\n",
        ("tests/property/test_plan_drive.py::test_parts_go_to_the_device_that_is_through_with_its_own",),
        "of several devices the one whose threads are quick has most parts",
    ),
    Mutant(
        DRIVER,
        "job.through >= n",
        "True",
        (THREADS + "rows_are_written_in_order_by_several_devices_and_one_block_at_a_time",),
        "several devices write in any order",
    ),
    Mutant(
        FORETOLD,
        "found *= extent(reach[cut.axis], cut, n)",
        "pass",
        (PREDICT + "what_is_read_is_what_was_foretold",),
        "neighbours' rows are not foretold",
    ),
    Mutant(
        FORETOLD,
        'elif not (cut.sums and step.when in ("first", "last")):',
        "elif not cut.sums:",
        (PREDICT + "an_input_without_the_cut_axis_comes_with_every_part_and_a_held_one_with_the_first_of_a_sum",),
        "what comes with every part of a sum is counted once",
    ),
    Mutant(
        "footprint/ops/pipeline.py",
        'f"{name} {taken[name]}"',
        "name",
        ("tests/unit/test_pipeline_names.py::test_two_filters_of_a_chain_have_a_mask_each",),
        "two filters of a chain share a mask",
    ),
    Mutant(
        BIND,
        "        with self._turn:\n            unwatched",
        "        with threading.Lock():\n            unwatched",
        ("tests/null/test_plan_binding.py::test_threads_take_turns_in_one_bound_plan",),
        "two threads run one bound plan",
    ),
    Mutant(
        DRIVER,
        "first, self.error = self.error, None",
        "first = self.error",
        ("tests/property/test_plan_drive.py::test_an_error_that_was_caught_keeps_no_memory",),
        "an error keeps its job's memory",
    ),
    Mutant(
        FRAMES,
        "        self.error, self.cut_off = Stopped(), None\n",
        "",
        ("tests/unit/test_caught.py::test_an_error_that_was_caught_is_gone",),
        "an error of its source keeps a stream's memory",
    ),
    Mutant(
        "footprint/plan/tried.py",
        " <= self.budget) and found.total < late * self._seconds:\n                    self._kept, ",
        " > 0):\n                    vars(self._known)[str(shape)] = plan\n                    self._kept, ",
        ("tests/null/test_planning.py::test_a_plan_of_millions_of_samples_holds_none_of_them",),
        "all plans that were tried are kept",
    ),
    Mutant(
        CREW,
        "error, self._error = self._error, None",
        "error = self._error",
        ("tests/unit/test_io_coded.py::test_the_first_error_ends_all_and_nobody_is_waited_for_who_has_not_come",),
        "an error keeps the memory of those that worked together",
    ),
    Mutant(
        DRIVER,
        "        except BaseException as error:\n            self.fail(error)\n        for bound",
        "        except Exception as error:\n            self.fail(error)\n        for bound",
        ("tests/property/test_plan_drive.py::test_ctrl_c_ends_every_thread",),
        "Ctrl-C leaves threads at work",
    ),
    Mutant(
        "footprint/backend/process.py",
        "    if OPENED:\n",
        "    if not OPENED:\n",
        ("tests/unit/test_fork.py::test_a_forked_process_is_told_to_spawn",),
        "forked processes run what hangs there",
    ),
    Mutant(
        "footprint/plan/ledger.py",
        "return any(a[0] <= b[1] and b[0] <= a[1] for a in one.spans for b in other.spans)",
        "return False",
        ("tests/property/test_plan_poison.py::test_the_ledger_names_both_slots",),
        "the ledger sees no slots of one thread that meet",
    ),
    Mutant(
        "footprint/plan/ledger.py",
        "if self._taken.setdefault(at, number) != number:",
        "if False:",
        ("tests/property/test_plan_poison.py::test_the_ledger_sees_a_copy_taken_a_part_too_early",),
        "the ledger sees no copy that is taken too early",
    ),
    Mutant(
        "footprint/plan/plan.py",
        "apart = phase.flag is not None or number in ends",
        "apart = number in ends",
        ("tests/null/test_plan.py::test_one_part_goes_straight_through_phases_and_their_ends",),
        "what follows passes runs in every one of them",
    ),
    Mutant(
        "footprint/plan/plan.py",
        "elif not here.isdisjoint(touched) or b.phases",
        "elif b.phases",
        ("tests/null/test_plan.py::test_one_part_goes_straight_through_phases_and_their_ends",),
        "what ends a phase runs before the last of its steps",
    ),
    Mutant(
        "footprint/cli/stop.py",
        "if compiling.in_main_thread() and not _dropped.is_set():",
        "if False:",
        ("tests/unit/test_compiling.py::test_a_stop_waits_for_the_compiler_and_a_second_one_does_not",),
        "Ctrl-C breaks the compiler",
    ),
    Mutant(
        "footprint/plan/bind.py",
        "            if self.backend.fault(error) is None:\n                raise",
        "            raise",
        LOST,
        "a lost device's memory is asked for after its error, and that is raised in its place",
        devices="opencl",
    ),
    Mutant(
        "footprint/settings.py",
        'os.environ["GOMP_SPINCOUNT"] = _LOOKS',
        'os.environ["GOMP_SPINCOUNT"] = "300000"',
        ("tests/unit/test_cpu_backend.py::test_threads_without_work_sleep_soon_unless_the_user_says_when",),
        "threads without work keep their cores busy",
    ),
]
