"""Session files from recordings: what a cassette implies, written down so that a person can change it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, Item, Table

from coldturn.replay.errors import SessionFileError, UnwritableRecordingError
from coldturn.replay.playback.recording import open_recording
from coldturn.replay.sessions.implied import IDLE_SECONDS, derive_script
from coldturn.replay.sessions.loading import SESSION_SUFFIX, recording_label
from coldturn.replay.sessions.session import Session

_ABOUT = """\
The script of {cassette}, as `coldturn session init` read it from the recording. Change what you like:
`[spec]` is that of an agent.toml, `[[turns]]` are what the user said, each with the steps in which the model
called tools. A call with a server is answered from the recording; one without is a tool of the agent's own
and carries its result. `after` is seconds since what came before it.
"""
_INLINE = 100
"""Objects of at most so many characters of JSON stand in one line of TOML; larger ones are JSON texts."""
_JSON_FIELDS = frozenset({"arguments", "input_schema"})


def session_file_for(cassette: Path) -> Path:
    """Where a replay of `cassette` looks for its session file."""
    return cassette.with_name(recording_label(str(cassette)) + SESSION_SUFFIX)


def init_session(cassette: Path, target: Path, *, idle_seconds: float = IDLE_SECONDS) -> Session:
    """Write the session file that a cassette implies. A replay of it is a replay of the cassette alone.

    Args:
        cassette: The recording.
        target: The file to write; one that is there is left alone.
        idle_seconds: In a cassette of calls alone, a gap that parts two turns.

    Raises:
        InputError: The cassette cannot be opened or read.
        NothingToReplayError: There is nothing that a replay could follow.
        SessionFileError: `target` is there already, or something in the recording cannot be said in TOML.
        UnwritableRecordingError: It cannot be written.
    """
    if target.exists():
        raise _there_already(target)
    derived = derive_script(open_recording(cassette), idle_seconds=idle_seconds).session
    relative = os.path.relpath(cassette.absolute(), target.absolute().parent)
    session = derived.model_copy(update={"cassette": Path(relative).as_posix()})
    content = session_toml(session)
    try:
        encoded = content.encode()
    except UnicodeEncodeError as error:
        reason = (
            f"half a character (byte {error.start}) stands in a text of {cassette}, which TOML cannot hold"
        )
        raise SessionFileError(str(target), reason) from error
    try:
        with target.open("xb") as file:
            file.write(encoded)
    except FileExistsError as error:
        raise _there_already(target) from error
    except OSError as error:
        raise UnwritableRecordingError(str(target), (error.strerror or str(error)).lower()) from error
    return session


def _there_already(target: Path) -> SessionFileError:
    reason = "it exists already and may hold changes of yours; name another with -o, or move it away"
    return SessionFileError(str(target), reason)


def session_toml(session: Session) -> str:
    """`session` as a TOML file; what has its default is left out."""
    fields = session.model_dump(exclude_defaults=True)
    document = tomlkit.document()
    for line in _ABOUT.format(cassette=json.dumps(session.cassette)[1:-1]).splitlines():
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    for name in ("version", "cassette", "start", "clocked", "late", "memory"):
        if name in fields or name in ("version", "start"):
            document.add(name, _item(getattr(session, name)))
    document.add("spec", _table(fields.get("spec", {})))
    document.add("turns", _tables(fields.get("turns", ())))
    return tomlkit.dumps(document)


def _table(fields: Mapping[str, Any]) -> Table:
    """A table with plain values first: TOML counts what stands behind a table among the table's."""
    table = tomlkit.table()
    nested = {name: value for name, value in fields.items() if _is_tables(value)}
    for name, value in fields.items():
        if name not in nested:
            table.add(name, _json_item(value) if name in _JSON_FIELDS else _item(value))
    for name, value in nested.items():
        table.add(name, _tables(value))
    return table


def _is_tables(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(item, dict) for item in value)


def _tables(items: Sequence[Mapping[str, Any]]) -> AoT:
    tables = tomlkit.aot()
    for fields in items:
        tables.append(_table(fields))
    return tables


def _json_item(value: Mapping[str, Any]) -> Item:
    """An object of somebody else's making: in one line when it is short and TOML has words for all of it."""
    if len(json.dumps(value)) <= _INLINE and _sayable(value):
        return _item(value)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    # Both can only stand in a string, where JSON has another spelling for them.
    text = text.replace("'''", "\\u0027" * 3).replace("\x7f", "\\u007f")
    return tomlkit.string(text, literal=True, multiline=True)


def _sayable(value: object) -> bool:
    match value:
        case dict():
            return all(_sayable(item) for item in (*value.keys(), *value.values()))
        case list() | tuple():
            return all(_sayable(item) for item in value)
        case float():
            return math.isfinite(value)
        case str():
            return not any("\ud800" <= character <= "\udfff" for character in value)
    return isinstance(value, bool | int)


def _item(value: Any) -> Item:  # noqa: ANN401 - any value of a session
    match value:
        case dict():
            table = tomlkit.inline_table()
            for name, item in value.items():
                table.append(name, _item(item))
            return table
        case list() | tuple():
            array = tomlkit.array()
            for item in value:
                array.append(_item(item))
            return array
        case str():
            return _text(str(value))
    plain: Item = tomlkit.item(value)
    return plain


def _text(value: str) -> Item:
    """Several lines stand as such, when TOML has no other reading for them."""
    plain = all(character in "\n\t" or character.isprintable() for character in value)
    if "\n" in value and plain and "'''" not in value and not value.endswith("'"):
        return tomlkit.string(value, literal=True, multiline=True)
    return tomlkit.string(value)
