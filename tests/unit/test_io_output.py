"""Outputs get their names together, whatever they are called, and what killed runs leave is found and removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from footprint.errors import ArgumentError, FormatError, printable
from footprint.io import partial
from footprint.io.image import create_image, open_image
from footprint.io.output import Output, check_output, output, together
from footprint.io.volume import create_volume

pytestmark = pytest.mark.skipif(os.name != "posix", reason="names, links and locks are POSIX's")


def put(path: Path, text: str, overwrite: bool = False) -> None:
    with output(path, overwrite) as temporary:
        temporary.write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text(errors="replace") for p in sorted(folder.rglob("*")) if p.is_file()}


def slices(path: Path, value: float) -> None:
    with create_volume(path, (1, 2, 3), overwrite=True) as volume:
        volume.write(slice(0, 1), np.full((1, 2, 3), value, np.float32))


def test_names_are_given_together(tmp_path: Path) -> None:
    with together():
        put(tmp_path / "a", "1")
        slices(tmp_path / "folder", 1)
        assert not (tmp_path / "a").exists() and not (tmp_path / "folder").exists()
    assert sorted(contents(tmp_path)) == ["a", "folder/slice_00000.tif"]
    put(tmp_path / "a", "2", overwrite=True)
    assert (tmp_path / "a").read_text() == "2"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_or_none_is(tmp_path: Path, failure: type[BaseException]) -> None:
    put(tmp_path / "a", "old")
    with pytest.raises(failure), together():
        put(tmp_path / "a", "new", overwrite=True)
        put(tmp_path / "b", "new")
        raise failure
    assert contents(tmp_path) == {"a": "old"}


@pytest.mark.parametrize("links", [True, False], ids=["links", "no-links"])
@pytest.mark.parametrize("bad", range(4))
def test_a_rename_that_fails_takes_the_others_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: int, links: bool) -> None:
    names = ["a", "b", "folder", "new"]
    put(tmp_path / "a", "old")
    put(tmp_path / "b", "old")
    slices(tmp_path / "folder", 1)
    before, replace = contents(tmp_path), os.replace

    def fails(source: Path, target: Path) -> None:
        if Path(target).name == names[bad]:
            raise OSError(5, "Input/output error")
        replace(source, target)

    def no_link(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "replace", fails)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    with pytest.raises(FormatError, match=rf"{names[bad]}: cannot be written \(Input/output error\)"), together():
        for name in ("a", "b", "new"):
            put(tmp_path / name, "new", overwrite=True)
            if name == "b":
                slices(tmp_path / "folder", 2)
    assert contents(tmp_path) == before


def test_all_results_are_kept_where_a_name_was_taken_meanwhile(tmp_path: Path) -> None:
    with (
        pytest.raises(FormatError, match="appeared while its contents were computed; the results are kept as") as caught,
        together(),
    ):
        put(tmp_path / "a.csv", "mine")
        put(tmp_path / "b.csv", "mine, too")
        (tmp_path / "b.csv").write_text("another's")
    found = contents(tmp_path)
    assert found.pop("b.csv") == "another's" and sorted(found.values()) == ["mine", "mine, too"]
    assert all(str(tmp_path / name) in str(caught.value) and name.endswith(".csv") for name in found)


@pytest.mark.parametrize("name", ["v.h5", "v.tif", "folder", "i.fits", "i.npy"])
def test_what_a_killed_run_left_is_named_and_removed(tmp_path: Path, name: str) -> None:
    program = f"""
import numpy as np, os, signal
from footprint.io.image import create_image
from footprint.io.volume import create_volume
if {name!r}.startswith("i"):
    create_image({name!r}, (100, 100)).write(slice(0, 50), np.ones((50, 100), "f4"))
else:
    volume = create_volume({name!r}, (2, 100, 100))
    volume.write(slice(0, 1), np.ones((1, 100, 100), "f4"))
