"""Requests of Anthropic Messages.

Zone 1 and zone 2 are two blocks of ``system``. Results of parallel calls stand in one user message. The
trailing suffix is a user message of its own even when the history ends with one: the API merges neighbours,
and a message of its own leaves every byte of the history as it was.
"""

from __future__ import annotations

import msgspec

from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.wire.model import (
    AssistantItem,
    Encoded,
    Prompt,
    SuffixItem,
    ToolCall,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)
from coldturn.reference.wire.requests.fragments import Blocks, Fragments, dump, text, with_marker
from coldturn.reference.wire.requests.frozen import freezable
from coldturn.reference.wire.requests.markers import MarkerPlan, plan_markers
from coldturn.reference.wire.requests.rows import Rows, array, settings

_MARKER = b'"cache_control":{"type":"ephemeral"}'


def encode_messages(prompt: Prompt, fragments: Fragments) -> Encoded:
    """Encode `prompt`; keys stand in the order in which the provider renders them."""
    plan = plan_markers(prompt, tools=True, system=True, previous=False)
    rows = Rows("messages")
    head = settings(prompt, "max_tokens")
    if prompt.tools:
        head.append(("tools", array(_tools(prompt, plan, fragments))))
    if system := _system(prompt, plan, rows):
        head.append(("system", array(system)))
    _add_history(prompt, plan, rows, fragments)
    if prompt.suffix:
        rows.add(_message("user", [_text(prompt.suffix)]), Zone.TRANSIENT)
    return rows.encoded(prompt, head)


def _tools(prompt: Prompt, plan: MarkerPlan, fragments: Fragments) -> list[bytes]:
    blocks = [fragments.of(tool, _tool)[0] for tool in prompt.tools]
    # A tool that waits for its discovery is no part of the cached prefix.
    loaded = [index for index, tool in enumerate(prompt.tools) if not tool.deferred]
    if plan.tools and loaded:
        blocks[loaded[-1]] = with_marker(blocks[loaded[-1]], _MARKER)
    return blocks


def _system(prompt: Prompt, plan: MarkerPlan, rows: Rows) -> list[bytes]:
    blocks: list[bytes] = []
    if prompt.system:
        block = _text(prompt.system)
        blocks.append(with_marker(block, _MARKER) if plan.system else block)
    if prompt.tail:
        rows.label(f"$.system[{len(blocks)}]", Zone.TAIL)
        block = _text(prompt.tail)
        blocks.append(with_marker(block, _MARKER) if plan.tail else block)
    return blocks


def _add_history(prompt: Prompt, plan: MarkerPlan, rows: Rows, fragments: Fragments) -> None:
    results: list[bytes] = []
    limit = freezable(prompt, plan.history)
    frozen = fragments.frozen[Surface.MESSAGES]
    start = frozen.resume(prompt.history, limit, prompt.newly_elided, rows)
    for index, item in enumerate(prompt.history[start:], start):
        marked = index in plan.history
        if isinstance(item, ToolResultItem):
            path = frozen.note(index, rows, f".content[{len(results)}]")
            if index in prompt.newly_elided:
                rows.plan(path)
            results.extend(_marked(fragments.of(item, _tool_result), marked))
            continue
        if results:
            rows.add(_message("user", results))
            results = []
        if index == limit:
            frozen.keep(prompt.history, limit, rows)
        if isinstance(item, AssistantItem):
            if blocks := _marked(fragments.of(item, _assistant), marked):
                rows.add(_message("assistant", blocks))
        elif isinstance(item, UserItem):
            _add_user(item, marked, rows, fragments)
        else:
            rows.add(_message("user", _marked(fragments.of(item, _kept_suffix), marked)))
    if results:
        rows.add(_message("user", results))


def _add_user(item: UserItem, marked: bool, rows: Rows, fragments: Fragments) -> None:
    blocks = _marked(fragments.of(item.text, _user), marked)
    if item.suffix:
        rows.label(f"{rows.next_path}.content[{len(blocks)}]", Zone.TRANSIENT)
        blocks = [*blocks, _text(item.suffix)]
    rows.add(_message("user", blocks))


def _marked(blocks: Blocks, marked: bool) -> list[bytes]:
    if not marked or not blocks:
        return list(blocks)
    return [*blocks[:-1], with_marker(blocks[-1], _MARKER)]


def _message(role: str, blocks: list[bytes]) -> bytes:
    return b'{"role":"' + role.encode() + b'","content":' + array(blocks) + b"}"


def _text(value: str) -> bytes:
    return dump({"type": "text", "text": text(value)})


def _tool(tool: ToolDefinition) -> Blocks:
    value: dict[str, object] = {"name": tool.name}
    if tool.description:
        value["description"] = text(tool.description)
    value["input_schema"] = msgspec.Raw(tool.schema)
    if tool.deferred:
        value["defer_loading"] = True
    return (dump(value),)


def _user(value: str) -> Blocks:
    return (_text(value),)


def _kept_suffix(item: SuffixItem) -> Blocks:
    return (_text(item.text),)


def _assistant(item: AssistantItem) -> Blocks:
    texts = (_text(item.text),) if item.text else ()
    return (*texts, *(_tool_use(call) for call in item.calls))


def _tool_use(call: ToolCall) -> bytes:
    return dump(
        {"type": "tool_use", "id": text(call.id), "name": text(call.name), "input": _input(call.arguments)}
    )


def _input(arguments: str) -> msgspec.Raw | dict[str, object]:
    """Give the arguments as this API wants them, an object; text that is none is handed on as text."""
    try:
        msgspec.json.decode(arguments, type=dict)
        return msgspec.Raw(msgspec.json.format(arguments.encode(), indent=-1))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {"unreadable_arguments": text(arguments)}


def _tool_result(item: ToolResultItem) -> Blocks:
    value: dict[str, object] = {"type": "tool_result", "tool_use_id": text(item.call_id)}
    if item.loads is None:
        value["content"] = text(item.text)
    else:
        # The provider puts the definition here; it takes a reference alone, without text beside it.
        value["content"] = [{"type": "tool_reference", "tool_name": text(item.loads.name)}]
    if item.is_error:
        value["is_error"] = True
    return (dump(value),)
