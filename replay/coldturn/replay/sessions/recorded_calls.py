"""From the names that a model saw to the recorded calls of MCP tools that they became."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from coldturn.replay.playback.endpoints import Endpoint
from coldturn.replay.playback.recording import Entry, Recording, address
from coldturn.replay.playback.rpc import canonical

_SEPARATORS = "_-./:"


def tool_of(entry: Entry) -> str:
    """The tool of a ``tools/call`` entry."""
    return str(entry.rpc.params.get("name")) if entry.rpc else ""


def arguments_of(entry: Entry) -> Mapping[str, Any]:
    """The arguments of a ``tools/call`` entry."""
    arguments = entry.rpc.params.get("arguments") if entry.rpc else None
    return arguments if isinstance(arguments, dict) else {}


class RecordedCalls:
    """The ``tools/call`` entries of a recording, each of which one decision can claim.

    Attributes:
        entries: Connection id and entry, in the order of sending.
    """

    def __init__(self, recording: Recording, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = endpoints
        ids = {endpoint.url: endpoint.id for endpoint in endpoints}
        self.entries: list[tuple[str, Entry]] = [
            (ids[address(entry.url)], entry)
            for entry in recording.mcp
            if entry.rpc is not None and entry.rpc.method == "tools/call"
        ]
        self._free: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        for server, entry in self.entries:
            self._free[server, tool_of(entry)].append(entry)

    def claim(
        self, name: str, arguments: Mapping[str, Any], *, not_before: float
    ) -> tuple[str, Entry] | None:
        """The recorded call that a call of the model's became, which none can claim again.

        Equal arguments decide; else it is the first call of such a tool since, whose arguments the agent may
        have completed on the way.

        Args:
            name: As the model wrote it.
            arguments: As the model wrote them.
            not_before: Epoch seconds of the model's request.

        Returns:
            Connection id and entry; None for a tool of no recorded server.
        """
        free = [
            (entry.start, entry.number, pair, entry)
            for pair in self.candidates(name)
            for entry in self._free[pair]
            if entry.start >= not_before
        ]
        if not free:
            return None
        wanted = canonical(arguments)
        equal = [found for found in free if canonical(arguments_of(found[3])) == wanted]
        _, _, pair, entry = min(equal or free, key=lambda found: found[:2])
        self._free[pair].remove(entry)
        return pair[0], entry

    def candidates(self, name: str) -> list[tuple[str, str]]:
        """(server, tool) pairs that a name can stand for: exact, by server prefix, or one unique suffix."""
        if exact := [(endpoint.id, name) for endpoint in self._endpoints if name in endpoint.tools]:
            return exact
        known = [
            (endpoint, tool, name[: len(name) - len(tool)])
            for endpoint in self._endpoints
            for tool in sorted(endpoint.tools)
            if name.endswith(tool) and len(name) > len(tool)
        ]
        for names in (lambda e: (e.id,), lambda e: e.names):
            if named := [(e.id, tool) for e, tool, prefix in known if _is_server(prefix, names(e))]:
                return named
        separated = [(e.id, tool) for e, tool, prefix in known if prefix[-1] in _SEPARATORS]
        return separated if len(separated) == 1 else []


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _is_server(prefix: str, names: Sequence[str]) -> bool:
    """Whether what stands in front of a tool is one of a server's names, maybe behind ``mcp``."""
    written = _letters(prefix)
    return any(written in (name, f"mcp{name}") for name in map(_letters, names) if name)
