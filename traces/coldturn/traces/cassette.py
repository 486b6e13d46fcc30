"""A cassette's interactions, where nothing but a cassette will do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from coldturn.traces.cassette_entries import entries
from coldturn.traces.errors import BrokenCassetteError, NoCassetteError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.table import format_of
from coldturn.traces.interaction import Interaction
from coldturn.traces.kinds import CASSETTES
from coldturn.traces.opening import Source, opened
from coldturn.traces.sniff import sniff

_log = logging.getLogger(__name__)


def iter_cassette(
    source: Source, *, name: str | None = None, on_torn: Callable[[EntryError], object] | None = None
) -> Iterator[Interaction]:
    """Every interaction of a cassette file, in file order.

    Args:
        source: Path, content or binary stream; gzip or not.
        name: What errors call it; the path when not given.
        on_torn: Is told where all that is there is whole, but the file was, or may have been, cut off behind
            it; a warning says so when not given.

    Raises:
        BrokenCassetteError: An entry is damaged.
        InputError: It cannot be opened, or is no cassette.
    """
    called = name or (str(source) if not isinstance(source, bytes) else "cassette")
    with opened(source, called) as stream:
        kind = sniff(stream, called)
        if kind not in CASSETTES:
            raise NoCassetteError(called, format_of(kind).words)
        for entry in entries(stream, called, kind):
            if isinstance(entry, Interaction):
                yield entry
            elif not entry.torn:
                raise BrokenCassetteError(called, entry.entry, entry.message)
            elif on_torn is not None:
                on_torn(entry)
            else:
                _log.warning("%s: %s", called, entry.message)
