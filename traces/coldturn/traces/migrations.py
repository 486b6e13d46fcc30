"""Recordings of earlier format versions, brought to the newest one step at a time.

The version of the format is apart from the versions of coldturn: it moves only when what stands in a
recording means something else than before. Each step knows its own version and the next one, nothing further.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

import orjson
import yaml

from coldturn.traces.errors import BrokenCassetteError, UnsupportedFormatError

METADATA_KEY: Final = "coldturn"
"""Under which a cassette's metadata holds what we say of it."""

_TAIL_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Step:
    """From one format version to the next.

    Attributes:
        about: What a recorder said of the recording (the object under `METADATA_KEY`), changed.
        entry: An interaction as it stands in the file, changed.
    """

    about: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    entry: Callable[[Any], Any]


def _unnamed(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 0, lines of vcrpy interactions with nothing in front, names no servers."""
    return {"servers": {}, **about}


def _same(entry: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
    return entry


STEPS: Final[Sequence[Step]] = (Step(_unnamed, _same),)
"""The step at index N leads from version N to N + 1."""

NEWEST: Final = len(STEPS)
"""The version that is written, and the newest that is read."""


@dataclass(frozen=True, slots=True)
class Migration:
    """All steps from a recording's version to the newest one."""

    steps: Sequence[Step]

    def about(self, about: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the recorder said, in the newest version's terms."""
        for step in self.steps:
            about = step.about(about)
        return {**about, "version": NEWEST} if self.steps else about

    def entry(self, entry: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
        """An interaction in the newest version's terms."""
        for step in self.steps:
            entry = step.entry(entry)
        return entry


NO_MIGRATION: Final = Migration(())


def migration_from(version: object, name: str, steps: Sequence[Step] = STEPS) -> Migration:
    """The steps that a recording of `version` needs.

    Args:
        version: As its header has it.
        name: What errors call the recording.
        steps: All there are.

    Raises:
        BrokenCassetteError: The version is no number from 0.
        UnsupportedFormatError: A later release wrote it.
    """
    if isinstance(version, bool) or not isinstance(version, int) or version < 0:
        raise BrokenCassetteError(name, None, "its header names no format version")
    if version > len(steps):
        raise UnsupportedFormatError(name, f"a recording of format version {version}")
    return Migration(steps[version:])


def version_of(header: object) -> object:
    """The format version that a header names: the first line of JSON lines, or a cassette's metadata."""
    if not isinstance(header, dict):
        return None
    metadata = header.get("metadata")
    ours = (metadata if isinstance(metadata, dict) else header).get(METADATA_KEY, header)
    return ours.get("format", ours.get("version", NEWEST)) if isinstance(ours, dict) else None


def read_about(stream: IO[bytes], name: str) -> Mapping[str, Any]:
    """What a recorder wrote about a recording, in the newest version's terms; empty when there is nothing.

    The stream is left at its beginning.

    Raises:
        BrokenCassetteError: It names no format version.
        UnsupportedFormatError: A later release wrote it.
    """
    header = read_header(stream)
    ours = header.get(METADATA_KEY)
    if not isinstance(ours, dict):
        return {}
    return migration_from(version_of({"metadata": header}), name).about(ours)


def read_header(stream: IO[bytes]) -> Mapping[str, Any]:
    """A cassette's metadata as it stands, wherever in the file; the stream is left at its beginning."""
    head = stream.readline(_TAIL_BYTES)
    stream.seek(0, io.SEEK_END)
    stream.seek(max(0, stream.tell() - _TAIL_BYTES))
    tail = stream.read()
    stream.seek(0)
    found = _metadata_of(head, tail)
    return found if isinstance(found, dict) else {}


def _metadata_of(head: bytes, tail: bytes) -> object:
    """JSON lines begin with it; vcrpy's YAML and JSON have it behind the interactions."""
    try:
        if head.startswith(b'{"' + METADATA_KEY.encode()):
            return orjson.loads(head)
        if match := re.search(rb"^metadata:\n(?:[ \t].*\n)+", tail, re.MULTILINE):
            return yaml.safe_load(match.group())["metadata"]
        if match := re.search(rb'^ {4}"metadata": (\{\n(?:.*\n)*? {4}\})', tail, re.MULTILINE):
            return orjson.loads(match.group(1))
    except (ValueError, yaml.YAMLError):
        return {}
    return {}
