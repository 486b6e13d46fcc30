"""A recording alone becomes a session: connections from its servers, decisions from its model exchanges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from coldturn.reference.prefix.model import Surface
from coldturn.reference.previews import READER_NAME
from coldturn.reference.prompt.skills import SKILL_TOOL_NAME
from coldturn.reference.spec import AgentSpec, ConnectionSpec, LocalToolSpec
from coldturn.reference.surface import meta
from coldturn.reference.wire.model import RENDERED_SURFACES, ToolCall
from coldturn.replay.errors import NothingToReplayError
from coldturn.replay.playback.endpoints import Endpoint, endpoints_of
from coldturn.replay.playback.recording import Recording
from coldturn.replay.sessions.conversations import (
    Conversations,
    ModelExchange,
    RecordedTurn,
    conversations_of,
)
from coldturn.replay.sessions.provider import ToolText
from coldturn.replay.sessions.recorded_agent import with_recorded_agent
from coldturn.replay.sessions.recorded_calls import RecordedCalls, arguments_of, tool_of
from coldturn.replay.sessions.session import Decision, Session, Step, Turn

_REPEATED_BY_REPLAY = frozenset({meta.LIST, meta.DESCRIBE, meta.SEARCH})
"""Calls of our own runtime that only prepare others: a replay makes those that its policy needs."""
_RESERVED = meta.META_NAMES | meta.SEARCH_NAMES | {READER_NAME, SKILL_TOOL_NAME}

IDLE_SECONDS = 60.0
NO_USER_TEXT = "(The recording holds no words of the user for this turn.)"


@dataclass(frozen=True, slots=True)
class Script:
    """What a replay follows.

    Attributes:
        clocked: The session's times are those of the recording, so its clock decides what is current.
        unmapped: Calls of the model that belong to no MCP server of the recording.
        notes: What was left out or taken for something, in words.
    """

    session: Session
    endpoints: tuple[Endpoint, ...]
    clocked: bool
    unmapped: int = 0
    notes: tuple[str, ...] = ()


def derive_script(recording: Recording, *, idle_seconds: float = IDLE_SECONDS) -> Script:
    """Make the script that a recording without a session file implies.

    Args:
        recording: The recording.
        idle_seconds: Without model exchanges: a gap between calls that parts two turns.

    Raises:
        NothingToReplayError: It holds neither model exchanges nor calls of tools.
    """
    endpoints = endpoints_of(recording)
    conversations = conversations_of(recording)
    calls = RecordedCalls(recording, endpoints)
    if conversations.turns:
        return _from_conversations(recording, endpoints, conversations, calls)
    if not calls.entries:
        raise NothingToReplayError(
            recording.source, "it holds neither a model request that we can read nor a tools/call of MCP"
        )
    turns = _from_calls(calls, idle_seconds, timed=recording.timed)
    return _script(recording, endpoints, _Derived(turns))


@dataclass(slots=True)
class _Timed:
    """A turn under construction, with the recorded times that its offsets come from."""

    user: str
    at: float
    steps: list[tuple[float, str, tuple[Decision, ...]]] = field(default_factory=list)
    answer: str = ""


@dataclass(slots=True)
class _Derived:
    turns: list[_Timed]
    spec: dict[str, Any] = field(default_factory=dict)
    unmapped: int = 0
    notes: tuple[str, ...] = ()


def _from_calls(calls: RecordedCalls, idle_seconds: float, *, timed: bool) -> list[_Timed]:
    turns: list[_Timed] = []
    previous: float | None = None
    for server, entry in calls.entries:
        if previous is None or (timed and entry.start - previous > idle_seconds):
            turns.append(_Timed(NO_USER_TEXT, entry.start))
        decision = Decision(server=server, tool=tool_of(entry), arguments=arguments_of(entry))
        turns[-1].steps.append((entry.start, "", (decision,)))
        previous = entry.end
    return turns


def _from_conversations(
    recording: Recording,
    endpoints: tuple[Endpoint, ...],
    conversations: Conversations,
    calls: RecordedCalls,
) -> Script:
    reader = _TurnReader(conversations, calls)
    turns = [reader.turn(turn) for turn in conversations.turns]
    first = conversations.turns[0].exchanges[0].asked
    shown: dict[str, ToolText] = {}
    for turn in conversations.turns:
        for exchange in turn.exchanges:
            for tool in exchange.asked.tools:
                shown.setdefault(tool.name, tool)
    local = [
        tool
        for name, tool in shown.items()
        if name in reader.local or (name not in _RESERVED and not calls.candidates(name))
    ]
    rendered = first.surface in RENDERED_SURFACES
    notes = conversations.notes if rendered else (*conversations.notes, _not_rendered(first.surface))
    spec = {
        "surface": first.surface if rendered else Surface.RESPONSES,
        "model": first.model or AgentSpec().model,
        "instructions": first.system,
        "local_tools": tuple(_local_tools(local, reader.local - shown.keys())),
    }
    return _script(recording, endpoints, _Derived(turns, spec, reader.unmapped, notes))


def _not_rendered(surface: Surface) -> str:
    return f"requests of {surface.value} are only read: the replay renders {Surface.RESPONSES.value} instead"


class _TurnReader:
    def __init__(self, conversations: Conversations, calls: RecordedCalls) -> None:
        self._results = conversations.results
        self._calls = calls
        self.local: set[str] = set()
        self.unmapped = 0

    def turn(self, turn: RecordedTurn) -> _Timed:
        read = _Timed(turn.user or NO_USER_TEXT, turn.exchanges[0].entry.start)
        for exchange in turn.exchanges:
            calls = [call for call in exchange.reply.calls if call.name not in _REPEATED_BY_REPLAY]
            decided = tuple(self._decisions(exchange, calls))
            if decided:
                read.steps.append((exchange.entry.end, exchange.reply.text, decided))
            elif calls or not exchange.reply.calls:
                read.answer = exchange.reply.text or _output(calls)
        return read

    def _decisions(self, exchange: ModelExchange, calls: Sequence[ToolCall]) -> Iterator[Decision]:
        for call in calls:
            arguments = _arguments(call)
            name, inner = _without_route(call.name, arguments)
            claimed = self._calls.claim(name, inner, not_before=exchange.entry.start)
            if claimed is not None:
                server, entry = claimed
                yield Decision(server=server, tool=tool_of(entry), arguments=arguments_of(entry))
            elif call.id in self._results:
                # A tool of the agent's own: its result is what the next request showed the model.
                outcome = self._results[call.id]
                self.unmapped += 1
                self.local.add(call.name)
                yield Decision(
                    tool=_fit(call.name),
                    arguments=arguments,
                    result=outcome.text,
                    is_error=outcome.is_error,
                )


def _without_route(name: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """A call through a meta tool of our own runtime is a call of the tool that it names."""
    inner = arguments.get("input", {})
    if name in (meta.CALL, meta.USE) and isinstance(inner, dict):
        return str(arguments.get("tool")), inner
    return name, arguments


def _output(calls: Sequence[ToolCall]) -> str:
    """Calls that nobody answered are how some agents give their answer."""
    return "\n".join(call.arguments for call in calls)


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _fit(name: str) -> str:
    """A local tool's name that every provider takes and that none of the runtime's own tools has."""
    fit = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"
    return f"{fit}_recorded" if fit in _RESERVED else fit


def _local_tools(shown: Sequence[ToolText], undefined: set[str]) -> Iterator[LocalToolSpec]:
    """Definitions as the model saw them; a tool that was called without one gets an open schema."""
    made: set[str] = set()
    for tool in [*shown, *(ToolText(name, "", {"type": "object"}) for name in sorted(undefined))]:
        if (name := _fit(tool.name)) not in made:
            made.add(name)
            yield LocalToolSpec(name=name, description=tool.description, input_schema=tool.schema)


def _script(recording: Recording, endpoints: tuple[Endpoint, ...], derived: _Derived) -> Script:
    arrivals = {endpoint.id: _arrival(endpoint, derived.turns) for endpoint in endpoints}
    connections = tuple(ConnectionSpec(id=endpoint.id, url=endpoint.url) for endpoint in endpoints)
    session = Session(
        cassette=recording.source,
        start=datetime.fromtimestamp(recording.entries[0].start, UTC),
        clocked=True,
        spec=AgentSpec(connections=connections, **derived.spec),
        turns=_with_offsets(derived.turns, recording.entries[0].start, arrivals),
        late=tuple(id_ for id_, turn in arrivals.items() if turn > 0),
    )
    session = with_recorded_agent(session, recording)
    return Script(session, endpoints, clocked=session.clocked, unmapped=derived.unmapped, notes=derived.notes)


def _arrival(endpoint: Endpoint, turns: Sequence[_Timed]) -> int:
    """The turn before which a server connects: that in which it was first heard of."""
    for index, turn in enumerate(turns):
        if endpoint.first <= max([turn.at, *(at for at, _, _ in turn.steps)]):
            return index
    return len(turns) - 1


def _with_offsets(turns: Sequence[_Timed], start: float, arrivals: Mapping[str, int]) -> tuple[Turn, ...]:
    made: list[Turn] = []
    now = start
    for index, turn in enumerate(turns):
        after, now = max(0.0, turn.at - now), max(now, turn.at)
        steps: list[Step] = []
        for at, text, decided in turn.steps:
            steps.append(Step(text=text, calls=decided, after=max(0.0, at - now)))
            now = max(now, at)
        connect = tuple(id_ for id_, arrival in arrivals.items() if arrival == index and index > 0)
        made.append(
            Turn(user=turn.user, steps=tuple(steps), answer=turn.answer, after=after, connect=connect)
        )
    return tuple(made)