print("ready", flush=True)
input()
os.kill(os.getpid(), signal.SIGKILL)
"""
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None and child.stdout is not None and child.stdout.readline() == "ready\n"
        left = [p for p in os.listdir(tmp_path) if p.endswith(".partial")]
        assert len(left) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            put(tmp_path / "other", "x")
        assert left[0] in os.listdir(tmp_path), "it is still being written"
        child.communicate("go\n", timeout=20)
    assert left[0] in os.listdir(tmp_path)
    with pytest.warns(UserWarning, match=rf"{left[0]}: removed \(\d.* KiB, left by a run that was killed\)"):
        put(tmp_path / "one more", "x")
    assert sorted(os.listdir(tmp_path)) == ["one more", "other"]


def dead_pid() -> int:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    return int(done.stdout)


def test_only_our_own_leftovers_are_removed(tmp_path: Path) -> None:
    here, pid = partial.host(), dead_pid()
    stays = [
        ".a.partial",
        f".a.00000000-{pid}-01234567.partial",  # another machine's
        f".a.{here}-{os.getpid()}-01234567.partial",  # of a process that lives
        f"a.{here}-{pid}-01234567.partial",
        f".a.{here}-{pid}-01234567.part",
    ]
    for name in [*stays, f".gone\n.{here}-{pid}-01234567.partial"]:
        (tmp_path / name).write_text("x")
    (tmp_path / f".l.{here}-{pid}-01234567.partial").symlink_to("elsewhere")
    with pytest.warns(UserWarning, match=r"\.gone\\n\..*removed \(1 B"):
        put(tmp_path / "new", "x")
    assert set(os.listdir(tmp_path)) == {*stays, "new", f".l.{here}-{pid}-01234567.partial"}


def test_a_lock_keeps_what_another_container_writes(tmp_path: Path) -> None:
    """Its process has a number that means nothing here."""
    import fcntl

    left = tmp_path / f".a.{partial.host()}-{dead_pid()}-01234567.partial"
    with open(left, "w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        put(tmp_path / "new", "x")
        assert left.exists()
    with pytest.warns(UserWarning, match="removed"):
        put(tmp_path / "newer", "x")
    assert not left.exists()


def test_a_result_that_was_taken_aside_is_put_back(tmp_path: Path) -> None:
    (tmp_path / f".folder.{partial.host()}-{dead_pid()}-01234567.replaced").mkdir()
    with pytest.warns(UserWarning, match="folder: put back"):
        put(tmp_path / "new", "x")
    assert sorted(os.listdir(tmp_path)) == ["folder", "new"]


@pytest.mark.parametrize("length", [200, 226, 255])
@pytest.mark.parametrize("letter", ["a", "é", "\udcff"], ids=["ascii", "utf8", "no-utf8"])
def test_names_as_long_as_the_disk_allows(tmp_path: Path, length: int, letter: str) -> None:
    nbytes = len(os.fsencode(letter))
    name = letter * ((length - 5) // nbytes) + "x" * ((length - 5) % nbytes) + ".fits"
    assert len(os.fsencode(name)) == length
    with create_image(tmp_path / name, (2, 3)) as writer:
        writer.write(slice(0, 2), np.ones((2, 3), np.float32))
    assert os.listdir(tmp_path) == [name]
    with open_image(tmp_path / name) as image:
        assert (image.array() == 1).all()
    with pytest.raises(FormatError, match="the results are kept as"), together():
        put(tmp_path / ("b" + name[1:-1]), "x")
        put(tmp_path / "c", "x")
        (tmp_path / "c").touch()


def test_a_name_that_is_too_long_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"has a name of 256 bytes, this disk allows 255; give a shorter name\.$"):
        check_output(tmp_path / ("a" * 251 + ".fits"))
    with pytest.raises(ArgumentError, match=r"output: got 'a.x00b', wanted the name of a file"):
        check_output("a\0b")


def test_a_link_is_followed_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to("far/file")
    put(tmp_path / "near", "first")
    with pytest.raises(FormatError, match="near: already exists"):
        put(tmp_path / "near", "second")
    with together():
        put(tmp_path / "near", "second", overwrite=True)
        put(tmp_path / "other", "x")
    slices(tmp_path / "far" / "slices", 1)
    (tmp_path / "slices").symlink_to("far/slices")
    slices(tmp_path / "slices", 2)
    assert (tmp_path / "near").is_symlink() and (tmp_path / "slices").is_symlink()
    assert (tmp_path / "far" / "file").read_text() == "second"
    assert sorted(p.name for p in (tmp_path / "far").iterdir()) == ["file", "slices"]
    with open_image(tmp_path / "far" / "slices" / "slice_00000.tif") as image:
        assert (image.array() == 2).all()
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(FormatError, match="is a link that leads back to itself"):
        check_output(tmp_path / "round", overwrite=True)
    (tmp_path / "nowhere").symlink_to("gone/file")
    with pytest.raises(FormatError, match="gone does not exist; create the folder first"):
        check_output(tmp_path / "nowhere")


def test_devices_and_pipes_are_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(FormatError, match="is a device or a pipe, not a file"):
            check_output(name, overwrite=True)


def test_nothing_is_forgotten(tmp_path: Path) -> None:
    """What is watched for a polite kill, and the locks, end with each output."""
    fds = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    put(tmp_path / "a", "x")
    Output(tmp_path / "b").discard()
    with pytest.raises(ValueError), together():
        put(tmp_path / "c", "x")
        Output(tmp_path / "d")
        raise ValueError
    assert not partial._live and os.listdir(tmp_path) == ["a"]
    assert fds is None or len(os.listdir("/proc/self/fd")) == fds


def test_no_sentence_moves_the_terminal() -> None:
    name = "a\x1b[31m\x07\r\n\u202e\x9b\udcff.fits"
    sentence = str(FormatError(name, "is no file"))
    assert sentence == r"a\x1b[31m\x07\r\n\u202e\x9b\udcff.fits: is no file."
    assert sentence.isprintable() and printable("µ 1 × 2") == "µ 1 × 2"
    assert str(ArgumentError("plane", name, "another")).isprintable()


NAMING = """
import os, signal, sys
from footprint.io.output import Output, together

