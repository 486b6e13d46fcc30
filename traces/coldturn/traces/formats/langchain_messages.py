"""LangChain's messages, in every form in which its tracers and callbacks write them down.

A constructor (``{"lc": 1, "id": [..., "HumanMessage"], "kwargs": {...}}``), `messages_to_dict`'s ``{"type",
"data"}``, a message's own fields (``{"type": "human", "content": ...}``), or a plain ``{"role", "content"}``.
Source: ``dumpd``, ``messages_to_dict`` and the messages' classes of langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from coldturn.traces.formats.talk import Message, compact, messages_of
from coldturn.traces.formats.timed import listed, mapping, text
from coldturn.traces.usage_reply import Counts, counts

Json: TypeAlias = Any

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_EPHEMERAL = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


def langchain_messages(value: Json) -> tuple[Message, ...]:
    """The messages of a prompt; none where what stands there is no list of messages."""
    said = listed(value)
    if not said or not all(isinstance(one, Mapping) for one in said):
        return ()
    return messages_of([_plain(fields_of(one)) for one in said])


def fields_of(message: Json) -> Mapping[str, Json]:
    """A message's own fields, its kind under `type` or `role`."""
    told = mapping(message)
    inner = mapping(told.get("kwargs"))
    if told.get("lc") is not None and inner:
        named = listed(told.get("id"))
        return {"type": text(named[-1]) if named else "", **inner}
    data = mapping(told.get("data"))
    return {"type": told.get("type"), **data} if data else told


def usage_in(outputs: Mapping[str, Json]) -> Counts:
    """What an answer reports: a message, or a result of generations with one."""
    generations = listed(outputs.get("generations"))
    first = listed(generations[0]) if generations and isinstance(generations[0], list) else generations
    answer = fields_of(mapping(first[0]).get("message")) if first else fields_of(outputs)
    for holder in (answer, outputs):
        found = counts_of(mapping(holder.get("usage_metadata")))
        if found.known:
            return found
    usage = mapping(mapping(outputs.get("llm_output")).get("token_usage"))
    details = mapping(usage.get("prompt_tokens_details"))
    return counts(
        usage.get("prompt_tokens"), details.get("cached_tokens"), None, usage.get("completion_tokens")
    )


def counts_of(usage: Mapping[str, Json]) -> Counts:
    """``usage_metadata``: its input includes what was read and written."""
    details = mapping(usage.get("input_token_details"))
    written = details.get("cache_creation")
    parts = [details[key] for key in _EPHEMERAL if isinstance(details.get(key), int)]
    return counts(
        usage.get("input_tokens"),
        details.get("cache_read"),
        written if written or not parts else sum(parts),
        usage.get("output_tokens"),
    )


def _plain(fields: Mapping[str, Json]) -> dict[str, Json]:
    """A message by its role, with its calls told once."""
    role = _role(fields)
    said = {"role": role, "content": fields.get("content")}
    if role == "tool":
        named = {key: fields[key] for key in ("tool_call_id", "name") if isinstance(fields.get(key), str)}
        return {**said, **named, "content": _result(fields.get("content"))}
    calls = listed(fields.get("tool_calls")) or listed(
        mapping(fields.get("additional_kwargs")).get("tool_calls")
    )
    placed = {text(mapping(part).get("id")) for part in listed(fields.get("content"))} - {""}
    kept = [one for one in calls if text(mapping(one).get("id")) not in placed]
    return {**said, "tool_calls": kept} if kept else said


def _role(fields: Mapping[str, Json]) -> str:
    """Its role; classes and their chunks are named by what they are."""
    role = text(fields.get("role"))
    if role:
        return role
    kind = text(fields.get("type")).removesuffix("Chunk").removesuffix("Message").lower()
    return _ROLES.get(kind, kind or "user")


def _result(content: Json) -> str:
    """What a tool gave, as one text."""
    if isinstance(content, str):
        return content
    parts: Sequence[Json] = listed(content)
    texts = [mapping(one).get("text") for one in parts]
    if len(texts) == 1 and isinstance(texts[0], str):
        return texts[0]
    return compact(content)
