"""Where the causes of a break stand among the elements of a request body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coldturn.analysis.advise.ways import PLACEMENT, WAYS
from coldturn.analysis.breaks.findings import Beside, Finding, Verdict
from coldturn.reference.prefix.causes import REMEDIES
from coldturn.reference.prefix.causes.align import Gap
from coldturn.reference.prefix.causes.branches import BRANCHES

_PATH = re.compile(r"\$\.(toolConfig\.tools|[A-Za-z_]+)(?:\[(\d+)\])?")


@dataclass(frozen=True, slots=True)
class Place:
    """A cause and its element.

    Attributes:
        key: Top-level key; None where the recording does not tell, or no element is concerned.
        index: Of the element under it; None where the key holds one.
        offset: Bytes into the block's text.
    """

    cause: str
    key: str | None
    index: int | None
    offset: int | None

    def within(self, key: str, gap: Gap) -> bool:
        """Whether it stands in a change of that key's elements."""
        if self.key != key:
            return False
        if self.index is None:
            return True
        new = gap.now_start <= self.index < max(gap.now_end, gap.now_start + 1)
        return new or gap.was_start <= self.index < gap.was_end


def causes_of(found: Finding | None) -> Iterator[str]:
    """Every cause of a finding that could be mended, in order.

    Left out are planned ones, differences that lose nothing, and what stands beside the first and is mended
    in the same way: it is another name for it.
    """
    if found is None or not _counts(found):
        return
    yield found.cause
    yield from (later.cause for later in found.later)
    first = WAYS[found.cause].mend
    for beside in _alongside(found):
        if WAYS[beside.cause].mend is not first:
            yield beside.cause


def _alongside(found: Finding) -> Iterator[Beside]:
    """Causes beside the first one; that the text parts where another conversation begins is none."""
    begins = not BRANCHES.isdisjoint(found.kinds)
    return (beside for beside in found.alongside if not (begins and beside.cause in REMEDIES))


def _counts(found: Finding) -> bool:
    """Whether there is something to mend, such as that nothing was kept: then nothing was lost either."""
    if found.verdict is Verdict.BROKEN_HARMLESS:
        return found.cause in PLACEMENT
    return found.verdict is not Verdict.PLANNED


def places_of(found: Finding | None) -> list[Place]:
    """The causes of a finding with their places."""
    if found is None or not _counts(found):
        return []
    placed = [_place(found.cause, found.path, found.block_offset)]
    placed += [_place(later.cause, later.path, later.block_offset) for later in found.later]
    return [*placed, *(_place(beside.cause, None, None) for beside in _alongside(found))]


def touching(places: Iterable[Place], key: str, gap: Gap) -> list[Place]:
    """Those that stand in a change."""
    return [place for place in places if place.within(key, gap)]


def _place(cause: str, path: str | None, offset: int | None) -> Place:
    match = _PATH.match(path or "")
    if match is None:
        return Place(cause, None, None, offset)
    return Place(cause, match[1], None if match[2] is None else int(match[2]), offset)
