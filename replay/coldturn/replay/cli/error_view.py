"""Errors of inputs as sentences: those that say the same again and again are counted instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from coldturn.analysis.breaks.findings import ReadError

_ENTRIES = 5
"""Entries of one source that are told one by one."""
_ALIKE = 3
"""Inputs with the same trouble that are told one by one."""


def sentences(errors: Iterable[ReadError]) -> Iterator[str]:
    """One sentence each, in order; where there are many of a kind, the first few and how many more."""
    known = list(errors)
    whole = Counter(_kind(one) for one in known)
    told: Counter[object] = Counter()
    for one in known:
        kind = _kind(one)
        told[kind] += 1
        few = _ALIKE if one.entry is None else _ENTRIES
        if told[kind] <= few or whole[kind] == few + 1:
            yield _sentence(one)
        elif told[kind] == whole[kind]:
            yield _more(one, whole[kind] - few)


def _kind(one: ReadError) -> tuple[str, str | None] | str:
    """A source, for its entries; for inputs as a whole what is said of them."""
    if one.entry is not None:
        return one.source
    return one.message.removeprefix(one.source), one.slug


def _more(last: ReadError, count: int) -> str:
    if last.entry is None:
        return f"{count:,} more inputs: the same, up to {last.source}"
    return (
        f"{last.source}: {count:,} more entries, up to {last.entry}, have errors (explain --json lists all)"
    )


def _sentence(one: ReadError) -> str:
    slug = f" [{one.slug}]" if one.slug else ""
    if one.message.startswith(one.source):
        return one.message + slug
    place = one.source if one.entry is None else f"{one.source}, entry {one.entry}"
    return f"{place}: {one.message}{slug}"
