"""Planning takes time and memory by the shape of a job, not by the number of its samples."""

from __future__ import annotations

import inspect
import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import device_limits
from footprint.ops.fbp import Fbp
from footprint.ops.job import plan_op
from footprint.ops.sigma_clip import SigmaClip
from footprint.plan import comfort, fit
from footprint.plan.exact import Table
from footprint.plan.rates import rates
from footprint.plan.slots import Given
from footprint.plan.tried import Tried
from footprint.spec import ArraySpec

N = 5_000_000
JOBS = {
    "pad": lambda: fp.plan_pad((N,), 10, "reflect", memory="20MB", device="cpu"),
    "pad, foreign bytes": lambda: fp.plan_pad((N,), 10, "reflect", dtype=">f4", memory="2MB", device="cpu"),
    "pad on a GPU": lambda: fp.plan_pad((N,), 10, "wrap", memory="2MB", device="null:h100"),
    "pad, thin": lambda: fp.plan_pad((N, 3), 10, "symmetric", dtype=">f4", memory="2MB", device="cpu"),
    "convolve": lambda: fp.plan_convolve((N,), (21,), dtype=">f4", memory="2MB", device="cpu"),
    "convolve, thin": lambda: fp.plan_convolve((N, 3), (9, 3), dtype=">f4", memory="2MB", device="cpu"),
    "threshold": lambda: fp.plan_threshold((N,), dtype=">f4", memory="2MB", device="cpu"),
    "muladd": lambda: fp.plan_muladd((N,), dtype=">f4", memory="2MB", device="cpu"),
    "a scan, by very many tries": lambda: fp.plan_reconstruct((900, 512, 1024), center=500.0, memory="3MB", device="cpu"),
}


@pytest.mark.parametrize("job", JOBS)
def test_a_plan_of_millions_of_samples_holds_none_of_them(job):
    JOBS[job]()
    tracemalloc.start()
    plan = JOBS[job]()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # With all the plans of many tries it would be 0.6 MB.
    assert most < (520_000 if job.endswith("tries") else 1 << 20)
    assert plan.footprint.total <= 20_000_000


def test_widths_beyond_all_memory_are_planned_by_their_numbers():
    """The arrays are the caller's, and a plan has no vectors of their lengths."""
    plan = fp.plan_pad((4, 4), 10**12, "reflect", device="cpu")
    assert plan.outputs[0].spec.shape == (2 * 10**12 + 4,) * 2 and plan.footprint.total == 0


def test_lists_of_positions_are_the_callers_and_no_plans():
    """As many positions as samples: what a plan keeps of them is a summary."""
    array, index = np.zeros((2, N), "u1"), np.arange(N)[::-1].copy()
    out = np.empty((2, N), "u1")
    fp.pad(array, cols_index=index, out=out, device="cpu")
    tracemalloc.start()
    fp.pad(array, cols_index=index, out=out, device="cpu")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20


def test_a_search_for_a_plan_holds_a_large_table_once():
    """Every way that was looked at held the weights of a phase retrieval, and their bytes once more: five times the plan's."""
    beam = {"delta_beta": 100, "energy": 20, "distance": 40, "pixel_size": 5e-6, "device": "null"}
    plan = fp.plan_paganin((64, 150, 200), **beam)
    table = max(array.nbytes for array in plan.constants.values())
    assert any(one.name.startswith("weights") and one.nbytes == table > 500_000 for one in plan.libraries)
    tracemalloc.start()
    fp.plan_paganin((64, 150, 200), memory=plan.footprint.total, **beam)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < table


def test_catalogues_of_very_large_images_fit_small_budgets(monkeypatch):
    """A gigabyte of pixels, its noise full of summits, that are taken apart, fitted, and searched twice."""
    monkeypatch.setenv("FOOTPRINT_CHECK", "")
    about = {"streamed": True, "labels": "file", "flood": 3.0, "connectivity": 8, "memory": "140MB", "device": "cpu"}
    whole, parts = {"background": "global"}, {"background": "mesh", "deblend": True, "fit": "gaussian"}
    for options, rows in ((whole, 200_000), (parts, 40_000), (parts | {"residual": True}, 16_000)):
        plan = fp.plan_find_sources((16384, 16384), dtype=">f4", **options, **about)
        assert plan.footprint.total <= 140_000_000
        assert next(one.spec.shape[0] for one in plan.outputs if one.name == "boxes") >= rows


