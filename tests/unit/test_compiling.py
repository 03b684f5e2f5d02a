"""While kernels are compiled, whoever wants to know is told: by every backend, once, and on the progress line."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from footprint.api import verify
from footprint.backend import compiling as compiler
from footprint.backend import notice
from footprint.backend.compiling import compiling, watched
from footprint.cli.render import Reporter
from footprint.cli.verify import command
from footprint.spec import ArraySpec


def test_compilations_that_overlap_are_told_once():
    seen, inside, go_on = [], threading.Event(), threading.Event()

    def other():
        with compiling():
            inside.set()
            go_on.wait(10)

    thread = threading.Thread(target=other)
    with watched(seen.append):
        with compiling():
            thread.start()
            inside.wait(10)
        assert seen == [True]
        late = []
        with watched(late.append):
            go_on.set()
            thread.join()
        assert seen == late == [True, False]
    with compiling():
        pass
    assert seen == [True, False]


def test_an_error_of_a_compiler_ends_it():
    seen = []
    with watched(seen.append), pytest.raises(ValueError, match="no such type"), compiling():
        raise ValueError("no such type")
    assert seen == [True, False]


@pytest.fixture
def said(monkeypatch):
    """What is said of compilations that take longer than no time; a wait that ends when it is."""
    found, done = [], threading.Event()
    monkeypatch.setattr(notice, "DELAY", 0.0)
    monkeypatch.setattr(notice, "_APART", 3600.0)
    monkeypatch.setattr(notice, "say", lambda: (found.append(True), done.set()))
    monkeypatch.setattr(compiler, "_notice", notice.Notice())
    monkeypatch.setattr(compiler, "_listeners", [])
    found.append(done.wait)
    return found


def test_calls_from_python_say_once_that_they_compile(said, monkeypatch):
    wait = said.pop()
    with compiling():
        assert wait(10)
    monkeypatch.setattr(notice, "DELAY", 3600.0)
    with compiling():
        assert compiler._notice._timer is None
    assert said == [True]


def test_what_takes_no_second_or_is_shown_elsewhere_is_not_said(said, monkeypatch):
    said.pop()
    monkeypatch.setattr(notice, "DELAY", 3600.0)
    with compiling():
        timer = compiler._notice._timer
    timer.join(10)
    monkeypatch.setattr(notice, "DELAY", 0.0)
    with watched(lambda begun: None), compiling():
        assert compiler._notice._timer is None
    assert said == []


def test_a_command_without_a_bar_says_it_as_a_call_does(said):
    """Whoever only has Ctrl-C wait for the compiler shows nothing."""
    wait = said.pop()
    compiler.listen(lambda begun: None)
    with compiling():
        assert wait(10)
    assert said == [True]


@pytest.mark.parametrize(("watches", "setting", "told"), [(True, "", True), (True, "0", False), (False, "", False)])
def test_a_log_is_told_and_whoever_watches_a_terminal(watches, setting, told, monkeypatch, capsys, caplog):
    monkeypatch.setattr(notice, "is_watched", lambda: watches)
    monkeypatch.setenv("FOOTPRINT_NOTICE", setting)
    with caplog.at_level("INFO", "footprint"):
        notice.say()
    assert "compiling kernels" in caplog.text
    assert ("footprint: compiling kernels" in capsys.readouterr().err) is told


def test_numba_tells_when_it_has_to_compile_and_not_when_it_is_done():
    import numba

    from footprint.backend.registry import open_backend

    # Whatever runs first on the CPU.
    open_backend("cpu").compile("muladd", (), {})
    function, seen = numba.njit(lambda x: 2 * x), []
    with watched(seen.append):
        assert function(4) == 8
        assert seen[0] is True and seen[-1] is False
        seen.clear()
        assert function(5) == 10
        assert seen == []


def test_a_gpu_backend_tells_when_it_builds_a_program(backend):
    if backend.limits.host:
        pytest.skip("Numba compiles at the first call")
    specs, seen = (ArraySpec((3,)), ArraySpec((3,), "float64")), []
    backend.compile("cast", specs, {})
    if not hasattr(backend, "_programs"):
        pytest.skip("binaries of this backend come from the disk")
    backend._programs.clear()
    with watched(seen.append):
        backend.compile("cast", specs, {})
        backend.compile("cast", specs, {})
    assert seen == [True, False]


def test_the_progress_line_says_so_while_it_lasts():
    reporter = Reporter()
    with reporter.progress("convolving") as update:
        update(1, 4)
        bar = reporter._bar
        with compiling():
            assert bar.tasks[0].description == "convolving, compiling kernels"
        assert bar.tasks[0].description == "convolving"


@pytest.fixture
def terminal(monkeypatch):
    """Bars and lines as at a terminal."""
    from rich import console

    made = console.Console
    monkeypatch.setattr(console, "Console", lambda **how: made(**how | {"force_terminal": True, "width": 80}))


def test_where_no_bar_moves_yet_there_is_a_line_of_its_own(capsys, terminal):
    def job():
        with compiling():
            pass

    Reporter().warm(job)
    assert "compiling kernels" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "told"), [([], True), (["--json"], False)])
def test_verify_has_one_too(capsys, terminal, monkeypatch, words, told):
    def job(*args, **named):
        with compiling():
            return [verify.Verdict("cpu", 1.0, None, 0.0, 0.0, True)]

    monkeypatch.setattr(verify, "verify", job)
    command.main(words, standalone_mode=False)
    assert ("compiling kernels" in capsys.readouterr().err) is told


def test_nothing_is_shown_where_nothing_is_asked_for(capsys):
    reporter = Reporter(as_json=True)

    def job():
        with compiling():
            pass

    reporter.warm(job)
    with reporter.progress("convolving"), compiling():
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize(("stops", "said"), [(1, "compiled\n"), (2, "")])
def test_a_stop_waits_for_the_compiler_and_a_second_one_does_not(stops, said):
    program = f"""
import os, signal
from footprint.backend.compiling import compiling
from footprint.cli import main

def job(standalone_mode):
    with compiling():
        for _ in range({stops}):
            os.kill(os.getpid(), signal.SIGINT)
        print("compiled", flush=True)
    print("went on")

main.main = job
main.entry()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, said), done.stderr
    assert done.stderr == "footprint: stopped; nothing half-written was left behind.\n"
