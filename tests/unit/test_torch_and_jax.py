"""PyTorch's and JAX's own arrays, where these are installed: what autograd must know, and digits that a library has no room for."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import footprint as fp
from footprint.plan.ready import READY

ONE = np.ones((1, 1), "f4")
IMAGE = np.arange(99, dtype="f4").reshape(9, 11)
ANGLES = np.linspace(0, np.pi, 9, endpoint=False)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def jnp():
    return pytest.importorskip("jax.numpy", reason="JAX is not installed")


# Each writes into a tensor of (9, 11), or of as many rows and columns as it makes.
WRITES = {
    "convolve": lambda x, out: fp.convolve(x, ONE, out=out),
    "correlate": lambda x, out: fp.correlate(x, ONE, axes=(1, 0), out=out),
    "gaussian_filter": lambda x, out: fp.gaussian_filter(x, 1, output=out),
    "median_filter": lambda x, out: fp.median_filter(x, 3, output=out),
    "muladd": lambda x, out: fp.muladd(out, x, 1, 1),
    "muladd, a region": lambda x, out: fp.muladd(out, x, 1, 1, dst_region=slice(0, 2), other_region=slice(0, 2)),
    "ramp_filter": lambda x, out: fp.ramp_filter(x, out=out),
    "remove_stripes": lambda x, out: fp.remove_stripes(x, "mean", out=out),
    "vertical_shift": lambda x, out: fp.vertical_shift(x[None], [1.0], out=out[None]),
    "pad": lambda x, out: fp.pad(x, 0, out=out),
    "project": lambda x, out: fp.project(x[:, :9], ANGLES, n_x=11, out=out),
    "background": lambda x, out: fp.background(x, 4, out=(out, out.new_empty(out.shape))),
    "find_sources": lambda x, out: fp.find_sources(x, background="mesh", box=4, save_background=out),
}


@pytest.mark.parametrize("verb", WRITES)
@pytest.mark.parametrize("times", [1, 2])
def test_a_gradient_of_what_was_overwritten_is_refused(torch, verb, times):
    x, held = torch.tensor(IMAGE), torch.ones(9, 11, requires_grad=True)
    into = torch.full((9, 11), 3.0)
    for _ in range(times):
        loss = (held * into).sum()
        WRITES[verb](x, into)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_calls_of_tensors_on_the_host_are_made_again_as_numpys_are(torch, monkeypatch):
    """They went the long way every time, of 300 us where NumPy's take 20."""
    # What an earlier test had kept, and how much it allowed to be, is over.
    fp.clear_cache()
    x, some, out = torch.tensor(IMAGE), torch.tensor(IMAGE > 40), torch.empty(9, 11)
    calls = [lambda: fp.median_filter(x, 3), lambda: fp.label(some)[0], lambda: fp.convolve(x, ONE, out=out)]
    first, known, recall = [call() for call in calls], [], READY.recall
    monkeypatch.setattr(READY, "recall", lambda look: known.append(recall(look)) or known[-1])
    for number, (call, before) in enumerate(zip(calls, first, strict=True)):
        found = call()
        assert len(known) > number and all(known), "the call went the long way"
        assert type(found) is torch.Tensor and torch.equal(found, before)
    assert first[-1] is out


def test_tensors_take_masks_by_name_and_numpys_results(torch):
    x, numpys = torch.tensor(IMAGE), np.empty((9, 11), "f4")
    assert type(fp.convolve(x, "box:3")) is torch.Tensor
    assert fp.gaussian_filter(x, 1, output=numpys) is numpys
    np.testing.assert_array_equal(numpys, fp.gaussian_filter(IMAGE, 1))


def test_what_was_not_overwritten_has_its_gradient(torch):
    x, held, into = torch.tensor(IMAGE), torch.ones(9, 11, requires_grad=True), torch.zeros(9, 11)
    loss = (held * x).sum()
    assert fp.convolve(x, ONE, out=into) is into
    loss.backward()
    np.testing.assert_array_equal(held.grad.numpy(), IMAGE)


