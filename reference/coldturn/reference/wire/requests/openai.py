"""What requests of OpenAI's two surfaces share: one conversation array, and explicit cache breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coldturn.reference.prefix.model import Zone
from coldturn.reference.wire.model import (
    AssistantItem,
    Prompt,
    SuffixItem,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)
from coldturn.reference.wire.requests.fragments import Blocks, Fragments, dump, text
from coldturn.reference.wire.requests.frozen import freezable
from coldturn.reference.wire.requests.markers import MarkerPlan
from coldturn.reference.wire.requests.rows import Rows, array, value

_MARKER = b',"prompt_cache_breakpoint":{"mode":"explicit"}'

EXPLICIT_ONLY = ("prompt_cache_options", b'{"mode":"explicit"}')
"""Without it the provider also writes an entry behind the trailing suffix, which nothing can ever read."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """How one surface writes the rows of its array. One exists per surface and kind of model.

    Attributes:
        message: Members in front of a message's role.
        part: The ``type`` of an input text part.
        result: Gives the members of a tool result in front of its content, by call id.
        content: Name of a tool result's content.
        assistant: Makes the rows of an assistant item.
        parted: Whether a tool result's content is a list of parts, as a breakpoint needs it. It holds for
            every request of a model, so that a breakpoint that moves on leaves the content as it was.
        loaded: Makes the row that defines a tool in mid-conversation, where the surface has one.
    """

    message: Mapping[str, object]
    part: str
    result: Callable[[str], Mapping[str, object]]
    content: str
    assistant: Callable[[AssistantItem], Blocks]
    parted: bool
    loaded: Callable[[ToolDefinition], Blocks] | None = None

    def message_row(self, role: str, *texts: str) -> bytes:
        """Make one message of input texts."""
        parts = [self.text_part(content) for content in texts]
        return _object({**self.message, "role": role}, "content", array(parts))

    def user(self, item: UserItem | SuffixItem) -> Blocks:
        """Make the row of a user message."""
        return (self.message_row("user", item.text),)

    def tool_result(self, item: ToolResultItem) -> Blocks:
        """Make the row of a tool result."""
        content = array((self.text_part(item.text),)) if self.parted else value(text(item.text))
        return (_object(self.result(item.call_id), self.content, content),)

    def text_part(self, content: str) -> bytes:
        """Make one input text part."""
        return dump({"type": self.part, "text": text(content)})


def add_history(prompt: Prompt, shape: Shape, plan: MarkerPlan, rows: Rows, fragments: Fragments) -> None:
    """Add the history, item by item, and zone 4 behind it."""
    loads: list[ToolDefinition] = []
    limit = freezable(prompt, plan.history)
    frozen = fragments.frozen[shape]
    start = frozen.resume(prompt.history, limit, prompt.newly_elided, rows)
    for index, item in enumerate(prompt.history[start:], start):
        marked = index in plan.history
        if isinstance(item, ToolResultItem):
            path = frozen.note(index, rows)
            if index in prompt.newly_elided:
                rows.plan(path)
            rows.add(marked_if(fragments.of(item, shape.tool_result)[0], marked))
            loads.extend(() if item.loads is None else (item.loads,))
            continue
        _add_loaded(loads, shape, rows, fragments)
        if index == limit:
            frozen.keep(prompt.history, limit, rows)
        if isinstance(item, AssistantItem):
            for row in fragments.of(item, shape.assistant):
                rows.add(row)
        elif isinstance(item, UserItem) and item.suffix:
            rows.add(_with_suffix(item, shape, rows, marked=marked))
        else:
            rows.add(marked_if(fragments.of(item, shape.user)[0], marked))
    _add_loaded(loads, shape, rows, fragments)
    if prompt.suffix:
        rows.add(shape.message_row("user", prompt.suffix), Zone.TRANSIENT)


def _add_loaded(loads: list[ToolDefinition], shape: Shape, rows: Rows, fragments: Fragments) -> None:
    """Define what a run of results has loaded, behind the run: results of one answer stand together."""
    if shape.loaded is not None:
        for tool in loads:
            rows.add(fragments.of(tool, shape.loaded)[0])
    loads.clear()


def marked_if(row: bytes, marked: bool) -> bytes:
    """Put a breakpoint on the last part of a row, whose bytes end in ``}]}``, where one is due."""
    return row[:-3] + _MARKER + row[-3:] if marked else row


def _with_suffix(item: UserItem, shape: Shape, rows: Rows, *, marked: bool) -> bytes:
    """Make a user message with the variable suffix inside; a breakpoint stands in front of the suffix."""
    rows.label(f"{rows.next_path}.content[1]", Zone.TRANSIENT)
    (row,) = shape.user(item)
    return marked_if(row, marked)[:-2] + b"," + shape.text_part(item.suffix) + b"]}"


def _object(members: Mapping[str, object], last: str, content: bytes) -> bytes:
    return dump(members)[:-1] + b',"' + last.encode() + b'":' + content + b"}"
