"""What ``claude -p --output-format stream-json`` prints, as CI jobs and users of the Agent SDK keep it.

Lines tell of messages like a transcript's, in the order in which they were said, the blocks of a reply one by
one. The first prompt, the system text and the tools are not among them; a sub-agent's prompt stands in the
call that began it. With ``--output-format json --verbose`` the same is a list. Sources: the program's own
output, version 2.1, and the types of the Agent SDK.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from coldturn.reference.prefix.model import Surface, Zone
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.sessions import (
    NOT_KEPT,
    SessionCall,
    SessionLine,
    list_of,
    members_of,
    object_of,
    session_lines,
    text_of,
)
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import BOM
from coldturn.traces.pieces import pieces
from coldturn.traces.slices import NotJsonError, array_parts, flat_parts, to_json

_SYNTHETIC = "<synthetic>"
"""The model of replies that the program made up itself."""
_BOUNDARY = "compact_boundary"


def _recognise(head: Head) -> bool:
    if head.layout is Layout.TEXT or head.any_has("qwen_code_version"):
        return False
    told = head.any_has("session_id", "parent_tool_use_id", "message")
    return told or head.any_has("session_id", "subtype", "claude_code_version")


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every call, sub-agents' among them, in the order in which their replies began.

    Raises:
        UnreadableJsonError: A list is damaged or cut off.
    """
    talks = _Talks()
    for line in _lines(stream, name):
        if isinstance(line, EntryError):
            yield line
            continue
        try:
            talks.take(line)
        except NotJsonError as error:
            yield EntryError(name, line.entry, f"line {line.number}: {error}")
    for call in talks.calls:
        yield call.made().exchange(name)


def _lines(stream: IO[bytes], name: str) -> Iterator[SessionLine | EntryError]:
    first = stream.read(64).removeprefix(BOM).lstrip()[:1]
    stream.seek(0)
    if first != b"[":
        yield from session_lines(stream, name)
        return
    try:
        for entry, piece in enumerate(pieces(stream, lambda path: not path)):
            yield _element(piece.content, entry, name)
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error


def _element(content: bytes, entry: int, name: str) -> SessionLine | EntryError:
    try:
        return SessionLine(entry, entry + 1, flat_parts(content))
    except NotJsonError as error:
        return EntryError(name, entry, f"message {entry}: {error}")


@dataclass(slots=True)
class _Call:
    """A reply, and what was sent for it.

    Attributes:
        sent: The messages in front of it.
        whole: Whether `sent` begins where the conversation does.
        usage: As last reported; while the reply came its output was not known.
        counted: Whether `usage` is that of the whole reply.
    """

    entry: int
    id: str
    model: str
    sent: tuple[bytes, ...]
    whole: bool
    started: float | None
    compacted_from: int | None
    blocks: list[bytes] = field(default_factory=list)
    usage: dict[str, bytes] = field(default_factory=dict)
    counted: bool = False

    def made(self) -> SessionCall:
        """The call, with the usage that is known of it."""
        known = {key: value for key, value in self.usage.items() if self.counted or key != "output_tokens"}
        answer = [
            ("id", to_json(self.id)),
            ("type", b'"message"'),
            ("role", b'"assistant"'),
            ("model", to_json(self.model)),
            ("content", list_of(self.blocks)),
        ]
        return SessionCall(
            entry=self.entry,
            surface=Surface.MESSAGES,
            model=self.model,
            parts=self.sent,
            answer=object_of(*answer, *([("usage", object_of(*known.items()))] if known else [])),
            started=self.started,
            missing=NOT_KEPT if self.whole else NOT_KEPT | {Zone.HISTORY},
            compacted_from=self.compacted_from,
        )


@dataclass(slots=True)
class _Talk:
    """A conversation: the main one, or a sub-agent's.

    Attributes:
        turns: Messages that are complete.
        asked: Blocks of the user's message that is next.
        call: The reply that is being told.
        whole: Whether a message of the user's stood in front of everything else.
        time: Epoch seconds of the newest message of the user's.
    """

    turns: list[bytes] = field(default_factory=list)
    asked: list[bytes] = field(default_factory=list)
    call: _Call | None = None
    whole: bool = False
    time: float | None = None
    compacted_from: int | None = None


