"""Repeated calls with arguments of every kind: none gives what another's arguments gave, however alike the two are written."""

from __future__ import annotations

import fractions
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footprint as fp
from footprint.plan.exact import exact, told
from footprint.plan.ready import READY
from tests import far

# More than NumPy writes out, so that a repr has "..." in the middle.
N = 1200
RNG = np.random.default_rng(1)
ROWS = RNG.random((N, 6)).astype("f4")
IMAGE = RNG.random((5, 6)).astype("f4")
DUE = np.array([[0.12345678950, 0.5], [0.1, 3.0]])
ANGLES = np.linspace(0, np.pi, N, endpoint=False)
# Tables that differ in the middle only, where a repr leaves out, or in a digit that it does not show; and numbers like them.
TABLES = [ANGLES, np.where(np.arange(N) == 600, 2.5, ANGLES), np.where(np.arange(N) == 3, ANGLES + 1e-9, ANGLES)]
NUMBERS = [0.12345678901, 0.12345678999, 1.0, 2.0, 0.0, -0.0]


class Sub(np.ndarray):
    """A subclass."""


class Number(float):
    """A float that means another."""

    def __float__(self) -> float:
        return float.__float__(self) + 1


class Rounded:
    """A number of another library: its text has four digits."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"tensor({self.value:.4f})"


class Column(Rounded):
    """A table of another library: its text has the ends."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.value, dtype)

    def __repr__(self) -> str:
        return "Column(...)"


def read_only(value: np.ndarray) -> np.ndarray:
    value = value.copy()
    value.flags.writeable = False
    return value


@pytest.fixture(scope="module")
def kinds() -> Iterator[dict[str, Callable[[Any], Any]]]:
    """Ways to hand over a table. "in place": one array, whose content changes from call to call."""
    with tempfile.TemporaryDirectory() as folder, h5py.File(Path(folder) / "a.h5", "w") as file:
        buffer = np.zeros(N)
        mapped = np.memmap(Path(folder) / "m", "f8", "w+", shape=(N,))
        data = file.create_dataset("angles", (N,), "f8")

        def changed(target: Any) -> Callable[[Any], Any]:
            def put(value: np.ndarray) -> Any:
                target[...] = value
                return target

            return put

        yield {
            "list": list,
            "list of floats": lambda v: v.tolist(),
            "tuple": tuple,
            "array": np.copy,
            "float32": lambda v: v.astype("f4"),
            "foreign bytes": lambda v: v.astype(">f8"),
            "strided": lambda v: np.repeat(v, 2)[::2],
            "read-only": read_only,
            "subclass": lambda v: v.copy().view(Sub),
            "masked": np.ma.MaskedArray,
            "another library's": Column,
            "in place": changed(buffer),
            "memmap in place": changed(mapped),
            "h5py in place": changed(data),
        }
        del mapped


SCALARS: dict[str, Callable[[float], Any]] = {
    "float": float,
    "int": int,
    "bool": bool,
    "float64": np.float64,
    "float32": np.float32,
    "0-d": np.array,
    "0-d float32": lambda v: np.array(v, "f4"),
    "0-d subclass": lambda v: np.array(v).view(Sub),
    "one in an array": lambda v: np.array([v])[0:1].reshape(()),
    "fraction": fractions.Fraction,
    "subclass": Number,
    "another library's": Rounded,
    "text": str,
}
TABLED: dict[str, Callable[[Any], Any]] = {
    "fbp": lambda t: fp.fbp(ROWS, t, method="direct", device="cpu"),
    "fbp, shifts": lambda t: fp.fbp(ROWS, axis_shifts=t, method="direct", device="cpu"),
    "backproject": lambda t: fp.backproject(ROWS, t, device="cpu"),
    "vertical_shift": lambda t: fp.vertical_shift(ROWS[:, :2, None], t, device="cpu"),
    "ramp_filter": lambda t: fp.ramp_filter(ROWS[:3], filter=t[:7], device="cpu"),
    "fbp, gains": lambda t: fp.fbp(ROWS, filter=t[596:603], method="direct", device="cpu"),
    "pad": lambda t: fp.pad(np.ones((N, 2)), 1, constant_values=[t[600], t[3]], device="cpu"),
    "convolve": lambda t: fp.convolve(np.ones(2 * N), t, mode="valid", device="cpu"),
}
NUMBERED: dict[str, Callable[[Any], Any]] = {
    "threshold": lambda v: fp.threshold(DUE, v, device="cpu"),
    "background": lambda v: fp.threshold(DUE, 0.0, background=v, device="cpu"),
    "convolve": lambda v: fp.convolve(np.zeros((3, 3)), np.ones((3, 3)), cval=v, device="cpu"),
    "muladd": lambda v: fp.muladd(np.zeros((2, 2)), np.ones((2, 2)), 0.0, v, device="cpu"),
    "pad": lambda v: fp.pad(np.zeros((2, 2)), 1, constant_values=v, device="cpu"),
    "pad, width": lambda v: fp.pad(IMAGE, v, "edge", device="cpu"),
    "center": lambda v: fp.backproject(ROWS[:8], center=v, device="cpu"),
    "cutoff": lambda v: fp.ramp_filter(ROWS[:8], cutoff=v, device="cpu"),
    "pixel_size": lambda v: fp.fbp(ROWS[:8], pixel_size=v, method="direct", device="cpu"),
    "sigma_clip": lambda v: fp.sigma_clip(IMAGE, v, device="cpu"),
    "memory": lambda v: fp.convolve(IMAGE, np.ones((3, 3)), memory=v, device="cpu"),
}


