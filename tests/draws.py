"""Calls of verbs drawn at random, every kind of argument by a method."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import ndimage

import footprint as fp
from tests.scans import ArrayScan, raw_scan

REAL = ("u1", "i2", "u2", "i4", "f2", "f4", "f4", "f4", "f8", ">f4", "?")
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")
FILTERS = ("ramlak", "shepp-logan", "cosine", "hamming", "hann", "tukey", "lanczos", "parzen", "none")
RINGS = ("mean", "mean-division", "double-flatfield", "sorting", "large", "dead", "fw")
PADS = ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "median", "minimum")


@dataclass
class Call:
    """A verb with its arguments; how near results have to be, in units of ``scale`` (their own largest number unless given)."""

    verb: str
    arrays: list[Any]
    options: dict[str, Any] = field(default_factory=dict)
    near: float = 0.0
    scale: float | None = None
    same_bits: bool = True

    def __str__(self) -> str:
        shapes = [f"{a.dtype.str}{a.shape}" if isinstance(a, np.ndarray) else repr(a)[:60] for a in self.arrays]
        return f"{self.verb}({', '.join(shapes)}, {', '.join(f'{k}={v!r}' for k, v in self.options.items())})"[:700]

    def run(self, kinds: type = object, **where: Any) -> list[np.ndarray] | str:
        """Arrays that it gives, which have to be of these ``kinds``, or the sentence of its refusal."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = getattr(fp, self.verb)(*self.arrays, **self.options, **where)
            except fp.FootprintError as error:
                if isinstance(error, fp.BudgetError) and where.get("memory") == 1:
                    raise
                return f"{type(error).__name__}: {error}"
        for one in found if isinstance(found, tuple) else (found,):
            if getattr(one, "ndim", 0) and not isinstance(one, kinds):
                raise TypeError(f"{self.verb} gave {type(one)} where {kinds} were given")
        return flat(found)


def flat(found: Any) -> list[np.ndarray]:
    """All numbers of a result, as arrays on the host."""
    if hasattr(found, "colnames"):
        if "theta" in found.colnames:
            # A circle has no angle, and 90 degrees are -90.
            turned, length = np.deg2rad(2 * np.asarray(found["theta"])), found["a"] ** 2 - found["b"] ** 2
            found["theta"], found["turn"] = length * np.cos(turned), length * np.sin(turned)
        return [np.asarray(found[name]) for name in found.colnames if found[name].dtype.kind in "biuf"]
    if isinstance(found, tuple):
        return [one for part in found for one in flat(part)]
    if hasattr(found, "__dataclass_fields__"):
        return [np.asarray(getattr(found, name), float) for name in found.__dataclass_fields__]
    if hasattr(found, "__cuda_array_interface__"):
        import cupy

        return [cupy.asnumpy(cupy.asarray(found))]
    return [np.asarray(found)]


