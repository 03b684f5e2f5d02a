"""Budgets that are enough but far too small are named with a better one, and long launches on the host leave room for Ctrl-C."""

from __future__ import annotations

import importlib
import pickle
import warnings

import numpy as np
import pytest

import footprint as fp
from footprint import settings
from footprint.kernels.common import turns
from footprint.plan import comfort
from footprint.plan.explain import explain

JOBS = {
    "threshold": lambda memory: fp.plan_threshold((2048, 2048), dtype=">f4", memory=memory, device="cpu"),
    "gaussian_filter": lambda memory: fp.plan_gaussian_filter((1024, 1024), 3, dtype=">f4", memory=memory, device="cpu"),
    "on a GPU": lambda memory: fp.plan_pad((300_000, 3), 10, "wrap", memory=memory, device="null:h100"),
}


def refused(plan) -> fp.BudgetError:
    with pytest.raises(fp.BudgetError) as caught:
        plan(1)
    return caught.value


@pytest.mark.parametrize("job", JOBS)
def test_a_refusal_names_a_comfortable_budget_beside_the_least(job):
    plan, error = JOBS[job], refused(JOBS[job])
    least, better = plan(error.smallest), plan(error.comfortable)
    assert error.smallest == least.footprint.total < better.footprint.total <= error.comfortable
    assert least.n_parts == error.parts > 10 * better.n_parts
    assert f"give memory={error.smallest} " in str(error) and f"better is memory={error.comfortable} " in str(error)
    assert f"the least means {least.n_parts} small parts" in str(error)
    assert f"slow: {least.n_parts} small parts; memory={error.comfortable} " in explain(least)
    assert not better.slow and not plan(None).slow and "slow:" not in explain(better)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.comfortable, again.parts) == (str(error), error.comfortable, error.parts)


def test_a_least_budget_that_is_not_slow_is_named_alone():
    error = refused(lambda memory: fp.plan_threshold((200, 200), dtype=">f4", memory=memory, device="cpu"))
    assert error.comfortable is None and "better" not in str(error)
    assert str(error).endswith("or more.")


def test_what_stands_beside_a_plan_is_in_both_budgets():
    from footprint.cli.beside import Beside

    plain = refused(JOBS["threshold"])
    with pytest.raises(fp.BudgetError) as caught, Beside("pictures", 1000).counted(1):
        JOBS["threshold"](1)
    assert caught.value.smallest == plain.smallest + 1000 and caught.value.comfortable == plain.comfortable + 1000


def test_the_other_method_is_named_beside_both_where_it_takes_less(monkeypatch):
    monkeypatch.setattr(comfort, "_LONG", 1e-3)
    direct, fourier = (
        refused(lambda memory, method=method: fp.plan_fbp((300, 9, 64), method=method, memory=memory, device="cpu"))
        for method in ("direct", "fourier")
    )
    assert fourier.smallest < direct.smallest
    assert f"give memory={direct.smallest} " in str(direct) and "or method='fourier', which needs at least" in str(direct)
    assert f"give memory={fourier.smallest} " in str(fourier) and "direct" not in str(fourier)
    for error in (direct, fourier):
        assert f"better is memory={error.comfortable} " in str(error)


