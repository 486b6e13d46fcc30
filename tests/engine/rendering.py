"""The prompt that the engine makes of a request, made here: so an estimate needs nothing of the engine.

The engine turns each surface's body into messages of one shape and gives them to the model's chat template.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import jinja2

from coldturn.reference.prefix.model import Surface
from engine.tiny_model import TEMPLATE

Json: TypeAlias = Any
Message: TypeAlias = dict[str, Json]


def rendered(surface: Surface, body: bytes) -> bytes:
    """Render a request's body."""
    request = json.loads(body)
    convert = {
        Surface.CHAT_COMPLETIONS: _of_chat_completions,
        Surface.RESPONSES: _of_responses,
        Surface.MESSAGES: _of_messages,
    }[surface]
    tools = [_tool(tool.get("function", tool)) for tool in request.get("tools", ())]
    return _template.render(tools=tools, messages=list(convert(request))).encode()


def _to_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


_environment = jinja2.Environment(autoescape=False, keep_trailing_newline=True)  # noqa: S701 - no HTML
_environment.filters["tojson"] = _to_json
_template = _environment.from_string(TEMPLATE)


def _tool(tool: Json) -> Json:
    parameters = tool.get("parameters", tool.get("input_schema"))
    function = {"name": tool["name"], "description": tool.get("description", ""), "parameters": parameters}
    return {"type": "function", "function": function}


def _call(call_id: str, name: str, arguments: Json) -> Json:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, "id": call_id}


def _text(content: Json) -> str:
    """Join the parts of a message as the engine does."""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content or ())


def _of_chat_completions(request: Json) -> Iterator[Message]:
    for row in request["messages"]:
        calls = [
            _call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in row.get("tool_calls", ())
        ]
        yield {"role": row["role"], "content": _text(row["content"]), "tool_calls": calls}


def _of_responses(request: Json) -> Iterator[Message]:
    if "instructions" in request:
        yield {"role": "system", "content": request["instructions"]}
    answer: Message | None = None
    for row in request["input"]:
        called = row["type"] == "function_call"
        if answer is not None and not called:
            yield answer
            answer = None
        if called:
            answer = answer or {"role": "assistant", "content": "", "tool_calls": []}
            answer["tool_calls"].append(_call(row["call_id"], row["name"], json.loads(row["arguments"])))
        elif row["type"] == "function_call_output":
            yield {"role": "tool", "content": row["output"]}
        elif row["role"] == "assistant":
            answer = {"role": "assistant", "content": _text(row["content"]), "tool_calls": []}
        else:
            role = "system" if row["role"] == "developer" else row["role"]
            yield {"role": role, "content": _text(row["content"])}
    if answer is not None:
        yield answer


def _of_messages(request: Json) -> Iterator[Message]:
    if "system" in request:
        yield {"role": "system", "content": "".join(part["text"] for part in request["system"])}
    for row in request["messages"]:
        parts = row["content"]
        for part in parts:
            if part["type"] == "tool_result":
                yield {"role": "tool", "content": part["content"]}
        texts = [part for part in parts if part["type"] == "text"]
        calls = [
            _call(part["id"], part["name"], part["input"]) for part in parts if part["type"] == "tool_use"
        ]
        if texts or calls:
            yield {"role": row["role"], "content": _text(texts), "tool_calls": calls}
