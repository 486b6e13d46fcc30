"""Causes without a changed text: size, markers, times, and who served. Each with its near misses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    HOUR,
    LONG,
    OPENAI,
    OPENROUTER,
    SURFACES,
    VERTEX,
    chat,
    exchange,
    finding,
    findings,
    marked,
    messages,
    reported,
    responses,
    usage,
    words,
)
from coldturn.analysis.breaks.findings import Verdict
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.exchange import Exchange

LETTERS = "bcdefghijklmnopqrstuvwxyz"


def test_below_minimum() -> None:
    """pydantic/pydantic-ai#3453: 971 tokens where 1,024 are the least."""
    was, now = marked(messages(words(971)), 0), marked(messages(words(971), "yes", "go on"), 0)
    found = finding(exchange(was, ANTHROPIC), exchange(now, ANTHROPIC))
    assert (found.cause, found.zone, found.verdict) == ("below_minimum", Zone.NONE, Verdict.BROKEN_HARMLESS)
    assert "971" in (found.evidence or "")
    assert (found.path, found.segment, found.lost_tokens_estimated) == (None, None, 0)
    was, now = marked(messages(words(1_030)), 0), marked(messages(words(1_030), "yes", "go on"), 0)
    assert findings(exchange(was, ANTHROPIC), exchange(now, ANTHROPIC)) == []


def test_below_minimum_without_markers_needs_a_report_and_to_be_near() -> None:
    texts = words(800), words(171)
    was = exchange(responses(*texts), OPENAI, usage(OPENAI, 971, 0))
    now = exchange(responses(*texts, "yes", "go on"), OPENAI, usage(OPENAI, 980, 0))
    assert finding(was, now).cause == "below_minimum"
    assert finding(was, now).confidence == "observed"
    assert findings(was, exchange(responses(*texts, "yes", "go on"), OPENAI)) == []
    small = [exchange(responses("hello", *more), OPENAI, usage(OPENAI, 9, 0)) for more in ((), ("a", "b"))]
    assert findings(*small) == []


def test_below_block_floor() -> None:
    """vllm-project/vllm#54608: 240 tokens where a block has 784."""
    pair = [exchange(chat(words(240), *more), CHAT) for more in (("a",), ("a", "b", "c"))]
    found = finding(*pair, rules="vllm", granularity="784")
    assert (found.cause, found.verdict, found.rules) == (
        "below_block_floor",
        Verdict.BROKEN_HARMLESS,
        "vllm",
    )
    assert findings(*pair, rules="vllm", granularity="16") == []


def test_breakpoint_missing() -> None:
    """decolua/9router#2970: markers deleted."""
    was = exchange(marked(messages(LONG, "yes", "go on"), 2), ANTHROPIC)
    found = finding(was, exchange(messages(LONG, "yes", "go on", "ok", "more"), ANTHROPIC))
    assert (found.cause, found.verdict) == ("breakpoint_missing", Verdict.BROKEN)
    assert found.lost_tokens_estimated == found.readable_estimated


def test_a_conversation_that_never_marks_is_told_without_being_broken() -> None:
    pair = [exchange(messages(LONG, *more), ANTHROPIC) for more in ((), ("yes", "go on"))]
    assert (finding(*pair).cause, finding(*pair).verdict) == ("breakpoint_missing", Verdict.BROKEN_HARMLESS)
    short = [exchange(messages(words(500), *more), ANTHROPIC) for more in ((), ("yes", "go on"))]
    assert findings(*short) == []


def test_a_marker_that_moves_with_every_turn_is_nothing() -> None:
    log = [
        exchange(marked(messages(*(LONG, *LETTERS)[:count]), -1), ANTHROPIC, started=float(count))
        for count in range(1, 12, 2)
    ]
    report = reported(*log)
    assert report.breaks == []
    assert report.lineages[0].verdicts == {Verdict.COLD_START: 1, Verdict.INTACT: 5}


def test_breakpoint_on_volatile() -> None:
    reminder = "<system-reminder>Keep at it.</system-reminder>"
    body = marked(messages(LONG, "yes", "go on"), -1)
    body["messages"][-1]["content"].append(
        {"type": "text", "text": reminder, "cache_control": {"type": "ephemeral"}}
    )
    del body["messages"][-1]["content"][0]["cache_control"]
    later = marked(messages(LONG, "yes", "go on", "ok", "more"), -1)
    found = finding(exchange(body, ANTHROPIC), exchange(later, ANTHROPIC))
    assert (found.cause, found.verdict) == ("breakpoint_on_volatile", Verdict.BROKEN)
    assert [one.cause for one in found.alongside] == ["transient_tail_removed"]


