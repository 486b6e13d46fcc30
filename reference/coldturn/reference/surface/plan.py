"""The rendered surface of one Run: decided when it starts, moved at turns as little as the policy allows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from coldturn.reference.catalogue import CatalogueStore, CatalogueTool
from coldturn.reference.connections import ConnectionState, Hub
from coldturn.reference.observer import ServerState
from coldturn.reference.policy import Policy
from coldturn.reference.surface import meta, notices
from coldturn.reference.surface.discoveries import Discoveries
from coldturn.reference.surface.facade import facade
from coldturn.reference.surface.group import Group
from coldturn.reference.surface.lines import hint, one_line, server_line
from coldturn.reference.surface.model import HostTool, SurfaceTool, ToolSurface
from coldturn.reference.surface.names import ExposedNames
from coldturn.reference.surface.narrowing import Narrowing
from coldturn.reference.wire.model import ToolDefinition

logger = logging.getLogger(__name__)


class SurfacePlan:
    """What the prompt shows of the tools, turn by turn and step by step.

    The order of the array: built-in tools and meta tools, local ones, the search pair, then the servers';
    whatever comes in mid-Run stands behind all of them. Discovered tools come last.

    Attributes:
        names: The exposed names given out so far.
        listed: Servers whose list answer stands in the log; `described`: pairs whose describe answer does.
    """

    def __init__(
        self, policy: Policy, hub: Hub, store: CatalogueStore, narrowing: Narrowing, host: Sequence[HostTool]
    ) -> None:
        self._policy = policy
        self._hub = hub
        self._store = store
        self._narrowing = narrowing
        self._host = tuple(host)
        reserved = {tool.definition.name for tool in host} | meta.META_NAMES | meta.SEARCH_NAMES
        self.names = ExposedNames(reserved)
        self._groups: dict[str, Group] = {}
        self._arrivals: list[tuple[str, str | None]] = []
        self._discoveries = Discoveries()
        self._server_lines: tuple[str, ...] = ()
        self._inline: tuple[SurfaceTool, ...] = ()
        self._owners: dict[str, str] = {}
        self._started = False
        self._pair_leads = False
        self.listed: dict[str, None] = {}
        self.described: dict[tuple[str, str], None] = {}

    def start_turn(self) -> None:
        """Resolve the surface; after the first turn of a Run under ``resolution = run`` nothing moves."""
        if self._started and self._policy.resolution == "run":
            return
        for server in self._hub.ids:
            self._resolve(server)
        self._name_everything()
        if not self._started:
            self._server_lines = tuple(
                line for server in sorted(self._groups) if (line := self._line(self._groups[server]))
            )
        self._inline = self._render()
        self._owners = self.facades() | _owners(self._inline)
        inline = {(tool.server, tool.tool) for tool in self._inline if tool.server and tool.tool}
        self._discoveries.follow(self._narrowing, inline, self._policy)
        self._started = True

    def _resolve(self, server: str) -> None:
        group = self._groups.get(server)
        if group is None:
            spec = self._hub.spec(server)
            about = one_line(
                spec.description or self._hub.instructions(server), self._policy.server_line_chars
            )
            away = self._hub.state(server) is not ConnectionState.READY
            group = Group(spec, about, late=self._started, away_at_start=away and not self._started)
            self._groups[server] = group
        permitted = self._narrowing.permitted(server)
        if group.tier is not None:
            group.follow(permitted, self._policy)
        elif (snapshot := self._store.current(server)).version > 0:
            group.decide(snapshot.tools, permitted, self._policy)
            for name in group.missing_eager:
                logger.warning("%s: the eager tool %r is not in its catalogue", server, name)
        else:
            # Whatever it turns out to have, it was not there when the Run started.
            group.late = True
        self._note_arrivals(group)

    def _name_everything(self) -> None:
        for server in sorted(self._groups):
            self.names.facade(server)
        for row in self._narrowing.everything():
            self.names.of(row.server, row.name)

    def _note_arrivals(self, group: Group) -> None:
        """Keep what came in mid-Run in order of arrival; None stands for a late server's facade."""
        present: list[str | None] = [*group.appended, *([None] if self._is_late_facade(group) else [])]
        kept = [
            (server, name) for server, name in self._arrivals if server != group.server or name in present
        ]
        self._arrivals = kept + [pair for name in present if (pair := (group.server, name)) not in kept]

    def _is_late_facade(self, group: Group) -> bool:
        return group.late and group.tier == "facade" and self._policy.tool_order == "pinned"

    def _line(self, group: Group) -> str:
        state = ""
        if self._hub.state(group.server) is not ConnectionState.READY:
            state = "could not be reached when this conversation began"
        elif not self._narrowing.permitted(group.server):
            state = "offers no tools"
        if state or group.tier in {"deferred", "search"}:
            return server_line(group.server, group.about, self._policy.server_line_chars, state=state)
        return ""

    def _render(self) -> tuple[SurfaceTool, ...]:
        builtin = [SurfaceTool(tool.definition, tool.hint) for tool in self._host if tool.builtin]
        builtin += [meta.definition(name) for name in meta.META_NAMES]
        local = [SurfaceTool(tool.definition, tool.hint) for tool in self._host if not tool.builtin]
        pair = [meta.definition(name) for name in meta.SEARCH_NAMES] if self.searches() else []
        if not self._started:
            self._pair_leads = self.searches()
        order = self._hub.ids if self._policy.tool_order == "server" else sorted(self._groups)
        blocks = [
            *(_by_name(block) for block in (builtin, local, pair if self._pair_leads else [])),
            *(self._in_place(self._groups[server]) for server in order),
            *(self._arrived(self._groups[server], name) for server, name in self._arrivals),
            _by_name([] if self._pair_leads else pair),
        ]
        return tuple(tool for block in blocks for tool in block)

    def _in_place(self, group: Group) -> list[SurfaceTool]:
        rows = group.ordered(self._policy)
        if group.tier != "facade":
            return [self.render(row) for row in rows]
        return [] if self._is_late_facade(group) else [self._facade(group)]

    def _arrived(self, group: Group, name: str | None) -> list[SurfaceTool]:
        return [self._facade(group) if name is None else self.render(group.shown[name])]

    def _facade(self, group: Group) -> SurfaceTool:
        return facade(self.names, group.server, group.about, group.ordered(self._policy))

    def render(self, row: CatalogueTool, *, deferred: bool = False) -> SurfaceTool:
        """A tool as it stands in the array: the bytes first seen for its definition."""
        definition = ToolDefinition(
            self.names.of(row.server, row.name), row.description, row.schema_bytes, deferred
        )
        return SurfaceTool(
            definition, hint(row.description, self._policy.server_line_chars), row.server, row.name
        )

    def searches(self) -> bool:
        """Whether the search pair stands in the array."""
        return any(group.tier == "search" for group in self._groups.values())

    def facades(self) -> dict[str, str]:
        """Exposed names of the facades in the array -> connection id."""
        return {
            self.names.facade(server): server
            for server, group in self._groups.items()
            if group.tier == "facade"
        }

    def own_name(self, server: str, named: str) -> str:
        """The own name of a tool that a facade's index names; any other name stays as it is."""
        exposed = {self.names.of(server, row.name): row.name for row in self._narrowing.permitted(server)}
        return exposed.get(named, named)

    def tier(self, server: str) -> str:
        """The tier of a server as the prompt shows it."""
        group = self._groups.get(server)
        return "none" if group is None or group.tier is None else group.tier

    def discover(self, server: str, tool: str, *, turn: int, step: int) -> ToolDefinition | None:
        """Note that a describe answer stands in the log; where tools are promoted, the next step shows it.

        Returns:
            Its definition, where the provider is to load it from that answer.
        """
        self.described[server, tool] = None
        row = self._narrowing.allowed(server, tool)
        in_array = any((entry.server, entry.tool) == (server, tool) for entry in self._inline)
        if self._policy.promotion == "bridge" or row is None or in_array:
            return None
        self._discoveries.add(row, turn=turn, step=step)
        return self.render(row).definition if self._policy.promotion == "native" else None

    def at_step(self, turn: int, step: int) -> ToolSurface:
        """The surface of one step of the current turn."""
        native = self._policy.promotion == "native"
        discovered = tuple(self.render(row, deferred=native) for row in self._discoveries.at(turn, step))
        shown = {(tool.server, tool.tool) for tool in (*self._inline, *discovered)}
        deferred = frozenset(
            self.names.of(row.server, row.name)
            for row in self._narrowing.everything()
            if (row.server, row.name) not in shown
        )
        lines = notices.of(self._groups, self._hub, self._narrowing, self._policy)
        servers = tuple(self._server_state(server, discovered) for server in sorted(self._groups))
        owners = self._owners | _owners(discovered) if discovered else self._owners
        return ToolSurface(self._inline, discovered, self._server_lines, lines, deferred, servers, owners)

    def _server_state(self, server: str, discovered: Sequence[SurfaceTool]) -> ServerState:
        group, snapshot = self._groups[server], self._store.current(server)
        mine = [tool.definition for tool in (*self._inline, *discovered) if tool.server == server]
        if group.tier == "facade":
            mine += [t.definition for t in self._inline if t.definition.name == self.names.facade(server)]
        size = sum(len(d.name.encode()) + len(d.description.encode()) + len(d.schema) for d in mine)
        size += sum(len(line.encode()) for line in self._server_lines if line.startswith(f"{server}: "))
        flag = group.spec.preload
        return ServerState(
            name=server,
            catalog_version=snapshot.version,
            catalog_hash=snapshot.hash,
            tool_count=len(snapshot.tools),
            tier=self.tier(server),
            preload="unset" if flag is None else str(flag).lower(),
            state=self._hub.state(server).value,
            prompt_bytes=size,
            missing_eager=group.missing_eager,
        )


def _owners(tools: Iterable[SurfaceTool]) -> dict[str, str]:
    return {tool.definition.name: tool.server for tool in tools if tool.server is not None}


def _by_name(tools: Sequence[SurfaceTool]) -> list[SurfaceTool]:
    return sorted(tools, key=lambda tool: tool.definition.name)
