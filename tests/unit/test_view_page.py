"""The page of ``footprint view`` in a real browser: slices, levels, profile and cross, by mouse and keys."""

from __future__ import annotations

import numpy as np
import pytest

from tests.browser import chromium
from tests.unit.test_cli_view import served

N_Z, N_Y, N_X = 12, 40, 60
BRIGHT = (3, 10, 20)


@pytest.fixture(scope="module")
def values():
    """Every slice has its number as its grey, but for one bright block and NaN in a corner."""
    values = np.empty((N_Z, N_Y, N_X), np.float32)
    values[...] = np.arange(N_Z)[:, None, None]
    z, y, x = BRIGHT
    values[z, y : y + 10, x : x + 10] = 100
    values[:, :4, :4] = np.nan
    return values


@pytest.fixture(scope="module")
def browser():
    with chromium(1100, 800) as browser:
        yield browser


class Viewer:
    """The page, waited for whenever something was done to it."""

    def __init__(self, browser, url):
        from selenium.webdriver.common.keys import Keys

        self.browser, self.keys = browser, Keys
        browser.get(url)
        self.wait()

    def wait(self):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 60, 0.02).until(lambda page: page.execute_script("return document.body.dataset.busy === '0'"))
        assert self.text("status") == ""

    def text(self, name):
        return self.browser.find_element("id", name).text

    def number(self, name):
        return float(self.browser.find_element("id", name).get_property("value"))

    def canvas(self, axis):
        return self.browser.find_element("css selector", f'.pane[data-axis="{axis}"] canvas')

    def at(self, axis, row, column):
        """Where a pixel of a plane lies, from the middle of its canvas."""
        return self.browser.execute_script(
            "const p = panes[arguments[0]], [x, y] = toCanvas(p, arguments[1] + 0.5, arguments[2] + 0.5);"
            "return [Math.round(x - p.canvas.clientWidth / 2), Math.round(y - p.canvas.clientHeight / 2)]",
            *(axis, row, column),
        )

    def colour(self, axis, row, column):
        """What is drawn of a pixel."""
        return self.browser.execute_script(
            "const p = panes[arguments[0]], [x, y] = toCanvas(p, arguments[1] + 0.5, arguments[2] + 0.5), k = devicePixelRatio;"
            "const c = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });"
            "c.drawImage(p.canvas, -Math.floor(x * k), -Math.floor(y * k));"
            "return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3)",
            *(axis, row, column),
        )

    def press(self, *words):
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).send_keys(*words).perform()
        self.wait()

    def click(self, axis, row, column):
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).move_to_element_with_offset(self.canvas(axis), *self.at(axis, row, column)).click().perform()
        self.wait()

    def drag(self, axis, start, by, shift=False):
        from selenium.webdriver import ActionChains

        chain = ActionChains(self.browser, duration=20)
        if shift:
            chain.key_down(self.keys.SHIFT)
        chain.move_to_element_with_offset(self.canvas(axis), *start).click_and_hold().move_by_offset(*by).release()
        (chain.key_up(self.keys.SHIFT) if shift else chain).perform()
        self.wait()

    def wheel(self, axis, by):
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

        ActionChains(self.browser).scroll_from_origin(ScrollOrigin.from_element(self.canvas(axis)), 0, by).perform()
        self.wait()


@pytest.fixture
def viewer(browser, values, tmp_path):
    name = "a<b>&amp;.npy"
    np.save(tmp_path / name, values)
    with served(tmp_path / name) as server:
        viewer = Viewer(browser, server.url)
        yield viewer
        asked = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        assert asked and all(url.startswith((server.url, "blob:", "data:")) for url in asked)
        assert browser.get_log("browser") == []
        browser.get("about:blank")


def level(viewer, low, high):
    viewer.browser.execute_script("level(arguments[0], arguments[1])", low, high)
    viewer.wait()


def test_slices_are_moved_by_wheel_keys_and_sliders(viewer):
    """All levels are greys of their own, so a pixel tells which slice is drawn."""
    level(viewer, 0, 11)
    assert viewer.browser.title == "a<b>&amp;.npy - footprint view" and viewer.text("name") == "a<b>&amp;.npy"
    assert viewer.text("facts") == "12 × 40 × 60 float32" and "a<b>&amp;.npy" in viewer.text("about")

    def drawn(z):
        grey = round(255 * z / 11)
        assert viewer.canvas("z").get_dom_attribute("data-index") == str(z)
        assert np.ptp(viewer.colour("z", 30, 50)) == 0 and abs(viewer.colour("z", 30, 50)[0] - grey) <= 1

    drawn(6)
    viewer.wheel("z", 100)
    drawn(7)
    viewer.press(viewer.keys.ARROW_UP, viewer.keys.ARROW_RIGHT)
    drawn(9)
    viewer.press(viewer.keys.HOME, viewer.keys.ARROW_UP)
    drawn(1)
    viewer.press(viewer.keys.PAGE_UP, viewer.keys.PAGE_UP)
    drawn(11)
    assert viewer.colour("z", 1, 1) == [72, 42, 92]
    # The plane across y has a row a slice.
    assert [abs(viewer.colour("y", z, 50)[0] - round(255 * z / 11)) <= 1 for z in range(11)] == [True] * 11
    viewer.press("2", viewer.keys.HOME)
    assert viewer.canvas("y").get_dom_attribute("data-index") == "0" and viewer.colour("y", 8, 1) == [72, 42, 92]