@pytest.mark.parametrize(("steps", "broken"), [(18, False), (20, True)])
def test_lookback_exceeded(steps: int, broken: bool) -> None:
    """A marker looks at 20 positions, itself the first."""
    was = exchange(marked(messages(LONG), 0), ANTHROPIC)
    now = exchange(marked(messages(LONG, *LETTERS[:steps]), -1), ANTHROPIC)
    assert [found.cause for found in findings(was, now)] == (["lookback_exceeded"] if broken else [])


def test_lookback_of_openai() -> None:
    rounds = [text for letter in LETTERS for text in (letter, f"and {letter}")]
    was = exchange(responses(LONG, LONG, model="gpt-5.6"), OPENAI)
    near = exchange(responses(LONG, LONG, *rounds[:38], model="gpt-5.6"), OPENAI)
    far = exchange(responses(LONG, LONG, *rounds[:44], model="gpt-5.6"), OPENAI)
    assert findings(was, near) == []
    assert finding(was, far).cause == "lookback_exceeded"


def test_too_many_markers() -> None:
    texts = (LONG, *LETTERS[:8])
    was = exchange(marked(messages(*texts), 0, 2), ANTHROPIC)
    found = finding(was, exchange(marked(messages(*texts), 0, 1, 2, 3, 4), ANTHROPIC))
    assert (found.cause, found.verdict) == ("too_many_markers", Verdict.BROKEN)
    assert "5 markers" in (found.evidence or "")
    assert findings(was, exchange(marked(messages(*texts), 0, 1, 2, 3), ANTHROPIC)) == []


def test_ttl_order() -> None:
    """headroomlabs-ai/headroom#2939: a marker of an hour behind one of five minutes."""
    was = exchange(marked(messages(LONG, "yes", "go on"), 0, 2), ANTHROPIC)
    body = marked(marked(messages(LONG, "yes", "go on", "ok", "more"), 0), 2, marker=HOUR)
    assert finding(was, exchange(body, ANTHROPIC)).cause == "ttl_order"
    answered = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_010, 5_000, 10))
    assert findings(was, answered) == []


def test_envelope_order() -> None:
    was = exchange(marked(messages(LONG), 0), VERTEX)
    body = marked(messages(LONG, "yes", "go on"), 2)
    turned = dict(reversed(body.items()))
    found = finding(was, exchange(turned, VERTEX))
    assert (found.cause, found.verdict) == ("envelope_order", Verdict.BROKEN)
    assert findings(was, exchange(body, VERTEX)) == []
    assert findings(exchange(marked(messages(LONG), 0), ANTHROPIC), exchange(turned, ANTHROPIC)) == []
    assert findings(was, exchange({**body, "temperature": 0.5}, VERTEX)) == []


@pytest.mark.parametrize(("gap", "expired"), [(299.0, False), (360.0, True)])
def test_ttl_expired(gap: float, expired: bool) -> None:
    """anthropics/claude-code#84289: six minutes at a lifetime of five."""
    was = exchange(marked(messages(LONG), 0), ANTHROPIC, started=1_000.0)
    now = exchange(marked(messages(LONG, "yes", "go on"), 2), ANTHROPIC, started=1_000.0 + gap)
    found = findings(was, now)
    assert [(one.cause, one.verdict) for one in found] == [("ttl_expired", Verdict.TTL_SUSPECTED)] * expired
    if expired:
        assert "6 min" in (found[0].evidence or "")
        assert (found[0].read_estimated, found[0].lost_tokens_estimated) == (0, 5_000)


@pytest.mark.parametrize(("url", "make"), SURFACES)
def test_without_times_nothing_is_said_of_lifetimes(url: str, make: object) -> None:
    assert callable(make)
    assert findings(exchange(make(LONG, "yes"), url), exchange(make(LONG, "yes", "ok", "more"), url)) == []


def test_a_report_decides_whether_an_entry_had_expired() -> None:
    was = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=0.0)
    body = responses(LONG, "a", "b", "c")
    hit = exchange(body, OPENAI, usage(OPENAI, 5_010, 4_992), started=1_000.0)
    missed = exchange(body, OPENAI, usage(OPENAI, 5_010, 0), started=1_000.0)
    assert findings(was, hit) == []
    assert finding(was, missed).cause == "ttl_expired"


def test_a_use_in_between_keeps_an_entry() -> None:
    log = [
        exchange(marked(messages(LONG, *LETTERS[: 2 * index]), -1), ANTHROPIC, started=200.0 * index)
        for index in range(4)
    ]
    assert findings(*log) == []
    fork = exchange(marked(messages(LONG, "another", "way"), -1), ANTHROPIC, started=790.0)
    assert "ttl_expired" not in [found.cause for found in findings(*log, fork)]


