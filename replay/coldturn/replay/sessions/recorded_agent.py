"""The agent in the header of our recordings: a replay then has its Spec, not only what requests show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from coldturn.reference.complaints import plain_complaint
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.errors import BrokenRecordingError
from coldturn.replay.live.host_tools import HOST_TOOL_NAMES, effect_of
from coldturn.replay.playback.recording import Recording
from coldturn.replay.sessions.session import Decision, Session, Turn

AGENT_KEY = "agent"
"""Under which the metadata of a recording holds the agent."""


class RecordedAgent(BaseModel):
    """What was run. How its servers were reached is left out: a replay reaches none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    spec: AgentSpec
    memory: str = ""


def agent_metadata(spec: AgentSpec, memory: str, redaction: Redaction) -> dict[str, Any]:
    """Describe an agent for the header of its recording, without secrets."""
    shown = spec.model_dump(
        mode="json", exclude_defaults=True, exclude={"connections": {"__all__": {"command", "url"}}}
    )
    about = json.dumps({"spec": shown, "memory": memory})
    return {AGENT_KEY: json.loads(redaction.masked_text(about))}


def with_recorded_agent(session: Session, recording: Recording) -> Session:
    """Give `session` the agent of the recording's header, if there is one.

    Servers that the recording holds nothing of stay away. Calls of our own local tools change memory and
    reminders again.

    Raises:
        BrokenRecordingError: What the header holds is no agent.
    """
    about = recording.metadata.get(AGENT_KEY)
    if about is None:
        return session
    try:
        agent = RecordedAgent.model_validate(about)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, (AGENT_KEY, *first["loc"])))
        said = plain_complaint(first["msg"])
        raise BrokenRecordingError(recording.source, f"{where} in its header: {said}") from error
    connections = tuple(_connections(agent.spec.connections, session.spec.connections))
    ids = {one.id for one in connections}
    spec = agent.spec.model_copy(
        update={
            "connections": connections,
            "grants": {id_: names for id_, names in agent.spec.grants.items() if id_ in ids},
            "local_tools": session.spec.local_tools,
        }
    )
    turns = tuple(_with_effects(session.turns, agent.memory))
    return session.model_copy(update={"spec": spec, "memory": agent.memory, "turns": turns})


def _connections(
    known: Sequence[ConnectionSpec], recorded: Sequence[ConnectionSpec]
) -> Iterator[ConnectionSpec]:
    """The recorded connections: those of the Spec in its order and as it has them, then any others."""
    urls = {one.id: one.url for one in recorded}
    for one in known:
        if one.id in urls:
            yield one.model_copy(update={"url": urls.pop(one.id)})
    yield from (one for one in recorded if one.id in urls)


def _with_effects(turns: Sequence[Turn], memory: str) -> Iterator[Turn]:
    def changed(call: Decision) -> Decision:
        nonlocal memory
        if call.server is not None or call.tool not in HOST_TOOL_NAMES:
            return call
        effect = effect_of(call.tool, call.arguments, memory)
        memory = memory if effect.memory is None else effect.memory
        return call.model_copy(update={"memory": effect.memory, "reminder": effect.reminders})

    for turn in turns:
        steps = [
            step.model_copy(update={"calls": tuple(changed(call) for call in step.calls)})
            for step in turn.steps
        ]
        yield turn.model_copy(update={"steps": tuple(steps)})
