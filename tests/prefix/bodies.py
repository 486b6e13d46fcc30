"""One small conversation, written in the format of each surface."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from coldturn.reference.prefix.model import NO_LABELS, Labels, Surface
from coldturn.reference.prefix.request import PromptRequest, read_request

Tool: TypeAlias = dict[str, Any]

PADDING = "You are a careful assistant. Answer briefly and name your sources.\n" * 20


@dataclass(frozen=True)
class User:
    text: str
    suffix: str = ""


@dataclass(frozen=True)
class Assistant:
    text: str = ""
    call: tuple[str, str, str] | None = None
    """Id, name and arguments as JSON text."""


@dataclass(frozen=True)
class Result:
    call_id: str
    text: str


Item: TypeAlias = User | Assistant | Result


def tool(name: str, description: str = "Does what its name says.", **properties: object) -> Tool:
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": properties or {"path": {"type": "string"}, "limit": {"type": "integer"}},
        },
    }


def body(
    surface: Surface, *, system: str = PADDING, tools: Sequence[Tool] = (), history: Sequence[Item] = ()
) -> dict[str, Any]:
    """A request body. An empty history gets one user message."""
    items = list(history) or [User("hello")]
    if surface is Surface.MESSAGES:
        return {
            "model": "claude-opus-5",
            "max_tokens": 100,
            "tools": [_anthropic_tool(one) for one in tools],
            "system": [{"type": "text", "text": system}],
            "messages": [_anthropic(one) for one in items],
        }
    if surface is Surface.CHAT_COMPLETIONS:
        return {
            "model": "gpt-5.4",
            "tools": [{"type": "function", "function": one} for one in tools],
            "messages": [{"role": "system", "content": system}, *map(_chat, items)],
        }
    return {
        "model": "gpt-5.5",
        "tools": [{"type": "function", **one} for one in tools],
        "instructions": system,
        "input": [row for one in items for row in _responses(one)],
    }


def _anthropic_tool(one: Tool) -> dict[str, Any]:
    return {("input_schema" if key == "parameters" else key): value for key, value in one.items()}


def _anthropic(item: Item) -> dict[str, Any]:
    if isinstance(item, User):
        return {
            "role": "user",
            "content": [{"type": "text", "text": t} for t in (item.text, item.suffix) if t],
        }
    if isinstance(item, Result):
        part = {"type": "tool_result", "tool_use_id": item.call_id, "content": item.text}
        return {"role": "user", "content": [part]}
    parts: list[dict[str, Any]] = [{"type": "text", "text": item.text}] if item.text else []
    if item.call is not None:
        call_id, name, arguments = item.call
        parts.append({"type": "tool_use", "id": call_id, "name": name, "input": json.loads(arguments)})
    return {"role": "assistant", "content": parts}


def _chat(item: Item) -> dict[str, Any]:
    if isinstance(item, User):
        return {
            "role": "user",
            "content": [{"type": "text", "text": t} for t in (item.text, item.suffix) if t],
        }
    if isinstance(item, Result):
        return {"role": "tool", "tool_call_id": item.call_id, "content": item.text}
    message: dict[str, Any] = {"role": "assistant", "content": item.text or None}
    if item.call is not None:
        call_id, name, arguments = item.call
        function = {"name": name, "arguments": arguments}
        message["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    return message


def _responses(item: Item) -> list[dict[str, Any]]:
    if isinstance(item, User):
        parts = [{"type": "input_text", "text": t} for t in (item.text, item.suffix) if t]
        return [{"role": "user", "content": parts}]
    if isinstance(item, Result):
        return [{"type": "function_call_output", "call_id": item.call_id, "output": item.text}]
    rows: list[dict[str, Any]] = []
    if item.text:
        rows.append({"role": "assistant", "content": [{"type": "output_text", "text": item.text}]})
    if item.call is not None:
        call_id, name, arguments = item.call
        rows.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
    return rows


def encoded(value: dict[str, Any]) -> bytes:
    """Compact JSON in the order of the keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def request(
    surface: Surface,
    *,
    system: str = PADDING,
    tools: Sequence[Tool] = (),
    history: Sequence[Item] = (),
    labels: Labels = NO_LABELS,
) -> PromptRequest:
    """The same, read."""
    data = encoded(body(surface, system=system, tools=tools, history=history))
    return read_request(data, surface=surface, labels=labels)


def read(value: dict[str, Any], surface: Surface, labels: Labels = NO_LABELS) -> PromptRequest:
    """A body, read."""
    return read_request(encoded(value), surface=surface, labels=labels)