def outcome(call: Callable[[Any], Any], value: Any) -> tuple[str, Any]:
    """What a call gives, to the bit, or the sentence it ends with."""
    try:
        found = call(value)
    except (fp.ShapeError, fp.ArgumentError, fp.BudgetError, TypeError, AttributeError) as error:
        return type(error).__name__, "" if isinstance(error, TypeError | AttributeError) else str(error)
    return "", (found.shape, found.dtype.str, found.tobytes()) if isinstance(found, np.ndarray) else repr(found)


def check(steps: list[tuple[Callable[[Any], Any], Callable[[], Any]]]) -> None:
    """Calls one after another, each beside the same call with nothing kept."""
    alone = []
    for call, value in steps:
        fp.clear_cache()
        alone.append(outcome(call, value()))
    fp.clear_cache()
    for _ in range(2):
        for (call, value), want in zip(steps, alone):
            assert outcome(call, value()) == want


@settings(max_examples=25)
@given(draw=st.data())
def test_tables_of_every_kind(kinds, draw):
    verb = draw.draw(st.sampled_from(sorted(TABLED)))
    made = st.tuples(st.integers(0, len(TABLES) - 1), st.sampled_from(sorted(kinds)))
    steps = draw.draw(st.lists(made, min_size=2, max_size=4))
    check([(TABLED[verb], lambda n=n, kind=kind: kinds[kind](TABLES[n])) for n, kind in steps])


@settings(max_examples=80)
@given(draw=st.data())
def test_numbers_of_every_kind(draw):
    verb = draw.draw(st.sampled_from(sorted(NUMBERED)))
    made = st.tuples(st.sampled_from(NUMBERS), st.sampled_from(sorted(SCALARS)))
    steps = draw.draw(st.lists(made, min_size=2, max_size=4))
    check([(NUMBERED[verb], lambda v=v, kind=kind: SCALARS[kind](v)) for v, kind in steps])


@pytest.mark.parametrize("kind", ["memmap in place", "h5py in place", "in place", "another library's", "subclass", "list"])
@pytest.mark.parametrize("verb", ["fbp", "fbp, shifts", "backproject"])
def test_tables_that_look_alike(kinds, kind, verb):
    """The middle of a long table is in no repr."""
    check([(TABLED[verb], lambda n=n: kinds[kind](TABLES[n])) for n in (0, 1, 0, 2)])


@pytest.mark.parametrize("kind", ["0-d", "float64", "another library's", "subclass", "0-d subclass"])
@pytest.mark.parametrize("verb", ["threshold", "background", "convolve", "muladd", "pad", "center"])
def test_numbers_that_look_alike(kind, verb):
    """The ninth digit is in the repr of no array."""
    check([(NUMBERED[verb], lambda v=v: SCALARS[kind](v)) for v in NUMBERS])


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": np.copy,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "Fortran": np.asfortranarray,
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "foreign bytes": lambda a: a.astype(a.dtype.newbyteorder()),
    "read-only": read_only,
    "double": lambda a: a.astype("f8"),
}
ARRAYED: dict[str, Callable[[Any], Any]] = {
    "convolve": lambda a: fp.convolve(a, np.ones((3, 3)), device="cpu"),
    "mask": lambda a: fp.convolve(np.ones((9, 9), "f4"), a, device="cpu"),
    "threshold": lambda a: fp.threshold(a, 0.5, device="cpu"),
    "pad": lambda a: fp.pad(a, 2, "reflect", device="cpu"),
    "muladd": lambda a: fp.muladd(np.ones((5, 6), "f4"), a, 2, 3, device="cpu"),
    "ramp_filter": lambda a: fp.ramp_filter(a, device="cpu"),
    "backproject": lambda a: fp.backproject(a, device="cpu"),
    "median_filter": lambda a: fp.median_filter(a, 3, device="cpu"),
    "sigma_clip": lambda a: fp.sigma_clip(a, device="cpu"),
}


