"""Every recording of requests as a stream of exchanges.

One request at a time: JSONL is read line by line and a YAML cassette interaction by interaction, so memory
does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import IO

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.cassette import entries
from coldturn.traces.classify import PackedBodyError, address, answered_of, kind_of, started_of, unpacked
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.interaction import Interaction
from coldturn.traces.objects import LoggedAnswer, exchange_of_object
from coldturn.traces.opening import BOM, Line, Source, document, lines, opened
from coldturn.traces.slices import NotJsonError, array_parts, object_parts
from coldturn.traces.sniff import InputKind, refuse_foreign, sniff


def read_exchanges(
    source: Source, *, name: str | None = None, kind: InputKind | None = None
) -> Iterator[Exchange | EntryError]:
    """Read one input.

    Args:
        source: A path, the content itself, or a binary stream.
        name: The `source` that exchanges carry; the path when not given.
        kind: What the input is; recognised from its content when not given.

    Yields:
        Exchanges in file order; an `EntryError` for an entry that cannot be read while others can.

    Raises:
        InputError: The input as a whole cannot be read, or not from some entry on.
    """
    called = name or (str(source) if not isinstance(source, bytes) else "input")
    with opened(source, called) as stream:
        recognised = kind or sniff(stream, called)
        match recognised:
            case InputKind.BODY:
                yield _whole(document(stream, called), called)
            case InputKind.BODIES:
                yield from _bodies(stream, called)
            case InputKind.JSONL:
                yield from _jsonl(stream, called)
            case _:
                for entry in entries(stream, called, recognised):
                    yield entry if isinstance(entry, EntryError) else exchange_of(entry, source=called)


def exchange_of(interaction: Interaction, *, source: str) -> Exchange | EntryError:
    """A cassette's interaction as an exchange, its bodies unpacked."""
    try:
        body = unpacked(interaction.request_body, interaction.request_headers)
        answer = interaction.response_body
        if answer is not None:
            answer = unpacked(answer, interaction.response_headers)
    except PackedBodyError as error:
        return EntryError(source, interaction.entry, f"a body cannot be read: {error}")
    headers = interaction.response_headers
    url = address(interaction.uri)
    return Exchange(
        source=source,
        entry=interaction.entry,
        kind=kind_of(body, url),
        method=interaction.method.upper(),
        url=url,
        request_body=body,
        response_body=answer,
        status=interaction.status,
        content_type=dict(headers).get("content-type", ""),
        started=started_of(interaction),
        fidelity=interaction.fidelity,
        headers=headers,
        answered=answered_of(interaction),
    )


def _whole(text: bytes, name: str) -> Exchange:
    """A file that is one object: what is wrong with it is wrong with the input."""
    read = exchange_of_object(text, source=name, entry=0)
    if isinstance(read, Exchange):
        return read
    reason = read.message if isinstance(read, EntryError) else "a response without its request"
    raise UnreadableJsonError(name, reason)


def _bodies(stream: IO[bytes], name: str) -> Iterator[Exchange | EntryError]:
    try:
        parts = array_parts(document(stream, name).removeprefix(BOM))
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error
    if parts and parts[0][:1] == b"{":
        with suppress(NotJsonError):
            refuse_foreign(object_parts(parts[0]), name)
    for entry, text in enumerate(parts):
        read = exchange_of_object(text, source=name, entry=entry)
        if not isinstance(read, LoggedAnswer):
            yield read


def _jsonl(stream: IO[bytes], name: str) -> Iterator[Exchange | EntryError]:
    """One exchange a line; a logged call's answer may stand on the line behind it."""
    waiting: Exchange | None = None
    for entry, line in enumerate(lines(stream)):
        read = _line(line, entry, name)
        if isinstance(read, LoggedAnswer):
            if waiting is not None:
                yield replace(waiting, response_body=read.body, content_type="application/json")
                waiting = None
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        if isinstance(read, Exchange) and read.fidelity is not Fidelity.WIRE:
            waiting = read
        else:
            yield read
    if waiting is not None:
        yield waiting


def _line(line: Line, entry: int, name: str) -> Exchange | EntryError | LoggedAnswer:
    if line.too_long:
        return EntryError(name, entry, f"line {line.number} is too long to be held")
    read = exchange_of_object(line.content, source=name, entry=entry)
    if not isinstance(read, EntryError):
        return read
    end = "" if line.complete else " (the file ends there without a line feed)"
    return replace(read, message=f"line {line.number}: {read.message}{end}")
