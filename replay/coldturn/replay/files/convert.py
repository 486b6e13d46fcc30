"""Cassettes from one format into another: vcrpy's YAML and JSON, and our JSON lines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from vcr.persisters.filesystem import FilesystemPersister
from vcr.request import Request
from vcr.serializers import jsonserializer, yamlserializer

from coldturn.reference.prefix.model import Fidelity
from coldturn.replay.capture.jsonl import header_line, interaction_line
from coldturn.replay.capture.timing import TIMING_KEY
from coldturn.replay.errors import (
    BinaryBodyError,
    BrokenRecordingError,
    RecordingExistsError,
    UnknownFormatError,
    UnwritableRecordingError,
)
from coldturn.replay.playback.recording import read_metadata
from coldturn.traces.cassette import iter_cassette
from coldturn.traces.interaction import Headers, Interaction
from coldturn.traces.migrations import METADATA_KEY, NEWEST
from coldturn.traces.whole_file import led_to

LINES = ".jsonl"
_SERIALIZERS = {".yaml": yamlserializer, ".yml": yamlserializer, ".json": jsonserializer}
FORMATS = (LINES, *_SERIALIZERS)

_Pair: TypeAlias = tuple[Request, dict[str, Any]]


def convert_file(source: Path, target: Path, *, overwrite: bool = False) -> int:
    """Write a cassette in the format that the target's ending names. It is written whole or not at all.

    Bodies, headers, order and recorded times stay; so does what our recorders say of the whole recording.

    Args:
        source: Any cassette that we read.
        target: What to write: .jsonl, .yaml or .json.
        overwrite: Replace a file of that name.

    Returns:
        How many interactions it holds.

    Raises:
        InputError: The source cannot be opened or is no cassette, or an entry of it is damaged.
        BrokenRecordingError: An entry does not hold what the format must say of it.
        BinaryBodyError: The target is JSON and a body is binary.
        RecordingExistsError: The target is there and `overwrite` is not set, or it is the source.
        UnknownFormatError: The target's ending names no format.
        UnwritableRecordingError: The target cannot be written.
    """
    suffix = target.suffix.lower()
    if suffix not in FORMATS:
        raise UnknownFormatError(str(target))
    if target.exists() and (not overwrite or target.samefile(source)):
        raise RecordingExistsError(str(target))
    target = led_to(target)
    if target.exists() and not target.is_file():
        raise UnwritableRecordingError(str(target), "it is no file")
    pairs = _pairs(source)
    first = next(pairs, None)  # what cannot be read leaves no file
    metadata = {METADATA_KEY: {**read_metadata(source), "version": NEWEST}}
    partial = target.with_name(target.name + ".partial")
    try:
        write = _write_lines if suffix == LINES else _write_vcr
        count = write(partial, _chain(first, pairs), metadata, target)
        shutil.copymode(source, partial)
        partial.replace(target)
    except OSError as error:
        raise UnwritableRecordingError(str(target), (error.strerror or str(error)).lower()) from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return count


def _chain(first: _Pair | None, rest: Iterator[_Pair]) -> Iterator[_Pair]:
    if first is not None:
        yield first
        yield from rest


def _write_lines(partial: Path, pairs: Iterator[_Pair], metadata: Mapping[str, Any], _: Path) -> int:
    with partial.open("wb") as file:
        file.write(header_line(metadata))
        return sum(1 for pair in pairs if file.write(interaction_line(*pair)))


def _write_vcr(partial: Path, pairs: Iterator[_Pair], metadata: Mapping[str, Any], target: Path) -> int:
    held = list(pairs)
    suffix = target.suffix.lower()
    if suffix == ".json":
        for entry, (request, response) in enumerate(held):
            if not (_is_text(request.body) and _is_text(response["body"]["string"])):
                raise BinaryBodyError(str(target), entry)
    contents = {
        "requests": [request for request, _ in held],
        "responses": [response for _, response in held],
        "metadata": metadata,
    }
    FilesystemPersister.save_cassette(partial, contents, _SERIALIZERS[suffix])
    return len(held)


def _is_text(body: bytes | None) -> bool:
    try:
        (body or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _pairs(source: Path) -> Iterator[_Pair]:
    for interaction in iter_cassette(str(source)):
        yield _pair(source, interaction)


def _pair(source: Path, interaction: Interaction) -> _Pair:
    if interaction.fidelity is not Fidelity.WIRE:
        reason = "its request body is not the one that was sent, and a converted file could not say so"
        raise BrokenRecordingError(str(source), reason, entry=interaction.entry)
    if interaction.status is None:
        reason = "its response has no status, which every format must name"
        raise BrokenRecordingError(str(source), reason, entry=interaction.entry)
    headers = {name: ", ".join(values) for name, values in _grouped(interaction.request_headers).items()}
    request = Request(interaction.method, interaction.uri, interaction.request_body or None, headers)
    response: dict[str, Any] = {
        "status": {"code": interaction.status, "message": interaction.reason},
        "headers": _grouped(interaction.response_headers),
        "body": {"string": interaction.response_body or b""},
    }
    if interaction.timing:
        response[TIMING_KEY] = dict(interaction.timing)
    return request, response


def _grouped(headers: Headers) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    return grouped