def test_a_run_in_far_too_many_parts_warns(monkeypatch):
    image = np.zeros((60, 50), ">f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fp.threshold(image, 1.0, memory=64, device="cpu")
    monkeypatch.setattr(comfort, "_LONG", 1e-3)
    monkeypatch.setattr(comfort, "_SHORT", 1e-4)
    with pytest.warns(UserWarning, match=r"^threshold runs in \d+ small parts; memory=\d+ \(.*\) or more would take far fewer$"):
        fp.threshold(image[:-1], 1.0, memory=64, device="cpu")


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------
def test_a_long_launch_becomes_parts_without_more_memory():
    plan = fp.plan_convolve((20_000, 20_000), (81, 81), method="direct", device="cpu")
    whole = fp.plan_convolve((200, 20_000), (81, 81), method="direct", device="cpu")
    assert plan.n_parts > 20 and whole.n_parts == 1 and plan.footprint.total == whole.footprint.total
    slices = fp.plan_fbp((64, 1500, 2048), method="direct", device="cpu")
    assert slices.n_parts > 1 and slices.cuts[0].size % 4 == 0, "slices share positions by fours"


def test_blocks_of_a_file_are_no_longer_than_half_a_second_each():
    from footprint.api.convolve_rows import plan_convolve_rows

    plan = plan_convolve_rows((9000, 9000), (81, 81), method="direct", device="cpu")
    assert len(plan.lanes) > 1 and dict(plan.seconds)["compute"] / plan.n_parts < 0.5


def test_what_would_be_more_work_in_parts_stays_whole(monkeypatch):
    monkeypatch.setattr(comfort, "_DEAF", 1e-9)
    monkeypatch.setattr(comfort, "_HEARS", 1e-7)
    monkeypatch.setattr(comfort, "WORSE", 1e9)
    assert fp.plan_convolve((600, 400), (5, 5), method="direct", device="cpu").n_parts > 1
    # It is searched twice over, its rows are those of other parts, or kernels run on a device.
    assert fp.plan_find_sources((600, 400), device="cpu").n_parts == 1
    assert fp.plan_uniform_filter((600, 400), 301, dtype=">f4", device="cpu").n_parts == 1
    assert fp.plan_convolve((600, 400), (5, 5), method="direct", device="null:h100").n_parts == 1


def test_what_would_take_longer_in_parts_stays_whole(monkeypatch):
    monkeypatch.setattr(comfort, "_DEAF", 1e-9)
    monkeypatch.setattr(comfort, "_HEARS", 1e-7)
    assert fp.plan_convolve((60, 40), (5, 5), method="direct", device="cpu").n_parts == 1


def test_parts_for_ctrl_c_change_no_bit(monkeypatch):
    rng = np.random.default_rng(4)
    image, mask, rows = rng.random((83, 40), np.float32), rng.random((7, 5), np.float32), rng.random((9, 24, 32), np.float32)
    jobs = {
        "convolve": lambda: fp.convolve(image, mask, method="direct", boundary="reflect", device="cpu"),
        "fbp": lambda: fp.fbp(rows, method="direct", device="cpu"),
    }
    whole = {name: job() for name, job in jobs.items()}
    fp.clear_cache()
    monkeypatch.setattr(comfort, "_DEAF", 1e-9)
    monkeypatch.setattr(comfort, "_HEARS", 1e-7)
    monkeypatch.setattr(comfort, "WORSE", 1e9)
    assert fp.plan_fbp(rows.shape, method="direct", device="cpu").n_parts == 3
    for name, job in jobs.items():
        np.testing.assert_array_equal(job(), whole[name], err_msg=name)
    fp.clear_cache()


@pytest.mark.parametrize("kernel", ["backproject", "project"])
def test_a_large_slice_alone_is_done_in_turns_to_the_same_bits(kernel, monkeypatch):
    """Python, which alone sees Ctrl-C, is back between the launches of one step."""
    module, launched = importlib.import_module(f"footprint.kernels.{kernel}.cpu"), []
    real = getattr(module, f"_{kernel}")
    monkeypatch.setattr(module, f"_{kernel}", lambda *args: launched.append(args[-2:]) or real(*args))
    image, verb = np.random.default_rng(5).random((50, 150), np.float32), getattr(fp, kernel)

    def made():
        launched.clear()
        return verb(image, device="cpu") if kernel == "backproject" else verb(image[:, :50], 7, device="cpu")

    whole, units = made(), launched[0][1]
    assert launched == [(0, units)] and units == (9 if kernel == "backproject" else 7)
    monkeypatch.setattr(turns, "TURN", 1)
    np.testing.assert_array_equal(made(), whole)
    threads = settings.threads()
    assert launched == [(n, min(n + threads, units)) for n in range(0, units, threads)]
