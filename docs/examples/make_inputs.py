"""Write the inputs of docs/inputs.md: the same three calls as a proxy and tracers keep them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RULES = "\n".join(f"- Rule {number}: read before you write, and say what you did." for number in range(90))
URL = "https://api.openai.com/v1/chat/completions"
MODEL = "gpt-4.1"
TOOL = {"name": "read_file", "description": "Read a file.", "parameters": {"type": "object"}}
TURNS = ("Where is the parser?", "And its tests?", "Thanks, run them.")
TIMES = ("09:00", "09:00", "09:01")
USAGE = ((1410, 0), (1430, 1280), (1450, 0))
SECOND = 1_000_000_000
BEGIN = 1_796_029_200


def system(call: int) -> str:
    """The system text of a call, with a clock in it."""
    return f"You keep a repository in order. It is {TIMES[call]}.\n\n## Rules\n{RULES}"


def said(call: int) -> list[tuple[str, str]]:
    """Who said what up to a call."""
    answers = [("assistant", f"Answer {number}.") for number in range(call)]
    asked = [("user", text) for text in TURNS[: call + 1]]
    pairs = [one for pair in zip(asked, answers, strict=False) for one in pair]
    return [*pairs, asked[-1]]


def body(call: int) -> dict[str, Any]:
    """The request of a call."""
    messages = [{"role": role, "content": text} for role, text in [("system", system(call)), *said(call)]]
    return {"model": MODEL, "messages": messages, "tools": [{"type": "function", "function": TOOL}]}


def usage(call: int) -> dict[str, Any]:
    """What the provider counted."""
    whole, read = USAGE[call]
    return {"prompt_tokens": whole, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": read}}


def entry(call: int) -> dict[str, Any]:
    """A call as a recording proxy writes it."""
    sent = {"mimeType": "application/json", "text": json.dumps(body(call))}
    answered = {"mimeType": "application/json", "text": json.dumps({"choices": [], "usage": usage(call)})}
    return {
        "startedDateTime": f"2026-11-30T09:00:{20 * call:02}Z",
        "request": {"method": "POST", "url": URL, "headers": [], "postData": sent},
        "response": {"status": 200, "headers": [], "content": answered},
        "timings": {"send": 1, "wait": 800, "receive": 300},
    }


def har() -> dict[str, Any]:
    """What a recording proxy writes."""
    creator = {"name": "proxy", "version": "1"}
    return {"log": {"version": "1.2", "creator": creator, "entries": [entry(call) for call in range(3)]}}


def attribute(key: str, value: str | int) -> dict[str, Any]:
    """An attribute in OTLP's JSON."""
    return {"key": key, "value": {"intValue": value} if isinstance(value, int) else {"stringValue": value}}


def span(call: int, *, content: bool) -> dict[str, Any]:
    """The span of a call, with its messages or without."""
    whole, read = USAGE[call]
    told: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": MODEL,
        "gen_ai.usage.input_tokens": whole,
        "gen_ai.usage.cache_read.input_tokens": read,
    }
    if content:
        parts = [{"role": who, "parts": [{"type": "text", "content": text}]} for who, text in said(call)]
        told["gen_ai.system_instructions"] = json.dumps([{"type": "text", "content": system(call)}])
        told["gen_ai.input.messages"] = json.dumps(parts)
        told["gen_ai.tool.definitions"] = json.dumps([{"type": "function", **TOOL}])
    found = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": f"{call + 1:016x}",
        "name": f"chat {MODEL}",
        "startTimeUnixNano": str((BEGIN + 20 * call) * SECOND),
        "attributes": [attribute(key, value) for key, value in told.items()],
    }
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "agent"}, "spans": [found]}]}]}


def langfuse() -> dict[str, Any]:
    """An export, its observations in no order."""
    observations = [
        {
            "id": f"o{call}",
            "traceId": "t",
            "type": "GENERATION",
            "startTime": f"2026-11-30T09:00:{20 * call:02}Z",
            "model": MODEL,
            "input": json.dumps({"messages": body(call)["messages"], "tools": body(call)["tools"]}),
            "usageDetails": {"input": USAGE[call][0], "output": 9, "total": USAGE[call][0] + 9},
        }
        for call in (2, 0, 1)
    ]
    return {"trace": {"id": "t", "projectId": "p"}, "observations": observations}


def langsmith(call: int) -> dict[str, Any]:
    """A run as an export of LangSmith holds it."""
    kinds = {"system": "SystemMessage", "user": "HumanMessage", "assistant": "AIMessage"}
    messages = [
        {"lc": 1, "type": "constructor", "id": [kinds[role]], "kwargs": {"content": text}}
        for role, text in [("system", system(call)), *said(call)]
    ]
    whole, read = USAGE[call]
    usage = {"input_tokens": whole, "output_tokens": 9, "input_token_details": {"cache_read": read}}
    answer = {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"usage_metadata": usage}}
    return {
        "id": f"r{call}",
        "run_type": "llm",
        "start_time": f"2026-11-30T09:00:{20 * call:02}Z",
        "inputs": {"messages": [messages]},
        "outputs": {"generations": [[{"message": answer}]]},
        "extra": {
            "invocation_params": {"model": MODEL, "tools": body(call)["tools"]},
            "metadata": {"ls_provider": "openai"},
        },
    }


def prompt(call: int) -> dict[str, Any]:
    """A call as a log of flattened texts keeps it."""
    text = "\n".join(f"{role}: {words}" for role, words in [("system", system(call)), *said(call)])
    return {"timestamp": BEGIN + 20 * call, "input": text, "output": "...", "session_id": "s"}


def lines(*values: object) -> str:
    """JSON, one value a line."""
    return "".join(json.dumps(value) + "\n" for value in values)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    files = {
        "proxy.har": json.dumps(har(), indent=1),
        "spans.jsonl": lines(*(span(call, content=True) for call in range(3))),
        "bare-spans.jsonl": lines(*(span(call, content=False) for call in range(3))),
        "export.json": json.dumps(langfuse(), indent=1),
        "runs.jsonl": lines(*(langsmith(call) for call in (2, 0, 1))),
        "prompts.jsonl": lines(*(prompt(call) for call in range(3))),
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
