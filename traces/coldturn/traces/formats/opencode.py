"""Sessions that ``opencode export`` writes: ``{info, messages: [{info, parts}]}``.

They hold messages and counts; tools and the system text are not in them. What a request held follows from the
times: results that were cleared stand as they were until then, and a compaction hides what is in front of it.
Source: the message schema of OpenCode and how it makes model messages from it, read 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from coldturn.reference.prefix.model import Surface
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.classify import instant
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.pi_messages import assembled, reply, write
from coldturn.traces.formats.sessions import SessionCall, count_of, listed_messages, members_of, text_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import NotJsonError, value_of
from coldturn.traces.usage_record import UsageRecord

_MILLISECONDS = 1_000
_CLEARED = "[Old tool result content cleared]"
_INTERRUPTED = "[Tool execution was interrupted]"
_COMPACTION = "What did we do so far?"
_SUBTASK = "The following tool was executed by the user"
_AS_TEXT = ("text/plain", "application/x-directory")
"""Files whose content stands in a text part beside them."""
_CLAUDE_HOSTS = frozenset({"anthropic", "google-vertex-anthropic", "amazon-bedrock"})
_OPENAI_HOSTS = frozenset({"openai", "azure"})
_ABORTED = "MessageAbortedError"


def _is_export(head: Head) -> bool:
    if head.layout is not Layout.OBJECT or not {"info", "messages"} <= head.keys:
        return False
    info = members_of(head.member("info"))
    return {"id", "directory"} <= info.keys() and (text_of(info["id"]) or "").startswith("ses")


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every call of a session; one that wrote a summary is known by its numbers alone.

    Raises:
        UnreadableJsonError: The document is damaged or cut off.
    """
    session = _Session(name)
    for entry, content in listed_messages(stream, name):
        try:
            message = _message(value_of(content))
        except NotJsonError as error:
            yield EntryError(name, entry, f"message {entry}: {error}")
            continue
        yield from session.take(entry, message)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message with its parts, in the order in which they came.

    Attributes:
        steps: Of an assistant's its parts, cut behind each call of the model.
    """

    info: Mapping[str, Any]
    parts: Sequence[Mapping[str, Any]]

    @property
    def is_user(self) -> bool:
        return self.info.get("role") == "user"

    @property
    def steps(self) -> list[list[Mapping[str, Any]]]:
        found: list[list[Mapping[str, Any]]] = [[]]
        for part in self.parts:
            if part.get("type") == "step-start" and any(one.get("type") != "step-start" for one in found[-1]):
                found.append([])
            found[-1].append(part)
        return found

    @property
    def created(self) -> float | None:
        return _time(_inner(self.info, "time", "created"))

    @property
    def is_compaction(self) -> bool:
        return self.is_user and any(part.get("type") == "compaction" for part in self.parts)

    @property
    def is_summary(self) -> bool:
        return bool(self.info.get("summary")) and not self.is_user


@dataclass(slots=True)
class _Session:
    """The messages so far. `_start` is where those that are sent begin."""

    name: str
    _messages: list[_Message] = field(default_factory=list)
    _start: int = 0
    _latest: int | None = None
    _compacted_from: int | None = None
    _calls: int = 0

    def take(self, entry: int, message: _Message) -> Iterator[Record]:
        """Take the next message: its calls, when the model wrote it."""
        if not message.is_user:
            yield from self._answered(entry, message)
        self._messages.append(message)
        if message.is_summary and message.info.get("finish") and not message.info.get("error"):
            self._compact(message.info.get("parentID"))

    def _compact(self, asked: object) -> None:
        """A summary ended: from now on the request for it is the first message."""
        places = range(len(self._messages) - 1, -1, -1)
        hidden = (
            at
            for at in places
            if self._messages[at].is_compaction and self._messages[at].info.get("id") == asked
        )
        start = next(hidden, None)
        if start is not None:
            self._start, self._compacted_from = start, self._latest

    def _answered(self, entry: int, message: _Message) -> Iterator[Record]:
        before: list[Mapping[str, Any]] = []
        started = message.created
        for step in message.steps:
            counts = _counts(step, message)
            if counts is not None:
                self._calls += 1
                if message.is_summary:
                    yield self._numbers(entry, message, counts, started)
                else:
                    yield self._call(entry, message, before, step, counts, started).exchange(self.name)
                    self._latest, self._compacted_from = entry, None
            before = [*before, *step]
            started = max((at for at in map(_ended, step) if at is not None), default=None)

    def _call(
        self,
        entry: int,
        message: _Message,
        before: Sequence[Mapping[str, Any]],
        step: Sequence[Mapping[str, Any]],
        counts: Mapping[str, int],
        started: float | None,
    ) -> SessionCall:
        model = str(message.info.get("modelID") or "")
        surface = _surface(str(message.info.get("providerID") or ""), model)
        sent = [*self._messages[self._start :], _Message(message.info, before)]
        history = [one for each in sent for one in _written(each, started)]
        said = {"role": "assistant", "content": list(_blocks(step)), "model": model}
        return SessionCall(
            entry=entry,
            surface=surface,
            model=model,
            parts=assembled(surface, [write(surface, one) for one in history]),
            answer=reply(surface, said, counts),
            started=started,
            compacted_from=self._compacted_from,
        )

    def _numbers(
        self, entry: int, message: _Message, counts: Mapping[str, int], started: float | None
    ) -> UsageRecord:
        return UsageRecord(
            source=self.name,
            entry=entry,
            conversation=self.name,
            call=self._calls - 1,
            model=str(message.info.get("modelID") or ""),
            provider=str(message.info.get("providerID") or ""),
            input_tokens=ReportedTokens(counts["input"] + counts["cacheRead"] + counts["cacheWrite"]),
            cached_tokens=ReportedTokens(counts["cacheRead"]),
            written_tokens=ReportedTokens(counts["cacheWrite"]),
            output_tokens=ReportedTokens(counts["output"]),
            started=started,
        )


def _message(value: object) -> _Message:
    info = value.get("info") if isinstance(value, dict) else None
    parts = value.get("parts") if isinstance(value, dict) else None
    if not isinstance(info, dict) or not isinstance(parts, list):
        raise NotJsonError("it lacks its info or its parts")
    return _Message(info, [part for part in parts if isinstance(part, dict)])


def _surface(provider: str, model: str) -> Surface:
    if provider in _CLAUDE_HOSTS and "claude" in model:
        return Surface.MESSAGES
    return Surface.RESPONSES if provider in _OPENAI_HOSTS else Surface.CHAT_COMPLETIONS


def _counts(step: Sequence[Mapping[str, Any]], message: _Message) -> dict[str, int] | None:
    """Tokens of one call as OpenCode counts them: the input without what was read and written."""
    ended = next((part for part in reversed(step) if part.get("type") == "step-finish"), None)
    if ended is None and len(message.steps) > 1:
        return None
    told = (ended or message.info).get("tokens")
    tokens = told if isinstance(told, dict) else {}
    cache = tokens.get("cache")
    kept = cache if isinstance(cache, dict) else {}
    found = {
        "input": count_of(tokens.get("input")) or 0,
        "output": (count_of(tokens.get("output")) or 0) + (count_of(tokens.get("reasoning")) or 0),
        "cacheRead": count_of(kept.get("read")) or 0,
        "cacheWrite": count_of(kept.get("write")) or 0,
    }
    return found if any(found.values()) else None


def _written(message: _Message, now: float | None) -> Iterator[dict[str, Any]]:
    """A message as others of its kind are written: an assistant's calls are followed by their results."""
    if message.is_user:
        content = list(_asked(message.parts))
        if content:
            yield {"role": "user", "content": content}
        return
    if message.info.get("error") and not _is_aborted_work(message):
        return
    for step in message.steps:
        content = list(_blocks(step))
        if content:
            yield {"role": "assistant", "content": content}
        yield from (_result(part, now) for part in step if part.get("type") == "tool")


