"""Outputs that appear under their names only when they are finished, all outputs of a job together.

Each is written under a hidden name ending in ``.partial`` beside its target and renamed at the end; any exception, Ctrl-C or
SIGTERM removes it. A link is followed: the file it leads to is replaced, and the link stays.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from footprint.errors import ArgumentError, FootprintError, FormatError, flag, printable, warn
from footprint.io.leftovers import clear
from footprint.io.naming import Finished, give_names
from footprint.io.partial import Partial, cut, name_limit
from footprint.io.unfinished import Unfinished, mention, place
from footprint.units import format_bytes


class _Group:
    """Outputs that get their names together."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self.open = True


_group: ContextVar[_Group | None] = ContextVar("outputs", default=None)


class Output:
    """A file or folder that is being written: ``temporary`` until `commit` gives it its name.

    Parameters
    ----------
    path
        The target.
    overwrite
        Allow the target to exist. A folder is replaced only when ``ours`` accepts every file in it.
    nbytes
        Bytes that will be written, checked against the free space.
    folder
        The target is a folder.
    ours
        Whether a file of an existing folder may be deleted with it; folders in it have a "/" at the end.
    resume
        Go on with what a stopped run left of it, and leave it to be resumed when this one is stopped; see `unfinished`.
    packed
        ``nbytes`` will be compressed to nobody knows how many: where they do not fit as they are, a warning says so.

    Raises
    ------
    FormatError
        The target exists, its folder is missing or cannot be written, or the disk has no room.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        overwrite: bool = False,
        nbytes: int = 0,
        folder: bool = False,
        ours: Callable[[str], bool] = lambda name: False,
        resume: bool = False,
        packed: bool = False,
    ) -> None:
        flag("resume", resume)
        self.path, self.overwrite, self.folder, self.ours = Path(path), overwrite, folder, ours
        self.target = _target(path)
        clear(self.target.parent)
        begun = resume and place(self.target).exists()
        _check(path, overwrite, 0 if begun else nbytes, folder, ours, resume, packed)
        self.partial: Partial | Unfinished
        if not resume:
            mention(self.target)
        try:
            self.partial = Unfinished(self.target, folder) if resume else Partial(self.target, folder)
        except OSError as error:
            raise FormatError(path, f"cannot be written ({error.strerror})", "choose another folder") from error
        self.temporary = self.partial.path
        # Ready: finished, and waiting for the others of its group.
        self._open, self.ready = True, False
        self._group = _group.get()
        if self._group is not None:
            self._group.outputs.append(self)

    def commit(self) -> None:
        """Give the finished output its name; in a `together` block, when the block ends."""
        if self._open:
            self._open, self.ready = False, True
            if self._group is None or not self._group.open:
                _commit([self])

    def discard(self) -> None:
        """Remove what was written, if it has no name yet; the target is left as it was."""
        if self._open or self.ready:
            self._open = self.ready = False
            if self.temporary.exists():
                self.partial.remove()
            else:
                self.partial.release()


@contextmanager
def together() -> Iterator[None]:
    """Give the outputs that are made inside the block their names together at its end, or none of them."""
    group = _Group()
    token = _group.set(group)
    try:
        yield
    except BaseException:
        for out in group.outputs:
            out.discard()
        raise
    finally:
        group.open = False
        _group.reset(token)
    _commit([out for out in group.outputs if out.ready])


def _commit(outputs: Sequence[Output]) -> None:
    """Give all of them their names, or leave everything as it was."""

    def check() -> None:
        _keep_where_taken(outputs)
        for out in outputs:
            if out.folder and out.target.exists():
                _check_folder(out.target, out.overwrite, out.ours)

    try:
        give_names([Finished(out.path, out.temporary, out.target) for out in outputs], check)
    finally:
        # Of those that have their names nothing is left to remove.
        for out in outputs:
            out.discard()


def _keep_where_taken(outputs: Sequence[Output]) -> None:
    """Raise where a target has appeared meanwhile; all results are then kept, under names of their own."""
    taken = [out for out in outputs if not out.overwrite and out.target.exists() and not (out.folder and _is_empty(out.target))]
    if not taken:
        return
    tag, kept = uuid.uuid4().hex[:8], []
    for out in outputs:
        stem, suffix = out.target.stem, out.target.suffix
        room = name_limit(out.target.parent) - len(tag) - len(os.fsencode(suffix)) - 1
        kept.append(out.target.with_name(f"{cut(stem, room)}.{tag}{suffix}"))
        os.replace(out.temporary, kept[-1])
    names = " and ".join(map(str, kept))
    fix = f"the result is kept as {names}" if len(kept) == 1 else f"the results are kept as {names}"
    raise FormatError(taken[0].path, "appeared while its contents were computed", fix)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


@contextmanager
def output(path: str | os.PathLike[str], overwrite: bool = False, nbytes: int = 0) -> Iterator[Path]:
    """Give the temporary name of an output file; rename it on success, remove it on any failure."""
    out = Output(path, overwrite, nbytes)
    try:
        with writing(path):
            yield out.temporary
            with open(out.temporary, "rb") as file:
                os.fsync(file.fileno())
    except BaseException:
        out.discard()
        raise
    out.commit()


@contextmanager
def writing(path: object, resumable: bool = False) -> Iterator[None]:
    """Turn a failed write into one FormatError that says what stood in its way, and what is left of a ``resumable`` output."""
    try:
        yield
    except FootprintError:
        raise
    except (OSError, RuntimeError) as error:
        left = "put that right, and go on with --resume" if resumable else "nothing was left behind"
        raise FormatError(path, f"could not be written ({reason(error)})", left) from error


def reason(error: OSError | RuntimeError) -> str:
    """Why a write failed; HDF5 tells the system's number in words only, and astropy none of a full disk."""
    said = re.search(r"errno = (\d+)", str(error))
    number = getattr(error, "errno", None) or (int(said[1]) if said else None)
    if number == errno.ENOSPC or "Not enough space on disk" in str(error):
        return "the disk is full"
    if number == errno.EBADF:
        return "it is closed"
    if number == errno.EDQUOT:
        return "your quota on this disk is used up"
    if number == errno.EFBIG:
        limit = _file_limit()
        return f"{_LIMITED} {format_bytes(limit)}" if limit is not None else "this disk takes no file of that size"
    return getattr(error, "strerror", None) or str(error).split("\n")[0][:200]


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LIMITED = "ulimit -f allows this process files of at most"


