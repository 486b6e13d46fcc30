"""Requests of OpenAI Responses, stateless: the whole input every time, nothing stored at the provider.

Zone 1 is ``instructions``, zone 2 a developer message in front of the history.
"""

from __future__ import annotations

import msgspec

from coldturn.reference.prefix.model import Zone
from coldturn.reference.wire.model import AssistantItem, Encoded, Prompt, ToolDefinition
from coldturn.reference.wire.requests.fragments import Blocks, Fragments, dump, text
from coldturn.reference.wire.requests.markers import NO_MARKERS, plan_markers, takes_explicit_breakpoints
from coldturn.reference.wire.requests.openai import EXPLICIT_ONLY, Shape, add_history, marked_if
from coldturn.reference.wire.requests.rows import Rows, array, settings, value


def _assistant(item: AssistantItem) -> Blocks:
    rows: list[bytes] = []
    if item.text:
        # Plain text: output parts would need ids and states, which a provider that stores nothing forgot.
        rows.append(dump({"type": "message", "role": "assistant", "content": text(item.text)}))
    rows.extend(
        dump(
            {
                "type": "function_call",
                "call_id": text(call.id),
                "name": text(call.name),
                "arguments": text(call.arguments),
            }
        )
        for call in item.calls
    )
    return tuple(rows)


def _result(call_id: str) -> dict[str, object]:
    return {"type": "function_call_output", "call_id": text(call_id)}


def _function(tool: ToolDefinition) -> dict[str, object]:
    row: dict[str, object] = {"type": "function", "name": tool.name}
    if tool.description:
        row["description"] = text(tool.description)
    row["parameters"] = msgspec.Raw(tool.schema)
    # Schemas of MCP servers do not keep the rules of strict mode, which is this API's default.
    row["strict"] = False
    return row


def _loaded(tool: ToolDefinition) -> Blocks:
    return (dump({"type": "additional_tools", "role": "developer", "tools": [_function(tool)]}),)


_PLAIN, _PARTED = (
    Shape(
        message={"type": "message"},
        part="input_text",
        result=_result,
        content="output",
        assistant=_assistant,
        parted=parted,
        loaded=_loaded,
    )
    for parted in (False, True)
)


def encode_responses(prompt: Prompt, fragments: Fragments) -> Encoded:
    """Encode `prompt`; keys stand in the order in which the provider renders them."""
    shape = _PARTED if takes_explicit_breakpoints(prompt.model) else _PLAIN
    explicit = shape.parted and prompt.markers
    plan = plan_markers(prompt, tools=False, system=False, previous=True) if explicit else NO_MARKERS
    head = [*settings(prompt, "max_output_tokens"), ("store", b"false")]
    if explicit:
        head.append(EXPLICIT_ONLY)
    if prompt.tools:
        head.append(("tools", array([fragments.of(tool, _tool)[0] for tool in prompt.tools])))
    if prompt.system:
        head.append(("instructions", value(text(prompt.system))))
    rows = Rows("input")
    if prompt.tail:
        rows.add(marked_if(shape.message_row("developer", prompt.tail), plan.tail), Zone.TAIL)
    add_history(prompt, shape, plan, rows, fragments)
    return rows.encoded(prompt, head)


def _tool(tool: ToolDefinition) -> Blocks:
    row = _function(tool)
    if tool.deferred:
        row["defer_loading"] = True
    return (dump(row),)
