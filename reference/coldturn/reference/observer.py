"""How the runtime reports what it does: one Protocol of context managers, so that spans nest.

The runtime computes the observations (hashes, the pair's comparison); an observer only writes them down.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from coldturn.reference.prefix.ledger import Ledger
from coldturn.reference.prefix.model import Comparison, Marker, Surface
from coldturn.reference.tokens import EstimatedTokens
from coldturn.reference.wire.model import Reply


@dataclass(frozen=True, slots=True)
class TurnInfo:
    """Known when a turn starts."""

    run_id: str
    agent: str
    turn: int
    policy: str


@dataclass(frozen=True, slots=True)
class ServerState:
    """One server as it stood at the end of a turn. `tier`: direct, facade, search, deferred or none.

    `missing_eager`: names the Spec wants injected and the catalogue lacks.
    """

    name: str
    catalog_version: int
    catalog_hash: str
    tool_count: int
    tier: str
    preload: str
    state: str
    prompt_bytes: int
    missing_eager: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ElisionInfo:
    """What elision did to this step's prompt. `boundary_message`: index in the history, or -1."""

    count: int
    original_bytes: int
    sent_bytes: int
    boundary_message: int
    handles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepInfo:
    """Known when a request is about to be sent.

    Attributes:
        base: (turn, step) of the request it was compared with, or None for the first.
        comparison: What the pair's bytes tell, or None for the first.
    """

    run_id: str
    turn: int
    step: int
    surface: Surface
    model: str
    scope: str
    body: bytes
    ledger: Ledger
    markers: tuple[Marker, ...]
    base: tuple[int, int] | None
    comparison: Comparison | None
    elision: ElisionInfo


@dataclass(frozen=True, slots=True)
class ToolCallInfo:
    """Known when a call is dispatched. For a meta, facade or search call the real server and tool."""

    call_id: str
    exposed_name: str
    route: str
    server: str | None
    tool: str | None
    catalog_version: int | None


@dataclass(frozen=True, slots=True)
class ToolOutcomeInfo:
    """Known when a call has returned. `refusal`: unknown_server, unknown_tool, invalid_arguments or None.

    `elided`: the model is shown the result shortened from the first step on (no policy does so by default).
    """

    size: int
    tokens_estimated: EstimatedTokens
    digest: str
    handle: str
    is_error: bool
    refusal: str | None
    elided: bool = False


@dataclass(frozen=True, slots=True)
class RefreshInfo:
    """Why a catalogue is fetched: connect, sweep, demand, list_changed or reconnect."""

    server: str
    trigger: str


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """What a refresh committed. `error` is set when it committed nothing."""

    version: int
    previous_version: int
    catalog_hash: str
    tool_count: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    error: str | None = None


class TurnScope(Protocol):
    """Open while a turn runs."""

    def finish(self, servers: tuple[ServerState, ...], *, error: str | None = None) -> None:
        """Say how the turn ended; hashes and counts of breaks follow from the turn's steps."""
        ...


class StepScope(Protocol):
    """Open from just before a request is sent until its reply has been read."""

    def reply(self, reply: Reply) -> None:
        """Report the reply and what the provider says it used."""
        ...


class ToolScope(Protocol):
    """Open while a tool call runs."""

    def finish(self, outcome: ToolOutcomeInfo) -> None:
        """Report the outcome."""
        ...


class RefreshScope(Protocol):
    """Open while a catalogue is fetched."""

    def finish(self, outcome: RefreshOutcome) -> None:
        """Report what was committed."""
        ...


class Observer(Protocol):
    """Receives everything that the runtime does."""

    def turn(self, info: TurnInfo) -> AbstractContextManager[TurnScope]:
        """A turn: from the user's message to the agent's answer."""
        ...

    def step(self, info: StepInfo) -> AbstractContextManager[StepScope]:
        """A model call."""
        ...

    def tool(self, info: ToolCallInfo) -> AbstractContextManager[ToolScope]:
        """A tool call, on any route."""
        ...

    def refresh(self, info: RefreshInfo) -> AbstractContextManager[RefreshScope]:
        """A fetch of one server's tools."""
        ...


class _Silent:
    def finish(self, *_args: object, **_kwargs: object) -> None:
        """Ignore."""

    def reply(self, _reply: Reply) -> None:
        """Ignore."""


class NullObserver:
    """Observes nothing."""

    def turn(self, _info: TurnInfo) -> AbstractContextManager[TurnScope]:
        """Ignore."""
        return nullcontext(_Silent())

    def step(self, _info: StepInfo) -> AbstractContextManager[StepScope]:
        """Ignore."""
        return nullcontext(_Silent())

    def tool(self, _info: ToolCallInfo) -> AbstractContextManager[ToolScope]:
        """Ignore."""
        return nullcontext(_Silent())

    def refresh(self, _info: RefreshInfo) -> AbstractContextManager[RefreshScope]:
        """Ignore."""
        return nullcontext(_Silent())
