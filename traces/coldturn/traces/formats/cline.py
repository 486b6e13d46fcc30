"""Sessions of Cline (``*.messages.json``): its messages with what each answer cost, and the system text.

The system text is kept once for the whole session and the tools not at all: a change in them is unseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO, Any

from coldturn.traces.classify import instant
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.sessions import NOT_KEPT
from coldturn.traces.formats.talk import Message, messages_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import document
from coldturn.traces.slices import NotJsonError, value_of
from coldturn.traces.usage_reply import Counts, counted, counts

_KEYS = frozenset({"version", "updated_at", "agent", "sessionId", "messages"})
_MILLISECONDS = 1e3


def _is_session(head: Head) -> bool:
    return head.layout is Layout.OBJECT and head.keys >= _KEYS


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every answer with its counts, as a call that sent the messages in front of it.

    Raises:
        UnreadableJsonError: The document is damaged or cut off.
    """
    try:
        session = value_of(document(stream, name))
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error
    if not isinstance(session, Mapping):
        raise UnreadableJsonError(name, "it is no object")
    try:
        yield from _calls(session, name)
    except RecursionError as error:
        raise UnreadableJsonError(name, "it is nested too deeply") from error


def _calls(session: Mapping[str, Any], name: str) -> Iterator[Record]:
    records = Records(name)
    sent: list[Message] = []
    system = session.get("system_prompt")
    if isinstance(system, str) and system:
        sent += messages_of([{"role": "system", "content": system}])
    listed = session.get("messages")
    newest: float | None = None
    for entry, message in enumerate(listed if isinstance(listed, list) else []):
        if not isinstance(message, Mapping):
            yield EntryError(name, entry, f"message {entry}: it is no object")
            continue
        if message.get("role") == "assistant" and isinstance(message.get("metrics"), Mapping):
            for one in records.of(_call(message, entry, sent, newest)):
                yield replace(one, parts_missing=NOT_KEPT) if isinstance(one, Exchange) else one
        sent += messages_of([{key: message[key] for key in ("role", "content") if key in message}])
        newest = _moment(message.get("ts")) or newest


def _call(message: Mapping[str, Any], entry: int, sent: list[Message], started: float | None) -> Observed:
    told = message.get("modelInfo")
    model: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    provider = _text(model.get("provider"))
    return Observed(
        entry=entry,
        model=_text(model.get("id")),
        provider=provider,
        messages=tuple(sent),
        usage=_usage(message["metrics"], provider),
        started=started,
    )


def _usage(metrics: Mapping[str, Any], provider: str) -> Counts:
    """Counts; the input of a provider that may leave out what it read counts only where it is certain."""
    whole, read = metrics.get("inputTokens"), metrics.get("cacheReadTokens")
    written = metrics.get("cacheWriteTokens")
    beside = (counted(read) or 0) + (counted(written) or 0)
    if "openai" not in provider and 0 < beside <= (counted(whole) or 0):
        whole = None
    return counts(whole, read, written, metrics.get("outputTokens"))


def _moment(value: object) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return instant(value / _MILLISECONDS) if number and isinstance(value, int | float) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


FORMATS = (Format(InputKind.CLINE, "a session of Cline", _is_session, read),)
