"""Every recording of requests as a stream of exchanges, one at a time: memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator

from coldturn.traces.errors import InputError, NumbersOnlyError, UnsupportedFormatError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Format, Record
from coldturn.traces.formats.table import format_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.mixed import strangers
from coldturn.traces.opening import Source, opened
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord

_SPANS = frozenset({InputKind.OTLP, InputKind.SPANS})


def read_records(
    source: Source, *, name: str | None = None, kind: InputKind | None = None
) -> Iterator[Record]:
    """Read one input, whatever is known of its calls.

    Args:
        source: A path, the content itself, or a binary stream.
        name: The `source` that records carry; the path when not given.
        kind: What the input is; recognised from its content when not given.

    Yields:
        In file order: exchanges; a `UsageRecord` for a call of which only numbers were kept; an `EntryError`
        for an entry that cannot be read while others can.

    Raises:
        InputError: The input as a whole cannot be read, or not from some entry on.
    """
    called = _name(source, name)
    with opened(source, called) as stream:
        chosen = format_of(kind or sniff(stream, called))
        if chosen.read is None:
            raise _not_read(chosen, called)
        yield from chosen.read(stream, called)
        yield from strangers(stream, called, chosen)


def read_exchanges(
    source: Source, *, name: str | None = None, kind: InputKind | None = None
) -> Iterator[Exchange | EntryError]:
    """Read one input where the bytes of requests are needed; arguments as for `read_records`.

    Calls of which only numbers were kept, beside others with content, are one `EntryError` at the end.

    Raises:
        NumbersOnlyError: It holds nothing but numbers.
        InputError: The input as a whole cannot be read, or not from some entry on.
    """
    called = _name(source, name)
    with opened(source, called) as stream:
        chosen = format_of(kind or sniff(stream, called))
        if chosen.numbers:
            raise NumbersOnlyError(called)
        if chosen.read is None:
            raise _not_read(chosen, called)
        bare: list[int] = []
        others = 0
        for record in chosen.read(stream, called):
            if isinstance(record, UsageRecord):
                bare.append(record.entry)
            else:
                others += 1
                yield record
        if bare and not others:
            raise NumbersOnlyError(called, traced=chosen.kind in _SPANS)
        if bare:
            yield EntryError(called, bare[0], _left_out(len(bare)))
        yield from strangers(stream, called, chosen)


def _name(source: Source, name: str | None) -> str:
    return name or (str(source) if not isinstance(source, bytes) else "input")


def _not_read(chosen: Format, name: str) -> InputError:
    """Hashes have a reader of their own (`estimate` uses it); what else has none is not read at all."""
    return NumbersOnlyError(name) if chosen.numbers else UnsupportedFormatError(name, chosen.words)


def _left_out(count: int) -> str:
    calls = "one call has" if count == 1 else f"{count} calls have"
    return f"{calls} numbers and no content, from here on: nothing can be compared there"
