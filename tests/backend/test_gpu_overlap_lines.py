"""Transforms on a GPU of signals, and of tiles that are too long for its chip: the sums, the same bits in parts, and the choice."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import correlate

import footprint as fp
from footprint.backend.null import PROFILES
from footprint.kernels.common.table import program
from footprint.kernels.overlap_lines.contract import segments
from footprint.kernels.overlap_lines.long import SPECTRA
from footprint.ops.convolve import Correlate
from footprint.ops.job import plan_op
from footprint.ops.overlap_save import OverlapSave, by_method
from footprint.plan.slots import Given
from footprint.reference import convolve as reference
from footprint.spec import ArraySpec as S

from .kernels import need_gpu

H100 = PROFILES["h100"]
SMALL = replace(H100, local_mem=48 << 10)
"""What OpenCL has on the same chip."""
LONG = (
    (OverlapSave((4500,), "full", "mirror", tile=256, block=(2300,), folded=True), (150_000,)),
    (OverlapSave((83, 60), "full", "wrap", tile=256, block=(42, 60), folded=True), (300, 600)),
)
CHIP = (OverlapSave((90,), tile=32, block=(50,), folded=True), (4000,))


def made(backend, op, *arrays, budget=None):
    """The sums of an operation on a device, and its plan."""
    need_gpu(backend)
    ins = [(S(a.shape, a.dtype.str), Given()) for a in arrays]
    spec = op.out_specs(*(spec for spec, _ in ins))[0]
    out = np.full(spec.shape, np.nan, spec.dtype)
    plan = plan_op(backend.limits, budget, "convolve", op, ins, [(spec, Given())])
    with plan.bind(backend) as bound:
        bound(*arrays, out=[out])
    return out, plan


# Of the chip's, one with every number of passes; of the others, what begins with a pass by 16 and what does not.
@pytest.mark.parametrize(("tile", "kind"), [(32, "f4"), (32, "f8"), (128, "f4"), (256, "f4"), (512, "f4")])
@pytest.mark.short_runs
def test_segments_of_every_length(tile, kind, backend, rng):
    if tile not in segments(backend.limits, np.dtype(kind).itemsize):
        pytest.skip(f"a segment of {tile**2} does not fit the {backend.limits.local_mem} bytes of this chip")
    taps = 3 * tile**2 // 2
    signal = rng.standard_normal(4 * tile**2 + 9).astype(kind)
    mask = rng.standard_normal(taps).astype(kind)
    got, _ = made(backend, OverlapSave((taps,), "valid", tile=tile, block=(taps // 2 + 1,), folded=True), signal, mask)
    scale = np.abs(mask).sum(dtype=float) * np.abs(signal).max()
    want = correlate(signal.astype("f8"), mask.astype("f8"), "valid", "fft")
    np.testing.assert_allclose(got, want, rtol=0, atol={"f4": 1e-6, "f8": 1e-14}[kind] * scale)


@pytest.mark.parametrize("boundary", ["constant", "nearest", "reflect", "mirror", "wrap"])
def test_signals_make_the_sums(boundary, device, rng):
    if device == "cpu":
        pytest.skip("the CPU has its own tests")
    for n, taps in ((1, 1), (1, 4), (1901, 97), (40, 90)):
        signal, mask = rng.standard_normal(n).astype(">f4"), rng.standard_normal(taps)
        for mode in ("same", "full"):
            options = {"mode": mode, "boundary": boundary, "cval": 2.5}
            got = fp.convolve(signal, mask, method="fft", device=device, **options)
            scale = np.abs(mask).sum() * max(np.abs(signal).max(), 2.5)
            np.testing.assert_allclose(got, reference.convolve(signal, mask, **options), rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize(("op", "shape"), LONG, ids=["signal", "image"])
def test_tiles_beyond_the_chip_make_the_sums_in_any_parts(op, shape, backend, rng):
    image, mask = rng.standard_normal(shape, "f4"), rng.standard_normal(op.taps, "f4")
    whole, _ = made(backend, op, image, mask)
    want = reference.correlate(image, mask, mode=op.mode, boundary=op.boundary) if len(shape) == 2 else None
    if want is None:
        padded = np.pad(image.astype("f8"), op.taps[0] - 1, mode="reflect")
        want = correlate(padded, mask.astype("f8"), "valid", "fft")
    np.testing.assert_allclose(whole, want, rtol=0, atol=1e-6 * np.abs(mask).sum() * np.abs(image).max())
    with pytest.raises(fp.BudgetError) as caught:
        made(backend, op, image, mask, budget=1)
    parts, plan = made(backend, op, image, mask, budget=caught.value.smallest)
    assert plan.n_parts > 1
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize(("op", "shape"), [*LONG, CHIP], ids=str)
def test_a_bright_tile_does_not_leak_into_the_dark_one_beside_it(op, shape, backend, rng):
    op = replace(op, mode="valid", boundary="constant", block=op.taps)
    image, mask = rng.random(shape, "f4"), rng.random(op.taps, "f4")
    step = op.steps[-1]
    exact = correlate(image.astype("f8"), mask.astype("f8"), "valid", "fft")
    for bright, dark in ((0, 1), (1, 0)):
        lit = image.copy()
        # What only one of two neighbours sees.
        lit[..., bright * step + op.taps[-1] : (bright + 1) * step] *= 1e6
        got, _ = made(backend, op, lit, mask)
        seen = (..., slice(dark * step, (dark + 1) * step - op.taps[-1]))
        assert np.abs(got[seen] - exact[seen]).max() < 1e-6 * mask.sum()


@pytest.mark.parametrize(("op", "shape"), [*LONG, CHIP], ids=str)
def test_what_is_not_finite_reaches_what_direct_sums_reach(op, shape, backend, rng):
    image, mask = rng.standard_normal(shape, "f4"), rng.random(op.taps, "f4")
    image[..., shape[-1] // 3], image[(*(n // 2 for n in shape[:-1]), -30)] = np.nan, np.inf
    image[(0,) * len(shape)] = -np.inf
    mask[(0,) * (len(shape) - 1) + (3,)] = 0
    for boundary, cval in (("mirror", 0.0), ("constant", np.inf)):
        some = replace(op, boundary=boundary, cval=cval, mode="same")
        got, _ = made(backend, some, image, mask)
        direct = fp.correlate(image, mask, boundary=boundary, cval=cval, method="direct", device="cpu")
        finite = np.isfinite(direct)
        assert finite.any() and not finite.all()
        np.testing.assert_array_equal(got[~finite], direct[~finite])
        np.testing.assert_allclose(got[finite], direct[finite], atol=1e-6 * mask.sum() * 5)


def test_a_mask_in_many_blocks_keeps_its_digits(backend):
    """Additions of many equal blocks would lose more than the transforms do; the second launch adds to what the first left."""
    for tile, taps, block in ((32, 2700, 100), (256, 2700, 290)):
        image, mask = np.full(9000, 6852.7, "f4"), np.full(taps, 1 / taps, "f4")
        got, _ = made(backend, OverlapSave((taps,), "same", "nearest", tile=tile, block=(block,), folded=True), image, mask)
        np.testing.assert_allclose(got, mask.sum(dtype=float) * np.float32(6852.7), rtol=1e-6)


def test_a_second_batch_of_tiles_goes_on_where_the_first_ended(backend, rng, monkeypatch):
    from footprint.kernels.overlap_lines import long

    op = LONG[0][0]
    # Tiles that wait for each other's slots are one launch: here they do not.
    monkeypatch.setattr(backend, "limits", replace(backend.limits, together=0))
    signal, mask = rng.standard_normal(500_000, "f4"), rng.standard_normal(op.taps, "f4")
    whole, _ = made(backend, op, signal, mask)
    # Room for two tiles; a part has up to four.
    monkeypatch.setattr(long, "SPECTRA", 1)
    monkeypatch.setattr(long, "STAGES", 1)
    again, plan = made(backend, op, signal, mask)
    assert plan.n_parts < 4
    np.testing.assert_array_equal(again, whole)


CONVEYED = """
import sys
from dataclasses import replace
import numpy as np
from scipy.signal import correlate
from footprint.backend.registry import open_backend
from footprint.kernels.overlap_lines import long
from footprint.ops.overlap_save import OverlapSave
from tests.backend.test_gpu_overlap_lines import made

