"""``footprint sources --report``: a page that needs nothing else, is no markup of what was read, and works in a real browser."""

from __future__ import annotations

import json
import re
import tracemalloc

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table
from click.testing import CliRunner
from scipy.stats import norm

import footprint as fp
from footprint.cli import sources_page
from footprint.cli.charts import Axis, bars
from footprint.cli.main import main
from footprint.cli.page import PICTURE_BYTES, PICTURES
from tests.browser import chromium
from tests.pages import Page

EVIL = "</script><script>document.title='x'</script>&'"
PEAKS = [60.0, 40.0, 300.0]


def run(*words, code=0):
    done = CliRunner().invoke(main, ["sources", *map(str, words), "--device", "cpu", "-q"])
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    data = np.random.default_rng(3).standard_normal((120, 130)).astype(">f4")
    for peak, y, x in zip(PEAKS, (30, 100, 60), (40, 10, 100)):
        data[y : y + 3, x : x + 4] += peak
    data[60:70, 20:50] = np.nan
    header = fits.Header({"BUNIT": EVIL, "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRPIX1": 65, "CRPIX2": 60, "CRVAL1": 10.0})
    header.update({"CRVAL2": -30.0, "CDELT1": -0.002, "CDELT2": 0.002})
    path = tmp_path_factory.mktemp("sources") / "a<b>'.fits"
    fits.writeto(path, data, header)
    return path


@pytest.fixture(scope="module")
def page(image):
    with pytest.warns(UserWarning, match="not in Jy"):
        run(image, "-o", image.parent / "c.ecsv", "--report", image.parent / "page.html", "--sigma", 6)
    return Page(image.parent / "page.html")


def data_of(page):
    """What the script reads, as a browser would cut it out."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.text, re.S)[1])


def test_it_needs_no_other_file_and_is_no_markup_of_the_image(page):
    assert page.sources and all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert page.tags.count("script") == 2 and not {"link", "iframe", "object", "b>"} & set(page.tags)
    assert "default-src 'none'" in page.text and "script-src 'sha256-" in page.text and "url(" not in page.text
    words = "".join(page.words)
    assert EVIL in words and "Sources in a<b>'.fits" in page.words and "<script>document" not in page.text
    assert any("not in Jy" in word for word in page.words)


def test_it_has_the_catalogue_and_what_the_run_was(page, image):
    found, table = data_of(page), Table.read(image.parent / "c.ecsv")
    assert [column["name"] for column in found["columns"]] == table.colnames
    rows = np.argsort(-table["peak"], kind="stable")
    for column, values in zip(found["columns"], found["values"]):
        want = table[column["name"]][rows]
        assert list(want) == values if column["kind"] == "text" else np.allclose(np.array(values, float), want, rtol=1e-8)
    for cell in (
        "clip std",
        "clip count",
        "threshold",
        "arena",
        "compute",
        "measured_peak",
        "kappa",
        "connectivity",
        "memory",
        "none",
    ):
        assert cell in page.words, cell
    assert any(PICTURES in word for word in page.words) and any(fp.__version__ in word for word in page.words)
    # Bars hold every source, by S/N and by flux.
    titles = [int(word.rpartition(" ")[2]) for word in page.words if re.fullmatch(r"\S+ to \S+: \d+", word)]
    assert sum(titles) == 2 * len(table) == 6


def test_rings_are_round_their_islands(page, image):
    """In the picture, whose first row is the image's last."""
    data, found = fits.getdata(image), data_of(page)
    names = [column["name"] for column in found["columns"]]
    rings = re.findall(r'<ellipse cx="(\S+)" cy="(\S+)" rx="(\S+)" ry="(\S+)"/>', page.text)
    boxes = zip(*(found["values"][names.index(name)] for name in ("x_min", "x_max", "y_min", "y_max")))
    for ring, (left, right, low, high) in zip(rings, boxes, strict=True):
        x, y, rx, ry = map(float, ring)
        assert (x, 120 - y) == ((left + right + 1) / 2, (low + high + 1) / 2) and np.nanmax(
            data[low : high + 1, left : right + 1]
        ) > 30
        assert 0 < rx - (right - left + 1) / 2 == pytest.approx(ry - (high - low + 1) / 2, abs=1e-2)


