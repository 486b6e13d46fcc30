"""A request body taken apart into the elements of its prompt, and put together again."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces.slices import NotJsonError, object_parts

Json: TypeAlias = Any
"""A decoded JSON value."""

_MARKERS = frozenset({"cache_control", "prompt_cache_breakpoint", "cachePoint"})
MOST_HELD = 64
"""Requests that are held to be taken apart."""


class UndecodableError(ValueError):
    """An element that is compared as it stands, and that no mend can change: no UTF-8, or nested too deep."""


class Item:
    """One tool, message or system block as it is sent.

    Attributes:
        says: Equal for items that say the same, whatever their markers and white space; items compare by it.
        raw: Its JSON.
    """

    __slots__ = ("__dict__", "__weakref__", "raw", "says")

    def __init__(self, says: bytes, raw: bytes) -> None:
        self.says = says
        self.raw = raw

    @cached_property
    def value(self) -> Json:
        """Decoded; not to be changed.

        Raises:
            UndecodableError: It cannot be.
        """
        try:
            return json.loads(self.raw)
        except (ValueError, RecursionError) as error:
            raise UndecodableError(str(error)) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and self.says == other.says

    def __hash__(self) -> int:
        return hash(self.says)


@dataclass(frozen=True, slots=True)
class Cut:
    """A request body in parts.

    Attributes:
        members: JSON of every top-level member, in the order in which they were sent.
        items: Elements by top-level key (or a dotted path of two keys), in render order.
        single: Keys whose value is one element and no list.
        tools: The key of the tools array, where there is one.
    """

    surface: Surface
    members: Mapping[str, bytes]
    items: Mapping[str, Sequence[Item]]
    single: frozenset[str]
    tools: str | None

    @property
    def history(self) -> str | None:
        """The key that new messages are appended to."""
        return next(
            reversed([key for key in self.items if key not in self.single and key != self.tools]), None
        )


class Cutter:
    """Takes bodies apart when somebody asks for it. Holds the last requests: the next ones continue them."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, int], PromptRequest | Cut | None] = OrderedDict()
        self._items: WeakKeyDictionary[Element, Item] = WeakKeyDictionary()

    def hold(self, source: str, number: int, request: PromptRequest) -> None:
        """Remember a request by its number in its source."""
        if (source, number) not in self._held:
            self._held[source, number] = request
            if len(self._held) > MOST_HELD:
                self._held.popitem(last=False)

    def cut(self, source: str, number: int) -> Cut | None:
        """Its parts; None when it is no longer held, or its elements do not stand under top-level keys."""
        held = self._held.get((source, number))
        if isinstance(held, PromptRequest):
            held = self._held[source, number] = self._parts(held)
        return held

    def _parts(self, request: PromptRequest) -> Cut | None:
        try:
            members = object_parts(request.body)
        except NotJsonError:
            return None
        items: dict[str, list[Item]] = {}
        single: set[str] = set()
        tools = None
        for placed in request.whole().groups:
            key = placed.group.key
            if not _holds(members, key):
                return None
            items[key] = [
                self._item(element, request.body[placed.start(index) : placed.end(index)])
                for index, element in enumerate(placed.elements)
            ]
            if placed.group.zone is Zone.TOOLS and request.surface is Surface.GENERATE_CONTENT:
                items[key] = [one for item in items[key] for one in _declarations(item)]
            if not placed.listed:
                single.add(key)
            if placed.group.zone is Zone.TOOLS:
                tools = key
        return Cut(request.surface, members, items, frozenset(single), tools)

    def _item(self, element: Element, raw: bytes) -> Item:
        known = self._items.get(element)
        if known is None:
            known = self._items[element] = Item(element.content.digest, raw)
        return known


def _declarations(item: Item) -> Iterator[Item]:
    """A Gemini tool that declares several functions, as tools that declare one each: they render the same."""
    for name in ("functionDeclarations", "function_declarations"):
        declared = item.value.get(name) if isinstance(item.value, dict) else None
        if isinstance(declared, list) and len(declared) > 1:
            rest = {key: one for key, one in item.value.items() if key != name}
            yield from (item_of({name: [one]}) for one in declared)
            if rest:
                yield item_of(rest)
            return
    yield item


def item_of(value: Json) -> Item:
    """An item that no recorded request holds."""
    return Item(dumped(without_markers(value)), dumped(value))


def dumped(value: Json) -> bytes:
    """Compact JSON; lone surrogates stay."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def joined(parts: Cut, items: Mapping[str, Sequence[Item]], settings: Mapping[str, bytes | None]) -> bytes:
    """A body with other items, and some members of another value (None: left out)."""
    members: dict[str, bytes | None] = {**parts.members, **settings}
    for key, some in items.items():
        alone = key in parts.single and len(some) == 1
        value = some[0].raw if alone else b"[" + b",".join(one.raw for one in some) + b"]"
        outer, _, inner = key.partition(".")
        members[outer] = _object({**object_parts(members[outer] or b"{}"), inner: value}) if inner else value
    return _object(members)


def _object(members: Mapping[str, bytes | None]) -> bytes:
    sent = (dumped(key) + b":" + raw for key, raw in members.items() if raw is not None)
    return b"{" + b",".join(sent) + b"}"


def _holds(members: Mapping[str, bytes], key: str) -> bool:
    """Whether a key, or a dotted path of two, stands in a body."""
    outer, _, inner = key.partition(".")
    if outer not in members or not inner:
        return outer in members
    try:
        return inner in object_parts(members[outer])
    except NotJsonError:
        return False


def note(surface: Surface, text: str) -> Item:
    """A user message that says something."""
    match surface:
        case Surface.GENERATE_CONTENT:
            return item_of({"role": "user", "parts": [{"text": text}]})
        case Surface.CONVERSE:
            return item_of({"role": "user", "content": [{"text": text}]})
        case _:
            return item_of({"role": "user", "content": text})


def without_markers(value: Json) -> Json:
    """The same without cache markers."""
    if isinstance(value, dict):
        return {key: without_markers(one) for key, one in value.items() if key not in _MARKERS}
    if isinstance(value, list):
        return [without_markers(one) for one in value]
    return value


def marked_as(mine: Item, theirs: Item) -> Item:
    """`mine`, with a marker at its end where `theirs` has one."""
    if mine.says == theirs.says:
        return theirs
    found = _marker_in(theirs.value)
    if found is None and _marker_in(mine.value) is None:
        return mine
    bare = without_markers(mine.value)
    return Item(mine.says, dumped(bare if found is None else with_marker(bare, found)))


def with_marker(value: Json, marker: Mapping[str, Json]) -> Json:
    """A marker on a tool, a system block, or the last content block of a message."""
    if not isinstance(value, dict):
        return value
    content = value.get("content")
    if "role" not in value:
        return {**value, "cache_control": dict(marker)}
    if isinstance(content, str):
        block = {"type": "text", "text": content, "cache_control": dict(marker)}
        return {**value, "content": [block]}
    if isinstance(content, list) and content and isinstance(content[-1], dict):
        return {**value, "content": [*content[:-1], {**content[-1], "cache_control": dict(marker)}]}
    return value


def _marker_in(value: Json) -> Mapping[str, Json] | None:
    if isinstance(value, dict):
        own = value.get("cache_control")
        if isinstance(own, dict):
            return own
        inner: Sequence[Json] = list(value.values())
    elif isinstance(value, list):
        inner = value
    else:
        return None
    return next((found for one in inner if (found := _marker_in(one)) is not None), None)
