"""Request bodies written afresh from messages, in the format of the provider that they went to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from coldturn.reference.prefix.model import Surface
from coldturn.traces.formats.talk import Message, Part, first
from coldturn.traces.slices import NotJsonError, value_of

Json: TypeAlias = Any

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parameters_json_schema")


def body_of(surface: Surface, model: str, messages: Iterable[Message], tools: Sequence[Json] | None) -> Json:
    """A body of Anthropic Messages or Gemini's generateContent; for other surfaces, of Chat Completions."""
    match surface:
        case Surface.MESSAGES:
            return _anthropic_body(model, messages, tools)
        case Surface.GENERATE_CONTENT:
            return _gemini_body(messages, tools)
        case _:
            return _chat_body(model, messages, tools)


def _leading_system(messages: Iterable[Message]) -> tuple[list[Part], list[Message]]:
    """The parts of the system messages in front, and the messages behind them."""
    listed = list(messages)
    system: list[Part] = []
    while listed and listed[0].role == "system":
        system += listed.pop(0).parts
    return system, listed


def _chat_body(model: str, messages: Iterable[Message], tools: Sequence[Json] | None) -> dict[str, Json]:
    """A body of Chat Completions."""
    body: dict[str, Json] = {"model": model}
    if tools:
        body["tools"] = [_chat_tool(tool) for tool in tools]
    body["messages"] = [said for one in messages for said in _chat_messages(one)]
    return body


def _chat_tool(tool: Json) -> Json:
    """A tool definition in the form of Chat Completions; one that is so already stays."""
    if not isinstance(tool, Mapping) or "function" in tool or "name" not in tool:
        return tool
    known = {"name": tool["name"]}
    if tool.get("description") is not None:
        known["description"] = tool["description"]
    schema = first(tool, *_SCHEMA_KEYS)
    if schema is not None:
        known["parameters"] = schema
    return {"type": "function", "function": known}


def _chat_messages(message: Message) -> list[dict[str, Json]]:
    said = [one for one in message.parts if one.kind not in ("call", "result")]
    calls = [one for one in message.parts if one.kind == "call"]
    built: list[dict[str, Json]] = [
        {"role": "tool", "tool_call_id": one.id, "content": one.text}
        for one in message.parts
        if one.kind == "result"
    ]
    if said or calls or not built:
        body: dict[str, Json] = {"role": message.role, "content": _chat_content(said)}
        if calls:
            body["tool_calls"] = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.text}}
                for one in calls
            ]
        built.append(body)
    return built


def _chat_content(parts: Sequence[Part]) -> Json:
    if not parts:
        return None
    if len(parts) == 1 and parts[0].kind == "text":
        return parts[0].text
    return [_chat_part(one) for one in parts]


def _chat_part(part: Part) -> Json:
    return part.raw if part.kind == "other" else {"type": part.kind, "text": part.text}


def _anthropic_body(model: str, messages: Iterable[Message], tools: Sequence[Json] | None) -> dict[str, Json]:
    """A body of Anthropic Messages; leading system messages become its `system`."""
    system, listed = _leading_system(messages)
    body: dict[str, Json] = {"model": model}
    if tools:
        body["tools"] = [_anthropic_tool(tool) for tool in tools]
    body["system"] = [_anthropic_part(one) for one in system]
    body["messages"] = [
        {
            "role": "user" if one.role == "tool" else one.role,
            "content": [_anthropic_part(part) for part in one.parts],
        }
        for one in listed
    ]
    return body


def _anthropic_tool(tool: Json) -> Json:
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else tool
    if not isinstance(inner, Mapping) or "name" not in inner:
        return tool
    known = {key: inner[key] for key in ("name", "description") if inner.get(key) is not None}
    schema = first(inner, *_SCHEMA_KEYS)
    return known if schema is None else {**known, "input_schema": schema}


def _anthropic_part(part: Part) -> Json:
    match part.kind:
        case "text":
            return {"type": "text", "text": part.text}
        case "reasoning":
            return {"type": "thinking", "thinking": part.text}
        case "call":
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": _object(part.text)}
        case "result":
            return {"type": "tool_result", "tool_use_id": part.id, "content": part.text}
        case "other":
            return part.raw


def _object(text: str) -> Json:
    try:
        return value_of(text.encode("utf-8", "surrogatepass"))
    except NotJsonError:
        return text


def _gemini_body(messages: Iterable[Message], tools: Sequence[Json] | None) -> dict[str, Json]:
    """A body of generateContent, whose model stands in the address."""
    system, listed = _leading_system(messages)
    body: dict[str, Json] = {}
    if system:
        body["systemInstruction"] = {"parts": [_gemini_part(one) for one in system]}
    if tools:
        body["tools"] = [{"functionDeclarations": [_gemini_tool(tool) for tool in tools]}]
    body["contents"] = [
        {
            "role": "model" if one.role == "assistant" else "user",
            "parts": [_gemini_part(part) for part in one.parts],
        }
        for one in listed
    ]
    return body


def _gemini_tool(tool: Json) -> Json:
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else tool
    if not isinstance(inner, Mapping) or "name" not in inner:
        return tool
    known = {key: inner[key] for key in ("name", "description") if inner.get(key) is not None}
    schema = first(inner, *_SCHEMA_KEYS)
    return known if schema is None else {**known, "parameters": schema}


def _gemini_part(part: Part) -> Json:
    match part.kind:
        case "text":
            return {"text": part.text}
        case "reasoning":
            return {"text": part.text, "thought": True}
        case "call":
            return {"functionCall": {"name": part.name, "args": _object(part.text)}}
        case "result":
            return {"functionResponse": {"name": part.name, "response": _object(part.text)}}
        case "other":
            return part.raw
