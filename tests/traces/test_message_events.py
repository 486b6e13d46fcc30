"""OpenTelemetry's log records for each message, alone and with the spans that they belong to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import NoRequestsError, NumbersOnlyError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.usage_record import UsageRecord
from fuzz.readers_examples import CONVENTIONS, any_value, lines, otlp, otlp_span, pairs
from traces.genai_libraries import ANSWERED, ASKED, CALLED, NAMED, SYSTEM, TOOL

T0 = 1_796_000_000
TRACE = otlp_span({})["traceId"]
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "In src."}}
TALK = (SYSTEM, ASKED, CALLED, ANSWERED)
NUMBERS: dict[str, Any] = {
    **NAMED,
    "gen_ai.provider.name": "openai",
    "gen_ai.tool.definitions": [TOOL],
    "gen_ai.usage.input_tokens": 1500,
    "gen_ai.usage.cache_read.input_tokens": 1024,
}


def record(name: str, body: dict[str, Any], *, number: int = 1, seconds: int = 0) -> dict[str, Any]:
    return {
        "eventName": name,
        "body": any_value(body),
        "attributes": pairs({"gen_ai.system": "openai"}),
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "observedTimeUnixNano": str((T0 + number * 20 + seconds) * 1_000_000_000),
    }


def told(number: int, *messages: dict[str, Any], choice: bool = True) -> list[dict[str, Any]]:
    """The records of a call, the role of each message in the name alone."""
    said = [
        (one["role"], {key: value for key, value in one.items() if key != "role" and value is not None})
        for one in messages
    ]
    events = [
        record(
            f"gen_ai.{role}.message",
            {"id" if key == "tool_call_id" else key: body[key] for key in body},
            number=number,
        )
        for role, body in said
    ]
    return [*events, *([record("gen_ai.choice", CHOICE, number=number, seconds=2)] if choice else [])]


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def talk(turns: int, clock: str = "09:00") -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"role": "system", "content": f"It is {clock}. " + "Rules. " * 2_000}]
    for turn in range(turns):
        said += [{"role": "user", "content": f"question {turn}"}, {"role": "assistant", "content": "yes"}]
    return said[:-1]


def usage(read: int) -> dict[str, int]:
    return {"gen_ai.usage.input_tokens": 4000, "gen_ai.usage.cache_read.input_tokens": read}


def only(content: bytes) -> Exchange:
    (found,) = read_records(content, name="input")
    assert isinstance(found, Exchange), found
    return found


def test_messages_alone_make_the_call() -> None:
    found = only(lines(logs(*told(1, *TALK))))
    assert json.loads(found.request_body) == {"model": "", "messages": list(TALK)}
    assert found.fidelity is Fidelity.MESSAGES
    assert found.parts_missing == {Zone.TOOLS}
    assert found.started == T0 + 20
    assert found.response_body is None


@pytest.mark.parametrize("span_first", [True, False])
def test_with_its_span_a_call_has_model_tools_and_usage(span_first: bool) -> None:
    span, said = otlp(otlp_span(NUMBERS)), logs(*told(1, *TALK))
    found = only(lines(*((span, said) if span_first else (said, span))))
    assert json.loads(found.request_body) == {"model": "gpt-5.5", "tools": [TOOL], "messages": list(TALK)}
    assert found.parts_missing == frozenset()
    assert found.started == T0 + 1
    assert json.loads(found.response_body or b"")["usage"]["prompt_tokens"] == 1500


@pytest.mark.parametrize(("clock", "causes"), [("09:00", []), ("09:01", ["clock_in_prefix"])])
@pytest.mark.parametrize("spans", [True, False])
def test_the_break_of_a_conversation_is_found(clock: str, causes: list[str], spans: bool) -> None:
    calls = [told(number, *talk(number, "09:00" if number < 3 else clock)) for number in range(1, 5)]
    cold = {1, 3} if causes else {1}
    bare = [
        otlp_span({**NUMBERS, **usage(0 if number in cold else 3968)}, number=number)
        for number in range(1, 5)
    ]
    content = lines(*(logs(one) for call in calls for one in call), *([otlp(*bare)] if spans else []))
    records = list(read_exchanges(content, name="input"))
    assert len(records) == 4
    (lineage,) = explain(records).lineages
    assert [one.cause for one in lineage.breaks] == causes


def test_spans_in_front_of_all_messages_count_once() -> None:
    spans = otlp(*(otlp_span(NUMBERS, number=number) for number in (1, 2, 3)))
    said = (one for number in (1, 2, 3) for one in told(number, *TALK))
    found = list(read_records(lines(spans, logs(*said)), name="input"))
    assert [type(one) for one in found] == [Exchange] * 3


def test_messages_of_calls_at_the_same_time_are_told_apart() -> None:
    first, second = told(1, SYSTEM, ASKED), told(2, SYSTEM, {"role": "user", "content": "Other"})
    mixed = [one for both in zip(first, second, strict=True) for one in both]
    found = [one for one in read_records(lines(logs(*mixed))) if isinstance(one, Exchange)]
    assert [json.loads(one.request_body)["messages"][1] for one in found] == [
        ASKED,
        {"role": "user", "content": "Other"},
    ]


def test_several_calls_below_one_span_are_several() -> None:
    said = [*told(1, SYSTEM, ASKED), *told(1, SYSTEM, ASKED, CALLED, ANSWERED)]
    found = [
        json.loads(one.request_body)
        for one in read_exchanges(lines(logs(*said)))
        if isinstance(one, Exchange)
    ]
    assert [len(one["messages"]) for one in found] == [2, 4]


def test_without_an_answer_the_messages_were_sent_all_the_same() -> None:
    found = only(lines(logs(*told(1, *TALK, choice=False))))
    assert len(json.loads(found.request_body)["messages"]) == 4


@pytest.mark.parametrize(
    "bodies",
    [
        [("user", {}), ("choice", {})],
        [("system", {"content": "Be brief."}), ("user", {"role": "user"})],
        [("user", {"content": "x"}), ("assistant", {"tool_calls": [{"id": "c", "function": {"name": "f"}}]})],
    ],
)
def test_events_without_their_texts_are_no_prompt(bodies: list[tuple[str, dict[str, Any]]]) -> None:
    said = logs(
        *(
            record("gen_ai.choice" if role == "choice" else f"gen_ai.{role}.message", body)
            for role, body in bodies
        )
    )
    with pytest.raises(NoRequestsError):
        list(read_records(lines(said)))
    with pytest.raises(NumbersOnlyError):
        list(read_exchanges(lines(said, otlp(otlp_span(NUMBERS)))))
    assert [type(one) for one in read_records(lines(said, otlp(otlp_span(NUMBERS))))] == [UsageRecord]


def test_a_span_with_messages_of_its_own_is_told_once() -> None:
    content = lines(otlp(otlp_span(CONVENTIONS)), logs(*told(1, *TALK)))
    assert only(content).request_body == only(lines(otlp(otlp_span(CONVENTIONS)))).request_body


def test_what_bedrocks_messages_hold_is_not_told_twice() -> None:
    use = {"toolUse": {"toolUseId": "t1", "name": "find", "input": {"q": "x"}}}
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "src/a.py"}]}}
    call = {"id": "t1", "type": "function", "function": {"name": "find", "arguments": {"q": "x"}}}
    said = [
        record("gen_ai.user.message", {"content": [{"text": "Where?"}]}),
        record(
            "gen_ai.assistant.message", {"content": [{"text": "Let me look."}, use], "tool_calls": [call]}
        ),
        record("gen_ai.tool.message", {"id": "t1", "content": [{"text": "src/a.py"}]}),
        record("gen_ai.user.message", {"content": [result]}),
    ]
    span = otlp_span({**NAMED, "gen_ai.request.model": "claude-opus-4-5", "gen_ai.system": "anthropic"})
    body = json.loads(only(lines(logs(*said), otlp(span))).request_body)
    assert [[part["type"] for part in one["content"]] for one in body["messages"]] == [
        ["text"],
        ["text", "tool_use"],
        ["tool_result"],
    ]
    assert body["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "t1",
        "name": "find",
        "input": {"q": "x"},
    }
    assert body["messages"][2]["content"][0]["tool_use_id"] == "t1"


def test_damage_is_told_once_and_in_its_place() -> None:
    good = lines(logs(*told(1, *TALK)))
    found = list(read_records(good + b'{"resourceLogs": [\n' + good.replace(b"0000000001", b"0000000002")))
    assert [type(one) for one in found] == [Exchange, EntryError, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps(logs(*told(1, *TALK)), indent=1).encode()[:-9]))


def test_a_call_cut_off_among_its_messages_is_none() -> None:
    whole = json.dumps(logs(*told(1, *TALK)), indent=1).encode()
    found: list[object] = []
    with pytest.raises(UnreadableJsonError):
        found.extend(read_records(whole[: whole.index(b"gen_ai.choice")]))
    assert found == []


@pytest.mark.parametrize("id_", [["t1"], {"a": 1}, 7, None])
def test_an_id_that_is_none_hides_nothing(id_: object) -> None:
    use = {"toolUse": {"toolUseId": "t1", "name": "find", "input": {"q": "x"}}}
    call = {"id": id_, "type": "function", "function": {"name": "find", "arguments": {"q": "x"}}}
    said = [
        record("gen_ai.user.message", {"content": "Where?"}),
        record("gen_ai.assistant.message", {"content": [use], "tool_calls": [call]}),
        record("gen_ai.tool.message", {"id": id_, "content": "src/a.py"}),
    ]
    found = list(read_records(lines(logs(*said)), name="input"))
    assert len(found) == 1
