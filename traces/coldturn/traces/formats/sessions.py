"""What readers of agents' sessions share: a call as the request that its messages make.

Sessions hold messages, not what was sent: white space, markers, the envelope and often the tools and the
system text are lost. Bodies are written afresh in the format of the call's provider, with fidelity
``messages``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeVar
from urllib.parse import quote

from coldturn.reference.prefix.model import Fidelity, Surface, Zone
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.classify import instant
from coldturn.traces.errors import InputTooLargeError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.limits import MAX_DOCUMENT
from coldturn.traces.opening import Line, lines
from coldturn.traces.pieces import pieces
from coldturn.traces.slices import NotJsonError, flat_parts, object_parts, to_json, value_of

T = TypeVar("T")

NOT_KEPT = frozenset({Zone.TOOLS, Zone.SYSTEM})
"""Zones that most sessions lack: sent with every request, and unknown."""

MOST_TOKENS = 10**15
"""Beyond it a count is none: floats do not hold all whole numbers there."""
_PATHS = {
    Surface.MESSAGES: "/v1/messages",
    Surface.CHAT_COMPLETIONS: "/v1/chat/completions",
    Surface.RESPONSES: "/v1/responses",
}
_MESSAGES = "messages"
_LISTS = {Surface.RESPONSES: "input", Surface.GENERATE_CONTENT: "contents"}


@dataclass(frozen=True, slots=True)
class SessionCall:
    """One call of a session.

    Attributes:
        parts: The messages, or the items of a Responses input: each as JSON.
        answer: The reply in the provider's format, usage included.
        instructions: The system text as a JSON string, where the session kept it apart from the messages.
        request_id: The provider's, where it was kept.
        compacted_from: Entry of the call in front of the compaction behind which this one is the first.
    """

    entry: int
    surface: Surface
    model: str
    parts: Sequence[bytes]
    answer: bytes | None
    started: float | None
    missing: frozenset[Zone] = NOT_KEPT
    instructions: bytes | None = None
    request_id: str | None = None
    compacted_from: int | None = None

    def exchange(self, source: str) -> Exchange:
        """The call as a request that messages were kept of. Its address tells the format and no host."""
        return Exchange(
            source=source,
            entry=self.entry,
            kind=ExchangeKind.MODEL,
            method="POST",
            url=self._path(),
            request_body=self._body(),
            response_body=self.answer,
            status=None,
            content_type="application/json",
            started=self.started,
            fidelity=Fidelity.MESSAGES,
            headers=() if self.request_id is None else (("request-id", self.request_id),),
            parts_missing=self.missing,
            compacted_from=self.compacted_from,
        )

    def _path(self) -> str:
        """Gemini's names the model, which no body of its holds."""
        if self.surface is Surface.GENERATE_CONTENT:
            return f"/v1beta/models/{quote(self.model or '-', safe='-._', errors='replace')}:generateContent"
        return _PATHS[self.surface]

    def _body(self) -> bytes:
        named = self.model and self.surface is not Surface.GENERATE_CONTENT
        model = [b'"model":' + to_json(self.model)] if named else []
        system = [b'"instructions":' + self.instructions] if self.instructions is not None else []
        name = _LISTS.get(self.surface, "messages").encode()
        return b"{" + b",".join([*model, *system, b'"' + name + b'":[' + b",".join(self.parts) + b"]"]) + b"}"


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A line of a session's file: a JSON object by its members, as bytes."""

    entry: int
    number: int
    members: dict[str, bytes]

    def text(self, key: str) -> str | None:
        """A member that is a text; None for anything else."""
        return text_of(self.members.get(key))

    def time(self, key: str = "timestamp") -> float | None:
        """Epoch seconds of a member; None when it is no time."""
        return instant(loose(self.members.get(key)))


def session_lines(stream: IO[bytes], name: str) -> Iterator[SessionLine | EntryError]:
    """Each line of a session; an error for one that is no JSON object.

    A call repeats the lines before it, so that they are held: a session is bounded as a document is.

    Raises:
        InputTooLargeError: The session is beyond that bound.
    """
    held = 0
    for entry, line in enumerate(lines(stream)):
        held += len(line.content)
        if held > MAX_DOCUMENT:
            raise InputTooLargeError(name, "the session", MAX_DOCUMENT)
        yield _line(line, entry, name)


def taken(stream: IO[bytes], name: str, take: Callable[[SessionLine], T | None]) -> Iterator[T | EntryError]:
    """What each line of a session gives, as `session_lines` reads them.

    Args:
        stream: The session.
        name: What errors call it.
        take: Takes a line; None where it gives nothing. What it cannot read becomes an error of its own.
    """
    for line in session_lines(stream, name):
        if isinstance(line, EntryError):
            yield line
            continue
        try:
            found = take(line)
        except NotJsonError as error:
            yield EntryError(name, line.entry, f"line {line.number}: {error}")
            continue
        except RecursionError:
            yield EntryError(name, line.entry, f"line {line.number}: it is nested too deeply")
            continue
        if found is not None:
            yield found


def listed_messages(stream: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Each message of a session that is one document with a list of them, by its place in that list.

    Raises:
        UnreadableJsonError: The document is damaged or cut off, or its messages are no list.
    """
    try:
        for piece in pieces(stream, lambda path: path in ((), (_MESSAGES,))):
            match piece.path:
                case (str(), int() as entry):
                    yield entry, piece.content
                case (str(key), *_) if key == _MESSAGES:
                    raise UnreadableJsonError(name, "its messages are no list")
                case _:
                    continue
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error


def _line(line: Line, entry: int, name: str) -> SessionLine | EntryError:
    if line.too_long:
        return EntryError(name, entry, f"line {line.number} is too long to be held")
    try:
        return SessionLine(entry, line.number, flat_parts(line.content))
    except NotJsonError as error:
        end = "" if line.complete else " (the file ends there without a line feed)"
        return EntryError(name, entry, f"line {line.number}: {error}{end}", torn=not line.complete)


def members_of(raw: bytes | None) -> dict[str, bytes]:
    """The members of an object; none where there is no object."""
    if raw is None or raw[:1] != b"{":
        return {}
    try:
        return object_parts(raw)
    except NotJsonError:
        return {}


def loose(raw: bytes | None) -> Any:  # noqa: ANN401 - any JSON value
    """A value's meaning; None where there is none or it cannot be read."""
    if raw is None:
        return None
    try:
        return value_of(raw)
    except NotJsonError:
        return None


def text_of(raw: bytes | None) -> str | None:
    """A JSON string's text; None for anything else."""
    value = loose(raw) if raw is not None and raw[:1] == b'"' else None
    return value if isinstance(value, str) else None


def count_of(value: object) -> ReportedTokens | None:
    """A count of tokens; None for anything else, and for what no provider can have counted."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return ReportedTokens(value) if isinstance(value, int) and whole and 0 <= value < MOST_TOKENS else None


def object_of(*pairs: tuple[str, bytes]) -> bytes:
    """A JSON object of values that are JSON already."""
    return b"{" + b",".join(to_json(key) + b":" + value for key, value in pairs) + b"}"


def list_of(parts: Sequence[bytes]) -> bytes:
    """A JSON list of values that are JSON already."""
    return b"[" + b",".join(parts) + b"]"
