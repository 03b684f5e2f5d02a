"""The pages of ``footprint view``: planes, histograms and profiles of one volume, for one browser on this machine.

Nothing is served without the token of this run, under another host's name, or to anything but GET; the page may ask nobody else.
"""

from __future__ import annotations

import hmac
import json
import math
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from footprint.errors import ArgumentError, FootprintError, printable
from footprint.io.planes import AXES, SEATS, Outdated, Plane, Planes
from footprint.io.slice_png import ends, plane_png
from footprint.io.volume_source import VolumeSource

_BINS, _LETTERS = 256, 200
# Pixels of a side of what levels are guessed from, and pages whose newest questions are known.
_GLANCE, _PAGES = 512, 16
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_POLICY = (
    "default-src 'none'; img-src data: blob:; connect-src 'self'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Answer(Exception):
    """An answer that is none of the pages: a status, and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str = "") -> None:
        super().__init__(sentence)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves a volume at ``url`` until it is shut down.

    Parameters
    ----------
    source, planes
        The volume.
    port
        Of 127.0.0.1; 0 is any that is free.

    Raises
    ------
    ArgumentError
        The port cannot be had.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, source: VolumeSource, planes: Planes, port: int = 0) -> None:
        self.source, self.planes = source, planes
        self.token, self._once = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._turns: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._over, self.seats = False, threading.Semaphore(SEATS)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise ArgumentError("port", f"{port} ({error.strerror})", "a free port", "leave --port out for any") from error
        self.hosts = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    @property
    def once(self) -> str:
        """An address that leads to the page, once: a browser's command line is seen by everybody on the machine."""
        return f"http://127.0.0.1:{self.server_port}/{self._once}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, but for browsers that no longer listen."""
        import sys

        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def goes(self, path: str) -> str | None:
        """The name of the page a path leads to, with the token before it; None for every other path."""
        word, _, name = path[1:].partition("/")
        return name if path[:1] == "/" and "/" in path[1:] and _same(word, self.token) else None

    def used(self, path: str) -> bool:
        """Whether this is the address that serves once; it does not serve again."""
        if self._once and _same(path[1:], self._once):
            self._once = ""
            return True
        return False

    def turn(self, page: str, axis: str) -> Callable[[], bool]:
        """Whether a page has asked nothing newer of an axis since."""
        key = page, axis
        mine = self._turns.pop(key, 0) + 1
        self._turns[key] = mine
        while len(self._turns) > len(AXES) * _PAGES:
            self._turns.popitem(last=False)
        return lambda: self._turns.get(key, mine) == mine and not self._over

    def server_close(self) -> None:
        """Stop listening, and reading for those who have not been answered."""
        super().server_close()
        self._over = True
        # Whoever closes the file next finds nobody reading.
        with self.planes.reading:
            pass


def _same(given: str, kept: str) -> bool:
    """Compared in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), kept.encode())


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "footprint", ""
    # Seconds after which a browser that says nothing is let go.
    timeout = 60

    def do_GET(self) -> None:
        """One page."""
        try:
            self._answer()
        except Answer as answer:
            self._refuse(answer.status, str(answer))
        except Outdated:
            self._send(HTTPStatus.NO_CONTENT, "", b"")
        except ArgumentError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except (FootprintError, OSError, MemoryError) as error:
            if isinstance(error, ConnectionError | TimeoutError):
                raise
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, printable(str(error)))

    def _answer(self) -> None:
        if len(self.headers.get_all("Host") or ()) != 1 or self.headers["Host"] not in self.server.hosts:
            raise Answer(HTTPStatus.FORBIDDEN, "This is not the name of this server.")
        where = urlsplit(self.path)
        if self.server.used(where.path):
            self._send(HTTPStatus.SEE_OTHER, "", b"", {"Location": f"/{self.server.token}/"})
            return
        name = self.server.goes(where.path)
        page = None if name is None else _PAGES_BY_NAME.get(name)
        if page is None:
            raise Answer(HTTPStatus.NOT_FOUND, "There is nothing here.")
        query = _Query(where.query)
        with self.server.seats:
            kind, body, headers = page(self.server, query)
        self._send(HTTPStatus.OK, kind, body, headers)

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        self._send(status, "application/json", json.dumps({"error": sentence}).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        if kind:
            self.send_header("Content-Type", kind)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Other methods, and what is no HTTP."""
        self.close_connection = True
        with suppress(ConnectionError):
            if code == HTTPStatus.NOT_IMPLEMENTED:
                self._send(HTTPStatus.METHOD_NOT_ALLOWED, "", b"", {"Allow": "GET"})
            else:
                self._refuse(HTTPStatus(code), message or "")

    def log_message(self, format: str, *args: Any) -> None:
        """The shell is not told of every picture."""


class _Query:
    """The words behind ``?``: each once, and all of them asked for."""

    def __init__(self, text: str) -> None:
        try:
            found = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=16)
        except ValueError:
            raise Answer(HTTPStatus.BAD_REQUEST, "The query cannot be read.") from None
        self._words = dict(found)
        if len(self._words) < len(found):
            raise Answer(HTTPStatus.BAD_REQUEST, "The query names something twice.")

    def word(self, name: str) -> str:
        """Anything that is short."""
        value = self._words.get(name)
        if value is None or len(value) > _LETTERS:
            raise ArgumentError(name, "nothing" if value is None else value, f"a value of at most {_LETTERS} letters")
        return value

    def numbers(self, name: str, count: int, kind: type = float) -> list[Any]:
        """Finite numbers with commas between them."""
        text = self.word(name)
        try:
            found = [kind(word) for word in text.split(",")]
        except ValueError:
            found = []
        if len(found) != count or not all(math.isfinite(n) for n in found):
            what = "whole numbers" if kind is int else "finite numbers"
            raise ArgumentError(name, repr(text), f"{count} {what} with commas between them" if count > 1 else f"one of {what}")
        return found

    def whole(self, name: str) -> int:
        """One whole number."""
        return int(self.numbers(name, 1, int)[0])

    def plane(self, server: Server) -> Plane:
        """The plane it asks for."""
        axis, side = self.word("axis"), self.whole("side") if "side" in self._words else None
        server.planes.check(axis, self.whole("index"))
        box = tuple(self.numbers("box", 4, int)) if "box" in self._words else None
        if side is not None and side < 1:
            raise ArgumentError("side", side, "a number above 0")
        wanted = server.turn(self.word("page"), axis) if "page" in self._words else lambda: True
        return server.planes.plane(axis, self.whole("index"), box, side, wanted)  # type: ignore[arg-type]


