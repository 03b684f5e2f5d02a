"""What ``--exclude-angles`` names: projections by number, by frame of the file, or by angle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from footprint.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

# Degrees by which an angle may miss the end of a range: files hold them in float32, and radians are no whole degrees.
_END = 1e-4


def excluded(text: str, scan: Any) -> list[int]:
    """Numbers of projections, of ``3,10:20``, ``frames=FILE``, ``degrees=A:B`` or ``degrees=FILE``."""
    kind, equals, value = (word.strip() for word in text.partition("="))
    if not equals:
        return _numbers(text, scan.n_angles)
    if kind == "frames" and value:
        return _of_frames(value, scan)
    if kind == "degrees" and value:
        ends = _range(value)
        return _of_angles(value, scan) if ends is None else _between(*ends, value, scan)
    raise ArgumentError("exclude", repr(text), "numbers such as 3,10:20, frames=FILE, degrees=A:B or degrees=FILE")


def _numbers(text: str, n_angles: int) -> list[int]:
    """``3,10:20`` as whole numbers; ends of ranges may be left out."""
    found: list[int] = []
    for word in text.split(","):
        first, colon, last = word.partition(":")
        try:
            start = int(first) if first or not colon else 0
            stop = (int(last) if last else n_angles) if colon else start + 1
        except ValueError:
            start = stop = -1
        if not 0 <= start < stop <= n_angles:
            wanted = f"numbers of projections and ranges such as 3,10:20, from 0 to {n_angles - 1}"
            raise ArgumentError("exclude", repr(word), wanted)
        found += range(start, stop)
    return found


def _of_frames(path: str, scan: Any) -> list[int]:
    """Projections whose frames a file lists; a frame that is none would mean that projections were counted, not frames."""
    from footprint.io.shifts import read_numbers

    where = {float(frame): number for number, frame in enumerate(scan.times)}
    frames = read_numbers(path, "numbers of frames")
    others = [frame for frame in frames.tolist() if frame not in where]
    if others:
        wanted = f"frames that are projections, from {min(where):.0f} to {max(where):.0f}"
        fix = "flats and darks count as frames; projections alone are counted by --exclude-angles 3,10:20"
        raise ArgumentError("exclude", f"frame {others[0]:g} in {path}", wanted, fix)
    return [where[frame] for frame in frames.tolist()]


def _range(text: str) -> tuple[float, float] | None:
    first, colon, last = text.partition(":")
    try:
        return (float(first), float(last)) if colon else None
    except ValueError:
        return None


def _between(first: float, last: float, text: str, scan: Any) -> list[int]:
    """Projections from one angle to another, both included."""
    import numpy as np

    if not (first <= last and np.isfinite(last - first)):
        raise ArgumentError("exclude", repr(f"degrees={text}"), "degrees=A:B, A not above B")
    own = _degrees(scan)
    inside = (own >= first - _END) & (own <= last + _END)
    if not inside.any():
        raise ArgumentError("exclude", repr(f"degrees={text}"), f"a range with projections in it; {_ends(scan)}")
    return [int(number) for number in np.flatnonzero(inside)]


def _of_angles(path: str, scan: Any) -> list[int]:
    """The projection nearest to each angle that a file lists, not farther than half the step between projections."""
    import numpy as np

    from footprint.io.shifts import read_numbers

    own, found = _degrees(scan), []
    gaps = np.diff(np.sort(own))
    step = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
    for angle in read_numbers(path, "angles"):
        away = np.abs(own - angle)
        number = int(away.argmin())
        if away[number] > step / 2:
            wanted = f"angles of projections; the nearest is at {own[number]:.6g}"
            raise ArgumentError("exclude", f"{angle:.6g} degrees in {path}", wanted)
        found.append(number)
    return found


def _degrees(scan: Any) -> np.ndarray:
    """As the file, or ``--angles``, has them."""
    import numpy as np

    return np.degrees(scan.stored_angles)


def _ends(scan: Any) -> str:
    own = _degrees(scan)
    return f"they go from {own.min():.6g} to {own.max():.6g}"
