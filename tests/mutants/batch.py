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
]
