"""Tools that a body defines and its prompt does not hold: ``defer_loading`` at the end of Anthropic's array.

The provider renders such a definition where a later message refers to it, and leaves it out of the key of the
cached prefix until then (providers' documentation, 2026). So a run of them at the end of the array is set
aside: appending to it moves no byte of the prompt. Whatever else happens to it is a change of the array.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.reading import PlacedGroup

_SIGN = b'"defer_loading":true'


class _Tool(msgspec.Struct):
    defer_loading: bool = False


def set_aside(
    surface: Surface, groups: tuple[PlacedGroup, ...]
) -> tuple[tuple[PlacedGroup, ...], tuple[Element, ...]]:
    """Part the groups from the tools at their array's end that are not loaded."""
    if surface is not Surface.MESSAGES or not groups or groups[0].group.key != "tools":
        return groups, ()
    tools = groups[0]
    end = len(tools.elements)
    while end and _is_deferred(tools.elements[end - 1]):
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


def _is_deferred(element: Element) -> bool:
    content = element.content.facts[-1].content if element.content.facts else b""
    if _SIGN not in content:
        return False
    try:
        return msgspec.json.decode(content, type=_Tool).defer_loading
    except msgspec.DecodeError:
        return False


def _names(elements: Iterable[Element]) -> set[str | None]:
    return {piece.name for element in elements for piece in element.pieces}