def test_a_stream_gives_the_kind_of_its_frames(torch, rng):
    frames, mask = [torch.tensor(rng.random((40, 50), "f4")) for _ in range(9)], np.ones((3, 3), "f4")
    held = list(fp.stream(frames, mask=mask, dtype="float64", device="cpu"))
    for got, frame in zip(held, frames, strict=True):
        # What is held is not written again, as arrays of NumPy's are not.
        assert type(got) is torch.Tensor and got.dtype is torch.float64
        np.testing.assert_array_equal(got.numpy(), fp.convolve(frame.numpy(), mask, dtype="float64", device="cpu"))
    for wrong, said in (torch.ones(40, 50, requires_grad=True), "detach"), (torch.ones(40, 50, dtype=torch.bfloat16), ""):
        with pytest.raises(fp.ArgumentError, match=f"frame 1: got .*{said}"):
            list(fp.stream([frames[0], wrong], mask=mask, device="cpu"))


def test_a_stream_of_jax_gives_jax(jnp, rng):
    import jax

    host = jax.devices("cpu")[0]
    frames, mask = [jax.device_put(rng.random((40, 50), "f4"), host) for _ in range(9)], np.ones((3, 3), "f4")
    held = list(fp.stream(frames, mask=mask, device="cpu"))
    for got, frame in zip(held, frames, strict=True):
        assert isinstance(got, jnp.ndarray)
        np.testing.assert_array_equal(np.asarray(got), fp.convolve(np.asarray(frame), mask, device="cpu"))


def test_digits_that_jax_has_no_room_for_are_missed_aloud(jnp):
    import jax

    def x64(on):
        return jax.enable_x64(on) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(on)

    with x64(False):
        for image, how in (jnp.ones((9, 9)), {"dtype": "float64"}), (jnp.full((3, 3), 2**30 + 1, "int32"), {}):
            with pytest.warns(UserWarning, match=r"of float64, was rounded to float32, .*jax_enable_x64"):
                assert fp.convolve(image, ONE, **how).dtype == "float32"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert fp.convolve(jnp.ones((9, 9)), ONE).dtype == "float32"
    with x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fp.convolve(jnp.full((3, 3), 2**30 + 1, "int32"), ONE)
        assert found.dtype == "float64" and int(found[0, 0]) == 2**30 + 1


def test_what_is_compiled_calls_what_is_marked(torch):
    """As the page on other arrays says."""
    x, smooth = torch.tensor(IMAGE), torch.compiler.disable(fp.gaussian_filter)
    found = torch.compile(lambda x: smooth(x, 1) + 1, backend="eager")(x)
    np.testing.assert_array_equal(found.numpy(), fp.gaussian_filter(IMAGE, 1) + 1)


_GIVEN_AWAY = """
import numpy as np, jax, jax.numpy as jnp, footprint as fp
gone, ones = jnp.ones((4, 4)), np.ones((4, 4))
gone.delete()
calls = [lambda: fp.gaussian_filter(gone, 1), lambda: fp.convolve(gone, ones), lambda: fp.convolve(ones, gone)]
calls += [lambda: fp.fbp(gone), lambda: fp.gaussian_filter(jnp.ones((4, 4)), 1, output=gone), lambda: fp.median_filter(gone, 3)]
calls += [lambda: fp.label(gone), lambda: fp.fbp(ones, gone), lambda: fp.plan_fbp(gone)]
calls += [lambda: fp.gaussian_filter(jax.random.key(0), 1)]
for call in calls:
    try:
        call()
    except fp.ArgumentError as error:
        print(error)
"""


def test_an_array_of_jax_whose_memory_was_given_away_is_refused(jnp):
    """The process ended with a signal."""
    found = subprocess.run([sys.executable, "-c", _GIVEN_AWAY], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-300:]
    lines = found.stdout.splitlines()
    names = ["input", "image", "mask", "sinogram", "output", "input", "mask", "angles", "shape", "input"]
    assert [line.partition(":")[0] for line in lines] == names
    assert all("has been deleted" in line for line in lines[:7]) and "jax.random.key_data" in lines[-1]


def test_what_is_no_number_is_refused_in_a_sentence():
    units = pytest.importorskip("astropy.units", reason="astropy is not installed")
    with pytest.raises(fp.ArgumentError, match="input: got a Quantity in Jy, whose unit"):
        fp.gaussian_filter([1 * units.Jy, 2 * units.Jy], 1)
