"""Sessions of Qwen Code (``~/.qwen/projects/*/chats/*.jsonl``).

Lines name the one before them, so that turns taken back lie on a dead branch. Messages are kept in Gemini's
form; they are sent to the API that the settings choose, Chat Completions unless a line of the program's
telemetry says otherwise. Behind a compression its history stands in place of all before it. Tools and the
system text are not kept. Source: services of recording and of sessions in the program's code, version 0.15.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, TypeAlias

from coldturn.reference.prefix.model import Surface
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.bodies import body_of
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.sessions import SessionCall, SessionLine, taken
from coldturn.traces.formats.talk import messages_of
from coldturn.traces.formats.timed import listed, mapping, text
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import to_json, value_of
from coldturn.traces.usage_reply import Counts, counts, usage_reply

Json: TypeAlias = Any

_LINKED = ("uuid", "parentUuid", "sessionId", "type")
_OWN = ("usageMetadata", "systemPayload", "toolCallResult")
_COMPRESSION = "chat_compression"
_SURFACES = {
    "anthropic": Surface.MESSAGES,
    "gemini": Surface.GENERATE_CONTENT,
    "gemini-api-key": Surface.GENERATE_CONTENT,
    "vertex-ai": Surface.GENERATE_CONTENT,
}
"""By the kind of login; all others speak Chat Completions."""


def _recognise(head: Head) -> bool:
    if head.layout not in (Layout.LINES, Layout.OBJECT):
        return False
    linked = [one for one in head.objects if one.keys() >= set(_LINKED)]
    return any(
        any(key in one for key in _OWN) or b'"parts"' in one.get("message", b"")[:4096] for one in linked
    )


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every answer whose tokens were counted, in order."""
    for found in taken(stream, name, _Session().take):
        yield found if isinstance(found, EntryError) else found.exchange(name)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line's place, and what it adds to the history.

    Attributes:
        said: A message; or, where `whole`, all messages that are there from it on.
        call: Its entry, where it is an answer that was counted.
    """

    parent: str | None
    said: tuple[Json, ...] = ()
    whole: bool = False
    call: int | None = None
    time: float | None = None


@dataclass(slots=True)
class _Session:
    """The tree of lines.

    Attributes:
        _surface: Of the API that was last seen to answer.
        _passed: Compressions behind which a call was told.
    """

    _lines: dict[str, _Line] = field(default_factory=dict)
    _surface: Surface = Surface.CHAT_COMPLETIONS
    _passed: set[str] = field(default_factory=set)

    def take(self, line: SessionLine) -> SessionCall | None:
        """Take the next line; a call where it is an answer that was counted.

        Raises:
            NotJsonError: It cannot be read where it is needed.
        """
        uuid, parent, kind = line.text("uuid"), line.text("parentUuid"), line.text("type")
        if uuid is None:
            return None
        if kind == "system":
            self._lines[uuid] = self._system(line, parent)
            return None
        message = _value(line, "message")
        said = (message,) if mapping(message) else ()
        usage = _usage(mapping(_value(line, "usageMetadata")))
        counted = kind == "assistant" and bool(usage.input)
        call = self._call(line, parent, usage) if counted else None
        self._lines[uuid] = _Line(parent, said, call=line.entry if counted else None, time=line.time())
        return call

    def _system(self, line: SessionLine, parent: str | None) -> _Line:
        payload = mapping(_value(line, "systemPayload"))
        login = text(mapping(payload.get("uiEvent")).get("auth_type"))
        if login:
            self._surface = _SURFACES.get(login, Surface.CHAT_COMPLETIONS)
        history = listed(payload.get("compressedHistory"))
        if line.text("subtype") == _COMPRESSION and history:
            return _Line(parent, tuple(history), whole=True)
        return _Line(parent)

    def _call(self, line: SessionLine, parent: str | None, usage: Counts) -> SessionCall:
        said: list[tuple[Json, ...]] = []
        started = compacted = None
        for uuid, one in self._before(parent):
            said.append(one.said)
            started = one.time if started is None else started
            if one.whole:
                compacted = None if uuid in self._passed else self._last_call(one.parent)
                self._passed.add(uuid)
                break
        talk = [message for one in reversed(said) for message in one]
        model = line.text("model") or ""
        return SessionCall(
            entry=line.entry,
            surface=self._surface,
            model=model,
            parts=_parts(self._surface, talk),
            answer=usage_reply(self._surface, usage),
            started=started,
            compacted_from=compacted,
        )

    def _before(self, uuid: str | None) -> Iterator[tuple[str, _Line]]:
        """The lines in front of a call, the newest first."""
        seen: set[str] = set()
        while uuid is not None and uuid in self._lines and uuid not in seen:
            seen.add(uuid)
            yield uuid, self._lines[uuid]
            uuid = self._lines[uuid].parent

    def _last_call(self, uuid: str | None) -> int | None:
        return next((one.call for _, one in self._before(uuid) if one.call is not None), None)


def _value(line: SessionLine, key: str) -> Json:
    raw = line.members.get(key)
    return None if raw is None else value_of(raw)


def _usage(told: Mapping[str, Json]) -> Counts:
    return counts(
        told.get("promptTokenCount"),
        told.get("cachedContentTokenCount"),
        None,
        told.get("candidatesTokenCount"),
    )


def _parts(surface: Surface, talk: list[Json]) -> list[bytes]:
    """The messages in the form of the API, each as JSON."""
    if surface is Surface.GENERATE_CONTENT:
        return [to_json(one) for one in talk]
    body = body_of(surface, "", messages_of([_plain(one) for one in talk]), None)
    return [to_json(one) for one in body["messages"]]


def _plain(message: Json) -> Json:
    """A message whose results are the texts that are sent, and whose thoughts are named so."""
    told = mapping(message)
    return {**told, "parts": [_plain_part(one) for one in listed(told.get("parts"))]} if told else message


def _plain_part(part: Json) -> Json:
    told = mapping(part)
    if told.get("thought") is True:
        return {"type": "reasoning", "text": text(told.get("text"))}
    answer = mapping(told.get("functionResponse"))
    response = mapping(answer.get("response"))
    if response.keys() == {"output"}:
        return {"functionResponse": {**answer, "response": response["output"]}}
    return part


FORMATS = (Format(InputKind.QWEN_CODE, "a Qwen Code session", _recognise, read),)
