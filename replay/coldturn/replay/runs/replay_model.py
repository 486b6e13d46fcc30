"""In the place of the model: it takes the recorded decisions, in the words of the policy in force.

A call of a tool that the prompt does not show takes the way that the policy leaves: ask for the server's list
(once per server and Run), read the description (once per tool and Run), call. The requests that this adds are
counted: they are what the policy costs.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from coldturn.reference.model import ModelRequest
from coldturn.reference.run import Run
from coldturn.reference.spec import LocalToolSpec
from coldturn.reference.surface import meta
from coldturn.reference.surface.model import HostResult, HostTool, Reach
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.reference.wire.model import Reply, ToolCall, ToolDefinition
from coldturn.replay.runs.replay_clock import ReplayClock
from coldturn.replay.sessions.references import ResultReferences
from coldturn.replay.sessions.session import Decision, Session, Step


class UnscriptedCallError(RuntimeError):
    """A local tool was called that the script did not call: an error of ours."""


class LocalResults:
    """What the recorded local tools answered, handed out as the script calls them."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[tuple[str, HostResult]]] = defaultdict(deque)

    def expect(self, step: Step) -> None:
        """Set the results that the calls of `step` will ask for; what an earlier step left is forgotten."""
        self._waiting.clear()
        for call in step.calls:
            if call.server is None:
                result = HostResult(call.result, call.is_error)
                self._waiting[call.tool].append((_same(call.arguments), result))

    def take(self, tool: str, arguments: Mapping[str, Any]) -> HostResult:
        """The result of the next call of `tool`, one with equal arguments first."""
        waiting = self._waiting[tool]
        if not waiting:
            raise UnscriptedCallError(tool)
        wanted = _same(arguments)
        found = next((pair for pair in waiting if pair[0] == wanted), waiting[0])
        waiting.remove(found)
        return found[1]

    def host_tool(self, spec: LocalToolSpec) -> HostTool:
        """A tool of the host that answers as recorded."""

        async def answer(arguments: Mapping[str, Any]) -> HostResult:
            return self.take(spec.name, arguments)

        schema = msgspec.json.encode(dict(spec.input_schema))
        definition = ToolDefinition(spec.name, spec.description, schema)
        return HostTool(definition, spec.description.partition("\n")[0], answer)


class ReplayModel:
    """Answers requests from a session's script.

    Attributes:
        extra_steps: Requests that the recorded agent did not need: lists, searches and descriptions.
    """

    def __init__(self, session: Session, clock: ReplayClock, results: LocalResults) -> None:
        self._session = session
        self._clock = clock
        self._results = results
        self._run: Run | None = None
        self._turn = -1
        self._next = 0
        self._thought = False
        self._asked: set[tuple[str, ...]] = set()
        self._references = ResultReferences()
        self.extra_steps = 0

    def bind(self, run: Run) -> None:
        """Say whose model this is: how a tool can be reached is asked of its Toolbox."""
        self._run = run

    async def respond(self, request: ModelRequest) -> Reply:
        """Take the next recorded decision, or first what it needs to be possible."""
        if request.turn != self._turn:
            self._turn, self._next, self._thought = request.turn, 0, False
        turn = self._session.turns[request.turn]
        if self._next == len(turn.steps):
            return Reply(text=turn.answer)
        step = turn.steps[self._next]
        if not self._thought:
            self._clock.advance(step.after)
            self._thought = True
        if first := self._needed_first(step):
            self.extra_steps += 1
            return Reply(text="", calls=first)
        self._references.took(request.turn, self._next, request.step)
        self._next += 1
        self._thought = False
        self._results.expect(step)
        self._apply(step)
        return Reply(text=step.text, calls=tuple(self._call(decision) for decision in step.calls))

    def _apply(self, step: Step) -> None:
        """What a call changes beside its result shows in the prompts after it."""
        if self._run is None:
            raise RuntimeError("bind the model to its run first")
        for decision in step.calls:
            if decision.memory is not None:
                self._run.set_memory(decision.memory)
            for name, text in decision.reminder.items():
                self._run.set_reminder(name, text)

    def _reach(self, decision: Decision) -> Reach:
        toolbox = self._run.toolbox if self._run is not None else None
        if not isinstance(toolbox, Toolbox):
            raise TypeError("a replay needs a run with a real toolbox")
        return toolbox.reach(decision.server, decision.tool)

    def _needed_first(self, step: Step) -> tuple[ToolCall, ...]:
        """Calls that must be answered before those of `step`; none is made twice in a Run."""
        wanted = dict.fromkeys(
            asked
            for decision in step.calls
            if decision.server is not None
            for asked in self._before(decision, self._reach(decision))
        )
        new = [asked for asked in wanted if asked not in self._asked]
        self._asked.update(new)
        return tuple(_call(name, dict(zip(_PARAMETERS[name], values, strict=True))) for name, *values in new)

    def _before(self, decision: Decision, reach: Reach) -> Iterator[tuple[str, ...]]:
        server, tool = decision.server or "", decision.tool
        if reach.route == "meta" and not reach.listed and (meta.LIST, server) not in self._asked:
            yield meta.LIST, server
        elif reach.route == "search" and (meta.SEARCH, tool) not in self._asked:
            yield meta.SEARCH, tool
        elif reach.route in ("meta", "facade", "search") and not reach.described:
            yield meta.DESCRIBE, server, tool

    def _call(self, decision: Decision) -> ToolCall:
        arguments = dict(decision.arguments)
        if decision.server is None:
            records = self._run.records if self._run is not None else ()
            return _call(decision.tool, self._references.resolved(decision, records))
        reach = self._reach(decision)
        if reach.route == "direct":
            return _call(reach.exposed, arguments)
        if reach.route == "facade":
            return _call(reach.exposed, {"tool": decision.tool, "input": arguments})
        pair = {"server": decision.server, "tool": decision.tool, "input": arguments}
        return _call(reach.exposed or meta.CALL, pair)


_PARAMETERS: dict[str, tuple[str, ...]] = {
    meta.LIST: ("server",),
    meta.SEARCH: ("query",),
    meta.DESCRIBE: ("server", "tool"),
}
"""What a call that comes first takes, in the order in which `_before` yields it."""


def _call(name: str, arguments: Mapping[str, Any]) -> ToolCall:
    # The runtime gives calls ids of its own.
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False, separators=(",", ":")))


def _same(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)
