"""The words of the tool surface: what the prompt shows of the tools, and how a tool can be reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from coldturn.reference.observer import ServerState
from coldturn.reference.wire.model import ToolDefinition

Route: TypeAlias = Literal["direct", "meta", "facade", "search", "local"]


@dataclass(frozen=True, slots=True)
class HostResult:
    """What a tool of the host returned."""

    text: str
    is_error: bool = False


HostHandler: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[HostResult]]
"""Takes decoded arguments that satisfy the schema. A `ColdturnError` it raises ends the Run."""


@dataclass(frozen=True, slots=True)
class HostTool:
    """A tool that runs in the host's process: a local tool, `read_tool_output`, `read_skill`.

    `builtin` ones stand in front of the local ones. `hint` is the one line for a catalogue.
    """

    definition: ToolDefinition
    hint: str
    handler: HostHandler
    builtin: bool = False


@dataclass(frozen=True, slots=True)
class SurfaceTool:
    """A tool that stands in the tools array. `server` and `tool` are None for host tools and for routes."""

    definition: ToolDefinition
    hint: str
    server: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSurface:
    """What the prompt shows of the tools at one step. The array is `inline` followed by `discovered`.

    Attributes:
        server_lines: One line per deferred, unreachable or empty server known when the Run started (zone 1).
        notices: What changed since (zone 4): servers lost or new, tools new in mid-Run.
        deferred: Exposed names of permitted tools that are not in the array.
        servers: For the turn's span.
        owners: Exposed names in the array, facades' among them -> connection id.
    """

    inline: tuple[SurfaceTool, ...]
    discovered: tuple[SurfaceTool, ...]
    server_lines: tuple[str, ...]
    notices: tuple[str, ...]
    deferred: frozenset[str]
    servers: tuple[ServerState, ...]
    owners: Mapping[str, str] = field(default_factory=dict)

    @property
    def tools(self) -> tuple[SurfaceTool, ...]:
        """The tools array, in order."""
        return self.inline + self.discovered


@dataclass(frozen=True, slots=True)
class Reach:
    """How (server, tool) can be called right now.

    Attributes:
        route: The route to take; None when the tool is not permitted or its server unknown.
        exposed: Name to call: the tool's own exposed name, or that of facade, search-call or meta tool.
        listed: A list answer for the server stands in the log. `described`: a describe answer for the tool.
    """

    route: Route | None
    exposed: str
    listed: bool
    described: bool


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call returned, before it becomes a record. `text` is whole.

    Attributes:
        described: The pair whose description this answer holds.
        loaded: That tool's definition, where the provider loads it from this answer.
        schema_problem: Why a result does not fit its tool's output schema; the result itself stays whole.
    """

    text: str
    is_error: bool
    route: Route
    server: str | None = None
    tool: str | None = None
    refusal: str | None = None
    binary: tuple[str, ...] = ()
    described: tuple[str, str] | None = None
    loaded: ToolDefinition | None = None
    schema_problem: str | None = None
