"""Arrays of other libraries as DLPack hands them over: what they say beside their bytes, and those that refuse."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import footprint as fp
from tests.unit.test_arguments import IMAGE, Foreign


class Unknown(Foreign):
    """The same of a library that takes nothing over."""

    __module__ = "unknown"


class Held(Foreign):
    """As a tensor of PyTorch's with a gradient."""

    def __dlpack__(self, **options):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")


def test_what_only_speaks_dlpack_is_taken_and_gives_numpys_arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "unknown", types.ModuleType("unknown"))
    found = fp.median_filter(Unknown(IMAGE), 3, device="cpu")
    assert type(found) is np.ndarray and (found == IMAGE).all()


class Negated(Foreign):
    """A tensor of PyTorch's that shows the negative of what it holds, as the imaginary part of a conjugate does."""

    __module__ = "torch"
    is_cuda = False

    def is_neg(self):
        return True

    def is_conj(self):
        return False

    def resolve_neg(self):
        return Foreign(-self.values)


def test_the_sign_of_a_tensor_may_be_a_flag(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert (fp.convolve(Negated(IMAGE), [[1.0]], device="cpu") == -1).all()
    assert (fp.convolve(IMAGE, Negated([[1.0]]), device="cpu") == -1).all()
    with pytest.raises(fp.ArgumentError, match="out: got a Negated that shows other numbers than its memory holds"):
        fp.convolve(IMAGE, [[1.0]], out=Negated(IMAGE), device="cpu")


def test_what_is_not_handed_over_is_said():
    wanted = r"input: got a Held that is not handed over \(.*tensor\.detach\(\)\), wanted .* in the host's memory\."
    with pytest.raises(fp.ArgumentError, match=wanted):
        fp.median_filter(Held(IMAGE), 3)


class Traced(Foreign):
    """As an array of JAX while a function of it is being compiled, which has a shape and no numbers."""

    aval = None

    def __dlpack__(self, **options):
        raise TypeError("Abstract tracer value encountered: traced array with shape float32[2]\nThe error occurred while ...")


def test_what_is_being_traced_is_said_in_one_sentence():
    wanted = r"^image: got a Traced that is not handed over \(Abstract .*\[2\]\), wanted .*; call .* outside jax\.jit, or .*\.$"
    with pytest.raises(fp.ArgumentError, match=wanted) as caught:
        fp.convolve(Traced(IMAGE), [[1.0]], device="cpu")
    assert "\n" not in str(caught.value)