class Draw:
    """Random choices, every kind of argument by a method."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *among: Any) -> Any:
        return among[self.rng.integers(len(among))]

    def some(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def between(self, low: float, high: float) -> float:
        return float(np.round(self.rng.uniform(low, high), 3))

    def count(self, low: int, high: int) -> int:
        """As often between 2 and 4 as between 200 and 400."""
        return int(np.exp(self.rng.uniform(np.log(low), np.log(high + 1))))

    def array(self, shape: tuple[int, ...], dtype: str = "", bad: float = 0.0) -> np.ndarray:
        kind = np.dtype(dtype or self.one(*REAL))
        made = self.rng.standard_normal(shape) * 10 + 30
        if kind.kind in "f" and self.some(0.3):
            made = made * 1e-6 if kind.itemsize > 2 else made / 100
        if bad and kind.kind == "f":
            made[self.rng.random(shape) < bad] = np.nan
        made = made > 30 if kind.kind == "b" else made
        made = made.astype(kind)
        if self.some(0.25):
            # Strides that are not C's.
            made = np.asfortranarray(made) if self.some() else np.repeat(made, 2, -1)[..., ::2]
        return made

    def shape(self, n: int, high: int = 90) -> tuple[int, ...]:
        most = {1: high**2, 2: 2 * high, 3: high // 2}[n]
        return tuple(self.count(1, most) for _ in range(n))


def convolve(d: Draw) -> Call:
    n = d.one(1, 2, 2, 2, 3)
    shape = d.shape(n)
    mask = d.rng.standard_normal(tuple(d.count(1, {1: 300, 2: 40, 3: 9}[n]) for _ in range(n))).astype(d.one("f4", "f8", "i2"))
    if d.some(0.3):
        mask = np.ones_like(mask)
    options: dict[str, Any] = {"mode": d.one("same", "full", "valid"), "boundary": d.one(*MODES), "cval": d.one(0.0, 2.5)}
    nan = d.one("propagate", "propagate", "interpolate", "ignore")
    if nan != "propagate":
        options["nan"] = nan
        mask = np.abs(mask) + 1
    image = d.array(shape, bad=0.02 if nan != "propagate" and d.some() else 0.0)
    if d.some(0.2):
        options["method"] = d.one("direct", "fft", "separable", "overlap-save")
    if options["mode"] == "same" and d.some(0.2):
        options["origin"] = tuple(int(d.rng.integers(-(k // 2), k - k // 2)) for k in mask.shape)
    scale = float(np.abs(mask).sum() * max(np.abs(np.nan_to_num(image.astype("f8"))).max(), 2.5))
    near = 2e-3 if image.dtype == np.float16 else 3e-6
    return Call(d.one("convolve", "correlate"), [image, mask], options, near, scale, same_bits=False)


def filters(d: Draw) -> Call:
    n = d.one(1, 2, 2, 3)
    image = d.array(d.shape(n))
    verb = d.one("gaussian_filter", "uniform_filter", "sobel", "laplace", "gaussian_laplace", "unsharp_mask")
    options: dict[str, Any] = {"mode": d.one(*MODES), "cval": d.one(0.0, 2.5)}
    arguments: list[Any] = [image]
    if verb in ("gaussian_filter", "gaussian_laplace"):
        arguments.append(d.between(0.3, 6))
        options["truncate"] = d.one(4.0, 3.0, 5.5)
    if verb == "gaussian_filter" and d.some(0.3):
        options["order"] = d.one(1, 2)
    if verb == "uniform_filter":
        arguments.append(d.count(1, 60))
    if verb == "sobel":
        options["axis"] = int(d.rng.integers(n))
    scale = float(np.abs(np.nan_to_num(image.astype("f8"))).max()) + 2.5
    return Call(verb, arguments, options, 2e-3 if image.dtype == np.float16 else 2e-5, scale, same_bits=False)


def rank(d: Draw) -> Call:
    n = d.one(1, 2, 2, 3)
    image = d.array(d.shape(n, 70))
    verb = d.one("median_filter", "minimum_filter", "maximum_filter", "percentile_filter", "rank_filter")
    size = tuple(d.count(1, {1: 30, 2: 11, 3: 5}[n]) for _ in range(n))
    options: dict[str, Any] = {"mode": d.one(*MODES), "cval": d.one(0.0, 2.0)}
    if d.some(0.3):
        shape = d.rng.random(size) < 0.7
        shape.flat[0] = True
        options["footprint"] = shape
        room = int(shape.sum())
    else:
        options["size"] = size
        room = int(np.prod(size))
    arguments: list[Any] = [image]
    if verb == "percentile_filter":
        arguments.append(d.one(0, 20, 50, 99.5, 100))
    if verb == "rank_filter":
        arguments.append(int(d.rng.integers(room)))
    return Call(verb, arguments, options)


class Thin(Draw):
    """Arrays that are long along another axis than the last, which is short."""

    def shape(self, n: int, high: int = 90) -> tuple[int, ...]:
        lengths = [self.count(1, 33) for _ in range(n)]
        if n > 1:
            lengths[int(self.rng.integers(n - 1))] = self.count(60, 600)
        return tuple(lengths)


def thin(d: Draw) -> Call:
    return d.one(filters, filters, rank, pad)(Thin(int(d.rng.integers(1 << 31))))


def pad(d: Draw) -> Call:
    n = d.one(1, 2, 2, 3)
    image = d.array(d.shape(n, 60))
    mode = d.one(*PADS)
    width = [(int(d.rng.integers(0, 30)), int(d.rng.integers(0, 30))) for _ in range(n)]
    options = {"constant_values": 3} if mode == "constant" and d.some() else {}
    return Call("pad", [image, width, mode], options, 1e-6 if mode in ("linear_ramp", "mean") else 0.0)


def small(d: Draw) -> Call:
    of_stacks = ("vertical_shift", "remove_stripes", "remove_zingers", "untilt", "paganin")
    verb = d.one("threshold", "label", "sigma_clip", "muladd", *of_stacks)
    if verb == "threshold":
        return Call(verb, [d.array(d.shape(2)), d.between(20, 40)], {"background": d.one(0.0, 1.5)})
    if verb == "label":
        return Call(verb, [(d.rng.random(d.shape(2)) < d.between(0.2, 0.8)).astype(d.one("?", "u1", "i4")), d.one(4, 8)])
    if verb == "sigma_clip":
        return Call(verb, [d.array(d.shape(2), bad=d.one(0, 0.05)), d.between(1.5, 4)], {}, 1e-9)
    if verb == "muladd":
        shape = d.shape(2)
        pair = [np.ascontiguousarray(d.array(shape, kind)) for kind in [d.one("f4", "f8")] * 2]
        return Call(verb, pair, {"a": d.between(-2, 2), "b": d.one(1.0, 0.25)}, 1e-6)
    n_a, n_z, n_x = d.count(1, 40), d.count(1, 40), d.count(2, 120)
    kind = d.one("f4", "f8", "u2")
    if verb == "remove_stripes":
        lines = d.array((n_z, max(n_a, 4), max(n_x, 8)), kind)
        return Call(verb, [lines, d.one(*RINGS)], {}, 2e-5)
    stack = np.abs(d.array((n_a, n_z, n_x), kind)) + 1
    if verb == "vertical_shift":
        return Call(verb, [stack, d.rng.uniform(-5, 5, n_a)], {}, 1e-6)
    if verb == "remove_zingers":
        return Call(verb, [stack, d.between(0.1, 1)], {"size": d.one(3, 5, 7)}, 1e-6)
    if verb == "untilt":
        return Call(verb, [stack, d.between(-3, 3)], {}, 1e-5)
    length = {"delta_beta": d.one(20.0, 300.0), "energy": 20.0, "distance": 0.1, "pixel_size": 1e-6}
    return Call(verb, [stack / 60], {**length, "padding": d.one("edge", "reflect", "symmetric", "air", "zeros")}, 2e-5)


def angles(d: Draw, n: int) -> np.ndarray:
    span = d.one(np.pi, np.pi, 2 * np.pi, 0.7 * np.pi)
    return np.sort(d.rng.uniform(0, span, n)) if d.some(0.3) else np.linspace(0, span, n, endpoint=False)


def settings(d: Draw, n_x: int, n_a: int) -> dict[str, Any]:
    """What all backprojections take."""
    found: dict[str, Any] = {}
    if d.some(0.6):
        found["center"] = d.between(0.2 * n_x, 0.8 * n_x)
    if d.some(0.2):
        x0, y0 = int(d.rng.integers(0, n_x)), int(d.rng.integers(0, n_x))
        found["roi"] = (x0, int(d.rng.integers(x0 + 1, n_x + 1)), y0, int(d.rng.integers(y0 + 1, n_x + 1)))
    if d.some(0.2):
        found["axis_shifts"] = d.rng.uniform(-2, 2, n_a)
    return found


def filtered(d: Draw) -> dict[str, Any]:
    found: dict[str, Any] = {"filter": d.one(*FILTERS), "padding": d.one("constant", "edge", "reflect", "symmetric", "wrap")}
    if d.some():
        found |= {"method": "fourier", "accuracy": d.one(1e-3, 1e-4, 1e-5), "interpolation": d.one("linear", "sinc")}
    if d.some(0.2):
        found["cutoff"] = d.between(0.2, 1)
    return found


def fbp(d: Draw) -> Call:
    n_x, n_a = d.count(2, 150), d.count(2, 150)
    verb = d.one("fbp", "fbp", "fbp", "ramp_filter", "backproject", "project")
    shape = (n_a, n_x) if d.some() else (d.count(1, 6), n_a, n_x)
    lines = d.array(shape, d.one("f4", "f4", "f8", "u2", ">f4"))
    if verb == "ramp_filter":
        options = {"filter": d.one(*FILTERS), "padding": d.one("constant", "edge", "reflect")}
        return Call(verb, [lines], options, 1e-5, same_bits=False)
    if verb == "project":
        image = d.array((n_x, n_x) if len(shape) == 2 else (shape[0], n_x, n_x), "f4")
        return Call(verb, [image, angles(d, n_a)], {}, 1e-5, same_bits=False)
    options = settings(d, n_x, n_a)
    if verb == "backproject":
        return Call(verb, [lines, angles(d, n_a)], options, 2e-5, same_bits=False)
    options |= filtered(d)
    if "roi" not in options and d.some(0.3):
        options["margin"] = d.count(1, 30)
    options["circle"] = d.some(0.3)
    return Call(verb, [lines, angles(d, n_a)], options, 10 * options.get("accuracy", 2e-6), same_bits=False)


def iterate(d: Draw) -> Call:
    n_x, n_a = d.count(4, 60), d.count(3, 60)
    lines = np.abs(d.array((n_a, n_x) if d.some() else (d.count(1, 4), n_a, n_x), "f4"))
    options = settings(d, n_x, n_a) | {"iterations": d.count(1, 5)}
    options.pop("roi", None)
    verb = d.one("sirt", "cgls", "tv")
    if verb == "tv":
        options["weight"] = d.between(0.01, 2)
    return Call(verb, [lines, angles(d, n_a)], options, 1e-3, same_bits=False)


def scan(d: Draw) -> Call:
    n_a, n_z, n_x = d.count(8, 80), d.count(1, 9), d.count(8, 90)
    turned = angles(d, n_a)
    log = d.some(0.8)
    if log:
        scan = raw_scan(np.abs(d.rng.standard_normal((n_a, n_z, n_x))) * 0.3, turned, d.rng, d.one("u2", "f4"), d.one(1, 2))
    else:
        scan = ArrayScan(np.abs(d.rng.standard_normal((n_a, n_z, n_x))).astype("f4") * 0.3, turned)
    options = settings(d, n_x, n_a) | filtered(d) | {"log": log}
    options.setdefault("center", (n_x - 1) / 2)
    if n_z > 1 and d.some(0.3):
        first = int(d.rng.integers(0, n_z - 1))
        options["rows"] = (first, int(d.rng.integers(first + 1, n_z + 1)))
    steps: dict[str, Any] = {}
    if log and d.some(0.3):
        steps["phase"] = {"delta_beta": 50.0, "energy": 20.0, "distance": 0.1, "pixel_size": 1e-6}
    if log and d.some(0.2):
        steps["zingers"] = 0.5
    if log and d.some(0.2):
        steps["unsharp"] = d.between(0.2, 2)
    if d.some(0.3):
        steps["normalization"] = "chebyshev"
    if d.some(0.3):
        steps["rings"] = d.one(*RINGS)
    if steps:
        options["steps"] = fp.steps(**steps)
    if d.some(0.2):
        options["shifts"] = d.rng.uniform(-2, 2, n_a)
    return Call("reconstruct", [scan], options, max(20 * options.get("accuracy", 2e-6), 1e-4), same_bits=False)


def sky(d: Draw) -> np.ndarray:
    shape = (d.count(12, 150), d.count(12, 150))
    image = ndimage.gaussian_filter(d.rng.standard_normal(shape), 1.2)
    image /= image.std()
    points = np.zeros(shape)
    for _ in range(d.count(1, 30)):
        points[d.rng.integers(shape[0]), d.rng.integers(shape[1])] += d.between(30, 3000)
    image = image + ndimage.gaussian_filter(points, 1.4) + d.one(0, 100)
    if d.some(0.2):
        image[d.rng.random(shape) < 0.01] = np.nan
    return image.astype(d.one("f4", "f4", "f8", ">f4"))


def sources(d: Draw) -> Call:
    image = sky(d)
    options: dict[str, Any] = {"connectivity": d.one(4, 8), "background": d.one("global", "mesh"), "box": d.one(16, 32, 64)}
    if options["background"] == "global":
        del options["box"]
    if d.some():
        options["flood"] = 3.0
    if d.some(0.4):
        options["deblend"] = True
    if d.some(0.3):
        options["fit"] = d.one("point", "gaussian")
    if options.get("fit") == "point":
        options["header"] = {"BMAJ": 3.3, "BMIN": 3.3, "BPA": 0.0, "CDELT1": -1.0, "CDELT2": 1.0, "BUNIT": "Jy/beam"}
    if d.some(0.2):
        options["min_area"] = d.one(1, 3, 9)
    if d.some(0.2):
        options["kron"] = True
    if d.some(0.2):
        options["windowed"] = True
    if d.some(0.2):
        options["apertures"] = [2.0, 3.5]
    return Call("find_sources", [image, d.one(4.0, 5.0, 7.0)], options, 1e-2)


KINDS: dict[str, Callable[[Draw], Call]] = {
    kind.__name__: kind for kind in (convolve, filters, rank, pad, thin, small, fbp, iterate, scan, sources)
}
