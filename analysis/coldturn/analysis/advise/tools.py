"""A tools array as it would have been sent if some of its changes had been mended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from coldturn.analysis.advise.items import Item, Json, marked_as
from coldturn.analysis.advise.ways import WAYS, Mend

_ORDER, _REMOVED = "tool_order", "tool_removed"


def mended_tools(
    was: Sequence[Item],
    mended: Sequence[Item],
    now: Sequence[Item],
    causes: Collection[str],
    mine: Collection[str],
) -> tuple[list[Item], list[Item]]:
    """The array, and tools that are defined behind the history instead.

    Args:
        was: The array that was sent before.
        mended: The array that would have been sent in its place.
        now: The array that was sent next.
        causes: What changed from the one to the other.
        mine: Those of the causes that are mended.
    """
    old, held, new = _named(was), _named(mended), _named(now)
    common = [name for name in new if name in old]
    in_order = common == [name for name in old if name in new]
    content = {cause for cause in mine if WAYS[cause].mend is Mend.HELD} - {_ORDER, _REMOVED}
    array = {name: _one(name, old, held, new, held_content=bool(content)) for name in common if name in held}
    for name in held:
        left_before = name not in old and name not in new
        if left_before or (name in old and name not in new and _REMOVED in mine):
            array[name] = held[name]
    if in_order or _ORDER in mine:
        array = {name: array[name] for name in held if name in array}
    late = [new[name] for name in new if name not in old]
    if any(WAYS[cause].mend is Mend.APPENDED for cause in mine):
        return list(array.values()), late
    if in_order or _ORDER in mine or set(causes) <= set(mine):
        return [*array.values(), *late], []
    placed = {name: array.get(name, new[name]) for name in new if name in array or name not in old}
    return list({**placed, **array}.values()), []


def _one(
    name: str,
    old: Mapping[str, Item],
    held: Mapping[str, Item],
    new: Mapping[str, Item],
    *,
    held_content: bool,
) -> Item:
    if new[name] == old[name] or held_content:
        return marked_as(held[name], new[name])
    return new[name]


def _named(items: Sequence[Item]) -> dict[str, Item]:
    """Tools by name; a second one of a name counts as another."""
    found: dict[str, Item] = {}
    for item in items:
        name = _name(item.value)
        while name in found:
            name += "'"
        found[name] = item
    return found


def _name(value: Json) -> str:
    if not isinstance(value, dict):
        return repr(value)
    declared = value.get("functionDeclarations", value.get("function_declarations"))
    only = declared[0] if isinstance(declared, list) and len(declared) == 1 else None
    for inner in (value, value.get("function"), value.get("toolSpec"), only):
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            return str(inner["name"])
    return str(value.get("type", ""))
