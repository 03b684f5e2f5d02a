"""One table of everything that can be wrong on the command line: exit code 2, one sentence, no traceback, nothing left behind."""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings

import pytest

from footprint.backend import registry
from footprint.cli.main import entry
from tests.unit.cli_files import FEW, N_ANGLES, N_X, N_Z, Said, listing, write_files

# Job -> a command line that works; {} is where a row of the table puts its own input.
_CONVOLVE = "convolve {} mask.npy -o new.npy"
_SOURCES = "sources {} -o new.ecsv"
_RECONSTRUCT = "reconstruct {} --center 15 -o new.h5"

# Inputs every job refuses, and words its sentence must have.
_INPUTS = {
    "missing": ("absent.xyz", "no such file"),
    "folder": ("folder", "folder"),
    "text": ("words.txt", "words.txt is n"),
    "empty-file": ("nothing.fits", "empty"),
}
_IMAGES = {
    "cut-fits": ("cut-field.fits", "truncated declares bytes"),
    "cut-header": ("cut-header.fits", "truncated"),
    "cut-npy": ("cut-image.npy", "truncated declares bytes"),
    "cut-hdf5": ("cut-scan.nx", "truncated"),
    "empty-image": ("empty.npy", "empty (0, 5)"),
    "line": ("line.npy", "(7,) (n_y, n_x)"),
    "four-axes": ("four-axes.npy", "(2, 3, 8, 8) --plane"),
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
    "memory-small": ("--memory 9", "--memory 9 B arena"),
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
        if (_name, _id) == ("sources", "over-a-folder"):
            continue  # catalogues go into it
        _line = f"{_job.replace('{}', _good)} {_word}".replace("{suffix}", _suffix)
        _ROWS.append((f"{_name}-{_id}", _line, _wanted if _name != "sources" else _wanted.replace(" .h5", " .ecsv")))
    _ROWS.append((f"{_name}-no-argument", f"{_name} -o new{_suffix}", "argument --help"))
    _ROWS.append((f"{_name}-over-input", f"{_job.replace('{}', _good)} -o {_good} --overwrite", "out"))

# Options of one job.
_CONVOLVE_OPTIONS = {
    "mode": ("--mode half", "--mode 'half' same, full, valid"),
    "boundary": ("--boundary round", "--boundary 'round' mirror"),
    "cval": ("--cval much", "--cval 'much'"),
}
_SOURCES_OPTIONS = {
    "sigma": ("--sigma -1", "--sigma -1"),
    "sigma-nan": ("--sigma nan", "--sigma nan"),
    "kappa": ("--kappa 0", "--kappa 0"),
    "connectivity": ("--connectivity 5", "--connectivity 5 4 8"),
    "min-area": ("--min-area 0", "--min-area 0"),
    "capacity": ("--capacity 1", "--capacity 1 6"),
}
_RECONSTRUCT_OPTIONS = {
    "flats-missing": ("--flats absent.tif", "absent.tif no such file"),
    "darks-missing": ("--darks absent.tif", "absent.tif no such file"),
    "flats-size": ("--flats small-flats.npy", f"small-flats.npy {N_X - 1} {N_X}"),
    "flats-zero": ("--flats zero-flats.npy", "zero-flats.npy: its flats scan.nx"),
    "angles-missing": ("--angles absent.txt", "absent.txt no such file"),
    "angles-count": ("--angles few-angles.txt", f"few-angles.txt {FEW} {N_ANGLES}"),
    "angles-nan": ("--angles nan-angles.txt", "nan-angles.txt NaN"),
    "angles-words": ("--angles words.txt", "words.txt"),
    "center-outside": ("--center 99", f"--center 99 {-0.5 - N_X} {2 * N_X - 0.5}"),
    "center-words": ("--center left", "--center 'left' auto"),
    "center-nan": ("--center nan", "--center nan"),
    "filter": ("--filter sharp", "--filter 'sharp' ramlak hann"),
    "padding": ("--padding soft", "--padding 'soft' constant edge"),
    "method": ("--method magic", "--method 'magic' direct fourier"),
    "accuracy": ("--method fourier --accuracy 1e-9", "accuracy 1e-09 1e-04"),
    "interpolation": ("--interpolation sinc", "interpolation 'sinc' --method fourier"),
    "rows-words": ("--rows some", "--rows 'some' A:B"),
    "rows-backwards": ("--rows 3:1", "--rows 3:1"),
    "rows-outside": ("--rows 2:99", f"--rows 99 {N_Z}"),
    "roi-words": ("--roi middle", "--roi 'middle'"),
    "roi-backwards": ("--roi 9,3,0,5", "--roi 9"),
    "shifts-missing": ("--shifts absent.txt", "absent.txt no such file"),
    "shifts-count": ("--shifts few-shifts.txt", f"few-shifts.txt {FEW} {N_ANGLES}"),
    "shifts-nan": ("--shifts nan-shifts.txt", "nan-shifts.txt NaN"),
    "axis-shifts-count": ("--axis-shifts few-shifts.txt", f"few-shifts.txt {FEW} {N_ANGLES}"),
    "png-suffix": ("--png new.jpg", "--png 'new.jpg' .png"),
}
for _job, _good, _bad in (
    (_CONVOLVE, "image.npy", _CONVOLVE_OPTIONS),
    (_SOURCES, "field.fits", _SOURCES_OPTIONS),
    (_RECONSTRUCT, "scan.nx", _RECONSTRUCT_OPTIONS),
):
    for _id, (_word, _wanted) in _bad.items():
        _ROWS.append((f"{_job.split()[0]}-{_id}", f"{_job.replace('{}', _good)} {_word}", _wanted))

_OWN = {
    "sources-cube": ("sources cube.npy -o new.ecsv", "(3, 8, 8) --plane"),
    "plan-sources-cube": ("plan sources cube.npy", "(3, 8, 8) --plane"),
    "convolve-no-mask": ("convolve image.npy -o new.npy", "MASK"),
    "convolve-no-output": ("convolve image.npy mask.npy", "--out"),
    "convolve-extra": ("convolve image.npy mask.npy third.npy -o new.npy", "third.npy"),
    "convolve-mask-missing": ("convolve image.npy absent.npy -o new.npy", "absent.npy no such file"),
    "convolve-mask-nan": ("convolve image.npy nan-mask.npy -o new.npy", "nan-mask.npy NaN"),
    "convolve-mask-cube": ("convolve image.npy cube.npy -o new.npy", "cube.npy one plane"),
    "convolve-mask-line": ("convolve image.npy line.npy -o new.npy", "line.npy (7,)"),
    "convolve-mask-empty": ("convolve image.npy empty.npy -o new.npy", "empty.npy empty"),
    "convolve-mask-valid": ("convolve image.npy big-mask.npy -o new.npy --mode valid", "mask (99, 3) (40, 30)"),
    "convolve-over-extension": ("convolve field.fits[0] mask.npy -o field.fits --overwrite", "--out field.fits read by this job"),
    "sources-onto-input": ("sources field.fits -o field.fits", "--out field.fits read by this job"),
    "reconstruct-over-angles": (
        "reconstruct scan.nx -o new.h5 --angles field.fits[0:3] --png field.fits --overwrite",
        "--png field.fits read by this job",
    ),
    "demo-over-file": ("demo --folder field.fits", "field.fits is a file"),
    "sources-constant": ("sources constant.npy -o new.ecsv --segmentation new.npy", "constant.npy noise 7"),
    "sources-nan": ("sources nan.npy -o new.ecsv --segmentation new.npy", "finite"),
    "sources-png-suffix": ("sources field.fits --png new.jpg", "--png 'new.jpg' .png"),
    "sources-png-taken": ("sources field.fits --png taken.png", "taken.png exists --overwrite"),
    "sources-same-name": ("sources field.fits -o new.fits --segmentation new.fits", "--segmentation new.fits --out"),
    "sources-segmentation": ("sources field.fits --segmentation new.jpg", "new.jpg .fits"),
    "reconstruct-no-output": ("reconstruct scan.nx", "--out"),
    "reconstruct-pattern": (
        "reconstruct scan.nx a.tif b.tif -o new.h5",
        "SCAN: 3 names, b.tif, wanted one; quotes ('tiffs/*.tif'), folder.",
    ),
    "devices-option": ("devices --all", "'--all' --help"),
    "devices-argument": ("devices cpu", "cpu"),
    "no-such-command": ("reconstrut scan.nx", "'reconstrut' reconstruct"),
    "no-such-job": ("plan demo", "'demo' reconstruct, sources, convolve"),
    "filter-boundary": ("filter median field.fits -o new.fits --size 3 --boundary round", "--boundary: 'round' reflect"),
    "no-such-config": ("filter median field.fits -o new.fits --config absent.toml", "absent.toml: there is no such file"),
    "at-no-catalogue": ("sources field.fits --at field.reg -o new.csv", "--at: 'field.reg' .ecsv"),
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
    assert sentence.endswith(".") and not re.search(r"[{}]|<\w|\bNone\b|Error", sentence), sentence
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


@pytest.mark.parametrize(
    "line",
    [
        "convolve image.npy mask.npy -o taken.npy",
        "sources field.fits -o taken.ecsv",
        "reconstruct scan.nx --center 15 -o taken.h5",
    ],
)
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
    ],
)
def test_a_missing_package_names_its_extra(shell, folder, monkeypatch, line, package, extra):
    before = listing(folder)
    monkeypatch.setitem(sys.modules, package, None)
    for kept in ("_kind", "_open"):  # devices that earlier tests have found
        monkeypatch.setattr(registry, kept, getattr(registry, kept).__wrapped__)
    said = shell(line)
    assert said.code == 2 and len(said.sentences) == 1, said.err
    assert package in said.sentences[0] and f'pip install "footprint[{extra}]"' in said.sentences[0]
    assert listing(folder) == before
