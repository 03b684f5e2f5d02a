"""Jobs as batch systems run them: streams that are closed, full or read by nobody, and screens of no width."""

import contextlib
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.io import naming

FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
CONVOLVE = "convolve image.npy mask.npy"


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "image.npy", np.ones((60, 50), np.float32))
    np.save(tmp_path / "mask.npy", np.ones((5, 5)))
    return tmp_path


def footprint(folder, words, streams="", **environment):
    """Run the program by the shell, with what ``streams`` says of its own."""
    line = f"'{sys.executable}' -m footprint {words} {streams}"
    command = ["bash", "-c", f"set -o pipefail; {line}"]
    given = os.environ | {"COLUMNS": "80"} | environment
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("streams", ["2>&-", pytest.param("2>/dev/full", marks=FULL), "2>&1 | true", ">&- 2>&-"])
def test_a_job_whose_tables_nobody_can_read_is_done(folder, streams):
    """Each ended it with 1, without a word and without the output."""
    done = footprint(folder, f"{CONVOLVE} -o new.npy", streams)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert np.load(folder / "new.npy").shape == (60, 50)


def test_no_output_takes_the_place_of_a_closed_stream():
    """The next file that is opened has the number 2, and what libraries say would be written to it."""
    code = "from footprint.cli.streams import guard; guard(); import os; print(os.open('/dev/null', os.O_RDONLY))"
    done = subprocess.run(["bash", "-c", f'"{sys.executable}" -c "{code}" 2>&-'], capture_output=True, text=True, timeout=60)
    assert int(done.stdout) > 2


@FULL
def test_figures_that_cannot_be_written_leave_the_result(folder):
    done = footprint(folder, f"{CONVOLVE} -o new.npy --json", ">/dev/full")
    said = "footprint: standard output: could not be written (the disk is full); finished nevertheless: new.npy.\n"
    assert (done.returncode, done.stderr) == (2, said) and (folder / "new.npy").exists()
    done = footprint(folder, f"plan {CONVOLVE}", ">/dev/full")
    assert (done.returncode, done.stderr) == (2, "footprint: standard output: could not be written (the disk is full).\n")


def test_an_answer_that_a_closed_stream_takes_is_missed(folder):
    """It was lost without a word."""
    for words in (f"plan {CONVOLVE}", f"{CONVOLVE} -o new.npy --overwrite --json"):
        done = footprint(folder, words, ">&-")
        assert done.returncode == 2 and "footprint: standard output: could not be written (it is closed)" in done.stderr


def test_a_plan_is_the_product_of_its_command(folder):
    """It went to standard error: `footprint plan ... > plan.txt` left an empty file."""
    done = footprint(folder, f"plan {CONVOLVE}")
    assert (done.returncode, done.stderr) == (0, "") and "Plan: convolve on cpu" in done.stdout and "total" in done.stdout
    assert json.loads(footprint(folder, f"plan {CONVOLVE} --json").stdout)["nbytes"] > 0
    assert footprint(folder, f"plan {CONVOLVE}", "| head -1").returncode == 0


@pytest.mark.parametrize("columns", ["0", "1", "19"])
def test_a_screen_that_nothing_fits_has_eighty_columns(folder, columns):
    """Nothing was shown in 0 columns, and a letter a line in one."""
    done, usual = (footprint(folder, f"plan {CONVOLVE}", COLUMNS=width).stdout for width in (columns, "80"))
    assert done == usual
    assert footprint(folder, f"plan {CONVOLVE}", COLUMNS="40").stdout != usual


REFUSED = """
import sys, threading
from footprint.cli.main import entry

def refused(self):
    threads.append(self.name)
    raise RuntimeError("can't start new thread")

threads = []
threading.Thread.start = refused
sys.argv = ["footprint", *sys.argv[1:]]
try:
    entry()
finally:
    assert any(name.startswith("footprint-") for name in threads), threads
"""


