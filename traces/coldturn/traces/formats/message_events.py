"""OpenTelemetry's events for each message of a call, as log records beside its span.

An instrumentation writes one ``gen_ai.{system,user,assistant,tool}.message`` for every message that is sent,
in their order, and ``gen_ai.choice`` for the answer, all with the id of the call's span. Model, usage and
tools stand on that span, which may come before or behind them or not at all. A file is therefore gone through
twice: once for what there is of each call, once to read it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any, TypeAlias

from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.genai import is_call
from coldturn.traces.formats.genai_content import messages_in
from coldturn.traces.formats.spans import MESSAGE_EVENT, Event, Span

_LOGS = (b'"logRecords"', b'"log_records"')
_STEP = 65_536
_CHOICE = "gen_ai.choice"
_ALONE = {"gen_ai.operation.name": "chat"}
"""What a call is whose span is not there: these events are written for chats only."""

_Key: TypeAlias = tuple[str, str]


def with_messages(
    stream: IO[bytes], name: str, read: Callable[[IO[bytes], str], Iterator[Span | EntryError]]
) -> Iterator[Span | EntryError]:
    """The spans of a file, and calls whose messages stand in events of their own as spans that hold them.

    Args:
        stream: At its start.
        name: What errors call it.
        read: Gives each span, and each of the events as a span of its name.
    """
    if not _has_logs(stream):
        yield from read(stream, name)
        return
    calls = _Calls()
    try:
        for item in read(stream, name):
            if isinstance(item, Span):
                calls.look_at(item)
            elif item.torn:
                calls.torn = True
    except UnreadableJsonError:  # raised in its place the second time
        calls.torn = True
    stream.seek(0)
    for item in read(stream, name):
        if isinstance(item, Span):
            yield from calls.take(item)
        else:
            yield item


def _has_logs(stream: IO[bytes]) -> bool:
    """Whether log records stand there at all; the stream is rewound."""
    kept, found = b"", False
    while not found and (piece := stream.read(_STEP)):
        window = kept + piece
        found = any(one in window for one in _LOGS)
        kept = window[-len(_LOGS[1]) :]
    stream.seek(0)
    return found


@dataclass(slots=True)
class _Calls:
    """What a file holds of each call, by the ids of its span.

    Attributes:
        torn: The file ends where it may have been interrupted: of calls without an answer messages may miss.
        _left: Events that are still to come.
        _bare: Spans without messages.
        _others: Calls whose messages are told another way, or were not kept.
        _said: Events of calls that are not complete yet.
    """

    torn: bool = False
    _left: Counter[_Key] = field(default_factory=Counter)
    _bare: dict[_Key, Span] = field(default_factory=dict)
    _others: set[_Key] = field(default_factory=set)
    _said: defaultdict[_Key, list[Span]] = field(default_factory=lambda: defaultdict(list))

    def look_at(self, span: Span) -> None:
        """First time: what there is."""
        key = _key(span)
        if _is_event(span):
            self._left[key] += 1
            if not _has_content(span):
                self._others.add(key)
        elif not span.span_id:
            return
        elif messages_in(span) is None:
            if is_call(span):
                self._bare[key] = replace(span, events=())
        else:
            self._others.add(key)

    def take(self, span: Span) -> Iterator[Span]:
        """Second time: a span as it is, or a call once its last event has come."""
        key = _key(span)
        merged = key in self._left and key not in self._others
        if not _is_event(span):
            if not merged or key not in self._bare:
                yield span
            return
        if not merged:
            return
        self._left[key] -= 1
        said = self._said[key]
        if said and said[-1].name == _CHOICE != span.name:  # several calls below one span
            yield _call(said, None)
            said.clear()
        said.append(span)
        if not self._left[key]:
            del self._said[key]
            if said[-1].name == _CHOICE or not self.torn:
                yield _call(said, self._bare.get(key))


def _call(said: Sequence[Span], bare: Span | None) -> Span:
    """The call that its events make, on its span where that is there."""
    events = tuple(_without_repeats([one.events[0] for one in said if one.name != _CHOICE]))
    if bare is not None:
        return replace(bare, events=events)
    first = said[0]
    return replace(first, name="chat", attributes={**_ALONE, **first.attributes}, events=events)


def _key(span: Span) -> _Key:
    return span.trace_id, span.span_id


def _is_event(span: Span) -> bool:
    return MESSAGE_EVENT.fullmatch(span.name) is not None


def _has_content(event: Span) -> bool:
    """Whether a message was kept: without capture an instrumentation leaves its text out of the event.

    What the model said may be calls alone; their arguments are left out then.
    """
    body = event.events[0].attributes
    if event.name == _CHOICE:
        return True
    if body.get("content") is not None:
        return True
    calls = body.get("tool_calls")
    return isinstance(calls, list) and all("arguments" in _inner(one) for one in calls)


def _inner(call: object) -> Mapping[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    return function if isinstance(function, Mapping) else {}


def _without_repeats(events: list[Event]) -> Iterator[Event]:
    """Bedrock's messages hold calls and results as parts, and botocore's instrumentation tells them again."""
    placed = {id_ for one in events for id_ in _placed(one)}
    for event in events:
        told = event.attributes
        if event.name == "gen_ai.tool.message" and _is_one_of(told.get("id"), placed):
            continue
        calls = told.get("tool_calls")
        if isinstance(calls, list):
            kept = [
                one for one in calls if not (isinstance(one, Mapping) and _is_one_of(one.get("id"), placed))
            ]
            yield Event(event.name, {**told, "tool_calls": kept})
        else:
            yield event


def _is_one_of(id_: object, ids: Collection[str]) -> bool:
    """Whether an id, which may be damaged, is one of some."""
    return isinstance(id_, str) and id_ in ids


def _placed(event: Event) -> Iterator[str]:
    """Ids of the calls and results that stand among the parts of a message."""
    content = event.attributes.get("content")
    for part in content if isinstance(content, list) else ():
        for key in ("toolUse", "toolResult"):
            inner = part.get(key) if isinstance(part, Mapping) else None
            if isinstance(inner, Mapping) and isinstance(inner.get("toolUseId"), str):
                yield inner["toolUseId"]
