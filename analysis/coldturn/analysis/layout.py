"""A recorded request as a cache sees it: boundaries with rolling keys, and what stands between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from xxhash import xxh3_64_intdigest

from coldturn.analysis.ruleset import Parameters, Tiers
from coldturn.analysis.tokens import BYTES_PER_TOKEN, BytesWeigh, Weigh
from coldturn.reference.prefix.model import Block, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest

IMAGE_TOKENS = 1_600
"""What an image counts at most. The length of its Base64 text says little of what the model is shown."""

_BYTES = BytesWeigh()

_TIER = {Zone.TOOLS: 0, Zone.SYSTEM: 1, Zone.TAIL: 1}
_LAST_TIER = 2


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt cut at every segment.

    Attributes:
        blocks: Those that count, in render order.
        links: A rolling 64-bit hash per segment: equal links mean equal prompts up to there.
        keys: The same with the settings that the cache keys on.
        weights: Units of each segment, as tokens are estimated from them: bytes, unless a tokenizer is used.
        block_ends: For each block the index of its last segment.
        indices: For each block its index in the request; None for one that stands in an earlier request.
    """

    blocks: tuple[Block, ...]
    links: Sequence[int]
    keys: Sequence[int]
    weights: Sequence[int]
    block_ends: Sequence[int]
    indices: Sequence[int | None]

    def segment(self, index: int) -> tuple[bytes, bytes]:
        """A segment's header (of the first one of a block that has one) and its content."""
        block = bisect_left(self.block_ends, index)
        facts = self.blocks[block].facts
        inside = index - (self.block_ends[block - 1] + 1 if block else 0)
        header = b"" if inside else facts.header
        if not facts.segments:
            return header, b""
        own = facts.segments[inside]
        return header, facts.content[own.start : own.end]

    def block_at(self, index: int) -> int | None:
        """Which counted block stands at or before the request's block `index`; None when none does."""
        found = None
        for position, original in enumerate(self.indices):
            if original is not None and original <= index:
                found = position
        return found


def layout_of(
    request: PromptRequest, parameters: Parameters, weigh: Weigh = _BYTES, earlier: Sequence[Block] = ()
) -> Layout:
    """Cut a request at its segments.

    Args:
        request: The request.
        parameters: Which blocks count, and which settings are part of the keys.
        weigh: Gives the weights.
        earlier: History that stays with the provider, when the request names the response it continues.
    """
    blocks: list[tuple[int | None, Block]] = list(enumerate(request.blocks))
    if earlier:
        first = next((i for i, (_, block) in enumerate(blocks) if block.zone not in _TIER), len(blocks))
        blocks[first:first] = [(None, block) for block in earlier]
    kept = list(_counted(blocks, strips_thinking=parameters.strips_thinking))
    links: list[int] = []
    weights: list[int] = []
    block_ends: list[int] = []
    tiers: list[int] = []
    link = tier = 0
    for _, block in kept:
        tier = max(tier, _TIER.get(block.zone, _LAST_TIER))
        for digest, size in _segments(block, weigh):
            link = xxh3_64_intdigest(digest, link)
            links.append(link)
            weights.append(size)
            tiers.append(tier)
        block_ends.append(len(links) - 1)
    seeds = _seeds(request, parameters.tiers)
    keys = [link ^ seeds[tier] for link, tier in zip(links, tiers, strict=True)] if any(seeds) else links
    return Layout(
        blocks=tuple(block for _, block in kept),
        links=links,
        keys=keys,
        weights=weights,
        block_ends=block_ends,
        indices=[index for index, _ in kept],
    )


def setting(settings: Mapping[str, bytes], path: str) -> bytes | None:
    """A request's setting as compact JSON, by a top-level key or a dotted path; None when it is not there."""
    first, _, rest = path.partition(".")
    value = settings.get(first)
    if value is None or value == b"null" or not rest:
        return None if value == b"null" else value
    try:
        inner = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return setting({key: bytes(raw) for key, raw in inner.items()}, rest)


def _segments(block: Block, weigh: Weigh) -> Iterator[tuple[bytes, int]]:
    facts = block.facts
    if not facts.segments:
        yield facts.digest, 0
        return
    header = facts.header
    size, total, given = len(facts.content), _weight(block, weigh), 0
    for segment in facts.segments:
        upto = total * segment.end // size
        # The header stands in front of the first segment and is part of what must be equal.
        yield header + segment.digest, upto - given
        header, given = b"", upto


def _weight(block: Block, weigh: Weigh) -> int:
    """Units of a block: it is weighed whole, since pieces of a text have more tokens than the text."""
    content = block.facts.content
    if block.kind is BlockKind.IMAGE and len(content) > IMAGE_TOKENS * BYTES_PER_TOKEN:
        return int(IMAGE_TOKENS / weigh.tokens_per_unit)
    return weigh(content)


def _counted(
    blocks: Sequence[tuple[int | None, Block]], *, strips_thinking: bool
) -> Iterator[tuple[int | None, Block]]:
    """Blocks that the model is shown: deferred tools are not, nor thinking that the server drops."""
    last_user = _last_plain_user([block for _, block in blocks]) if strips_thinking else -1
    for place, (index, block) in enumerate(blocks):
        if block.kind is BlockKind.TOOL and _is_deferred(block):
            continue
        if block.kind is BlockKind.REASONING and place < last_user:
            continue
        yield index, block


def _is_deferred(block: Block) -> bool:
    content = block.facts.content
    return b'"defer_loading":true' in content


def _last_plain_user(blocks: Sequence[Block]) -> int:
    """Index of the last user message's first block that answers no tool call; -1 when there is none."""
    answering = {block.message for block in blocks if block.kind is BlockKind.TOOL_RESULT}
    return next(
        (
            index
            for index in range(len(blocks) - 1, -1, -1)
            if blocks[index].role == "user" and blocks[index].message not in answering
        ),
        -1,
    )


def _seeds(request: PromptRequest, tiers: Tiers) -> list[int]:
    """What settings add to the keys of each tier; those of an earlier tier count in later ones too."""
    seeds = []
    seed = 0
    for names in (tiers.tools, tiers.system, tiers.messages):
        own = _seed(request, names)
        if own:
            seed = xxh3_64_intdigest(b"%d" % own, seed)
        seeds.append(seed)
    return seeds


def _seed(request: PromptRequest, names: Sequence[str]) -> int:
    found = []
    for name in names:
        value: bytes | None
        if name == "@images":
            has = any(block.kind is BlockKind.IMAGE for block in request.blocks)
            value = b"1" if has else None
        else:
            value = setting(request.settings, name)
        if value is not None:
            found.append(b"%b=%b" % (name.encode(), value))
    return xxh3_64_intdigest(b"\0".join(found)) if found else 0
