"""Logs of prompts that somebody flattened to a text before writing them down (LMCache's agent traces).

A line is ``{timestamp, input, output, session_id}``. The whole prompt counts as one message of a user: where
it changes is known to the byte of that text, and nothing of tools, roles or the request around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.classify import instant
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.model import Format, Head, Layout
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import Line, lines
from coldturn.traces.slices import NotJsonError, object_parts, to_json, value_of

_KEYS = ("input", "output", "session_id")
_PATH = "/v1/chat/completions"
_MICROSECONDS, _MILLISECONDS = 1e14, 1e11
"""Above these a time since 1973 is in that unit, and no time before the year 5138 is in a longer one."""


def _recognise(head: Head) -> bool:
    text = head.member("input")[:1] == b'"'
    return head.layout in (Layout.LINES, Layout.OBJECT) and text and set(_KEYS) <= head.keys


def _read(stream: IO[bytes], name: str) -> Iterator[Exchange | EntryError]:
    for entry, line in enumerate(lines(stream)):
        try:
            yield _exchange(line, entry, name)
        except NotJsonError as error:
            end = "" if line.complete else " (the file ends there without a line feed)"
            yield EntryError(name, entry, f"line {line.number}: {error}{end}")


def _exchange(line: Line, entry: int, name: str) -> Exchange:
    if line.too_long:
        raise NotJsonError("it is too long to be held")
    parts = object_parts(line.content)
    prompt = parts.get("input", b"")
    if prompt[:1] != b'"':
        raise NotJsonError("its input is no text")
    value_of(prompt)
    model = value_of(parts["model"]) if "model" in parts else ""
    header = b'{"model":' + to_json(model) + b"," if isinstance(model, str) and model else b"{"
    body = header + b'"messages":[{"role":"user","content":' + prompt + b"}]}"
    started = _moment(value_of(parts.get("timestamp", b"null")))
    return Exchange(
        source=name,
        entry=entry,
        kind=ExchangeKind.MODEL,
        method="POST",
        url=_PATH,
        request_body=body,
        response_body=None,
        status=None,
        content_type="",
        started=started,
        fidelity=Fidelity.MESSAGES,
        undated=started is None and parts.get("timestamp", b"null") != b"null",
        parts_missing=frozenset({Zone.TOOLS}),
    )


def _moment(value: object) -> float | None:
    """Seconds of a time whose unit its size tells: microseconds, milliseconds or seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and _MILLISECONDS <= value < 1e18:
        return instant(value / 1e6 if value >= _MICROSECONDS else value / 1e3)
    return instant(value)


FORMATS = (Format(InputKind.PROMPT_LOG, "a log of flattened prompt texts", _recognise, _read),)
