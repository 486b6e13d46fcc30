"""Recorded requests as a trace: what `explain` compares becomes spans as the runtime writes them.

A conversation is a Run, requests behind a user's message are the steps of a turn, and the tools that an
answer calls, or that the next request's history shows as called, are calls of that turn. What a recording
does not tell stays away: agents, servers, elision.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from coldturn.analysis.breaks.explain import Compared
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.frames.recorded_attributes import (
    NO_TEXT,
    Place,
    as_read,
    base_attributes,
    comparison_attributes,
    further,
    request_attributes,
)
from coldturn.analysis.frames.recorded_calls import SeenCalls, new_blocks, times
from coldturn.reference.prefix.causes.transient import is_reminder
from coldturn.reference.prefix.ledger import Ledger
from coldturn.reference.prefix.model import BlockKind
from coldturn.reference.prefix.running_ledger import RunningLedger
from coldturn.traces import names
from coldturn.traces import span_attributes as attributes
from coldturn.traces.span_ids import DerivedIds
from coldturn.traces.span_reader import AttributeValue, SpanLink, SpanRow

Take: TypeAlias = Callable[[SpanRow, Mapping[str, Any]], object]
"""Takes a span with what an analysis has to say of it (`further`)."""

_SERVICE: Final = "coldturn"
_LEDGERS, _PLACES = 16, 10_000
_BAD_STATUS: Final = 400


@dataclass(slots=True)
class _Turn:
    """A turn that goes on. Times are nanoseconds since the epoch, 0 when they are not known."""

    index: int
    trace_id: str
    span_id: str
    started: int
    ended: int
    steps: int = 0
    planned: int = 0
    unplanned: int = 0
    first: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Conversation:
    """A lineage of one source."""

    run_id: str
    label: str
    turn: _Turn | None = None
    calls: dict[str, SpanRow] = field(default_factory=dict)


@dataclass(slots=True)
class RecordedSpans:
    """Give `compared` to an Explainer; every span that it makes goes to `take`. Call `finish` at the end.

    Args:
        take: Gets spans as they end.
        label: Short name of a source, the same each time it is asked.
    """

    take: Take
    label: Callable[[str], str]
    _conversations: dict[tuple[str, str], _Conversation] = field(default_factory=dict)
    _ledgers: OrderedDict[tuple[str, str], RunningLedger] = field(default_factory=OrderedDict)
    _places: OrderedDict[tuple[str, int], Place] = field(default_factory=OrderedDict)
    _defined: set[bytes] = field(default_factory=set)
    _seen: dict[str, SeenCalls] = field(default_factory=lambda: defaultdict(SeenCalls))

    def compared(self, one: Compared) -> None:
        """Take the next request."""
        key = one.exchange.source, one.lineage.id
        conversation = self._conversations.get(key)
        if conversation is None:
            conversation = _Conversation(one.lineage.id, self.label(one.exchange.source))
            self._conversations[key] = conversation
        before = conversation.turn
        turn = before or self._turn_of(conversation, one)
        conversation.calls |= _repeated(conversation, turn, one, self._seen[conversation.label])
        for span in _returned(conversation, one):
            self.take(span, {"source": conversation.label})
        ledger = self._ledger(key).of(one.request)
        if before is not None:
            turn = self._turn_of(conversation, one)
        self._step(conversation, turn, one, ledger)

    def finish(self) -> None:
        """End what is open: calls whose results were never sent, and the last turn of each conversation."""
        for conversation in self._conversations.values():
            for span in conversation.calls.values():
                self.take(span, {"source": conversation.label})
            self._end(conversation)
        self._conversations.clear()

    def _ledger(self, key: tuple[str, str]) -> RunningLedger:
        found = self._ledgers.setdefault(key, RunningLedger())
        self._ledgers.move_to_end(key)
        if len(self._ledgers) > _LEDGERS:
            self._ledgers.popitem(last=False)
        return found

    def _turn_of(self, conversation: _Conversation, one: Compared) -> _Turn:
        started, ended = times(one.exchange)
        turn = conversation.turn
        if turn is None or _begins_turn(one):
            index = 0 if turn is None else turn.index + 1
            self._end(conversation)
            ids = DerivedIds(conversation.label)
            ids.about("turn", conversation.run_id, str(index))
            turn = _Turn(index, _trace_id(ids), _span_id(ids), started, ended)
            conversation.turn = turn
        turn.ended = max(turn.ended, ended)
        return turn

    def _step(self, conversation: _Conversation, turn: _Turn, one: Compared, ledger: Ledger) -> None:
        ids = DerivedIds(conversation.label)
        ids.about(turn.span_id, "chat", str(turn.steps), str(one.number))
        started, ended = times(one.exchange)
        source = one.exchange.source
        base = None if one.parent is None else self._places.get((source, one.parent))
        found: dict[str, AttributeValue] = {
            **_identity(conversation, turn),
            **request_attributes(one, ledger, turn.index, turn.steps, self._defined),
            **base_attributes(base, started),
            **comparison_attributes(one),
        }
        if one.reply is not None:
            found |= as_read(attributes.reply_attributes(one.reply, compat_names=False))
        status = one.exchange.status
        refused = status is not None and status >= _BAD_STATUS
        if refused:
            found[names.ERROR_TYPE] = str(status)
        span = SpanRow(
            trace_id=turn.trace_id,
            span_id=_span_id(ids),
            parent_id=turn.span_id,
            name=f"chat {one.request.model or 'unknown'}",
            kind="CLIENT",
            start=started,
            end=ended,
            attributes=found,
            links=() if base is None else (SpanLink(base.trace_id, base.span_id),),
            scope=names.SCOPE,
            error=f"status {status}" if refused else None,
            service=_SERVICE,
        )
        self._remember((source, one.number), Place(span.span_id, turn.trace_id, turn.index, started))
        _count(turn, one.found, ledger)
        self.take(span, {"source": conversation.label} | further(one))
        conversation.calls |= _calls(conversation, turn, one, span)
        for call in one.reply.calls if one.reply else ():
            self._seen[conversation.label].answered(call.id)

    def _remember(self, key: tuple[str, int], place: Place) -> None:
        self._places[key] = place
        if len(self._places) > _PLACES:
            self._places.popitem(last=False)

    def _end(self, conversation: _Conversation) -> None:
        turn, conversation.turn = conversation.turn, None
        if turn is None:
            return
        found: dict[str, AttributeValue] = {
            **_identity(conversation, turn),
            names.OPERATION: "invoke_agent",
            names.TURN_STEP_COUNT: turn.steps,
            names.TURN_FIRST_HASHES: tuple(turn.first),
            names.TURN_LAST_HASHES: tuple(turn.last),
            names.TURN_BREAKS_PLANNED: turn.planned,
            names.TURN_BREAKS_UNPLANNED: turn.unplanned,
        }
        span = SpanRow(
            turn.trace_id, turn.span_id, "", "invoke_agent", "INTERNAL", turn.started, turn.ended, found,
            scope=names.SCOPE, service=_SERVICE,
        )  # fmt: skip
        self.take(span, {"source": conversation.label})


def _trace_id(ids: DerivedIds) -> str:
    return f"{ids.generate_trace_id():032x}"


def _span_id(ids: DerivedIds) -> str:
    return f"{ids.generate_span_id():016x}"


def _identity(conversation: _Conversation, turn: _Turn) -> dict[str, AttributeValue]:
    return {
        names.SCHEMA: names.SCHEMA_VERSION,
        names.RUN_ID: conversation.run_id,
        names.CONVERSATION_ID: conversation.run_id,
        names.TURN_INDEX: turn.index,
        names.REPLAY_CASSETTE: conversation.label,
    }


def _count(turn: _Turn, found: Finding | None, ledger: Ledger) -> None:
    turn.steps += 1
    turn.last = [zone.prefix_hash for zone in ledger.zones]
    turn.first = turn.first or turn.last
    if found is not None and found.zone not in NO_TEXT and found.verdict is not Verdict.BROKEN_HARMLESS:
        turn.planned += found.planned
        turn.unplanned += not found.planned


def _begins_turn(one: Compared) -> bool:
    """Whether a user's message is new in it: one that holds words, no results, and no mere reminder."""
    labelled = one.request.labels.turn, one.parent_request and one.parent_request.labels.turn
    if None not in labelled:
        return labelled[0] != labelled[1]
    words: set[int | None] = set()
    results: set[int | None] = set()
    for block in new_blocks(one):
        if block.kind is BlockKind.TOOL_RESULT:
            results.add(block.message)
        elif block.role == "user" and block.kind is BlockKind.TEXT and not is_reminder(block):
            words.add(block.message)
    return bool(words - results)