@dataclass(slots=True)
class _Talks:
    """All conversations of a file, by the tool call that a sub-agent answers.

    Attributes:
        calls: In the order in which their replies began.
    """

    calls: list[_Call] = field(default_factory=list)
    _talks: dict[str, _Talk] = field(default_factory=dict)
    _prompts: dict[str, bytes] = field(default_factory=dict)

    def take(self, line: SessionLine) -> None:
        """The next line.

        Raises:
            NotJsonError: It holds a message that cannot be read.
        """
        agent = line.text("parent_tool_use_id") or ""
        talk = self._talks.setdefault(agent, _Talk())
        kind = line.text("type")
        message = members_of(line.members.get("message"))
        if kind == "assistant":
            if not talk.turns and not talk.asked and talk.call is None:
                self._begin(talk, line, self._prompts.get(agent))
            self._said(talk, line, message)
        elif kind == "user":
            talk.whole = talk.whole or not (talk.turns or talk.asked or talk.call)
            talk.asked += _blocks(message.get("content"))
            talk.time = line.time() or talk.time
        elif kind == "stream_event":
            _count(talk, members_of(line.members.get("event")))
        elif kind == "system" and line.text("subtype") == _BOUNDARY:
            last = talk.call
            self._talks[""] = _Talk(compacted_from=None if last is None else last.entry)

    def _begin(self, talk: _Talk, line: SessionLine, prompt: bytes | None) -> None:
        """A conversation without its first message: a text of its own stands for it, equal in every call."""
        talk.whole = prompt is not None
        place = f"line {line.number} of {line.text('session_id')}"
        stand_in = to_json(f"[what came before {place} is not recorded]")
        talk.turns.append(_turn("user", _blocks(stand_in if prompt is None else prompt)))

    def _said(self, talk: _Talk, line: SessionLine, message: dict[str, bytes]) -> None:
        id_ = text_of(message.get("id")) or line.text("uuid") or ""
        model = text_of(message.get("model")) or ""
        if model == _SYNTHETIC:
            return
        blocks = _blocks(message.get("content"))
        call = talk.call
        if call is None or call.id != id_:
            _close(talk)
            call = _Call(
                line.entry, id_, model, tuple(talk.turns), talk.whole, talk.time, talk.compacted_from
            )
            talk.call, talk.compacted_from = call, None
            self.calls.append(call)
        call.blocks += blocks
        self._prompts.update(_prompts(blocks))
        usage = members_of(message.get("usage"))
        if usage and not call.counted:
            call.usage, call.counted = usage, text_of(message.get("stop_reason")) is not None


def _close(talk: _Talk) -> None:
    """Reply and what was said behind it become turns: parallel results are one message."""
    if talk.call is not None:
        talk.turns.append(_turn("assistant", talk.call.blocks))
    if talk.asked:
        talk.turns.append(_turn("user", talk.asked))
    talk.asked = []


def _turn(role: str, blocks: list[bytes]) -> bytes:
    return object_of(("role", to_json(role)), ("content", list_of(blocks)))


def _count(talk: _Talk, event: dict[str, bytes]) -> None:
    """Where the stream itself was printed, it ends with the counts of the whole reply."""
    usage = members_of(event.get("usage"))
    if talk.call is not None and usage and text_of(event.get("type")) == "message_delta":
        talk.call.usage = {**talk.call.usage, **usage}
        talk.call.counted = True


def _prompts(blocks: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """What sub-agents are asked, by the calls that begin them."""
    for block in map(members_of, blocks):
        id_, prompt = text_of(block.get("id")), members_of(block.get("input")).get("prompt", b"")
        if id_ is not None and prompt[:1] == b'"':
            yield id_, prompt


def _blocks(content: bytes | None) -> list[bytes]:
    if content is None or content == b"null":
        return []
    if content[:1] == b'"':
        return [object_of(("type", b'"text"'), ("text", content))]
    if content[:1] != b"[":
        raise NotJsonError("the content of its message is neither a text nor a list of blocks")
    return array_parts(content)


FORMATS = (
    Format(InputKind.CLAUDE_STREAM, "what claude --output-format stream-json prints", _recognise, read),
)
