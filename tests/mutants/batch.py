"""Faults in what jobs of a batch system meet: odd names, limits, inputs that change, streams that are closed, signals."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        "footprint/io/join.py",
        '.replace("%", "%%")',
        "",
        ("tests/unit/test_io_join.py::test_a_percent_sign_in_a_name_is_one",),
        "HDF5 fills in what follows a percent sign in a part's name",
    ),
    Mutant(
        "footprint/io/join.py",
        "if not same:",
        "if False:",
        ("tests/unit/test_io_join.py::test_what_does_not_show_its_parts_is_not_made",),
        "a volume is made that shows none of its parts",
    ),
    Mutant(
        "footprint/cli/streams.py",
        "sys.stderr = _over(sys.stderr, _Told(2",
        "sys.stderr = _over(sys.stderr, io.FileIO(2",
        ("tests/unit/test_batch.py::test_a_job_whose_tables_nobody_can_read_is_done",),
        "a job fails whose tables cannot be written",
    ),
    Mutant(
        "footprint/cli/streams.py",
        "<= 2:",
        "< 0:",
        ("tests/unit/test_batch.py::test_no_output_takes_the_place_of_a_closed_stream",),
        "a file takes the number of a closed stream",
    ),
    Mutant(
        "footprint/cli/streams.py",
        "if found.width >= _LEAST",
        "if True",
        ("tests/unit/test_batch.py::test_a_screen_that_nothing_fits_has_eighty_columns",),
        "a table is drawn a letter a line",
    ),
    Mutant(
        "footprint/io/naming.py",
        "NAMED.extend(str(out.path) for out in outputs)",
        "pass",
        ("tests/unit/test_batch.py::test_figures_that_cannot_be_written_leave_the_result",),
        "nobody says that the result is there",
    ),
    Mutant(
        "footprint/cli/plan.py",
        "product=True",
        "product=False",
        ("tests/unit/test_batch.py::test_a_plan_is_the_product_of_its_command",),
        "a plan cannot be kept in a file",
    ),
    Mutant(
        "footprint/backend/memory.py",
        'elif "memory" in kinds.split(","):',
        "elif False:",
        ("tests/unit/test_cpu_backend.py::test_free_memory_knows_groups_of_version_1",),
        "limits of groups of version 1 are not known",
    ),
    Mutant(
        "footprint/backend/memory.py",
        "_group_free(), _address_free()",
        "_group_free(), None",
        ("tests/unit/test_cpu_backend.py::test_free_memory_knows_the_limit_on_addresses",),
        "a limit on addresses is not known",
    ),
    Mutant(
        "footprint/plan/drive.py",
        "job.begun.wait()",
        "pass",
        ("tests/property/test_plan_drive.py::test_where_a_thread_cannot_start_the_caller_does_every_part_once",),
        "threads take parts of a job that is done in the caller's",
    ),
    Mutant(
        "footprint/plan/drive.py",
        "if isinstance(error, RuntimeError):",
        "if False:",
        ("tests/property/test_plan_drive.py::test_where_a_thread_cannot_start_the_caller_does_every_part_once",),
        "a job fails where no thread can be started",
    ),
    Mutant(
        "footprint/cli/main.py",
        "if allowed and (isinstance",
        "if False and (isinstance",
        ("tests/unit/test_batch.py::test_a_limit_on_addresses_is_named",),
        "libraries that find no room are said to be broken",
    ),
    Mutant(
        "footprint/cli/inputs.py",
        "if time != then and size <= least:",
        "if False:",
        ("tests/unit/test_batch.py::test_an_input_that_is_written_while_it_is_read_is_named",),
        "nobody says that an input has changed",
    ),
    Mutant(
        "footprint/cli/stop.py",
        '("SIGHUP", "SIGXCPU", "SIGUSR1")',
        "()",
        ("tests/unit/test_batch.py::test_what_batch_systems_warn_with_stops_a_job",),
        "a batch system's warning ends a job without cleaning up",
    ),
]
