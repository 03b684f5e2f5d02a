"""``--report``: one page that needs nothing else, says what the run was, and takes no more than the plan."""

from __future__ import annotations

import re

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import footprint as fp
from footprint.api import _looks
from footprint.cli.main import main
from footprint.cli.page import PICTURE_BYTES, PICTURES
from footprint.io.phantom import write_scan
from tests.backend.test_black_frames import darkened
from tests.backend.test_reconstruct import CENTER, phantom
from tests.browser import chromium
from tests.pages import Page

EVIL = '<script>alert("x")</script>&\x1b[31m'


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = write_scan(tmp_path_factory.mktemp("report") / "a<b>'.nx", n_angles=40, n_z=5, n_x=48).path
    with h5py.File(path, "r+") as file:
        entry = file[next(iter(file))]
        if "name" in entry["sample"]:
            del entry["sample/name"]
        entry["sample/name"] = EVIL
    return str(path)


def run(scan, *words, code=0):
    done = CliRunner().invoke(main, ["reconstruct", str(scan), "--device", "cpu", "-q", *map(str, words)])
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def page(scan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    run(
        scan, "-o", folder / "v.h5", "--report", folder / "run.html", "--rings", "sorting:size=5", "--zingers", 0.5, "--rows", "1:4"
    )
    return Page(folder / "run.html")


def test_it_needs_no_other_file_and_is_no_markup_of_the_scan(page):
    assert page.sources and all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert (
        not {"script", "link", "iframe", "object", "b>"} & set(page.tags) and "@import" not in page.text and "url(" not in page.text
    )
    assert "default-src 'none'" in page.text
    words = "".join(page.words)
    assert '<script>alert("x")</script>&\\x1b[31m' in words and "a<b>'.nx" in words
    assert EVIL[:8] not in page.text and "\x1b" not in page.text


def test_it_says_what_the_run_was(page):
    words = page.words
    for heading in ("Plan", "Seconds of each lane", "Rotation axis", "Slices", "Figures", "Parameters"):
        assert heading in words
    for cell in ("arena", "predicted", "measured", "compute", "center_score", "measured_peak", "rings", "sorting:size=5", "steps"):
        assert cell in words, cell
    assert any(PICTURES in word for word in words)
    (svg,) = re.findall(r"<svg.*?</svg>", page.text, re.S)
    lanes = re.findall(r"<title>(\w+): busy [^<]+, predicted [^<]+</title>", svg)
    assert lanes == ["read", "compute", "write"] and svg.count("#9bbcd8") == 3
    assert any(said.startswith("the search: ") for said in page.pictures) and {"row 1", "row 2", "row 3"} <= set(page.pictures)


def test_sinograms_are_those_of_the_steps(scan, page):
    """The last one is the sinogram that is backprojected; each is drawn in greys of its own."""
    names = [name for name in page.pictures if "(" in name]
    assert [name.partition(" (")[0] for name in names] == [
        *("transmissions, by flats and darks", "dead pixels replaced", "zingers replaced", "line integrals: minus logarithm"),
        *("pixels that failed in single projections replaced", "rings removed"),
    ]
    with fp.open_scan(scan) as opened:
        steps = fp.steps(zingers=0.5, rings={"method": "sorting", "size": 5})
        want = fp.reconstruct(opened, rows=(2, 3), center=20, device="cpu", steps=lambda usual: steps(usual)[:-1])[0]
    assert f"({want.min():.4g} to {want.max():.4g})" in names[-1]
    low, high = np.percentile(want, [0.5, 99.8])
    np.testing.assert_array_equal(page.pictures[names[-1]], (255 * np.clip((want - low) / (high - low), 0, 1)).astype(np.uint8))


def test_it_stays_within_the_plan(scan, tmp_path, monkeypatch):
    asked, inner = [], _looks.reconstruct
    monkeypatch.setattr(_looks, "reconstruct", lambda *a, memory, **how: (asked.append(memory), inner(*a, memory=memory, **how))[1])
    plain = fp.plan_reconstruct(fp.open_scan(scan), written=True, memory="30MB", center=23.5, device="cpu").footprint.total
    out = ["-o", tmp_path / "v.h5", "--overwrite", "--center", 23.5]
    told = run(scan, *out, "--report", tmp_path / "run.html", "--memory", "30MB", "--json").stdout
    total = int(re.search(r'"plan_total": (\d+)', told)[1])
    assert total == plain + PICTURE_BYTES
    # The rows that are kept and the sinogram are beside each of its jobs.
    beside = 40 * 48 * (2 + 4)
    assert asked and all(memory + beside <= plain for memory in asked)
    with pytest.raises(fp.BudgetError), fp.open_scan(scan) as opened:
        job = {"shifts": None, "i0": "auto", "log": True, "half_acquisition": None, "center": 23.5, "axis_shifts": None}
        list(_looks.looks(opened, 2, memory=40 * 48, device="cpu", black_frames="exclude", **job))
    with pytest.raises(fp.BudgetError, match=PICTURES):
        raise run(scan, *out, "--report", tmp_path / "run.html", "--memory", PICTURE_BYTES, code=1).exception


def test_sinograms_leave_out_black_frames_with_their_shifts(rng):
    scan = darkened(phantom(rng), [7], rng)
    n = scan.shape[0]
    job = dict.fromkeys(["shifts", "half_acquisition"]) | {"i0": "auto", "log": True, "center": CENTER}
    (_, sinogram), *_ = _looks.looks(
        scan, 2, memory=1 << 24, device="cpu", black_frames="exclude", axis_shifts=np.linspace(-1, 1, n), **job
    )
    assert sinogram.shape == (n - 1, scan.shape[2])


def test_other_ways(scan, tmp_path):
    for bad, words in (("run.txt", "a name ending in .html"), ("v.h5", "is written by --out")):
        refused = run(scan, "-o", tmp_path / "v.h5", "--report", tmp_path / bad, code=1).exception
        assert isinstance(refused, fp.ArgumentError) and words in str(refused)
    tries = run(scan, "-o", tmp_path / "t.h5", "--center", "try:20:21:1", "--report", tmp_path / "r.html", code=1).exception
    assert "--png draws all slices" in str(tries)
    (tmp_path / "r.html").write_text("precious")
    assert "exists" in str(run(scan, "-o", tmp_path / "v.h5", "--report", tmp_path / "r.html", code=1).exception)
    lines = np.ones((12, 2, 24), "f4")
    lines[:, :, 7] = np.nan
    np.save(tmp_path / "lines.npy", lines)
    with pytest.warns(UserWarning, match="no angles"):
        run(tmp_path / "lines.npy", "-o", tmp_path / "w", "--no-log", "--center", 11.5, "--report", tmp_path / "lines.html")
    page = Page(tmp_path / "lines.html")
    assert any("has no angles" in word for word in page.words) and "It was given." in page.words


def test_a_real_browser_shows_it(page):
    """Every picture is decoded, nothing is fetched, the scan's markup is words, and the console stays empty."""
    with chromium() as browser:
        browser.get(page.path.as_uri())
        sizes = browser.execute_script(
            "return [...document.images].map(i => [i.complete, i.naturalWidth, i.getBoundingClientRect().right])"
        )
        assert len(sizes) >= 5 and all(done and width > 0 and right <= 1200 for done, width, right in sizes)
        assert (
            browser.execute_script(
                "return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length"
            )
            == 0
        )
        assert browser.execute_script("return document.scripts.length") == 0
        inside = (
            "const s = document.querySelector('svg').getBoundingClientRect(); return [...document.querySelectorAll('svg rect')]"
        )
        inside += ".map(r => r.getBoundingClientRect()).map(r => r.width > 0 && r.left >= s.left && r.right <= s.right)"
        drawn = browser.execute_script(inside)
        assert len(drawn) >= 6 and all(drawn)
        assert "<script>" in browser.find_element("tag name", "body").text
        # Names are on one line; a name such as plan_constant was broken before its last letter.
        heights = "return [...document.querySelectorAll('td:first-child')].map(c => { const r = document.createRange();"
        heights += " r.selectNodeContents(c); return r.getBoundingClientRect().height })"
        assert max(browser.execute_script(heights)) < 30
        assert browser.get_log("browser") == []