def test_ttl_downgraded() -> None:
    """An hour was asked for; the provider wrote for five minutes, or a later request asked for less."""
    hour = marked(messages(LONG), 0, marker=HOUR)
    now = marked(messages(LONG, "yes", "go on"), 2, marker=HOUR)
    short = usage(ANTHROPIC, 5_001, 0, 5_000, ephemeral_5m_input_tokens=5_000, ephemeral_1h_input_tokens=0)
    granted = usage(ANTHROPIC, 5_001, 0, 5_000, ephemeral_5m_input_tokens=0, ephemeral_1h_input_tokens=5_000)
    missed = exchange(now, ANTHROPIC, usage(ANTHROPIC, 5_010, 0, 5_009), started=600.0)
    assert finding(exchange(hour, ANTHROPIC, short, started=0.0), missed).cause == "ttl_downgraded"
    assert finding(exchange(hour, ANTHROPIC, granted, started=0.0), missed).cause == "provider_side"
    log = [
        exchange(hour, ANTHROPIC, started=0.0),
        exchange(marked(messages(LONG, "yes", "go on"), 2), ANTHROPIC, started=10.0),
        exchange(marked(messages(LONG, "yes", "go on", "ok", "more"), 4), ANTHROPIC, started=600.0),
    ]
    found = finding(*log)
    assert found.cause == "ttl_downgraded"
    assert [one.cause for one in found.alongside] == ["ttl_expired"]


@pytest.mark.parametrize(("url", "make"), SURFACES)
def test_concurrent_cold(url: str, make: object) -> None:
    assert callable(make)
    first = exchange(make(LONG, "a"), url, usage(url, 5_001, 0, 5_000), started=10.0, answered=12.0)
    early = exchange(make(LONG, "a"), url, usage(url, 5_001, 0, 5_000), started=11.0, answered=13.0)
    late = exchange(make(LONG, "a"), url, usage(url, 5_001, 4_992), started=12.5, answered=13.0)
    found = finding(first, early)
    assert (found.cause, found.verdict) == ("concurrent_cold", Verdict.BROKEN_HARMLESS)
    assert findings(first, late) == []


def test_routing() -> None:
    def served(by: str, read: int, started: float, *more: str) -> Exchange:
        one = exchange(
            chat(LONG, "a", *more, model="openai/gpt-5.4"),
            OPENROUTER,
            usage(CHAT, 5_001, read),
            started=started,
        )
        assert one.response_body is not None
        return replace(
            one, response_body=one.response_body.replace(b"{", b'{"provider": "%b", ' % by.encode(), 1)
        )

    found = finding(served("Azure", 0, 0.0), served("OpenAI", 0, 9.0, "b", "c"))
    assert (found.cause, found.verdict) == ("routing", Verdict.PROVIDER_SIDE_SUSPECTED)
    assert "OpenAI" in (found.evidence or "")
    assert finding(served("Azure", 0, 0.0), served("Azure", 0, 9.0, "b", "c")).cause == "provider_side"
    assert findings(served("Azure", 0, 0.0), served("OpenAI", 4_992, 9.0, "b", "c")) == []


@pytest.mark.parametrize(("read", "cause"), [(0, "engine_no_checkpoint"), (2_000, "template_history_drift")])
def test_engines(read: int, cause: str) -> None:
    was = exchange(chat(LONG, "a"), CHAT, usage(CHAT, 5_001, 0))
    now = exchange(chat(LONG, "a", "b", "c"), CHAT, usage(CHAT, 5_010, read))
    found = finding(was, now, rules="llama.cpp")
    assert (found.cause, found.verdict) == (cause, Verdict.PROVIDER_SIDE_SUSPECTED)


def test_a_server_that_drops_thinking_is_the_template() -> None:
    def body(*more: str) -> dict[str, object]:
        made = marked(messages(LONG, "answer", "go on", *more, model="claude-sonnet-4-5"), -1)
        made["messages"][1]["content"].insert(0, {"type": "thinking", "thinking": LONG, "signature": "x"})
        return made

    # Within one turn the thinking counts, so the first request ends with a tool's result.
    first = body()
    first["messages"][1]["content"].append({"type": "tool_use", "id": "t", "name": "n", "input": {}})  # type: ignore[index]
    first["messages"][2]["content"] = [  # type: ignore[index]
        {"type": "tool_result", "tool_use_id": "t", "content": "done", "cache_control": {"type": "ephemeral"}}
    ]
    second = {**first, "messages": [*first["messages"], *messages("x", "next", "and now?")["messages"][1:]]}  # type: ignore[misc]
    second = marked(second, -1)
    found = finding(exchange(first, ANTHROPIC), exchange(second, ANTHROPIC))
    assert found.cause == "template_history_drift"
    kept = {**first, "model": "claude-opus-5"}, {**second, "model": "claude-opus-5"}
    assert findings(*(exchange(one, ANTHROPIC) for one in kept)) == []


