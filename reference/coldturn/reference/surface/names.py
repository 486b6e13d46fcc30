"""Names that every provider accepts, one per (connection, tool), and the same in every Run."""

from __future__ import annotations

import re
from collections.abc import Iterable

import xxhash

_LONGEST = 64
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def exposed_name(server: str, tool: str) -> str:
    """Prefix a tool's name with its connection id; what does not fit becomes ``_``, with a hash behind it."""
    plain = f"{server}__{tool}"
    return plain if len(plain) <= _LONGEST and not _REFUSED.search(plain) else _hashed(server, tool)


def _hashed(server: str, tool: str) -> str:
    digest = xxhash.xxh3_64_hexdigest(f"{server}\0{tool}".encode("utf-8", "surrogatepass"))[:8]
    return f"{_REFUSED.sub('_', f'{server}__{tool}')[: _LONGEST - 9]}_{digest}"


class ExposedNames:
    """Names given out in one Run: once given, a pair's name stays.

    Plain names can collide (connection ``a`` with tool ``b__c``, ``a__b`` with ``c``); what asks second gets
    the hash suffix, so ask in an order that does not depend on chance.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)
        self._given: dict[tuple[str, str | None], str] = {}

    def of(self, server: str, tool: str) -> str:
        """The exposed name of a tool."""
        return self._give(server, tool, exposed_name(server, tool))

    def facade(self, server: str) -> str:
        """The exposed name of the one tool that stands for all of a server's."""
        return self._give(server, None, exposed_name(server, "use"))

    def _give(self, server: str, tool: str | None, wanted: str) -> str:
        key = (server, tool)
        if key not in self._given:
            self._given[key] = wanted if wanted not in self._taken else _hashed(server, tool or "")
            self._taken.add(self._given[key])
        return self._given[key]
