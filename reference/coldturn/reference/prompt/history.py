"""Zone 3: the Record log as a prompt shows it. It grows at its end; a boundary shortens older results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coldturn.reference.observer import ElisionInfo
from coldturn.reference.policy import Policy
from coldturn.reference.previews import cap, utf8_size
from coldturn.reference.prompt.elision import Limits, shorten
from coldturn.reference.records import AssistantMessage, Record, ToolResult, UserMessage
from coldturn.reference.wire.model import (
    AssistantItem,
    HistoryItem,
    SuffixItem,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)


class History:
    """A projection of one Run's records.

    Attributes:
        items: What a request shows, oldest first.
        last_user: Index of the last user message; -1 while there is none. Carriers of tool results and the
            variable suffix do not count.
        last_answer: Index of the last assistant message, or -1.
    """

    def __init__(self, policy: Policy) -> None:
        self.limits = Limits.of(policy)
        self.items: list[HistoryItem] = []
        self.last_user = -1
        self.last_answer = -1
        self._elision_boundary = policy.elision_boundary
        self._cap = policy.current_turn_cap
        self._capped: dict[str, str] = {}
        self._fresh: list[ToolResult] = []
        self._places: dict[str, int] = {}
        self._open_turns: dict[int, list[ToolResult]] = {}
        self._kept_suffix = ""
        self._shortened: dict[str, None] = {}
        self._original_bytes = 0
        self._sent_bytes = 0

    def add(self, record: Record) -> None:
        """Show a new record; what is not part of the conversation leaves no trace."""
        if isinstance(record, UserMessage):
            self.last_user = len(self.items)
            self.items.append(UserItem(record.text))
        elif isinstance(record, AssistantMessage):
            self.last_answer = len(self.items)
            self.items.append(AssistantItem(record.text, record.calls))
        elif isinstance(record, ToolResult):
            self._places[record.handle] = len(self.items)
            self._open_turns.setdefault(record.turn, []).append(record)
            self.items.append(ToolResultItem(record.call_id, record.shown, record.is_error))
            self._fresh.append(record)
        elif self._fresh:
            # A schema of which half is shown is of no use: descriptions are not capped.
            described = self._fresh.pop()
            if record.loaded is not None:
                self._load(described, record.loaded)

    def _load(self, result: ToolResult, tool: ToolDefinition) -> None:
        """Make the description that was just added the place where the provider loads `tool`.

        The log keeps its text. It is never shortened: without it the tool would be gone.
        """
        item = self.items[-1]
        if not isinstance(item, ToolResultItem):
            return
        self.items[-1] = replace(item, text=f"Loaded {tool.name}: call it by its name.", loads=tool)
        self._open_turns[result.turn].pop()
        if not self._open_turns[result.turn]:
            del self._open_turns[result.turn]

    def keep_suffix(self, text: str) -> None:
        """Make a variable suffix part of the history, unless it says what the last kept one said."""
        if text and text != self._kept_suffix:
            self._kept_suffix = text
            self.items.append(SuffixItem(text))

    @property
    def boundary(self) -> int:
        """Index of the item in front of which results may be shortened; -1 when none may."""
        match self._elision_boundary:
            case "turn":
                return self.last_user
            case "step":
                return max(self.last_user, self.last_answer)
            case "none":
                return -1

    def shorten_results(self) -> frozenset[str]:
        """Shorten what the boundary has passed; returns the handles whose text changed by it.

        A turn that the last user message has passed is settled: its rendering is a function of that turn's
        results alone and never computed again.
        """
        self._cap_fresh()
        boundary = self.boundary
        changed: set[str] = set()
        for turn, results in list(self._open_turns.items()):
            if self._places[results[0].handle] >= boundary:
                # In order of place: the boundary has passed none of them.
                continue
            passed = [result for result in results if self._places[result.handle] < boundary]
            changed |= self._show(passed, shorten(passed, self.limits, self._capped))
            if self._places[results[-1].handle] < min(boundary, self.last_user):
                del self._open_turns[turn]
        return frozenset(changed)

    def _cap_fresh(self) -> None:
        """Show new results that are over the policy's cap shortened, before any prompt has shown them."""
        for result in self._fresh:
            if (text := cap(result, self._cap, self.limits.preview)) is not None:
                self._capped[result.handle] = text
                self._show([result], self._capped)
        self._fresh.clear()

    def places(self, handles: frozenset[str]) -> frozenset[int]:
        """Give the indices of these results."""
        return frozenset(self._places[handle] for handle in handles)

    def elision(self) -> ElisionInfo:
        """Say what stands shortened now."""
        return ElisionInfo(
            count=len(self._shortened),
            original_bytes=self._original_bytes,
            sent_bytes=self._sent_bytes,
            boundary_message=self.boundary,
            handles=tuple(self._shortened),
        )

    def _show(self, results: list[ToolResult], texts: Mapping[str, str]) -> set[str]:
        changed = set()
        for result in results:
            if result.handle in texts and result.handle not in self._shortened:
                text = texts[result.handle]
                place = self._places[result.handle]
                self.items[place] = ToolResultItem(result.call_id, text, result.is_error, elided=True)
                self._shortened[result.handle] = None
                self._original_bytes += utf8_size(result.shown)
                self._sent_bytes += utf8_size(text)
                changed.add(result.handle)
        return changed
