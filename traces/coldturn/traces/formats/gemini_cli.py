"""Sessions of Gemini CLI (``~/.gemini/tmp/*/chats/session-*.jsonl``, and ``.json`` of older versions).

They hold messages and counts; tools and the system text are not in them. Newer ones are lines: one on the
session, then messages, of which one of a known id stands in place of the older, ``$rewindTo``, and ``$set``,
which may give the whole history anew. Results of tools stand beside the calls they answer. Source: types and
service of chat recording in the program's sources, read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import IO

from coldturn.reference.prefix.model import Surface
from coldturn.traces.classify import instant
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.sessions import (
    SessionCall,
    count_of,
    list_of,
    listed_messages,
    loose,
    members_of,
    object_of,
    session_lines,
    text_of,
)
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import lines
from coldturn.traces.slices import NotJsonError, array_parts, flat_parts, object_parts, to_json

_COUNTS = {
    "promptTokenCount": "input",
    "cachedContentTokenCount": "cached",
    "candidatesTokenCount": "output",
    "thoughtsTokenCount": "thoughts",
}
_CALL, _RESULT = "functionCall", "functionResponse"


def _is_session(head: Head) -> bool:
    if head.layout not in (Layout.LINES, Layout.OBJECT):
        return False
    return {"sessionId", "projectHash"} <= head.keys


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every call whose tokens were counted, in order.

    Raises:
        UnreadableJsonError: A document of an older version is damaged or cut off.
    """
    session = _Session(name)
    if _is_one_document(stream):
        yield from _document(stream, name, session)
        return
    for line in session_lines(stream, name):
        if isinstance(line, EntryError):
            yield line
            continue
        try:
            yield from session.take(line.entry, line.members)
        except NotJsonError as error:
            yield EntryError(name, line.entry, f"line {line.number}: {error}")


def _is_one_document(stream: IO[bytes]) -> bool:
    """Whether the first line is no object by itself, or holds all messages; the stream is rewound."""
    first = next(lines(stream), None)
    stream.seek(0)
    try:
        return first is not None and "messages" in object_parts(first.content)
    except NotJsonError:
        return True


def _document(stream: IO[bytes], name: str, session: _Session) -> Iterator[Record]:
    for entry, content in listed_messages(stream, name):
        try:
            yield from session.take(entry, flat_parts(content))
        except NotJsonError as error:
            yield EntryError(name, entry, f"message {entry}: {error}")


@dataclass(frozen=True, slots=True)
class _Turn:
    """A message of the history.

    Attributes:
        parts: What it says, each part as JSON.
        results: What its calls gave, each part as JSON; sent behind it as the user's.
        time: Epoch seconds, when it was written or its last call ended.
    """

    id: str
    model: bool
    parts: tuple[bytes, ...]
    results: tuple[bytes, ...] = ()
    time: float | None = None


