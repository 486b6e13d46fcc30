"""Files that hold lines of several kinds, as `cat` makes them: what one reader passes over is told once."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.model import Format, Head, Layout
from coldturn.traces.formats.table import recognised
from coldturn.traces.kinds import InputKind
from coldturn.traces.objects import exchange_of_object
from coldturn.traces.opening import BOM, lines
from coldturn.traces.slices import NotJsonError, object_parts

_REQUESTS = frozenset({InputKind.BODY, InputKind.BODIES, InputKind.JSONL})
_SPANS = frozenset({InputKind.TRACE, InputKind.OTLP, InputKind.SPANS})
_WHOLE = frozenset({InputKind.RECORDING, InputKind.CASSETTE_JSON, InputKind.CASSETTE_YAML})
"""Read strictly, as one thing."""
_NOT_LOOKED_AT = _WHOLE | {InputKind.PROMPT_LOG}
"""Its lines look like requests, and it names each that is none of its own."""
_KEYS = re.compile(
    rb'\{\s*+("[^"\\]{0,80}")\s*+:\s*+(?:(?:"[^"\\]{0,200}"|[\w.+-]{1,40}+)\s*+,\s*+("[^"\\]{0,80}"))?'
)
"""The first key of a line, and the second where the first one's value is short."""
_HEAD = 65_536
_TAIL = 524_288
_PIECES = 16


def strangers(stream: IO[bytes], name: str, chosen: Format) -> Iterator[EntryError]:
    """One error for all lines that another reader has, where an input is lines of JSON.

    Lines that begin with the same keys as one that was looked at are taken to be of its kind. An input whose
    last lines are all of its own kind is not read a second time: files are joined one behind the other.

    Args:
        stream: Read by `chosen`.
        name: What errors call it.
        chosen: The format of the input's first lines.
    """
    if chosen.kind in _NOT_LOOKED_AT or not _may_be_lines(stream):
        return
    strange = _Strange(chosen)
    last = _last_lines(stream)
    if last is not None and not any(map(strange.kind_of, last)):
        return
    stream.seek(0)
    first: tuple[int, int, Format] | None = None
    count = 0
    for entry, line in enumerate(lines(stream)):
        if not entry and not _KEYS.match(line.content):
            return  # no lines of JSON
        other = strange.kind_of(line.content)
        if other is not None:
            first = first or (entry, line.number, other)
            count += 1
    if first is not None:
        entry, number, other = first
        lines_are = "one line is" if count == 1 else f"{count:,} lines are"
        message = f"{lines_are} of another kind ({other.words}) and not read, the first is line {number}"
        yield EntryError(name, entry, f"{message}; give each kind a file of its own")


@dataclass(slots=True)
class _Strange:
    """Lines of other formats than the `chosen` one, by the keys that they begin with."""

    chosen: Format
    _known: dict[tuple[bytes | None, ...], Format | None] = field(default_factory=dict)

    def kind_of(self, line: bytes) -> Format | None:
        """The other format that a line is of; None for any other line."""
        found = _KEYS.match(line)
        if found is None:
            return None
        keys = found.groups()
        if keys not in self._known:
            self._known[keys] = _other(line, self.chosen)
        return self._known[keys]


def _last_lines(stream: IO[bytes]) -> list[bytes] | None:
    """The lines that stand whole in the input's last part; None where none does."""
    size = stream.seek(0, io.SEEK_END)
    start = max(0, size - _TAIL)
    stream.seek(start)
    found = stream.read(_TAIL).split(b"\n")
    whole = found if not start else found[1:]
    told = [line.strip() for line in whole if line.strip()]
    return told or None


def _may_be_lines(stream: IO[bytes]) -> bool:
    """Whether an object begins there whose line ends soon: a document on one line is not to be held."""
    stream.seek(0)
    piece = stream.read(_HEAD)
    if piece.removeprefix(BOM).lstrip()[:1] != b"{":
        return False
    for _ in range(_PIECES):
        if b"\n" in piece:
            return True
        piece = stream.read(_HEAD)
    return False


def _other(content: bytes, chosen: Format) -> Format | None:
    """The format that a line by itself is of, where it is another one that has calls."""
    try:
        members = object_parts(content)
    except NotJsonError:
        return None
    head = Head(Layout.OBJECT, (members,), content[:_HEAD])
    if chosen.recognise(head):
        return None
    found = recognised(head)
    if found is None or found.numbers or found.kind in _WHOLE:
        return None
    if any({found.kind, chosen.kind} <= kinds for kinds in (_REQUESTS, _SPANS)):
        return None
    if found.kind not in _REQUESTS:
        return found
    request = exchange_of_object(content, source="", entry=0)
    return found if isinstance(request, Exchange) and request.kind is ExchangeKind.MODEL else None
