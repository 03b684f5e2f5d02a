"""Labels against SciPy's, number by number."""

import numpy as np
import pytest

import footprint as fp
from footprint.reference.label import label as reference
from tests.backend.kernels import quick_compiler


def check(mask, connectivity, device, **options):
    labels, count = fp.label(mask, connectivity, device=device, **options)
    wanted, number = reference(mask, connectivity)
    assert count == number and labels.dtype == np.int32 and np.array_equal(labels, wanted)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (13, 11), (97, 131), (300, 64)])
def test_shapes_and_densities(device, rng, shape, connectivity):
    for share in (0, 0.1, 0.4, 0.6, 0.9, 1):
        check(rng.random(shape) < share, connectivity, device)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_shapes_that_join_late(device, connectivity):
    spiral = np.zeros((41, 41), bool)
    for i in range(0, 20, 2):
        spiral[i, i : 41 - i] = spiral[i : 41 - i, 40 - i] = spiral[40 - i, i : 41 - i] = spiral[i + 2 : 41 - i, i] = True
        spiral[i + 2, i : i + 2] = True
    comb = np.zeros((30, 61), bool)
    comb[:, ::2] = comb[-1] = True
    board = np.indices((50, 50)).sum(0) % 2 == 0
    for mask in (spiral, comb, comb[::-1], board, np.eye(33, dtype=bool), np.eye(33, dtype=bool)[::-1]):
        check(mask, connectivity, device)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_short_rows(width, connectivity, rng):
    """Pixel by pixel up to four of them."""
    for share in (0.0, 0.2, 0.5, 0.7, 0.9, 1.0):
        mask = rng.random((3001, width)) < share
        check(mask, connectivity, "cpu")
        check(mask[:7], connectivity, "cpu")


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("width", [63, 64, 65, 127, 128, 129, 200])
def test_runs_that_cross_from_word_to_word(width, alone, monkeypatch, rng):
    """Pixels are looked at by 64 bits; runs begin, end and meet at both sides of where they part."""
    monkeypatch.setattr("footprint.kernels.label.cpu.few", lambda pixels: alone)
    edges = [x for x in (62, 63, 64, 65, 126, 127, 128, 129) if x < width]
    for _ in range(40):
        mask = np.zeros((9, width), bool)
        for row in mask:
            first, last = sorted(rng.choice([0, *edges, width], 2, replace=False))
            row[first:last] = True
            row[rng.choice(edges or [0], 2)] ^= True
        for connectivity in (4, 8):
            check(mask, connectivity, "cpu")
            check(mask[:, ::-1], connectivity, "cpu")


@pytest.mark.parametrize("alone", [False, True])
def test_more_rows_than_bands(device, rng, alone, monkeypatch):
    """By bands whatever the size, and by one thread as small images are."""
    monkeypatch.setattr("footprint.kernels.label.cpu.few", lambda pixels: alone)
    check(rng.random((1031, 37)) < 0.55, 4, device)
    check(rng.random((1031, 37)) < 0.4, 8, device)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", ">i4"])
def test_any_dtype_is_a_mask(device, rng, dtype):
    mask = (rng.integers(-1, 2, (40, 51)) * 256).astype(dtype)
    check(mask, 4, device)
    assert fp.label(np.array([[0.5, np.nan, 0.0]]), device=device)[0].tolist() == [[1, 1, 0]]


def test_lines_views_and_out(rng):
    mask = rng.random((60, 90)) < 0.5
    mask.flags.writeable = False
    check(mask[::2, ::-3], 8, "cpu")
    check(mask.T, 4, "cpu")
    labels, count = fp.label(mask[0], device="cpu")
    assert labels.shape == (90,) and count == reference(mask[:1])[1]
    out = np.empty(mask.shape, np.int64)
    labels, _ = fp.label(mask, out=out, device="cpu")
    assert labels is out and np.array_equal(out, reference(mask)[0])


def test_empty():
    labels, count = fp.label(np.zeros((0, 5), bool), device="cpu")
    assert labels.shape == (0, 5) and count == 0


def test_bad_arguments():
    with pytest.raises(fp.ArgumentError, match="connectivity"):
        fp.label(np.ones((3, 3)), 6, device="cpu")
    with pytest.raises(fp.ShapeError, match="mask"):
        fp.label(np.ones((3, 3, 3)), device="cpu")
    with pytest.raises(fp.ShapeError, match="out"):
        fp.label(np.ones((3, 3)), out=np.zeros((3, 3)), device="cpu")


@pytest.mark.parametrize("connectivity", [4, 8])
def test_in_parts_of_rows_numbers_are_those_of_the_whole(device, connectivity):
    """Components that begin in one part, meet in another and are many in a third."""
    if connectivity == 4:
        quick_compiler(device, "the other connectivity")
    shape = (203, 157) if device == "cpu" else (83, 157)
    y, x = np.indices(shape)
    comb = (x % 2 == 0) | (y == shape[0] - 1)
    masks = [comb, comb[::-1], (x + y) % 2 == 0, (x + y) % 3 == 0, np.random.default_rng(5).random(shape) < 0.4]
    wanted = [reference(mask, connectivity) for mask in masks]
    plan = lambda memory: fp.plan_label(shape, dtype="i2", connectivity=connectivity, memory=memory, device=device)
    with pytest.raises(fp.BudgetError) as caught:
        plan(1)
    whole, parts = plan(None).footprint.total, set()
    for memory in (caught.value.smallest, max(caught.value.smallest, whole // 3)):
        parts.add(plan(memory).n_parts)
        for mask, (labels, count) in zip(masks, wanted):
            try:
                got, number = fp.label(mask.astype("i2"), connectivity, memory=memory, device=device)
            except fp.CapacityError as error:  # which names what would do
                enough = int(str(error).split("memory=")[1].split()[0])
                got, number = fp.label(mask.astype("i2"), connectivity, memory=enough, device=device)
            assert number == count and np.array_equal(got, labels)
    assert max(parts) > 2


@pytest.mark.parametrize("shape", [(500, 1), (300, 7), (40, 90)])
@pytest.mark.parametrize("dtype", [bool, "f4"])
def test_the_first_budget_that_is_named_does_for_any_mask(shape, dtype):
    """It did for a usual number of components, and of a checkerboard a second one was named."""
    mask = (np.indices(shape).sum(0) % 2 == 0).astype(dtype)
    with pytest.raises(fp.BudgetError, match="any mask of this shape") as caught:
        fp.label(mask, memory=1, device="cpu")
    labels, count = fp.label(mask, memory=caught.value.smallest, device="cpu")
    assert count == mask.sum() and np.array_equal(labels, reference(mask)[0])
