"""A device that fails during a run: one sentence, no thread left, and a run after it goes on to the same bits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import open_backend
from footprint.io.phantom import write_scan
from footprint.io.volume_source import open_volume
from footprint.plan import fit
from footprint.plan.bind import BoundPlan
from footprint.plan.ready import READY

OPTIONS = {"center": 15.5, "method": "direct"}
VERBS = ("launch", "mark", "sync", "rest", "free", "after", "wait", "write", "read")


def driver_error(device):
    """What the library of a device raises when it is gone; from then on it answers nothing else."""
    if device.startswith("opencl"):
        import pyopencl

        return pyopencl.RuntimeError("clEnqueueNDRangeKernel failed: DEVICE_NOT_AVAILABLE")
    if device.startswith("cuda"):
        from cupy.cuda import runtime

        return runtime.CUDARuntimeError(719)
    pytest.skip("the processor has no driver")


class Driver:
    """Counts what every lane's thread asks of a device, which is lost when one of them asks for the ``last`` time."""

    def __init__(self, patched, kind, lane, last=None, error=None):
        self.lane, self.last, self.error, self.asked, self.lost = lane, last, error, 0, False
        for name in VERBS:
            patched.setattr(kind, name, self._through(getattr(kind, name)))

    def _through(self, whole):
        def verb(backend, *given, **how):
            self.asked += self.lane in (None, threading.current_thread().name.removeprefix("footprint-"))
            self.lost = self.lost or self.asked == self.last
            if self.lost:
                raise self.error
            return whole(backend, *given, **how)

        return verb


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("lost") / "scan.nx"
    write_scan(path, n_angles=40, n_z=24, n_x=32)
    return path


def lanes():
    """Threads of a run; those that copy are for every run."""
    names = [thread.name for thread in threading.enumerate() if thread.is_alive()]
    return [name for name in names if name.startswith("footprint-") and not name.startswith("footprint-copy")]


@pytest.mark.parametrize("lane", [None, "read", "compute", "write"])
def test_a_lost_device_ends_a_run_that_goes_on_to_the_same_bits(device, scan, tmp_path, monkeypatch, lane):
    """In one thread, and where another lane has the next part, and a third the one before, in copies of their own."""
    error, kind, plans = driver_error(device), type(open_backend(device)), []
    fp.clear_cache()
    how = {"device": device, **OPTIONS}
    with fp.open_scan(scan) as source:
        want = fp.reconstruct(source, **how)
        with pytest.raises(fp.BudgetError) as short:
            fp.plan_reconstruct(source, written=True, **how, memory=1)
    if lane is None:
        how["memory"] = short.value.smallest + 30_000
    else:
        # So small a job is faster in one thread.
        fits = fit._Search.fits
        monkeypatch.setattr(fit, "_BLOCKS", (10_000,))
        monkeypatch.setattr(fit, "_LARGE", ())
        monkeypatch.setattr(fit._Search, "fits", lambda self, cuts, rung: len(rung.lanes) == 3 and fits(self, cuts, rung))

    def run(name, resume=True):
        with fp.open_scan(scan) as source, fp.create_volume(tmp_path / name, want.shape, resume=resume) as volume:
            kept = volume.resumed
            fp.reconstruct(source, out=volume, on_plan=plans.append, **how)
        return kept

    with monkeypatch.context() as patched:
        driver = Driver(patched, kind, lane)
        run("whole.h5", resume=False)
        assert plans[-1].n_parts > 4 and (len(plans[-1].lanes), plans[-1].copies) == ((1, 1) if lane is None else (3, 2))
    fp.clear_cache()
    uncaught, freed, free = [], [], BoundPlan._free
    with monkeypatch.context() as patched:
        Driver(patched, kind, lane, int(0.6 * driver.asked), error)
        patched.setattr(threading, "excepthook", uncaught.append)
        patched.setattr(BoundPlan, "_free", lambda bound: (freed.append(lanes()), free(bound)))
        with pytest.raises(fp.BackendError, match=rf"device {device}: failed during a run \(.*\); .*--resume") as said:
            with pytest.warns(UserWarning, match="--resume continues from there"):
                run("v.h5")
        assert said.value.__cause__ is error and "\n" not in str(said.value)
        assert not uncaught and not lanes() and not READY.kept(device)
        # Once, when no thread used it any more.
        assert freed == [[]]
    assert run("v.h5") > 0
    source, found = open_volume(tmp_path / "v.h5"), np.empty_like(want)
    source.frames.read(0, len(want), slice(0, want.shape[1]), found)
    source.close()
    np.testing.assert_array_equal(found, want)
