"""Sessions of pi (``~/.pi/agent/sessions/**/*.jsonl``): messages in pi's own form, with usage and cost.

Tools and system text are not in them. Messages are written in the format of the API that a call names; of a
call over another API the numbers are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from coldturn.reference.prefix.model import Surface
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.classify import instant
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.pi_messages import Written, assembled, reply, write
from coldturn.traces.formats.sessions import SessionCall, SessionLine, count_of, loose, taken, text_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.usage_record import UsageRecord

_MILLISECONDS = 1_000
_LATEST = 10**15
"""Milliseconds beyond which no clock shows a time."""
_COUNTS = ("input", "output", "cacheRead", "cacheWrite")
_APIS = {
    "anthropic-messages": Surface.MESSAGES,
    "openai-responses": Surface.RESPONSES,
    "openai-codex-responses": Surface.RESPONSES,
    "azure-openai-responses": Surface.RESPONSES,
    "openai-completions": Surface.CHAT_COMPLETIONS,
}
_STOPPED = frozenset({"aborted", "error"})
"""How an answer ended that pi does not send back."""


def _is_session(head: Head) -> bool:
    if head.layout not in (Layout.LINES, Layout.OBJECT):
        return False
    return text_of(head.member("type")) == "session" and {"id", "cwd"} <= head.keys


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every call of a session that reported what it used."""
    records: Iterator[Record] = taken(stream, name, _Session(name).take)
    yield from records


@dataclass(slots=True)
class _Node:
    """A line of the conversation.

    Attributes:
        parent: Place of the line in front of it; -1 without one.
        message: What it adds, in pi's form.
        kept: Of a summary: the place of the first line that it leaves standing.
        call: Entry of the call that it answers.
    """

    parent: int
    message: dict[str, Any] | None = None
    kept: int | None = None
    call: int | None = None
    written: dict[Surface, Written] = field(default_factory=dict)

    def write(self, surface: Surface) -> Written | None:
        """Its message in the format of a surface; None when nothing of it is sent."""
        if self.message is None:
            return None
        if surface not in self.written:
            self.written[surface] = write(surface, self.message)
        return self.written[surface] if self.written[surface].parts else None


@dataclass(slots=True)
class _Session:
    """The lines so far. In newer sessions they are a tree: each names the one in front of it."""

    name: str
    _nodes: list[_Node] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    _calls: int = 0
    _passed: set[int] = field(default_factory=set)

    def take(self, line: SessionLine) -> Record | None:
        """Take the next line: a call when it is an answer, an error when it cannot be read."""
        kind = line.text("type")
        message = loose(line.members.get("message")) if kind == "message" else None
        if kind == "message" and not (isinstance(message, dict) and isinstance(message.get("role"), str)):
            return EntryError(self.name, line.entry, f"line {line.number}: it holds no message")
        node = _Node(self._places.get(line.text("parentId") or "", len(self._nodes) - 1))
        found = None
        if message is not None and message["role"] == "assistant":
            found = self._answered(line, message, node.parent)
            node.call = line.entry if isinstance(found, Exchange) else None
        if kind == "compaction":
            node.message, node.kept = _summary(line), self._kept(line)
        elif kind in ("branch_summary", "custom_message"):
            node.message = _summary(line)
        elif message is not None and _is_sent(message):
            node.message = message
        self._places[line.text("id") or f"line {line.number}"] = len(self._nodes)
        self._nodes.append(node)
        return found

    def _kept(self, line: SessionLine) -> int:
        """Where what a summary leaves standing begins: by id, in old sessions by the number of a line."""
        place = self._places.get(line.text("firstKeptEntryId") or "")
        index = loose(line.members.get("firstKeptEntryIndex"))
        return place if place is not None else index if isinstance(index, int) else len(self._nodes)

    def _answered(self, line: SessionLine, message: dict[str, Any], parent: int) -> Record | None:
        usage = message.get("usage")
        told = usage if isinstance(usage, dict) else {}
        counts = {key: int(count_of(told.get(key)) or 0) for key in _COUNTS}
        if not any(counts.values()):
            return None
        self._calls += 1
        surface = _APIS.get(str(message.get("api")))
        model = message.get("model")
        start = _started(message)
        start = line.time() if start is None else start
        if surface is None:
            return self._numbers(line, message, counts, start)
        path, at = self._path(parent)
        history = [node.write(surface) for node in self._context(path, at)]
        return SessionCall(
            entry=line.entry,
            surface=surface,
            model=model if isinstance(model, str) else "",
            parts=assembled(surface, [one for one in history if one is not None]),
            answer=reply(surface, message, counts),
            started=start,
            compacted_from=self._compacted_from(path, at),
        ).exchange(self.name)

    def _path(self, place: int) -> tuple[list[int], int | None]:
        """The lines up to a place, and where among them the latest summary of a compaction stands."""
        path: list[int] = []
        while place >= 0:
            path.append(place)
            place = self._nodes[place].parent
        path.reverse()
        summaries = (at for at in range(len(path) - 1, -1, -1) if self._nodes[path[at]].kept is not None)
        return path, next(summaries, None)

    def _compacted_from(self, path: Sequence[int], at: int | None) -> int | None:
        """Of the first call behind a compaction the entry of the last one in front of it."""
        if at is None or path[at] in self._passed:
            return None
        self._passed.add(path[at])
        calls = (self._nodes[place].call for place in reversed(path[:at]))
        return next((call for call in calls if call is not None), None)

    def _context(self, path: Sequence[int], at: int | None) -> Sequence[_Node]:
        """The lines that a request holds: from the first one, or from the latest summary on."""
        if at is None:
            return [self._nodes[one] for one in path]
        summary = self._nodes[path[at]]
        kept = [one for one in path[:at] if summary.kept is not None and one >= summary.kept]
        return [summary, *(self._nodes[one] for one in (*kept, *path[at + 1 :]) if one != path[at])]

    def _numbers(
        self, line: SessionLine, message: dict[str, Any], counts: dict[str, int], start: float | None
    ) -> UsageRecord:
        model, provider = message.get("model"), message.get("provider")
        return UsageRecord(
            source=self.name,
            entry=line.entry,
            conversation=self.name,
            call=self._calls - 1,
            model=model if isinstance(model, str) else "",
            provider=provider if isinstance(provider, str) else "",
            input_tokens=ReportedTokens(counts["input"] + counts["cacheRead"] + counts["cacheWrite"]),
            cached_tokens=ReportedTokens(counts["cacheRead"]),
            written_tokens=ReportedTokens(counts["cacheWrite"]),
            output_tokens=ReportedTokens(counts["output"]),
            started=start,
        )


def _summary(line: SessionLine) -> dict[str, Any]:
    """A summary, or a text that an extension put in: sent as the user's."""
    content = loose(line.members.get("content")) or line.text("summary") or ""
    return {"role": "user", "content": content}


def _is_sent(message: dict[str, Any]) -> bool:
    """Whether a message is part of later requests."""
    stopped = message["role"] == "assistant" and str(message.get("stopReason")) in _STOPPED
    return not stopped and not message.get("excludeFromContext")


def _started(message: dict[str, Any]) -> float | None:
    """When pi began the call; it counts milliseconds."""
    value = message.get("timestamp")
    milliseconds = isinstance(value, int | float) and abs(value) < _LATEST
    return instant(value / _MILLISECONDS) if isinstance(value, int | float) and milliseconds else None


FORMATS = (Format(InputKind.PI, "a pi session", _is_session, read),)
