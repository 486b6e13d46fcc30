"""What a span says was sent to a model: messages and tools, in the spelling of each library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from coldturn.traces.formats.spans import DETAILS, Event, Span
from coldturn.traces.formats.talk import Message, messages_of, parts_of
from coldturn.traces.slices import NotJsonError, value_of

Json: TypeAlias = Any
Attributes: TypeAlias = Mapping[str, Json]

_EVENT_ROLE = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")


def parsed(value: Json) -> Json:
    """A value that may stand as the text of its JSON."""
    if not isinstance(value, str):
        return value
    try:
        return value_of(value.encode("utf-8", "surrogatepass"))
    except NotJsonError:
        return value


def messages_in(span: Span) -> tuple[Message, ...] | None:
    """The messages of a span, system text in front; None when it kept none."""
    for read in (_conventions, _openinference, _vercel, _openllmetry, _event_list, _events, _prompt):
        found = read(span)
        if found:
            return found
    return None


def tools_in(span: Span) -> list[Json] | None:
    """The tool definitions of a span; None when it kept none."""
    attributes = span.attributes
    for key in ("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools"):
        found = parsed(attributes.get(key))
        if isinstance(found, list):
            return [parsed(one) for one in found]
    parameters = parsed(attributes.get("model_request_parameters"))
    if isinstance(parameters, Mapping):
        return [
            *_listed(parameters.get("function_tools")),
            *_listed(parameters.get("output_tools")),
        ]
    listed = nested(attributes, "llm.tools")
    if listed:
        return [parsed(_within(one, "tool", "json_schema")) for one in listed]
    functions = nested(attributes, "llm.request.functions")
    if functions:
        return [
            {key: parsed(value) for key, value in one.items()}
            for one in functions
            if isinstance(one, Mapping)
        ]
    if "ai.prompt.messages" in attributes:
        return []  # Vercel's SDK writes the tools wherever it writes the messages, if there are any
    return None


def nested(attributes: Attributes, prefix: str) -> list[Json]:
    """Attributes like ``prefix.0.a.b`` as a list of nested values, in the order of the numbers."""
    whole = attributes.get(prefix)
    if isinstance(whole, list):
        return [_unflattened(one) if isinstance(one, Mapping) else one for one in whole]
    start = prefix + "."
    found = {key[len(start) :]: value for key, value in attributes.items() if key.startswith(start)}
    grown = _unflattened(found)
    return grown if isinstance(grown, list) else []


def _unflattened(flat: Mapping[str, Json]) -> Json:
    root: dict[str, Json] = {}
    for key, value in flat.items():
        *way, last = key.split(".")
        place = root
        for step in way:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                break  # a name that is a value here and a parent there: the value stays
            place = inner
        else:
            place.setdefault(last, value)
    return _numbered(root)


def _numbered(value: Json) -> Json:
    """Maps whose keys are all numbers, as lists."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isascii() and key.isdigit() and len(key) < 10 for key in value):
        return [_numbered(value[key]) for key in sorted(value, key=int)]
    return {key: _numbered(inner) for key, inner in value.items()}


def _conventions(span: Span) -> tuple[Message, ...]:
    """``gen_ai.input.messages`` and ``gen_ai.system_instructions``, on the span or on its details event."""
    holders = [span.attributes, *(one.attributes for one in span.events if one.name == DETAILS)]
    for attributes in holders:
        said = parsed(attributes.get("gen_ai.input.messages"))
        system = parsed(attributes.get("gen_ai.system_instructions"))
        if said:
            head = (Message("system", parts_of(system)),) if system else ()
            return (*head, *messages_of(said))
    return ()


def _openinference(span: Span) -> tuple[Message, ...]:
    return messages_of([_openinference_message(one) for one in nested(span.attributes, "llm.input_messages")])


def _openinference_message(value: Json) -> Json:
    message = _within(value, "message")
    if not isinstance(message, Mapping):
        return value
    built: dict[str, Json] = {"role": message.get("role", "user"), "content": message.get("content")}
    contents = [_openinference_content(one) for one in _listed(message.get("contents"))]
    if contents:
        built["content"] = contents
    calls = [_within(one, "tool_call") for one in _listed(message.get("tool_calls"))]
    placed = {_within(one, "id") for one in contents}  # a call may stand in its place and in the list
    calls = [one for one in calls if _within(one, "id") not in placed]
    if calls:
        built["tool_calls"] = calls
    for key in ("tool_call_id", "name"):
        if key in message:
            built[key] = message[key]
    return built


def _openinference_content(value: Json) -> Json:
    call = _within(value, "tool_call")
    return {**call, "type": "tool_call"} if isinstance(call, Mapping) else _within(value, "message_content")


def _vercel(span: Span) -> tuple[Message, ...]:
    found = parsed(span.attributes.get("ai.prompt.messages"))
    return messages_of(found) if isinstance(found, list) else ()


def _openllmetry(span: Span) -> tuple[Message, ...]:
    return messages_of(nested(span.attributes, "gen_ai.prompt"))


def _event_list(span: Span) -> tuple[Message, ...]:
    """pydantic-ai's first form: all events as one attribute; what the model said stands among them."""
    found = parsed(span.attributes.get("events"))
    listed = [one for one in _listed(found) if isinstance(one, Mapping)]
    sent = [one for one in listed if _EVENT_ROLE.fullmatch(_text(one.get("event.name")))]
    return messages_of([_with_role(one, _text(one.get("event.name"))) for one in sent])


def _events(span: Span) -> tuple[Message, ...]:
    """Events of their own for each message, their content flat or as the text of a JSON object."""
    return messages_of([
        _with_role(_event_content(one), one.name) for one in span.events if _EVENT_ROLE.fullmatch(one.name)
    ])  # fmt: skip


def _event_content(event: Event) -> Json:
    for key in ("gen_ai.event.content", "body"):
        inner = parsed(event.attributes.get(key))
        if isinstance(inner, Mapping):
            return inner
    return {key: parsed(value) if key == "tool_calls" else value for key, value in event.attributes.items()}


def _with_role(value: Json, event: str) -> Json:
    named = _EVENT_ROLE.fullmatch(event)
    return {"role": named[1] if named else "user", **value} if isinstance(value, Mapping) else value


def _prompt(span: Span) -> tuple[Message, ...]:
    """The oldest form: one attribute, on the span or on an event of its own."""
    holders = (
        span.attributes,
        *(one.attributes for one in span.events if one.name == "gen_ai.content.prompt"),
    )
    for attributes in holders:
        found = parsed(attributes.get("gen_ai.prompt"))
        if found:
            return messages_of(found)
    return ()


def _within(value: Json, *keys: str) -> Json:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
