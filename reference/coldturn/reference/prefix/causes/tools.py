"""Causes inside the tools array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeAlias

from coldturn.reference.prefix.blocks import Blocks
from coldturn.reference.prefix.causes.align import displaced
from coldturn.reference.prefix.causes.change import BlockPair, Change, Pair, at, merge
from coldturn.reference.prefix.causes.namespaces import namespace_change
from coldturn.reference.prefix.causes.promotion import Promotions
from coldturn.reference.prefix.causes.schema import DEFER_KEYS, Leaf, leaf_kind, leaves, parse
from coldturn.reference.prefix.causes.texts import typed_reason
from coldturn.reference.prefix.causes.tiers import Tiers
from coldturn.reference.prefix.difference import common_length, common_prefix
from coldturn.reference.prefix.model import Block, Confidence, Zone

ToolKey: TypeAlias = tuple[str, int]
"""Name of a tool, and which one of that name."""

_REMOVED, _ADDED, _MOVED, _EDITED = range(4)
"""What stands at one place is told in this order."""


@dataclass(frozen=True)
class _Tools:
    """Both tools arrays by key, in their own order; values are block indices."""

    pair: Pair
    was: dict[ToolKey, int]
    now: dict[ToolKey, int]
    placed: list[tuple[int, int, Change]] = field(default_factory=list)

    @cached_property
    def common(self) -> list[ToolKey]:
        """Keys that both hold, in the child's order."""
        return [key for key in self.now if key in self.was]

    def put(self, at: int, order: int, change: Change) -> None:
        """Add a change at a place of the child's array."""
        self.placed.append((at, order, change))

    def result(self) -> list[Change]:
        """Changes by place, those of one cause joined."""
        return merge([change for _, _, change in sorted(self.placed, key=lambda item: item[:2])])


def tool_changes(pair: Pair) -> list[Change]:
    """Everything that changed in the tools array, in the order of the child's array."""
    was, now = pair.parent_indices(Zone.TOOLS), pair.child_indices(Zone.TOOLS)
    was_digests, now_digests = at(pair.was, was), at(pair.now, now)
    if was_digests == now_digests:
        return []
    tools = _Tools(pair, _keyed(pair.parent.lazy_blocks, was), _keyed(pair.child.lazy_blocks, now))
    appended = was_digests == now_digests[: len(was_digests)]
    _added(tools, ("append_tail",) if appended else ())
    _removed(tools)
    _moved(tools)
    _edited(tools)
    return tools.result()


def _keyed(blocks: Blocks, indices: Iterable[int]) -> dict[ToolKey, int]:
    keyed: dict[ToolKey, int] = {}
    seen: dict[str, int] = {}
    pieces = blocks.pieces()
    for index in indices:
        name = pieces[index].name or _unnamed(blocks[index])
        seen[name] = seen.get(name, -1) + 1
        keyed[name, seen[name]] = index
    return keyed


def _unnamed(block: Block) -> str:
    """What a provider's own tool without a name goes by: its type."""
    document = parse(block.facts.content)
    kind = document.get("type") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) else block.label


def _added(tools: _Tools, kinds: tuple[str, ...]) -> None:
    new = [key for key in tools.now if key not in tools.was]
    if not new:
        return
    promotions, tiers = Promotions(tools.pair), Tiers(tools.pair)
    for key in new:
        index = tools.now[key]
        block = tools.pair.child.blocks[index]
        promoted = promotions.confidence(key[0])
        change = Change(
            cause="tool_promoted" if promoted else "tool_added",
            zone=Zone.TOOLS,
            parent=None,
            child=index,
            confidence=promoted or Confidence.OBSERVED,
            delta=len(block.facts.content),
            names=(key[0],),
            kinds=kinds,
            alongside=("tool_added",) if promoted else (),
            group="tools",
        )
        tools.put(index, _ADDED, tiers.entered(change))


def _removed(tools: _Tools) -> None:
    gone = [key for key in tools.was if key not in tools.now]
    order, tiers = list(tools.was), Tiers(tools.pair)
    first = min(tools.was.values(), default=0)
    for key in gone:
        index = tools.was[key]
        before = [tools.now[other] for other in order[: order.index(key)] if other in tools.now]
        at = before[-1] + 1 if before else first
        content = tools.pair.parent.blocks[index].facts.content
        change = Change(
            cause="tool_removed",
            zone=Zone.TOOLS,
            parent=index,
            child=None,
            block_offset=_common_with(tools, index, at),
            delta=-len(content),
            names=(key[0],),
            group="tools",
        )
        tools.put(at, _REMOVED, tiers.left(change))


