"""A small valid input of every kind that tracers of frameworks write, for tests that damage them."""

from __future__ import annotations

import json
from typing import Any

from coldturn.traces.kinds import InputKind
from fuzz.readers_examples import Example, dumped, lines

_LC = {"lc": 1, "type": "constructor"}


def _run(number: int) -> dict[str, Any]:
    said = [{**_LC, "id": ["HumanMessage"], "kwargs": {"content": "q", "type": "human"}}]
    usage = {"input_tokens": 20, "output_tokens": 3, "input_token_details": {"cache_read": 4}}
    return {
        "id": f"r{number}",
        "run_type": "llm",
        "start_time": f"2026-11-30T10:00:{number:02}Z",
        "inputs": {"messages": [said]},
        "outputs": {"generations": [[{"message": {**_LC, "kwargs": {"usage_metadata": usage}}}]]},
        "extra": {
            "invocation_params": {"model": "gpt-5.5", "tools": []},
            "metadata": {"ls_provider": "openai"},
        },
    }


_BEGUN: dict[str, Any] = {
    "event": "on_chat_model_start",
    "run_id": "r",
    "data": {"input": {"messages": [[{"type": "human", "content": "q"}]]}},
}
_ENDED: dict[str, Any] = {
    "event": "on_chat_model_end",
    "run_id": "r",
    "data": {"output": {"type": "ai", "usage_metadata": {"input_tokens": 20, "output_tokens": 3}}},
}


def _streamed(number: int, *blocks: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 1}
    reply = {"id": f"m{number}", "model": "claude-opus-4-5", "usage": usage}
    message = {"role": role, "content": list(blocks), **(reply if role == "assistant" else {})}
    return {
        "type": role,
        "message": message,
        "parent_tool_use_id": None,
        "session_id": "s",
        "uuid": f"u{number}",
    }


_STREAM: tuple[dict[str, Any], ...] = (
    {"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.197"},
    _streamed(1, {"type": "text", "text": "Let me look."}),
    _streamed(1, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
    _streamed(2, {"type": "tool_result", "tool_use_id": "t1", "content": "src"}, role="user"),
    _streamed(3, {"type": "text", "text": "In src."}),
)


def _qwen(number: int, kind: str, *parts: dict[str, Any], **more: object) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    line = {
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s",
        "type": kind,
    }
    return {
        **line,
        "timestamp": "2026-11-30T10:00:00Z",
        "message": {"role": role, "parts": list(parts)},
        **more,
    }


_COUNTED = {"promptTokenCount": 20, "cachedContentTokenCount": 4, "candidatesTokenCount": 3}
_QWEN: tuple[dict[str, Any], ...] = (
    _qwen(0, "user", {"text": "q"}),
    _qwen(
        1,
        "assistant",
        {"functionCall": {"id": "c", "name": "ls", "args": {}}},
        model="qwen3-coder",
        usageMetadata=_COUNTED,
    ),
    _qwen(2, "tool_result", {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "src"}}}),
    _qwen(3, "assistant", {"text": "In src."}, model="qwen3-coder", usageMetadata=_COUNTED),
)


_BODY = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "q"}]}
_ANSWER = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 3}}


def _helicone(number: int) -> dict[str, Any]:
    return {
        "request_id": f"r{number}",
        "request_created_at": f"2026-11-30T10:00:{number:02}Z",
        "request_path": "https://api.openai.com/v1/chat/completions",
        "request_body": _BODY,
        "response_body": _ANSWER,
    }


def _inspect() -> dict[str, Any]:
    moment = "2026-11-30T10:00:00Z"
    call = {
        "request": {"model": "gpt-5.5"},
        "call_refs": [[0, 1]],
        "call_key": "messages",
        "response": _ANSWER,
    }
    event = {"event": "model", "model": "openai/gpt-5.5", "timestamp": moment, "call": call}
    shared = {"calls": [{"role": "user", "content": "attachment://a"}]}
    sample = {"id": 1, "epoch": 1, "events": [event], "events_data": shared, "attachments": {"a": "q"}}
    return {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [sample]}


