"""Building an element from its bytes: what every dialect shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xxhash import xxh3_128_digest

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.elements import (
    Element,
    FoundMarker,
    Piece,
    cut_out,
    make_content,
    make_facts,
    without,
)
from coldturn.reference.prefix.markers import MARKER_KEYS
from coldturn.reference.prefix.model import BlockFacts, BlockKind, Surface, Zone
from coldturn.reference.prefix.strings import Flag

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Group:
    """A key whose value renders as blocks.

    Attributes:
        key: A top-level key; with a dot a key inside the object that a top-level key holds.
        read: Reads one element of it: a list's item, or the value itself when it is no list.
        leading: Roles whose run at the very start stands in zone system.
        numbered: Whether its elements are messages.
        unplaced: Whether the surface leaves an element out here and renders it where a later message refers
            to it; asked of those at the end. Only the first group can have such elements.
        text: Whether the value may be a text, and so may each item of its list.
        single: Whether the value may be one object instead of a list of them.
    """

    key: str
    zone: Zone
    read: Callable[[bytes], Element]
    leading: frozenset[str] = frozenset()
    numbered: bool = False
    unplaced: Callable[[Element], bool] | None = None
    text: bool = False
    single: bool = False

    def refusal(self, data: bytes, *, listed: bool) -> str | None:
        """Why no provider takes this value, or this item of its list; None where one does."""
        opener = data[:1]
        if (opener == b"{" and (listed or self.single)) or (opener == b'"' and self.text):
            return None
        if listed:
            return f"an item of {self.key} is {_kind(opener)}, where an object belongs"
        return f"{self.key} is {_kind(opener)}, where a list belongs{' or a text' if self.text else ''}"


def _kind(opener: bytes) -> str:
    """What a JSON value is, by its first byte."""
    kinds = {b"{": "an object", b"[": "a list", b'"': "a text", b"n": "null"}
    return kinds.get(opener, "a boolean" if opener in {b"t", b"f"} else "a number")


@dataclass(frozen=True, slots=True)
class Dialect:
    """A surface's render order, and the top-level keys that show a body to be of it."""

    surface: Surface
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """How an object of a type becomes a block.

    Attributes:
        text: Key of the string that alone is the content.
        ids: Keys that go into the header.
        name: Key of a tool's name. `call`: key of a call's id.
        nested: Key of a list whose objects may carry markers of their own.
        inner: Key of the object that holds ids, name and call where a part is named by its key and not by a
            `type` (Converse, Gemini).
        mime: Keys inside `inner` of a media type: what is no image by it is of kind other.
    """

    kind: BlockKind
    text: str | None = None
    ids: frozenset[str] = frozenset()
    name: str | None = None
    call: str | None = None
    nested: str | None = None
    inner: str | None = None
    mime: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block stands in its element, and what it is called."""

    kind: BlockKind
    suffix: str
    title: str
    role: str | None
    span: Span
    name: str | None = None
    call_id: str | None = None


@dataclass(slots=True)
class Builder:
    """Collects the blocks and markers of one element."""

    data: bytes
    pieces: list[Piece] = field(default_factory=list)
    markers: list[FoundMarker] = field(default_factory=list)
    marker_cuts: list[Span] = field(default_factory=list)
    flags: set[Flag] = field(default_factory=set)

    def members(self, span: Span) -> slicing.Members | None:
        """The object at `span`, sliced; None when something else stands there."""
        if self.data[span[0] : span[0] + 1] != b"{":
            return None
        found = slicing.members(self.data, *span)
        self.flags |= found.flags
        return found

    def items(self, span: Span) -> tuple[Span, ...] | None:
        """The array at `span`, sliced; None when something else stands there."""
        if self.data[span[0] : span[0] + 1] != b"[":
            return None
        found, flags = slicing.items(self.data, *span)
        self.flags |= flags
        return found

    def compact(self, data: bytes) -> bytes:
        """Compact JSON of `data`, flags noted."""
        text, flags = slicing.compact(data)
        self.flags |= flags
        return text

    def take_markers(
        self, members: slicing.Members, suffix: str, piece: int, aside: frozenset[str] = MARKER_KEYS
    ) -> None:
        """Put an object's markers aside as standing behind that piece; what else is `aside` says nothing."""
        if not aside.isdisjoint(members.by_key):
            self._note_markers(members, suffix, piece)
            self.marker_cuts.extend(without(members, aside))

    def take_lone_marker(self, span: Span, suffix: str, cut: Span) -> bool:
        """Put the object at `span` aside if it is nothing but markers, as standing behind the last piece.

        `cut` is what to take out of the bytes so that they say the same without it.
        """
        members = self.members(span)
        if members is None or not members.members or not MARKER_KEYS.issuperset(members.by_key):
            return False
        self._note_markers(members, suffix, len(self.pieces) - 1)
        self.marker_cuts.append(cut)
        return True

    def _note_markers(self, members: slicing.Members, suffix: str, piece: int) -> None:
        for member in members.members:
            if member.key in MARKER_KEYS:
                value = self.compact(members.data[member.value : member.end])
                if value != b"null":
                    self.markers.append(FoundMarker(suffix, piece, value))

    def header(self, members: slicing.Members, keys: Iterable[str]) -> bytes:
        """Compact JSON of these members only, in sent order; empty when there is none."""
        wanted = frozenset(keys) - MARKER_KEYS
        parts = [
            members.data[one.start : one.end]
            for one in members.members
            if one.key in wanted and members.by_key[one.key] is one
        ]
        return self.compact(b"{%b}" % b",".join(parts)) if parts else b""

    def add_text(self, place: Place, token: Span, header: bytes) -> None:
        """A block whose content is the string at `token`."""
        content, flags = slicing.decode_text(self.data[token[0] : token[1]])
        self.flags |= flags
        self._add(place, token, (), make_facts(content, is_text=True, header=header))

    def add_json(self, place: Place, source: Span, cuts: tuple[Span, ...], header: bytes) -> None:
        """A block whose content is the JSON at `source` without `cuts` (spans of the element)."""
        inside = tuple((start - source[0], end - source[0]) for start, end in cuts)
        content = self.compact(cut_out(self.data[source[0] : source[1]], inside))
        self._add(place, source, inside, make_facts(content, is_text=False, header=header))

    def add_empty(self, place: Place, header: bytes) -> None:
        """A block without content, so that its header is not lost."""
        self._add(
            place,
            place.span,
            ((0, place.span[1] - place.span[0]),),
            make_facts(b"", is_text=False, header=header),
        )

    def _add(self, place: Place, source: Span, cuts: tuple[Span, ...], facts: BlockFacts) -> None:
        self.pieces.append(
            Piece(
                kind=place.kind,
                suffix=place.suffix,
                title=place.title,
                role=place.role,
                name=place.name,
                call_id=place.call_id,
                span=place.span,
                source=source,
                cuts=cuts,
                facts=facts,
            )
        )

    def finish(self, role: str | None) -> Element:
        """The element as collected."""
        data = self.data
        bare = cut_out(data, sorted(self.marker_cuts)) if self.marker_cuts else data
        return Element(
            pieces=tuple(self.pieces),
            content=make_content([piece.facts for piece in self.pieces]),
            markers=tuple(self.markers),
            flags=frozenset(self.flags),
            role=role,
            size=len(data),
            bare=xxh3_128_digest(bare),
        )


