"""A small valid input of every kind that is read, for tests that damage them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import yaml

from coldturn.traces.kinds import InputKind

CHAT: dict[str, Any] = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "Where is the file?"}]}
LONGER: dict[str, Any] = {
    "model": "gpt-5.5",
    "messages": [
        {"role": "user", "content": "Where is the file?"},
        {"role": "assistant", "content": "In src."},
        {"role": "user", "content": "Thanks"},
    ],
}
ANSWER: dict[str, Any] = {
    "choices": [{"message": {"role": "assistant", "content": "In src."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 0}},
}
URL = "https://api.openai.com/v1/chat/completions"
SAID = [{"role": "user", "parts": [{"type": "text", "content": "Where is the file?"}]}]


@dataclass(frozen=True, slots=True)
class Example:
    """An input of one kind; `name` tells examples of one kind apart."""

    kind: InputKind
    name: str
    content: bytes


def dumped(value: object, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()


def lines(*values: object) -> bytes:
    return b"".join(dumped(value) + b"\n" for value in values)


def har_entry(
    body: object = CHAT, *, answer: object = ANSWER, url: str = URL, **more: object
) -> dict[str, Any]:
    return {
        "startedDateTime": "2026-11-30T10:00:00.000Z",
        "time": 900.5,
        "request": {
            "method": "POST",
            "url": url,
            "headers": [{"name": "Content-Type", "value": "application/json"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(body)},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Date", "value": "Mon, 30 Nov 2026 10:00:01 GMT"}],
            "content": {"size": 10, "mimeType": "application/json", "text": json.dumps(answer)},
        },
        "timings": {"blocked": 10, "dns": -1, "connect": 40, "send": 0.5, "wait": 500, "receive": 350},
        **more,
    }


def har(*entries: object) -> dict[str, Any]:
    creator = {"name": "test", "version": "1"}
    return {"log": {"version": "1.2", "creator": creator, "pages": [], "entries": list(entries)}}


def encoded_entry() -> dict[str, Any]:
    entry = har_entry()
    entry["response"]["content"] = {
        "mimeType": "text/event-stream",
        "encoding": "base64",
        "text": base64.b64encode(b"data: [DONE]\n\n").decode(),
    }
    return entry


def any_value(value: object) -> dict[str, Any]:
    """A value as OTLP writes it."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(one) for one in value]}}
        case dict():
            return {"kvlistValue": {"values": pairs(value)}}
        case _:
            return {"stringValue": value}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def otlp_span(attributes: dict[str, Any], *, number: int = 1, **more: object) -> dict[str, Any]:
    return {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": f"{number:016x}",
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": str(1_796_000_000_000_000_000 + number * 1_000_000_000),
        "endTimeUnixNano": "1796000009000000000",
        "attributes": pairs(attributes),
        "status": {},
        **more,
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": pairs({"service.name": "agent"})},
                "scopeSpans": [{"scope": {"name": "lib"}, "spans": list(spans)}],
            }
        ]
    }


CONVENTIONS: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5.5",
    "gen_ai.input.messages": json.dumps(SAID),
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "find", "parameters": {}}]),
    "gen_ai.usage.input_tokens": 1500,
    "gen_ai.usage.cache_read.input_tokens": 1024,
    "gen_ai.usage.output_tokens": 7,
}
OURS: dict[str, Any] = {
    "coldturn.schema.version": 1,
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5.5",
    "coldturn.wire.format": "responses",
    "coldturn.wire.bytes": 900,
    "coldturn.turn.index": 0,
    "coldturn.zone.bytes": [400, 300, 0, 100, 0],
    "gen_ai.usage.input_tokens": 230,
}
BROKEN: dict[str, Any] = {
    **OURS,
    "coldturn.prefix.base.span_id": f"{1:016x}",
    "coldturn.prefix.stable": False,
    "coldturn.prefix.break.offset": 412,
    "coldturn.prefix.break.zone": "system",
    "coldturn.prefix.break.segment": "instructions",
    "coldturn.prefix.break.path": "$.instructions",
    "coldturn.prefix.break.block_offset": 12,
    "coldturn.prefix.break.cause": "clock_in_prefix",
    "coldturn.prefix.break.confidence": "observed",
    "coldturn.prefix.break.planned": False,
    "coldturn.prefix.break.lost_bytes": 388,
    "coldturn.prefix.break.delta_bytes": 0,
    "coldturn.prefix.break.later_causes": ["tool_added"],
}


def flat(attributes: dict[str, Any], **more: object) -> dict[str, Any]:
    """A span as JavaScript's console exporter prints it."""
    return {
        "name": "ai.generateText.doGenerate",
        "spanContext": {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "00f067aa0ba902b7"},
        "attributes": attributes,
        "startTime": [1_796_000_000, 500_000_000],
        "endTime": [1_796_000_001, 0],
        "events": [],
        **more,
    }


