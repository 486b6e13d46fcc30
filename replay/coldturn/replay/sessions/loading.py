"""From what a user names to what is replayed: a cassette alone, a session file, or a cassette beside one."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from coldturn.reference.complaints import plain_complaint
from coldturn.reference.previews import READER_NAME
from coldturn.reference.prompt.skills import SKILL_TOOL_NAME
from coldturn.replay.capture.stdio_bridge import stdio_url
from coldturn.replay.errors import SessionFileError
from coldturn.replay.playback.endpoints import Endpoint, endpoints_of
from coldturn.replay.playback.recording import Recording, address, open_recording
from coldturn.replay.sessions.implied import IDLE_SECONDS, Script, derive_script
from coldturn.replay.sessions.session import Session
from coldturn.traces.errors import MissingInputError

SESSION_SUFFIX = ".session.toml"


@dataclass(frozen=True, slots=True)
class OpenedRecording:
    """A recording with its script.

    Attributes:
        source: Its name as the user gave it.
        addresses: Recorded address of each of the Spec's connections, by connection id.
        label: Its short name: it goes into traces, which are the same wherever the file lies.
        session_file: Where the script was read; None when the recording alone implies it.
    """

    source: str
    recording: Recording
    script: Script
    addresses: dict[str, str]
    label: str
    session_file: str | None = None


def recording_label(source: str) -> str:
    """The file's name without its endings."""
    name = Path(source).name
    for ending in (SESSION_SUFFIX, ".gz", ".yaml", ".yml", ".jsonl", ".json"):
        name = name.removesuffix(ending)
    return name or "recording"


def open_replayable(path: str | Path, *, idle_seconds: float = IDLE_SECONDS) -> OpenedRecording:
    """Open a cassette or a session file.

    Args:
        path: ``x.jsonl`` and the like, which takes the script of an ``x.session.toml`` beside it, or else
            implies one; or ``x.session.toml``, which names its cassette.
        idle_seconds: In a cassette of calls alone, a gap that parts two turns.

    Raises:
        InputError: It cannot be opened or read.
        SessionFileError: The session file is wrong.
        NothingToReplayError: There is nothing that a replay could follow.
    """
    given = Path(path)
    if given.name.endswith(".toml"):
        return _with_session(given, str(path))
    beside = given.with_name(recording_label(str(given)) + SESSION_SUFFIX)
    if beside.is_file():
        return _with_session(beside, str(path))
    recording = open_recording(given)
    script = derive_script(recording, idle_seconds=idle_seconds)
    addresses = {endpoint.id: endpoint.url for endpoint in script.endpoints}
    return OpenedRecording(str(path), recording, script, addresses, recording_label(str(path)))


def read_session(path: Path) -> Session:
    """Read a session file.

    Raises:
        MissingInputError: It cannot be opened.
        SessionFileError: It is no TOML, or says something that a session does not have.
    """
    try:
        return Session.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise MissingInputError(str(path), (error.strerror or "cannot be opened").lower()) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SessionFileError(str(path), f"it is no TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SessionFileError(str(path), f"{where}: {plain_complaint(first['msg'])}") from error


def _with_session(path: Path, source: str) -> OpenedRecording:
    session = read_session(path)
    recording = open_recording(path.parent / session.cassette)
    endpoints = endpoints_of(recording)
    addresses = _addresses(path, session, endpoints)
    _check_names(path, session)
    script = Script(session, endpoints, clocked=session.clocked)
    return OpenedRecording(source, recording, script, addresses, recording_label(source), str(path))


def _addresses(path: Path, session: Session, endpoints: tuple[Endpoint, ...]) -> dict[str, str]:
    """Where the recording keeps each connection: by id, else by url, else under a stdio server's address."""
    by_id = {endpoint.id: endpoint.url for endpoint in endpoints}
    known = set(by_id.values())
    found: dict[str, str] = {}
    for connection in session.spec.connections:
        wanted = [address(connection.url)] if connection.url else [stdio_url(connection.id)]
        places = [by_id.get(connection.id), *wanted]
        place = next((place for place in places if place in known), None)
        if place is None:
            raise SessionFileError(
                str(path),
                f"its connection {connection.id} is not in {session.cassette}, which holds "
                f"{', '.join(sorted(by_id)) or 'no MCP server'}",
            )
        found[connection.id] = place
    return found


def _check_names(path: Path, session: Session) -> None:
    """Every server and local tool that the script names must be one of the Spec's."""
    servers = {connection.id for connection in session.spec.connections}
    tools = {READER_NAME, SKILL_TOOL_NAME, *(tool.name for tool in session.spec.local_tools)}
    for number, turn in enumerate(session.turns):
        named = {*turn.connect, *turn.disconnect}
        named |= {call.server for step in turn.steps for call in step.calls if call.server is not None}
        if unknown := sorted(named - servers):
            raise SessionFileError(str(path), f"turn {number} names {unknown[0]}, no connection of its spec")
        called = {call.tool for step in turn.steps for call in step.calls if call.server is None}
        if unknown := sorted(called - tools):
            raise SessionFileError(str(path), f"turn {number} calls {unknown[0]}, no local tool of its spec")
    if unknown := sorted(set(session.late) - servers):
        raise SessionFileError(str(path), f"late names {unknown[0]}, no connection of its spec")
