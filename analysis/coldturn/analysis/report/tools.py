"""Which tools prompts define, and which of them are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from coldturn.analysis.report.model import ToolUse
from coldturn.reference.prefix.model import Block, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest


class ToolCounts:
    """Counts over the requests of a view."""

    def __init__(self) -> None:
        self._shown: Counter[str] = Counter()
        self._bytes: dict[str, int] = {}
        self._calls: dict[Hashable, str] = {}

    def shown(self, request: PromptRequest) -> None:
        """Note the tools that a request defines."""
        for placed in request.groups:
            if placed.group.zone is Zone.TOOLS:
                for element in placed.elements:
                    for piece in element.pieces:
                        if piece.name:
                            self.defined(piece.name, len(piece.facts.content))

    def defined(self, name: str, size: int) -> None:
        """Note that one request defines a tool."""
        self._shown[name] += 1
        self._bytes[name] = max(size, self._bytes.get(name, 0))

    def called(self, block: Block) -> None:
        """Note a block, if it is a call; one that later requests repeat is the same call."""
        if block.kind is BlockKind.TOOL_CALL and block.name:
            self.call(block.name, block.call_id or block.facts.digest)

    def call(self, name: str, identity: Hashable) -> None:
        """Note a call."""
        self._calls[identity] = name

    def uses(self) -> list[ToolUse]:
        """Every tool that was defined, those that took most bytes for nothing first."""
        calls = Counter(self._calls.values())
        found = [ToolUse(name, self._bytes[name], count, calls[name]) for name, count in self._shown.items()]
        return sorted(found, key=lambda one: (one.calls > 0, -one.bytes * one.shown_in, one.name))