VERCEL: dict[str, Any] = {
    "ai.operationId": "ai.generateText.doGenerate",
    "ai.model.id": "gpt-5.5",
    "ai.model.provider": "openai.responses",
    "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]),
    "ai.prompt.tools": [json.dumps({"type": "function", "name": "find", "inputSchema": {"type": "object"}})],
    "ai.usage.promptTokens": 14,
    "ai.usage.completionTokens": 3,
}


def observation(number: int, **more: object) -> dict[str, Any]:
    return {
        "id": f"o{number}",
        "traceId": "t",
        "type": "GENERATION",
        "name": "chat",
        "startTime": f"2026-11-30T10:00:{number:02}.000Z",
        "parentObservationId": None,
        "model": "gpt-5.5",
        "input": json.dumps(CHAT["messages"]),
        "output": "{}",
        "usageDetails": {"input": 20, "output": 3, "total": 23},
        **more,
    }


def export(*observations: object) -> dict[str, Any]:
    return {"trace": {"id": "t", "projectId": "p"}, "observations": list(observations)}


def flattened(number: int) -> dict[str, Any]:
    started = 1_760_995_991_633_938 + number * 1_000_000
    return {"timestamp": started, "input": "user: hi\n" * number, "output": "hi", "session_id": "s"}


def wrapped(body: object) -> dict[str, Any]:
    return {"url": URL, "request": body, "response": ANSWER, "started": "2026-11-30T10:00:00Z"}


def _cassette() -> dict[str, Any]:
    request = {"method": "POST", "uri": URL, "headers": {}, "body": json.dumps(CHAT)}
    response = {"status": {"code": 200}, "headers": {}, "body": {"string": json.dumps(ANSWER)}}
    return {"interactions": [{"request": request, "response": response}], "version": 1}


def _recording() -> bytes:
    header = {"version": 1, "metadata": {"coldturn": {"format": 1}}}
    return lines(header, _cassette()["interactions"][0])


BEDROCK_LOG = [
    {
        "timestamp": f"2026-11-30T09:00:0{second}Z",
        "region": "us-east-1",
        "operation": "Converse",
        "modelId": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "input": {"inputBodyJson": {"messages": [{"role": "user", "content": [{"text": "q"}]}]}},
        "output": {"outputBodyJson": {"usage": {"inputTokens": 9, "outputTokens": 1}}},
        "schemaType": "ModelInvocationLog",
    }
    for second in range(2)
]

LITELLM = [
    {
        "call_type": "completion",
        "startTime": 1_780_000_000.5 + index,
        "custom_llm_provider": provider,
        "model": model,
        "messages": [{"role": "user", "content": "q"}],
        "response": {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
        "model_parameters": {"tools": []},
    }
    for index, (provider, model) in enumerate((("openai", "gpt-4.1"), ("anthropic", "claude-opus-4-5")))
]

EXAMPLES: tuple[Example, ...] = (
    Example(InputKind.BODY, "one line", dumped(CHAT)),
    Example(InputKind.BODY, "laid out", dumped(CHAT, 2)),
    Example(InputKind.BODIES, "", dumped([CHAT, LONGER], 1)),
    Example(InputKind.JSONL, "bare", lines(CHAT, LONGER)),
    Example(InputKind.JSONL, "wrapped", lines(*map(wrapped, (CHAT, LONGER)))),
    Example(InputKind.RECORDING, "", _recording()),
    Example(InputKind.CASSETTE_YAML, "", yaml.safe_dump(_cassette()).encode()),
    Example(InputKind.CASSETTE_JSON, "", dumped(_cassette(), 2)),
    Example(InputKind.HAR, "one line", dumped(har(har_entry(), har_entry(LONGER), encoded_entry()))),
    Example(InputKind.HAR, "laid out", dumped(har(har_entry(), har_entry(LONGER)), 2)),
    Example(InputKind.TRACE, "", lines(otlp(otlp_span(OURS)), otlp(otlp_span(BROKEN, number=2)))),
    Example(InputKind.OTLP, "lines", lines(otlp(otlp_span(CONVENTIONS), otlp_span(CONVENTIONS, number=2)))),
    Example(InputKind.OTLP, "laid out", dumped(otlp(otlp_span(CONVENTIONS)), 2)),
    Example(InputKind.SPANS, "list", dumped([flat(VERCEL), flat({"ai.operationId": "ai.generateText"})], 2)),
    Example(InputKind.SPANS, "groups", dumped({"a": [flat(VERCEL)], "b": [flat(VERCEL)]})),
    Example(InputKind.LANGFUSE, "trace", dumped(export(observation(2), observation(1)), 2)),
    Example(InputKind.LANGFUSE, "lines", lines(observation(1), observation(2))),
    Example(InputKind.BEDROCK_LOG, "", lines(*BEDROCK_LOG)),
    Example(InputKind.LITELLM, "lines", lines(*LITELLM)),
    Example(InputKind.LITELLM, "list", dumped(LITELLM)),
    Example(InputKind.PROMPT_LOG, "", lines(flattened(1), flattened(2))),
)  # fmt: skip
"""At least one of every kind that this part of the readers knows; each is read without an error."""
