"""A format of inputs, and what of an input is looked at to recognise it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, TypeAlias

from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.usage_record import UsageRecord

Record: TypeAlias = Exchange | EntryError | UsageRecord
Read: TypeAlias = Callable[[IO[bytes], str], Iterator[Record]]
"""Takes a stream at its start and the input's name; raises `InputError` when it cannot be read as a whole."""


class Layout(StrEnum):
    """How an input is laid out, whatever it holds."""

    OBJECT = "a JSON object"
    LINES = "JSON lines"
    LIST = "a JSON list"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an input.

    Attributes:
        objects: Members of the first JSON objects with their bytes: of the document, of the first lines or of
            the list's first elements. A long value may be cut.
        text: The first 64 KiB.
    """

    layout: Layout
    objects: tuple[Mapping[str, bytes], ...]
    text: bytes

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the first object."""
        return frozenset(self.objects[0]) if self.objects else frozenset()

    def member(self, key: str) -> bytes:
        """The bytes of a member of the first object; nothing when it is not there."""
        return self.objects[0].get(key, b"") if self.objects else b""

    def any_has(self, *keys: str) -> bool:
        """Whether one of the first objects holds all of these keys."""
        return any(set(keys) <= members.keys() for members in self.objects)


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of input.

    Attributes:
        words: What such a file holds, with its article.
        recognise: Told from the beginning of an input; the first format of the table that says yes has it.
        read: None for a kind that is known by sight and not read.
        numbers: It holds token counts or hashes and never bytes, so no place in a prompt follows from it.
        streams: A document on a single line is read piece by piece, whatever its size.
    """

    kind: InputKind
    words: str
    recognise: Callable[[Head], bool]
    read: Read | None
    numbers: bool = False
    streams: bool = False
