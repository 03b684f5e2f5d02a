"""``footprint view``: who is answered and who is not, what is answered, and how the command starts and ends."""

from __future__ import annotations

import http.client
import io
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import footprint as fp
from footprint.cli import view
from footprint.cli.main import main
from footprint.cli.view_server import Server
from footprint.io.planes import Planes
from footprint.io.slice_png import NAN_COLOUR, plane_png
from footprint.io.volume_source import open_volume


@contextmanager
def served(path, memory=100 << 20):
    source = open_volume(path)
    with Server(source, Planes(source.frames, memory)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            source.close()


@pytest.fixture(scope="module")
def values():
    values = np.random.default_rng(5).random((11, 17, 29), dtype=np.float32)
    values[5, 4, 5] = np.nan
    return values


@pytest.fixture(scope="module")
def server(values, tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "a<b>.npy"
    np.save(path, values)
    with served(path) as server:
        yield server


def ask(server, name, method="GET", token=None, **headers):
    """The status, the headers and the body; ``name`` that begins with a slash has no token before it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    path = name if name.startswith("/") else f"/{token or server.token}/{name}"
    connection.putrequest(method, path, skip_host="Host" in headers)
    for key, value in headers.items():
        connection.putheader(key, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def told(server, name):
    status, _, body = ask(server, name)
    assert status == 200, body
    return json.loads(body)


def test_only_the_token_opens(server):
    good = ask(server, "")
    assert good[0] == 200 and len(server.token) == 32 and server.server_address[0] == "127.0.0.1"
    for path in (
        "/",
        f"/{server.token}",
        "//",
        "/favicon.ico",
        f"/{server.token}x/",
        f"/{server.token[:-1]}/",
        "/%00/about",
        "/é/",
    ):
        status, _, body = ask(server, path.encode().decode("latin-1") if path.isascii() else "/%C3%A9/")
        assert status == 404 and server.token not in body.decode(), path
    assert ask(server, "nothing")[0] == ask(server, "../etc/passwd")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "", "127.0.0.1.evil.example:80"])
def test_other_names_of_this_machine_are_refused(server, host):
    """A page elsewhere, whose name was bent to 127.0.0.1, sends its own name."""
    assert ask(server, "", Host=host)[0] == 403
    assert ask(server, "", Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"])
def test_only_get(server, method):
    status, headers, body = ask(server, "", method)
    assert (status, headers["Allow"], body) == (405, "GET", b"")


def test_the_page_asks_nobody_else(server):
    _, headers, body = ask(server, "")
    text, policy = body.decode(), headers["Content-Security-Policy"]
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert text.count(f'nonce="{nonce}"') == 2 == text.count("nonce=") and "default-src 'none'" in policy and "unsafe" not in policy
    assert nonce not in ask(server, "")[1]["Content-Security-Policy"]
    assert "http:" not in text and "https:" not in text and "NONCE" not in text and "/*script.js*/" not in text
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff" and "Python" not in headers["Server"]


def test_an_address_that_serves_once(server):
    status, headers, _ = ask(server, urlsplit(server.once).path)
    assert (status, headers["Location"]) == (303, f"/{server.token}/")
    assert ask(server, urlsplit(server.once).path)[0] == ask(server, "/")[0] == 404


def test_pictures_are_of_the_planes(server, values):
    for axis, index, whole in (("z", 3, values[3]), ("y", 16, values[:, 16]), ("x", 0, values[:, :, 0].T)):
        status, headers, body = ask(server, f"plane.png?axis={axis}&index={index}&levels=0.2,0.7")
        assert status == 200 and headers["X-Steps"] == "1,1" and headers["X-Box"] == f"0,{whole.shape[0]},0,{whole.shape[1]}"
        grey = np.asarray(Image.open(io.BytesIO(body)).convert("RGB"))
        want = np.rint(np.rint(np.clip((whole.astype("f8") - 0.2) / 0.5, 0, 1) * 254) / 254 * 255)
        np.testing.assert_array_equal(grey, np.broadcast_to(want[..., None], grey.shape))
    _, headers, body = ask(server, "plane.png?axis=z&index=5&levels=1,0&box=3,9,2,9&side=6&page=a")
    picture = np.asarray(Image.open(io.BytesIO(body)).convert("RGB"))
    assert headers["X-Box"] == "3,9,2,9" and headers["X-Steps"] == "1,2" and picture.shape == (6, 4, 3)
    # A mean over what is known, so nothing is of that colour here; a pixel that is NaN is.
    assert not (picture == NAN_COLOUR).all(-1).any() and told(server, "value?z=5&y=4&x=5") == {"value": None, "word": "nan"}
    body = ask(server, "plane.png?axis=z&index=5&levels=0,1")[2]
    assert np.argwhere((np.asarray(Image.open(io.BytesIO(body)).convert("RGB")) == NAN_COLOUR).all(-1)).tolist() == [[4, 5]]


def test_pictures_of_extremes():
    values = np.array([[np.nan, -np.inf, np.inf, -1.7e308, 1.7e308, 0]])
    picture = Image.open(io.BytesIO(plane_png(values, -1.7e308, 1.7e308)))
    assert np.asarray(picture).tolist() == [[0, 1, 255, 1, 255, 128]]
    flat = Image.open(io.BytesIO(plane_png(np.full((70, 3), 7, np.float32), 3.5, 10.5)))
    assert (np.asarray(flat) == 128).all() and flat.size == (3, 70)


def test_numbers_are_those_of_the_volume(server, values):
    about = told(server, "about?")
    assert about["shape"] == [11, 17, 29] and about["dtype"] == "float32" and about["name"] == "a<b>.npy"
    np.testing.assert_allclose(about["levels"], np.nanpercentile(values[5], [0.5, 99.8]), rtol=1e-5)
    found = told(server, "histogram?axis=z&index=5")
    known = values[5][np.isfinite(values[5])]
    np.testing.assert_array_equal(found["counts"], np.histogram(known, 256, (known.min(), known.max()))[0])
    assert found["lost"] == 1 and found["least"] == known.min() and found["mean"] == pytest.approx(known.mean())
    line = told(server, "line?axis=z&index=5&ends=4,3,4,8")
    assert line["values"][2] is None and line["length"] == 5
    np.testing.assert_allclose(line["values"][3:], values[5, 4, 6:9])
    assert told(server, "value?z=10&y=16&x=28")["value"] == values[10, 16, 28]


@pytest.mark.parametrize(
    "query",
    [
        *("plane.png", "plane.png?axis=z&index=1", "plane.png?axis=w&index=1&levels=0,1", "plane.png?axis=z&index=11&levels=0,1"),
        *("plane.png?axis=z&index=1.5&levels=0,1", "plane.png?axis=z&index=1&levels=1,1", "plane.png?axis=z&index=1&levels=0,nan"),
        *("plane.png?axis=z&index=1&levels=0,1&box=0,18,0,1", "plane.png?axis=z&index=1&levels=0,1&side=0", "plane.png?axis"),
        *("plane.png?axis=z&axis=y&index=1&levels=0,1", "line?axis=z&index=1&ends=0,0,0", "line?axis=z&index=1&ends=0,0,0,29"),
        *("value?z=1&y=1", "value?z=1&y=1&x=-1", f"value?z=1&y=1&x={'1' * 300}", "about?" + "&".join(f"a{i}=1" for i in range(40))),
    ],
)
def test_bad_questions_are_told_so(server, query):
    status, _, body = ask(server, query)
    sentence = json.loads(body)["error"]
    assert status == 400 and sentence.endswith(".") and "Traceback" not in sentence


@pytest.mark.parametrize("fill", [np.nan, 7.0, -1e300, np.inf])
def test_volumes_without_levels(tmp_path, fill):
    np.save(tmp_path / "v.npy", np.full((4, 5), fill))
    with served(tmp_path / "v.npy") as server:
        low, high = told(server, "about?")["levels"]
        assert low < high
        found = told(server, "histogram?axis=z&index=0")
        assert sum(found["counts"]) + found["lost"] == 20 and found["bounds"][0] < found["bounds"][1]
        assert ask(server, f"plane.png?axis=z&index=0&levels={quote(f'{low},{high}')}")[0] == 200


def test_a_newer_question_of_a_page_ends_the_older(server):
    first = server.turn("page", "z")
    assert first() and server.turn("page", "y")() and server.turn("other", "z")() and first()
    second = server.turn("page", "z")
    assert second() and not first()


def test_a_damaged_file_is_told_of(tmp_path, values):
    np.save(tmp_path / "v.npy", values)
    with served(tmp_path / "v.npy") as server:
        os.truncate(tmp_path / "v.npy", 3000)
        status, _, body = ask(server, "plane.png?axis=z&index=10&levels=0,1")
        assert status == 500 and "v.npy: ended early" in json.loads(body)["error"]
        assert ask(server, "plane.png?axis=z&index=0&levels=0,1")[0] == 200


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_with_a_stop(tmp_path, values, stop):
    np.save(tmp_path / "v.npy", values)
    words = ("view", str(tmp_path / "v.npy"), "--no-browser", "--memory", "50MB")
    program = [sys.executable, "-u", "-m", "footprint", *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        connection.request("GET", url.path + "about")
        assert json.loads(connection.getresponse().read())["shape"] == [11, 17, 29]
        process.send_signal(stop)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 0 and said.endswith("footprint: closed.\n") and "Traceback" not in said


def test_the_browser_is_given_the_address_that_serves_once(tmp_path, values, monkeypatch):
    np.save(tmp_path / "v.npy", values)
    opened, serving = [], threading.Event()

    def browse(url):
        opened.append(url)
        serving.set()

    def serve(server):
        assert serving.wait(30)
        assert opened == [server.once] and server.token not in server.once
        raise KeyboardInterrupt

    monkeypatch.setattr(view.webbrowser, "open", browse)
    monkeypatch.setattr(Server, "serve_forever", serve)
    done = CliRunner().invoke(main, ["view", str(tmp_path / "v.npy")])
    assert done.exit_code == 0 and done.stdout.startswith("http://127.0.0.1:"), done.output


def test_mistakes_are_sentences(server, tmp_path, values):
    np.save(tmp_path / "v.npy", values)
    for words, kind, said in (
        (["none.h5"], fp.FormatError, "no such file"),
        ([str(tmp_path / "v.npy"), "--memory", "10kB"], fp.BudgetError, "a picture of this volume"),
        ([str(tmp_path / "v.npy"), "--memory", "much"], fp.ArgumentError, "memory"),
        ([str(tmp_path / "v.npy"), "--port", "70000"], fp.ArgumentError, "0 to 65535"),
        ([str(tmp_path / "v.npy"), "--port", str(server.server_port)], fp.ArgumentError, "a free port"),
    ):
        error = CliRunner().invoke(main, ["view", "--no-browser", *words]).exception
        assert isinstance(error, kind) and said in str(error), (words, error)
