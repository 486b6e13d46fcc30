"""What the surfaces' replies share: decoding of events, errors, JSON as sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.strings import without_lone_surrogates
from coldturn.reference.tokens import ReportedTokens
from coldturn.reference.wire.errors import ProviderError, UnreadableReplyError
from coldturn.reference.wire.replies.sse import event_data

T = TypeVar("T", bound=msgspec.Struct)

_REFUSED = (msgspec.DecodeError, UnicodeError, RecursionError)


class ErrorObject(msgspec.Struct):
    """An error as the surfaces nest it; servers fill in what they like."""

    type: str | None = None
    code: str | int | None = None
    message: str | None = None


class ErrorBody(msgspec.Struct):
    """A response or event that may carry an error instead of content."""

    type: str | None = None
    error: ErrorObject | str | None = None


def decode_as(kind: type[T], data: bytes | str, surface: Surface) -> T:
    """Decode one JSON document; a lone surrogate in it, which no strict parser takes, is replaced.

    Raises:
        ProviderError: It carries an error object.
        UnreadableReplyError: It is no JSON, or JSON of another shape.
    """
    try:
        return _decoded(kind, data, surface)
    except _REFUSED as error:
        sent = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        mended = without_lone_surrogates(sent)
        if mended == sent:
            raise UnreadableReplyError(surface, str(error)) from error
    try:
        return _decoded(kind, mended, surface)
    except _REFUSED as error:
        raise UnreadableReplyError(surface, str(error)) from error


def _decoded(kind: type[T], data: bytes | str, surface: Surface) -> T:
    raise_error(msgspec.json.decode(data, type=ErrorBody).error, surface)
    return msgspec.json.decode(data, type=kind)


def decode_events(kind: type[T], body: bytes, surface: Surface) -> Iterator[T]:
    """Decode the events of a stream; one that was cut off within its last event ends before it.

    Raises:
        ProviderError: An event carries an error object.
        UnreadableReplyError: An event in the middle is no JSON, or JSON of another shape.
    """
    broken: UnreadableReplyError | None = None
    for data in event_data(body):
        if broken is not None:
            raise broken
        try:
            event = decode_as(kind, data, surface)
        except UnreadableReplyError as error:
            broken = error
            continue
        yield event


def raise_error(error: ErrorObject | str | None, surface: Surface) -> None:
    """Raise what a body or event reports as an error, if it does.

    Raises:
        ProviderError: `error` is not None.
    """
    if error is None:
        return
    if isinstance(error, str):
        raise ProviderError(surface, "error", error)
    kind = error.type or error.code or "error"
    raise ProviderError(surface, str(kind), error.message or "no message")


def sent_text(raw: msgspec.Raw | bytes) -> str:
    """Give the text of a JSON string; bytes in it that are no UTF-8 are replaced."""
    return msgspec.json.decode(without_lone_surrogates(bytes(raw)), type=str)


def as_sent(raw: msgspec.Raw) -> str:
    """Give compact JSON with key order and number lexemes as sent; bytes that are no UTF-8 are replaced."""
    return bytes(msgspec.json.format(bytes(raw), indent=-1)).decode("utf-8", "replace")


def raw_text(value: Any) -> str:  # noqa: ANN401 - any decoded JSON
    """Give compact JSON of a decoded value."""
    return msgspec.json.encode(value).decode()


def count_of(holder: object, key: str) -> ReportedTokens | None:
    """Give the count that `holder` reports under `key`; None when there is none, or it is no whole number."""
    value = holder.get(key) if isinstance(holder, dict) else None
    if isinstance(value, float) and value.is_integer():
        return ReportedTokens(int(value))
    return ReportedTokens(value) if isinstance(value, int) and not isinstance(value, bool) else None


def first_count(holder: object, *keys: str) -> ReportedTokens | None:
    """Give the count under the first of these keys that reports one."""
    return next((found for key in keys if (found := count_of(holder, key)) is not None), None)


def add_known(*counts: ReportedTokens | None) -> ReportedTokens | None:
    """Add counts of which the first decides whether the sum is known; unreported parts count as nothing."""
    if not counts or counts[0] is None:
        return None
    return ReportedTokens(sum(count or 0 for count in counts))
