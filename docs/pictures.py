"""Pictures of reports for these pages, made from the demo's recording with the system's Chromium.

Run it as ``make pictures``; it needs Chromium (Debian: ``apt-get install chromium``).
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from coldturn.analysis.report.page import write_report
from coldturn.replay.runs.demo import replay_demo
from coldturn.replay.runs.page import page_data
from coldturn.replay.runs.results import ReplayReport

IMAGES = Path(__file__).resolve().parent / "images"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COLOURS = 256
AFTER = 2
"""Place of the demo's policy whose breaks say most: discovered tools are listed behind the history."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of the page.

    Attributes:
        width: Of the window, in CSS pixels, as is `height`.
        fragment: What the address says behind the file.
        before: What is done on the page first.
    """

    width: int
    height: int
    fragment: str
    before: Callable[[Page], object] = lambda page: None
    scheme: Literal["light", "dark"] = "light"


def _to(selector: str) -> Callable[[Page], object]:
    return lambda page: page.evaluate(
        "(selector) => document.querySelector(selector).scrollIntoView({ behavior: 'instant' })", selector
    )


PICTURES: Mapping[str, Picture] = {
    "report-overview": Picture(1280, 830, f"#view={AFTER}", _to("body")),
    "report-map": Picture(1280, 830, f"#view={AFTER}&row=13", _to("#map")),
    "report-dark": Picture(1280, 830, "#view=0&row=3", _to("#map"), "dark"),
    "report-policies": Picture(1280, 420, "#view=0", _to("#policies")),
    "report-phone": Picture(360, 740, f"#view={AFTER}&row=13", _to("#map")),
}
"""Name of the file without its ending -> what it shows."""


def take(browser: Browser, page_file: Path, picture: Picture) -> bytes:
    """A picture as a small PNG."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{page_file.as_uri()}{picture.fragment}")
    picture.before(page)
    page.wait_for_function("() => document.querySelectorAll('#rows [role=option]').length > 0")
    shot = Image.open(io.BytesIO(page.screenshot()))
    context.close()
    small = io.BytesIO()
    plain = shot.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    plain.save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> None:
    """Write every picture."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        sys.exit("pictures: no Chromium is installed; on Debian: apt-get install chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(page_data(ReplayReport([replay_demo(Path(folder))])), page, "demo.jsonl")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=found,
                args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            )
            for name, picture in PICTURES.items():
                content = take(browser, page, picture)
                (IMAGES / f"{name}.png").write_bytes(content)
                sys.stdout.write(f"docs/images/{name}.png: {len(content):,} bytes\n")
            browser.close()


if __name__ == "__main__":
    main()
