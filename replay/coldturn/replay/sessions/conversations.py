"""The model exchanges of a recording as conversations: which belong together, which begin a turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.request import recognise_surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.model import Reply
from coldturn.replay.playback.recording import Entry, Recording
from coldturn.replay.sessions.provider import AskedModel, Outcome, read_request


@dataclass(frozen=True, slots=True)
class ModelExchange:
    """One request to a model with its reply."""

    entry: Entry
    asked: AskedModel
    reply: Reply


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """The user's words and the exchanges that followed until the agent answered."""

    user: str
    exchanges: tuple[ModelExchange, ...]


@dataclass(frozen=True, slots=True)
class Conversations:
    """What a replay follows of a recording's model exchanges.

    Attributes:
        turns: Of the agent, in order.
        results: What the model was told about each call, by call id.
        notes: What was left out, in words.
    """

    turns: tuple[RecordedTurn, ...]
    results: Mapping[str, Outcome]
    notes: tuple[str, ...]


def conversations_of(recording: Recording) -> Conversations:
    """Read the model exchanges and cut them into turns."""
    read = _answered_by_place(list(_exchanges(recording)))
    results = {call_id: outcome for one in read for call_id, outcome in one.asked.results.items()}
    kept = _without_retries(read, results)
    agents = _of_the_agent(kept)
    notes: list[str] = []
    if aside := len(kept) - len(agents):
        notes.append(f"{aside} model requests of sub-agents or side calls are not replayed")
    if retried := len(read) - len(kept):
        notes.append(f"{retried} repeated model requests are taken as retries")
    if agents and agents[0].asked.continues:
        notes.append("the conversation began before the recording; what was said before is not replayed")
    return Conversations(tuple(_turns(agents)), results, tuple(notes))


def _exchanges(recording: Recording) -> Iterable[ModelExchange]:
    for entry in recording.entries:
        if entry.rpc is not None or entry.method != "POST" or entry.status >= 400:
            continue
        surface = recognise_surface(entry.request_body, entry.url)
        if surface is None:
            continue
        try:
            asked = read_request(surface, entry.request_body, entry.url)
            reply = decode_reply(surface, entry.body, entry.content_type)
        except (ColdturnError, ValueError):
            # A refused or damaged exchange decided nothing; `explain` is where its error is reported.
            continue
        yield ModelExchange(entry, asked, reply)


def _answered_by_place(exchanges: Sequence[ModelExchange]) -> list[ModelExchange]:
    """Calls under the ids that their results have.

    An agent may name calls itself, as our own runtime does, and then sends none of the provider's ids back:
    the next request of the conversation answers the calls in their order.
    """
    sent = {call.id for exchange in exchanges for call in exchange.reply.calls}
    renamed: list[ModelExchange] = []
    for place, exchange in enumerate(exchanges):
        reply, opening = exchange.reply, exchange.asked.opening
        following = next((o.asked for o in exchanges[place + 1 :] if o.asked.opening == opening), None)
        ids = following.answered if following is not None else ()
        if ids and len(ids) == len(reply.calls) and sent.isdisjoint(ids):
            calls = tuple(replace(call, id=id_) for call, id_ in zip(reply.calls, ids, strict=True))
            exchange = replace(exchange, reply=replace(reply, calls=calls))  # noqa: PLW2901 - the same, renamed
        renamed.append(exchange)
    return renamed


def _without_retries(
    exchanges: Sequence[ModelExchange], results: Mapping[str, Outcome]
) -> list[ModelExchange]:
    """Of requests with equal bodies the one whose calls were answered, else the last."""
    by_body: dict[bytes, list[ModelExchange]] = defaultdict(list)
    for exchange in exchanges:
        by_body[exchange.entry.request_body].append(exchange)
    kept: set[int] = set()
    for same in by_body.values():
        used = [one for one in same if any(call.id in results for call in one.reply.calls)]
        kept.add((used or same)[-1].entry.number)
    return [exchange for exchange in exchanges if exchange.entry.number in kept]


def _of_the_agent(exchanges: Sequence[ModelExchange]) -> list[ModelExchange]:
    """The longest conversation, and those that have a tool in common with it or, like it, have none."""
    keys = _conversation_keys(exchanges)
    members: dict[tuple[str, str], list[ModelExchange]] = defaultdict(list)
    for exchange, key in zip(exchanges, keys, strict=True):
        members[key].append(exchange)
    if not members:
        return []
    main = max(members.values(), key=len)
    surface, tools = main[0].asked.surface, _tool_names(main)

    def same_agent(others: Sequence[ModelExchange]) -> bool:
        theirs = _tool_names(others)
        return others[0].asked.surface == surface and (bool(theirs & tools) or theirs == tools)

    chosen = {one.entry.number for group in members.values() if same_agent(group) for one in group}
    return [exchange for exchange in exchanges if exchange.entry.number in chosen]


def _conversation_keys(exchanges: Sequence[ModelExchange]) -> list[tuple[str, str]]:
    """A conversation is named by how it opened; one that builds on a stored response continues that one's."""
    by_response: dict[str, tuple[str, str]] = {}
    keys: list[tuple[str, str]] = []
    for exchange in exchanges:
        asked = exchange.asked
        key = by_response.get(asked.previous or "", (asked.surface.value, asked.opening))
        if exchange.reply.response_id:
            by_response[exchange.reply.response_id] = key
        keys.append(key)
    return keys


def _tool_names(exchanges: Sequence[ModelExchange]) -> frozenset[str]:
    return frozenset(tool.name for exchange in exchanges for tool in exchange.asked.tools)


def _turns(exchanges: Sequence[ModelExchange]) -> list[RecordedTurn]:
    """Ending with the user's words a request begins a turn; ending with results it continues the call's."""
    turns: list[list[ModelExchange]] = []
    owner: dict[str, int] = {}
    for exchange in exchanges:
        asked = exchange.asked
        index = next((owner[call_id] for call_id in asked.answered if call_id in owner), None)
        if index is None and (not turns or (asked.user and not asked.answered)):
            turns.append([])
            index = len(turns) - 1
        place = len(turns) - 1 if index is None else index
        turns[place].append(exchange)
        owner.update((call.id, place) for call in exchange.reply.calls)
    return [RecordedTurn(turn[0].asked.user, tuple(turn)) for turn in turns]
