"""A device that fails in the midst of a run: one sentence, no thread left, and a run after it goes on to the same bits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import footprint as fp
from footprint.io.phantom import write_scan
from footprint.io.volume_source import open_volume
from footprint.plan.ready import READY

OPTIONS = {"center": 15.5, "method": "direct"}


def driver_error(device):
    """What the library of a device raises when it is gone; from then on it answers nothing else."""
    if device.startswith("opencl"):
        import pyopencl

        return pyopencl.RuntimeError("clEnqueueNDRangeKernel failed: DEVICE_NOT_AVAILABLE")
    if device.startswith("cuda"):
        from cupy.cuda import runtime

        return runtime.CUDARuntimeError(719)
    pytest.skip("the processor has no driver")


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("lost") / "scan.nx"
    write_scan(path, n_angles=40, n_z=24, n_x=32)
    return path


def test_a_lost_device_ends_a_run_that_goes_on_to_the_same_bits(device, scan, tmp_path, monkeypatch):
    error, left = driver_error(device), [20]
    fp.clear_cache()
    with fp.open_scan(scan) as source:
        want = fp.reconstruct(source, device=device, **OPTIONS)
        with pytest.raises(fp.BudgetError) as short:
            fp.plan_reconstruct(source, written=True, device=device, **OPTIONS, memory=1)
    from footprint.backend.registry import running_backend

    kind = type(running_backend(device))

    def run(n_runs):
        with fp.open_scan(scan) as source, fp.create_volume(tmp_path / "v.h5", want.shape, resume=True) as volume:
            kept = volume.resumed
            memory = short.value.smallest + 30_000
            plan = fp.plan_reconstruct(source, written=True, device=device, **OPTIONS, memory=memory)
            assert plan.n_parts > n_runs
            fp.reconstruct(source, out=volume, device=device, memory=memory, **OPTIONS)
        return kept

    with monkeypatch.context() as patched:
        for name in ("launch", "mark", "sync", "rest", "free", "after", "wait", "write", "read"):
            whole = getattr(kind, name)

            def lost(self, *given, _name=name, _whole=whole, **how):
                left[0] -= _name == "launch"
                if left[0] < 0:
                    raise error
                return _whole(self, *given, **how)

            patched.setattr(kind, name, lost)
        with pytest.raises(fp.BackendError, match=rf"device {device}: failed in the midst of a run \(.*\); .*--resume") as said:
            with pytest.warns(UserWarning, match="--resume goes on with it"):
                run(4)
        assert said.value.__cause__ is error and "\n" not in str(said.value)
        # Those that copy are for every run.
        names = [thread.name for thread in threading.enumerate() if thread.is_alive()]
        assert not [name for name in names if name.startswith("footprint-") and not name.startswith("footprint-copy")]
        assert not READY.kept(device)
    assert run(4) > 0
    source, found = open_volume(tmp_path / "v.h5"), np.empty_like(want)
    source.frames.read(0, len(want), slice(0, want.shape[1]), found)
    source.close()
    np.testing.assert_array_equal(found, want)
