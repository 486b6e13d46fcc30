"""A headless Chromium, and pages that it has open with everything that went wrong on them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.report.model import ReportData
from coldturn.analysis.report.page import write_report
from coldturn.analysis.report.recorded import RecordedView
from coldturn.traces.readers import read_exchanges
from report.report_inputs import conversation, hostile, written

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

Scheme: TypeAlias = Literal["light", "dark"]
ROWS = "#rows [role=option]"
"""Rows that are elements."""

OpenPage: TypeAlias = Callable[..., Page]
"""Opens a file in a window; the test fails when the page complained."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium of the system, for one module: while it is there, its thread can run no event loop of ours."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        reason = (
            "no Chromium is installed (Debian: apt-get install chromium), which these tests look at pages in"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages, and checks at the end that none had an error, broke its policy or asked for anything."""
    troubles: list[str] = []
    contexts = []

    def open_page(
        path: Path,
        width: int = 1280,
        height: int = 900,
        *,
        fragment: str = "",
        scheme: Scheme = "light",
        motion: Literal["reduce", "no-preference"] = "no-preference",
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion=motion
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: troubles.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda asked: _note_request(troubles, asked.url))
        page.add_init_script(_WATCH)
        page.goto(f"{path.as_uri()}{fragment}")
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            troubles += page.evaluate("window.violations")
        context.close()
    assert troubles == []


_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (seen) => violations.push(seen.violatedDirective));
"""


def _note_request(troubles: list[str], url: str) -> None:
    if not url.startswith(("file:", "data:")):
        troubles.append(f"request: {url}")


def write_page(path: Path, *logs: Path, title: str = "a log") -> Path:
    """Make the report of one or several logs."""
    data = ReportData()
    view = RecordedView(data, PairOptions())
    for log in logs:
        for item in read_exchanges(log):
            view.add(item)
    view.close()
    write_report(data, path, title)
    return path


@pytest.fixture(scope="session")
def small_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of five requests with two breaks and a server."""
    folder = tmp_path_factory.mktemp("small")
    return write_page(folder / "small.html", written(folder / "log.jsonl", conversation()))


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose every text is an attack, and whose input has a line that cannot be read."""
    folder = tmp_path_factory.mktemp("hostile")
    log = written(folder / "log.jsonl", hostile())
    with log.open("a", encoding="utf-8") as file:
        file.write('{"<img src=x>": </script>\n')
    return write_page(folder / "hostile.html", log)


def row(place: int) -> str:
    """Selects a row by its place in the view."""
    return f"#row-{place}"


def chosen(page: Page) -> str:
    """The heading of the chosen request."""
    return page.inner_text("#detail h3")
