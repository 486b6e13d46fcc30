"""Transcripts of Claude Code (``~/.claude/projects/*/*.jsonl``).

They hold messages and usage, not requests: tools, system text, markers and what is put in when a request is
sent (reminders, attachments) are not in them. Each reply is one call, and its usage counts once, however many
lines it is split into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from coldturn.reference.prefix.model import Surface, Zone
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.claude_history import Conversations, Entry, History
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.sessions import (
    NOT_KEPT,
    SessionCall,
    SessionLine,
    list_of,
    loose,
    members_of,
    object_of,
    session_lines,
    text_of,
)
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import NotJsonError, array_parts, to_json

_SYNTHETIC = "<synthetic>"
"""The model of replies that Claude Code made up itself."""

_BOUNDARY = "compact_boundary"
_NOT_SENT = ("isApiErrorMessage", "isVisibleInTranscriptOnly")


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a line tells of the call that it is a part of."""

    model: str
    usage: bytes | None
    stop: bytes
    diagnostics: bytes | None
    request_id: str | None


def _is_transcript(head: Head) -> bool:
    if head.layout not in (Layout.LINES, Layout.OBJECT):
        return False
    return head.any_has("type", "sessionId", "uuid") or head.any_has("type", "summary", "leafUuid")


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every call of a transcript, sub-agents' among them, in the order in which their replies began."""
    conversations = Conversations()
    replies: dict[str, _Reply] = {}
    for line in session_lines(stream, name):
        if isinstance(line, EntryError):
            yield line
            continue
        try:
            found = _entry(line)
        except NotJsonError as error:
            yield EntryError(name, line.entry, f"line {line.number}: {error}")
            continue
        if found is None or not conversations.add(found):
            continue
        if found.message is not None:
            _note(replies, found.message, line)
        if "compactMetadata" in line.members:
            _keep(conversations, line)
    compactions = _Compactions(conversations)
    for message, reply in replies.items():
        if reply.model != _SYNTHETIC:
            yield _call(message, reply, compactions).exchange(name)


def _entry(line: SessionLine) -> Entry | None:
    """A line's place in a conversation; None for one that has none (titles, snapshots, queues).

    Raises:
        NotJsonError: It holds a message that cannot be read.
    """
    uuid = line.text("uuid")
    if uuid is None:
        return None
    role = line.text("type") or ""
    if role not in ("user", "assistant") or not _is_sent(line):
        logical = line.text("logicalParentUuid") if line.text("subtype") == _BOUNDARY else None
        return Entry(line.entry, uuid, line.text("parentUuid"), "", None, (), logical=logical)
    message = members_of(line.members.get("message"))
    blocks = _blocks(message.get("content"))
    own = text_of(message.get("id")) or line.text("requestId") or uuid
    return Entry(
        line.entry,
        uuid,
        line.text("parentUuid"),
        role,
        own if role == "assistant" else None,
        blocks,
        line.time(),
        any(text_of(members_of(block).get("type")) == "tool_result" for block in blocks),
    )


def _is_sent(line: SessionLine) -> bool:
    """Whether a message goes to the model: errors and what only people see do not, summaries do."""
    shown = {key: line.members.get(key) == b"true" for key in _NOT_SENT}
    return not shown["isApiErrorMessage"] and (
        not shown["isVisibleInTranscriptOnly"] or line.members.get("isCompactSummary") == b"true"
    )


def _blocks(content: bytes | None) -> tuple[bytes, ...]:
    """Content as blocks, also where it is a plain text: the same message must not differ between calls."""
    if content is None or content == b"null":
        return ()
    if content[:1] == b'"':
        return (object_of(("type", b'"text"'), ("text", content)),)
    if content[:1] != b"[":
        raise NotJsonError("the content of its message is neither a text nor a list of blocks")
    return tuple(array_parts(content))


def _keep(conversations: Conversations, line: SessionLine) -> None:
    """What a compaction kept besides its summary, where it says so."""
    kept = members_of(members_of(line.members["compactMetadata"]).get("preservedMessages"))
    anchor, lines = text_of(kept.get("anchorUuid")), loose(kept.get("uuids"))
    if anchor is not None and isinstance(lines, list):
        conversations.keep(anchor, [one for one in lines if isinstance(one, str)])


def _note(replies: dict[str, _Reply], message: str, line: SessionLine) -> None:
    """Of the lines of a reply the last that reports usage counts: the first do not know the output yet."""
    members = members_of(line.members.get("message"))
    known = replies.get(message)
    usage = members.get("usage", b"")
    replies[message] = _Reply(
        text_of(members.get("model")) or (known.model if known else ""),
        usage if usage[:1] == b"{" else known.usage if known else None,
        members.get("stop_reason", b"null"),
        members.get("diagnostics") or (known.diagnostics if known else None),
        line.text("requestId") or (known.request_id if known else None),
    )


@dataclass(slots=True)
class _Compactions:
    """Tells of each compaction which call is the first behind it, and which the last in front of it."""

    conversations: Conversations
    _passed: set[str] = field(default_factory=set)

    def before(self, history: History) -> int | None:
        """Entry of the last call in front of the compaction that a history begins with; told once."""
        boundary = history.boundary
        if boundary is None or boundary.uuid in self._passed:
            return None
        self._passed.add(boundary.uuid)
        message = self.conversations.reply_before(boundary)
        return None if message is None else self.conversations.reply(message)[0].entry


def _call(message: str, reply: _Reply, compactions: _Compactions) -> SessionCall:
    lines = compactions.conversations.reply(message)
    history = compactions.conversations.before(lines)
    content = list_of([block for line in lines for block in line.blocks])
    answer = [
        ("id", to_json(message)),
        ("type", b'"message"'),
        ("role", b'"assistant"'),
        ("model", to_json(reply.model)),
        ("content", content),
        ("stop_reason", reply.stop),
    ]
    told = (("usage", reply.usage), ("diagnostics", reply.diagnostics))
    return SessionCall(
        entry=lines[0].entry,
        surface=Surface.MESSAGES,
        model=reply.model,
        parts=history.messages,
        answer=object_of(*answer, *((key, value) for key, value in told if value is not None)),
        started=history.sent,
        missing=NOT_KEPT if history.whole else NOT_KEPT | {Zone.HISTORY},
        request_id=reply.request_id,
        compacted_from=compactions.before(history),
    )


FORMATS = (Format(InputKind.CLAUDE_CODE, "a Claude Code transcript", _is_transcript, read),)
