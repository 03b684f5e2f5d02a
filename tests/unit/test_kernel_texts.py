"""The kernel texts compile for the chips it is meant for, where nvcc is to be had; their grids and constants."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from footprint.backend.null import PROFILES
from footprint.kernels import load
from footprint.kernels.gpu.backproject import backproject_program
from footprint.kernels.gpu.cast import cast_program
from footprint.kernels.gpu.convolve import convolve_program
from footprint.kernels.gpu.fft import fft_program, radices, scale_program, widen_program
from footprint.kernels.gpu.find_sources import labelled_program
from footprint.kernels.gpu.flatfield import flatfield_program
from footprint.kernels.gpu.label import label_program
from footprint.kernels.gpu.measure import measure_program
from footprint.kernels.gpu.muladd import muladd_program
from footprint.kernels.gpu.pad import constant_program, odd_program, pad_program, statistic_program
from footprint.kernels.gpu.slices import circle_program
from footprint.kernels.gpu.threshold import threshold_program
from footprint.kernels.gpu.vertical_shift import vertical_shift_program
from footprint.kernels.launch import Program
from footprint.spec import ArraySpec

H100 = PROFILES["h100"]
S = ArraySpec


def convolution(shape: tuple[int, int], mask: tuple[int, int], dtype: str = "f4", border: str = "reflect") -> Program:
    places = {"y0": -(mask[0] // 2), "x0": -(mask[1] // 2), "border_y": border, "border_x": border, "cval": 0.0}
    return convolve_program(H100, S(shape, dtype), S(mask, dtype), S(shape, dtype), **places)


def programs() -> dict[str, Program]:
    image, stack, table = S((1, 50, 60)), S((4, 50, 60)), S((4,), "i8")
    steps = {"dst_start": (0, 0, 0), "dst_step": (1, 1, 1), "other_start": (0, 0, 0), "other_step": (1, 1, 1)}
    return {
        "convolve 3x3, read in place": convolution((4096, 4096), (3, 3)),
        "convolve 31x31": convolution((4096, 4096), (31, 31)),
        "convolve 15x4 float64": convolution((4096, 4096), (15, 4), "f8", "mirror"),
        "convolve 101 taps": convolution((1, 10**7), (1, 101), border="wrap"),
        "convolve 70x64": convolution((900, 900), (70, 64), border="constant"),
        "pad": pad_program(H100, image, S((1,), "i8"), S((70,), "i8"), S((80,), "i8"), S((1, 70, 80))),
        "pad 16 bytes": pad_program(H100, S((1, 5, 5), "c16"), *(S((5,), "i8"),) * 3, S((1, 5, 5), "c16")),
        "pad.constant": constant_program(H100, stack, lo=3, hi=40, left=1, right=2),
        "pad.odd of integers": odd_program(H100, S((4, 50, 60), "i4"), lo=3, hi=40, repeat=True),
        "pad.statistic": statistic_program(H100, S((4, 50, 60), "f2"), lo=3, hi=40, statistic="median", left=5, right=6),
        "muladd": muladd_program(H100, image, image, a=2.0, b=1.0, count=(1, 50, 60), **steps),
        "vertical_shift": vertical_shift_program(H100, stack, table, S((4,)), stack),
        "fft": fft_program(H100, S((9, 700)), S((9, 701), "c8")),
        "fft, inverse": fft_program(H100, S((9, 701), "c16"), S((9, 1400), "f8"), inverse=True),
        "fft around cuFFT": Program((*widen_program(H100, S((9, 7)), S((9, 8))).launches,
                                     *scale_program(H100, S((9, 8)), factor=0.5).launches)),
        "cast": cast_program(H100, S((100,), "f2"), S((100,), "i8")),
        "backproject, two slices": backproject_program(H100, S((4, 9, 60)), S((9, 4), "f8"), stack),
        "backproject, onto one": backproject_program(H100, S((1, 9, 60)), S((9, 4), "f8"), image, accumulate=True),
        "flatfield": flatfield_program(H100, S((9, 4, 60), "u2"), border=3),
        "threshold": threshold_program(H100, S((50, 60), "f8"), S((50, 60), "u1"), level=1.0, background=0.0),
        "label": label_program(H100, S((50, 60), "u1"), S((50, 60), "i4"), S((1,), "i8"), connectivity=8),
        "measure": measure_program(H100, S((50, 60), "f8"), S((50, 60), "i4"), S((9, 4), "f8"), S((9, 8), "i8")),
        "find_sources": labelled_program(
            H100, S((50, 60)), S((3,), "i8"), S((8,), "f8"), S((8,), "i8"), S((9, 4), "f8"), S((9, 8), "i8"), S((50, 60), "i4"),
            height=50, width=60, sigma=5.0, kappa=3.0, maxiters=-1, connectivity=8, min_area=3, lesson=False),
        "slices": circle_program(H100, stack, cx=30.0, cy=25.0, radius=20.0, value=0.0),
    }  # fmt: skip


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")
@pytest.mark.parametrize("name", programs())
def test_compiles_for_ampere_and_hopper(name, tmp_path):
    launches = {(one.source, one.defines): one for one in programs()[name].launches}
    assert launches
    for one in launches.values():
        path = tmp_path / "text.cu"
        path.write_text(load.text(one.source, one.defines, "cuda"))
        chips = ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90")
        command = ["nvcc", "-std=c++17", "-w", "-fatbin", *chips, "-o", str(tmp_path / "text.fatbin"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}, {one.entry}:\n{done.stderr}"


def test_grids_stay_within_what_cuda_allows():
    for shape in ((1 << 31, 1), (1, 1 << 33), (3, 1 << 32), (300_000, 300_000)):
        for mask in ((3, 3), (1, 15), (15, 1), (1, 5000), (70, 70)):
            for launch in convolution(shape, mask).launches:
                assert launch.grid[0] < 1 << 31 and max(launch.grid[1:]) <= 65535, (shape, mask, launch.grid)


def test_empty_work_starts_nothing():
    assert convolution((0, 5), (3, 3)).launches == ()
    assert fft_program(H100, S((0, 8)), S((0, 5), "c8")).launches == ()


def test_radices_multiply_to_the_length():
    for n in (1, 2, 17, 360, 1024, 2 * 3 * 5 * 7 * 11 * 13):
        product = 1
        for radix in radices(n):
            product *= radix
        assert product == n


def test_constants_keep_every_bit_and_override_the_prelude():
    assert "#define X 0.1\n" in load.text("cast.knl", (("X", 0.1), ("MIN_GROUPS", 4)), "cuda")
    assert load.text("cast.knl", (("MIN_GROUPS", 4),), "cuda").rindex("#define MIN_GROUPS") > 1000
    with pytest.raises(KeyError):
        load.c_type("S3")
