"""Every kernel text compiles for the chips it is meant for, where NVRTC or nvcc is to be had (neither needs a GPU)."""

from __future__ import annotations

import ctypes
import functools
import glob
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import footprint as fp
from footprint.backend.null import PROFILES, NullBackend
from footprint.kernels.cast.gpu import cast_program
from footprint.kernels.common import load
from footprint.kernels.common.launch import Launch, Program
from footprint.kernels.common.table import program
from footprint.kernels.convolve.gpu import convolve_program
from footprint.kernels.fft.gpu import fft_program, lines_program, radices, scale_program, widen_program
from footprint.kernels.pad.gpu import pad_program
from footprint.ops.flatfield import MinusLog
from footprint.spec import ArraySpec
from tests.backend.test_fit import SKY

H100 = PROFILES["h100"]
S = ArraySpec

PLACES: dict[str, Any] = {f"{axis}{what}": 0 for axis in "zyx" for what in ("0", "_base", "_n")}
PLACES |= {f"border_{axis}": "none" for axis in "zyx"}
LISTED = {"border_y": "listed", "border_x": "listed"}


def convolution(shape: tuple[int, int], mask: tuple[int, int], dtype: str = "f4", border: str = "reflect") -> Program:
    places = {"y0": -(mask[0] // 2), "x0": -(mask[1] // 2), "border_y": border, "border_x": border, "cval": 0.0}
    return convolve_program(H100, S(shape, dtype), S(mask, dtype), S(shape, dtype), **places)


def plans() -> dict[str, Any]:
    """Jobs that between them launch everything."""
    on = {"device": "null:h100"}
    image, stack = (600, 700), (4, 50, 60)
    found = {f"convolve {m[0]}x{m[1]}": fp.plan_convolve(image, m, **on) for m in ((3, 3), (5, 5), (9, 9), (15, 4), (31, 31))}
    found |= {"convolve by a large mask": fp.plan_convolve(image, (70, 64), method="direct", **on)}
    found |= {
        f"convolve by tiles {kind}": fp.plan_convolve(image, (31, 31), method="fft", dtype=kind, **on) for kind in ("f4", "f8")
    }
    found |= {
        f"sources by their inverse, {by}": fp.plan_find_sources(image, reliability=0.9, background=by, **on)
        for by in ("global", "mesh")
    }
    found |= {f"windowed centres, {by}": fp.plan_find_sources(image, windowed=5, background=by, **on) for by in ("global", "mesh")}
    found |= {"sources through a filter": fp.plan_find_sources(image, matched_filter=5, **on)}
    found |= {
        f"convolve {border}": fp.plan_convolve(image, (13, 13), boundary=border, **on)
        for border in ("nearest", "reflect", "mirror", "wrap")
    }
    found |= {f"convolve {kind}": fp.plan_convolve(image, (6, 6), dtype=kind, **on) for kind in ("f8", "f2", "u2", "i4")}
    found |= {f"convolve, nan={nan}": fp.plan_convolve(image, (13, 13), nan=nan, **on) for nan in ("ignore", "interpolate")}
    found |= {f"convolve {n} taps": fp.plan_convolve((10**7,), (n,), **on) for n in (5, 15, 101, 1001)}
    large = (((4000, 4000), (127, 127)), ((10**7,), (10**5,)), ((300, 300, 300), (31, 31, 31)))
    found |= {f"convolve by {m}, on its way": fp.plan_convolve(shape, m, **on) for shape, m in large}
    found |= {f"convolve by {m}": fp.plan_convolve((40, 60, 700), m, **on) for m in ((3, 3, 3), (7, 7, 7), (3, 1, 20), (9, 70, 30))}
    found |= {
        f"convolve complex by {kind}": fp.plan_convolve(image, (5, 5), dtype="c8", mask_dtype=kind, **on) for kind in ("f4", "c8")
    }
    found |= {"convolve holes": fp.plan_convolve(image, (5, 5), nan="interpolate", **on)}
    found |= {"convolve zeros": fp.plan_convolve(image, (5, 5), nan="ignore", dtype="f8", **on)}
    modes = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap", "empty")
    found |= {f"pad {mode}": fp.plan_pad(stack, 3, mode=mode, **on) for mode in modes}
    found |= {"pad odd": fp.plan_pad(stack, 3, mode="reflect", reflect_type="odd", dtype="i4", **on)}
    found |= {f"median {k}": fp.plan_median_filter(image, 3, dtype=k, **on) for k in ("u1", "u2", "i2", "f4", "f8", "u8")}
    cross = [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    found |= {f"median of a cross, {k}": fp.plan_median_filter(image, footprint=cross, dtype=k, **on) for k in ("u1", "i2", "f8")}
    # Eleven, which GPUs' tests run, would take the compiler ten seconds and more.
    found |= {f"median of {n}": fp.plan_median_filter(image, n, mode="wrap", **on) for n in (5, 7)}
    found |= {f"gaussian {s} {k}": fp.plan_gaussian_filter(image, s, dtype=k, **on) for s in (1, 7, 20) for k in ("f4", "f8")}
    found |= {f"laplacian {k}": fp.plan_gaussian_laplace(image, 1, dtype=k, **on) for k in ("f4", "f8")}
    found |= {f"long sums down {k}": fp.plan_gaussian_filter(image, (100, 0), dtype=k, **on) for k in ("f4", "f8", "u1")}
    found |= {"gaussian of a stack": fp.plan_gaussian_filter(stack, 2, mode="constant", **on)}
    found |= {"laplace of a volume": fp.plan_laplace(stack, **on)}
    found |= {"muladd": fp.plan_muladd(stack, **on), "vertical_shift": fp.plan_vertical_shift(stack, **on)}
    found |= {f"ramp {n}": fp.plan_ramp_filter((90, n), **on) for n in (1, 60, 2048, 16384, 20000)}
    found |= {
        f"ramp {padding}": fp.plan_ramp_filter((90, n), padding=padding, **on)
        for padding in ("edge", "reflect", "symmetric", "wrap")
        for n in (500, 20000)
    }
    found |= {f"fbp {n}": fp.plan_fbp((n, 90, 128), circle=True, **on) for n in (1, 3)}
    found |= {f"project {n}": fp.plan_project((n, 90, 128), 60, **on) for n in (1, 5)}
    found |= {f"{m}": getattr(fp, f"plan_{m}")((5, 90, 128), pixel_size=0.1, **on) for m in ("sirt", "cgls", "tv")}
    found |= {"fourier in groups": fp.plan_fbp((900, 128), method="fourier", memory="3.2MB", **on)}
    found |= {"fbp in tiles": fp.plan_fbp((2, 300, 512), memory="900kB", circle=True, **on)}
    found |= {
        f"fourier {accuracy} {filter}": fp.plan_fbp((2, 90, 128), method="fourier", accuracy=accuracy, filter=filter, **on)
        for accuracy, filter in ((1e-3, "hann"), (1e-4, "hilbert"), (1e-5, "ramlak"))
    }
    scan = {"center": 60.0, "shifts": [0.5] * 90, "circle": True, "written": True, **on}
    found |= {f"reconstruct {memory}": fp.plan_reconstruct((90, 20, 128), memory=memory, **scan) for memory in ("1GB", "250kB")}
    whole = {"center": 60.0, "out_dtype": "uint16", "out_range": (0.0, 2.0)}
    found |= {"reconstruct to whole numbers": fp.plan_reconstruct((90, 20, 128), **whole, **on)}
    apart = lambda steps: [MinusLog(highest=9.0) if isinstance(step, MinusLog) else step for step in steps]
    found |= {"reconstruct step by step": fp.plan_reconstruct((90, 20, 128), center=60.0, steps=apart, **on)}
    turn = np.arange(90) * 2 * np.pi / 90
    found |= {"half": fp.plan_reconstruct((90, 20, 128), turn, center=110.0, half_acquisition=True, **on)}
    found |= {"reconstruct f2": fp.plan_reconstruct((90, 20, 128), dtype="f2", n_flat_groups=0, i0="border", center=60.0, **on)}
    found |= {
        f"stripes {method}": fp.plan_remove_stripes((3, 90, 128), method, **on) for method in ("mean", "mean-division", "all", "fw")
    }
    steps = fp.steps(unsharp=2, normalization="chebyshev")
    found |= {"unsharp, level": fp.plan_reconstruct((90, 20, 128), center=60.0, steps=steps, **on)}
    found |= {"zingers": fp.plan_remove_zingers((9, 40, 60), 0.1, **on), "untilt": fp.plan_untilt((9, 40, 60), 0.4, **on)}
    numbers = {"out_dtype": "uint16", "out_range": (0, 1)}
    found |= {"numbers": fp.plan_reconstruct((90, 20, 128), center=60.0, **numbers, **on)}
    found |= {"phase": fp.plan_paganin((9, 40, 60), delta_beta=100, energy=20, distance=0.1, pixel_size=5e-6, **on)}
    for kind in ("f4", "f8"):
        found |= {
            f"sigma_clip {kind}": fp.plan_sigma_clip(image, dtype=kind, **on),
            f"threshold {kind}": fp.plan_threshold(image, dtype=kind, **on),
            f"measure {kind}": fp.plan_measure(image, dtype=kind, **on),
            f"sigma_clip {kind} in parts": fp.plan_sigma_clip((3000, 3000), dtype=kind, memory="30MB", **on),
            f"sources {kind} in parts": fp.plan_find_sources((3000, 3000), dtype=kind, labels=True, memory="30MB", **on),
        }
        found |= {
            f"sources {kind} {c} {labels}": fp.plan_find_sources(image, dtype=kind, connectivity=c, min_area=2, labels=labels, **on)
            for c in (4, 8)
            for labels in (False, True)
        }
        found |= {
            f"local sources {kind} {n}": fp.plan_find_sources(
                image, dtype=kind, background=b, noise=n, flood=3, labels=n is None, **on
            )
            for b, n in (("mesh", None), ("global", "map"))
        }
    known = {"sigma": 8.0, "header": SKY, "deblend": True, **on}
    for kind in ("f4", "f8"):
        found |= {
            f"fits {kind} over {by}, apart": fp.plan_find_sources(
                image, fit="gaussian", kron=True, dtype=kind, background=by, **known
            )
            for by in ("global", "mesh")
        }
        found |= {f"known places {kind}": fp.plan_measure_at(image, 90, widest=2.0, dtype=kind, **on)}
        rest = {"residual": True, "save_residual": True, "measure_on": 2, "apertures": [3]}
        found |= {
            f"searched twice {kind}": fp.plan_find_sources(image, fit="point", dtype=kind, background="mesh", **rest, **known)
        }
        cut = {"dtype": kind, "deblend": True, "memory": "60MB", **on}
        found |= {
            f"apart in parts {kind} {by}": fp.plan_find_sources((3000, 3000), background=by, **cut) for by in ("global", "mesh")
        }
    found |= {
        f"background {kind} {box}": fp.plan_background(image, dtype=kind, box=box, **on)
        for kind in ("f4", "f8")
        for box in (64, 99)
    }
    found |= {f"by matrix units {kind}": fp.plan_gaussian_filter((8192, 8192), 14, dtype=kind, **on) for kind in ("f4", "i2", "b1")}
    found |= {
        f"wide Gaussian {kind} {sigma} {device}": fp.plan_gaussian_filter((8192, 8192), sigma, dtype=kind, device=device)
        for kind in ("f4", "u2")
        for sigma, device in ((20, "null:h100"), (200, "null:h100"), (100, "null:a100"))
    }
    found |= {f"label {c}": fp.plan_label(image, connectivity=c, **on) for c in (4, 8)}
    found |= {f"label {c} in parts": fp.plan_label(image, connectivity=c, memory="400kB", **on) for c in (4, 8)}
    return found


class Compiling(NullBackend):  # type: ignore[misc]  # final for users; the test looks at what it is asked to compile
    """Notes the launches of all that a plan has compiled when it is bound."""

    def __init__(self, profile: str, name: str, found: dict[tuple, tuple[str, Launch]]) -> None:
        super().__init__(profile)
        self.name, self.found = name, found

    def compile(self, kernel, specs, numbers):
        for launch in program(H100, kernel, specs, numbers).launches:
            self.found.setdefault((launch.source, launch.defines), (self.name, launch))
        return kernel


@functools.cache
def launched() -> dict[tuple, tuple[str, Launch]]:
    """Every text with its constants, and where it came from."""
    found: dict[tuple, tuple[str, Launch]] = {}
    for name, plan in plans().items():
        with plan.bind(Compiling("h100", name, found)):
            pass
    others = {
        "pad 16 bytes": pad_program(H100, *(S((1, 5, 5), "c16"),) * 2, **PLACES),
        "pad by lists": pad_program(H100, *(S((1, 5, 5)),) * 2, S((5,), "i8"), S((5,), "i8"), **PLACES | LISTED),
        "fft": fft_program(H100, S((9, 700)), S((9, 771), "c8")),
        "fft, inverse": fft_program(H100, S((9, 771), "c16"), S((9, 1540), "f8"), inverse=True),
        "fft, complex": fft_program(H100, S((9, 70), "c16"), S((9, 110), "c16"), inverse=True),
        "fft on the chip": fft_program(H100, S((9, 700)), S((9, 2101), "c8")),
        "fft on the chip, inverse": fft_program(H100, S((9, 701), "c16"), S((9, 1400), "f8"), inverse=True),
        "fft on the chip, complex": fft_program(H100, S((9, 70), "c8"), S((9, 128), "c8")),
        "fft lines": Program(tuple(lines_program(H100, S((3, 9, 7), kind), S((21, 9), kind), axis=1).launches[0]
                                   for kind in ("f4", "c8", "c16"))),
        "fft around libraries": Program((*widen_program(H100, S((9, 7)), S((9, 8))).launches,
                                         *scale_program(H100, S((9, 8)), factor=0.5).launches)),
        "tiles of integers": program(H100, "overlap_save", (S((300, 300), "u1"), S((99, 99)), S((300, 300))), {
            "y0": 0, "x0": 0, "border_y": "wrap", "border_x": "wrap", "cval": 0.0, "tile": 256, "block": (99, 99)}),
        "cast": cast_program(H100, S((100,), "f2"), S((100,), "i8")),
        "cast backwards": cast_program(H100, S((100,)), S((100,)), backwards=True),
    }  # fmt: skip
    for name, made in others.items():
        for launch in made.launches:
            found.setdefault((launch.source, launch.defines), (name, launch))
    return found


@functools.cache
def nvrtc() -> ctypes.CDLL | None:
    """NVIDIA's runtime compiler: the system's, or that of its Python package."""
    folders = [sysconfig.get_path("purelib") + "/nvidia/*/lib", "/usr/local/cuda/lib64"]
    for path in ("libnvrtc.so", "libnvrtc.so.13", *(p for folder in folders for p in glob.glob(f"{folder}/libnvrtc.so*"))):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def compile_by_nvrtc(library: ctypes.CDLL, source: str, chip: str) -> str:
    """What the compiler complains of; nothing where it compiles. PTX is not optimised here: a fourth of the time."""
    made, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(made), source.encode(), b"text.cu", 0, None, None) == 0
    wanted = [f"--gpu-architecture={chip}", "--std=c++17", "-w", *(["--device-debug"] if chip.startswith("compute") else [])]
    options = (ctypes.c_char_p * len(wanted))(*map(str.encode, wanted))
    failed = library.nvrtcCompileProgram(made, len(wanted), options)
    library.nvrtcGetProgramLogSize(made, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(made, log)
    library.nvrtcDestroyProgram(ctypes.byref(made))
    return log.value.decode() if failed else ""


def compile_by_nvcc(source: str, chip: str, folder: Path) -> str:
    path = folder / "text.cu"
    path.write_text(source)
    kind = "-cubin" if chip.startswith("sm") else "-ptx"
    command = ["nvcc", "-std=c++17", "-w", kind, f"-arch={chip}", "-o", str(folder / "text.cubin"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


TEXTS = sorted(path.name for path in load.HERE.glob("*/*.knl"))


# Texts ask for nothing newer than Ampere has, but for those of one architecture's own instructions. Two go on to machine code,
# which takes as long again: a GPU's tests do so with all.
@pytest.mark.parametrize(
    ("text", "chip"), [*((text, "compute_80") for text in TEXTS), ("convolve.knl", "sm_80"), ("overlap_save.knl", "sm_90")]
)
def test_compiles_for_ampere_and_hopper(text, chip, tmp_path):
    library = nvrtc()
    if library is None and shutil.which("nvcc") is None:
        pytest.skip("neither NVRTC nor nvcc on this machine")
    ours = [(name, launch) for (source, _), (name, launch) in launched().items() if source == text]
    assert ours, f"no job of this test launches {text}"
    # One program of a text goes on to machine code.
    for name, launch in ours[: 1 if chip.startswith("sm") else None]:
        chip = "compute_90a" if launch.own else chip
        source = load.text(launch.source, launch.defines, "cuda")
        wrong = compile_by_nvrtc(library, source, chip) if library is not None else compile_by_nvcc(source, chip, tmp_path)
        assert not wrong, f"{name}, {launch.entry}:\n{wrong}"


HIP = (
    "clang-15",
    "-x",
    "hip",
    "--cuda-device-only",
    "--offload-arch=gfx90a",
    "--rocm-path=/usr",
    "-D__HIP_PLATFORM_AMD__",
    "-nogpulib",
)


@pytest.mark.parametrize("text", [text for text in TEXTS if not text.endswith(".cuda.knl")])
def test_compiles_for_hip(text, tmp_path):
    if shutil.which(HIP[0]) is None or not Path("/usr/include/hip/hip_runtime.h").exists():
        pytest.skip("no clang 15 with HIP's headers (Debian's hipcc and libamdhip64-dev) on this machine")
    for (source, defines), (name, launch) in launched().items():
        if source == text:
            path = tmp_path / "text.hip"
            path.write_text("#include <hip/hip_runtime.h>\n" + load.text(source, defines, "cuda"))
            command = [*HIP, "-std=c++17", "-w", "-S", "-o", str(tmp_path / "text.s"), str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{name}, {launch.entry}:\n{done.stderr}"


def test_the_compiler_refuses_a_wrong_text():
    library = nvrtc()
    if library is None:
        pytest.skip("no NVRTC on this machine")
    assert "undefined" in compile_by_nvrtc(library, load.text("cast.knl", (("FROM", "nonsense"),), "cuda"), "sm_90")


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
