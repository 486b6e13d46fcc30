"""Recorded requests as spans: where turns begin, what is unknown, and what each turn counts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from analysis.exchanges import ANTHROPIC, GEMINI, exchange
from coldturn.analysis.breaks.explain import Compared, Explainer
from coldturn.analysis.frames.frames import Frames
from coldturn.analysis.frames.recorded import RecordedSpans
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces import names
from coldturn.traces.exchange import Exchange
from coldturn.traces.parquet import row_of, span_of
from coldturn.traces.span_reader import AttributeValue, SpanRow

CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}
REMINDER = {"type": "text", "text": "<system-reminder>Stay on course.</system-reminder>"}


def body(*messages: object, system: str = "Be brief.") -> dict[str, Any]:
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": system, "messages": list(messages)}


def user(*content: object) -> dict[str, object]:
    return {"role": "user", "content": list(content)}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def spans_of(exchanges: Iterable[Exchange], *, planned: bool = False) -> list[SpanRow]:
    taken: list[SpanRow] = []
    recorded = RecordedSpans(lambda span, _: taken.append(span), lambda source: source)

    def compared(one: Compared) -> None:
        found = one.found and replace(one.found, planned=planned)
        recorded.compared(replace(one, found=found))

    explainer = Explainer(compared=compared)
    for one in exchanges:
        explainer.add(one)
    recorded.finish()
    return taken


def turns_of(spans: Iterable[SpanRow]) -> list[object]:
    return [span.attributes[names.TURN_INDEX] for span in spans if span.name.startswith("chat")]


ASK = user(text("Look."))


@pytest.mark.parametrize(
    ("after", "turns"),
    [
        ((CALL, user(RESULT)), [0, 0]),
        ((CALL, user(RESULT, text("Go on with care."))), [0, 0]),
        ((CALL, user(RESULT), user(REMINDER)), [0, 0]),
        ((CALL, user(RESULT), {"role": "assistant", "content": "Done."}, user(text("And now?"))), [0, 1]),
        (({"role": "assistant", "content": "Done."}, user(text("And now?"), REMINDER)), [0, 1]),
    ],
)
def test_a_users_own_words_begin_a_turn_and_nothing_else(after: tuple[object, ...], turns: list[int]) -> None:
    spans = spans_of([exchange(body(ASK), ANTHROPIC), exchange(body(ASK, *after), ANTHROPIC)])
    assert turns_of(spans) == turns
    assert [span.name for span in spans].count("invoke_agent") == turns[-1] + 1


@pytest.mark.parametrize("planned", [True, False])
def test_a_turn_counts_its_breaks(planned: bool) -> None:
    again = json.loads(json.dumps([CALL, user(RESULT)]).replace("toolu_1", "toolu_2"))
    first = (ASK, CALL, user(RESULT))
    requests = [body(*first), body(*first, *again, system="Be very brief.")]
    spans = spans_of([exchange(one, ANTHROPIC) for one in requests], planned=planned)
    (turn,) = [span for span in spans if span.name == "invoke_agent"]
    assert turn.attributes[names.TURN_BREAKS_PLANNED] == planned
    assert turn.attributes[names.TURN_BREAKS_UNPLANNED] == (not planned)
    assert turn.attributes[names.TURN_STEP_COUNT] == 2


def test_below_wire_fidelity_nothing_is_said_of_the_sent_bytes() -> None:
    one = exchange(body(ASK), ANTHROPIC)
    wire, canonical = (
        next(span for span in spans_of([replace(one, fidelity=fidelity)]) if span.name.startswith("chat"))
        for fidelity in (Fidelity.WIRE, Fidelity.CANONICAL)
    )
    assert {names.WIRE_BYTES, names.WIRE_HASH} <= wire.attributes.keys()
    assert not {names.WIRE_BYTES, names.WIRE_HASH} & canonical.attributes.keys()
    assert canonical.attributes[names.FIDELITY] == "canonical"


def test_a_zone_that_was_not_kept_is_unknown_and_never_empty() -> None:
    one = exchange({"model": "m", "max_tokens": 9, "messages": [ASK]}, ANTHROPIC)
    frames = Frames.of_spans(spans_of([replace(one, parts_missing=frozenset({Zone.TOOLS, Zone.SYSTEM}))]))
    (row,) = frames.steps().collect().rows(named=True)
    assert (row["tools_bytes"], row["system_bytes"], row["content_bytes"]) == (None, None, None)
    assert row["history_bytes"] == len("Look.")


def test_every_answer_of_one_request_has_its_own_span() -> None:
    twice = spans_of([exchange(body(ASK), ANTHROPIC)] * 2)
    assert len({span.span_id for span in twice}) == len(twice)


def test_a_value_of_another_type_is_kept_among_the_rest() -> None:
    attributes: dict[str, AttributeValue] = {
        names.TURN_INDEX: True,
        names.STABLE: 1,
        names.ZONE_BYTES: ("a",),
        names.STEP_INDEX: 2**70,
    }
    span = SpanRow("t", "s", "", "x", "CLIENT", 1, 2, attributes)
    row = row_of(span)
    assert set(json.loads(row["span_attributes"])) == set(attributes)
    back = span_of({**dict.fromkeys(("links_json", "span_attributes")), **row})
    assert back.attributes[names.TURN_INDEX] is True
    assert back.attributes[names.ZONE_BYTES] == ("a",)


OFFERED = [{"name": name, "input_schema": {"type": "object"}} for name in ("look", "idle")]


def tools_of(exchanges: Iterable[Exchange]) -> dict[str, tuple[int | None, int | None]]:
    tools = Frames.of_spans(spans_of(exchanges)).tools().collect()
    return {name: (calls, errors) for name, calls, errors in tools.select("tool", "calls", "errors").rows()}


def log_of_calls() -> list[dict[str, Any]]:
    """Requests that call a tool twice, one of them before the log begins, each history sent again."""
    again = json.loads(json.dumps([CALL, user(RESULT)]).replace("toolu_1", "toolu_2"))
    said = [ASK, CALL, user(RESULT), *again, user(text("And now?"))]
    return [{**body(*said[:count]), "tools": OFFERED} for count in (3, 5, 6)]


def test_calls_of_a_log_without_answers_are_those_of_its_histories() -> None:
    spans = spans_of(exchange(one, ANTHROPIC) for one in log_of_calls())
    assert [span.name for span in spans].count("execute_tool look") == 2
    turns = Frames.of_spans(spans).turns().collect()
    assert turns["tool_calls"].to_list() == [2, 0]
    assert tools_of(exchange(one, ANTHROPIC) for one in log_of_calls()) == {
        "look": (2, None),
        "idle": (0, None),
    }


def test_calls_without_ids_are_told_by_their_bytes() -> None:
    say = {"role": "user", "parts": [{"text": "Look."}]}
    call = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    result = {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"a": 1}}}]}
    tools = [{"functionDeclarations": [{"name": "look"}, {"name": "idle"}]}]
    bodies = [{"contents": [say, call, result][:count], "tools": tools} for count in (1, 3, 3)]
    assert tools_of(exchange(one, GEMINI) for one in bodies) == {"look": (1, None), "idle": (0, None)}


def test_calls_are_unknown_where_histories_were_not_kept() -> None:
    one = replace(
        exchange({**body(ASK), "tools": OFFERED}, ANTHROPIC), parts_missing=frozenset({Zone.HISTORY})
    )
    assert tools_of([one]) == {"look": (None, None), "idle": (None, None)}
