"""A common prefix that ends inside a segment: found by comparing a request with the one it continues."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import eq

from coldturn.analysis.entries.request import Partial
from coldturn.analysis.estimates.layout import Layout
from coldturn.analysis.estimates.layout_maker import LayoutMaker
from coldturn.analysis.estimates.ruleset import Parameters, Placement
from coldturn.reference.prefix.difference import common_prefix
from coldturn.reference.prefix.model import BlockKind
from coldturn.reference.prefix.request import PromptRequest


def partial_of(parent: Layout, child: Layout, ends: Sequence[int]) -> Partial | None:
    """What `child` has in common with `parent` behind their last equal boundary.

    Args:
        parent: The request that it was compared with.
        child: The request.
        ends: Tokens at the child's boundaries.

    Returns:
        None when nothing is, when one of the two ends there, or when their settings differ.
    """
    shared = shared_links(parent, child)
    if shared >= len(parent.links) or shared >= len(child.links):
        return None
    if parent.links[shared] ^ parent.keys[shared] != child.links[shared] ^ child.keys[shared]:
        return None
    (was_header, was), (now_header, now) = parent.segment(shared), child.segment(shared)
    if was_header != now_header or not now:
        return None
    common = common_prefix(was, now)
    start = ends[shared - 1] if shared else 0
    tokens = start + (ends[shared] - start) * common // len(now)
    return Partial(parent.keys[shared], tokens) if tokens > start else None


def shared_links(parent: Layout, child: Layout) -> int:
    """How many boundaries two requests have in common."""
    return len(tuple(takewhile(bool, map(eq, parent.links, child.links))))


def broken_parent(
    layouts: LayoutMaker, request: PromptRequest, parent: PromptRequest | None
) -> Layout | None:
    """The layout of a parent that the request does not repeat in full; None when there is none."""
    if parent is None or request.by_reference:
        return None
    if request.contents[: len(parent.contents)] == parent.contents:
        return None
    return layouts.make(parent)


def loses_reasoning(parameters: Parameters, parent: Layout, child: Layout) -> bool:
    """Whether reasoning that the provider keeps is sent again behind a prefix that has changed."""
    if parameters.placement is not Placement.ANTHROPIC or parameters.strips_thinking:
        return False
    shared = shared_links(parent, child)
    return not _reasoning_behind(parent, shared).isdisjoint(_reasoning_behind(child, shared))


def _reasoning_behind(layout: Layout, shared: int) -> set[bytes]:
    pairs = zip(layout.units, layout.block_ends, strict=True)
    return {unit.facts.digest for unit, end in pairs if end >= shared and unit.kind is BlockKind.REASONING}
