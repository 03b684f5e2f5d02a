"""Faults in what is taken of what callers hand in: units, masks, memory that is not theirs to write to."""

from tests.mutants import Mutant

_UNITS = "tests/unit/test_tables_with_units.py"

MUTANTS = [
    Mutant(
        "footprint/api/_tomo.py",
        'numbers("angles", angles, "rad")\n    if values.ndim',
        'numbers("angles", getattr(angles, "value", angles))\n    if values.ndim',
        (f"{_UNITS}::test_angles_with_a_unit_are_what_they_say",),
        "degrees are read as radians",
    ),
    Mutant(
        "footprint/api/_units.py",
        "        return values.to_value(unit)\n",
        "        return values.to_value(unit) if unit else values.value\n",
        (f"{_UNITS}::test_a_unit_that_means_nothing_here_is_refused",),
        "millimetres are pixels",
    ),
    Mutant(
        "footprint/backend/arrays.py",
        "if array.is_deleted():",
        "if False:",
        ("tests/unit/test_torch_and_jax.py::test_an_array_of_jax_whose_memory_was_given_away_is_refused",),
        "an array whose memory was given away ends the process",
    ),
]
