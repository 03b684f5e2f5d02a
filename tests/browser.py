"""A real headless Chromium for pages that the program writes or serves; tests skip with a reason where there is none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Chromium asks its maker's hosts for updates at every start: nothing here is to leave the machine.
_QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic", "--no-first-run")


@contextmanager
def chromium(width: int = 1200, height: int = 900) -> Iterator[Any]:
    """A selenium driver of an empty profile, whose console is kept (``driver.get_log("browser")``)."""
    program, driver = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("no chromium and chromedriver on the PATH")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for word in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            *_QUIET,
            f"--user-data-dir={profile}",
        ):
            options.add_argument(word)
        options.add_argument(f"--window-size={width},{height}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            yield page
        finally:
            page.quit()
