"""The shell as its user meets it: help, --quiet, --json, closed pipes, full disks, interrupts, and how little is imported."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from footprint.cli.main import _COMMANDS, main
from footprint.cli.render import Reporter
from footprint.io.phantom import write_scan
from tests.unit.cli_files import listing, write_files

COMMANDS = [[], *([name] for name in _COMMANDS), *(["plan", job] for job in ("reconstruct", "sources", "convolve"))]
JOBS = {
    "convolve": "convolve image.npy mask.npy -o new.npy",
    "sources": "sources field.fits -o new.ecsv --segmentation new.fits --png new.png",
    "reconstruct": "reconstruct scan.nx -o new.h5 --center 15.5",
}
PLAN_FIGURES = {"plan_arena", "plan_constant", "plan_library", "plan_host", "plan_total", "device"}
RUN_FIGURES = PLAN_FIGURES | {"seconds", "processor", "measured_peak", "context", "shape"}
FIGURES = {
    "convolve": RUN_FIGURES | {"image", "mask", "output", "chunk", "runs", "seconds_predicted", "seconds_measured"},
    "sources": RUN_FIGURES | {"image", "sources", "noise", "background", "threshold", "unit", "catalogue", "segmentation", "png"},
    "reconstruct": RUN_FIGURES | {"center", "output", "chunk", "runs"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("shell")
    write_files(place)
    return place


@pytest.fixture
def shell(folder):
    """The real program, for what only a process of its own can show."""

    def run(*words, module=True, **options):
        # Threads of its own: the tests' process may hold the cores already.
        program = ["-m", "footprint"] if module else ["-c", "from footprint.__main__ import entry; entry()"]
        command = [sys.executable, *program, *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, **options)

    return run


@pytest.fixture
def said(folder, monkeypatch):
    monkeypatch.chdir(folder)

    def run(line):
        return CliRunner().invoke(main, shlex.split(line), catch_exceptions=False)

    yield run
    for left in folder.glob("new*"):
        left.unlink()


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "footprint")
def test_help_teaches_within_eighty_columns(words):
    text = CliRunner().invoke(main, [*words, "--help"], terminal_width=80, catch_exceptions=False).output
    assert text.startswith("Usage: ")
    assert max(map(len, text.splitlines())) <= 80
    # Every option says what it does.
    options = re.findall(r"^  (-\S.*?)(?:  +(\S.*))?\n(?: {6,}(\S.*))?", text.partition("Options:")[2] + "\n", re.M)
    assert options and all(first or second for _, first, second in options), text
    if words and words[0] in JOBS:
        assert f"footprint {words[0]} " in text.partition("\n")[2], "an example"


@pytest.mark.parametrize("job", JOBS)
def test_json_is_one_object_with_every_figure(said, job):
    result = said(f"{JOBS[job]} --json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert isinstance(report, dict) and FIGURES[job] <= set(report), FIGURES[job] - set(report)
    assert sum(report[f"plan_{kind}"] for kind in ("arena", "constant", "library", "host")) == report["plan_total"]
    assert all(isinstance(report[name], int | float) for name in ("plan_total", "seconds", "context"))
    assert "Plan" not in result.stderr and "━" not in result.stderr


@pytest.mark.parametrize("job", JOBS)
def test_json_plans(said, job):
    line = JOBS[job].split(" -o ")[0]
    report = json.loads(said(f"plan {line} --json").stdout)
    assert PLAN_FIGURES | {"nbytes", "largest"} <= set(report)
    elsewhere = json.loads(said(f"plan {line} --json --device null:h100").stdout)
    assert elsewhere["device"] == "null:h100" and elsewhere["nbytes"] > 0


def test_json_knows_no_nan(capsys):
    Reporter(as_json=True).report("done", {"noise": float("nan"), "score": np.float32(1), "shape": np.array([2, 3])})
    assert json.loads(capsys.readouterr().out) == {"noise": None, "score": 1, "shape": [2, 3]}


def test_json_devices(said):
    report = json.loads(said("devices --json").stdout)
    assert {"cpu", "null:h100"} <= {row["device"] for row in report["devices"]}


@pytest.mark.parametrize("job", JOBS)
def test_quiet_prints_nothing(said, job):
    result = said(f"{JOBS[job]} --quiet")
    assert (result.exit_code, result.output, result.stderr) == (0, "", "")


@pytest.mark.parametrize("job", JOBS)
def test_words_fit_eighty_columns_and_name_the_peak(said, job, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = said(JOBS[job])
    assert result.exit_code == 0 and result.stdout == ""
    assert max(map(len, result.stderr.splitlines())) <= 80
    assert "Plan: " in result.stderr and "measured peak" in result.stderr
    assert re.search(r"time +[\d.e-]+ s\b", result.stderr)
    # The plan comes before the work, the report after it.
    assert result.stderr.index("total") < result.stderr.index("measured peak")


@pytest.mark.parametrize(
    "line", ["devices", "--version", "plan convolve image.npy mask.npy --json", "convolve absent.npy mask.npy -o new.npy"]
)
def test_the_module_is_the_program(shell, line):
    module, program = (shell(*line.split(), module=kind) for kind in (True, False))
    # Free memory moves between the two.
    strip = lambda text: re.sub(r"[\d.]+ [KMGT]iB free", "", text)
    assert module.returncode == program.returncode
    assert strip(module.stdout) == strip(program.stdout) and module.stderr == program.stderr


@pytest.mark.parametrize(
    "words", [["--help"], ["plan", "convolve", "image.npy", "mask.npy"], ["plan", "reconstruct", "--help"]], ids=" ".join
)
def test_help_and_plans_import_no_numerical_library(folder, words):
    code = f"""
