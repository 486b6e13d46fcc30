"""Requests of OpenAI Chat Completions: zone 1 and zone 2 are system messages in front of the history."""

from __future__ import annotations

import msgspec

from coldturn.reference.prefix.model import Zone
from coldturn.reference.wire.model import AssistantItem, Encoded, Prompt, ToolDefinition
from coldturn.reference.wire.requests.fragments import Blocks, Fragments, dump, text
from coldturn.reference.wire.requests.markers import NO_MARKERS, plan_markers, takes_explicit_breakpoints
from coldturn.reference.wire.requests.openai import EXPLICIT_ONLY, Shape, add_history, marked_if
from coldturn.reference.wire.requests.rows import Rows, array, settings


def _assistant(item: AssistantItem) -> Blocks:
    row: dict[str, object] = {"role": "assistant", "content": text(item.text) if item.text else None}
    if not item.calls:
        row["content"] = text(item.text)
    else:
        row["tool_calls"] = [
            {
                "id": text(call.id),
                "type": "function",
                "function": {"name": text(call.name), "arguments": text(call.arguments)},
            }
            for call in item.calls
        ]
    return (dump(row),)


def _result(call_id: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": text(call_id)}


_PLAIN, _PARTED = (
    Shape(message={}, part="text", result=_result, content="content", assistant=_assistant, parted=parted)
    for parted in (False, True)
)


def encode_chat_completions(prompt: Prompt, fragments: Fragments) -> Encoded:
    """Encode `prompt`; keys stand in the order in which the provider renders them."""
    shape = _PARTED if takes_explicit_breakpoints(prompt.model) else _PLAIN
    explicit = shape.parted and prompt.markers
    plan = plan_markers(prompt, tools=False, system=True, previous=True) if explicit else NO_MARKERS
    head = settings(prompt, "max_completion_tokens")
    if explicit:
        head.append(EXPLICIT_ONLY)
    if prompt.tools:
        head.append(("tools", array([fragments.of(tool, _tool)[0] for tool in prompt.tools])))
    rows = Rows("messages")
    if prompt.system:
        rows.add(marked_if(shape.message_row("system", prompt.system), plan.system))
    if prompt.tail:
        rows.add(marked_if(shape.message_row("system", prompt.tail), plan.tail), Zone.TAIL)
    add_history(prompt, shape, plan, rows, fragments)
    return rows.encoded(prompt, head)


def _tool(tool: ToolDefinition) -> Blocks:
    function: dict[str, object] = {"name": tool.name}
    if tool.description:
        function["description"] = text(tool.description)
    function["parameters"] = msgspec.Raw(tool.schema)
    return (dump({"type": "function", "function": function}),)
