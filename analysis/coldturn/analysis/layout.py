"""A recorded request as a cache sees it: boundaries with rolling keys, and what stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from xxhash import xxh3_64_intdigest

from coldturn.analysis.ruleset import Parameters, Tiers
from coldturn.reference.prefix.model import Block, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest

IMAGE_BYTES = 6_400
"""What an image counts at most: about 1,600 tokens. Its Base64 text says nothing of its size to the model."""

_TIER = {Zone.TOOLS: 0, Zone.SYSTEM: 1, Zone.TAIL: 1}
_LAST_TIER = 2


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt cut at every segment.

    Attributes:
        blocks: Those that count, in render order.
        links: A rolling 64-bit hash per segment: equal links mean equal prompts up to there.
        keys: The same with the settings that the cache keys on.
        weights: Bytes of each segment, as tokens are estimated from them.
        block_ends: For each block the index of its last segment.
        indices: For each block its index in the request.
    """

    blocks: tuple[Block, ...]
    links: Sequence[int]
    keys: Sequence[int]
    weights: Sequence[int]
    block_ends: Sequence[int]
    indices: Sequence[int]

    def block_at(self, index: int) -> int | None:
        """Which counted block stands at or before the request's block `index`; None when none does."""
        found = None
        for position, original in enumerate(self.indices):
            if original > index:
                break
            found = position
        return found


def layout_of(request: PromptRequest, parameters: Parameters) -> Layout:
    """Cut a request at its segments, with the keys that these parameters give it."""
    kept = list(_counted(request, strips_thinking=parameters.strips_thinking))
    links: list[int] = []
    weights: list[int] = []
    block_ends: list[int] = []
    tiers: list[int] = []
    link = tier = 0
    for _, block in kept:
        tier = max(tier, _TIER.get(block.zone, _LAST_TIER))
        for digest, size in _segments(block):
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


def _segments(block: Block) -> Iterator[tuple[bytes, int]]:
    facts = block.facts
    if not facts.segments:
        yield facts.digest, 0
        return
    size = len(facts.content)
    scale = IMAGE_BYTES / size if block.kind is BlockKind.IMAGE and size > IMAGE_BYTES else 1.0
    header = facts.header
    for segment in facts.segments:
        # The header stands in front of the first segment and is part of what must be equal.
        yield header + segment.digest, int((segment.end - segment.start) * scale)
        header = b""


def _counted(request: PromptRequest, *, strips_thinking: bool) -> Iterator[tuple[int, Block]]:
    """Blocks that the model is shown: deferred tools are not, nor thinking that the server drops."""
    blocks = request.blocks
    last_user = _last_plain_user(blocks) if strips_thinking else -1
    for index, block in enumerate(blocks):
        if block.kind is BlockKind.TOOL and _is_deferred(block):
            continue
        if block.kind is BlockKind.REASONING and index < last_user:
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
