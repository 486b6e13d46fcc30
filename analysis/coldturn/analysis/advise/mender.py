"""Requests as they would have been sent if some causes had been mended."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coldturn.analysis.advise.carrying import carry, changes
from coldturn.analysis.advise.items import (
    Cut,
    Cutter,
    Item,
    Json,
    UndecodableError,
    item_of,
    joined,
    marked_as,
    note,
)
from coldturn.analysis.advise.markers import better_markers, longer_lifetime
from coldturn.analysis.advise.places import Place, places_of, touching
from coldturn.analysis.advise.texts import TextMerge
from coldturn.analysis.advise.tools import mended_tools
from coldturn.analysis.advise.ways import WAYS, Mend
from coldturn.analysis.breaks.explain import Compared
from coldturn.analysis.verdicts.settings import PATHS
from coldturn.reference.prefix.causes.align import Gap
from coldturn.reference.prefix.request import PromptRequest, read_request

MOST_KEPT = 32
"""Requests of which the mended form is kept, to be continued."""

_MODEL = "model_changed"
_Everywhere = Callable[[dict[str, Json], int, Cut], dict[str, Json]]


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a later request may be continued from.

    Attributes:
        parts: The request as it was sent.
        items: What stands in the place of its elements, less what this request alone sent.
        settings: Settings of another value, by top-level key.
        volatile: What left the prompt for its end, by where it stood.
        planned: What its items say that change when the next turn begins.
        request: As the mended body reads.
    """

    parts: Cut
    items: Mapping[str, Sequence[Item]]
    settings: Mapping[str, bytes | None]
    volatile: Mapping[tuple[object, ...], str]
    planned: frozenset[bytes]
    request: PromptRequest


class Mender:
    """Mends some causes in the requests of a recording, one request after the other.

    Attributes:
        causes: Which ones; others stay as they are.
        unmended: Numbers of requests that could not be mended, since they hold what cannot be decoded.

    Args:
        causes: Which ones.
        cutter: Takes bodies apart; shared with other menders of the same requests.
    """

    def __init__(self, causes: Iterable[str], cutter: Cutter | None = None) -> None:
        self._cutter = cutter or Cutter()
        self.causes = frozenset(causes)
        mends = {WAYS[cause].mend for cause in self.causes}
        everywhere = {Mend.MARKERS: better_markers, Mend.LIFETIME: longer_lifetime}
        self._everywhere: list[_Everywhere] = [everywhere[one] for one in everywhere if one in mends]
        self.unmended: list[int] = []
        self._kept: OrderedDict[tuple[str, int], _Kept] = OrderedDict()

    def mend(self, compared: Compared) -> tuple[PromptRequest, PromptRequest | None]:
        """The request as it would have been sent, and the mended one that it continues.

        What cannot be taken apart, or continues what is no longer kept, is given as it is.
        """
        source = compared.exchange.source
        kept = None if compared.parent is None else self._kept.get((source, compared.parent))
        places = places_of(compared.found)
        mine = [place for place in places if place.cause in self.causes]
        self._cutter.hold(source, compared.number, compared.request)
        if not mine and kept is None and not self._everywhere:
            return compared.request, compared.parent_request
        parts = self._cutter.cut(source, compared.number)
        if parts is None or compared.request.by_reference:
            return compared.request, compared.parent_request
        if kept is None and compared.parent is not None and compared.parent_request is not None:
            was = self._cutter.cut(source, compared.parent)
            if was is not None:
                kept = _Kept(was, was.items, {}, {}, frozenset(), compared.parent_request)
        try:
            made = self._made(compared, parts, kept, places)
        except UndecodableError:
            self.unmended.append(compared.number)
            return compared.request, compared.parent_request
        self._kept[source, compared.number] = made
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return made.request, None if kept is None else kept.request

    def _made(self, compared: Compared, parts: Cut, kept: _Kept | None, places: Sequence[Place]) -> _Kept:
        history = parts.history
        merged = _Merge(parts, self.causes, places)
        if kept is None:
            merged.items = dict(parts.items)
            merged.shared = len(parts.items[history]) if history else 0
        else:
            merged.take(kept)
        items = dict(merged.items)
        if merged.volatile and history is not None:
            text = "\n".join(merged.volatile.values())
            items[history] = [*items[history], note(parts.surface, text)]
        body = joined(parts, items, merged.settings)
        if self._everywhere:
            decoded = Item(b"", body).value
            for change in self._everywhere:
                decoded = change(decoded, merged.shared, parts)
            body = json.dumps(decoded, ensure_ascii=False, separators=(",", ":")).encode(
                "utf-8", "surrogatepass"
            )
        request = read_request(
            body,
            surface=compared.request.surface,
            url=compared.exchange.url,
            fidelity=compared.request.fidelity,
        )
        planned = frozenset(merged.planned)
        return _Kept(parts, merged.items, merged.settings, merged.volatile, planned, request)


