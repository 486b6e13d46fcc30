"""Session files: a cassette's user turns, decisions, host events and clock, editable by a person."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coldturn.reference.spec import AgentSpec, JsonObject
from coldturn.replay.capture.timing import LATEST


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Decision(_Strict):
    """One tool call that the model decided on.

    Attributes:
        server: Connection id; None for a local tool.
        tool: The server's own tool name, or the local tool's.
        arguments: An object, or JSON text of one. A handle of `read_tool_output` is ``@TURN.STEP.CALL`` (see
            references.py).
        result: A local tool's recorded result (MCP results come from the cassette).
        memory: New text of the user's memory (zone 2) that this call sets.
        reminder: Named texts that this call sets; an empty text removes one.
    """

    server: str | None = None
    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    result: str = ""
    is_error: bool = False
    memory: str | None = None
    reminder: Mapping[str, str] = Field(default_factory=dict)


class Step(_Strict):
    """One model answer that calls tools. `after`: seconds since the step (or turn) before it."""

    text: str = ""
    calls: tuple[Decision, ...]
    after: float = Field(default=2.0, ge=0)


class Turn(_Strict):
    """One user turn. `connect` and `disconnect` name connections that the host adds or drops before it."""

    user: str
    steps: tuple[Step, ...] = ()
    answer: str = ""
    after: float = Field(default=30.0, ge=0)
    connect: tuple[str, ...] = ()
    disconnect: tuple[str, ...] = ()


class Session(_Strict):
    """A recording's script. `[spec]` is that of ``coldturn run``'s agent.toml.

    Attributes:
        cassette: Path relative to the session file.
        clocked: `start` and every `after` are the recording's times, and servers change when they did then.
            Otherwise they change with the calls that follow.
        late: Connections of the Spec that are not there at the start (a turn's `connect` brings them).
        memory: The user's memory when the Run starts.
    """

    version: int = 1
    cassette: str
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    clocked: bool = False
    spec: AgentSpec
    turns: tuple[Turn, ...]
    late: tuple[str, ...] = ()
    memory: str = ""

    @model_validator(mode="after")
    def _stays_on_the_clock(self) -> Self:
        start = self.start if self.start.tzinfo else self.start.replace(tzinfo=UTC)
        passed = sum(turn.after + sum(step.after for step in turn.steps) for turn in self.turns)
        if not 0 <= start.timestamp() <= start.timestamp() + passed <= LATEST:
            raise ValueError("its times leave the years from 1970 to 2200")
        return self