def _file_limit() -> int | None:
    """Bytes a file of this process may have, where it was limited."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _target(path: str | os.PathLike[str]) -> Path:
    """Where the output goes: what ``path`` is, or the file or folder it links to."""
    if "\0" in os.fspath(path) or Path(path).name in ("", ".", ".."):
        raise ArgumentError("output", repr(str(path)), "the name of a file or of a new folder")
    target = Path(os.path.realpath(path))
    if os.path.islink(target):
        raise FormatError(path, "is a link that leads back to itself", "remove it, or give another name")
    have, most = len(os.fsencode(target.name)), name_limit(target.parent)
    if have > most:
        raise FormatError(path, f"has a name of {have} bytes, this disk allows {most}", "give a shorter name")
    return target


def check_output(
    path: str | os.PathLike[str],
    overwrite: bool = False,
    nbytes: int = 0,
    folder: bool = False,
    ours: Callable[[str], bool] = lambda name: False,
    resume: bool = False,
    packed: bool = False,
) -> None:
    """Raise FormatError when an output could not be written; meant to run before the work does. See `Output`."""
    clear(_target(path).parent)
    _check(path, overwrite, nbytes, folder, ours, resume, packed)


def _check(
    path: str | os.PathLike[str],
    overwrite: bool,
    nbytes: int,
    folder: bool,
    ours: Callable[[str], bool],
    resume: bool,
    packed: bool,
) -> None:
    flag("overwrite", overwrite)
    if not folder and os.fspath(path).endswith(os.sep):
        raise FormatError(path, "must be a file, but its name ends like a folder's", f"remove the final {os.sep}")
    target = _target(path)
    parent = target.parent
    if not parent.is_dir():
        problem = "is not a folder" if parent.exists() else "does not exist"
        raise FormatError(path, f"cannot be written: {parent} {problem}", "create the folder first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise FormatError(path, f"cannot be written: the folder {parent} is read-only", "choose another folder")
    if folder and target.is_dir():
        _check_folder(target, overwrite, ours, resume)
    elif target.is_dir():
        raise FormatError(path, "is a folder, not a file")
    elif target.exists():
        if folder:
            raise FormatError(path, "is a file, not a folder")
        if not target.is_file():
            raise FormatError(path, "is a device or a pipe, not a file")
        if not overwrite:
            raise _there(path, "already exists", resume)
    _check_room(path, nbytes, folder, packed)


def _there(path: object, problem: str, resume: bool) -> FormatError:
    """What has its name is not resumed; whether it came from a job like this one is not known here."""
    if resume:
        return FormatError(
            path, "has its name already: only what has none yet is resumed", "give overwrite (--overwrite) to make it anew"
        )
    return FormatError(path, problem, "give overwrite (--overwrite) to replace it")


def _check_room(path: str | os.PathLike[str], nbytes: int, folder: bool, packed: bool) -> None:
    """Raise where so many bytes cannot be written; warn where they may shrink to what can."""
    if not nbytes:
        return
    limit, disk = _file_limit(), shutil.disk_usage(_target(os.fspath(path)).parent)
    found, fix = "", ""
    if limit is not None and nbytes > limit and not folder:
        found, fix = f"{_LIMITED} {format_bytes(limit)}", "raise that limit"
    # File systems without a size of their own (quotas, /proc) say 0.
    elif disk.total and nbytes > disk.free:
        found, fix = f"the disk has {format_bytes(disk.free)} free", "free some space"
    if found and not packed:
        raise FormatError(path, f"needs {format_bytes(nbytes)}, {found}", fix)
    if found:
        said = f"{printable(str(path))}: would take {format_bytes(nbytes)} without compression, {found}"
        warn(f"{said}; the run fails if compression does not make it small enough")


def _check_folder(target: Path, overwrite: bool, ours: Callable[[str], bool], resume: bool = False) -> None:
    names = [item.name for item in target.iterdir()]
    foreign = [name for name in names if not ours(f"{name}/" if (target / name).is_dir() else name)]
    if foreign:
        raise FormatError(target, f"holds {foreign[0]}, which no earlier run wrote: it is not replaced", "choose another folder")
    if names and not overwrite:
        raise _there(target, "already exists and is not empty", resume)
