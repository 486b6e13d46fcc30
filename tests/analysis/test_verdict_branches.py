"""Branches: what stands in front of the place where two requests part should be read, and reports tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    LONG,
    MARK,
    OPENROUTER,
    chat,
    exchange,
    finding,
    findings,
    messages,
    usage,
    words,
)
from coldturn.analysis.breaks.findings import Verdict
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import Exchange

ASKED = ["Which tyres fit?", "How loud is that bell?", "Do lamps come with cells?", "Where are racks?"]


def on_messages(question: str, **more: object) -> dict[str, Any]:
    """The system text and the question marked."""
    body = messages(question, **more)
    body["messages"][0]["content"][0]["cache_control"] = MARK
    return {"system": [{"type": "text", "text": LONG, "cache_control": MARK}], **body}


def on_chat(question: str, **more: object) -> dict[str, Any]:
    return chat(LONG, question, **more)


SURFACES: list[tuple[str, Callable[..., dict[str, Any]], int, float]] = [
    (ANTHROPIC, on_messages, 5_000, 300.0),
    (CHAT, on_chat, 4_992, 600.0),
]
PARAMETERS = pytest.mark.parametrize(("url", "make", "left", "ttl"), SURFACES, ids=["messages", "chat"])


def ask(
    url: str,
    make: Callable[..., dict[str, Any]],
    at: int,
    read: int | None,
    started: float | None = None,
    answered: float | None = None,
) -> Exchange:
    told = None if read is None else usage(url, 5_015, read, 5_000 - read if url == ANTHROPIC else 0)
    return exchange(make(ASKED[at]), url, told, started=started, answered=answered)


@PARAMETERS
def test_a_new_conversation_that_reads_nothing_of_what_it_shares_is_told(
    url: str, make: Callable[..., dict[str, Any]], left: int, ttl: float
) -> None:
    found = finding(ask(url, make, 0, 0, 0.0), ask(url, make, 1, 0, ttl / 3))
    assert (found.cause, found.verdict) == ("provider_side", Verdict.PROVIDER_SIDE_SUSPECTED)
    assert (found.zone, found.segment, found.path) == (Zone.NONE, None, None)
    assert (found.readable_estimated, found.lost_tokens_estimated) == (left, left)
    assert (found.kinds, found.offset) == (("new_conversation",), len(LONG))
    assert [one.cause for one in found.alongside] == ["history_rewritten"]
    assert found.cost_amount_estimated


@PARAMETERS
def test_one_that_reads_it_or_says_nothing_is_harmless(
    url: str, make: Callable[..., dict[str, Any]], left: int, ttl: float
) -> None:
    for read in (left, left - 200, None):
        found = finding(ask(url, make, 0, 0, 0.0), ask(url, make, 1, read, ttl + 10))
        assert (found.cause, found.verdict) == ("history_rewritten", Verdict.BROKEN_HARMLESS)


@PARAMETERS
def test_one_that_comes_too_late_says_so(
    url: str, make: Callable[..., dict[str, Any]], left: int, ttl: float
) -> None:
    late = ask(url, make, 1, 0, ttl + 10)
    found = finding(ask(url, make, 0, 0, 0.0), late)
    assert (found.cause, found.verdict, found.read_estimated) == ("ttl_expired", Verdict.TTL_SUSPECTED, 0)
    assert found.lost_tokens_estimated == left
    between = ask(url, make, 2, left, ttl - 10)
    assert [one.cause for one in findings(ask(url, make, 0, 0, 0.0), between, late)][1] == "provider_side"


@PARAMETERS
def test_those_that_are_sent_at_once_pay_each(
    url: str, make: Callable[..., dict[str, Any]], left: int, ttl: float
) -> None:
    first = ask(url, make, 0, 0, 0.0, 3.0)
    found = finding(first, ask(url, make, 1, 0, 1.0, 4.0))
    assert (found.cause, found.verdict, found.lost_tokens_estimated) == (
        "concurrent_cold",
        Verdict.BROKEN_HARMLESS,
        0,
    )
    assert f"{left:,} tokens could not be read yet (estimated)" in (found.evidence or "")
    # The second is not answered yet, and the first is: there was something to read.
    third = ask(url, make, 2, 0, 3.5, 6.0)
    assert findings(first, ask(url, make, 1, 0, 1.0, 4.0), third)[1].cause == "provider_side"


def test_a_small_miss_without_a_reason_is_not_told() -> None:
    short = words(1_500)
    logs = [exchange(chat(short, one), CHAT, usage(CHAT, 1_515, 0)) for one in ASKED[:2]]
    assert finding(*logs).cause == "history_rewritten"


def test_another_model_or_setting_has_its_own_cache() -> None:
    first = ask(CHAT, on_chat, 0, 0, 0.0)
    for more in ({"model": "gpt-5.1"}, {"reasoning_effort": "high"}):
        other = exchange(on_chat(ASKED[1], **more), CHAT, usage(CHAT, 5_015, 0), started=10.0)
        assert finding(first, other).verdict is Verdict.BROKEN_HARMLESS


def test_a_setting_that_takes_the_marked_part_leaves_nothing_to_say() -> None:
    first = ask(ANTHROPIC, on_messages, 0, 0, 0.0)
    fast = exchange(on_messages(ASKED[1], speed="fast"), ANTHROPIC, usage(ANTHROPIC, 5_015, 0), started=10.0)
    assert finding(first, fast).cause == "history_rewritten"


def test_another_upstream_explains_it() -> None:
    def sent(at: int, read: int, upstream: str) -> Exchange:
        body = exchange(on_chat(ASKED[at], model="openai/gpt-5.4"), OPENROUTER, usage(CHAT, 5_015, read))
        answer = body.response_body or b""
        return replace(body, response_body=b'{"provider":"%s",%s' % (upstream.encode(), answer[1:]))

    found = finding(sent(0, 0, "A"), sent(1, 0, "B"), rules="openai-gpt-5.4")
    assert found.cause == "routing"
    assert found.verdict is Verdict.PROVIDER_SIDE_SUSPECTED


def test_markers_that_all_stand_behind_the_place_are_told() -> None:
    """Each request writes an entry that nobody can read."""

    def sent(at: int, read: int = 0) -> Exchange:
        body = messages(ASKED[at])
        body["messages"][0]["content"][0]["cache_control"] = MARK
        told = usage(ANTHROPIC, 5_015, read, 5_015)
        return exchange({"system": [{"type": "text", "text": LONG}], **body}, ANTHROPIC, told)

    found = finding(sent(0), sent(1))
    assert (found.cause, found.verdict) == ("breakpoint_on_volatile", Verdict.BROKEN_HARMLESS)
    assert "tokens in front of it are alike (estimated)" in (found.evidence or "")
    assert found.lost_tokens_estimated == 0