def test_provider_side_is_the_last_resort() -> None:
    was = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=0.0)
    body = responses(LONG, "a", "b", "c")
    found = finding(was, exchange(body, OPENAI, usage(OPENAI, 5_010, 0), started=10.0))
    assert (found.cause, found.verdict) == ("provider_side", Verdict.PROVIDER_SIDE_SUSPECTED)
    assert (found.read_reported, found.readable_estimated) == (0, 4_992)
    untimed = replace(was, started=None)
    unknown = finding(untimed, exchange(body, OPENAI, usage(OPENAI, 5_010, 0)))
    assert (unknown.cause, unknown.confidence) == ("unknown", "unknown")
    assert unknown.verdict is Verdict.PROVIDER_SIDE_SUSPECTED
    assert "times" in (unknown.evidence or "")


@pytest.mark.parametrize(("read", "told"), [(4_992, False), (3_200, False), (2_944, True), (0, True)])
def test_a_miss_has_to_be_large_to_be_told(read: int, told: bool) -> None:
    was = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=0.0)
    now = exchange(responses(LONG, "a", "b", "c"), OPENAI, usage(OPENAI, 5_010, read), started=10.0)
    assert bool(findings(was, now)) is told


def test_parts_that_were_not_recorded_make_a_miss_unknown() -> None:
    was = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=0.0)
    now = exchange(responses(LONG, "a", "b", "c"), OPENAI, usage(OPENAI, 5_010, 0), started=10.0)
    found = finding(was, replace(now, parts_missing=frozenset({Zone.TOOLS, Zone.SYSTEM})))
    assert (found.cause, found.verdict) == ("unknown", Verdict.UNKNOWN)
    assert "does not hold system and tools" in (found.evidence or "")


def test_a_refused_request_wrote_nothing() -> None:
    was = exchange(marked(messages(LONG), 0), ANTHROPIC, status=529, started=0.0)
    now = exchange(marked(messages(LONG), 0), ANTHROPIC, usage(ANTHROPIC, 5_001, 0, 5_000), started=5.0)
    assert findings(was, now) == []
    early = exchange(marked(messages(LONG), 0), ANTHROPIC, started=0.0)
    refused = exchange(marked(messages(LONG, "yes", "go on"), 2), ANTHROPIC, status=529, started=290.0)
    again = exchange(marked(messages(LONG, "yes", "go on"), 2), ANTHROPIC, started=310.0)
    late = exchange(marked(messages(LONG, "another", "way"), 2), ANTHROPIC, started=320.0)
    assert [found.cause for found in findings(early, refused, late)] == ["ttl_expired"]
    assert [(one.request, one.parent) for one in findings(early, refused, again)] == [(2, 0)]
    assert findings(early, refused, replace(again, started=295.0)) == []


def test_a_conversation_that_goes_on_by_reference_is_measured_by_its_reports() -> None:
    first = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=0.0, response_id="r1")
    body = {**responses(LONG, "b"), "previous_response_id": "r1"}
    hit = exchange(body, OPENAI, usage(OPENAI, 5_020, 4_992), started=9.0, response_id="r2")
    missed = exchange(body, OPENAI, usage(OPENAI, 5_020, 0), started=9.0, response_id="r2")
    last = {**responses(LONG, "c"), "previous_response_id": "r2"}
    assert findings(first, hit) == []
    assert finding(first, missed).cause == "provider_side"
    again = exchange(last, OPENAI, usage(OPENAI, 5_040, 0), started=20.0)
    assert finding(first, hit, again).request == 2


def test_a_transcript_without_markers_is_not_blamed_for_them() -> None:
    """What kept the messages alone does not say where markers stood."""
    bodies = messages(LONG), messages(LONG, "yes", "go on")
    reports = usage(ANTHROPIC, 5_001, 0, 5_000), usage(ANTHROPIC, 5_010, 0, 5_009)
    kept = [
        replace(exchange(body, ANTHROPIC, told, started=9.0 * at), fidelity=Fidelity.MESSAGES)
        for at, (body, told) in enumerate(zip(bodies, reports, strict=True))
    ]
    assert finding(*kept).cause == "provider_side"
    assert "marker" not in (finding(*kept).evidence or "")
