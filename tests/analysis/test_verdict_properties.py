"""What holds of every verdict, whatever was recorded."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    HOUR,
    LONG,
    MARK,
    OPENAI,
    chat,
    exchange,
    messages,
    responses,
    usage,
)
from coldturn.analysis.breaks.explain import Compared, Explainer
from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.verdicts.handoff import API, PROVIDER
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.exchange import Exchange

TEXTS = (LONG, "yes", "go on", "another way " * 40, "<system-reminder>x</system-reminder>")
SETTINGS: tuple[dict[str, object], ...] = (
    {},
    {"tool_choice": "none"},
    {"service_tier": "flex"},
    {"thinking": {"a": 1}},
)
OF_TEXT = {Zone.TOOLS, Zone.SYSTEM, Zone.TAIL, Zone.HISTORY, Zone.TRANSIENT}


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    url = draw(st.sampled_from((ANTHROPIC, OPENAI, CHAT, "")))
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6))
    more = draw(st.sampled_from(SETTINGS))
    model = draw(
        st.sampled_from(("gpt-5.4", "gpt-5.5", "gpt-5.6", "claude-sonnet-4-5", "claude-opus-5", "mine"))
    )
    make = {ANTHROPIC: messages, OPENAI: responses}.get(url, chat)
    body = json.loads(json.dumps(make(*texts, model=model, **more)))
    if make is messages:
        for turn in body["messages"]:
            marker = draw(st.sampled_from((None, None, MARK, HOUR)))
            if marker is not None:
                turn["content"][-1]["cache_control"] = marker
    whole = draw(st.integers(0, 40_000))
    told = usage(url or CHAT, whole, draw(st.integers(0, whole))) if draw(st.booleans()) else None
    started = draw(st.none() | st.floats(0, 9_000))
    one = exchange(body, url or CHAT, told, started=started, status=draw(st.sampled_from((None, 200, 529))))
    answered = None if started is None else draw(st.none() | st.floats(started, started + 60))
    return replace(
        one,
        url=url,
        answered=answered,
        fidelity=draw(st.sampled_from((Fidelity.WIRE, Fidelity.CANONICAL, Fidelity.MESSAGES))),
        parts_missing=draw(st.sampled_from((frozenset(), frozenset({Zone.TOOLS})))),
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(exchanges(), min_size=2, max_size=6))
def test_verdicts_are_consistent(log: list[Exchange]) -> None:
    paid: dict[int, int] = {}

    def count(seen: Compared) -> None:
        told = seen.reply.usage if seen.reply is not None else None
        if told is not None and told.input_tokens is not None:
            paid[seen.number] = told.input_tokens - (told.cache_read_tokens or 0)

    explainer = Explainer(compared=count)
    for entry, one in enumerate(log):
        explainer.add(replace(one, entry=entry))
    report = explainer.report
    assert json.loads(json.dumps(report.as_json()))["schema"] == "coldturn.explain/1"
    assert sum(sum(lineage.verdicts.values()) for lineage in report.lineages) == len(log)
    for found in report.breaks:
        assert found.lost_bytes >= 0
        assert 0 <= found.lost_tokens_estimated <= paid.get(found.request, 1_000_000)
        assert found.verdict is not Verdict.INTACT
        assert (found.verdict is Verdict.COLD_START) is (found.cause in {PROVIDER, API})
        assert (found.segment is None) is (found.zone in (Zone.SETTINGS, Zone.NONE))
        assert found.evidence or found.segment is not None
        if found.verdict is Verdict.BROKEN_HARMLESS:
            assert found.lost_tokens_estimated == 0
        if found.readable_estimated is not None:
            assert (found.read_estimated or 0) <= found.readable_estimated
        if found.verdict is Verdict.TTL_SUSPECTED:
            assert log[found.entry].started is not None


@settings(max_examples=60, deadline=None)
@given(exchanges(), st.integers(0, 20_000), st.none() | st.floats(0, 9_000))
def test_identical_text_never_has_a_cause_in_the_text(
    one: Exchange, read: int, started: float | None
) -> None:
    """Whatever the provider reported and whenever it was sent."""
    told = exchange(json.loads(one.request_body), one.url or CHAT, usage(one.url or CHAT, 20_000, read))
    again = replace(one, response_body=told.response_body, started=started, answered=None)
    explainer = Explainer()
    explainer.add(one)
    explainer.add(again)
    for found in explainer.report.breaks:
        assert found.zone not in OF_TEXT
        assert found.verdict in (
            Verdict.BROKEN_HARMLESS,
            Verdict.PROVIDER_SIDE_SUSPECTED,
            Verdict.TTL_SUSPECTED,
            Verdict.UNKNOWN,
        ) or found.cause in {"ttl_order", "too_many_markers", "breakpoint_missing", "envelope_order"}
        if not one.parts_missing:
            assert found.verdict is not Verdict.UNKNOWN