Page = tuple[str, bytes, dict[str, str]]


def _json(value: Any) -> Page:
    # NaN is no JSON.
    return "application/json", json.dumps(value, allow_nan=False).encode(), {}


def _shown(server: Server, query: _Query) -> Page:
    """The page itself: one file, whose styles and script are known by a number used once."""
    files = resources.files("footprint.cli") / "viewer"
    nonce = secrets.token_urlsafe(16)
    text = (files / "page.html").read_text("utf-8")
    for name in ("style.css", "script.js"):
        text = text.replace(f"/*{name}*/", (files / name).read_text("utf-8"))
    policy = {"Content-Security-Policy": _POLICY.format(nonce)}
    return "text/html; charset=utf-8", text.replace("NONCE", nonce).encode(), policy


def _about(server: Server, query: _Query) -> Page:
    """What the volume is, and the levels and places that are shown first."""
    planes, middle = server.planes, [n // 2 for n in server.planes.shape]
    low, high = _levels(planes.plane("z", middle[0], side=_GLANCE).values)
    return _json(
        {
            "name": printable(Path(server.source.path).name),
            "about": server.source.about,
            "shape": planes.shape,
            "dtype": np.dtype(server.source.frames.dtype).name,
            "side": planes.side,
            "levels": [low, high],
            "start": middle,
        }
    )


def _picture(server: Server, query: _Query) -> Page:
    """A plane in grey."""
    low, high = query.numbers("levels", 2)
    if low == high:
        raise ArgumentError("levels", [low, high], "two numbers that differ")
    plane = query.plane(server)
    told = {"X-Box": ",".join(map(str, plane.box)), "X-Steps": ",".join(map(str, plane.steps))}
    return "image/png", plane_png(plane.values, low, high), told


def _histogram(server: Server, query: _Query) -> Page:
    """How many pixels of a plane, as it is shown, have which values; a row at a time, as nothing beside the plane is counted."""
    values = query.plane(server).values
    step = max(1, max(values.shape) // _GLANCE)
    bounds = levels = _levels(values[::step, ::step])
    known, total, least, most = 0, 0.0, math.inf, -math.inf
    for row in _finite(values):
        known, total = known + row.size, total + float(row.sum(dtype=np.float64))
        least, most = min(least, float(row.min())), max(most, float(row.max()))
    figures: dict[str, Any] = {"lost": values.size - known, "levels": levels}
    if known:
        bounds = (least, most) if least < most and math.isfinite(most - least) else bounds
        figures |= {"least": least, "most": most, "mean": _known(total / known)}
    counts = np.zeros(_BINS, np.int64)
    for row in _finite(values):
        counts += np.histogram(row, _BINS, bounds)[0]
    return _json(figures | {"bounds": bounds, "counts": counts.tolist()})


def _finite(values: np.ndarray) -> Iterator[np.ndarray]:
    """What is finite in every row that has such."""
    for row in values:
        finite = row[np.isfinite(row)]
        if finite.size:
            yield finite


def _levels(values: np.ndarray) -> tuple[float, float]:
    """Levels of a plane that differ, whatever is in it."""
    low, high = ends(values)
    if low < high and math.isfinite(high - low):
        return low, high
    apart = abs(low) / 2 or 1.0
    return low - apart, low + apart


def _line(server: Server, query: _Query) -> Page:
    """A profile."""
    axis, index, (r0, c0, r1, c1) = query.word("axis"), query.whole("index"), query.numbers("ends", 4)
    distances, values = server.planes.line(axis, index, (r0, c0), (r1, c1))
    return _json({"length": float(distances[-1]), "values": [_known(v) for v in values.tolist()]})


def _value(server: Server, query: _Query) -> Page:
    """One pixel."""
    value = server.planes.value(*(query.whole(axis) for axis in AXES))
    return _json({"value": _known(value), "word": str(value)})


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


_PAGES_BY_NAME: dict[str, Callable[[Server, _Query], Page]] = {
    "": _shown,
    "about": _about,
    "plane.png": _picture,
    "histogram": _histogram,
    "line": _line,
    "value": _value,
}