KEYWORD = inspect.Parameter.KEYWORD_ONLY
# An open scan, which is all that plan_rotation_axis takes, has its own dtype, and its search runs on the host.
PLANS = sorted(name for name in fp.__all__ if name.startswith("plan_") and name not in ("plan_rotation_axis", "plan_correlate"))
# What a verb must be given, and a plan need not: no value of it changes the memory; and results that a plan is only told of.
FREE = {"radii", "noise", "count", "size", "pad_width", "level", "weight", "labels"}


@pytest.mark.parametrize("name", PLANS)
def test_plans_take_what_is_planned_its_dtype_the_options_of_the_verb_memory_and_device(name):
    taken = dict(inspect.signature(getattr(fp, name)).parameters)
    of_verb = dict(inspect.signature(getattr(fp, name.removeprefix("plan_"))).parameters)
    assert next(iter(taken)) in ("shape", "scan")
    by_name = [one for one, how in taken.items() if how.kind is KEYWORD]
    assert by_name[0] == "dtype"
    assert by_name[-2:] == ["memory", "device"] or by_name[-3:] == ["memory", "device", "fft"]
    # The dtype of a plan is the input's, of some verbs the result's.
    both = (taken.keys() & of_verb.keys()) - {"dtype"}
    assert [one for one in taken if one in both] == [one for one in of_verb if one in both]
    for one in both - FREE:
        assert taken[one].default == of_verb[one].default or one.startswith("save_"), one
    # What the verb takes by place the plan takes so, too, up to a footprint in place of a size, or the array for the result.
    places = [one for one in of_verb if of_verb[one].kind is not KEYWORD and one in both | {"output"}]
    want = list(itertools.takewhile(lambda one: one not in ("footprint", "output"), places))
    assert [one for one in taken if one in both and taken[one].kind is not KEYWORD] == want


def test_a_described_scan_is_read_as_fast_as_memory_is_copied():
    """Its shape stands for an array, and no file: the disk's rate made reading six times as long."""
    plan = fp.plan_reconstruct((180, 16, 64), center=31.5, device="cpu")
    nbytes = sum(slot.spec.nbytes for slot in plan.inputs)
    assert dict(plan.seconds)["read"] == pytest.approx(nbytes / rates(plan.limits).copy)


@pytest.mark.parametrize("shape", [(2_000_000, 1), (1, 2_000_000), (2_000_000,)])
def test_long_thin_images_are_cut_into_no_single_pixels(shape):
    """At the smallest budget that a refusal names: they were cut into as many as 166667 parts."""
    mask = (5, 5)[: len(shape)]
    verbs = [
        (fp.plan_sobel,),
        (fp.plan_laplace,),
        (fp.plan_gaussian_filter, 1),
        (fp.plan_uniform_filter, 3),
        (fp.plan_unsharp_mask, 1),
    ]
    verbs += [(fp.plan_median_filter, 3), (fp.plan_convolve, mask), (fp.plan_gaussian_laplace, 1)]
    for verb, *given in verbs:
        for device in ("cpu", "null:h100"):
            with pytest.raises(fp.BudgetError) as refused:
                verb(shape, *given, device=device, memory=1)
            smallest = verb(shape, *given, device=device, memory=refused.value.smallest)
            few = smallest.n_parts == 1 or (smallest.n_parts <= 4096 + 1 and smallest.nbytes < 512 << 10)
            assert few, (verb, device, smallest.n_parts, smallest.nbytes)


