"""Spans of many libraries tell of the same call in their own words, and are read as the same request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import NoRequestsError, NumbersOnlyError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.model import Record
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.usage_record import UsageRecord
from fuzz.readers_examples import CONVENTIONS, VERCEL, dumped, flat, lines, otlp, otlp_span, pairs
from traces.genai_libraries import (
    ASKED,
    BODY,
    CALLED,
    CONVENTIONAL,
    LIBRARIES,
    NAMED,
    OPENINFERENCE,
    PARTS,
    SYSTEM,
)

GEMINI = "/v1beta/models/gemini-2.5-pro"


BEDROCK = "https://bedrock-runtime.amazonaws.com/v1/messages"


def read(*spans: dict[str, Any]) -> list[Record]:
    return list(read_records(lines(otlp(*spans)), name="input"))


def only(attributes: dict[str, Any], **more: Any) -> Exchange:  # noqa: ANN401 - a span's members
    (found,) = read(otlp_span(attributes, **more))
    assert isinstance(found, Exchange), found
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_tells_of_the_same_request(library: str) -> None:
    found = only(LIBRARIES[library])
    assert json.loads(found.request_body) == BODY
    assert found.kind is ExchangeKind.MODEL
    assert found.fidelity is Fidelity.MESSAGES
    assert found.parts_missing == frozenset()
    assert found.url == "/v1/chat/completions"


EVENTS = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"gen_ai.event.content": json.dumps(ASKED)}),
    ("gen_ai.choice", {"content": "In src."}),
]


@pytest.mark.parametrize(
    "events",
    [
        EVENTS,
        [("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps([SYSTEM, ASKED])})],
        [
            (
                "gen_ai.client.inference.operation.details",
                {
                    "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
                    "gen_ai.input.messages": PARTS[:1],
                },
            )
        ],
    ],
    ids=["one each", "content", "details"],
)
def test_messages_may_stand_in_events(events: list[tuple[str, Mapping[str, Any]]]) -> None:
    written = [{"name": name, "attributes": pairs(dict(told))} for name, told in events]
    found = only(NAMED, events=written)
    assert json.loads(found.request_body)["messages"] == [SYSTEM, ASKED]


def test_tools_that_were_not_kept_are_unknown_not_none() -> None:
    assert only({**NAMED, "gen_ai.input.messages": PARTS}).parts_missing == {Zone.TOOLS}


def test_the_ai_sdk_writes_tools_wherever_it_writes_messages() -> None:
    told = {key: value for key, value in LIBRARIES["Vercel's AI SDK"].items() if key != "ai.prompt.tools"}
    assert only(told).parts_missing == frozenset()


def test_messages_stand_in_the_order_of_their_numbers() -> None:
    told = {f"gen_ai.prompt.{number}.content": f"text {number}" for number in reversed(range(12))}
    messages = json.loads(only({**NAMED, **told}).request_body)["messages"]
    assert [one["content"] for one in messages] == [f"text {number}" for number in range(12)]


def test_a_call_that_stands_among_the_contents_is_not_told_again_by_the_list() -> None:
    call = {"id": "c1", "function.name": "find", "function.arguments": '{"q":"x"}'}
    start = "llm.input_messages.2.message."
    told = {f"{start}contents.1.tool_call.{key}": value for key, value in call.items()}
    told |= {f"{start}contents.0.message_content.{key}": "text" for key in ("type", "text")}
    found = json.loads(only({**OPENINFERENCE, **told}).request_body)["messages"][2]
    assert found == {**CALLED, "content": "text"}


def test_a_request_that_was_logged_whole_keeps_its_values() -> None:
    logged = '{"model":"gpt-5.5","messages":[{"role":"user","content":"hi"}],"temperature":1.0}'
    found = only({**NAMED, "request_data": logged})
    assert found.request_body == logged.encode()
    assert found.fidelity is Fidelity.CANONICAL
    assert only({**CONVENTIONAL, "request_data": '{"model":"gpt-5.5"}'}).fidelity is Fidelity.MESSAGES


@pytest.mark.parametrize(
    ("provider", "model", "path", "key"),
    [
        ("anthropic", "claude-sonnet-4-5", "/v1/messages", "system"),
        ("aws.bedrock", "anthropic.claude-sonnet-4-5", BEDROCK, "system"),
        ("aws", "claude-sonnet-4-5-20250929-v1:0", BEDROCK, "system"),
        ("strands-agents", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", BEDROCK, "system"),
        ("aws.bedrock", "amazon.nova-pro-v1:0", "/v1/chat/completions", "model"),
        ("", "claude-sonnet-4-5", "/v1/messages", "system"),
        (
            "gcp.gemini",
            "models/gemini-2.5-pro",
            "/v1beta/models/gemini-2.5-pro:generateContent",
            "systemInstruction",
        ),
        ("openrouter", "google/gemini-2.5-pro", "/v1/chat/completions", "model"),
        ("deepseek", "deepseek-chat", "/v1/chat/completions", "model"),
    ],
)
def test_a_body_has_the_format_of_its_provider(provider: str, model: str, path: str, key: str) -> None:
    told = {**CONVENTIONAL, "gen_ai.provider.name": provider, "gen_ai.request.model": model}
    found = only({**told, "gen_ai.usage.input_tokens": 1700, "gen_ai.usage.cache_read.input_tokens": 1500})
    assert found.url == path
    assert key in json.loads(found.request_body)
    report = explain([found])
    assert not report.errors
    (lineage,) = report.lineages
    assert (lineage.tokens.input_reported, lineage.tokens.read_reported) == (1700, 1500)


def test_a_server_that_is_named_stands_in_the_address() -> None:
    assert only({**CONVENTIONAL, "server.address": "api.openai.com"}).url.startswith(
        "https://api.openai.com/v1/"
    )
    assert only({**CONVENTIONAL, "server.address": "https://api.x.ai/v1"}).url.startswith(
        "https://api.x.ai/v1/"
    )
    assert only({**CONVENTIONAL, "server.address": "no name!"}).url == "/v1/chat/completions"


ALIASES = {
    "conventions": {
        "gen_ai.usage.input_tokens": 2000, "gen_ai.usage.cache_read.input_tokens": 1500,
        "gen_ai.usage.cache_write.input_tokens": 200, "gen_ai.usage.output_tokens": 5,
    },
    "former conventions": {
        "gen_ai.usage.input_tokens": 2000, "gen_ai.usage.cache_read.input_tokens": 1500,
        "gen_ai.usage.cache_creation.input_tokens": 200, "gen_ai.usage.output_tokens": 5,
    },
    "OpenInference": {
        "llm.token_count.prompt": 2000, "llm.token_count.prompt_details.cache_read": 1500,
        "llm.token_count.prompt_details.cache_write": 200, "llm.token_count.completion": 5,
    },
    "OpenLLMetry": {
        "gen_ai.usage.prompt_tokens": 2000, "gen_ai.usage.cache_read_input_tokens": 1500,
        "gen_ai.usage.cache_creation_input_tokens": 200, "gen_ai.usage.completion_tokens": 5,
    },
    "pydantic-ai": {
        "gen_ai.usage.input_tokens": 2000, "gen_ai.usage.details.cache_read_tokens": 1500,
        "gen_ai.usage.details.cache_write_tokens": 200, "gen_ai.usage.output_tokens": 5,
    },
    "Claude Code": {
        "input_tokens": 300, "cache_read_tokens": 1500, "cache_creation_tokens": 200, "output_tokens": 5,
    },
    "an input that leaves out more than itself": {
        "gen_ai.usage.input_tokens": 300, "gen_ai.usage.cache_read.input_tokens": 1500,
        "gen_ai.usage.cache_write.input_tokens": 200, "gen_ai.usage.output_tokens": 5,
    },
}  # fmt: skip


@pytest.mark.parametrize("library", ALIASES)
def test_usage_without_content_is_numbers_in_one_form(library: str) -> None:
    (found,) = read(otlp_span({**NAMED, **ALIASES[library]}))
    assert isinstance(found, UsageRecord)
    counts = (found.input_tokens, found.cached_tokens, found.written_tokens, found.output_tokens)
    assert counts == (2000, 1500, 200, 5)
    assert (found.call, found.model) == (0, "gpt-5.5")


def test_claude_codes_own_input_leaves_out_what_was_read() -> None:
    (found,) = read(otlp_span({**NAMED, "input_tokens": 5000, "cache_read_tokens": 1500}))
    assert isinstance(found, UsageRecord)
    assert found.input_tokens == 6500


def test_an_unreported_count_stays_unknown_and_a_zero_zero() -> None:
    (found,) = read(otlp_span({**NAMED, "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": -1}))
    assert isinstance(found, UsageRecord)
    assert (found.input_tokens, found.cached_tokens, found.output_tokens) == (0, None, None)


def test_the_providers_own_usage_goes_before_what_was_made_of_it() -> None:
    raw = '{"prompt_tokens":2000,"prompt_tokens_details":{"cached_tokens":1024},"completion_tokens":5,"x":1}'
    found = only({**CONVENTIONAL, "gen_ai.usage.input_tokens": 2000, "gen_ai.usage.raw": raw})
    assert found.response_body == b'{"choices":[],"usage":' + raw.encode() + b"}"


@pytest.mark.parametrize(
    "wrapper",
    [
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.usage.input_tokens": 9,
            "gen_ai.input.messages": "[]",
        },
        {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e", "gen_ai.usage.input_tokens": 9},
        {"openinference.span.kind": "AGENT", "llm.token_count.prompt": 9, "llm.model_name": "m"},
        {"ai.operationId": "ai.generateText", "ai.model.id": "m", "ai.usage.promptTokens": 9},
        {"traceloop.span.kind": "workflow", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9},
        {"http.request.method": "POST"},
    ],
)
def test_what_is_no_single_call_is_passed_over(wrapper: dict[str, Any]) -> None:
    with pytest.raises(NoRequestsError, match="1 span, none of them a call"):
        read(otlp_span(wrapper))
    assert len(read(otlp_span(wrapper), otlp_span(CONVENTIONS, number=2))) == 1


def test_calls_that_tell_nothing_are_counted_when_nothing_else_is_there() -> None:
    with pytest.raises(NoRequestsError, match="2 calls with neither content nor token counts"):
        read(otlp_span(NAMED), otlp_span(NAMED, number=2))
    (found,) = read(otlp_span(NAMED), otlp_span(CONVENTIONS, number=2))
    assert found.entry == 1


def test_a_call_that_two_libraries_tell_of_counts_once() -> None:
    numbers = {key: value for key, value in CONVENTIONS.items() if ".usage." in key} | NAMED
    inner, outer = otlp_span(numbers, number=2), otlp_span(CONVENTIONS, number=1)
    later = otlp_span(numbers, number=3)
    assert [type(one) for one in read(inner, outer)] == [Exchange]
    assert [type(one) for one in read(inner, outer, later)] == [Exchange, UsageRecord]
    assert [type(one) for one in read(otlp_span(numbers, number=0), outer)] == [UsageRecord, Exchange]
    silent = otlp_span(CONVENTIONAL, number=1)
    assert [type(one) for one in read(inner, silent)] == [UsageRecord, Exchange]
    other = otlp_span({**numbers, "gen_ai.usage.input_tokens": 7}, number=2)
    assert [type(one) for one in read(other, outer)] == [UsageRecord, Exchange]


def test_the_response_tells_that_two_calls_beside_others_are_one() -> None:
    numbers = {key: value for key, value in CONVENTIONS.items() if ".usage." in key} | NAMED
    numbers["gen_ai.usage.input_tokens"] = 7

    def bare(number: int) -> dict[str, Any]:
        return otlp_span({**numbers, "gen_ai.response.id": f"r{number}"}, number=number)

    def whole(number: int) -> dict[str, Any]:
        return otlp_span({**CONVENTIONS, "gen_ai.response.id": f"r{number}"}, number=10 + number)

    mixed = read(bare(1), bare(2), bare(3), whole(1), whole(2), bare(1))
    assert [type(one) for one in mixed] == [Exchange, Exchange, UsageRecord]
    assert isinstance(mixed[2], UsageRecord)
    assert mixed[2].entry == 2
    assert len(read(*(bare(number) for number in range(1_100)))) == 1_100


def snake(value: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("Value", "_value"): inner for key, inner in value.items()}


def test_integers_may_be_numbers_or_texts_and_keys_snake_case() -> None:
    span = otlp_span(CONVENTIONS)
    numbered = json.loads(json.dumps(span).replace('"1500"', "1500"))
    attributes = [{"key": one["key"], "value": snake(one["value"])} for one in span["attributes"]]
    renamed = {"resource_spans": [{"scope_spans": [{"spans": [{"attributes": attributes}]}]}]}
    first, second = only(CONVENTIONS), read(numbered)[0]
    (third,) = read_records(dumped(renamed))
    assert isinstance(second, Exchange)
    assert isinstance(third, Exchange)
    assert first.response_body == second.response_body == third.response_body
    assert first.request_body == second.request_body == third.request_body


def test_times_are_epoch_seconds() -> None:
    assert only(CONVENTIONS).started == 1_796_000_001.0
    assert only(CONVENTIONS, startTimeUnixNano="-5").started is None
    assert only(CONVENTIONS, startTimeUnixNano="9" * 40).started is None
    chunked = only({**CONVENTIONS, "gen_ai.response.time_to_first_chunk": 0.5})
    assert chunked.answered == 1_796_000_001.5


def test_a_torn_last_line_loses_only_itself() -> None:
    whole = lines(otlp(otlp_span(CONVENTIONS)))
    first, second = read_records(whole + whole[:300], name="input")
    assert isinstance(first, Exchange)
    assert isinstance(second, EntryError)
    assert second.torn
    middle = list(read_records(whole + whole[:300] + b"\n" + whole, name="input"))
    assert [type(one) for one in middle] == [Exchange, EntryError, Exchange]
    assert isinstance(middle[1], EntryError)
    assert not middle[1].torn


def test_logs_and_metrics_in_the_same_file_are_passed_over() -> None:
    content = lines({"resourceLogs": []}, otlp(otlp_span(CONVENTIONS)), {"resourceMetrics": [{"x": 1}]})
    assert [type(one) for one in read_records(content)] == [Exchange]


def log_record(attributes: dict[str, Any], **more: object) -> dict[str, Any]:
    record = {
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": pairs(attributes),
        **more,
    }
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


def test_content_may_come_as_a_log_record() -> None:
    (found,) = read_records(lines(log_record(CONVENTIONS)))
    assert isinstance(found, Exchange)
    assert found.request_body == only(CONVENTIONS).request_body
    assert found.response_body == only(CONVENTIONS).response_body
    assert found.started is None


@pytest.mark.parametrize("log_first", [True, False])
def test_a_log_record_and_its_span_are_one_call(log_first: bool) -> None:
    numbers = {key: value for key, value in CONVENTIONS.items() if ".usage." in key} | NAMED
    span, log = otlp(otlp_span(numbers, number=7)), log_record(CONVENTIONS, spanId=f"{7:016x}")
    both = (log, span) if log_first else (span, log)
    assert [type(one) for one in read_records(lines(*both))] == [Exchange]
    other = otlp(otlp_span(numbers, number=8))
    assert [type(one) for one in read_records(lines(log, other))] == [Exchange, UsageRecord]


def test_other_log_records_are_passed_over() -> None:
    with pytest.raises(NoRequestsError, match="no span or event"):
        list(read_records(lines(log_record(CONVENTIONS, eventName="gen_ai.user.message"))))


def test_a_span_that_is_none_is_an_error_of_its_own() -> None:
    found = list(read_records(lines(otlp(otlp_span(CONVENTIONS), 7)), name="input"))  # type: ignore[arg-type]
    assert [type(one) for one in found] == [Exchange, EntryError]


def test_printed_spans_carry_the_same() -> None:
    (list_of_spans,) = read_records(dumped([flat(VERCEL)], 2))
    printed = {"name": "chat", "context": {"trace_id": "0x1"}, "attributes": CONVENTIONS}
    (python,) = read_records(dumped({**printed, "start_time": "2026-11-30T10:00:00Z"}, 4))
    (bare,) = read_records(dumped(OPENINFERENCE, 2))
    assert isinstance(list_of_spans, Exchange)
    assert isinstance(python, Exchange)
    assert isinstance(bare, Exchange)
    assert list_of_spans.started == 1_796_000_000.5
    assert python.started == 1_796_032_800.0
    assert json.loads(bare.request_body) == BODY


def test_consoles_show_spans_one_behind_another() -> None:
    python = {"name": "chat", "context": {"trace_id": "0x1"}, "attributes": CONVENTIONS}
    javascript = {
        "_spanContext": {"traceId": "1"},
        "attributes": CONVENTIONS,
        "startTime": [1_780_000_000, 0],
    }
    for span in (python, javascript):
        shown = dumped({**span, "events": []}, 4)
        found = list(read_records(shown + b"\n" + shown + b"\n" + shown, name="input"))
        assert [type(one) for one in found] == [Exchange] * 3
    assert isinstance(found[0], Exchange)
    assert found[0].started == 1_780_000_000
    mixed = list(read_records(shown + b"\nall done now\n" + shown, name="input"))
    assert [type(one) for one in mixed] == [Exchange, EntryError, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(shown + shown[:-9], name="input"))


def test_a_conversation_over_spans_is_explained() -> None:
    shorter = {**CONVENTIONAL, "gen_ai.input.messages": PARTS[:1]}
    moved = {**CONVENTIONAL, "gen_ai.system_instructions": [{"type": "text", "content": "Be brief!"}]}
    spans = [otlp_span(one, number=n) for n, one in enumerate((shorter, CONVENTIONAL, moved), 1)]
    report = explain(read_exchanges(lines(otlp(*spans)), name="input"))
    assert [(found.request, found.zone) for found in report.breaks] == [(2, Zone.SYSTEM)]


def test_spans_without_messages_are_told_what_is_missing() -> None:
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
    with pytest.raises(NumbersOnlyError) as told:
        list(read_exchanges(lines(otlp(otlp_span(bare))), name="input"))
    assert str(told.value).startswith("input: holds spans without messages, and finding breaks needs those: ")
    for named in ("cat spans.jsonl logs.jsonl", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"):
        assert named in str(told.value)