import sys
sys.argv = ["footprint", *{words!r}]
from footprint.cli.main import entry
try:
    entry()
except SystemExit as end:
    assert not end.code, end.code
heavy = {{"numba", "llvmlite", "scipy", "astropy", "h5py", "tifffile", "pyopencl", "cupy", "footprint.cli.nabu"}}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", [["devices"], ["plan", "sources", "field.fits", "--json"], ["--help"]], ids=" ".join)
def test_a_closed_pipe_is_no_error(folder, words):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "footprint", *words]
    done = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("convolve big.npy huge-mask.npy -o new.npy --memory 40MB", signal.SIGINT),
        ("sources big.npy --segmentation new.npy --memory 24MB", signal.SIGTERM),
        ("reconstruct long.npy -o new.h5 --method direct --no-log --center 383", signal.SIGINT),
        ("reconstruct long.npy -o new.h5 --method direct --no-log --center 383", signal.SIGTERM),
    ],
)
def test_an_interrupt_leaves_nothing(folder, line, number):
    if "long.npy" in line:
        np.save(folder / "long.npy", np.ones((1500, 8, 768), np.float32))
    else:
        # Jobs of seconds: one that ends before the signal arrives shows nothing.
        np.save(folder / "big.npy", np.tile(np.random.default_rng(1).standard_normal((500, 500), np.float32), (10, 10)))
        np.save(folder / "huge-mask.npy", np.ones((61, 61), np.float32))
    before = listing(folder)
    command = [sys.executable, "-m", "footprint", *line.split()]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        # Under way as soon as there is something half-written.
        while not list(folder.glob("*.partial")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        under_way = process.poll() is None
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert under_way, err
    assert process.returncode == 130, err
    assert out == "" and "Traceback" not in err
    assert err.rstrip().endswith("footprint: stopped; nothing half-written was left behind.")
    assert listing(folder) == before


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("module", ["footprint.cli", "click", "footprint.errors", "numpy", "rich.table"])
def test_ctrl_c_while_it_loads_is_a_sentence(folder, module):
    program = f"""
import os, runpy, signal, sys

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv = ["footprint", "plan", "convolve", "image.npy", "mask.npy"]
runpy.run_module("footprint", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    # Once it parses the command line, a line break comes first: the terminal has shown ^C.
    assert done.stderr.removeprefix("\n") == "footprint: stopped; nothing half-written was left behind.\n"


@pytest.mark.parametrize("interrupted", [True, False])
def test_ctrl_c_within_the_making_of_a_class_is_a_sentence(interrupted):
    """Up to Python 3.11 what a descriptor raises while its class is made comes out as another error."""
    program = """
import sys

from footprint.__main__ import entry
from footprint.cli import main

def job(standalone_mode):
    raise RuntimeError("Error calling __set_name__") from (KeyboardInterrupt() if INTERRUPTED else ValueError())

main.main = job
entry()
"""
    program = program.replace("INTERRUPTED", str(interrupted))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    said = "footprint: stopped; nothing half-written was left behind.\n"
    assert (done.returncode, done.stderr == said) == ((130, True) if interrupted else (1, False)), done.stderr


def test_ctrl_c_within_what_an_import_executes_ends_with_the_same_code(tmp_path):
    """As it may in a dataclass: `python -m footprint` then ended by the signal, after all was said."""
    finder = "class Finder:\n    def find_spec(self, name, *_):\n        if name == 'footprint.cli.main':\n"
    finder += "            exec('raise KeyboardInterrupt')\n"
    (tmp_path / "sitecustomize.py").write_text(f"import sys\n{finder}sys.meta_path.insert(0, Finder())\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "footprint", "devices"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": paths})
    assert (done.returncode, done.stderr) == (130, "footprint: stopped; nothing half-written was left behind.\n")


def test_what_is_measured_compiles_and_loads_no_kernel(folder, tmp_path):
    """The first run would otherwise count the compiler's memory and seconds as the image's. All fork from one that has imported."""
    program = """
import os, sys
import astropy.table, h5py, scipy.ndimage, tifffile
from numba.core import dispatcher
from footprint.cli import main, render

warm, compile = render.Reporter.warm, dispatcher.Dispatcher.compile
warmed = []

def watched(self, signature):
    known = signature in self.overloads
    if warmed and not known and self.py_func.__module__.startswith("footprint"):
        print("compiled", self.py_func.__name__, file=sys.stderr)
    return compile(self, signature)

dispatcher.Dispatcher.compile = watched
render.Reporter.warm = lambda self, job: (warm(self, job), warmed.append(job))
for line in sys.argv[1:]:
    child = os.fork()
    if not child:
        sys.argv = ["footprint", *line.split()]
        main.entry()
        assert warmed
        break
    print(line, "ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=sys.stderr, flush=True)
"""
    noise = np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32)
    np.save(tmp_path / "noise.npy", noise)
    np.save(tmp_path / "few.npy", np.where(noise > 1, noise, 0))
    np.save(tmp_path / "part.npy", noise[:600, :600])
    np.save(tmp_path / "mask.npy", np.ones((5, 5), np.float32))
    write_scan(tmp_path / "scan.nx", n_angles=90, n_z=4, n_x=128)
    np.save(tmp_path / "turn.npy", np.linspace(0, 360, 600, endpoint=False))
    np.save(tmp_path / "turn_frames.npy", np.full((600, 2, 64), 0.1, np.float32))
    write_scan(tmp_path / "long.nx", n_angles=400, n_z=10, n_x=128)
    lines = (
        "sources noise.npy --segmentation a.npy",
        "sources few.npy -o a.csv --fit gaussian --save-model g.npy",
        "convolve noise.npy mask.npy -o b.npy --memory 2MB",
        "convolve noise.npy gaussian:sigma=4 -o d.npy --dtype float64",
        "convolve part.npy gaussian:sigma=3 -o e.npy",
        "convolve noise.npy gaussian:sigma=2 -o k.npy",
        "convolve noise.npy box:301 -o h.npy",
        # Tiles of slices, from groups of angles.
        "reconstruct scan.nx -o c.h5 --method fourier --memory 1MB",
        "reconstruct scan.nx -o f.tif --output-dtype uint8",
        "reconstruct turn_frames.npy --no-log --angles turn.npy -o i.h5 --center 55 --half-acquisition",
        "reconstruct long.nx -o j.h5 --center 67 --phase 100 --energy 20 --distance 0.1 --pixel-size 5e-4 --unsharp 3",
    )
    done = subprocess.run([sys.executable, "-c", program, *lines], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0 and done.stderr.count(" ended with 0\n") == len(lines), done.stderr
    assert "compiled" not in done.stderr, done.stderr


def test_a_picture_of_slices_of_one_row(said, folder):
    done = said("reconstruct scan.nx -o flat.tif --center 15.5 --roi 3,20,4,5 --png flat.png --quiet")
    assert done.exit_code == 0, done.output
    assert (folder / "flat.png").stat().st_size > 0
    for name in ("flat.tif", "flat.png"):
        (folder / name).unlink()


def test_a_volume_names_the_files_it_was_made_of(said, folder):
    np.savetxt(folder / "degrees.txt", np.linspace(0, 179, 24))
    done = said("reconstruct scan.nx -o new.h5 --center 15.5 --angles degrees.txt --entry entry --quiet")
    assert done.exit_code == 0, done.output
    with h5py.File(folder / "new.h5") as file:
        made = dict(file["entry/reconstruction"].attrs)
    assert (made["scan"], made["angles"], made["entry"]) == ("scan.nx", "degrees.txt", "entry")
    assert "flats" not in made


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a part of a run")
def test_what_is_shown_is_not_measured(tmp_path):
    """The library that draws tables and bars took a megabyte at its first use: three times this plan."""
    program = """
from footprint.cli import main, render

render._show_report = lambda title, figures: print(figures["measured_peak"], figures["plan_total"])
main.entry()
"""
    np.save(tmp_path / "image.npy", np.ones((500, 500), np.float32))
    np.save(tmp_path / "mask.npy", np.ones((5, 5)))
    command = [sys.executable, "-c", program, *"convolve image.npy mask.npy -o new.fits --memory 400KB".split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Plan: convolve" in done.stderr, done.stderr
    measured, planned = map(int, done.stdout.split())
    assert measured <= planned + (256 << 10)


def test_a_map_of_another_shape_is_called_by_its_option(shell, folder):
    """It was blamed on --background, which takes no map."""
    np.save(folder / "other.npy", np.ones((5, 6), np.float32))
    done = shell("sources", "field.fits", "-o", "mapped.ecsv", "--background-map", "other.npy")
    (folder / "other.npy").unlink()
    assert done.returncode == 2 and done.stderr.startswith("footprint: --background-map: got shape (5, 6)"), done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("convolv image.npy mask.npy -o new.npy", "no command 'convolv'; the nearest is convolve"),
        ("crop image.npy", "no command 'crop'; commands are demo, "),
        ("plan sorces field.fits", "no job 'sorces'; the nearest is sources"),
        # It spoke of footprint.open_image, which a shell has not.
        (
            "sources field.fits -o new.ecsv --background mash",
            "--background: got 'mash', wanted global or mesh; the nearest is mesh",
        ),
        ("sources field.fits -o new.ecsv --background b.fits", "wanted global or mesh; give a map as --background-map FILE"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest(folder, monkeypatch, line, told):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(main, shlex.split(line))
    assert told in result.output + str(result.exception)