def test_a_click_puts_the_cross_and_the_other_planes_follow(viewer):
    z, y, x = BRIGHT
    viewer.click("y", z, x + 5)
    viewer.click("z", y + 5, x + 5)
    assert viewer.text("place") == f"z {z} y {y + 5} x {x + 5}" and viewer.text("value") == "100"
    assert [viewer.canvas(axis).get_dom_attribute("data-index") for axis in "zyx"] == [str(z), str(y + 5), str(x + 5)]
    level(viewer, 0, 100)
    # Beside the cross.
    assert viewer.colour("x", y + 2, z + 0.3) == [255] * 3 and viewer.colour("x", y + 15, z + 0.3)[0] < 20
    assert viewer.colour("y", z + 0.3, x + 2) == [255] * 3


def test_levels_by_mouse_and_numbers(viewer):
    level(viewer, 0, 10)
    before = viewer.colour("z", 30, 50)[0]
    viewer.drag("z", (40, 40), (0, -60))
    low, high = viewer.number("low"), viewer.number("high")
    assert (low, high) == pytest.approx((-2, 8), abs=0.2) and viewer.colour("z", 30, 50)[0] > before + 30
    viewer.drag("z", (40, 40), (139, 0))
    assert viewer.number("high") - viewer.number("low") == pytest.approx(20, rel=0.05)
    # A slice of nothing but 6 lies in the middle.
    viewer.press("f")
    assert (viewer.number("low"), viewer.number("high")) == (3, 9)
    viewer.press(*[viewer.keys.ARROW_DOWN] * 3)
    viewer.press("f")
    assert (viewer.number("low"), viewer.number("high")) == (3, 100) and "3 to 100" in viewer.text("histogram-title")
    viewer.press("i")
    assert (viewer.number("low"), viewer.number("high")) == (100, 3) and viewer.colour("z", 30, 50) == [255] * 3
    field = viewer.browser.find_element("id", "low")
    field.send_keys(viewer.keys.CONTROL + "a", viewer.keys.NULL, "0", viewer.keys.TAB)
    viewer.wait()
    assert viewer.number("low") == 0 and viewer.text("histogram-title").endswith(", 16 not finite")


def test_a_profile_is_drawn(viewer):
    viewer.press(*[viewer.keys.ARROW_DOWN] * 3)
    start, end = (viewer.at("z", 15, x) for x in (10, 40))
    viewer.drag("z", start, (end[0] - start[0], 0), shift=True)
    found = viewer.browser.execute_script("return profile")
    values = found["values"]
    assert [min(values), max(values), values[0], values[-1]] == pytest.approx([3, 100, 3, 3])
    assert found["length"] == pytest.approx(30, abs=1) and 8 <= sum(v > 99 for v in values) <= 11
    assert viewer.text("profile-title").startswith("Profile in z = 3:") and viewer.text("profile-title").endswith("3 to 100")
    drawn = viewer.browser.execute_script(
        "const p = document.getElementById('profile');"
        "const c = new OffscreenCanvas(p.width, p.height).getContext('2d', { willReadFrequently: true });"
        "c.drawImage(p, 0, 0); const d = c.getImageData(0, 0, p.width, p.height).data;"
        "let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] > 200; return n"
    )
    red, _, blue = viewer.colour("z", 15, 14)
    assert drawn > 100 and red > blue + 60
    viewer.press(viewer.keys.ESCAPE)
    assert viewer.text("profile-title") == "Profile: draw a line with Shift and the mouse"


def test_zoom_asks_for_what_is_seen(viewer):
    viewer.press("+", "+", "+", "+")
    box = [int(n) for n in viewer.browser.execute_script("return panes.z.image.box")]
    assert box[0] > 0 and box[1] < N_Y and (box[0] + box[1]) / 2 == pytest.approx(N_Y / 2, abs=1)
    viewer.press("0")
    assert viewer.browser.execute_script("return panes.z.image.box") == [0, N_Y, 0, N_X]
    viewer.press("m")
    assert not viewer.canvas("y").is_displayed() and viewer.canvas("z").is_displayed()
    viewer.press("s")
    v = viewer.browser.execute_script("return viewOf(panes.z)")
    assert v["sx"] * N_X == pytest.approx(viewer.canvas("z").size["width"], abs=1)


@pytest.mark.parametrize(("shape", "dtype"), [((7, 9), "u1"), ((1, 4000, 3), "u2"), ((300, 1, 5), "f8"), ((1, 1), "f4")])
def test_images_and_odd_shapes(browser, tmp_path, shape, dtype):
    np.save(tmp_path / "v.npy", (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype))
    with served(tmp_path / "v.npy") as server:
        viewer = Viewer(browser, server.url)
        flat = len(shape) == 2 or shape[0] == 1
        assert viewer.canvas("z").is_displayed() and viewer.canvas("x").is_displayed() != flat
        viewer.press(viewer.keys.ARROW_UP, "a", "m", "s", "+")
        assert viewer.text("place").startswith("y" if flat else "z") and viewer.text("value") != ""
        assert browser.get_log("browser") == []
        browser.get("about:blank")
