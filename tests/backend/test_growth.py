"""The house grows without being rebuilt: operations written here, with kernels of their own, join a reconstruction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import h5py
import numpy as np
import pytest

import footprint as fp
from footprint.io.phantom import write_scan
from footprint.ops.base import Op
from footprint.ops.fbp import Fbp
from footprint.ops.filters import fast_length, response
from footprint.ops.flatfield import DeadPixels, Flat, Flatfield, MinusLog, Sinograms
from footprint.ops.pipeline import Pipeline
from footprint.plan.slots import NOTHING, Halo
from footprint.reference.fbp import fbp
from footprint.reference.flatfield import flatfield
from footprint.spec import ArraySpec
from tests.growth_kernels.contract import REACH


@dataclass(frozen=True)
class Unsharp(Op):
    """Sharpen sinograms along z; the detector's first and last rows stand for those beyond."""

    axes = ("zax",)
    cut = "zax"

    def halo(self, axis):
        return Halo(REACH, REACH) if axis == "z" else NOTHING

    def out_specs(self, *specs):
        return (ArraySpec(specs[0].shape, "float32", "zax"),)

    def record(self, b, *refs):
        lines, out = refs
        x = b.bring(lines, "float32")
        with b.deliver(out, "float32") as y:
            where = {"first": b.first(out, "z"), "start": b.first(lines, "z"), "total": lines.slot.spec.length("z")}
            b.launch("tests.growth_kernels:unsharp", x, y, **where)


@dataclass(frozen=True)
class OffMean(Op):
    """Take each pixel's mean over all angles off: what stands still, such as rings."""

    axes = ("azx",)
    cut = "zx"

    def out_specs(self, *specs):
        return (ArraySpec(specs[0].shape, "float32", "azx"),)

    def record(self, b, *refs):
        stack = b.bring(refs[0], "float32")
        with b.deliver(refs[1], "float32") as y:
            b.launch("tests.growth_kernels:off_mean", stack, y)


def grown(steps):
    """The mean off between dead pixels and transposition, sharpening between that and FBP."""
    names = [type(step).__name__ for step in steps]
    assert names == ["Flat", "MinusLog", "DeadPixels", "Sinograms", "Dropouts", "Fbp"]
    return [*steps[:3], OffMean(), steps[3], steps[4], Unsharp(), steps[5]]


def truth(scan, rows):
    """The chain in plain float64."""
    raw = np.empty(scan.shape, scan.dtype)
    scan.read(slice(0, scan.n_z), raw)
    lines = flatfield(raw, scan.flat_means(), scan.dark_mean(), *scan.flat_weights())
    lines -= lines.mean(axis=1, keepdims=True)
    index = np.clip(np.arange(scan.n_z)[:, None] + np.arange(-REACH, REACH + 1), 0, scan.n_z - 1)
    sharp = 2 * lines - lines[index].mean(axis=1)
    gains = response("ramlak", fast_length(2 * scan.n_x))
    return np.stack([fbp(s, scan.angles, gains, CENTER, (0, scan.n_x, 0, scan.n_x)) for s in sharp[rows]])


CENTER = 45.2


def inflate(path):
    """Store the frames as they are, so that budgets are the chain's and not those of compressed chunks."""
    with h5py.File(path, "a") as file:
        packed = []
        file.visititems(lambda name, item: packed.append(name) if getattr(item, "chunks", None) else None)
        for name in packed:
            frames = file[name][()]
            del file[name]
            file[name] = frames
    assert packed


def reconstructed(scan, target, count, **options):
    with fp.create_volume(target, (count, scan.n_x, scan.n_x)) as out:
        fp.reconstruct(scan, center=CENTER, method="direct", out=out, **options)
    with h5py.File(target) as file:
        return file["entry/reconstruction/results/data"][()]


@pytest.mark.parametrize("rows", [slice(None), slice(9, 41), slice(15, 50)])
def test_operations_of_the_tests_own_run_from_file_to_file(device, tmp_path, rows):
    found = write_scan(tmp_path / "scan.nx", n_angles=48, n_z=50, n_x=96)
    inflate(found.path)
    with fp.open_scan(found.path) as scan:
        count, plans = len(range(*rows.indices(scan.n_z))), []
        options = {"rows": rows, "steps": grown, "device": device, "on_plan": plans.append}
        whole = reconstructed(scan, tmp_path / "whole.h5", count, memory="1GB", **options)
        sixth = plans[0].choices[0].nbytes // 6
        part = reconstructed(scan, tmp_path / "part.h5", count, memory=sixth, **options)
        want = truth(scan, rows)
    assert plans[1].footprint.total <= sixth and plans[1].n_parts > plans[0].n_parts
    np.testing.assert_array_equal(part, whole)
    np.testing.assert_allclose(whole, want, rtol=0, atol=3e-5 * np.abs(want).max())


def test_no_file_of_footprint_knows_of_them():
    import footprint

    folder = footprint.__path__[0]
    for module in (Unsharp, OffMean):
        assert not module.__module__.startswith("footprint")
    from pathlib import Path

    texts = [path.read_text() for path in Path(folder).rglob("*") if path.suffix in (".py", ".knl", ".h")]
    assert len(texts) > 100 and not any("growth_kernels" in text or "off_mean" in text for text in texts)


