"""Faults in what becomes of arrays that are more than numbers in memory."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        "footprint/dist/lazy.py",
        "found[at if order is None else order[at]] = reach",
        "found[at] = reach",
        ("tests/unit/test_dask.py::test_colours_of_a_picture",),
        "blocks of a picture get their neighbours' pixels along the colours",
    ),
    Mutant(
        "footprint/dist/dask.py",
        "da.ma.getdata(image), da.ma.getmaskarray(image)",
        "image, None",
        ("tests/unit/test_dask.py::test_what_is_masked_and_weighed_comes_with_the_blocks",),
        "blocks of a masked image that have nothing masked are summed as those of a plain one",
    ),
    Mutant(
        "footprint/dist/dask.py",
        "+ (move if verb",
        "- (move if verb",
        ("tests/unit/test_door.py::test_dask_arrays_stay_lazy",),
        "blocks under a mask that is moved get rows of the wrong side",
    ),
    Mutant(
        "footprint/dist/door.py",
        "if library.later:",
        "if False:",
        ("tests/unit/test_door.py::test_dask_arrays_stay_lazy",),
        "a Dask array is refused where its verb has a lazy form",
    ),
    Mutant(
        "footprint/api/_arrays.py",
        "    if library.later:",
        "    if False:",
        ("tests/unit/test_door.py::test_verbs_without_a_lazy_form_never_load_what_memory_may_not_hold",),
        "a Dask array is loaded whole without a word",
    ),
    Mutant(
        "footprint/dist/blocks.py",
        "(max(halo.lo, halo.hi),) * 2 if halo.wrap else",
        "(halo.hi, halo.lo) if halo.wrap else",
        ("tests/unit/test_dask.py::test_a_mask_of_even_size_wraps",),
        "what comes from the other end is a row short",
    ),
    Mutant(
        "footprint/api/_labels.py",
        "return array.transpose(*image.dims).data",
        "return array.data",
        ("tests/unit/test_labels.py::test_what_is_beside_an_image_goes_by_names",),
        "a labelled mask goes by position",
    ),
    Mutant(
        "footprint/api/_labels.py",
        "not mine[axis].equals(theirs[axis])",
        "False",
        ("tests/unit/test_labels.py::test_other_names_and_other_coordinates_are_refused",),
        "a mask of other places is taken",
    ),
    Mutant(
        "footprint/api/_labels.py",
        'dims[masks == "each" :]',
        "dims",
        ("tests/unit/test_labels.py::test_masks_go_by_names_where_they_have_the_images",),
        "the axis that counts masks is taken for one of theirs",
    ),
    Mutant(
        "footprint/api/_recall.py",
        "kind_of(array).written(array)",
        "pass",
        ("tests/backend/test_array_kinds.py::test_what_is_changed_in_place",),
        "autograd is not told that a repeated call wrote to a tensor",
    ),
    Mutant(
        "footprint/api/_arrays.py",
        "array_kind(out).written(out)",
        "pass",
        ("tests/backend/test_array_kinds.py::test_strides_on_a_device",),
        "autograd is not told that a call wrote to a tensor",
    ),
    Mutant(
        "footprint/plan/frames.py",
        "else self._see(frame, self._seen)",
        "else np.asarray(frame)",
        ("tests/backend/test_stream.py::test_a_later_frame_has_no_unit",),
        "a later frame loses its unit",
    ),
]
