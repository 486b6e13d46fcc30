"""Requests into layouts. A request that repeats the beginning of a recent one costs what is new in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import is_

from xxhash import xxh3_64_intdigest

from coldturn.analysis.estimates.layout import Layout, Unit, setting, shows_image
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.analysis.estimates.tokens import BYTES_PER_TOKEN, BytesWeigh, Weigh
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.model import BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest

IMAGE_TOKENS = 1_600
"""What an image counts at most. The length of its Base64 text says little of what the model is shown."""
MOST_RECENT = 8

_BYTES = BytesWeigh()
_TIER = {Zone.TOOLS: 0, Zone.SYSTEM: 1, Zone.TAIL: 1}
_LAST_TIER = 2
_IMAGES = "@images"
_CITATIONS = "@citations"
_CITED = b'"citations":{"enabled":true'
_DEFERRED = b'"defer_loading":true'


@dataclass(slots=True)
class _Cut:
    """A prompt cut at its segments, without what depends on settings.

    Attributes:
        tier_starts: Index of the first segment of the tiers system and messages.
        image: Index of the first block that shows an image; None when none does.
        element_ends: For each element how many blocks and segments stand up to its end, and blocks of the
            request, those that do not count included.
    """

    units: list[Unit] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    block_ends: list[int] = field(default_factory=list)
    indices: list[int | None] = field(default_factory=list)
    tier_starts: list[int | None] = field(default_factory=lambda: [None, None])
    element_ends: list[tuple[int, int, int]] = field(default_factory=list)
    image: int | None = None

    def up_to(self, elements: int) -> _Cut:
        """A copy of the first so many elements."""
        if not elements:
            return _Cut()
        units, segments, _ = self.element_ends[elements - 1]
        return _Cut(
            self.units[:units],
            self.links[:segments],
            self.weights[:segments],
            self.block_ends[:units],
            self.indices[:units],
            [start if start is not None and start < segments else None for start in self.tier_starts],
            self.element_ends[:elements],
            self.image if self.image is not None and self.image < units else None,
        )

    def add(self, unit: Unit, index: int | None, weigh: Weigh) -> None:
        """Add a block behind the others."""
        for tier in range(_TIER.get(unit.zone, _LAST_TIER)):
            if self.tier_starts[tier] is None:
                self.tier_starts[tier] = len(self.links)
        link = self.links[-1] if self.links else 0
        for digest, weight in _segments(unit, weigh):
            link = xxh3_64_intdigest(digest, link)
            self.links.append(link)
            self.weights.append(weight)
        if self.image is None and shows_image(unit.kind, unit.facts.content):
            self.image = len(self.units)
        self.units.append(unit)
        self.indices.append(index)
        self.block_ends.append(len(self.links) - 1)


class LayoutMaker:
    """Cuts the requests of one scope.

    Args:
        parameters: Which blocks count, and which settings are part of the keys.
        weigh: Gives the weights.
    """

    def __init__(self, parameters: Parameters, weigh: Weigh = _BYTES) -> None:
        self._parameters = parameters
        self._weigh = weigh
        self._recent: deque[tuple[tuple[Content, ...], _Cut]] = deque(maxlen=MOST_RECENT)

    def make(self, request: PromptRequest, earlier: Sequence[Unit] = ()) -> Layout:
        """Cut a request at its segments.

        Args:
            request: The request.
            earlier: History that stays with the provider, when the request names the response it continues.
        """
        if earlier or request.labels.zones or self._drops_thinking(request):
            cut = self._whole(request, earlier)
        else:
            cut = self._continued(request)
        return Layout(
            cut.units,
            cut.links,
            self._keys(request, cut),
            cut.weights,
            cut.block_ends,
            cut.indices,
            cut.image is not None,
        )

    def _continued(self, request: PromptRequest) -> _Cut:
        contents = request.contents
        shared, base = 0, _Cut()
        for known, cut in reversed(self._recent):
            common = _common(known, contents)
            if common > shared:
                shared, base = common, cut
            if shared == len(contents):
                break
        if shared == len(contents) == len(base.element_ends):
            return base
        cut = base.up_to(shared)
        for units in _elements(request, shared):
            before = cut.element_ends[-1][2] if cut.element_ends else 0
            for offset, unit in enumerate(units):
                if not _is_deferred(unit):
                    cut.add(unit, before + offset, self._weigh)
            cut.element_ends.append((len(cut.units), len(cut.links), before + len(units)))
        self._recent.append((contents, cut))
        return cut

    def _whole(self, request: PromptRequest, earlier: Sequence[Unit]) -> _Cut:
        """Every block anew, where what counts does not only depend on what stands in front."""
        if request.labels.zones:
            own = [Unit(one.kind, one.role, one.message, one.zone, one.facts) for one in request.blocks]
        else:
            own = [unit for units in _elements(request, 0) for unit in units]
        units: list[tuple[int | None, Unit]] = list(enumerate(own))
        first = next((i for i, unit in enumerate(own) if unit.zone not in _TIER), len(own))
        units[first:first] = [(None, unit) for unit in earlier]
        last_user = -1
        if self._parameters.strips_thinking:
            last_user = _last_plain_user([unit for _, unit in units])
        cut = _Cut()
        for place, (index, unit) in enumerate(units):
            dropped = unit.kind is BlockKind.REASONING and place < last_user
            if not dropped and not _is_deferred(unit):
                cut.add(unit, index, self._weigh)
        return cut

    def _drops_thinking(self, request: PromptRequest) -> bool:
        return self._parameters.strips_thinking and any(
            piece.kind is BlockKind.REASONING
            for placed in request.groups
            for element in placed.elements
            for piece in element.pieces
        )

    def _keys(self, request: PromptRequest, cut: _Cut) -> Sequence[int]:
        """Links with what settings add to each tier; those of an earlier tier count in later ones too."""
        tiers = self._parameters.tiers
        seeds, seed = [], 0
        for names in (tiers.tools, tiers.system, tiers.messages):
            own = _seed(request, cut, names)
            if own:
                seed = xxh3_64_intdigest(b"%d" % own, seed)
            seeds.append(seed)
        links = cut.links
        if not seed:
            return links
        starts = [len(links) if start is None else start for start in cut.tier_starts]
        parts = ((0, starts[0]), (starts[0], starts[1]), (starts[1], len(links)))
        return [
            link ^ own for own, (start, end) in zip(seeds, parts, strict=True) for link in links[start:end]
        ]


def _common(known: tuple[Content, ...], contents: tuple[Content, ...]) -> int:
    """How many elements say the same from the start; equal ones are identical objects."""
    if contents[: len(known)] == known:
        return len(known)
    return len(tuple(takewhile(bool, map(is_, known, contents))))


def _elements(request: PromptRequest, skipped: int) -> Iterator[list[Unit]]:
    """The blocks of each element behind the first so many."""
    for placed in request.groups:
        group = placed.group
        for index in range(min(skipped, len(placed.elements)), len(placed.elements)):
            zone = Zone.SYSTEM if index < placed.leading else group.zone
            message = index if group.numbered else None
            pieces = placed.elements[index].pieces
            yield [Unit(one.kind, one.role, message, zone, one.facts) for one in pieces]
        skipped = max(skipped - len(placed.elements), 0)


def _segments(unit: Unit, weigh: Weigh) -> Iterator[tuple[bytes, int]]:
    facts = unit.facts
    if not facts.segments:
        yield facts.digest, 0
        return
    header = facts.header
    size, total, given = len(facts.content), _weight(unit, weigh), 0
    for segment in facts.segments:
        upto = total * segment.end // size
        # The header stands in front of the first segment and is part of what must be equal.
        yield header + segment.digest, upto - given
        header, given = b"", upto


def _weight(unit: Unit, weigh: Weigh) -> int:
    """Weight of a block: it is weighed whole, since pieces of a text have more tokens than the text."""
    content = unit.facts.content
    if unit.kind is BlockKind.IMAGE and len(content) > IMAGE_TOKENS * BYTES_PER_TOKEN:
        return int(IMAGE_TOKENS / weigh.tokens_per_unit)
    return weigh(content)


def _is_deferred(unit: Unit) -> bool:
    return unit.kind is BlockKind.TOOL and _DEFERRED in unit.facts.content


def _last_plain_user(units: Sequence[Unit]) -> int:
    """Index of the last user message's last block that answers no tool call; -1 when there is none."""
    answering = {unit.message for unit in units if unit.kind is BlockKind.TOOL_RESULT}
    backwards = range(len(units) - 1, -1, -1)
    plain = (i for i in backwards if units[i].role == "user" and units[i].message not in answering)
    return next(plain, -1)


def _is_cited(unit: Unit) -> bool:
    """Whether a document asks for citations."""
    return unit.kind is BlockKind.OTHER and _CITED in unit.facts.content


def _seed(request: PromptRequest, cut: _Cut, names: Iterable[str]) -> int:
    found = []
    for name in names:
        if name == _IMAGES:
            value = None if cut.image is None else b"1"
        elif name == _CITATIONS:
            value = b"1" if any(map(_is_cited, cut.units)) else None
        else:
            value = setting(request.settings, name)
        if value is not None:
            found.append(b"%b=%b" % (name.encode("utf-8", "surrogatepass"), value))
    return xxh3_64_intdigest(b"\0".join(found)) if found else 0
