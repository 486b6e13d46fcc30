"""What a report of 5,000 requests costs to make, beside explaining them, and to scroll, beside one of 500.

Conversations of 50 requests with 20 tools, a prompt of rules and a growing history. Scrolling is 120 steps in
Chromium, half of them by three rows and half far; a frame that takes long shows as the largest.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, sync_playwright

from coldturn.analysis.breaks.explain import Explainer
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.report.model import ReportData
from coldturn.analysis.report.page import write_report
from coldturn.analysis.report.recorded import RecordedView
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges

REQUESTS = 5_000
FEW = 500
TURNS = 50
LIMIT_RATIO = 1.5
LIMIT_SCROLLING = 2.0
URL = "https://api.openai.com/v1/responses"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WORDS = ("read", "the", "file", "and", "write", "what", "you", "found", "there", "again", "please", "now")
_RULES = "\n".join(f"- rule {number}: be brief, and say what you did" for number in range(120))
_SCROLL = """async () => {
    const box = document.querySelector("#rows");
    const frames = [];
    let last = performance.now();
    for (let step = 0; step < 120; step += 1) {
        const end = box.scrollHeight - box.clientHeight;
        box.scrollTop = (box.scrollTop + (step < 60 ? 84 : 1100)) % end;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        frames.push(now - last);
        last = now;
    }
    return Math.max(...frames);
}"""


def run() -> Mapping[str, float]:
    """Measure both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many, few = (_log(folder / f"{count}.jsonl", count) for count in (REQUESTS, FEW))
        explained = _seconds(lambda: _explain(many))
        reported = _seconds(lambda: _report(many, folder / "many.html"))
        _report(few, folder / "few.html")
        size = (folder / "many.html").stat().st_size
        figures = {
            "report / explain": reported / explained,
            "report / explain_limit": LIMIT_RATIO,
            "page, bytes a request": size / REQUESTS,
        }
        return {**figures, **_looked_at(folder / "many.html", folder / "few.html")}


def _looked_at(many: Path, few: Path) -> Mapping[str, float]:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        print("  no Chromium is installed: the page was not looked at")
        return {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        of_few, of_many = _scrolled(browser, few), _scrolled(browser, many)
        browser.close()
    return {
        "first paint, ms": of_many.paint,
        "largest frame, ms": of_many.frame,
        "scrolling, work, many / few": of_many.work / of_few.work,
        "scrolling, work, many / few_limit": LIMIT_SCROLLING,
    }


@dataclass(frozen=True, slots=True)
class _Scrolled:
    """Milliseconds to the first paint and of the largest frame; seconds of script, style and layout."""

    paint: float
    frame: float
    work: float


def _scrolled(browser: Browser, path: Path) -> _Scrolled:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("#rows [role=option]")
    paint: float = page.evaluate("performance.getEntriesByType('paint')[0].startTime")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    frames, works = [], []
    for _ in range(3):
        before = _worked(session)
        frames.append(page.evaluate(_SCROLL))
        works.append(_worked(session) - before)
    page.close()
    return _Scrolled(paint, min(frames), min(works))


def _worked(session: CDPSession) -> float:
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["ScriptDuration"] + metrics["LayoutDuration"] + metrics["RecalcStyleDuration"])


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _explain(log: Path) -> None:
    explainer = Explainer(PairOptions(), RequestEstimator())
    _feed(log, explainer.add)


def _report(log: Path, page: Path) -> None:
    data = ReportData()
    view = RecordedView(data, PairOptions())
    _feed(log, view.add)
    view.close()
    write_report(data, page, log.name)


def _feed(log: Path, add: Callable[[Exchange | EntryError], object]) -> None:
    for item in read_exchanges(log):
        add(item)


def _log(path: Path, count: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for line in _lines(count):
            file.write(json.dumps(line) + "\n")
    return path


def _lines(count: int) -> Iterator[Mapping[str, Any]]:
    chance = random.Random(7)  # noqa: S311 - a shape, not a secret
    tools = [_tool(f"tool_{number}") for number in range(22)]
    history: list[Mapping[str, Any]] = []
    minute = 0
    for number in range(count):
        conversation, turn = divmod(number, TURNS)
        if turn == 0:
            history, minute = [], 0
        words = " ".join(chance.choices(_WORDS, k=chance.randrange(20, 200)))
        history.append({"role": "user", "content": f"{conversation}.{turn} {words}"})
        minute += chance.random() < 0.1
        body = {
            "model": "gpt-5.5",
            "instructions": f"Agent {conversation}, 10:{minute:02d}\n\n## Rules\n\n{_RULES}\n",
            "tools": tools[: 20 + (turn > 30) * 2],
            "input": list(history),
        }
        yield {"url": URL, "request": body, "response": None, "started": 1_790_000_000 + number * 5}


def _tool(name: str) -> Mapping[str, Any]:
    properties = {f"field_{at}": {"type": "string", "description": "what it is for"} for at in range(6)}
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": properties}}


if __name__ == "__main__":
    for key, value in run().items():
        print(f"{key:<32} {value:,.2f}")
