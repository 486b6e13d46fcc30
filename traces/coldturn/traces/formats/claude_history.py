"""The history of a Claude Code call, rebuilt from the lines that a transcript links with ``parentUuid``.

One reply is several lines, a content block in each, which share a message id. Results of parallel calls hang
on the line of their own call, so that a walk from line to parent passes only one of them: the others, and the
calls they answer, are put back beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from coldturn.traces.formats.sessions import list_of, object_of
from coldturn.traces.slices import to_json


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a transcript that stands in a conversation.

    Attributes:
        entry: Index of the line in its file.
        role: ``user`` or ``assistant``; empty for a line that holds no message (progress, attachments).
        message: Id of the reply that an assistant's line is a part of.
        blocks: Content blocks, each as JSON.
        time: Epoch seconds, when it was written.
        results: Whether it holds results of tools.
        logical: Of a line that marks a compaction, the last line in front of it; such a line has no parent.
    """

    entry: int
    uuid: str
    parent: str | None
    role: str
    message: str | None
    blocks: tuple[bytes, ...]
    time: float | None = None
    results: bool = False
    logical: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """What a request repeats.

    Attributes:
        messages: Each as JSON.
        sent: When the last of them was written; None without a time.
        whole: False when a line in front of the first is not in the file.
        boundary: The compaction that it begins with, if it does.
    """

    messages: Sequence[bytes]
    sent: float | None
    whole: bool
    boundary: Entry | None = None


@dataclass(slots=True)
class _Message:
    """A message in the making. `begin` is the place of its first line in the chain."""

    role: str
    id: str | None
    begin: int
    blocks: list[bytes] = field(default_factory=list)
    time: float | None = None
    _json: bytes | None = None

    def as_json(self) -> bytes:
        if self._json is None:
            self._json = object_of(("role", to_json(self.role)), ("content", list_of(self.blocks)))
        return self._json


@dataclass(slots=True)
class _Latest:
    """The history that was asked for last: the next one mostly goes on from it."""

    chain: list[Entry] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    messages: list[_Message] = field(default_factory=list)
    whole: bool = True


@dataclass(slots=True)
class Conversations:
    """The lines of one transcript: add all of them in order, then ask for histories."""

    _lines: dict[str, Entry] = field(default_factory=dict)
    _replies: dict[str, list[Entry]] = field(default_factory=dict)
    _answers: dict[str, list[Entry]] = field(default_factory=dict)
    _kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _latest: _Latest = field(default_factory=_Latest)

    def add(self, line: Entry) -> bool:
        """Take a line; False when its id was there before (a resumed session copies lines)."""
        if line.uuid in self._lines:
            return False
        self._lines[line.uuid] = line
        if line.message is not None:
            self._replies.setdefault(line.message, []).append(line)
        if line.results and line.parent is not None:
            self._answers.setdefault(line.parent, []).append(line)
        return True

    def keep(self, anchor: str, lines: Sequence[str]) -> None:
        """Say which earlier lines a compaction left standing, behind the line of its summary."""
        self._kept[anchor] = tuple(lines)

    def reply(self, message: str) -> Sequence[Entry]:
        """All lines of a reply, in order."""
        return self._replies[message]

    def before(self, reply: Sequence[Entry]) -> History:
        """What the request behind a reply held. Costs what is new in it when it goes on from the last one."""
        latest = self._latest
        new, shared, whole = self._walk(reply[0].parent, reply[0].message)
        kept = _settled(latest.messages, shared)
        begin = latest.messages[kept].begin if kept < len(latest.messages) else 0
        chain = [*latest.chain[:shared], *new]
        for line in latest.chain[shared:]:
            del latest.places[line.uuid]
        latest.places.update((line.uuid, place) for place, line in enumerate(new, shared))
        messages = [*latest.messages[:kept], *_merged(self._completed(chain, begin))]
        self._latest = _Latest(chain, latest.places, messages, whole)
        sent = messages[-1].time if messages else None
        boundary = chain[0] if chain and chain[0].logical is not None else None
        return History([one.as_json() for one in messages], sent, whole, boundary)

    def reply_before(self, boundary: Entry) -> str | None:
        """The latest reply in front of a compaction; None when it is not in the file."""
        uuid, passed = boundary.logical, set[str]()
        while uuid is not None and uuid not in passed:
            passed.add(uuid)
            line = self._lines.get(uuid)
            if line is None or line.message is not None:
                return None if line is None else line.message
            uuid = line.parent
        return None

    def _walk(self, uuid: str | None, message: str | None) -> tuple[list[Entry], int, bool]:
        """From `uuid` back to a line of the latest chain.

        Returns:
            The lines that it lacks, how many of its own stand in front of them, and whether the very first
            line has no parent.
        """
        latest = self._latest
        found: list[Entry] = []
        passed: set[str] = set()
        while uuid is not None and uuid not in passed:
            place = latest.places.get(uuid)
            if place is not None:
                return found[::-1], place + 1, latest.whole
            line = self._lines.get(uuid)
            if line is None:
                return found[::-1], 0, False
            kept = (self._lines[one] for one in reversed(self._kept.get(uuid, ())) if one in self._lines)
            for one in (*kept, line):
                if one.uuid not in passed and (one.message is None or one.message != message):
                    found.append(one)
                passed.add(one.uuid)
            uuid = line.parent
        return found[::-1], 0, uuid is None

    def _completed(self, chain: Sequence[Entry], begin: int) -> Iterator[tuple[int, Entry]]:
        """The chain from a place on, with calls and results that hang beside it put behind their reply."""
        passed = self._latest.places
        last = {line.message: place for place, line in enumerate(chain[begin:], begin)}
        for place, line in enumerate(chain[begin:], begin):
            yield place, line
            if line.message is None or last[line.message] != place:
                continue
            parts = self._replies[line.message]
            yield from ((place, one) for one in parts if one.uuid not in passed)
            for part in parts:
                beside = self._answers.get(part.uuid, ())
                yield from ((place, one) for one in beside if one.uuid not in passed)


def _settled(messages: Sequence[_Message], shared: int) -> int:
    """How many messages of the latest history stand whatever follows the lines that are shared with it.

    All in front of the last reply that begins among them: that one may go on, and is put together again.
    """
    replies = (at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant")
    return next((at for at in replies if messages[at].begin < shared), 0)


def _merged(lines: Iterable[tuple[int, Entry]]) -> Iterator[_Message]:
    """Messages as they are sent: a reply's lines are one, and neighbours of one role are one."""
    open_: list[_Message] = []
    for place, line in lines:
        if not line.role or not line.blocks:
            continue
        known = _open_message(open_, line)
        if known is None:
            if line.role == "assistant":
                yield from open_
                open_ = []
            known = _Message(line.role, line.message, place)
            open_.append(known)
        known.blocks += line.blocks
        if line.time is not None:
            known.time = line.time if known.time is None else max(known.time, line.time)
    yield from open_


def _open_message(open_: Sequence[_Message], line: Entry) -> _Message | None:
    """The message that a line goes on with: its reply's, or the user's that stands last."""
    if line.role == "assistant":
        return next((one for one in open_ if one.role == "assistant" and one.id == line.message), None)
    return open_[-1] if open_ and open_[-1].role == line.role else None