@dataclass(slots=True)
class _Session:
    """The history as it stands. `_counted` are ids of answers that were told as calls."""

    name: str
    _turns: list[_Turn] = field(default_factory=list)
    _counted: set[str] = field(default_factory=set)
    _latest: int | None = None
    _compacted_from: int | None = None

    def take(self, entry: int, record: dict[str, bytes]) -> Iterator[Record]:
        """Take the next record; a call when it is an answer that was counted.

        Raises:
            NotJsonError: It cannot be read where it is needed.
        """
        back = text_of(record.get("$rewindTo"))
        if back is not None:
            place = self._place(back)
            del self._turns[place if place is not None else 0 :]
        elif "$set" in record:
            self._set(members_of(record["$set"]))
        elif text_of(record.get("id")) is not None:
            yield from self._message(entry, record)

    def _set(self, told: dict[str, bytes]) -> None:
        """Another history, in whole: shortened results, or a summary in place of the beginning."""
        messages = told.get("messages", b"")
        if messages[:1] != b"[":
            return
        turns = [one for one in map(_turn, map(object_parts, array_parts(messages))) if one is not None]
        known = {one.id for one in self._turns}
        if turns and self._turns and turns[0].id not in known:
            self._compacted_from = self._latest
        self._turns = turns

    def _message(self, entry: int, record: dict[str, bytes]) -> Iterator[Record]:
        turn = _turn(record)
        if turn is None:
            return
        place = self._place(turn.id)
        before = self._turns if place is None else self._turns[:place]
        counts = members_of(record.get("tokens"))
        counted = turn.model and bool(count_of(loose(counts.get("input")))) and turn.id not in self._counted
        if counted:
            yield self._call(entry, record, turn, before, counts).exchange(self.name)
            self._counted.add(turn.id)
            self._latest, self._compacted_from = entry, None
        if place is None:
            self._turns.append(turn)
        else:
            self._turns[place] = turn

    def _call(
        self,
        entry: int,
        record: dict[str, bytes],
        turn: _Turn,
        before: Sequence[_Turn],
        counts: dict[str, bytes],
    ) -> SessionCall:
        model = text_of(record.get("model")) or ""
        told = [
            (name, counts[key])
            for name, key in _COUNTS.items()
            if count_of(loose(counts.get(key))) is not None
        ]
        content = object_of(("role", b'"model"'), ("parts", list_of(turn.parts)))
        return SessionCall(
            entry=entry,
            surface=Surface.GENERATE_CONTENT,
            model=model,
            parts=list(_contents(before)),
            answer=object_of(
                ("candidates", list_of([object_of(("content", content))])),
                ("usageMetadata", object_of(*told)),
                ("modelVersion", to_json(model)),
            ),
            started=max((one.time for one in before if one.time is not None), default=None),
            compacted_from=self._compacted_from,
        )

    def _place(self, id_: str) -> int | None:
        places = range(len(self._turns) - 1, -1, -1)
        return next((place for place in places if self._turns[place].id == id_), None)


def _turn(record: dict[str, bytes]) -> _Turn | None:
    """A message that is sent; None for notices of the program."""
    kind = text_of(record.get("type"))
    if kind not in ("user", "gemini"):
        return None
    parts = tuple(_parts(record.get("content")))
    time = instant(loose(record.get("timestamp")))
    id_ = text_of(record.get("id")) or ""
    calls = record.get("toolCalls", b"")
    if kind == "user" or calls[:1] != b"[":
        return _Turn(id_, kind == "gemini", parts, time=time)
    told = [object_parts(one) for one in array_parts(calls)]
    if not any(_CALL in members_of(part) for part in parts):
        parts = (*parts, *map(_call_part, told))
    ended = [instant(loose(one.get("timestamp"))) for one in told]
    results = tuple(part for one in told for part in _parts(one.get("result")))
    return _Turn(
        id_, True, parts, results, max((at for at in (time, *ended) if at is not None), default=None)
    )


def _call_part(call: dict[str, bytes]) -> bytes:
    kept = [(key, call[key]) for key in ("id", "name", "args") if key in call]
    return object_of((_CALL, object_of(*kept)))


def _parts(content: bytes | None, *, within: bool = False) -> Iterator[bytes]:
    """A text, a part, or a list of both, as parts."""
    start = (content or b"")[:1]
    if content is None or content in {b"null", b'""'}:
        return
    if start == b'"':
        yield object_of(("text", content))
    elif start == b"{":
        yield content
    elif start == b"[" and not within:
        for one in array_parts(content):
            yield from _parts(one, within=True)
    else:
        raise NotJsonError("its content is neither a text nor a part nor a list of them")


def _contents(turns: Sequence[_Turn]) -> Iterator[bytes]:
    """Messages as they are sent: results of tools are the user's, unless the next message holds them."""
    for turn, following in zip_longest(turns, turns[1:]):
        if turn.parts:
            yield _content("model" if turn.model else "user", turn.parts)
        held = following is not None and any(_RESULT in members_of(part) for part in following.parts)
        if turn.results and not held:
            yield _content("user", turn.results)


def _content(role: str, parts: Sequence[bytes]) -> bytes:
    return object_of(("role", to_json(role)), ("parts", list_of(parts)))


FORMATS = (Format(InputKind.GEMINI_CLI, "a Gemini CLI session", _is_session, read),)
