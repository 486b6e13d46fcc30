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
    image: str = ""
    """Base64 of an image that stands behind the text."""


@dataclass(frozen=True)
class Assistant:
    text: str = ""
    call: tuple[str, str, str] | None = None
    """Id, name and arguments as JSON text."""
    thought: str = ""


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
    return _BODIES[surface](system, tools, items)


def history_key(surface: Surface) -> str:
    """The key that holds the messages or items."""
    return {Surface.RESPONSES: "input", Surface.GENERATE_CONTENT: "contents"}.get(surface, "messages")


def _messages_body(system: str, tools: Sequence[Tool], items: Sequence[Item]) -> dict[str, Any]:
    return {
        "model": "claude-opus-5",
        "max_tokens": 100,
        "tools": [_anthropic_tool(one) for one in tools],
        "system": [{"type": "text", "text": system}],
        "messages": [_anthropic(one) for one in items],
    }


def _chat_body(system: str, tools: Sequence[Tool], items: Sequence[Item]) -> dict[str, Any]:
    return {
        "model": "gpt-5.4",
        "tools": [{"type": "function", "function": one} for one in tools],
        "messages": [{"role": "system", "content": system}, *map(_chat, items)],
    }


def _responses_body(system: str, tools: Sequence[Tool], items: Sequence[Item]) -> dict[str, Any]:
    return {
        "model": "gpt-5.5",
        "tools": [{"type": "function", **one} for one in tools],
        "instructions": system,
        "input": [row for one in items for row in _responses(one)],
    }


def _gemini_body(system: str, tools: Sequence[Tool], items: Sequence[Item]) -> dict[str, Any]:
    names = {one.call[0]: one.call[1] for one in items if isinstance(one, Assistant) and one.call}
    return {
        "tools": [{"functionDeclarations": list(tools)}],
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": [_gemini(one, names) for one in items],
    }


def _converse_body(system: str, tools: Sequence[Tool], items: Sequence[Item]) -> dict[str, Any]:
    config = {"toolConfig": {"tools": [_bedrock_tool(one) for one in tools]}} if tools else {}
    return {
        **config,
        "system": [{"text": system}],
        "messages": [_converse(one) for one in items],
    }


_BODIES = {
    Surface.MESSAGES: _messages_body,
    Surface.CHAT_COMPLETIONS: _chat_body,
    Surface.RESPONSES: _responses_body,
    Surface.GENERATE_CONTENT: _gemini_body,
    Surface.CONVERSE: _converse_body,
}


def _anthropic_tool(one: Tool) -> dict[str, Any]:
    return {("input_schema" if key == "parameters" else key): value for key, value in one.items()}


def _bedrock_tool(one: Tool) -> dict[str, Any]:
    rest = {key: value for key, value in one.items() if key != "parameters"}
    return {"toolSpec": {**rest, "inputSchema": {"json": one["parameters"]}}}


def _anthropic(item: Item) -> dict[str, Any]:
    if isinstance(item, User):
        source = {"type": "base64", "media_type": "image/png", "data": item.image}
        return _with_image(_text_parts(item, "text"), item, {"type": "image", "source": source})
    if isinstance(item, Result):
        part = {"type": "tool_result", "tool_use_id": item.call_id, "content": item.text}
        return {"role": "user", "content": [part]}
    parts: list[dict[str, Any]] = []
    if item.thought:
        parts.append({"type": "thinking", "thinking": item.thought, "signature": "c2ln"})
    if item.text:
        parts.append({"type": "text", "text": item.text})
    if item.call is not None:
        call_id, name, arguments = item.call
        parts.append({"type": "tool_use", "id": call_id, "name": name, "input": json.loads(arguments)})
    return {"role": "assistant", "content": parts}


def _text_parts(item: User, kind: str) -> list[dict[str, Any]]:
    return [{"type": kind, "text": text} for text in (item.text, item.suffix) if text]


def _with_image(parts: list[dict[str, Any]], item: User, image: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [*parts, image] if item.image else parts}


def _data_url(item: User) -> str:
    return f"data:image/png;base64,{item.image}"


def _chat(item: Item) -> dict[str, Any]:
    if isinstance(item, User):
        image = {"type": "image_url", "image_url": {"url": _data_url(item)}}
        return _with_image(_text_parts(item, "text"), item, image)
    if isinstance(item, Result):
        return {"role": "tool", "tool_call_id": item.call_id, "content": item.text}
    message: dict[str, Any] = {"role": "assistant", "content": item.text or None}
    if item.thought:
        message["reasoning_content"] = item.thought
    if item.call is not None:
        call_id, name, arguments = item.call
        function = {"name": name, "arguments": arguments}
        message["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    return message


def _responses(item: Item) -> list[dict[str, Any]]:
    if isinstance(item, User):
        image = {"type": "input_image", "image_url": _data_url(item)}
        return [_with_image(_text_parts(item, "input_text"), item, image)]
    if isinstance(item, Result):
        return [{"type": "function_call_output", "call_id": item.call_id, "output": item.text}]
    rows: list[dict[str, Any]] = []
    if item.thought:
        summary = [{"type": "summary_text", "text": item.thought}]
        rows.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if item.text:
        rows.append({"role": "assistant", "content": [{"type": "output_text", "text": item.text}]})
    if item.call is not None:
        call_id, name, arguments = item.call
        rows.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments})
    return rows


def _gemini(item: Item, names: dict[str, str]) -> dict[str, Any]:
    if isinstance(item, User):
        parts: list[dict[str, Any]] = [{"text": text} for text in (item.text, item.suffix) if text]
        if item.image:
            parts.append({"inlineData": {"mimeType": "image/png", "data": item.image}})
        return {"role": "user", "parts": parts}
    if isinstance(item, Result):
        name = names.get(item.call_id, "tool")
        answer = {"id": item.call_id, "name": name, "response": {"output": item.text}}
        return {"role": "user", "parts": [{"functionResponse": answer}]}
    parts = [{"text": item.thought, "thought": True}] if item.thought else []
    if item.text:
        parts.append({"text": item.text})
    if item.call is not None:
        call_id, name, arguments = item.call
        parts.append({"functionCall": {"id": call_id, "name": name, "args": json.loads(arguments)}})
    return {"role": "model", "parts": parts}


def _converse(item: Item) -> dict[str, Any]:
    if isinstance(item, User):
        parts: list[dict[str, Any]] = [{"text": text} for text in (item.text, item.suffix) if text]
        if item.image:
            parts.append({"image": {"format": "png", "source": {"bytes": item.image}}})
        return {"role": "user", "content": parts}
    if isinstance(item, Result):
        answer = {"toolUseId": item.call_id, "content": [{"text": item.text}]}
        return {"role": "user", "content": [{"toolResult": answer}]}
    parts = []
    if item.thought:
        thought = {"text": item.thought, "signature": "c2ln"}
        parts.append({"reasoningContent": {"reasoningText": thought}})
    if item.text:
        parts.append({"text": item.text})
    if item.call is not None:
        call_id, name, arguments = item.call
        parts.append({"toolUse": {"toolUseId": call_id, "name": name, "input": json.loads(arguments)}})
    return {"role": "assistant", "content": parts}


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