def _mlflow() -> dict[str, Any]:
    told = {
        "mlflow.spanType": "CHAT_MODEL",
        "mlflow.spanInputs": _BODY,
        "mlflow.spanOutputs": _ANSWER,
        "mlflow.message.format": "openai",
    }
    attributes = {key: json.dumps(value) for key, value in told.items()}
    span = {"span_id": "a", "start_time_unix_nano": 1_796_000_000_000_000_000, "attributes": attributes}
    return {"info": {"trace_id": "tr-1"}, "data": {"spans": [span]}}


def _generation(number: int) -> dict[str, Any]:
    data = {
        "type": "generation",
        "model": "gpt-5.5",
        "input": _BODY["messages"],
        "usage": {"input_tokens": 20, "output_tokens": 3},
    }
    started = f"2026-11-30T10:00:{number:02}Z"
    return {"object": "trace.span", "id": f"s{number}", "started_at": started, "span_data": data}


_ADDRESS = "https://api.openai.com/v1/chat/completions"
_AT = "[2026-11-30 10:00:00 - openai._base_client:486 - DEBUG]"
_OPTIONS = f"{{'method': 'post', 'url': '/chat/completions', 'json_data': {_BODY!r}}}"
_LOG = f"""{_AT} Request options: {_OPTIONS}
{_AT} Sending HTTP Request: POST {_ADDRESS}
{_AT} HTTP Response: POST {_ADDRESS} "200 OK" Headers({{'date': 'Mon, 30 Nov 2026 10:00:00 GMT'}})
""".encode()


def _pydantic() -> list[dict[str, Any]]:
    asked = {"part_kind": "user-prompt", "content": "q"}
    said = {"part_kind": "text", "content": "a"}
    usage = {"input_tokens": 20, "cache_read_tokens": 4, "output_tokens": 3}
    request = {"kind": "request", "parts": [asked], "instructions": "i", "timestamp": "2026-11-30T10:00:00Z"}
    return [request, {"kind": "response", "parts": [said], "model_name": "gpt-5.5", "usage": usage}]


EXAMPLES: tuple[Example, ...] = (
    Example(InputKind.LANGSMITH, "lines", lines(_run(2), _run(1))),
    Example(InputKind.LANGSMITH, "answer", dumped({"runs": [_run(2), _run(1)]}, 1)),
    Example(
        InputKind.LANGSMITH, "one run", dumped({**_run(1), "run_type": "chain", "child_runs": [_run(2)]})
    ),
    Example(InputKind.CLAUDE_STREAM, "lines", lines(*_STREAM)),
    Example(InputKind.CLAUDE_STREAM, "list", dumped(_STREAM)),
    Example(InputKind.QWEN_CODE, "", lines(*_QWEN)),
    Example(InputKind.HELICONE, "answer", dumped({"data": [_helicone(2), _helicone(1)]})),
    Example(InputKind.HELICONE, "lines", lines(_helicone(1), _helicone(2))),
    Example(InputKind.INSPECT, "", dumped(_inspect(), 1)),
    Example(InputKind.MLFLOW, "one", dumped(_mlflow(), 1)),
    Example(InputKind.MLFLOW, "answer", dumped({"traces": [_mlflow()]})),
    Example(InputKind.OPENAI_AGENTS, "lines", lines({"object": "trace", "id": "t"}, _generation(1))),
    Example(InputKind.OPENAI_AGENTS, "batch", dumped({"data": [_generation(2), _generation(1)]})),
    Example(InputKind.SDK_LOG, "", _LOG * 2),
    Example(InputKind.PYDANTIC_AI, "", dumped(_pydantic() * 2)),
    Example(InputKind.LANGCHAIN, "", lines(_BEGUN, _ENDED)),
)
