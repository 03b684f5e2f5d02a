"""What the shell is told: 2 for a mistake, 130 for a stop, 0 for all else, and one sentence without a traceback."""

import warnings

import click
import pytest

from footprint.cli import main
from footprint.errors import ArgumentError, BudgetError, FormatError


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ArgumentError("sigma", -1, "a number above 0", "give 5"), 2, "footprint: sigma: got -1, wanted a number above 0; give 5."),
        (
            ArgumentError("half", "a gap", "a whole turn", "half=False takes what is there"),
            2,
            "footprint: --half: got a gap, wanted a whole turn; --full takes what is there.",
        ),
        (FormatError("scan.nx", "is truncated"), 2, "footprint: scan.nx: is truncated."),
        (BudgetError(10, {"arena": 12}, 12), 2, "footprint: memory: this plan needs at least 12 B"),
        (click.UsageError("No such option: --sigam."), 2, "footprint: no such option: --sigam; see footprint --help."),
        (MemoryError("8 GiB"), 2, "footprint: memory: the system could not provide more (8 GiB)"),
        (PermissionError(13, "Permission denied", "out.h5"), 2, "footprint: out.h5: Permission denied."),
        (KeyboardInterrupt(), 130, "footprint: stopped"),
        (click.Abort(), 130, "footprint: stopped"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_an_error_is_a_sentence_and_a_code(monkeypatch, capsys, error, code, words):
    def stopped(**options):
        raise error

    monkeypatch.setattr("sys.argv", ["footprint"])
    monkeypatch.setattr(main.stop, "watch", lambda: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(main, "main", stopped)
    monkeypatch.setattr(
        main, "_command", lambda: ("footprint", click.Command("footprint", params=[click.Option(["--half/--full"])]))
    )
    with pytest.raises(SystemExit) as end:
        main.entry()
    said = capsys.readouterr().err
    assert end.value.code == code and said.startswith(words) and said.count("\n") == 1, said


def test_without_a_budget_a_job_may_take_four_fifths_of_what_is_free(monkeypatch):
    from dataclasses import replace

    from footprint.api import _arrays
    from footprint.spec import Limits

    monkeypatch.setattr(_arrays, "device_limits", lambda name: replace(Limits(), free=1000))
    assert _arrays.limits_and_budget("cpu", None)[1] == 800
    assert _arrays.limits_and_budget("cpu", "50%")[1] == 500
    assert _arrays.limits_and_budget("cpu", 4000)[1] == 4000


@pytest.mark.parametrize("resume", [True, False])
def test_a_run_that_can_be_resumed_is_no_less_so_by_a_file(monkeypatch, tmp_path, capsys, resume):
    """What it said went by the words of the command line: of `resume = true` in a file it said that nothing was left."""
    (tmp_path / "job.toml").write_text(f"[reconstruct]\nresume = {str(resume).lower()}\n")

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(main.stop, "watch", lambda: None)
    monkeypatch.setattr(main.stop, "_kept", [])
    monkeypatch.setattr("footprint.cli.outputs.check_names", stopped)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr("sys.argv", ["footprint", "reconstruct", "a.nx", "-o", "v.h5", "--config", str(tmp_path / "job.toml")])
    with pytest.raises(SystemExit) as end:
        main.entry()
    said = capsys.readouterr().err.strip()
    wanted = "footprint: stopped." if resume else "footprint: stopped; nothing half-written was left behind."
    assert (end.value.code, said) == (130, wanted)
