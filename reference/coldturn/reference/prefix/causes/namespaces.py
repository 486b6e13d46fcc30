"""A tool that groups others (OpenAI's ``namespace``): what changed among those it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coldturn.reference.prefix.causes.change import BlockPair, Change, unique
from coldturn.reference.prefix.causes.schema import Json, Leaf, leaf_kind, leaves, parse

_NAMESPACE = "namespace"
_HELD = "tools"


def namespace_change(block: BlockPair, found: Sequence[Leaf]) -> Change | None:
    """The tools of a namespace that came, went, moved or were edited; None where anything else differs.

    Names are those of the tools within it, behind the namespace's own: ``crm.find_contact``.
    """
    was, now = _held(parse(block.was.facts.content)), _held(parse(block.now.facts.content))
    if was is None or now is None or any(leaf.keys[:1] != (_HELD,) for leaf in found):
        return None
    came = [name for name in now if name not in was]
    gone = [name for name in was if name not in now]
    edited = [name for name in now if name in was and was[name] != now[name]]
    if came and not gone and not edited:
        change = block.change("tool_added", kinds=(_NAMESPACE,))
    elif gone and not came and not edited:
        change = block.change("tool_removed", kinds=(_NAMESPACE,))
    elif came or gone or edited:
        within = (leaf for name in edited for leaf in leaves(was[name], now[name]))
        change = block.change("tool_edited", kinds=(_NAMESPACE, *unique(map(leaf_kind, within))))
    else:
        change = block.change("tool_order", kinds=(_NAMESPACE,))
    own = block.now.name or _NAMESPACE
    return replace(change, names=tuple(f"{own}.{name}" for name in (*came, *gone, *edited)))


def _held(document: Json) -> dict[str, Json] | None:
    """The tools of a namespace by name; None for any other tool, and where one has no name of its own."""
    if not isinstance(document, dict) or document.get("type") != _NAMESPACE:
        return None
    rows = document.get(_HELD)
    if not isinstance(rows, list):
        return None
    named: dict[str, Json] = {}
    for row in rows:
        name = row.get("name") if isinstance(row, dict) else None
        if not isinstance(name, str) or name in named:
            return None
        named[name] = row
    return named
