"""What an MCP tool returned, as the log keeps it: text whole, other content by type, size and digest."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import xxhash

from coldturn.reference.catalogue.definition import compact_json
from coldturn.reference.surface.arguments import violations


@dataclass(frozen=True, slots=True)
class ResultText:
    """A result's text blocks joined by newlines, and one line for each block of bytes."""

    text: str
    binary: tuple[str, ...]


def read_result(result: types.CallToolResult) -> ResultText:
    """Assemble a result; structured content stands in only where there is no text content.

    Servers repeat an image in their structured content: there, too, its bytes are told and not shown.
    """
    texts: list[str] = []
    binary: list[tuple[str, str]] = []
    for block in result.content:
        _read_block(block, texts, binary)
    if not texts and result.structured_content is not None:
        lines = {data: line for data, line in binary if data}
        texts.append(compact_json(_told(result.structured_content, lines)).decode())
    return ResultText("\n".join(texts), tuple(line for _, line in binary))


def _read_block(block: types.ContentBlock, texts: list[str], binary: list[tuple[str, str]]) -> None:
    match block:
        case types.TextContent(text=text):
            texts.append(text)
        case types.ImageContent(data=data, mime_type=mime) | types.AudioContent(data=data, mime_type=mime):
            binary.append((data, binary_line(block.type, mime, data)))
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            texts.append(text)
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=data, mime_type=mime)):
            binary.append((data, binary_line("resource", mime or "application/octet-stream", data)))
        case types.ResourceLink(name=name, uri=uri):
            texts.append(f"resource {name}: {uri}")


def _told(value: Any, lines: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            return lines.get(value, value)
        case list():
            return [_told(item, lines) for item in value]
        case dict():
            return {key: _told(item, lines) for key, item in value.items()}
    return value


def binary_line(kind: str, mime: str, data: str) -> str:
    """Tell type, size and digest of base64 `data`; of what is no base64, those of the text as sent."""
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        content = data.encode("utf-8", "surrogatepass")
        kind = f"{kind} (not valid base64)"
    return f"{kind} {mime}, {len(content)} bytes, xxh3-128 {xxhash.xxh3_128_hexdigest(content)}"


def schema_problems(result: types.CallToolResult, schema: dict[str, Any] | None) -> str | None:
    """Why a result does not fit its tool's output schema, or None; the result itself is never changed."""
    if schema is None or result.is_error:
        return None
    if result.structured_content is None:
        return "the tool has an output schema and returned no structured content"
    problems = violations(result.structured_content, schema)
    return "\n".join(problems) or None
