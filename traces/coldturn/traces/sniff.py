"""What kind of recording an input is, told from its content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import IO

from coldturn.traces.errors import EmptyInputError, InputTooLargeError, UnrecognisedInputError
from coldturn.traces.formats.model import Head, Layout
from coldturn.traces.formats.table import recognised
from coldturn.traces.kinds import InputKind
from coldturn.traces.limits import MAX_LINE
from coldturn.traces.opening import BOM, Line, lines
from coldturn.traces.pieces import opening_members, pieces
from coldturn.traces.slices import NotJsonError, object_parts

__all__ = ["InputKind", "head_of", "named_keys", "sniff"]

_HEAD = 65_536
_OBJECTS = 8
_ENOUGH = 1_048_576
_LONGEST_KEY = 60
_YAML_KEY = re.compile(rb"^([A-Za-z_][\w.-]*):(?:[ \t\r]|$)", re.MULTILINE)
_YAML_LINE = re.compile(
    rb"""[A-Za-z_"'][^:]{0,100}:(?:\s|$)|-(?:\s|$)|---|\.\.\.|[#%\s}\]]|$""",
)
"""How a line of a YAML mapping or list may begin; prose and the fences of Markdown do not."""
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Signs that no text has; the one that begins a terminal's colours stands in logs."""
_LIST = re.compile(
    rb"\s*\[\s*(?:[{\[\]\"]|$|(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s*(?:[,\]]|$))"
)
"""How a JSON list begins; a line of a log with its time in brackets, or a TOML table, does not."""
_OTHERS = (
    (
        re.compile(rb"SQLite format 3\0"),
        "an SQLite database",
        "have the program that keeps it export the conversations as JSON, such as with `opencode export`",
    ),
    (
        re.compile(rb"\d{1,12}:\d+:(?:websocket|response|request|version|type|id);"),
        "flows of mitmproxy",
        "`mitmdump -nr FILE --set hardump=flows.har` makes a HAR of them, which is read",
    ),
)
"""Files that people have and that are not read: how each begins, its name, the way to one that is."""
_OTHERWISE = "`coldturn docs inputs` tells what is read, and `coldturn record proxy` records any agent"


def sniff(stream: IO[bytes], name: str) -> InputKind:
    """Recognise the kind and leave `stream` at its start.

    Raises:
        EmptyInputError: Nothing but blanks.
        InputTooLargeError: Its first line cannot be held.
        UnrecognisedInputError: None of the kinds; the message says what was seen.
    """
    head = head_of(stream, name)
    stream.seek(0)
    found = recognised(head)
    if found is None:
        raise UnrecognisedInputError(name, *_seen(head))
    return found.kind


def head_of(stream: IO[bytes], name: str) -> Head:
    """What is looked at to recognise an input; errors as for `sniff`."""
    text = stream.read(_HEAD).removeprefix(BOM)
    stream.seek(0)
    first = text.lstrip()[:1]
    if first == b"[" and _LIST.match(text):
        return Head(Layout.LIST, tuple(_elements(stream)), text)
    if first == b"{":
        beginning = _long_document(text)
        if beginning is not None:
            return Head(Layout.OBJECT, (beginning,), text)
        layout, objects = _objects(stream, name)
        return Head(layout, objects, text)
    if not first and len(text) < _HEAD:
        raise EmptyInputError(name, "the file holds nothing but blanks")
    return Head(Layout.TEXT, (), text)


def _elements(stream: IO[bytes]) -> Iterator[Mapping[str, bytes]]:
    """The members of a list's first elements, as far as they can be read."""
    cut = pieces(stream, lambda path: not path, hold=_ENOUGH, strict=False)
    try:
        for piece in islice(cut, _OBJECTS):
            if piece.content[:1] == b"{":
                yield opening_members(piece.content, _HEAD)
    except NotJsonError:
        return


def _long_document(text: bytes) -> Mapping[str, bytes] | None:
    """The members of a long first line whose beginning tells that it is read in pieces; else None."""
    if len(text) < _HEAD - len(BOM) or b"\n" in text.lstrip():
        return None
    beginning = opening_members(text, _HEAD)
    found = recognised(Head(Layout.OBJECT, (beginning,), text))
    return beginning if found is not None and found.streams else None


def _objects(stream: IO[bytes], name: str) -> tuple[Layout, tuple[Mapping[str, bytes], ...]]:
    """One JSON document or many, by whether the first line is an object by itself."""
    few = lines(stream)
    first = next(few)
    if first.too_long:  # refused here, rather than read to its end to be told so
        raise InputTooLargeError(name, "the first line", MAX_LINE)
    parts = _parts(first)
    second = next(few, None)
    if parts is not None:
        if second is None:
            return Layout.OBJECT, (parts,)
        return Layout.LINES, (parts, *_more(few, second, len(first.content)))
    # A pretty-printed document goes on with a key; in JSONL each line opens an object of its own.
    if second is not None and second.content[:1] == b"{" and first.content != b"{":
        return Layout.LINES, tuple(_more(few, second, len(first.content)))
    stream.seek(0)
    return Layout.OBJECT, (opening_members(stream, _ENOUGH),)


def _more(few: Iterator[Line], line: Line | None, read: int) -> Iterator[Mapping[str, bytes]]:
    """The members of the lines that follow, until enough was looked at."""
    for _ in range(_OBJECTS):
        if line is None or line.too_long:
            return
        parts = _parts(line)
        if parts is not None:
            yield parts
        read += len(line.content)
        if read > _ENOUGH:
            return
        line = next(few, None)


def _parts(line: Line) -> dict[str, bytes] | None:
    try:
        return object_parts(line.content)
    except NotJsonError:
        return None


def _seen(head: Head) -> tuple[str, str | None]:
    """What stands there, and what to do about it; None where keys would have made it a request."""
    if head.layout is not Layout.TEXT:
        return f"{head.layout} with the keys {named_keys(list(head.objects[0]))}", None
    for beginning, what, way in _OTHERS:
        if beginning.match(head.text):
            return what, way
    if _CONTROL.search(head.text):
        return "binary data", _OTHERWISE
    keys = [key.decode() for key in _YAML_KEY.findall(head.text)] if _is_yaml(head.text) else []
    return (f"YAML with the keys {named_keys(keys)}", None) if keys else ("plain text", _OTHERWISE)


def _is_yaml(text: bytes) -> bool:
    """Whether no line that can be seen to its end is one that YAML has not."""
    seen = text.split(b"\n")
    return all(map(_YAML_LINE.match, seen if len(text) < _HEAD - len(BOM) else seen[:-1]))


def named_keys(keys: Sequence[str]) -> str:
    """Keys as a sentence can hold them: the first of them, each with the signs that can be shown."""
    return ", ".join(map(_shown, keys[:8])) + (" and others" if len(keys) > 8 else "")


def _shown(key: str) -> str:
    """A key as it fits into a sentence."""
    plain = "".join(sign if sign.isprintable() else "·" for sign in key[:_LONGEST_KEY])
    return plain if len(key) <= _LONGEST_KEY else f"{plain}..."
