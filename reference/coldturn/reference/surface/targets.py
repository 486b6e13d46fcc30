"""From a call as the model wrote it to what it means: a host's tool, the catalogue's answer, a real call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from coldturn.reference.surface import meta
from coldturn.reference.surface.arguments import ArgumentsError, check, decode
from coldturn.reference.surface.model import HostTool, Route, SurfaceTool, ToolSurface
from coldturn.reference.surface.plan import SurfacePlan
from coldturn.reference.wire.model import ToolCall

Act: TypeAlias = Literal["host", "list", "describe", "search", "call"]

_META_ACTS: dict[str, tuple[Act, Route]] = {
    meta.LIST: ("list", "meta"),
    meta.DESCRIBE: ("describe", "meta"),
    meta.CALL: ("call", "meta"),
    meta.SEARCH: ("search", "search"),
    meta.USE: ("call", "search"),
}


class RefusedError(Exception):
    """A call that is answered with an ordinary tool error. It never leaves the surface.

    Attributes:
        refusal: Which kind, for the span.
    """

    def __init__(self, refusal: str, text: str) -> None:
        self.refusal = refusal
        self.text = text
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Target:
    """What a call asks for. `server` and `tool` are as the model named them; nothing is permitted yet.

    Attributes:
        arguments: Of the tool itself, out of whatever wrapped them.
        host: The host's tool, when `act` is ``host``.
        problem: Set when the call cannot be carried out whatever is permitted.
    """

    act: Act
    route: Route
    server: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    host: HostTool | None = None
    problem: RefusedError | None = None


def unknown_name(name: str) -> RefusedError:
    """No tool of the array has this name, or it may not be used: one text for both."""
    return RefusedError("unknown_tool", f"There is no tool named {name!r} that you can call.")


def unknown_pair(server: str, tool: str) -> RefusedError:
    """The server lacks the tool, or it may not be used: one text for both."""
    return RefusedError(
        "unknown_tool",
        f"Server {server!r} has no tool {tool!r} that you can call. {meta.LIST} lists its tools.",
    )


def unknown_server(server: str, known: tuple[str, ...]) -> RefusedError:
    """No connection has this id."""
    names = ", ".join(known) or "none"
    return RefusedError("unknown_server", f"There is no server {server!r}. Connected servers: {names}.")


class Targets:
    """Reads calls against the surface of the current step."""

    def __init__(self, plan: SurfacePlan, host: tuple[HostTool, ...]) -> None:
        self._plan = plan
        self._host = {tool.definition.name: tool for tool in host}

    def read(self, call: ToolCall, surface: ToolSurface) -> Target:
        """Decode a call; what is wrong with it stands in `Target.problem`, so a span can still name it."""
        if call.name in self._host:
            return self._read_host(call, self._host[call.name])
        if call.name in meta.META_NAMES or (call.name in meta.SEARCH_NAMES and self._plan.searches()):
            return self._read_meta(call)
        if (server := self._plan.facades().get(call.name)) is not None:
            return self._read_facade(call, server)
        shown = next((tool for tool in surface.tools if tool.definition.name == call.name), None)
        if shown is None or shown.server is None:
            return Target("call", "direct", problem=unknown_name(call.name))
        return self._read_direct(call, shown)

    def _read_host(self, call: ToolCall, tool: HostTool) -> Target:
        arguments, problem = _decoded(call, json.loads(tool.definition.schema))
        return Target("host", "local", arguments=arguments, host=tool, problem=problem)

    def _read_meta(self, call: ToolCall) -> Target:
        act, route = _META_ACTS[call.name]
        arguments, problem = _decoded(call, meta.SCHEMAS[call.name])
        if act == "search":
            return Target(act, route, arguments=arguments, problem=problem)
        server, tool = _text(arguments, "server"), _text(arguments, "tool")
        inner = arguments.get("input", {})
        return Target(act, route, server, tool, inner if isinstance(inner, dict) else {}, problem=problem)

    def _read_facade(self, call: ToolCall, server: str) -> Target:
        arguments, problem = _decoded(call, meta.FACADE_SCHEMA)
        named, inner = _text(arguments, "tool"), arguments.get("input", {})
        tool = None if named is None else self._plan.own_name(server, named)
        return Target(
            "call", "facade", server, tool, inner if isinstance(inner, dict) else {}, problem=problem
        )

    def _read_direct(self, call: ToolCall, shown: SurfaceTool) -> Target:
        try:
            arguments, problem = decode(call.arguments), None
        except ArgumentsError as error:
            arguments, problem = {}, RefusedError("invalid_arguments", str(error))
        return Target("call", "direct", shown.server, shown.tool, arguments, problem=problem)


def _decoded(call: ToolCall, schema: dict[str, Any]) -> tuple[dict[str, Any], RefusedError | None]:
    arguments: dict[str, Any] = {}
    try:
        arguments = decode(call.arguments)
        check(arguments, schema)
    except ArgumentsError as error:
        return arguments, RefusedError("invalid_arguments", str(error))
    return arguments, None


def _text(arguments: Mapping[str, Any], name: str) -> str | None:
    value = arguments.get(name)
    return value if isinstance(value, str) else None