@pytest.mark.parametrize("verb", ARRAYED)
def test_arrays_of_every_layout(verb):
    """One shape and dtype, laid out in other ways."""
    check([(ARRAYED[verb], lambda kind=kind: LAYOUTS[kind](IMAGE)) for kind in (*LAYOUTS, "strided", "contiguous")])


def test_the_environment_decides_as_arguments_do(monkeypatch):
    """Its number of threads, and the device of "auto"."""
    with far.far_device():
        for threads, device in (("1", "cpu"), ("2", "cpu"), ("2", "cuda:0"), ("1", "cuda:0")):
            monkeypatch.setenv("FOOTPRINT_THREADS", threads)
            monkeypatch.setenv("FOOTPRINT_DEVICE", device)
            before = READY.hits
            fp.convolve(IMAGE, np.ones((3, 3)))
            assert READY.hits == before and fp.cache_info()["plans"][-1][1] == device
            fp.convolve(IMAGE, np.ones((3, 3)))
            assert READY.hits == before + 1
        assert len(fp.cache_info()["plans"]) == 4


@pytest.mark.parametrize(
    "kind", ["list", "list of floats", "tuple", "array", "float32", "read-only", "in place", "memmap in place"]
)
def test_tables_of_the_usual_kinds_are_found_again(kinds, kind):
    fp.clear_cache()
    before = READY.hits
    for _ in range(2):
        fp.fbp(ROWS, kinds[kind](ANGLES), method="direct", device="cpu")
    assert READY.hits == before + 1 and len(fp.cache_info()["plans"]) == 1
    assert fp.cache_info()["calls"] > 0


@pytest.mark.parametrize("verb", NUMBERED)
def test_every_verb_finds_its_plan(verb):
    """A setting of a type that no key knows would plan every call anew."""
    if verb == "pad, width":
        return
    value = "2MB" if verb == "memory" else 1.0
    fp.clear_cache()
    NUMBERED[verb](value)
    before = READY.hits
    NUMBERED[verb](value)
    assert READY.hits == before + 1


@pytest.mark.parametrize(
    "one, other",
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("1", 1),
        (None, "None"),
        ((1, 2), [1, 2]),
        ((1, (2,)), [1, (2,)]),
        ([1, [2]], [1, 2]),
        (np.float32(1), np.float64(1)),
    ],
)
def test_what_is_equal_and_means_another_thing_has_another_text(one, other):
    assert exact(one) != exact(other) is not None
    assert told((one,)) != told((other,)) is not None


def test_what_is_the_same_is_told_the_same():
    """Whether its parts are one object or two, as the words of two calls are."""
    word, nan = "".join(["con", "stant"]), float("nan")
    assert told(("constant", "constant", 1.5, nan)) == told((word, "constant", float("1.5"), float("nan")))


def test_what_is_not_known_exactly_has_no_text():
    things = [object(), np.array([object()]), np.ma.array([1.0]), Number(1), {1, 2}, np.longdouble(1), 10**5000, Rounded(1)]
    for thing in things:
        assert exact(thing) is exact([1, (thing,)]) is exact({"a": thing}) is None


def test_long_tables_are_told_apart_in_few_bytes():
    texts = {exact(table, table.tolist(), {"a": table}) for table in TABLES}
    assert len(texts) == 3 and all(text is not None and len(text) < 600 for text in texts)


def test_a_long_table_is_known_again_by_its_bytes(monkeypatch):
    fp.clear_cache()
    one, other = np.linspace(0, 3, 1500), np.linspace(0, 4, 1500)
    texts = [exact(table) for table in (one, other, one, other)]
    assert texts[:2] == texts[2:] and texts[0] != texts[1]
    assert fp.cache_info()["calls"] == one.nbytes + other.nbytes
    one[700] += 1
    assert exact(one) not in texts
    fp.clear_cache()
    assert fp.cache_info()["bytes"] == 0 and exact(other) == texts[1]
    fp.clear_cache()
    monkeypatch.setenv("FOOTPRINT_KEEP", "0")
    assert exact(other) == texts[1] and fp.cache_info()["bytes"] == 0
