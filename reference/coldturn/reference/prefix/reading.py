"""From body bytes to elements in render order."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter

from xxhash import xxh3_128_digest

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.dialects import (
    chat_completions,
    converse,
    generate_content,
    messages,
    responses,
)
from coldturn.reference.prefix.dialects.build import Dialect, Group
from coldturn.reference.prefix.dialects.parameters import CREDENTIAL_KEYS
from coldturn.reference.prefix.elements import Content, Element, WeakTable, cut_out, without
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.markers import MARKER_KEYS
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.recognise import Recognised, Told, surface_of
from coldturn.reference.prefix.scanner import Member
from coldturn.reference.prefix.strings import Flag

_facts_of, _size_of, _flags_of = attrgetter("facts"), attrgetter("size"), attrgetter("flags")

DIALECTS: Mapping[Surface, Dialect] = {
    one.surface: one
    for one in (
        messages.DIALECT,
        chat_completions.DIALECT,
        responses.DIALECT,
        generate_content.DIALECT,
        converse.DIALECT,
    )
}
_ELEMENTS: Mapping[tuple[Surface, str], WeakTable[Element]] = {
    (one.surface, group.key): WeakTable() for one in DIALECTS.values() for group in one.groups
}


def places(numbers: Iterable[int]) -> array[int]:
    """Counts and places of the elements of one body: sessions hold thousands of such rows."""
    return array("q", numbers)


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """One top-level key's elements in one body.

    Attributes:
        listed: Whether the value is a list: its elements then have an index in their path.
        offsets: Where each element stands in the body, less `shift`.
        leading: How many elements at the start stand in zone system.
    """

    group: Group
    listed: bool
    elements: tuple[Element, ...]
    offsets: array[int]
    leading: int
    shift: int = 0

    @property
    def starts(self) -> Iterator[int]:
        """Where each element stands in the body."""
        return (offset + self.shift for offset in self.offsets)

    def start(self, index: int) -> int:
        """The body's byte at which an element starts."""
        return self.offsets[index] + self.shift

    def end(self, index: int) -> int:
        """The body's byte behind an element."""
        return self.offsets[index] + self.shift + self.elements[index].size

    def path(self, index: int) -> str:
        """JSON path of an element."""
        return f"$.{self.group.key}[{index}]" if self.listed else f"$.{self.group.key}"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a body says besides its prompt; the same object for requests that repeat it.

    Attributes:
        settings: Compact JSON of every key that renders nothing, by key.
        marker: A cache marker for the whole request, compact JSON.
    """

    surface: Surface
    settings: Mapping[str, bytes]
    model: str | None
    previous_response_id: str | None
    marker: bytes | None
    flags: frozenset[Flag]


@dataclass(frozen=True, slots=True)
class Totals:
    """Running totals over elements: `blocks` and content `bytes` in front of each, and in all at the end."""

    blocks: array[int]
    bytes: array[int]

    @classmethod
    def of(cls, contents: Sequence[Content]) -> Totals:
        """Count from the start."""
        return cls(places((0,)), places((0,))).replaced(0, contents)

    def replaced(self, first: int, contents: Sequence[Content]) -> Totals:
        """The totals once these elements stand from `first` on, in place of all that stood there."""
        blocks = accumulate(map(len, map(_facts_of, contents)), initial=self.blocks[first])
        sizes = accumulate(map(_size_of, contents), initial=self.bytes[first])
        return Totals(self.blocks[:first] + places(blocks), self.bytes[:first] + places(sizes))


@dataclass(frozen=True, slots=True)
class Reading:
    """A body as read.

    Attributes:
        groups: In render order, as far as the body has them.
        contents: What each element says, in render order; equal ones are identical objects.
        totals: Of blocks and content bytes, in front of each element and behind the last one.
        flags: Of the envelope and of all elements.
    """

    envelope: Envelope
    groups: tuple[PlacedGroup, ...]
    contents: tuple[Content, ...]
    totals: Totals
    flags: frozenset[Flag]

    @property
    def content_bytes(self) -> int:
        """Content bytes of all elements."""
        return self.totals.bytes[-1]


def read_body(body: bytes, surface: Surface | None, path: str) -> tuple[Reading, Told]:
    """Read a body in full.

    Args:
        body: A JSON object.
        surface: Its format; recognised when None.
        path: Path of the address it was sent to, which may tell the format; may be empty.

    Returns:
        What it says, and what told its format.

    Raises:
        UnreadableBodyError: when it is no JSON object, or of no format that we know.
    """
    top = slicing.members(body)
    found = Recognised(surface, Told.ENVELOPE) if surface else surface_of(top, path)
    if found.surface is None:
        raise UnreadableBodyError(
            "it is no request of Messages, Chat Completions, Responses, generateContent or Converse"
        )
    dialect = DIALECTS[found.surface]
    placed = (_place(body, top, group, found.surface) for group in dialect.groups)
    groups = tuple(one for one in placed if one is not None)
    contents = tuple(element.content for one in groups for element in one.elements)
    envelope = _envelope(top, dialect)
    flags = envelope.flags.union(*(flags_in(one.elements) for one in groups))
    return Reading(envelope, groups, contents, Totals.of(contents), flags), found.by


def flags_in(elements: Iterable[Element]) -> frozenset[Flag]:
    """What any of some elements holds that strict readers refuse or hide."""
    return slicing.NO_FLAGS.union(*map(_flags_of, elements))


def _place(body: bytes, top: slicing.Members, group: Group, surface: Surface) -> PlacedGroup | None:
    member = _member(top, group.key)
    if member is None or body[member.value : member.end] == b"null":
        return None
    listed = body[member.value : member.value + 1] == b"["
    if not listed:
        _refuse(body[member.value : member.value + 1], group, listed=False)
    spans = slicing.items(body, member.value, member.end)[0] if listed else ((member.value, member.end),)
    elements = read_elements(body, spans, group, surface)
    leading = count_leading(group, elements) if listed else 0
    return PlacedGroup(group, listed, elements, places(start for start, _ in spans), leading)


def _member(top: slicing.Members, key: str) -> Member | None:
    """The member at a group's key, at the first level or inside an object there."""
    outer, _, inner = key.partition(".")
    member = top.get(outer)
    if member is None or not inner:
        return member
    if top.data[member.value : member.value + 1] != b"{":
        return None
    return slicing.members(top.data, member.value, member.end).get(inner)


