"""What the program says of a wrong option is in the shell's words, and names that option."""

from __future__ import annotations

import shlex
import sys

import pytest

from footprint.cli.main import entry
from footprint.errors import BackendError
from footprint.io.phantom import write_field, write_scan

SCAN, FIELD = "reconstruct scan.nx -o v.h5 --center 15.5 --device cpu ", "sources field.fits -o s.ecsv --device cpu "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    write_scan(folder / "scan.nx", n_angles=24, n_z=2, n_x=32)
    write_field(folder / "field.fits", n=64, n_sources=6)
    return folder


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (SCAN + "--output-dtype uint8 --range 90%:10%", "--range: got '90%:10%', wanted A%:B%, percentiles from 0 to 100"),
        (SCAN + "--output-dtype uint8 --range nan%:10%", "--range: got 'nan%:10%', wanted A%:B%"),
        (
            SCAN.replace("15.5", "-20") + "--circle",
            "--circle: got an axis off the detector, wanted one on it: no pixel was seen by",
        ),
        (SCAN + "--phase 100 --energy nan --distance 1", "--energy: got nan, wanted a number above 0"),
        (SCAN + "--phase 100 --energy 20 --distance -1", "--distance: got -1, wanted a number above 0"),
        (SCAN + "--pixel-size -1um", "--pixel-size: got '-1um', wanted a length above 0"),
        (SCAN + "--pixel-size 0", "--pixel-size: got '0', wanted a length above 0"),
        (SCAN + "--padding zero", 'wrap; the nearest is zeros; "zeros" is "constant" here; '),
        (SCAN + "--padding reflct", 'wrap; the nearest is reflect; "reflect" is dcb'),
        (SCAN + "--compression zip", "--compression: got 'zip', wanted one of none, bitshuffle, gzip"),
        (SCAN.replace("v.h5", "v.zarr") + "--compression zip", "wanted one of none, blosc, zstd, gzip"),
        (FIELD + "--annulus 4,5", "--annulus: got no apertures, wanted apertures whose sky it measures; give --apertures R."),
        (FIELD + "--residual", "wanted fits to subtract from the image; give --fit gaussian or --fit point."),
        (FIELD + "--save-model m.fits", "--save-model: got no fits, wanted fits to sum, as that image is; give --fit gaussian"),
        (FIELD + "--box 5", "or leave --box out."),
        (FIELD + "--maxiters -1", "--maxiters: got -1, wanted a whole number, 0 or more."),
        (FIELD + "--matched-filter 0", "wanted beam or a full width in pixels above 0."),
    ],
)
def test_a_mistake_is_told_in_the_words_of_the_shell(folder, monkeypatch, capsys, line, words):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["footprint", *shlex.split(line)])
    with pytest.raises(SystemExit) as left:
        entry()
    said = [one for one in capsys.readouterr().err.splitlines() if "warning" not in one]
    assert left.value.code == 2 and len(said) == 1 and words in said[0], said


@pytest.mark.parametrize(("count", "words"), [(1, "1 OpenCL device"), (2, "2 OpenCL devices")])
def test_devices_are_counted(monkeypatch, count, words):
    pytest.importorskip("pyopencl")
    from footprint.backend import opencl

    monkeypatch.setattr(opencl, "_found", lambda: [object()] * count)
    monkeypatch.setattr(opencl, "devices", lambda: [f"opencl:{i}" for i in range(count)])
    with pytest.raises(BackendError, match=f"found {words}; choose one of opencl:0"):
        opencl._device(9)
