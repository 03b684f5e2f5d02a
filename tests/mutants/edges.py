"""Faults in what is taken of what callers hand in: units, masks, memory that is not theirs to write to."""

from tests.mutants import Mutant

_BOUND = "tests/unit/test_bound_plans.py"
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
    Mutant(
        "footprint/plan/handed.py",
        "is not np.ndarray or not out.flags.writeable:\n                return False",
        "is not np.ndarray:\n                return False",
        (f"{_BOUND}::test_what_is_not_the_callers_to_write_to_stays_as_it_is",),
        "a bound plan writes to memory that is read-only",
    ),
    Mutant(
        "footprint/plan/handed.py",
        "                if np.may_share_memory(array, out):\n                    return False\n                if",
        "                if",
        (f"{_BOUND}::test_results_go_to_memory_of_their_own",),
        "a bound plan reads what it has written over",
    ),
    Mutant(
        "footprint/plan/handed.py",
        "if mask is not None and np.any(mask):",
        "if False:",
        (f"{_BOUND}::test_arrays_that_are_more_than_numbers_are_refused",),
        "a bound plan does not see what is masked",
    ),
    Mutant(
        "footprint/dist/blocks.py",
        "    return copied() if hasattr",
        "    return thing if hasattr",
        ("tests/unit/test_dask.py::test_what_was_asked_stays_what_it_was",),
        "what is computed later is what the caller's kernel has become",
    ),
    Mutant(
        "footprint/api/_units.py",
        'elif kind == "b":',
        "elif False:",
        ("tests/unit/test_masks_given.py::test_what_is_advised_for_what_is_masked_can_be_done",),
        "flags that are masked are advised to be NaN, which is True",
    ),
    Mutant(
        "footprint/api/_sides.py",
        "(None if masked is np.False_ else masked), weight",
        "masked, weight",
        ("tests/unit/test_masks_given.py::test_where_nothing_is_masked_no_mask_lies_beside",),
        "where numpy.ma says that nothing is masked, a mask of no axes is looked for",
    ),
    Mutant(
        "footprint/api/remove_stripes.py",
        "if what not in _USED[word] and setting != _USUAL.get(what):",
        "if False:",
        ("tests/backend/test_remove_stripes.py::test_bad_input_is_one_clear_sentence",),
        "what a method of stripes does not use is ignored",
    ),
    Mutant(
        "footprint/api/_arrays.py",
        "        if isinstance(array, list | tuple):\n            refuse_within(array, name)\n",
        "",
        ("tests/unit/test_masks_given.py::test_a_list_holds_nothing_that_is_refused_by_itself",),
        "masks of arrays in a list are dropped",
    ),
    Mutant(
        "footprint/api/_rank.py",
        "2 * max(n, 1) + 1) for",
        "max(n, 1) + 1) for",
        ("tests/backend/test_large_windows.py::test_a_box_far_larger_than_the_image_has_seen_all_of_it",),
        "a box ends before it has seen all of a reflected image",
    ),
    Mutant(
        "footprint/api/_rank.py",
        'if border in ("reflect", "mirror"):',
        "if False:",
        ("tests/backend/test_large_windows.py::test_any_box_is_its_windows_one_after_another",),
        "beyond a mirroring end lie extremes of windows to the wrong side",
    ),
    Mutant(
        "footprint/api/_rank.py",
        'if border in ("reflect", "mirror"):',
        "if True:",
        ("tests/backend/test_large_windows.py::test_any_box_is_its_windows_one_after_another",),
        "extremes at an end stand for pixels that a window beside them does not reach",
    ),
    Mutant(
        "footprint/api/_rank.py",
        '"constant" in modes), AXES',
        "True), AXES",
        ("tests/backend/test_rank_filter.py::test_a_constant_counts_only_where_a_border_is_one",),
        "a constant that nothing uses is refused",
    ),
    Mutant(
        "footprint/ops/muladd.py",
        "if len(steps) == 0 and n:",
        "if len(steps) == 0:",
        ("tests/backend/test_muladd.py::test_empty_arrays_stay_empty",),
        "empty arrays are refused for a region that nobody gave",
    ),
]