def read_elements(
    body: bytes, spans: Sequence[tuple[int, int]], group: Group, surface: Surface
) -> tuple[Element, ...]:
    """The elements at `spans`; only those not met before are parsed."""
    table = _ELEMENTS[surface, group.key]
    digests = [xxh3_128_digest(body[start:end]) for start, end in spans]
    return tuple(
        known if known is not None else table.put(digest, _read(body[start:end], group))
        for known, digest, (start, end) in zip(table.find(digests), digests, spans, strict=True)
    )


def _read(data: bytes, group: Group) -> Element:
    _refuse(data, group, listed=True)
    return group.read(data)


def _refuse(data: bytes, group: Group, *, listed: bool) -> None:
    """Refuse what cannot stand there.

    Raises:
        UnreadableBodyError: No provider takes such a value.
    """
    reason = group.refusal(data, listed=listed)
    if reason is not None:
        raise UnreadableBodyError(reason)


def count_leading(group: Group, elements: Sequence[Element]) -> int:
    """How many elements at the start are system text by their role."""
    count = 0
    for element in elements if group.leading else ():
        if element.role not in group.leading:
            break
        count += 1
    return count


def _envelope(top: slicing.Members, dialect: Dialect) -> Envelope:
    rendered = {group.key for group in dialect.groups}
    nested = {outer: inner for outer, _, inner in (key.partition(".") for key in rendered) if inner}
    settings: dict[str, bytes] = {}
    marker = None
    flags = top.flags
    for one in top.members:
        if one.key in rendered or one.key == "previous_response_id":
            continue
        sent = _unrendered(top.data[one.value : one.end], nested.get(one.key))
        if sent is None:
            continue
        if one.key == "mcp_servers":
            sent = _without_credentials(sent)
        value, odd = slicing.compact(sent)
        flags |= odd
        if one.key in MARKER_KEYS:
            marker = value if value != b"null" else None
        else:
            settings[one.key] = value
    return Envelope(
        surface=dialect.surface,
        settings=settings,
        model=top.text("model") or top.text("modelId"),
        previous_response_id=top.text("previous_response_id"),
        marker=marker,
        flags=flags,
    )


def _unrendered(data: bytes, key: str | None) -> bytes | None:
    """A setting without the member at `key`, which renders as blocks; None when nothing is left of it."""
    if key is None or data[:1] != b"{":
        return data
    members = slicing.members(data)
    if members.by_key.keys() <= {key}:
        return None
    return cut_out(data, without(members, frozenset({key})))


def _without_credentials(data: bytes) -> bytes:
    """A list of MCP servers without what the provider calls them with, which no model reads."""
    if data[:1] != b"[":
        return data
    cuts: list[tuple[int, int]] = []
    for start, end in slicing.items(data)[0]:
        if data[start : start + 1] == b"{":
            cuts += without(slicing.members(data, start, end), CREDENTIAL_KEYS)
    return cut_out(data, cuts)