backend, rng, found = open_backend(sys.argv[1]), np.random.default_rng(0), []
backend.limits = replace(backend.limits, together=2)
signal, mask = rng.standard_normal(750_000, "f4"), rng.standard_normal(4500, "f4")
op = OverlapSave(mask.shape, "valid", tile=256, block=(4500,), folded=True)
# Slots for three tiles of six, which wait for each other's, and for all of them.
for long.SPECTRA in (1, 8 << 20):
    found.append(made(backend, op, signal, mask)[0])
want = correlate(signal.astype("f8"), mask.astype("f8"), "valid", "fft")
np.testing.assert_array_equal(*found)
np.testing.assert_allclose(found[0], want, rtol=0, atol=1e-6 * np.abs(mask).sum() * np.abs(signal).max())
"""


def test_one_launch_whose_groups_wait_makes_the_same(backend):
    """PoCL's vectorizer does not keep barriers that lie in branches, so it goes without, in a process of its own."""
    need_gpu(backend)
    if backend.limits.device.startswith("opencl") and backend.limits.cores > 64:
        pytest.skip("OpenCL has no way for the groups of a GPU to wait for each other; on a processor they are threads")
    where = {**os.environ, "POCL_WORK_GROUP_METHOD": "loops", "POCL_KERNEL_CACHE": "0"}
    call = [sys.executable, "-c", CONVEYED, backend.limits.device]
    done = subprocess.run(call, env=where, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.short_runs
def test_batches_and_budgets(device, rng):
    if device == "cpu":
        pytest.skip("the CPU has its own tests")
    cube, mask = rng.standard_normal((7, 900, 3)).astype("f4"), rng.random(200, "f4")
    how = {"axes": 1, "method": "fft", "device": device}
    got = fp.convolve(cube, mask, **how)
    np.testing.assert_allclose(got, fp.convolve(cube, mask, **how | {"method": "direct"}), atol=1e-6 * mask.sum() * 5)
    images, square = rng.standard_normal((3, 150, 80), "f4"), rng.random((21, 20), "f4")
    how = {"axes": (1, 2), "method": "fft", "device": device, "boundary": "mirror"}
    whole = fp.convolve(images, square, **how)
    one = fp.convolve(images[1], square, method="fft", device=device, boundary="mirror")
    np.testing.assert_allclose(whole[1], one, atol=1e-6 * square.sum() * 5)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(images, square, memory=1, **how)
    np.testing.assert_array_equal(fp.convolve(images, square, memory=caught.value.smallest, **how), whole)
    signal, how = (100 * rng.random(31_000)).astype("u2"), {"method": "fft", "device": device, "boundary": "wrap"}
    whole = fp.convolve(signal, mask, **how)
    with pytest.raises(fp.BudgetError) as caught:
        fp.convolve(signal, mask, memory=1, **how)
    np.testing.assert_array_equal(fp.convolve(signal, mask, memory=caught.value.smallest, **how), whole)


def test_the_choice_goes_by_shapes_and_by_the_chip():
    chosen = lambda limits, taps, n=10**8: by_method("auto", Correlate((taps,)), S((n,)), limits)
    side = lambda op: op.sides[-1] if isinstance(op, OverlapSave) else 0
    assert [side(chosen(H100, taps)) for taps in (15, 101, 1001, 5000, 10**5)] == [0, 0, 1 << 13, 1 << 15, 1 << 19]
    assert [side(chosen(SMALL, taps)) for taps in (101, 1001, 10**5)] == [0, 1 << 13, 1 << 19]
    assert side(chosen(H100, 101, 1000)) == 0
    for same in (replace(H100, cores=16), replace(H100, free=1 << 20), replace(H100, device="opencl:0")):
        assert all(chosen(same, taps, 10**6) == chosen(H100, taps, 10**6) for taps in (101, 1001, 20_000))
    assert "in segments of 8192" in str(fp.plan_convolve((10**8,), (1001,), device="null:h100"))
    assert segments(H100, 8) == [32, 64, 256, 512, 1024] and segments(SMALL, 4) == [32, 64, 256, 512, 1024]
    assert segments(replace(H100, local_mem=8 << 10), 4) == []


def test_long_signals_stay_within_what_grids_and_memory_allow():
    settings = {"y0": 0, "x0": 0, "border_y": "none", "border_x": "none", "cval": 0.0}
    for tile, block in ((64, 4000), (1024, 10**5)):
        for shape in ((1 << 20, 3), (3, 1 << 33))[tile == 1024 :]:
            made = program(H100, "overlap_lines", (S(shape), S((1, block)), S(shape)), settings | {"tile": tile, "block": (block,)})
            assert len(made.launches) < 1100
            for launch in made.launches:
                assert launch.grid[0] < 1 << 31 and max(launch.grid[1:]) <= 65535
            assert made.work[0].nbytes <= max(SPECTRA, S(shape).nbytes / 64)
    # 1.2 x of input and output, all in all.
    plan = fp.plan_convolve((10**8,), (10**5,), device="null:h100")
    assert plan.footprint.total < 1.2 * 8e8


@pytest.mark.short_runs
@pytest.mark.parametrize(
    ("op", "shape"), [LONG[1], CHIP, (OverlapSave((9, 8), "same", "mirror", tile=64, block=(9, 8), folded=True), (70, 90))]
)
def test_integers_are_read_as_they_are_stored(op, shape, backend, rng):
    image, mask = rng.integers(0, 255, shape).astype("u1"), rng.random(op.taps, "f4")
    got, plan = made(backend, op, image, mask)
    assert {slot.spec.dtype for slot in plan.slots if slot.name == "image brought"} == {"|u1"}
    want = reference.correlate(image.astype("f8"), mask, mode=op.mode, boundary=op.boundary)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * mask.sum(dtype=float) * 255)
