"""One table of everything that can be wrong on the command line: exit code 2, one sentence, no traceback, nothing left behind."""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings

import pytest

from footprint.cli.main import entry
from tests.unit.cli_files import N_ANGLES, N_X, N_Z, Said, listing, write_files

# Job -> a command line that works; {} is where a row of the table puts its own input.
_CONVOLVE, _SOURCES, _RECONSTRUCT = "convolve {} mask.npy -o new.npy", "sources {} -o new.ecsv", "reconstruct {} -o new.h5"

# Inputs every job refuses, and words its sentence must have.
_INPUTS = {
    "missing": ("absent.xyz", "no such file"),
    "folder": ("folder", "folder"),
    "text": ("words.txt", "words.txt is n"),
    "empty-file": ("nothing.fits", "empty"),
}
_IMAGES = {
    "cut-fits": ("cut-field.fits", "truncated announces bytes"),
    "cut-header": ("cut-header.fits", "truncated"),
    "cut-npy": ("cut-image.npy", "truncated announces bytes"),
    "cut-hdf5": ("cut-scan.nx", "truncated"),
    "empty-image": ("empty.npy", "empty (0, 5)"),
    "line": ("line.npy", "(7,) (n_y, n_x)"),
    "cube": ("cube.npy", "(3, 8, 8) --plane"),
    "complex": ("complex.npy", "complex128 real"),
    "no-such-plane": ("cube.npy --plane 3", "--plane 3 0 to 2"),
}
_SCANS = {
    "cut-scan": ("cut-scan.nx", "truncated"),
    "not-hdf5": ("field.fits", "HDF5"),
    "no-scan": ("other.h5", "no scan"),
    "no-projections": ("no-projections.nx", "no projections"),
    "angle-count": ("few-angles.nx", "angles"),
    "nan-angles": ("nan-angles.nx", "angles NaN --angles"),
}
# Options every job has.
_COMMON = {
    "memory-words": ("--memory lots", "--memory 'lots' 4GB"),
    "memory-zero": ("--memory 0", "--memory '0'"),
    "memory-share": ("--memory 200%", "--memory '200%'"),
    "memory-small": ("--memory 9", "--memory 9 B arena library"),
    "device": ("--device abacus", "--device 'abacus' auto"),
    "device-number": ("--device opencl:x", "opencl:N"),
    "null-profile": ("--device null:abacus", "null:h100"),
    "no-such-option": ("--fast", "'--fast' --help"),
    "option-without-value": ("--memory", "--memory argument"),
}
# Options of jobs that run: a plan writes nothing and runs nothing.
_OUTPUTS = {
    "null-device": ("--device null:h100", "null:h100 plans"),
    "suffix": ("-o new.docx", "--out 'new.docx' .h5"),
    "no-folder": ("-o absent/new{suffix}", "absent does not exist"),
    "taken": ("-o taken{suffix}", "taken exists --overwrite"),
    "over-a-folder": ("-o folder", "folder"),
    "no-permission": ("-o {locked}/new{suffix}", "cannot be written"),
}
_ROWS: list[tuple[str, str, str]] = []
for _job, _suffix, _good, _bad in (
    (_CONVOLVE, ".npy", "image.npy", _INPUTS | _IMAGES),
    (_SOURCES, ".ecsv", "field.fits", _INPUTS | _IMAGES),
    (_RECONSTRUCT, ".h5", "scan.nx", _INPUTS | _SCANS),
):
    _name = _job.split()[0]
    for _id, (_word, _wanted) in _bad.items():
        _ROWS.append((f"{_name}-{_id}", _job.replace("{}", _word), _wanted))
        _ROWS.append((f"plan-{_name}-{_id}", f"plan {_job.replace('{}', _word).split(' -o ')[0]}", _wanted))
    for _id, (_word, _wanted) in _COMMON.items():
        _ROWS.append((f"{_name}-{_id}", f"{_job.replace('{}', _good)} {_word}", _wanted))
        _ROWS.append((f"plan-{_name}-{_id}", f"plan {_job.replace('{}', _good).split(' -o ')[0]} {_word}", _wanted))
    for _id, (_word, _wanted) in _OUTPUTS.items():
        _line = f"{_job.replace('{}', _good)} {_word}".replace("{suffix}", _suffix)
        _ROWS.append((f"{_name}-{_id}", _line, _wanted if _name != "sources" else _wanted.replace(" .h5", " .ecsv")))
    _ROWS.append((f"{_name}-no-argument", f"{_name} -o new{_suffix}", "argument --help"))
    _ROWS.append((f"{_name}-over-input", f"{_job.replace('{}', _good)} -o {_good} --overwrite", "out"))

