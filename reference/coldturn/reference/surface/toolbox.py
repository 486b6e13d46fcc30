"""The Toolbox: what the prompt shows of the tools at each step, and the one way to call any of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import xxhash
from mcp import MCPError
from mcp_types import CallToolResult
from pydantic import ValidationError

from coldturn.reference.catalogue import CatalogueStore, CatalogueTool
from coldturn.reference.clock import Clock
from coldturn.reference.connections import CallTimeoutError, Hub, Refresher, UnavailableError
from coldturn.reference.observer import Observer, ToolCallInfo, ToolOutcomeInfo
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.previews import READER_NAME, cap
from coldturn.reference.records import ToolResult
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface import answers, meta
from coldturn.reference.surface.arguments import violations
from coldturn.reference.surface.model import CallOutcome, HostTool, Reach, ToolSurface
from coldturn.reference.surface.narrowing import NO_LIMITS, Narrowing, RunLimits
from coldturn.reference.surface.plan import SurfacePlan
from coldturn.reference.surface.results import read_result, schema_problems
from coldturn.reference.surface.targets import (
    RefusedError,
    Target,
    Targets,
    unknown_name,
    unknown_pair,
    unknown_server,
)
from coldturn.reference.tokens import estimate_tokens
from coldturn.reference.wire.model import ToolCall

logger = logging.getLogger(__name__)


class UnsupportedPromotionError(ColdturnError):
    """The policy asks for a way of promoting tools that the provider's request format does not have."""

    slug = "unsupported-promotion"

    def __init__(self, promotion: str, surface: Surface) -> None:
        super().__init__(
            f"promotion = {promotion!r} does not work on {surface.value}, whose requests cannot load a "
            "tool in mid-conversation; use 'bridge' or 'append', or the surface messages or responses"
        )


class ReservedNameError(ColdturnError):
    """A tool of the host has a name that the runtime's own tools use."""

    slug = "reserved-tool-name"

    def __init__(self, name: str) -> None:
        super().__init__(f"the tool name {name!r} belongs to the runtime; give the host's tool another name")


