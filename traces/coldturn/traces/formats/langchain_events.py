"""Events of LangChain: lines that a callback wrote, or what ``astream_events`` gave.

One line tells that a call began, with its messages, another that it ended, with its usage. Calls are told
apart by ``run_id``; without one an end belongs to the call that is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, Any, TypeAlias

from coldturn.traces.classify import instant
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.langchain_messages import langchain_messages, usage_in
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.talk import messages_of
from coldturn.traces.formats.timed import listed, mapping, text
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import Line, lines
from coldturn.traces.slices import NotJsonError, value_of

Json: TypeAlias = Any

_STARTS = frozenset({"on_chat_model_start", "on_llm_start"})
_ENDS = frozenset({"on_chat_model_end", "on_llm_end", "on_chat_model_error", "on_llm_error"})
_CHAINS = frozenset({"on_chain_start", "on_chain_stream", "on_chain_end", "on_chat_model_stream"})
_TIMES = ("time", "timestamp", "start_time", "started", "ts")


def _recognise(head: Head) -> bool:
    if head.layout is Layout.TEXT:
        return False
    named = {one.get("event", b"").strip(b'"').decode("utf-8", "replace") for one in head.objects}
    return bool(named & _STARTS) or (bool(named & _CHAINS) and head.any_has("event", "run_id", "data"))


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each call once it ended, and at the end those that did not.

    Raises:
        NoRequestsError: No call began there, and every line can be read.
    """
    calls = _Calls(Records(name))
    errors = seen = 0
    for line in lines(stream):
        seen += 1
        told = _told(line, calls.begun, name)
        if isinstance(told, EntryError):
            errors += 1
            yield told
            continue
        yield from calls.take(told)
    yield from calls.rest()
    if not calls.begun and not errors:
        raise NoRequestsError(name, [f"{seen} event{'s'[: seen != 1]}, none of them the start of a call"])


def _told(line: Line, entry: int, name: str) -> Mapping[str, Json] | EntryError:
    if line.too_long:
        return EntryError(name, entry, f"line {line.number} is too long to be held")
    try:
        value = value_of(line.content)
    except NotJsonError as error:
        end = "" if line.complete else " (the file ends there without a line feed)"
        message = f"line {line.number}: {error}{end}"
        return EntryError(name, entry, message, torn=not line.complete)
    return mapping(value)


@dataclass(slots=True)
class _Calls:
    """The calls that are open, by run.

    Attributes:
        begun: How many began.
    """

    records: Records
    begun: int = 0
    _open: dict[str, Observed] = field(default_factory=dict)

    def take(self, told: Mapping[str, Json]) -> Iterator[Record]:
        """The next event; a call when it is over."""
        event, run = text(told.get("event")), text(told.get("run_id"))
        if event in _STARTS:
            yield from self._end(run)
            self._open[run] = _call(told, self.begun)
            self.begun += 1
        elif event in _ENDS and run in self._open:
            data = mapping(told.get("data"))
            answer = mapping(told.get("response")) or mapping(data.get("output"))
            self._open[run] = replace(self._open[run], usage=usage_in(answer))
            yield from self._end(run)

    def rest(self) -> Iterator[Record]:
        """Calls whose end is not there; what was sent is known."""
        for run in list(self._open):
            yield from self._end(run)

    def _end(self, run: str) -> Iterator[Record]:
        call = self._open.pop(run, None)
        if call is not None:
            yield from self.records.of(call)


def _call(told: Mapping[str, Json], entry: int) -> Observed:
    data, about = mapping(told.get("data")), mapping(told.get("metadata"))
    given = mapping(data.get("input"))
    asked = mapping(told.get("invocation_params"))
    asked = asked or mapping(mapping(told.get("kwargs")).get("invocation_params"))
    prompts = listed(told.get("messages")) or listed(given.get("messages"))
    one = prompts[0] if prompts and isinstance(prompts[0], list) else prompts
    flattened = listed(told.get("prompts")) or listed(given.get("prompts"))
    return Observed(
        entry=entry,
        model=text(asked.get("model")) or text(asked.get("model_name")) or text(about.get("ls_model_name")),
        provider=text(about.get("ls_provider")) or text(asked.get("_type")).split("-")[0],
        messages=langchain_messages(one) or messages_of(flattened[:1]),
        tools=listed(asked.get("tools")) if asked else None,
        started=next((at for at in (instant(told.get(key)) for key in _TIMES) if at is not None), None),
        conversation=text(about.get("thread_id")),
    )


FORMATS = (Format(InputKind.LANGCHAIN, "events of LangChain", _recognise, read),)