def test_theory_is_the_gaussian_one(page):
    points = re.search(r'<polyline class="line" points="([^"]+)"', page.text)[1]
    x, y = np.array([point.split(",") for point in points.split()], float).T
    s = np.linspace(2, 10, len(x))
    assert np.allclose((204 - y) / 192, norm.cdf(s - 6), atol=1e-3) and np.allclose(np.diff(x), np.diff(x)[0], atol=0.11)
    assert f"{6 + norm.ppf(0.9):.2f}" in page.words and any("Φ(s − 6)" in word for word in page.words)


def test_it_stays_within_the_plan(image, tmp_path):
    def planned(*words):
        done = CliRunner().invoke(main, ["plan", "sources", str(image), "--device", "cpu", "--json", *map(str, words)])
        return json.loads(done.stdout)["plan_total"]

    name = tmp_path / "page.html"
    with pytest.warns(UserWarning, match="not in Jy"):
        total = json.loads(run(image, "--report", name, "--json").stdout)["plan_total"]
    with fp.open_image(image) as opened:
        room = sources_page.page_bytes(opened)
    assert total == planned("--report", name) == planned() + room and PICTURE_BYTES <= room < 1.01 * PICTURE_BYTES
    short = run(image, "--report", name, "--overwrite", "--memory", PICTURE_BYTES, code=1).exception
    assert isinstance(short, fp.BudgetError) and PICTURES in str(short)
    with pytest.warns(UserWarning, match="not in Jy"):
        run(image, "--report", name, "--overwrite", "--memory", short.smallest)


