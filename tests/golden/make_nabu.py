"""Make nabu.npz: `python -m tests.golden.make_nabu` where nabu is installed, with an OpenCL device (PoCL is one)."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
from nabu.estimation.cor import CenterOfRotation, CenterOfRotationGrowingWindow, CenterOfRotationSlidingWindow
from nabu.estimation.cor_sino import CenterOfRotationFourierAngles, CenterOfRotationVo
from nabu.preproc.ccd import CCDFilter, Log
from nabu.preproc.double_flatfield import DoubleFlatField
from nabu.preproc.flatfield import FlatFieldArrays
from nabu.preproc.phase import PaganinPhaseRetrieval
from nabu.preproc.shift import VerticalShift
from nabu.processing.unsharp import UnsharpMask
from nabu.reconstruction.fbp_opencl import OpenCLBackprojector
from nabu.reconstruction.filtering import SinoFilter
from nabu.reconstruction.rings import MunchDeringer, SinoMeanDeringer, VoDeringer
from nabu.reconstruction.sinogram import SinoBuilder, SinoNormalization

from tests.golden import nabu_cases as cases

made: dict[str, np.ndarray] = {}


def filtered(lines: np.ndarray, name: str, padding: str, cutoff: float, size: float = 1.0) -> np.ndarray:
    given = {"cutoff": cutoff, "fft_threads": 1, "pixel_size_cm": size}
    return SinoFilter(lines.shape, filter_name=name, padding_mode=padding, extra_options=given).filter_sino(lines.copy())


def backprojected(lines: np.ndarray, rows: np.ndarray, **given) -> np.ndarray:
    """By nabu's OpenCL text; rows are filtered as it does on the host, since its filter on a device wants one of VkFFT's."""
    kept = {name: given.pop(name) for name in list(given) if name in OpenCLBackprojector.default_extra_options}
    op = OpenCLBackprojector(lines.shape, filter_name="none", extra_options=kept, **given)
    return op.fbp(np.ascontiguousarray(rows, "f4")).copy()


for name, padding, cutoff in cases.ROWS:
    made[f"rows {name} {padding} {cutoff}"] = filtered(cases.head(cases.ANGLES[:3], 11.0), name, padding, cutoff)
for name, (given, _) in cases.SLICES.items():
    lines = cases.slice_lines(name)
    rows = filtered(lines, "ramlak", "constant", given.get("filter_cutoff", 1.0), given.get("pixel_size_cm", 1.0))
    made[f"slice {name}"] = backprojected(lines, rows, **given)

half = cases.half_lines()
made["half stitched"] = SinoBuilder(sinos_shape=(1, *half.shape), rot_center=cases.HALF, halftomo=True).convert_sino(half)
for padding in ("constant", "edge"):
    rows = filtered(half, "ramlak", padding, 1.0)
    made[f"half slice {padding}"] = backprojected(half, rows, rot_center=cases.HALF, halftomo=True, angles=cases.TURN)

for padding in cases.PADDINGS:
    made[f"phase {padding}"] = PaganinPhaseRetrieval((20, 24), padding=padding, fft_num_threads=1, **cases.PHASE)(cases.image())
for method in ("gaussian", "log", "imagej"):
    made[f"unsharp {method}"] = UnsharpMask((20, 24), 1.2, 0.6, method=method).unsharp(cases.image())
made["log"] = Log((1, 20, 24), clip_min=1e-6, clip_max=10.0).take_logarithm(cases.zingers() * 8 - 5)
made["median clip"] = CCDFilter((20, 24), median_clip_thresh=0.5).median_clip_correction(cases.zingers())

beam = np.exp(-np.repeat(cases.striped()[:, None], 3, axis=1))
double = DoubleFlatField(beam.shape, input_is_mlog=False, output_is_mlog=False, average_is_on_log=True, sigma_filter=4.0)
made["double flat"] = -np.log(double.apply_double_flatfield(beam.copy()))[:, 1]
for mode in ("subtract", "divide"):
    op = SinoMeanDeringer((24, 32), mode=mode, filter_cutoff=(0, 6), fft_num_threads=1)
    made[f"mean {mode}"] = op.remove_rings_sinogram(cases.striped())
made["munch"] = MunchDeringer((24, 32), 1.0, levels=3, wname="haar").remove_rings(cases.striped())
for kind, array in cases.LEVELS.items():
    made[f"normalized {kind}"] = SinoNormalization(kind, sinos_shape=(24, 32), normalization_array=array).normalize(cases.striped())
made["vo"] = VoDeringer((24, 32), snr=3, la_size=11, sm_size=7).remove_rings_sinogram(cases.striped())

raw, keys = cases.frames().astype("f4"), cases.KEYS
flats = {int(k): raw[k] for k in np.flatnonzero(keys == 1)}
seen = np.flatnonzero(keys == 0)
for name, current in (("flats", None), ("current", cases.CURRENT)):
    told = {} if current is None else {"radios_srcurrent": current[seen], "flats_srcurrent": current[sorted(flats)]}
    op = FlatFieldArrays((len(seen), 4, 6), flats, {0: raw[0]}, radios_indices=seen, **told)
    made[name] = op.normalize_radios(raw[seen])
told = {"radios_srcurrent": cases.CURRENT[seen], "flats_srcurrent": cases.CURRENT[1:2]}
op = FlatFieldArrays((len(seen), 4, 6), {1: raw[1]}, {0: raw[0]}, radios_indices=seen, **told)
made["current of one flat"] = op.normalize_radios(raw[seen])

moved = np.repeat(cases.image()[None], len(cases.SHIFTS), axis=0)
VerticalShift(moved.shape, cases.SHIFTS).apply_vertical_shifts(moved)
made["shifts"] = moved

turned = cases.turned_scan()
pair = turned[0], turned[len(turned) // 2][:, ::-1].copy()
for name, op, given in (
    ("centered", CenterOfRotation(), {}),
    ("sliding-window", CenterOfRotationSlidingWindow(), {"side": "center"}),
    ("growing-window", CenterOfRotationGrowingWindow(), {"side": "center"}),
):
    made[f"axis {name}"] = np.array(op.find_shift(*pair, return_relative_to_middle=False, **given))
angles = np.linspace(0, 2 * np.pi, len(turned), endpoint=False)
sinogram = np.ascontiguousarray(turned[:, 2])
made["axis fourier-angles"] = np.array(
    CenterOfRotationFourierAngles().find_shift(sinogram, angles, side="center", return_relative_to_middle=False)
)
made["axis vo"] = np.array(CenterOfRotationVo().find_shift(sinogram, is_360=True, return_relative_to_middle=False))

made = {name: np.asarray(value, "f4") for name, value in made.items()}
out = Path(__file__).with_name("nabu.npz")
np.savez_compressed(out, version=np.array(version("nabu")), **made)
print(f"{out.name}: {len(made)} arrays of nabu {version('nabu')}, {out.stat().st_size:,} bytes")