def _calls(conversation: _Conversation, turn: _Turn, one: Compared, chat: SpanRow) -> dict[str, SpanRow]:
    """The calls that an answer asks for. They end when their results are sent, if they ever are."""
    found: dict[str, SpanRow] = {}
    for number, call in enumerate(one.reply.calls if one.reply else ()):
        ids = DerivedIds(conversation.label)
        ids.about(chat.span_id, "tool", str(number))
        span = _call(conversation, turn, _span_id(ids), call.name, call.id, chat.end)
        found[call.id or f"{chat.span_id}-{number}"] = span
    return found


def _repeated(conversation: _Conversation, turn: _Turn, one: Compared, seen: SeenCalls) -> dict[str, SpanRow]:
    """The calls that a history shows and whose answers were not recorded; when they began is not known."""
    found: dict[str, SpanRow] = {}
    for number, block in enumerate(seen.repeated(one)):
        ids = DerivedIds(conversation.label)
        ids.about(turn.span_id, "call", str(one.number), str(number))
        span = _call(conversation, turn, _span_id(ids), block.name, block.call_id, turn.ended)
        found[block.call_id or span.span_id] = span
    return found


def _call(
    conversation: _Conversation, turn: _Turn, span_id: str, name: str | None, call_id: str | None, at: int
) -> SpanRow:
    known: dict[str, AttributeValue] = {
        **_identity(conversation, turn),
        **as_read(attributes.compact({names.OPERATION: "execute_tool", names.TOOL_NAME: name,
                                      names.TOOL_CALL_ID: call_id, names.TOOL_TYPE: "function"})),
    }  # fmt: skip
    return SpanRow(
        turn.trace_id, span_id, turn.span_id, f"execute_tool {name}", "INTERNAL", at, at, known,
        scope=names.SCOPE, service=_SERVICE,
    )  # fmt: skip


def _returned(conversation: _Conversation, one: Compared) -> Iterator[SpanRow]:
    """Calls whose results this request sends."""
    if not conversation.calls:
        return
    started, _ = times(one.exchange)
    for block in new_blocks(one):
        if block.kind is not BlockKind.TOOL_RESULT or block.call_id not in conversation.calls:
            continue
        span = conversation.calls.pop(block.call_id)
        told = {**span.attributes, names.TOOL_BYTES: len(block.facts.content)}
        yield replace(span, end=max(span.end, started), attributes=told)