def test_many_sources(tmp_path, monkeypatch):
    """The brightest, however they are cut; and no memory that grows with the image or the catalogue."""
    peaks = np.random.default_rng(1).integers(0, 500, 200_000).astype(np.float32)
    for most in (7, 70_000):
        np.testing.assert_array_equal(sources_page._brightest(peaks, most), np.argsort(-peaks, kind="stable")[:most])

    class Wide:
        shape, dtype = (600, 40_000), np.dtype("f4")

        def read(self, rows, out):
            out[...] = np.arange(40_000, dtype="f4") % 7

    monkeypatch.setattr(sources_page, "MOST", 1000)
    n = 300_000
    names = ("peak", "snr", "flux", "x_min", "x_max", "y_min", "y_max")
    table = Table({name: np.arange(n) % 40_000 + 1.0 for name in names} | {"name": np.full(n, b"J0<i>\xff")})
    table.meta.update(background=0.0, noise=1.0, sigma=5.0)
    plan, parameters = fp.plan_find_sources((64, 64), device="cpu"), {"image": "wide", "program": "footprint"}
    arguments = (tmp_path / "p.html", True, Wide(), table, plan, [], {"seconds": 1.0}, parameters)
    tracemalloc.start()
    try:
        sources_page.write_sources_page(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    page = Page(tmp_path / "p.html")
    assert peak < PICTURE_BYTES and any("holds the 1000 with the highest peaks" in word for word in page.words)
    found = data_of(page)
    assert len(found["values"][0]) == 1000 == page.tags.count("ellipse") and min(found["values"][0]) > 39_000
    assert found["values"][-1][0].startswith("J0<i>") and "<i>" not in page.text


def test_charts():
    assert Axis(0, 2, 0, 1, whole=True).ticks() == [0, 1, 2] and Axis(0, 1, 0, 1).ticks() == pytest.approx(
        [0, 0.2, 0.4, 0.6, 0.8, 1]
    )
    assert Axis(3, 250, 0, 1, log=True).ticks() == [5, 10, 20, 50, 100, 200] and Axis(1.1, 1.2, 0, 1, log=True).ticks() == [
        1.1,
        1.2,
    ]
    for values in ([], [np.nan, -1.0, 0.0]):
        assert "none above 0" in "".join(bars(np.array(values), "x", "x"))
    values = np.append(np.random.default_rng(0).lognormal(size=100_000), [np.nan, -1, 0, np.inf])
    counts = re.findall(r": (\d+)</title>", "".join(bars(values, "x", "x")))
    assert sum(map(int, counts)) == 100_000 and "4.545 to 5.5: 3<" in "".join(bars(np.full(3, 5.0), "x", "x"))


def test_other_ways(image, tmp_path):
    for bad, words in (("run.txt", "a name ending in .html"), ("c.ecsv", "is written by --out")):
        refused = run(image, "-o", tmp_path / "c.ecsv", "--report", tmp_path / bad, code=1).exception
        assert isinstance(refused, fp.ArgumentError) and words in str(refused)
    np.save(tmp_path / "cube.npy", np.random.default_rng(0).standard_normal((2, 40, 40)).astype("f4"))
    refused = run(tmp_path / "cube.npy", "--plane", "all", "--report", tmp_path / "r.html", code=1).exception
    assert "--report" in str(refused) and "give --plane N" in str(refused)
    # No sources, several images, background from place to place.
    words = (tmp_path / "cube.npy", "--plane", 1, "--background", "mesh", "--box", 20)
    run(*words, image, "-o", f"{tmp_path}/out/", "--report", f"{tmp_path}/out/", "--sigma", 9)
    run(*words, "--report", tmp_path / "r.html", "--sigma", 9)
    pages = [Page(tmp_path / name) for name in ("out/cube.html", "r.html")]
    for page in pages:
        assert "0 sources" in page.words and data_of(page)["values"][0] == [] and any("typical one" in word for word in page.words)
    assert not (tmp_path / "out" / "a<b>'.html").exists()


def test_units_are_written_in_one_way(tmp_path):
    """Background and noise had the header's JY/BEAM beside a table in Jy / beam."""
    data = np.random.default_rng(4).standard_normal((40, 50)).astype("f4")
    data[20:23, 20:23] += 50
    fits.writeto(
        tmp_path / "a.fits", data, fits.Header({"BUNIT": "JY/BEAM", "BMAJ": 0.01, "BMIN": 0.01, "CDELT1": -0.002, "CDELT2": 0.002})
    )
    run(tmp_path / "a.fits", "--report", tmp_path / "page.html", "--sigma", 9)
    words = Page(tmp_path / "page.html").words
    at = words.index("background")
    assert words[at + 2] == "Jy / beam", words[at : at + 3]


def test_a_real_browser_shows_it(page):
    """An island and its row are chosen together, rows are sorted and filtered, nothing is fetched, no other script runs."""
    names = [column["name"] for column in data_of(page)["columns"]]
    with chromium() as browser:
        browser.get(page.path.as_uri())

        def css(selector):
            return browser.find_elements("css selector", selector)

        def column(name):
            head = [one.get_attribute("data-column") for one in css("#rows th")].index(str(names.index(name)))
            return [float(line.find_elements("css selector", "td")[head].text) for line in css("#rows tbody tr")]

        peaks = column("peak")
        assert len(peaks) == 3 and peaks == sorted(peaks, reverse=True)
        rings = css("#islands ellipse")
        rings[1].click()
        (line,) = css("#rows tr.on")
        assert line.get_attribute("data-row") == "1" and "on" in rings[1].get_attribute("class")
        told = css("#chosen div")
        assert len(told) == len(names) and any(one.text.startswith("peak\n") for one in told)
        css("#rows tbody tr")[2].click()
        assert "on" in rings[2].get_attribute("class") and not rings[1].get_attribute("class")
        head = str(names.index("peak"))
        css(f"#rows th[data-column='{head}']")[0].click()
        css(f"#rows th[data-column='{head}']")[0].click()
        assert column("peak") == peaks[::-1] and css(f"#rows th[data-column='{head}']")[0].get_attribute("aria-sort") == "ascending"
        assert css("#rows tr.on")[0].get_attribute("data-row") == "2"
        field = browser.find_element("id", "filter")
        field.send_keys(f"peak<{peaks[0] - 1:.0f} x>{20}")
        assert column("peak") == [peaks[1]] and [one.is_displayed() for one in rings] == [False, True, False]
        assert browser.find_element("id", "which").text == "1 to 1 of 1"
        field.clear()
        field.send_keys("J0")
        assert len(column("peak")) == 3
        browser.find_element("id", "all").click()
        assert len(css("#rows th")) == len(names)
        wide = browser.find_element("id", "sky").rect["width"]
        browser.find_element("id", "closer").click()
        assert browser.find_element("id", "sky").rect["width"] == pytest.approx(2 * wide, rel=0.05)
        assert (
            browser.execute_script("return performance.getEntriesByType('resource').filter(e => !/^data:/.test(e.name)).length")
            == 0
        )
        # Sizes of the plan stay on one line, and a narrow window has nothing beyond its edge.
        plan = "[...document.querySelectorAll('td')].find(e => e.textContent === 'arena').parentElement"
        assert browser.execute_script(f"return {plan}.getBoundingClientRect().height < 30")
        browser.set_window_size(500, 900)
        edges = browser.execute_script("const page = document.documentElement; return [page.scrollWidth, page.clientWidth]")
        assert edges[0] <= edges[1] <= 500
        assert browser.title == "Sources in a<b>'.fits" and browser.get_log("browser") == []
        added = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
        assert browser.execute_script(f"{added} return window.ran") is None
