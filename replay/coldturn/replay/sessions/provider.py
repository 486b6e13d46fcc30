"""What a recorded request to a model said: system text, tools, the user's words, tool results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import model_in
from coldturn.reference.prompt.zones import SUFFIX_TAG
from coldturn.replay.sessions.clouds import as_messages

_OWN_SUFFIX = re.compile(
    rf"<{SUFFIX_TAG}>\n(?:Current date and time: |## (?:Notices|Reminders|Discovered Tools)\n)"
)
"""What our own runtime sends behind the conversation: no words of the user; a replay makes its own."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """A tool that the model was shown."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tool result as the model was shown it."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A request to a model, read.

    Attributes:
        opening: The first words of the user: what names the conversation.
        user: The user's words behind the model's last answer; empty when there are none.
        answered: Ids of the calls whose results stand behind the model's last answer.
        results: Every tool result in the request by call id.
        previous: Id of the response that the request builds on.
        continues: Whether the model had answered before.
    """

    surface: Surface
    model: str
    system: str
    tools: tuple[ToolText, ...]
    opening: str
    user: str
    answered: tuple[str, ...]
    results: Mapping[str, Outcome]
    previous: str | None
    continues: bool


@dataclass(frozen=True, slots=True)
class _Item:
    """A message or a part of one, on any surface."""

    role: str
    text: str = ""
    call_id: str | None = None
    is_error: bool = False


def read_request(surface: Surface, body: bytes, url: str = "") -> AskedModel:
    """Read a request body.

    Args:
        surface: The format it is of.
        body: As sent.
        url: The address it was sent to, which names the model on some clouds.

    Raises:
        ValueError: It is no JSON object.
    """
    request = json.loads(body)
    if not isinstance(request, dict):
        raise ValueError("the request body is no JSON object")  # noqa: TRY004 - one error for one cause
    spoken = surface
    if surface not in _ITEMS:
        request, spoken = as_messages(surface, request), Surface.MESSAGES
    items = list(_ITEMS[spoken](request))
    lead = [item for item in _leading(items) if item.text]
    rest = items[len(_leading(items)) :]
    if rest and rest[-1].role == "user" and _OWN_SUFFIX.match(rest[-1].text):
        rest.pop()
    system = [_text(request.get(_SYSTEM_KEY[spoken])), *(item.text for item in lead)]
    since = next((i for i in range(len(rest), 0, -1) if rest[i - 1].role == "assistant"), 0)
    tail = rest[since:]
    return AskedModel(
        surface=surface,
        model=str(request.get("model") or model_in(url) or ""),
        system="\n\n".join(part for part in system if part),
        tools=tuple(_tools(request.get("tools"))),
        opening=next((item.text for item in rest if item.role == "user"), ""),
        user="\n\n".join(item.text for item in tail if item.role == "user" and item.text),
        answered=tuple(item.call_id for item in tail if item.call_id is not None),
        results={i.call_id: Outcome(i.text, i.is_error) for i in rest if i.call_id is not None},
        previous=request.get("previous_response_id"),
        continues=since > 0 or bool(request.get("previous_response_id")),
    )


def _leading(items: Sequence[_Item]) -> Sequence[_Item]:
    end = next((i for i, item in enumerate(items) if item.role != "system"), len(items))
    return items[:end]


def _messages(request: Mapping[str, Any]) -> Iterator[_Item]:
    """Anthropic: results stand in the user's messages."""
    for message in _objects(request.get("messages")):
        role = str(message.get("role"))
        content = message.get("content")
        if isinstance(content, str):
            yield _Item(role, content)
            continue
        for block in _objects(content):
            if block.get("type") == "tool_result":
                call_id = str(block.get("tool_use_id"))
                yield _Item("tool", _text(block.get("content")), call_id, block.get("is_error") is True)
            elif role == "assistant":
                yield _Item("assistant")
            elif block.get("type") == "text":
                yield _Item(role, str(block.get("text") or ""))


def _chat(request: Mapping[str, Any]) -> Iterator[_Item]:
    for message in _objects(request.get("messages")):
        role = str(message.get("role"))
        text = _text(message.get("content"))
        if role == "tool":
            yield _Item("tool", text, str(message.get("tool_call_id")))
        else:
            yield _Item("system" if role == "developer" else role, text)


def _responses(request: Mapping[str, Any]) -> Iterator[_Item]:
    given = request.get("input")
    if isinstance(given, str):
        yield _Item("user", given)
        return
    for item in _objects(given):
        kind, role = item.get("type") or "message", str(item.get("role") or "assistant")
        if kind in ("function_call_output", "custom_tool_call_output"):
            yield _Item("tool", _text(item.get("output")), str(item.get("call_id")))
        elif kind == "message":
            yield _Item("system" if role == "developer" else role, _text(item.get("content")))
        elif kind != "additional_tools":
            yield _Item("assistant")


_ITEMS = {
    Surface.MESSAGES: _messages,
    Surface.CHAT_COMPLETIONS: _chat,
    Surface.RESPONSES: _responses,
}
_SYSTEM_KEY = {
    Surface.MESSAGES: "system",
    Surface.CHAT_COMPLETIONS: "",
    Surface.RESPONSES: "instructions",
}


def _tools(value: object) -> Iterator[ToolText]:
    """Tools with a name and a schema; what runs at the provider has none."""
    for tool in _objects(value):
        function = tool.get("function")
        inner = function if isinstance(function, dict) else tool
        schema = inner.get("input_schema", inner.get("parameters"))
        if isinstance(name := inner.get("name"), str) and isinstance(schema, dict):
            yield ToolText(name, str(inner.get("description") or ""), schema)


def _text(content: object) -> str:
    """The text of a content, blocks a line apart; what is no text is named."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in _objects(content):
        text = block.get("text")
        parts.append(text if isinstance(text, str) else f"[{block.get('type')}]")
    return "\n".join(parts)


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
