"""What a provider sees of a body, block by block: by the rules of each format, not by the code under test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from coldturn.reference.prefix.model import Surface

WTF8 = "utf-8", "surrogatepass"
"""Texts are compared with their lone surrogates, which have three bytes each."""

Rendered: TypeAlias = list[tuple[str, bytes]]
"""JSON path and content of each block, in render order."""


def rendered(value: dict[str, Any], surface: Surface) -> Rendered:
    """Every block of a body that `bodies` wrote."""
    return [*_tools(value, surface), *_system(value, surface), *_history(value, surface)]


def dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(*WTF8)


def common(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _tools(value: dict[str, Any], surface: Surface) -> Iterator[tuple[str, bytes]]:
    path, rows = "$.tools", value.get("tools", [])
    if surface is Surface.GENERATE_CONTENT:
        path, rows = "$.tools[0].functionDeclarations", rows[0]["functionDeclarations"]
    if surface is Surface.CONVERSE:
        path, rows = "$.toolConfig.tools", value.get("toolConfig", {}).get("tools", [])
    yield from ((f"{path}[{index}]", dumped(row)) for index, row in enumerate(rows))


def _system(value: dict[str, Any], surface: Surface) -> Iterator[tuple[str, bytes]]:
    if surface is Surface.RESPONSES:
        yield "$.instructions", value["instructions"].encode(*WTF8)
    elif surface is Surface.GENERATE_CONTENT:
        yield "$.systemInstruction.parts[0]", value["systemInstruction"]["parts"][0]["text"].encode(*WTF8)
    elif surface in {Surface.MESSAGES, Surface.CONVERSE}:
        yield "$.system[0]", value["system"][0]["text"].encode(*WTF8)


def _history(value: dict[str, Any], surface: Surface) -> Iterator[tuple[str, bytes]]:
    key = {Surface.RESPONSES: "input", Surface.GENERATE_CONTENT: "contents"}.get(surface, "messages")
    for index, message in enumerate(value[key]):
        yield from _message(f"$.{key}[{index}]", message)


def _message(path: str, message: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    if message.get("type") in {"function_call", "function_call_output", "reasoning"}:
        yield path, dumped(_without(message, "call_id", "id"))
        return
    if "reasoning_content" in message:
        yield f"{path}.reasoning_content", message["reasoning_content"].encode(*WTF8)
    if isinstance(message.get("content"), str):
        yield path, message["content"].encode(*WTF8)
    key = "parts" if "parts" in message else "content"
    parts = message.get(key)
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        yield f"{path}.{key}[{index}]", _part(part)
    for index, call in enumerate(message.get("tool_calls", ())):
        yield f"{path}.tool_calls[{index}]", dumped(_without(call, "id"))


def _part(part: dict[str, Any]) -> bytes:
    if "text" in part:
        return str(part["text"]).encode(*WTF8)
    for key, ids in (("functionCall", "id"), ("functionResponse", "id"), ("toolUse", "toolUseId")):
        if key in part:
            return dumped({key: _without(part[key], ids)})
    if "toolResult" in part:
        return dumped({"toolResult": _without(part["toolResult"], "toolUseId")})
    return dumped(_without(part, "id", "tool_use_id"))


def _without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}
