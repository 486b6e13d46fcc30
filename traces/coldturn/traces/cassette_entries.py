"""Cassettes, read strictly and without vcrpy: a broken one is an error that names the entry.

vcrpy takes a damaged file for an empty one, and older versions execute what it says. Here YAML is read by
events, one interaction at a time, and nothing is constructed from a tag. Formats: vcrpy's YAML and JSON, the
`parsed_body` dialect, the older layout of parallel `requests` and `responses`, and our own JSONL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import orjson
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamStartEvent,
)

from coldturn.traces.errors import (
    BrokenCassetteError,
    UnrecognisedInputError,
)
from coldturn.traces.exchange import EntryError
from coldturn.traces.interaction import EntryValueError, Interaction, interaction_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.migrations import NO_MIGRATION, Migration, migration_from, read_header, version_of
from coldturn.traces.opening import document, lines
from coldturn.traces.slices import NotJsonError, array_parts, object_parts, value_of
from coldturn.traces.yaml_values import ValueStream, YamlValueError


def entries(stream: IO[bytes], name: str, kind: InputKind) -> Iterator[Interaction | EntryError]:
    """Every entry of a cassette; one that is damaged by itself is an `EntryError`.

    Args:
        stream: At the cassette's beginning.
        name: What errors call it.
        kind: One of the three kinds of cassettes.

    Raises:
        BrokenCassetteError: From some entry on nothing can be read.
    """
    match kind:
        case InputKind.CASSETTE_YAML:
            return _yaml_entries(stream, name)
        case InputKind.CASSETTE_JSON:
            return _json_entries(stream, name)
        case _:
            return _recording_entries(stream, name)


def _read(value: object, entry: int, name: str, migration: Migration) -> Interaction | EntryError:
    try:
        return interaction_of(migration.entry(value), entry)
    except EntryValueError as error:
        return EntryError(name, entry, str(error))


def _yaml_entries(stream: IO[bytes], name: str) -> Iterator[Interaction | EntryError]:
    migration = migration_from(version_of({"metadata": read_header(stream)}), name)
    reader = _YamlCassette(ValueStream(stream), name, migration)
    try:
        yield from reader.entries()
    except YamlValueError as error:
        entry = reader.entry if error.position is None else _entry_at(stream, error.position)
        raise BrokenCassetteError(name, entry, str(error)) from error


def _entry_at(stream: IO[bytes], position: int) -> int:
    """The entry that a byte stands in, by the dashes at the margin in front of it."""
    stream.seek(0)
    return max(0, sum(line.startswith(b"- ") for line in stream.read(position).splitlines()) - 1)


class _YamlCassette:
    """The top level of a YAML cassette, walked by events."""

    def __init__(self, values: ValueStream, name: str, migration: Migration) -> None:
        self.entry: int | None = None
        self._values = values
        self._name = name
        self._migration = migration
        self._count = 0
        self._keys: list[str] = []
        self._requests: list[Any] = []

    def entries(self) -> Iterator[Interaction | EntryError]:
        for expected in (StreamStartEvent, DocumentStartEvent, MappingStartEvent):
            if not isinstance(self._values.next(), expected):
                raise UnrecognisedInputError(self._name, "YAML that is no mapping")
        while not isinstance(event := self._values.next(), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                raise YamlValueError("a key is no text")
            self._keys.append(event.value)
            yield from self._section(event.value)
        self.entry = None
        if not {"interactions", "requests"} & set(self._keys):
            raise UnrecognisedInputError(self._name, f"YAML with the keys {', '.join(self._keys[:8])}")
        if "interactions" in self._keys and "version" not in self._keys:
            message = "no version line stands behind the last entry: the file may be cut off there"
            yield EntryError(self._name, self._count, message, torn=True)

    def _section(self, key: str) -> Iterator[Interaction | EntryError]:
        if key == "interactions":
            for value in self._sequence(key):
                yield self._read(value)
                self._count += 1
        elif key == "requests":
            self._requests = list(self._sequence(key))
        elif key == "responses":
            for value in self._sequence(key):
                if self._count >= len(self._requests):
                    raise YamlValueError("there are more responses than requests")
                pair = {"request": self._requests[self._count], "response": value}
                yield self._read(pair)
                self._count += 1
            if self._count < len(self._requests):
                yield EntryError(self._name, self._count, "the request has no response")
        elif key == "metadata":
            migration_from(version_of({key: self._values.value()}), self._name)
        else:
            self._values.value()

    def _read(self, value: object) -> Interaction | EntryError:
        return _read(value, self._count, self._name, self._migration)

    def _sequence(self, key: str) -> Iterator[Any]:
        if not isinstance(self._values.next(), SequenceStartEvent):
            raise YamlValueError(f"{key} is no list")
        self.entry = 0
        while not isinstance(event := self._values.next(), SequenceEndEvent):
            yield self._values.value(event)
            self.entry += 1


def _json_entries(stream: IO[bytes], name: str) -> Iterator[Interaction | EntryError]:
    try:
        parts = object_parts(document(stream, name))
        if "interactions" not in parts:
            yield _read({key: value_of(part) for key, part in parts.items()}, 0, name, NO_MIGRATION)
            return
        metadata = value_of(parts["metadata"]) if "metadata" in parts else {}
        migration = migration_from(version_of({"metadata": metadata}), name)
        values = array_parts(parts["interactions"])
    except NotJsonError as error:
        raise BrokenCassetteError(name, None, str(error)) from error
    for entry, raw in enumerate(values):
        try:
            value = value_of(raw)
        except NotJsonError as error:
            yield EntryError(name, entry, str(error))
        else:
            yield _read(value, entry, name, migration)


def _recording_entries(stream: IO[bytes], name: str) -> Iterator[Interaction | EntryError]:
    entry = 0
    migration = migration_from(0, name)
    for line in lines(stream):
        if line.too_long:
            yield EntryError(name, entry, f"line {line.number} is too long to be held")
            entry += 1
            continue
        try:
            value = _line_value(line.content)
        except NotJsonError as error:
            if line.complete:
                yield EntryError(name, entry, f"line {line.number} cannot be read: {error}")
            else:
                message = f"line {line.number} is cut off: the entry in flight was dropped"
                yield EntryError(name, entry, message, torn=True)
        else:
            if line.number == 1 and isinstance(value, dict) and "request" not in value:
                migration = migration_from(version_of(value), name)
                continue
            yield _read(value, entry, name, migration)
        entry += 1


def _line_value(content: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """A line's value; the fast reader knows neither half characters nor NaN, and leaves them to the other.

    Raises:
        NotJsonError: It is no JSON.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return value_of(content)