def _common_with(tools: _Tools, parent: int, child: int) -> int:
    """Bytes that the tool at `parent` shares with what the child has at its place."""
    blocks = tools.pair.child.blocks
    if child >= len(blocks) or blocks[child].facts.header != tools.pair.parent.blocks[parent].facts.header:
        return 0
    return common_prefix(tools.pair.parent.blocks[parent].facts.content, blocks[child].facts.content)


def _moved(tools: _Tools) -> None:
    was = [key for key in tools.was if key in tools.now]
    moved = displaced(was, tools.common)
    if not moved:
        return
    place = common_length(was, tools.common)
    index, old = tools.now[tools.common[place]], tools.was[was[place]]
    change = Change(
        cause="tool_order",
        zone=Zone.TOOLS,
        parent=old,
        child=index,
        block_offset=_common_with(tools, old, index),
        names=tuple(tools.common[place][0] for place in moved),
        group="tools",
        evidence=_journey(tools, moved),
    )
    tools.put(index, _MOVED, change)


def _journey(tools: _Tools, moved: Sequence[int]) -> str:
    """How many tools moved, and from where to where a single one."""
    if len(moved) > 1:
        return f"{len(moved)} of {len(tools.common)} tools moved"
    key = tools.common[moved[0]]
    was, now = list(tools.was).index(key), list(tools.now).index(key)
    return f"one of {len(tools.common)} tools moved, from place {was} to {now} (numbered from 0)"


EditRule: TypeAlias = Callable[[BlockPair, list[Leaf]], Change | None]


def _edited(tools: _Tools) -> None:
    flipped: list[tuple[int, Change]] = []
    tiers = Tiers(tools.pair)
    for key in tools.common:
        was, now = tools.was[key], tools.now[key]
        if tools.pair.was[was] == tools.pair.now[now]:
            continue
        block = BlockPair(tools.pair, was, now)
        change = _edit(block, key[0])
        if change.cause == "defer_mode_flip":
            flipped.append((block.child, change))
        else:
            tools.put(block.child, _EDITED, tiers.edited(change))
    for index, change in flipped:
        tools.put(index, _EDITED, change if len(flipped) > 1 else _single_flip(tools, change))


def _edit(block: BlockPair, name: str) -> Change:
    was, now = parse(block.was.facts.content), parse(block.now.facts.content)
    found = list(leaves(was, now))
    change = next(made for rule in _EDIT_RULES if (made := rule(block, found)) is not None)
    return replace(change, names=change.names or (name,), group="tools")


def _key_order(block: BlockPair, found: list[Leaf]) -> Change | None:
    if found or block.was.facts.content == block.now.facts.content:
        return None
    return block.change("schema_key_order")


def _defer_flip(block: BlockPair, found: list[Leaf]) -> Change | None:
    if found and all(DEFER_KEYS.intersection(leaf.keys) for leaf in found):
        return block.change("defer_mode_flip", alongside=("tool_edited",))
    return None


def _typed(block: BlockPair, found: list[Leaf]) -> Change | None:
    """Only random ids, clocks or dates inside the tool's texts differ."""
    reasons = []
    for leaf in found:
        if not (isinstance(leaf.was, str) and isinstance(leaf.now, str)):
            return None
        about = partial(" ".join, leaf.keys)
        reason = typed_reason(leaf.was, leaf.now, random="random_id_in_tools", about=about)
        if reason is None:
            return None
        reasons.append(reason)
    if not reasons:
        return None
    kinds = tuple(dict.fromkeys(kind for reason in reasons for kind in reason.kinds))
    return block.change(reasons[0].cause, kinds=kinds, alongside=("tool_edited",))


def _plain_edit(block: BlockPair, found: list[Leaf]) -> Change:
    kinds = tuple(dict.fromkeys(map(leaf_kind, found)))
    return block.change("tool_edited", kinds=kinds) if found else block.change("unknown")


_EDIT_RULES: tuple[EditRule, ...] = (_key_order, _defer_flip, _typed, namespace_change, _plain_edit)


def _single_flip(tools: _Tools, change: Change) -> Change:
    """One tool alone whose flag changed: it was deferred and now is loaded, or it was edited."""
    parent, child = change.parent or 0, change.child or 0
    deferred = _is_deferred(tools.pair.parent.blocks[parent])
    if deferred and not _is_deferred(tools.pair.child.blocks[child]):
        return replace(change, cause="tool_promoted", alongside=("tool_edited",))
    return replace(change, cause="tool_edited", kinds=("schema",), alongside=())


def _is_deferred(block: Block) -> bool:
    document = parse(block.facts.content)
    return isinstance(document, dict) and bool(document.get("defer_loading"))
