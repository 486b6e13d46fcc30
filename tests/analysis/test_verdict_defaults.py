"""Settings that say what leaving them out says too: nothing changed."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdict_pairs import CHAT, LONG, chat, exchange, finding, findings
from coldturn.analysis.breaks.findings import Verdict


def pair(model: str, was: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    """Causes of a request that adds to another with these settings."""
    first = exchange(chat(LONG, "a", model=model, **was), CHAT)
    return tuple(
        one.cause for one in findings(first, exchange(chat(LONG, "a", "b", "c", model=model, **now), CHAT))
    )


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        *(("gpt-5", "medium"), ("gpt-5-mini", "medium"), ("gpt-5-2025-08-07", "medium"), ("o3", "medium")),
        *(("gpt-5.1", "none"), ("gpt-5.2-2025-12-11", "none")),
    ],
)
def test_the_usual_effort_may_be_named(model: str, effort: str) -> None:
    assert pair(model, {}, {"reasoning_effort": effort}) == ()
    assert pair(model, {"reasoning_effort": effort}, {}) == ()
    assert pair(model, {}, {"reasoning_effort": "high"}) == ("effort_changed",)


@pytest.mark.parametrize(
    ("model", "effort"), [("gpt-5.1", "medium"), ("gpt-5.4", "medium"), ("gpt-5", "none")]
)
def test_where_no_usual_effort_is_documented_naming_one_changes_it(model: str, effort: str) -> None:
    assert pair(model, {}, {"reasoning_effort": effort}) == ("effort_changed",)


def image(detail: str | None) -> dict[str, Any]:
    """A long prompt with an image in it, and with more behind it."""
    url = {"url": "https://pictures.example/a.png", **({} if detail is None else {"detail": detail})}
    body = chat(LONG, "a", "b", "c")
    body["messages"][1]["content"] = [
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": url},
    ]
    return body


def test_the_usual_detail_of_an_image_may_be_named() -> None:
    found = finding(exchange(image(None), CHAT), exchange(image("auto"), CHAT))
    assert (found.cause, found.verdict) == ("image_detail_changed", Verdict.BROKEN_HARMLESS)
    assert (found.lost_tokens_estimated, found.evidence) == (0, "to leave the detail out says auto as well")
    changed = finding(exchange(image(None), CHAT), exchange(image("high"), CHAT))
    assert (changed.cause, changed.verdict) == ("image_detail_changed", Verdict.BROKEN)