_OWN = {
    "convolve-no-mask": ("convolve image.npy -o new.npy", "MASK"),
    "convolve-no-output": ("convolve image.npy mask.npy", "--out"),
    "convolve-extra": ("convolve image.npy mask.npy third.npy -o new.npy", "third.npy"),
    "convolve-mask-missing": ("convolve image.npy absent.npy -o new.npy", "absent.npy no such file"),
    "convolve-mask-nan": ("convolve image.npy nan-mask.npy -o new.npy", "nan-mask.npy NaN"),
    "convolve-mask-cube": ("convolve image.npy cube.npy -o new.npy", "cube.npy one plane"),
    "convolve-mask-line": ("convolve image.npy line.npy -o new.npy", "line.npy (7,)"),
    "convolve-mask-empty": ("convolve image.npy empty.npy -o new.npy", "empty.npy empty"),
    "convolve-mask-valid": ("convolve image.npy big-mask.npy -o new.npy --mode valid", "mask (99, 3) (40, 30)"),
    "convolve-mode": ("convolve image.npy mask.npy -o new.npy --mode half", "--mode 'half' same, full, valid"),
    "convolve-boundary": ("convolve image.npy mask.npy -o new.npy --boundary round", "--boundary 'round' mirror"),
    "convolve-cval": ("convolve image.npy mask.npy -o new.npy --cval much", "--cval 'much'"),
    "sources-constant": ("sources constant.npy -o new.ecsv --segmentation new.npy", "constant.npy noise 7"),
    "sources-nan": ("sources nan.npy -o new.ecsv --segmentation new.npy", "finite"),
    "sources-sigma": ("sources field.fits -o new.ecsv --sigma -1", "--sigma -1"),
    "sources-sigma-nan": ("sources field.fits -o new.ecsv --sigma nan", "--sigma nan"),
    "sources-kappa": ("sources field.fits -o new.ecsv --kappa 0", "--kappa 0"),
    "sources-connectivity": ("sources field.fits -o new.ecsv --connectivity 5", "--connectivity 5 4 8"),
    "sources-min-area": ("sources field.fits -o new.ecsv --min-area 0", "--min-area 0"),
    "sources-capacity": ("sources field.fits -o new.ecsv --capacity 1", "--capacity 1 6"),
    "sources-png-suffix": ("sources field.fits --png new.jpg", "--png 'new.jpg' .png"),
    "sources-png-taken": ("sources field.fits --png taken.png", "taken.png exists --overwrite"),
    "sources-same-name": ("sources field.fits -o new.fits --segmentation new.fits", "--segmentation new.fits --out"),
    "sources-segmentation": ("sources field.fits --segmentation new.jpg", "new.jpg .fits"),
    "reconstruct-no-output": ("reconstruct scan.nx", "--out"),
    "reconstruct-flats-missing": ("reconstruct scan.nx -o new.h5 --flats absent.tif", "absent.tif no such file"),
    "reconstruct-darks-missing": ("reconstruct scan.nx -o new.h5 --darks absent.tif", "absent.tif no such file"),
    "reconstruct-flats-size": ("reconstruct scan.nx -o new.h5 --flats small-flats.npy", f"small-flats.npy {N_X - 1} {N_X}"),
    "reconstruct-flats-zero": ("reconstruct scan.nx -o new.h5 --flats zero-flats.npy", "flats"),
    "reconstruct-angles-missing": ("reconstruct scan.nx -o new.h5 --angles absent.txt", "absent.txt no such file"),
    "reconstruct-angles-count": ("reconstruct scan.nx -o new.h5 --angles few-angles.txt", f"few-angles.txt {N_ANGLES - 3} {N_ANGLES}"),
    "reconstruct-angles-nan": ("reconstruct scan.nx -o new.h5 --angles nan-angles.txt", "nan-angles.txt NaN"),
    "reconstruct-angles-words": ("reconstruct scan.nx -o new.h5 --angles words.txt", "words.txt"),
    "reconstruct-center-outside": ("reconstruct scan.nx -o new.h5 --center 99", f"--center 99 {N_X - 1}"),
    "reconstruct-center-words": ("reconstruct scan.nx -o new.h5 --center left", "--center 'left' auto"),
    "reconstruct-center-nan": ("reconstruct scan.nx -o new.h5 --center nan", "--center nan"),
    "reconstruct-filter": ("reconstruct scan.nx -o new.h5 --filter sharp", "--filter 'sharp' ramlak hann"),
    "reconstruct-padding": ("reconstruct scan.nx -o new.h5 --padding soft", "--padding 'soft' constant edge"),
    "reconstruct-method": ("reconstruct scan.nx -o new.h5 --method magic", "--method 'magic' direct fourier auto"),
    "reconstruct-rows-words": ("reconstruct scan.nx -o new.h5 --rows some", "--rows 'some' a:b"),
    "reconstruct-rows-backwards": ("reconstruct scan.nx -o new.h5 --rows 3:1", "--rows 3"),
    "reconstruct-rows-outside": ("reconstruct scan.nx -o new.h5 --rows 2:99", f"--rows 99 {N_Z}"),
    "reconstruct-roi-words": ("reconstruct scan.nx -o new.h5 --roi middle", "--roi 'middle'"),
    "reconstruct-roi-backwards": ("reconstruct scan.nx -o new.h5 --roi 9,3,0,5", "--roi 9"),
    "reconstruct-shifts-missing": ("reconstruct scan.nx -o new.h5 --shifts absent.txt", "absent.txt no such file"),
    "reconstruct-shifts-count": ("reconstruct scan.nx -o new.h5 --shifts few-shifts.txt", f"few-shifts.txt {N_ANGLES - 3} {N_ANGLES}"),
    "reconstruct-shifts-nan": ("reconstruct scan.nx -o new.h5 --shifts nan-shifts.txt", "nan-shifts.txt NaN"),
    "reconstruct-png-suffix": ("reconstruct scan.nx -o new.h5 --png new.jpg", "--png 'new.jpg' .png"),
    "devices-option": ("devices --all", "'--all' --help"),
    "devices-argument": ("devices cpu", "cpu"),
    "no-such-command": ("reconstrut scan.nx", "'reconstrut' reconstruct"),
    "no-such-job": ("plan demo", "'demo' reconstruct, sources, convolve"),
    "no-such-global": ("--verbose", "'--verbose' --help"),
}
_ROWS += [(name, line, wanted) for name, (line, wanted) in _OWN.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bad")
    write_files(place)
    return place


@pytest.fixture
def shell(monkeypatch, capsys, folder):
    monkeypatch.chdir(folder)

    def run(line: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["footprint", *shlex.split(line)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as exit_:
            warnings.simplefilter("default")
            entry()
        printed = capsys.readouterr()
        return Said(exit_.value.code or 0, printed.out, printed.err)

    return run


@pytest.fixture
def locked(folder):
    """A folder nobody may write to; root may write to any, except to the system's view of itself."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        if not os.path.isdir("/proc/self"):
            pytest.skip("root can write everywhere here")
        yield "/proc/self"
    else:
        place = folder.parent / "locked"
        place.mkdir(exist_ok=True)
        place.chmod(0o500)
        yield str(place)
        place.chmod(0o700)


@pytest.mark.parametrize(("line", "wanted"), [pytest.param(*row[1:], id=row[0]) for row in _ROWS])
def test_one_sentence_and_nothing_left(shell, folder, locked, line, wanted):
    before = listing(folder)
    said = shell(line.replace("{locked}", locked))
    assert said.code == 2, said
    assert said.out == "" and "Traceback" not in said.err
    assert len(said.sentences) == 1 and said.err.rstrip().splitlines()[-1] == said.sentences[0], said.err
    sentence = said.sentences[0]
    assert sentence.endswith(".") and not re.search(r"[{}<>]|\bNone\b|Error", sentence), sentence
    missing = [word for word in wanted.split() if word not in sentence]
    assert not missing, f"no {missing} in: {sentence}"
    assert listing(folder) == before


def _first_budget(sentence: str) -> int:
    found = re.search(r"give --memory (\d+) ", sentence)
    assert found, sentence
    return int(found[1])


@pytest.mark.parametrize(
    "line",
    [
        "convolve image.npy mask.npy -o enough.npy",
        "sources field.fits -o enough.ecsv",
        "sources field.fits -o enough.ecsv --segmentation enough.npy",
        "reconstruct scan.nx -o enough.h5 --center 15.5",
        "plan convolve image.npy mask.npy",
        "plan sources field.fits",
        "plan reconstruct scan.nx",
    ],
)
def test_the_budget_it_names_is_enough_and_the_smallest(shell, folder, line):
    enough = _first_budget(shell(f"{line} --memory 9").sentences[0])
    short = shell(f"{line} --memory {enough - 1}")
    assert short.code == 2 and _first_budget(short.sentences[0]) == enough
    said = shell(f"{line} --memory {enough} --json")
    assert said.code == 0, said.err
    for left in folder.glob("enough.*"):
        left.unlink()


@pytest.mark.parametrize("line", ["convolve image.npy mask.npy -o taken.npy", "sources field.fits -o taken.ecsv", "reconstruct scan.nx -o taken.h5"])
def test_overwrite_replaces(shell, folder, line):
    target = folder / line.split()[-1]
    try:
        said = shell(f"{line} --overwrite --quiet")
        assert (said.code, said.out) == (0, ""), said.err
        assert target.read_bytes() != b"precious"
    finally:
        target.write_text("precious")


def test_no_flats_is_a_warning_and_a_way_on(shell, folder):
    said = shell("reconstruct no-flats.nx -o new.h5 --center 2 --quiet")
    lines = [line for line in said.err.splitlines() if "flats" in line]
    assert len(lines) == 1 and lines[0].startswith("footprint: warning: ") and "--flats FILE" in lines[0], said.err
    assert said.code == 0 and (folder / "new.h5").exists()
    (folder / "new.h5").unlink()


@pytest.mark.parametrize(
    ("line", "package", "extra"),
    [
        ("convolve image.npy mask.npy -o new.npy --device cuda", "cupy", "cuda"),
        ("sources field.fits --device opencl", "pyopencl", "opencl"),
        ("plan convolve image.npy mask.npy --device opencl:0", "pyopencl", "opencl"),
        ("reconstruct scan.nx -o new.h5 --method fourier --device cpu", "ducc0", "fourier"),
    ],
)
def test_a_missing_package_names_its_extra(shell, folder, monkeypatch, line, package, extra):
    before = listing(folder)
    monkeypatch.setitem(sys.modules, package, None)
    said = shell(line)
    assert said.code == 2 and len(said.sentences) == 1, said.err
    assert package in said.sentences[0] and f'pip install "footprint[{extra}]"' in said.sentences[0]
    assert listing(folder) == before