def test_a_job_whose_threads_cannot_start_does_all_in_one(folder):
    """A limit on a group's processes ended it with a traceback; the bits are the same."""
    words = [*f"{CONVOLVE} -o new.npy --device cpu --memory 2MB".split(), "--overwrite"]
    np.save(folder / "image.npy", np.random.default_rng(1).random((3000, 500), np.float32))
    results = []
    for program in (["-m", "footprint"], ["-c", REFUSED]):
        done = subprocess.run([sys.executable, *program, *words], cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        results.append((folder / "new.npy").read_bytes())
    assert results[0] == results[1]


@pytest.mark.skipif(sys.platform != "linux", reason="others do not limit addresses")
def test_a_limit_on_addresses_is_named(folder):
    """What could not be loaded read like a broken installation, or had empty parentheses."""
    line = f"ulimit -v 260000; '{sys.executable}' -m footprint {CONVOLVE} -o new.npy"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert (
        done.stderr.startswith("footprint: memory: ")
        and "ulimit -v allows this process addresses of at most 254 MiB" in done.stderr
    )


@pytest.mark.parametrize("change", ["again", "grown", "not"])
@pytest.mark.parametrize("name", ["image.npy", "frames"])
def test_an_input_that_is_written_while_it_is_read_is_named(folder, name, change, monkeypatch):
    """The volume was of the old and of the new file, and nothing was said."""
    from click.testing import CliRunner

    from footprint.cli import outputs
    from footprint.cli.main import main

    (folder / "frames").mkdir()
    for i in range(3):
        tifffile.imwrite(folder / f"frames/{i}.tif", np.ones((20, 30), np.float32))
    file = folder / (name if name == "image.npy" else "frames/1.tif")

    def changed(names):
        watch(names)
        if change != "not":
            data = file.read_bytes()
            file.write_bytes(data + b"more" * (change == "grown"))
            os.utime(file, ns=(1, 1))

    watch = outputs.watch
    monkeypatch.setattr(outputs, "watch", changed)
    monkeypatch.chdir(folder)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        done = CliRunner().invoke(main, ["convolve", name, "mask.npy", "-o", "new.npy", "-q", "--device", "cpu"])
    assert done.exit_code == 0, done.exception
    told = [str(one.message) for one in said if "written while this job read it" in str(one.message)]
    assert len(told) == (change == "again") and all(
        line.startswith(os.path.join(name, "1.tif") * (name == "frames")) for line in told
    )


@pytest.mark.parametrize("name", ["SIGHUP", "SIGXCPU", "SIGUSR1", "SIGTERM"])
def test_what_batch_systems_warn_with_stops_a_job(name):
    """Some ended it at once, without a word and without cleaning up."""
    code = f"""
import os, signal, time
from footprint.cli import main

def job(**_):
    os.kill(os.getpid(), signal.{name})
    time.sleep(10)

main.main = job
main.entry()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "footprint: stopped; nothing half-written was left behind.\n")


def test_a_configuration_may_begin_with_a_mark_of_its_encoding(folder):
    """As editors of Windows write it; it was refused without being named."""
    (folder / "job.toml").write_text("[convolve]\nquiet = true\n", "utf-8-sig")
    done = footprint(folder, f"{CONVOLVE} -o new.npy --config job.toml")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_is_not_called_as_a_folder(folder):
    done = footprint(folder, f"{CONVOLVE} -o new.npy/")
    assert done.returncode == 2 and "new.npy/: must be a file, but its name ends like a folder's; remove the final /" in done.stderr
    assert not (folder / "new.npy").exists()


def test_what_cannot_be_removed_is_named(folder, monkeypatch):
    """A folder that is read-only stayed beside the new one, under a hidden name."""
    for name in ("out", "new"):
        (folder / name).mkdir()
    monkeypatch.setattr(naming, "delete", lambda path: None)
    with pytest.warns(UserWarning, match=r"out: replaced, but what had its name cannot be removed, and is now \.out\..*replaced"):
        naming.give_names([naming.Finished("out", folder / "new", folder / "out")], lambda: None)


@pytest.mark.parametrize("name", ["v.h5", "v.tif"])
def test_what_a_stopped_run_left_is_not_resumed_without_its_end(tmp_path, name):
    """Rows that were done were 0 in the finished volume, and nothing was said."""
    shape = (4, 50, 50)
    with pytest.warns(UserWarning, match="--resume continues"), contextlib.suppress(ZeroDivisionError):
        with fp.create_volume(tmp_path / name, shape, resume=True) as volume:
            done = volume.resume({}, "z")
            volume.write(slice(0, 2), np.ones((2, 50, 50), "f4"))
            volume.flush()
            done.add(0, 2)
            raise ZeroDivisionError
    os.truncate(tmp_path / f".{name}.unfinished", 15000)
    with pytest.warns(UserWarning), pytest.raises(fp.FormatError, match=r"is damaged, its end is missing; delete \..*unfinished\*"):
        fp.create_volume(tmp_path / name, shape, resume=True)