def _is_aborted_work(message: _Message) -> bool:
    aborted = _inner(message.info, "error", "name") == _ABORTED
    return aborted and any(part.get("type") not in ("step-start", "reasoning") for part in message.parts)


def _asked(parts: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in parts:
        match part.get("type"):
            case "text" if not part.get("ignored"):
                yield {"type": "text", "text": str(part.get("text", ""))}
            case "file" if part.get("mime") not in _AS_TEXT:
                yield _file(part)
            case "compaction":
                yield {"type": "text", "text": _COMPACTION}
            case "subtask":
                yield {"type": "text", "text": _SUBTASK}
            case _:
                pass


def _file(part: Mapping[str, Any]) -> dict[str, Any]:
    mime, url = str(part.get("mime", "")), str(part.get("url", ""))
    if mime.startswith("image/") and url.startswith("data:"):
        return {"type": "image", "mimeType": mime, "data": url.partition(",")[2]}
    return {"type": "file", "mime": mime, "url": url}


def _blocks(step: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in step:
        match part.get("type"):
            case "text":
                yield {"type": "text", "text": str(part.get("text", ""))}
            case "reasoning":
                yield {"type": "thinking", "thinking": str(part.get("text", ""))}
            case "tool":
                call = {"id": part.get("callID"), "name": part.get("tool")}
                yield {"type": "toolCall", **call, "arguments": _inner(part, "state", "input")}
            case _:
                pass


def _result(part: Mapping[str, Any], now: float | None) -> dict[str, Any]:
    """What a call gave, as it stood at a time: cleared from some moment on."""
    status = _inner(part, "state", "status")
    cleared = _time(_inner(part, "state", "time", "compacted"))
    text = str(_inner(part, "state", "output") or "")
    if status == "error":
        text = str(_inner(part, "state", "error") or "")
    elif status != "completed":
        text = _INTERRUPTED
    elif cleared is not None and (now is None or cleared <= now):
        text = _CLEARED
    said = {"role": "toolResult", "toolCallId": part.get("callID"), "content": text}
    return said if status == "completed" else {**said, "isError": True}


def _ended(part: Mapping[str, Any]) -> float | None:
    return _time(_inner(part, "state", "time", "end"))


def _inner(holder: object, *path: str) -> Any:  # noqa: ANN401 - any JSON value
    for key in path:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder


def _time(milliseconds: object) -> float | None:
    """Epoch seconds of what JavaScript counts in milliseconds."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    try:
        return instant(milliseconds / _MILLISECONDS)
    except OverflowError:
        return None


FORMATS = (Format(InputKind.OPENCODE, "an OpenCode session", _is_export, read),)