class Toolbox:
    """The tools of one Run. A new Run, which is a boundary, takes a new Toolbox; hub and store may be shared.

    Args:
        spec: The agent.
        policy: How much is shown and what may move.
        hub: Connections, entered; the host connects and disconnects them as it likes.
        store: Catalogues by connection id.
        host_tools: Tools that run in the host's process, built-in ones included.
        observer: Told of every refresh and every call.
        clock: Dates the refreshes.
        limits: What this Run may not use.

    Raises:
        UnsupportedPromotionError: The policy's `promotion` is ``native`` and the surface has no such thing.
        ReservedNameError: A tool of the host is named like a meta tool.
    """

    def __init__(
        self,
        spec: AgentSpec,
        policy: Policy,
        hub: Hub,
        store: CatalogueStore,
        host_tools: Sequence[HostTool],
        observer: Observer,
        clock: Clock,
        *,
        limits: RunLimits = NO_LIMITS,
    ) -> None:
        if policy.promotion == "native" and spec.surface is Surface.CHAT_COMPLETIONS:
            raise UnsupportedPromotionError(policy.promotion, spec.surface)
        for tool in host_tools:
            if tool.definition.name in meta.META_NAMES | meta.SEARCH_NAMES:
                raise ReservedNameError(tool.definition.name)
        self.spec = spec
        self._policy = policy
        self._hub = hub
        self._store = store
        self._observer = observer
        self.refresher = Refresher(hub, store, observer, clock)
        self._narrowing = Narrowing(hub, store, limits, spec.grants)
        self._plan = SurfacePlan(policy, hub, store, self._narrowing, host_tools)
        self._targets = Targets(self._plan, tuple(host_tools))
        self._step = (0, 0)
        self._arrived: tuple[str, CallOutcome] | None = None

    @property
    def limits(self) -> RunLimits:
        """What this Run may not use; replacing it takes effect with the next act."""
        return self._narrowing.limits

    @limits.setter
    def limits(self, limits: RunLimits) -> None:
        self._narrowing.limits = limits

    async def start_turn(self, turn: int) -> ToolSurface:
        """Refresh what connected or announced a change, resolve the surface, and return the first step's."""
        await self.refresher.settle()
        self._plan.start_turn()
        return self.step_surface(turn, 0)

    def step_surface(self, turn: int, step: int) -> ToolSurface:
        """What the prompt of this step shows; steps of a turn are numbered upwards."""
        self._step = (turn, step)
        return self._plan.at_step(turn, step)

    def permitted(self, server: str) -> tuple[CatalogueTool, ...]:
        """The tools of a connection that this Run may use now, by name."""
        return self._narrowing.permitted(server)

    def reach(self, server: str | None, tool: str) -> Reach:
        """How a tool can be called at the current step; `server` None asks for a tool of the host."""
        surface = self._plan.at_step(*self._step)
        shown = {(entry.server, entry.tool): entry.definition.name for entry in surface.tools}
        if server is None:
            known = any(e.server is None and e.definition.name == tool for e in surface.tools)
            return Reach("local" if known else None, tool if known else "", listed=True, described=True)
        listed, described = server in self._plan.listed, (server, tool) in self._plan.described
        if self._narrowing.allowed(server, tool) is None:
            return Reach(None, "", listed, described)
        if (server, tool) in shown:
            return Reach("direct", shown[server, tool], listed, described)
        match self._plan.tier(server):
            case "facade":
                return Reach("facade", self._plan.names.facade(server), listed, described)
            case "search":
                return Reach("search", meta.USE, listed, described)
            case _:
                return Reach("meta", meta.CALL, listed, described)

    async def call(self, call: ToolCall, *, turn: int, step: int, handle: str = "") -> CallOutcome:
        """Carry out a call on whatever route its name stands for; permission is asked for now.

        Args:
            call: As the model wrote it.
            turn: Where it was made.
            step: Where it was made.
            handle: Names the record that the outcome becomes.

        Returns:
            The outcome; refusals, servers that cannot be reached and failing tools are ordinary tool errors.

        Raises:
            ColdturnError: A host's tool found the Run corrupt.
        """
        target = self._targets.read(call, self._plan.at_step(turn, step))
        version = self._store.current(target.server).version if target.server in self._hub.ids else None
        info = ToolCallInfo(call.id, call.name, target.route, target.server, target.tool, version)
        with self._observer.tool(info) as scope:
            try:
                outcome = await self._carry_out(call, target, handle)
            except RefusedError as refused:
                outcome = CallOutcome(
                    refused.text, True, target.route, target.server, target.tool, refused.refusal
                )
            scope.finish(_outcome_info(outcome, handle, elided=self._is_capped(call, outcome, handle)))
        if target.act == "list" and not outcome.is_error and target.server is not None:
            self._plan.listed[target.server] = None
        if outcome.described is not None:
            loaded = self._plan.discover(*outcome.described, turn=turn, step=step)
            outcome = replace(outcome, loaded=loaded)
        return outcome

    def arrived(self, handle: str) -> CallOutcome | None:
        """What a call that was cancelled had returned by then, whole; None when nothing had come."""
        return self._arrived[1] if self._arrived is not None and self._arrived[0] == handle else None

    def _is_capped(self, call: ToolCall, outcome: CallOutcome, handle: str) -> bool:
        """Whether the prompt will show this result shortened from the start; that is warned of."""
        limit = self._policy.current_turn_cap
        reads = call.arguments if call.name == READER_NAME else None
        result = ToolResult(
            0, 0, call.id, call.name, handle, outcome.text, outcome.is_error, outcome.route,
            binary=outcome.binary, reads=reads, schema_problem=outcome.schema_problem,
        )  # fmt: skip
        capped = outcome.described is None and cap(result, limit, self._policy.preview_chars) is not None
        if capped:
            logger.warning(
                "%s: a result is over current_turn_cap = %s and is shown as a preview", call.name, limit
            )
        return capped

    async def _carry_out(self, call: ToolCall, target: Target, handle: str) -> CallOutcome:
        if target.problem is not None:
            raise self._with_schema(target, target.problem)
        if target.host is not None:
            result = await target.host.handler(target.arguments)
            return CallOutcome(result.text, result.is_error, "local")
        if target.act == "search":
            return self._search(str(target.arguments["query"]))
        server, tool = target.server or "", target.tool or ""
        if server not in self._hub.ids:
            raise unknown_server(server, tuple(sorted(self._hub.ids)))
        if target.act == "list":
            return CallOutcome(answers.listing(self._narrowing.permitted(server)), False, "meta", server)
        row = self._narrowing.allowed(server, tool)
        if row is None:
            raise self._unknown(call, target, server, tool)
        if target.act == "describe":
            text = answers.description(row, self._exposed_in_array(row))
            return CallOutcome(text, False, "meta", server, tool, described=(server, tool))
        return await self._call(row, target, handle)

    def _unknown(self, call: ToolCall, target: Target, server: str, tool: str) -> RefusedError:
        if target.route == "direct":
            return unknown_name(call.name)
        if tool in meta.META_NAMES | meta.SEARCH_NAMES:
            return RefusedError("meta_in_meta", f"{call.name} cannot call {tool}; call {tool} by itself.")
        return unknown_pair(server, tool)

    def _exposed_in_array(self, row: CatalogueTool) -> str | None:
        if self._policy.promotion != "bridge" or self.reach(row.server, row.name).route == "direct":
            return self._plan.names.of(row.server, row.name)
        return None

    def _search(self, query: str) -> CallOutcome:
        if not query.strip():
            raise RefusedError("invalid_arguments", "query: give at least one keyword")
        text = answers.hits(self._narrowing.everything(), query, self._policy.search_hits)
        return CallOutcome(text, False, "search")

    async def _call(self, row: CatalogueTool, target: Target, handle: str) -> CallOutcome:
        if problems := violations(target.arguments, row.input_schema):
            text = "\n".join([f"The arguments of {row.name} do not fit its input schema:", *problems])
            raise self._with_schema(target, RefusedError("invalid_arguments", text))

        def arrived(result: CallToolResult) -> None:
            self._arrived = (handle, _outcome(result, row, target))

        try:
            result = await self._hub.call_tool(row.server, row.name, target.arguments, arrived=arrived)
        except UnavailableError as error:
            raise RefusedError("unavailable", f"The call failed: {error}") from error
        except CallTimeoutError as error:
            raise RefusedError("timeout", f"The call failed: {error}") from error
        except MCPError as error:
            raise RefusedError("protocol_error", f"{row.server} refused the call: {error.message}") from error
        except ValidationError as error:
            raise RefusedError(
                "invalid_result", f"{row.server} answered outside the protocol: {error}"
            ) from error
        return _outcome(result, row, target)

    def _with_schema(self, target: Target, refused: RefusedError) -> RefusedError:
        """Where the array does not show the tool's schema, a validation error carries it."""
        row = self._narrowing.allowed(target.server or "", target.tool or "")
        if target.act != "call" or target.route == "direct" or row is None:
            return refused
        schema = row.schema_bytes.decode()
        return RefusedError(refused.refusal, f"{refused.text}\nInput schema of {row.name}: {schema}")


def _outcome(result: CallToolResult, row: CatalogueTool, target: Target) -> CallOutcome:
    read = read_result(result)
    return CallOutcome(
        read.text,
        result.is_error,
        target.route,
        row.server,
        row.name,
        binary=read.binary,
        schema_problem=schema_problems(result, row.output_schema),
    )


def _outcome_info(outcome: CallOutcome, handle: str, *, elided: bool) -> ToolOutcomeInfo:
    data = outcome.text.encode("utf-8", "surrogatepass")
    return ToolOutcomeInfo(
        size=len(data),
        tokens_estimated=estimate_tokens(len(data)),
        digest=xxhash.xxh3_128_hexdigest(data),
        handle=handle,
        is_error=outcome.is_error,
        refusal=outcome.refusal,
        elided=elided,
    )