def test_rows_read_are_those_the_halos_need(rng):
    from tests.scans import ArrayScan

    raw = rng.integers(100, 900, (7, 30, 16)).astype("u2")
    scan = ArrayScan(raw, np.arange(7) * np.pi / 7, np.full((1, 30, 16), 1000.0))
    fp.reconstruct(scan, rows=(10, 14), steps=grown, center=7.5, device="cpu")
    assert all(10 - REACH <= first and last <= 14 + REACH for first, last in scan.rows_read)


def test_four_steps_and_their_fusion_have_the_same_bits(device, rng):
    """Dead pixels of every kind, and both ways to tell the open beam."""
    from tests.backend.test_reconstruct import phantom

    scan = phantom(rng, n_angles=17, n_x=67)
    scan.flats[:, :, [0, 1, 30, 31, 66]] = 0
    scan.flats[:, 2] = 0
    # The same steps, with one between that passes on what it is given: nothing is fused around it.
    apart = lambda steps: [steps[0], replace_log(steps[1]), *steps[2:]]
    for i0 in ("auto", "border", 30000.0):
        if i0 != "auto":
            scan.n_flats = scan.n_flat_groups = 0
        options = {"center": 30.1, "i0": i0, "device": device, "steps": lambda steps: steps[:4]}
        together = fp.reconstruct(scan, **options)
        alone = fp.reconstruct(scan, **options | {"steps": lambda steps: apart(steps)[:4]})
        assert together.shape == (6, 17, 67) and np.isfinite(together).all() and np.ptp(together) > 0.5
        np.testing.assert_array_equal(alone, together)


@dataclass(frozen=True)
class OwnLog(MinusLog):
    """The same by another name, which no fusion knows."""


def replace_log(step):
    return OwnLog(step.lowest, step.highest)


def test_the_usual_steps_are_fused_and_others_are_not():
    chain = [Flat(*(np.zeros(2),) * 3), MinusLog(), DeadPixels(), Sinograms()]
    kinds = lambda ops: [type(stage.op) for stage in Pipeline.chain(ops).fused().stages]
    assert kinds(chain) == [Flatfield]
    assert kinds([chain[0], replace(chain[1], highest=2.0), *chain[2:]]) == [Flat, MinusLog, DeadPixels, Sinograms]
    assert kinds([*chain[:3], OffMean(), chain[3]]) == [Flat, MinusLog, DeadPixels, OffMean, Sinograms]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (5, "steps int function"),
        (lambda steps: None, "steps None list"),
        (lambda steps: [], "steps none"),
        (lambda steps: [*steps, "log"], "steps str Op"),
        (lambda steps: [Unsharp(), *steps], "steps 'azx' Unsharp 'zax'"),
        (lambda steps: steps[:3], "steps 'azx' z"),
        (lambda steps: [step for step in steps if not isinstance(step, Sinograms)], "steps 'azx' Dropouts 'zax'"),
    ],
)
def test_wrong_steps_are_one_clear_sentence(steps, words):
    with pytest.raises(fp.FootprintError) as caught:
        fp.plan_reconstruct((6, 4, 8), steps=steps, device="cpu")
    missing = [word for word in words.split() if word not in str(caught.value)]
    assert not missing, f"no {missing} in: {caught.value}"


def test_steps_may_be_left_out(rng):
    """Projections that are line integrals already want no logarithm."""
    from tests.backend.test_reconstruct import phantom

    scan = phantom(rng)
    usual = fp.reconstruct(scan, center=20.3, method="direct", device="cpu")
    lines = fp.reconstruct(scan, center=20.3, device="cpu", steps=lambda steps: steps[:-1])
    scan.raw, scan.dtype = np.ascontiguousarray(lines.transpose(1, 0, 2)), np.dtype("f4")
    bare = lambda steps: [step for step in steps if isinstance(step, Sinograms | Fbp)]
    again = fp.reconstruct(scan, center=20.3, method="direct", device="cpu", steps=bare)
    np.testing.assert_array_equal(again, usual)


def test_what_two_steps_read_is_spoilt_by_neither(device, rng):
    """In a graph FBP filters in place only what nobody else reads."""
    from footprint.api._arrays import Array
    from footprint.api._call import call
    from footprint.ops.base import Table
    from footprint.ops.pipeline import Stage

    angles, stack = Table(np.arange(9) * 0.3), rng.random((9, 5, 21), np.float32)
    stages = (
        Stage(Sinograms(), ("stack",), ("lines",)),
        Stage(Fbp(angles, 21, 10.0), ("lines",), ("slices",)),
        Stage(Unsharp(), ("lines",), ("sharp",)),
    )
    graph = Pipeline(stages, ("stack",), ("slices", "sharp"))
    out = [np.empty((5, 21, 21), np.float32), np.empty((5, 9, 21), np.float32)]
    faces = [Array(array, "numpy", "cpu") for array in (stack, *out)]
    call("graph", graph, faces[:1], faces[1:], device, None)
    lines = stack.transpose(1, 0, 2)
    index = np.clip(np.arange(5)[:, None] + np.arange(-REACH, REACH + 1), 0, 4)
    np.testing.assert_allclose(out[1], 2 * lines - lines[index].mean(axis=1), rtol=0, atol=1e-5)
    want = fp.fbp(np.ascontiguousarray(lines), angles.array, center=10.0, method="direct", device=device)
    np.testing.assert_allclose(out[0], want, rtol=0, atol=1e-5)
