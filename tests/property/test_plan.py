"""Poison: thousands of random programs give the same result packed in one arena and with a NaN-filled buffer per slot."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footprint.plan.lifetime import lifetimes
from footprint.plan.pack import Item, pack
from footprint.spec import aligned
from tests.property.programs import ApartBound, PackedCpu, RandomProgram


@pytest.mark.parametrize("block", range(20))
def test_poison(block):
    backend = PackedCpu()
    for seed in range(block * 150, (block + 1) * 150):
        plan = RandomProgram(seed).plan()
        spec = plan.inputs[0].spec
        x = np.random.default_rng(seed).random(spec.shape, np.float32)
        packed, apart = np.full(spec.shape, np.nan, "f4"), np.full(spec.shape, np.nan, "f4")
        backend.allocated.clear()
        with plan.bind(backend) as bound:
            bound(x, out=[packed])
            again = np.full(spec.shape, np.nan, "f4")
            bound(x, out=[again])
        assert sum(backend.allocated) == plan.nbytes
        with ApartBound(plan, backend) as bound:
            bound(x, out=[apart])
        assert np.isfinite(apart).all(), f"seed {seed}: the program itself reads what nobody wrote"
        np.testing.assert_array_equal(packed, apart, err_msg=f"seed {seed}")
        np.testing.assert_array_equal(again, apart, err_msg=f"seed {seed}, second run")


def test_poison_catches_a_wrong_lifetime(monkeypatch):
    """The check can fail: with lifetimes that forget loops, some programs must differ."""
    import footprint.plan.plan as module

    monkeypatch.setattr(module, "lifetimes", lambda slots, steps, loops: lifetimes(slots, steps, []))
    wrong, backend = 0, PackedCpu()
    for seed in range(300):
        plan = RandomProgram(seed).plan()
        spec = plan.inputs[0].spec
        x = np.random.default_rng(seed).random(spec.shape, np.float32)
        packed, apart = np.empty(spec.shape, "f4"), np.empty(spec.shape, "f4")
        with plan.bind(backend) as bound:
            bound(x, out=[packed])
        with ApartBound(plan, backend) as bound:
            bound(x, out=[apart])
        wrong += not np.array_equal(packed, apart, equal_nan=True)
    assert wrong > 0


def test_plans_are_reproducible_and_picklable():
    for seed in range(200):
        a, b = RandomProgram(seed).plan(), RandomProgram(seed).plan()
        assert a == b and hash(a) == hash(b) and a.key == b.key
        assert pickle.loads(pickle.dumps(a)) == a
    assert RandomProgram(1).plan() != RandomProgram(2).plan()


def live_bound(items, align=64):
    """The most bytes that live at one step: no layout can be smaller."""
    steps = {}
    for item in items:
        steps[item.first] = steps.get(item.first, 0) + aligned(item.nbytes, align)
        steps[item.last + 1] = steps.get(item.last + 1, 0) - aligned(item.nbytes, align)
    most = now = 0
    for step in sorted(steps):
        now += steps[step]
        most = max(most, now)
    return most


items = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 20), st.integers(0, 8)), max_size=25).map(
    lambda rows: [Item(i, size, first, first + length) for i, (size, first, length) in enumerate(rows)]
)


@settings(max_examples=300, deadline=None)
@given(items, st.sampled_from([1, 64, 256]))
def test_packer_never_overlaps_and_never_beats_the_bound(rows, align):
    placed, blocks = pack(rows, align)
    assert set(placed) == {r.id for r in rows}
    for a in placed.values():
        assert a.offset % align == 0 and a.offset + a.item.nbytes <= blocks[a.block]
        for b in placed.values():
            together = a.item.id < b.item.id and a.block == b.block
            if together and a.item.first <= b.item.last and b.item.first <= a.item.last:
                assert a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset
    assert sum(blocks) >= live_bound(rows, align)
    assert pack(rows, align) == (placed, blocks)


@settings(max_examples=100, deadline=None)
@given(items)
def test_packer_respects_the_largest_block(rows):
    placed, blocks = pack(rows, 64, max_block=5056)
    assert all(size <= 5056 for size in blocks)
    assert len(placed) == len(rows)


def test_packer_is_close_to_the_bound():
    """Over random loads the layout takes at most 3 % more than the most that lives at once, on average."""
    r = random.Random(3)
    ratios = []
    for _ in range(500):
        rows = [Item(i, r.randint(1, 1 << 20), f := r.randint(0, 30), f + r.randint(0, 10)) for i in range(r.randint(2, 30))]
        ratios.append(sum(pack(rows)[1]) / live_bound(rows))
    assert np.mean(ratios) < 1.03
