"""A common prefix that ends inside a segment: found by comparing a request with the one it continues."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import eq

from coldturn.analysis.entries.request import Partial
from coldturn.analysis.estimates.layout import Layout
from coldturn.reference.prefix.difference import common_prefix


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
