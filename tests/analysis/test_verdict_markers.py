"""What markers alone tell: whose lifetime ended, which marker is gone, where one stands that cannot stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict_pairs import (
    ANTHROPIC,
    HOUR,
    LONG,
    MARK,
    chat,
    exchange,
    finding,
    findings,
    marked,
    messages,
    usage,
    words,
)
from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.verdicts.remedies import KEEP_WARM, MARK_HISTORY, OWN_BLOCK

OPENAI_CHAT = "https://api.openai.com/v1/chat/completions"


def system(marker: object) -> list[dict[str, Any]]:
    return [{"type": "text", "text": LONG, "cache_control": marker}]


def test_a_short_entry_behind_a_long_one_was_never_meant_to_be_long() -> None:
    """System for an hour, conversation for five minutes: the entry that is lost had five."""
    log = [
        exchange(marked(messages(words(3_000, "ask"), *more, system=system(HOUR)), -1), ANTHROPIC, started=at)
        for at, more in ((0.0, ()), (10.0, ("yes", "go on")), (910.0, ("yes", "go on", "ok", "on")))
    ]
    found = finding(*log)
    assert (found.cause, found.alongside) == ("ttl_expired", ())
    assert "an entry lives 5 min" in (found.evidence or "")


def test_a_long_entry_in_front_says_nothing_of_how_long_the_last_one_was_written() -> None:
    ask = words(3_000, "ask")
    log = [
        exchange(
            marked(messages(ask, system=system(HOUR)), -1),
            ANTHROPIC,
            usage(ANTHROPIC, 8_000, 0, 8_000, ephemeral_1h_input_tokens=5_000),
            started=0.0,
        ),
        exchange(
            marked(messages(ask, "a", "b", system=system(HOUR)), -1),
            ANTHROPIC,
            usage(ANTHROPIC, 8_010, 5_000, 3_010, ephemeral_1h_input_tokens=0),
            started=400.0,
        ),
        exchange(messages(ask, "a", "b", "c", "d", system=system(HOUR)), ANTHROPIC, started=1_000.0),
    ]
    found = findings(*log)[-1]
    assert (found.cause, [one.cause for one in found.alongside]) == ("breakpoint_missing", [])


@pytest.mark.parametrize(("marker", "longest"), [(MARK, False), (HOUR, True)])
def test_a_longer_lifetime_is_advised_where_there_is_one(marker: dict[str, str], longest: bool) -> None:
    log = [
        exchange(marked(messages(LONG, *more), -1, marker=marker), ANTHROPIC, started=at)
        for at, more in ((0.0, ()), (9_000.0, ("yes", "go on")))
    ]
    found = finding(*log)
    assert found.cause == "ttl_expired"
    assert (found.remedy == KEEP_WARM) is longest
    assert ("Ask for the longer lifetime (1h)" in (found.remedy or "")) is not longest


def test_markers_that_are_gone_from_the_conversation_are_missing_not_far() -> None:
    older = marked(messages(LONG, system=system(MARK)), -1)
    newer = messages(LONG, "yes", "go on", system=system(MARK))
    found = finding(exchange(older, ANTHROPIC), exchange(newer, ANTHROPIC))
    assert (found.cause, found.verdict) == ("breakpoint_missing", Verdict.BROKEN)
    assert "the last marker stands behind 5,000 tokens" in (found.evidence or "")
    far = marked(messages(LONG, *("yes", "go on") * 15, system=system(MARK)), -1)
    assert finding(exchange(older, ANTHROPIC), exchange(far, ANTHROPIC)).cause == "lookback_exceeded"


def test_a_conversation_that_is_never_marked_is_told_once() -> None:
    """It shows in no report of reads: what is marked is read in full each time."""
    turns, log = [words(900, "ask")], []
    for step in range(6):
        body = messages(*turns, system=system(MARK))
        whole = 5_000 + 900 * len(turns)
        read, written = (0, 5_000) if not step else (5_000, 0)
        log.append(exchange(body, ANTHROPIC, usage(ANTHROPIC, whole, read, written), started=10.0 * step))
        turns += [words(900, f"a{step}x"), words(900, f"b{step}x")]
    found = finding(*log)
    assert (found.cause, found.verdict) == ("breakpoint_missing", Verdict.BROKEN_HARMLESS)
    assert (found.request, found.remedy, found.lost_tokens_estimated) == (2, MARK_HISTORY, 0)
    assert "2,700 tokens behind it are alike" in (found.evidence or "")


def test_a_marked_block_that_goes_on_is_named_with_its_place() -> None:
    older = exchange(marked(messages(LONG), -1), ANTHROPIC, usage(ANTHROPIC, 5_000, 0, 5_000))
    longer = exchange(marked(messages(LONG + "and more"), -1), ANTHROPIC, usage(ANTHROPIC, 5_002, 0, 5_002))
    found = finding(older, longer)
    assert (found.cause, found.path, found.side) == (
        "breakpoint_on_volatile",
        "$.messages[0].content[0]",
        "parent",
    )
    assert found.remedy == OWN_BLOCK
    assert "$.messages[0].content[0]" in (found.evidence or "")


def test_too_many_markers_are_named_where_a_gateway_answers_and_keeps_nothing() -> None:
    def five(*texts: str) -> dict[str, Any]:
        return marked(messages(*texts), *range(5))

    texts = (LONG, "a", "b", "c", "d")
    for read, written, cause in ((0, 0, "too_many_markers"), (5_004, 2, None)):
        log = [
            exchange(marked(messages(*texts), -1), ANTHROPIC, usage(ANTHROPIC, 5_004, 0, 5_004), started=0.0),
            exchange(five(*texts, "e", "f"), ANTHROPIC, usage(ANTHROPIC, 5_006, read, written), started=9.0),
        ]
        assert [one.cause for one in findings(*log)] == ([cause] if cause else [])


@pytest.mark.parametrize(
    ("places", "marker", "cause"), [(range(5), MARK, "too_many_markers"), ((2,), HOUR, "ttl_order")]
)
def test_a_request_that_is_refused_for_its_markers(
    places: Iterable[int], marker: dict[str, str], cause: str
) -> None:
    first = exchange(marked(messages(LONG), 0), ANTHROPIC, usage(ANTHROPIC, 5_000, 0, 5_000), started=0.0)
    body = marked(marked(messages(LONG, "a", "b", "c", "d"), *places, marker=marker), 0)
    found = finding(first, exchange(body, ANTHROPIC, status=400, started=9.0))
    assert (found.cause, found.verdict, found.lost_tokens_estimated) == (cause, Verdict.BROKEN, 0)
    assert "the server answered 400" in (found.evidence or "")
    assert findings(first, exchange(body, ANTHROPIC, status=529, started=9.0)) == []


@pytest.mark.parametrize(("pause", "cause"), [(240.0, "provider_side"), (420.0, "ttl_expired")])
def test_between_the_lifetimes_that_sources_give_an_entry_may_have_expired(pause: float, cause: str) -> None:
    body = chat(LONG, "a", "b", "c")
    log = [
        exchange(chat(LONG, "a"), OPENAI_CHAT, usage(OPENAI_CHAT, 5_004, 0), started=0.0),
        exchange(body, OPENAI_CHAT, usage(OPENAI_CHAT, 5_010, 0), started=pause),
    ]
    found = finding(*log)
    assert found.cause == cause
    if cause == "ttl_expired":
        assert (found.verdict, found.confidence) == (Verdict.TTL_SUSPECTED, "inferred")
        assert "5 min to 10 min" in (found.evidence or "")
        assert "prompt_cache_retention: 24h" in (found.remedy or "")
    longer = chat(LONG, "a", prompt_cache_retention="24h"), body | {"prompt_cache_retention": "24h"}
    asked = (exchange(one, OPENAI_CHAT, usage(OPENAI_CHAT, 5_004, 0)) for one in longer)
    assert finding(
        *(replace(one, started=at) for one, at in zip(asked, (0.0, pause), strict=True))
    ).cause == ("provider_side")
    silent = [log[0], exchange(body, OPENAI_CHAT, started=pause)]
    assert findings(*silent) == []
