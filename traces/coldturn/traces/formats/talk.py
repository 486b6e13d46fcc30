"""Messages as observers write them down, in one form; and bodies of two request formats made from them.

Every library has its own spelling of the same few parts. What none of these rules knows is kept as it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from coldturn.traces.slices import NotJsonError, value_of

Json: TypeAlias = Any
Kind: TypeAlias = Literal["text", "reasoning", "call", "result", "other"]

_KINDS: Mapping[str, Kind] = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "reasoning": "reasoning",
    "thinking": "reasoning",
    "tool_call": "call",
    "tool-call": "call",
    "tool_use": "call",
    "function_call": "call",
    "tool_call_response": "result",
    "tool-result": "result",
    "tool_result": "result",
    "function_call_output": "result",
}
_TEXT_KEYS = ("content", "text", "thinking", "reasoning")
_ID_KEYS = ("id", "toolCallId", "tool_call_id", "tool_use_id", "call_id")
_RESULT_ID_KEYS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
_NAME_KEYS = ("name", "toolName", "tool_name")
_ARGUMENT_KEYS = ("arguments", "input", "args")
_RESULT_KEYS = ("response", "result", "output", "content")
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message.

    Attributes:
        text: Of a text or of reasoning; the arguments of a call; the content of a result.
        raw: Of an `other`: the part as it stood.
    """

    kind: Kind
    text: str = ""
    id: str = ""
    name: str = ""
    raw: Json = None


@dataclass(frozen=True, slots=True)
class Message:
    """Who said what."""

    role: str
    parts: tuple[Part, ...]


def compact(value: Json) -> str:
    """Compact JSON, key order kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def messages_of(value: Json) -> tuple[Message, ...]:
    """Read a list of messages in any of the spellings known; what is no message becomes one of the user."""
    listed = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
    return tuple(_message(one) for one in listed)


def parts_of(value: Json) -> tuple[Part, ...]:
    """Read a message's content: a text, or a list of parts."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (Part("text", value),)
    if isinstance(value, Sequence):
        return tuple(_part(one) for one in value)
    return (_part(value),)


def _message(value: Json) -> Message:
    if not isinstance(value, Mapping):
        return Message("user", parts_of(value))
    kind = value.get("type")
    if "role" not in value and isinstance(kind, str) and kind in _KINDS:
        part = _part(value)  # items of OpenAI Responses
        return Message("tool" if part.kind == "result" else "assistant", (part,))
    named = _text(value, "role", "type") or "user"
    role = _ROLES.get(named, named)
    content = value["parts"] if "parts" in value else value.get("content")
    answered = _text(value, "tool_call_id", "id") if role == "tool" else ""
    if role == "tool" and isinstance(content, str):
        return Message(role, (Part("result", content, id=answered, name=_text(value, "name")),))
    calls = value.get("tool_calls")
    listed = calls if isinstance(calls, Sequence) and not isinstance(calls, str) else ()
    return Message(role, (*parts_of(content), *(_call(one) for one in listed)))


def _part(value: Json) -> Part:
    if isinstance(value, str):
        return Part("text", value)
    if not isinstance(value, Mapping):
        return Part("other", raw=value)
    kind = value.get("type")
    if kind is None:
        return _untyped(value)
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    if known == "call":
        return _call(value)
    if known == "result":
        found = _first(value, *_RESULT_KEYS)
        return Part("result", _as_text(found), _text(value, *_RESULT_ID_KEYS), _text(value, *_NAME_KEYS))
    said = _first(value, *_TEXT_KEYS)
    return Part(known, said) if known and isinstance(said, str) else Part("other", raw=value)


def _untyped(value: Mapping[str, Json]) -> Part:
    """Gemini's parts, whose kind is the name of their one member."""
    for key in ("function_call", "functionCall"):
        if isinstance(value.get(key), Mapping):
            return _call(value[key])
    for key in ("function_response", "functionResponse"):
        answer = value.get(key)
        if isinstance(answer, Mapping):
            return Part(
                "result", _as_text(_first(answer, *_RESULT_KEYS)), _text(answer, "id"), _text(answer, "name")
            )
    said = value.get("text")
    return Part("text", said) if isinstance(said, str) else Part("other", raw=value)


def _call(value: Json) -> Part:
    """A call: bare, or as Chat Completions nest it."""
    if not isinstance(value, Mapping):
        return Part("other", raw=value)
    inner = value.get("function")
    source = inner if isinstance(inner, Mapping) else value
    arguments = _as_text(_first(source, *_ARGUMENT_KEYS))
    return Part("call", arguments, _text(value, *_ID_KEYS), _text(source, *_NAME_KEYS))


def _first(value: Mapping[str, Json], *keys: str) -> Json:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _text(value: Mapping[str, Json], *keys: str) -> str:
    return next((value[key] for key in keys if isinstance(value.get(key), str)), "")


def _as_text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(value)


def chat_body(model: str, messages: Iterable[Message], tools: Sequence[Json] | None) -> dict[str, Json]:
    """A body of Chat Completions."""
    body: dict[str, Json] = {"model": model}
    if tools:
        body["tools"] = [chat_tool(tool) for tool in tools]
    body["messages"] = [said for one in messages for said in _chat_messages(one)]
    return body


def chat_tool(tool: Json) -> Json:
    """A tool definition in the form of Chat Completions; one that is so already stays."""
    if not isinstance(tool, Mapping) or "function" in tool or "name" not in tool:
        return tool
    known = {"name": tool["name"]}
    if tool.get("description") is not None:
        known["description"] = tool["description"]
    schema = _first(tool, "parameters", "input_schema", "inputSchema", "parameters_json_schema")
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


def anthropic_body(model: str, messages: Iterable[Message], tools: Sequence[Json] | None) -> dict[str, Json]:
    """A body of Anthropic Messages; leading system messages become its `system`."""
    listed = list(messages)
    system: list[Json] = []
    while listed and listed[0].role == "system":
        system += [_anthropic_part(one) for one in listed.pop(0).parts]
    body: dict[str, Json] = {"model": model}
    if tools:
        body["tools"] = [_anthropic_tool(tool) for tool in tools]
    body["system"] = system
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
    schema = _first(inner, "input_schema", "parameters", "inputSchema", "parameters_json_schema")
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