@dataclass(slots=True)
class _Merge:
    """One request merged with the mended one before it."""

    parts: Cut
    causes: frozenset[str]
    places: Sequence[Place]
    items: dict[str, Sequence[Item]] = field(default_factory=dict)
    settings: dict[str, bytes | None] = field(default_factory=dict)
    volatile: dict[tuple[object, ...], str] = field(default_factory=dict)
    late: list[Item] = field(default_factory=list)
    planned: set[bytes] = field(default_factory=set)
    shared: int = 0
    begins_turn: bool = False
    _overdue: frozenset[bytes] = frozenset()

    def take(self, kept: _Kept) -> None:
        """Merge everything, the history last: what leaves the other parts is added to it."""
        self.volatile = dict(kept.volatile)
        self.begins_turn = self._begins_turn(kept)
        self.planned = set() if self.begins_turn else set(kept.planned)
        self._overdue = kept.planned if self.begins_turn else frozenset()
        self._settings(kept)
        for key, now in self.parts.items.items():
            was, mended = kept.parts.items.get(key, ()), kept.items.get(key, ())
            if key == self.parts.tools:
                causes = [place.cause for place in self.places if place.key in {key, None}]
                mine = [cause for cause in causes if cause in self.causes]
                self.items[key], tools = mended_tools(was, mended, now, causes, mine)
                self.late += [self._defined(tool) for tool in tools]
            else:
                self._elements(key, was, mended, now)

    def _begins_turn(self, kept: _Kept) -> bool:
        """Whether the user speaks in what is appended to the history."""
        key = self.parts.history
        if key is None or (not kept.planned and not any(_is_planned(one) for one in self.places)):
            return False
        was, now = kept.parts.items.get(key, ()), self.parts.items[key]
        _, appended = changes(was, now)
        return any(_is_said(one.value) for one in now[appended.now_start :])

    def _like(self, mine: Item, theirs: Item) -> Item:
        return theirs if mine.says in self._overdue else marked_as(mine, theirs)

    def _settings(self, kept: _Kept) -> None:
        self.settings = dict(kept.settings)
        held = [place.cause for place in self.places if place.cause in self.causes]
        keys = {path.partition(".")[0] for cause in held for path in PATHS.get(cause, ())}
        keys |= {"model"} if _MODEL in held else set()
        was: dict[str, bytes | None] = {**kept.parts.members, **kept.settings}
        self.settings |= {
            key: was.get(key)
            for key in keys
            if key not in self.parts.items and was.get(key) != self.parts.members.get(key)
        }

    def _elements(self, key: str, was: Sequence[Item], mended: Sequence[Item], now: Sequence[Item]) -> None:
        def replace(gap: Gap, run: Sequence[Item]) -> Sequence[Item] | None:
            return self._replaced(key, gap, run, was, now)

        grows = key == self.parts.history
        if len(was) == len(now) == len(mended) == 1 and was != now:
            # One text that changed is no text that was appended to.
            kept = replace(Gap(0, 1, 0, 1), mended)
            self.items[key] = now if kept is None else kept
            return
        sent, shared = carry(was, mended, now, replace, self._like, grows=grows)
        if grows:
            sent[shared:shared] = self.late
            self.shared = shared
        self.items[key] = sent

    def _replaced(
        self, key: str, gap: Gap, run: Sequence[Item], was: Sequence[Item], now: Sequence[Item]
    ) -> Sequence[Item] | None:
        here = touching(self.places, key, gap)
        mine = [place for place in here if place.cause in self.causes]
        if not mine:
            return None
        older, newer = was[gap.was_start : gap.was_end], now[gap.now_start : gap.now_end]
        mends = {WAYS[place.cause].mend for place in mine}
        if mends == {Mend.PLANNED}:
            if self.begins_turn:
                return None
            self.planned |= {item.says for item in run}
            return run
        if len(older) == len(newer) == len(run) and (len(mine) < len(here) or mends != {Mend.HELD}):
            return [
                self._texts(key, gap.now_start + at, three, here)
                for at, three in enumerate(zip(older, run, newer, strict=True))
            ]
        more = newer[len(older) :]
        if Mend.SUFFIX in mends:
            for at, item in enumerate(more):
                self.volatile[key, "element", at] = item.raw.decode("utf-8", "replace")
        else:
            self.late += more
        return run

    def _texts(self, key: str, index: int, three: tuple[Item, Item, Item], here: Sequence[Place]) -> Item:
        was, mended, now = three

        def place_of(end: int) -> Place:
            inside = [one for one in here if one.index in {None, index}] or list(here)
            reached = [one for one in inside if one.offset is not None and one.offset < max(end, 1)]
            return max(reached, key=lambda one: one.offset or 0) if reached else inside[0]

        merge = TextMerge(lambda end: place_of(end).cause in self.causes)
        value = merge.merged(was.value, mended.value, now.value)
        for number, (end, text) in enumerate(merge.moved):
            match WAYS[place_of(end).cause].mend:
                case Mend.SUFFIX:
                    self.volatile[key, index, number] = text
                case Mend.APPENDED:
                    self.late.append(note(self.parts.surface, text))
        return marked_as(item_of(value), now)

    def _defined(self, tool: Item) -> Item:
        return note(self.parts.surface, tool.raw.decode("utf-8", "replace"))


def _is_planned(place: Place) -> bool:
    return WAYS[place.cause].mend is Mend.PLANNED


def _is_said(value: Json) -> bool:
    """Whether this is a message in the user's own words."""
    if not isinstance(value, dict) or value.get("role") != "user":
        return False
    content = value.get("content", value.get("parts"))
    if isinstance(content, str):
        return True
    return isinstance(content, list) and any(isinstance(one, dict) and "text" in one for one in content)
