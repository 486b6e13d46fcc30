"""The append-only Record log of a Run. It always holds whole results; a prompt is a projection of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from coldturn.reference.wire.model import ToolCall, Usage


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user wrote; it starts a turn."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A step's answer: text, tool calls, or both."""

    turn: int
    step: int
    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call returned, whole.

    Attributes:
        handle: Names this record for `read_tool_output`; unique within the Run.
        route: ``direct``, ``meta``, ``facade``, ``search``, or ``local``.
        server: Connection id and `tool` the server's own name, when the call reached an MCP server.
        binary: Type, size and digest lines of non-text content; the bytes are never rendered as text.
    """

    turn: int
    step: int
    call_id: str
    name: str
    handle: str
    text: str
    is_error: bool
    route: str
    server: str | None = None
    tool: str | None = None
    binary: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """A describe answer stands in the log: from here on the tool is *discovered*."""

    turn: int
    step: int
    server: str
    tool: str


Record: TypeAlias = UserMessage | AssistantMessage | ToolResult | Described
