"""Tools that a body defines and its prompt does not hold, since the surface renders them where they are used.

Which tools those are is a matter of what a surface renders where, so the dialect tells (`Group.unplaced`);
this module only knows what follows for any surface that has them. A run of them at the end of the array is
set aside: appending to it moves no byte of the prompt. Whatever else happens to it is a change of the array.
What such tools cost, and until when a provider keeps what, are rules of providers and not known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.reading import PlacedGroup


def set_aside(groups: tuple[PlacedGroup, ...]) -> tuple[tuple[PlacedGroup, ...], tuple[Element, ...]]:
    """Part the groups from the tools at their array's end that the prompt does not hold there."""
    if not groups or groups[0].group.unplaced is None:
        return groups, ()
    tools, unplaced = groups[0], groups[0].group.unplaced
    end = len(tools.elements)
    while end and unplaced(tools.elements[end - 1]):
        end -= 1
    if end == len(tools.elements):
        return groups, ()
    loaded = replace(tools, elements=tools.elements[:end], offsets=tools.offsets[:end])
    return (loaded, *groups[1:]), tools.elements[end:]


def only_appends(
    was: tuple[Element, ...],
    now: tuple[Element, ...],
    loaded: Iterable[Element],
    loaded_now: Iterable[Element],
) -> bool:
    """Whether tools set aside were at most added to, at their end, and none of them is or was loaded."""
    same = len(was) <= len(now) and all(
        one.content is other.content for one, other in zip(was, now, strict=False)
    )
    aside = _names(was) | _names(now)
    return same and aside.isdisjoint(_names(loaded)) and aside.isdisjoint(_names(loaded_now))


def _names(elements: Iterable[Element]) -> set[str | None]:
    return {piece.name for element in elements for piece in element.pieces}