def item_cut(spans: tuple[Span, ...], index: int, *, follows: bool) -> Span:
    """What to take out of a list so that it lacks an item; `follows`: something in front of it is kept."""
    start, end = spans[index]
    if follows:
        return spans[index - 1][1], end
    return start, spans[index + 1][0] if index + 1 < len(spans) else end


def add_part(
    builder: Builder, span: Span, place: Place, rule: Rule, header: bytes, aside: frozenset[str] = frozenset()
) -> None:
    """Add the object at `span` as its rule says.

    `header` is what its message puts in front; keys in `aside` are blocks of their own, and no part of it.
    """
    members = builder.members(span)
    if members is None:
        builder.add_json(place, span, (), header)
        return
    raw = members.get(rule.text) if rule.text else None
    if raw is not None and builder.data[raw.value : raw.value + 1] == b'"':
        own = builder.header(members, (m.key for m in members.members if m.key not in {rule.text, *aside}))
        builder.add_text(place, (raw.value, raw.end), header + own)
    else:
        holder = holder_of(builder, members, rule)
        own_ids = rule.ids if holder is members else frozenset()
        cuts = [
            *without(members, own_ids | MARKER_KEYS | aside),
            *_nested_cuts(builder, members, rule, place),
        ]
        if holder is not members:
            cuts += without(holder, rule.ids)
        builder.add_json(place, span, tuple(sorted(cuts)), header + builder.header(holder, rule.ids))
    builder.take_markers(members, place.suffix, len(builder.pieces) - 1)


def holder_of(builder: Builder, members: slicing.Members, rule: Rule) -> slicing.Members:
    """The object that holds a part's ids and name: the part, or the object under its rule's key."""
    member = members.get(rule.inner) if rule.inner else None
    inner = builder.members((member.value, member.end)) if member is not None else None
    return members if inner is None else inner


def _nested_cuts(builder: Builder, members: slicing.Members, rule: Rule, place: Place) -> list[Span]:
    inner = members.get(rule.nested) if rule.nested else None
    spans = builder.items((inner.value, inner.end)) if inner is not None else None
    cuts: list[Span] = []
    for index, span in enumerate(spans or ()):
        found = builder.members(span)
        if found is not None:
            cuts.extend(without(found, MARKER_KEYS))
            suffix = f"{place.suffix}.{rule.nested}[{index}]"
            builder.take_markers(found, suffix, len(builder.pieces))
    return cuts
