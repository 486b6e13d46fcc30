"""The append-only Record log of a Run. It always holds whole results; a prompt is a projection of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xxhash import xxh3_64_hexdigest

from coldturn.reference.wire.model import ToolCall, ToolDefinition, Usage


def shown_text(text: str, binary: Sequence[str], schema_problem: str | None) -> str:
    """What the prompt shows of a result, whole: its text, and what is told of the rest."""
    parts = [text] if text or not binary else []
    parts.extend(binary)
    if schema_problem is not None:
        parts.append(f"[This result does not fit the tool's output schema: {schema_problem}]")
    return "\n".join(parts)


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
        reads: For an answer of `read_tool_output`: its arguments as JSON, so that what stands in for it in a
            later prompt points at the original.
        schema_problem: Why the result does not fit its tool's output schema; the result is kept all the same.
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
    reads: str | None = None
    schema_problem: str | None = None

    @property
    def shown(self) -> str:
        """What the prompt shows of it, whole: the text, and what is told of content that is no text."""
        return shown_text(self.text, self.binary, self.schema_problem)


@dataclass(frozen=True, slots=True)
class Described:
    """A describe answer stands in the log: from here on the tool is *discovered*.

    `loaded` is its definition where the provider loads it from the answer (``promotion = native``).
    """

    turn: int
    step: int
    server: str
    tool: str
    loaded: ToolDefinition | None = None


Record: TypeAlias = UserMessage | AssistantMessage | ToolResult | Described


class RecordLog:
    """The records of one Run, in the order in which they came about. Nothing is changed or taken out.

    Attributes:
        run_id: Distinguishes Runs; the handles of one do not resolve in another.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._records: list[Record] = []
        self._results: dict[str, ToolResult] = {}
        self._handles = 0

    @property
    def records(self) -> Sequence[Record]:
        """All records, oldest first."""
        return tuple(self._records)

    def append(self, record: Record) -> None:
        """Add a record; a tool result is from here on found by its handle."""
        self._records.append(record)
        if isinstance(record, ToolResult):
            self._results[record.handle] = record

    def result(self, handle: str) -> ToolResult | None:
        """Give the tool result that a handle names, or None."""
        return self._results.get(handle)

    def new_handle(self) -> str:
        """Name the next tool result: its number, and a digest that ties it to this Run."""
        self._handles += 1
        digest = xxh3_64_hexdigest(f"{self.run_id}\0{self._handles}".encode())
        return f"r{self._handles}-{digest[:8]}"
