"""Messages as observers write them down, in one form.

Every library has its own spelling of the same few parts. What none of these rules knows is kept as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from coldturn.traces.slices import to_json

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
_ID_KEYS = ("id", "toolCallId", "tool_call_id", "tool_use_id", "toolUseId", "call_id")
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
    """Compact JSON as a text; see `to_json`."""
    return to_json(value).decode()


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
        found = first(value, *_RESULT_KEYS)
        return Part("result", _as_text(found), _text(value, *_RESULT_ID_KEYS), _text(value, *_NAME_KEYS))
    said = first(value, *_TEXT_KEYS)
    return Part(known, said) if known and isinstance(said, str) else Part("other", raw=value)


def _untyped(value: Mapping[str, Json]) -> Part:
    """Parts of Gemini and of Bedrock's Converse, whose kind is the name of their one member."""
    for key in ("function_call", "functionCall", "toolUse"):
        if isinstance(value.get(key), Mapping):
            return _call(value[key])
    for key in ("function_response", "functionResponse", "toolResult"):
        answer = value.get(key)
        if isinstance(answer, Mapping):
            id_ = _text(answer, "id", "toolUseId")
            return Part("result", _as_text(first(answer, *_RESULT_KEYS)), id_, _text(answer, "name"))
    said = value.get("text")
    return Part("text", said) if isinstance(said, str) else Part("other", raw=value)


def _call(value: Json) -> Part:
    """A call: bare, or as Chat Completions nest it."""
    if not isinstance(value, Mapping):
        return Part("other", raw=value)
    inner = value.get("function")
    source = inner if isinstance(inner, Mapping) else value
    arguments = _as_text(first(source, *_ARGUMENT_KEYS))
    return Part("call", arguments, _text(value, *_ID_KEYS), _text(source, *_NAME_KEYS))


def first(value: Mapping[str, Json], *keys: str) -> Json:
    """The first of the members that is there and not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _text(value: Mapping[str, Json], *keys: str) -> str:
    return next((value[key] for key in keys if isinstance(value.get(key), str)), "")


def _as_text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(value)
