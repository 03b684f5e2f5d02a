"""Faults in what a bound plan takes of its caller: axes in another order, masks that it was not made for, what lies outside."""

from tests.mutants import Mutant

_HERE = "tests/unit/test_bound_orders.py::"

MUTANTS = [
    Mutant(
        "footprint/plan/handed.py",
        "array = found[key] = array.transpose(given.order)",
        "pass",
        (_HERE + "test_sums_along_some_axes", _HERE + "test_filters_along_some_axes"),
        "a cube is filtered along other axes than were asked for",
    ),
    Mutant(
        "footprint/plan/slots.py",
        "at = [order.index(axis) for axis in range(len(order))]",
        "at = list(order)",
        (_HERE + "test_filters_along_some_axes",),
        "a plan shows its caller another shape than his",
    ),
    Mutant(
        "footprint/api/_call.py",
        "face.direct, face.order",
        "face.direct",
        (_HERE + "test_plans_that_see_other_axes_are_others",),
        "the plan that a call shows is for another caller's axes",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "foretold(name, kind, spec.shape, order)",
        "foretold(name, kind, spec.shape)",
        (_HERE + "test_what_lies_beside_the_image_and_several_masks",),
        "what is masked is that of other pixels",
    ),
    Mutant(
        "footprint/plan/handed.py",
        "if array.dtype is not dtype and array.dtype != dtype:\n                    raise",
        "if False:\n                    raise",
        (_HERE + "test_what_is_not_of_the_plans_shape_and_dtype_is_refused",),
        "what a bound plan copies is cast without a word",
    ),
    Mutant(
        "footprint/ops/of_mask.py",
        "if any(one and not other for one, other in zip(of.equal, equal)):",
        "if False:",
        (_HERE + "test_a_plan_of_equal_weights_takes_no_others",),
        "a plan of equal weights ignores all but one of others",
    ),
    Mutant(
        "footprint/ops/of_mask.py",
        'of.boundary == "constant" and not',
        "False and not",
        (_HERE + "test_a_plan_of_a_product_takes_any",),
        "beyond the sums down of one mask lies what lay beyond another's",
    ),
    Mutant(
        "footprint/ops/of_mask.py",
        "found.rank > of.rank",
        "False",
        (_HERE + "test_a_plan_of_several_products_takes_a_sum_of_as_many",),
        "products that a plan has no place for are left out",
    ),
    Mutant(
        "footprint/ops/of_mask.py",
        " or np.can_cast(kind, wanted)",
        " or True",
        (_HERE + "test_digits_of_a_mask_are_not_dropped",),
        "digits of a mask that the sums hold are dropped",
    ),
    Mutant(
        "footprint/plan/handed.py",
        "if last is None or last[0] != look:",
        "if last is None:",
        (_HERE + "test_a_plan_of_equal_weights_takes_no_others",),
        "every mask is the first that was handed in",
    ),
    Mutant(
        "footprint/api/convolve.py",
        "return planned_sums(shape, mask, False,",
        "return planned_sums(shape, mask, True,",
        (_HERE + "test_a_complex_mask_is_that_of_the_verb", _HERE + "test_an_origin_moves_the_mask_as_the_verb_does"),
        "the plan of a correlation is that of a convolution",
    ),
    Mutant(
        "footprint/api/_lines.py",
        "op, order = operation(make, spec, cval, where(device))",
        "op, order = operation(make, spec, 0.0, where(device))",
        (_HERE + "test_a_constant_outside_is_the_plans",),
        "outside lies 0 whatever is meant",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        'also = " and conjugate" if isinstance(op, ComplexSums) else ""',
        'also = ""',
        ("tests/unit/test_answers.py::test_correlate_says_what_becomes_of_what_is_swapped",),
        "what correlate says to do gives the conjugate of what is wanted",
    ),
    Mutant(
        "footprint/api/_filtered.py",
        "if isinstance(cval, complex | np.complexfloating):",
        "if isinstance(cval, complex):",
        ("tests/unit/test_hints.py::test_what_lies_outside_complex_numbers_is_real",),
        "the imaginary part of what lies outside is dropped",
    ),
]