stop, most = int(sys.argv[1]), int(sys.argv[2])
steps = 0


def counted(step, at):
    def run(*words, **more):
        global steps
        if step is link and "no links" in sys.argv:
            raise OSError(1, "Operation not permitted")
        step(*words, **more)
        steps += 1
        if steps == at:
            os.kill(os.getpid(), stop)
    return run


link = os.link
for at in range(1, most + 1):
    child = os.fork()
    if not child:
        os.chdir(str(at))
        with together():
            for name in ("a", "folder", "b"):
                out = Output(name, overwrite=True, folder=name == "folder", ours=lambda name: True)
                (out.temporary / "s" if out.folder else out.temporary).write_text("new")
                out.commit()
            for name in ("link", "rename", "replace", "unlink"):
                setattr(os, name, counted(getattr(os, name), at))
        sys.exit()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(at if code else "", flush=True)
"""


def stopped_while_naming(folder: Path, stop: int, most: int, *words: str) -> int:
    """Runs in folders 1, 2, ..., each stopped behind a later step of giving three outputs their names; how many were."""
    line = [sys.executable, "-c", NAMING, str(int(stop)), str(most), *words]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    said = subprocess.run(line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return len(said.split())


@pytest.mark.parametrize("links", ["links", "no links"])
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["Ctrl-C", "polite", "killed"])
@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "replaced"])
def test_all_names_are_given_or_none_however_a_run_ends(tmp_path: Path, fresh: bool, stop: int, links: str) -> None:
    """Of one that was killed the next run does the rest, whatever that run is."""
    most = 14
    for at in range(1, most + 1):
        (tmp_path / f"{at}" / "folder").mkdir(parents=True)
        for name in () if fresh else ("a", "b", "folder/s"):
            (tmp_path / f"{at}" / name).write_text("old")
    before = contents(tmp_path / "1")
    assert 3 <= stopped_while_naming(tmp_path, stop, most, links) < most
    for at in range(1, most + 1):
        if stop == signal.SIGKILL:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                check_output(tmp_path / f"{at}" / "other")
            assert all("killed" in str(one.message) for one in said)
        assert contents(tmp_path / f"{at}") in (before, {"a": "new", "b": "new", "folder/s": "new"}), at


def test_a_name_that_was_taken_since_a_run_was_killed_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    assert stopped_while_naming(tmp_path, signal.SIGKILL, 1) == 1
    (tmp_path / "1" / "b").write_text("another's")
    with pytest.warns(UserWarning, match="folder: complete, and has its name now: the run that made it was killed"):
        check_output(tmp_path / "1" / "c")
    assert contents(tmp_path / "1") == {"a": "new", "b": "another's", "folder/s": "new"}
