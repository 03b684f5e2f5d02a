"""Faults in the search for plans, in what is said of budgets that are too small, and in how long launches are cut for Ctrl-C."""

from tests.mutants import Mutant

COMFORT = "tests/null/test_comfort.py::test_a_"

MUTANTS = [
    Mutant(
        "footprint/plan/fit.py",
        "if best is not None and (self.tried.again(best) >= _DEAR or self.passes(best)):",
        "if best is not None and self.tried.again(best) >= _DEAR:",
        ("tests/null/test_sources_on_gpus.py::test_what_every_pass_looks_at_crosses_the_bus_once",),
        "an image that a GPU has room for crosses the bus in every pass",
    ),
    Mutant(
        "footprint/plan/fit.py",
        "if not comfort.slow(size.seconds, size.starting, quickest):",
        "if True:",
        (COMFORT + "refusal_names_a_comfortable_budget_beside_the_least", COMFORT + "run_in_far_too_many_parts_warns"),
        "a least budget that is a trap is named alone",
    ),
    Mutant(
        "footprint/plan/fit.py",
        "asked, self.budget = self.budget, total",
        "asked = self.budget",
        (COMFORT + "refusal_names_a_comfortable_budget_beside_the_least",),
        "no better budget is named, as the least is not tried",
    ),
    Mutant(
        "footprint/plan/comfort.py",
        'if slot.kind == "scratch" and reach is not None:',
        "if False:",
        ("tests/null/test_comfort.py::test_what_would_be_more_work_in_parts_stays_whole",),
        "rows are computed twice so that Ctrl-C is seen",
    ),
    Mutant(
        "footprint/plan/comfort.py",
        "// _ALONGSIDE) * _ALONGSIDE, total)",
        "// _ALONGSIDE) * _ALONGSIDE - 1, total)",
        ("tests/null/test_comfort.py::test_a_long_launch_becomes_parts_without_more_memory",),
        "slices that share positions come one at a time",
    ),
    Mutant(
        "footprint/plan/fit.py",
        " and self.tried.total(parts) <= comfort.WORSE * self.tried.total(plan)",
        "",
        ("tests/null/test_comfort.py::test_what_would_take_longer_in_parts_stays_whole",),
        "a job is slowed so that Ctrl-C is seen",
    ),
    Mutant(
        "footprint/kernels/common/turns.py",
        "for first in range(0, units, most):",
        "for first in range(0, 1, most := units):",
        ("tests/null/test_comfort.py::test_a_large_slice_alone_is_done_in_turns_to_the_same_bits",),
        "Ctrl-C waits for a whole slice",
    ),
    Mutant(
        "footprint/ops/pipeline.py",
        "            if more > 0:",
        "            if False:",
        ("tests/null/test_predict.py::test_parts_that_would_retrieve_the_phase_of_many_rows_for_few_slices_are_made_larger",),
        "rows that every part computes again cost nothing",
    ),
    Mutant(
        "footprint/plan/fit.py",
        "not self.tried.at_least(*shape) < FASTER * self.tried.foretold(*best)",
        "False",
        ("tests/null/test_planning.py::test_few_plans_are_recorded_to_choose_among_threads_and_copies",),
        "sizes of parts are recorded on every rung",
    ),
    Mutant(
        "footprint/plan/tried.py",
        "other[0].size >= cuts[0].size]",
        "other[0].size <= cuts[0].size]",
        ("tests/null/test_predict.py::test_parts_that_larger_ones_show_to_be_slower_are_not_recorded",),
        "what smaller parts take is taken for the least that larger ones do",
    ),
    Mutant(
        "footprint/plan/predict.py",
        "if only and cut is cuts[0]:",
        "if False:",
        ("tests/backend/test_sigma_clip.py::test_a_file_is_not_read_through_for_a_sample",),
        "a few rows are foretold to be read as the whole",
    ),
    Mutant(
        "footprint/plan/drive.py",
        "self.plan.parts(self.phase):",
        "self.plan.parts(len(self.plan.phases) - 1):",
        ("tests/backend/test_sigma_clip.py::test_a_file_is_not_read_through_for_a_sample",),
        "a phase for few rows goes through all parts",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/glance.py",
        "start = number * strip - offset",
        "start = number * strip - offset % strip",
        ("tests/backend/test_sigma_clip.py::test_strips_that_are_looked_at_first_change_no_bit",),
        "the sample depends on the parts",
    ),
    Mutant(
        "footprint/kernels/sigma_clip/cpu.py",
        "else size) and not more:",
        "else size):",
        ("tests/backend/test_sigma_clip.py::test_a_pass_begins_at_the_first_row_though_strips_end_before_the_last",),
        "a pass begins behind the last strip that was looked at",
    ),
    Mutant(
        "footprint/api/_blank.py",
        "(budget is None or beside <= budget)",
        "True",
        ("tests/unit/test_hostile_files.py::test_a_chunk_larger_than_the_budget_is_refused_before_it_is_inflated",),
        "a chunk larger than the budget is inflated to look for blanks",
    ),
    Mutant(
        "footprint/cli/loading.py",
        'if product and not getattr(mask, "equal", None):',
        "if False:",
        ("tests/unit/test_cli.py::test_what_is_measured_compiles_and_loads_no_kernel",),
        "kernels of a Gaussian are compiled in the run that is measured",
    ),
    Mutant(
        "footprint/plan/spent.py",
        "self._before = dict(self.seconds)",
        "pass",
        ("tests/unit/test_spent.py::test_passes_wait_for_one_another",),
        "seconds of a pass are counted with those before",
    ),
    Mutant(
        "footprint/plan/tried.py",
        "own._replace(nbytes=own.nbytes + self._beside(cuts))",
        "own",
        ("tests/null/test_predict.py::test_what_one_search_knows_changes_no_other_plan",),
        "rows that are kept are not counted where another search recorded the plan",
    ),
]
