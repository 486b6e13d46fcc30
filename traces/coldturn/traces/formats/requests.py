"""Request bodies: one, a list of them, or one on each line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.begun import elements_in_time, lines_in_time
from coldturn.traces.formats.model import Format, Head, Layout
from coldturn.traces.kinds import InputKind
from coldturn.traces.objects import LoggedAnswer, exchange_of_object
from coldturn.traces.opening import Line, document
from coldturn.traces.slices import NotJsonError

HINTS = frozenset({
    "request", "request_raw", "request_base64", "request_params", "jsonrpc", "model", "messages", "input",
    "contents", "prompt", "system", "instructions", "tools", "previous_response_id",
})  # fmt: skip
"""At least one of these stands in every request, recorded call or JSON-RPC message."""
_INSIDE = ("body", "kwargs", "complete_input_dict")
"""Others hold one where a key of a request is in sight in them: too many files have a key of these names."""
_KEY_OF_REQUEST = re.compile(rb'\\?"(?:model|messages|input|contents|prompt|instructions)\\?"\s*:')


def _hints(members: Mapping[str, bytes]) -> bool:
    if not HINTS.isdisjoint(members):
        return True
    return any(_KEY_OF_REQUEST.search(members.get(key, b"")) for key in _INSIDE)


def _is_body(head: Head) -> bool:
    # A document so damaged that it shows no key is left to its reader, which says where the damage is.
    return head.layout is Layout.OBJECT and (not head.keys or any(map(_hints, head.objects)))


def _is_jsonl(head: Head) -> bool:
    return head.layout is Layout.LINES and (not head.keys or any(map(_hints, head.objects)))


def _is_list(head: Head) -> bool:
    return head.layout is Layout.LIST and (not head.keys or any(map(_hints, head.objects)))


def _body(stream: IO[bytes], name: str) -> Iterator[Exchange]:
    """A file that is one object: what is wrong with it is wrong with the input."""
    read = exchange_of_object(document(stream, name), source=name, entry=0)
    if isinstance(read, Exchange):
        yield read
        return
    reason = read.message if isinstance(read, EntryError) else "a response without its request"
    raise UnreadableJsonError(name, reason)


def _bodies(stream: IO[bytes], name: str) -> Iterator[Exchange | EntryError]:
    try:
        for entry, content in elements_in_time(stream):
            read = exchange_of_object(content, source=name, entry=entry)
            if not isinstance(read, LoggedAnswer):
                yield read
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error


def _jsonl(stream: IO[bytes], name: str) -> Iterator[Exchange | EntryError]:
    """One exchange a line, by `lines_in_time`; a logged call's answer may stand on the line behind it."""
    waiting: Exchange | None = None
    for entry, line in lines_in_time(stream):
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


FORMATS = (
    Format(InputKind.BODY, "one request body", _is_body, _body),
    Format(InputKind.BODIES, "a list of request bodies", _is_list, _bodies),
    Format(InputKind.JSONL, "JSONL of requests", _is_jsonl, _jsonl),
)