@pytest.mark.parametrize("devices", [2, 4])
def test_each_of_several_devices_has_equally_many_parts(devices):
    """Otherwise all wait for the one that has another: of 15 parts on two, one device had 8."""
    limits = replace(device_limits("null:h100"), devices=devices)
    angles = np.linspace(0, np.pi, 1500, endpoint=False)
    for method in ("direct", "fourier"):
        op = Fbp(Table(angles), 2048, 1023.5, method=method)
        sinograms, slices = ArraySpec((256, 1500, 2048)), ArraySpec((256, 2048, 2048))
        plan = plan_op(limits, None, "fbp", op, [(sinograms, Given())], [(slices, Given())])
        assert plan.n_parts % devices == 0 and plan.n_parts >= 4 * devices


def test_tiles_are_summed_in_groups_as_large_as_the_budget_has_room_for():
    """They were of 16 angles whatever room the tiles left: 282 parts, each of which costs its start, where 96 do."""
    limits = replace(device_limits("cpu"), threads=2)
    op = Fbp(Table(np.linspace(0, np.pi, 1500, endpoint=False)), 2048, 1023.5, method="fourier")
    arrays = [(ArraySpec((1, 1500, 2048)), Given())], [(ArraySpec((1, 2048, 2048)), Given())]
    plan = plan_op(limits, 16_300_000, "fbp", op, *arrays)
    tile, group = plan.cuts
    assert (tile.axis, group.axis) == ("y", "a") and tile.count <= 3 and group.size >= 48
    assert plan.footprint.total <= 16_300_000
    with pytest.raises(fp.BudgetError) as refused:
        plan_op(limits, 1_000_000, "fbp", op, *arrays)
    smallest = plan_op(limits, refused.value.smallest, "fbp", op, *arrays)
    assert smallest.cuts[-1].size == 16 and smallest.footprint.total == refused.value.smallest


def test_few_plans_are_recorded_to_choose_among_threads_and_copies(monkeypatch):
    """A catalogue of a file was recorded 48 times, mostly for rungs whose time was known, and for sizes of as many parts."""
    recorded = []
    record = Tried._record
    monkeypatch.setattr(Tried, "_record", lambda self, *shape: (recorded.append(shape), record(self, *shape))[1])
    image, result = (ArraySpec((4096, 4096)), Given(direct=False, owner="source")), (ArraySpec((8,), "float64"), Given())
    counts = ArraySpec((8,), "int64"), Given()
    plan = plan_op(device_limits("cpu"), 50_000_000, "sigma_clip", SigmaClip(), [image], [result, counts])
    assert plan.n_parts > 1
    # The chosen one is recorded again at the end.
    assert len(recorded) <= len(set(recorded)) + 1
    assert len({shape[0] for shape in recorded}) > len(recorded) / 2


class Sky:
    """An open image of which no pixel is read but for a few that tell whether zeros are blank."""

    def __init__(self, side: int) -> None:
        self.shape, self.dtype = (side, side), np.dtype(np.float32)

    def read(self, rows: slice, out: np.ndarray) -> None:
        out[...] = 1

    def host_bytes(self, n_rows: int, dtype: object = None) -> int:
        return 0


def test_a_search_with_too_much_room_is_given_up_after_few_trials(monkeypatch):
    """Each takes a millisecond, and 64 MB of pixels no more than 50."""

    class Planned(Exception):
        pass

    def planned(plan):
        raise Planned

    trials = []
    real = Tried._record
    monkeypatch.setattr(Tried, "_record", lambda self, *shape: trials.append(shape) or real(self, *shape))
    with pytest.raises(Planned):
        fp.find_sources(Sky(16384), memory="150MB", device="cpu", on_plan=planned)
    assert len(trials) <= 28


def test_only_the_last_refusal_names_a_comfortable_budget(monkeypatch):
    named = []
    real = fit._Search.refusal
    monkeypatch.setattr(fit._Search, "refusal", lambda self: named.append(real(self)) or named[-1])
    monkeypatch.setattr(comfort, "slow", lambda *seconds: True)
    with pytest.raises(fp.BudgetError):
        fp.find_sources(Sky(16384), memory="10MB", device="cpu")
    assert len(named) > 1 and named[-1].comfortable and not any(error.comfortable for error in named[:-1])
