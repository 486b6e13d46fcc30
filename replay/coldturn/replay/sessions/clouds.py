"""Requests to Gemini and to Converse, said in the words of Messages, which a replay reads already."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from coldturn.reference.prefix.model import Surface

_Object: TypeAlias = Mapping[str, Any]
_OPEN = {"type": "object"}
"""The schema of a function that takes nothing."""


def as_messages(surface: Surface, request: _Object) -> dict[str, Any]:
    """Give what a request says as the body of a Messages request, as far as a replay needs it.

    Gemini's results need no ids. They get some that are the same in every request of the conversation: the
    conversation's first words, and the place.

    Args:
        surface: GENERATE_CONTENT or CONVERSE.
        request: The body, decoded.
    """
    if surface is Surface.CONVERSE:
        return _of_converse(request)
    return _of_gemini(request)


def _of_converse(request: _Object) -> dict[str, Any]:
    config = request.get("toolConfig")
    tools = _objects(config.get("tools")) if isinstance(config, dict) else iter(())
    specs = [spec for tool in tools if isinstance(spec := tool.get("toolSpec"), dict)]
    return {
        "model": request.get("modelId"),
        "system": "\n\n".join(_texts(request.get("system"))),
        "tools": [_tool(spec, _json_schema(spec.get("inputSchema"))) for spec in specs],
        "messages": [
            {
                "role": message.get("role"),
                "content": [_converse_part(part) for part in _objects(message.get("content"))],
            }
            for message in _objects(request.get("messages"))
        ],
    }


def _converse_part(part: _Object) -> dict[str, Any]:
    result = part.get("toolResult")
    if isinstance(result, dict):
        parts = _objects(result.get("content"))
        said = [str(one["text"]) if "text" in one else _dumped(one.get("json", one)) for one in parts]
        failed = result.get("status") == "error"
        return _result(str(result.get("toolUseId")), "\n".join(said), is_error=failed)
    return _part(part)


def _json_schema(holder: object) -> object:
    return holder.get("json") if isinstance(holder, dict) else None


def _of_gemini(request: _Object) -> dict[str, Any]:
    contents = list(_objects(request.get("contents")))
    said = (text for one in contents if one.get("role") != "model" for text in _texts(one.get("parts")))
    opening = next(said, "")
    return {
        "model": str(request.get("model") or "").removeprefix("models/"),
        "system": "\n\n".join(_texts(_parts(_either(request, "systemInstruction", "system_instruction")))),
        "tools": [_gemini_tool(one) for one in _declared(request.get("tools"))],
        "messages": [
            {
                "role": "assistant" if one.get("role") == "model" else "user",
                "content": [
                    _gemini_part(part, f"{opening}#{index}.{place}")
                    for place, part in enumerate(_objects(one.get("parts")))
                ],
            }
            for index, one in enumerate(contents)
        ],
    }


def _gemini_part(part: _Object, place: str) -> dict[str, Any]:
    result = _either(part, "functionResponse", "function_response")
    if isinstance(result, dict):
        return _result(str(result.get("id") or place), _dumped(result.get("response")), is_error=False)
    return _part({} if part.get("thought") is True else part)


def _declared(tools: object) -> Iterator[_Object]:
    for tool in _objects(tools):
        yield from _objects(_either(tool, "functionDeclarations", "function_declarations"))


def _gemini_tool(declared: _Object) -> dict[str, Any]:
    schema = _either(declared, "parameters", "parametersJsonSchema", "parameters_json_schema")
    return _tool(declared, schema)


def _tool(named: _Object, schema: object) -> dict[str, Any]:
    return {
        "name": named.get("name"),
        "description": named.get("description"),
        "input_schema": schema if isinstance(schema, dict) else _OPEN,
    }


def _result(call_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}


def _part(part: _Object) -> dict[str, Any]:
    text = part.get("text")
    return {"type": "text", "text": text} if isinstance(text, str) else {"type": "other"}


def _texts(parts: object) -> Iterator[str]:
    for part in _objects(parts):
        if isinstance(text := part.get("text"), str):
            yield text


def _parts(content: object) -> object:
    return content.get("parts") if isinstance(content, dict) else None


def _either(holder: _Object, *keys: str) -> Any:  # noqa: ANN401 - any JSON
    return next((holder[key] for key in keys if key in holder), None)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _objects(value: object) -> Iterator[_Object]:
    """The objects of a list; one object stands for a list of it."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item
