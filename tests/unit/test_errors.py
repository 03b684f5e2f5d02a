"""Errors keep their sentence and their figures on the way back from a worker process; null devices refuse to run."""

import pickle
import warnings

import numpy as np
import pytest

import footprint as fp
from footprint.errors import ArgumentError, BackendError, BudgetError, CapacityError, FormatError, ShapeError, missing_extra


@pytest.mark.parametrize(
    "error",
    [
        ArgumentError("sigma", -1, "a number above 0", "give 5"),
        ShapeError("image", (0, 3), "(n_y, n_x)"),
        FormatError("scan.nx", "is truncated", "copy it again"),
        BudgetError(10, {"arena": 12, "host": 3}, 15, "fbp"),
        CapacityError("capacity", 3, 9),
        BackendError("cuda:7", "there is none"),
        missing_extra("cupy", "cuda", "device 'cuda'"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel(error):
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error) and str(back) == str(error) and back.__dict__ == error.__dict__


def test_every_backend_error_has_its_parts():
    for error in (BackendError("cuda:7", "there is none", "choose cuda:0"), missing_extra("cupy", "cuda", "device 'cuda'")):
        assert str(error).endswith(f"{error.problem}; {error.fix}.")


@pytest.mark.parametrize("verb", ["convolve", "find_sources", "sigma_clip", "fbp"])
def test_null_devices_run_nothing(verb):
    image = np.ones((4, 5))
    more = {"convolve": (np.ones((3, 3)),), "fbp": (np.linspace(0, 3, 4),)}.get(verb, ())
    with pytest.raises(BackendError, match="null:h100: it only plans, and runs nothing"):
        getattr(fp, verb)(image, *more, device="null:h100")


def test_warnings_name_the_line_that_called():
    """They named a line of ours, which Python then took for the place where all of them had been said."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fp.find_sources(np.ones((20, 20)), 5)
        fp.open_scan(np.ones((8, 2, 9), np.float32), angles=np.linspace(0, 3, 8))
    assert {one.filename for one in told} == {__file__} and len(told) > 1
