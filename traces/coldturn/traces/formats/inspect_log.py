"""Logs of Inspect AI as JSON: the requests that each sample of an evaluation sent, as its events hold them.

An event of a model keeps the call: the arguments that the provider's library got, its answer, and when.
Messages that several events share stand once in `events_data`, long texts in `attachments`. What Inspect
answered from its own cache went to no provider. Source: events and condensing of inspect-ai 0.3.285.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any, TypeAlias

from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import instant
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.talk import messages_of
from coldturn.traces.formats.timed import Found, Log, listed, mapping, records_in_time, text
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import to_json
from coldturn.traces.usage_reply import Counts, counts

Json: TypeAlias = Any

_OWN = frozenset({"eval", "status", "version"})
_ATTACHED = "attachment://"
_NOT_SENT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})


def _recognise(head: Head) -> bool:
    return head.layout is Layout.OBJECT and head.keys >= _OWN and b'"task' in head.member("eval")


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each call in the order of the times; errors as for `records_in_time`."""
    records = Records(name)

    def tell(sample: Mapping[str, Json], within: tuple[int, ...], number: int) -> Iterator[Record]:
        yield from records.of(_call(sample, mapping(listed(sample["events"])[within[0]]), number))

    yield from records_in_time(stream, name, Log("sample", frozenset({"samples"}), _calls, tell))


def _calls(sample: Mapping[str, Json]) -> Iterator[Found]:
    for place, event in enumerate(map(mapping, listed(sample.get("events")))):
        if event.get("event") == "model" and event.get("cache") != "read":
            yield Found(instant(event.get("timestamp")), (place,), text(event.get("uuid")))


def _call(sample: Mapping[str, Json], event: Mapping[str, Json], number: int) -> Observed:
    call, output = mapping(event.get("call")), mapping(event.get("output"))
    provider, _, model = text(event.get("model")).partition("/")
    request = _request(call, sample)
    raw = mapping(mapping(call.get("response")).get("usage"))
    body = _body(request)
    return Observed(
        entry=number,
        model=text(request.get("model")) or model,
        provider=provider,
        messages=messages_of(_input(event, sample)) if body is None else None,
        tools=listed(event.get("tools")),
        body=body,
        usage=_usage(mapping(output.get("usage"))),
        usage_raw=to_json(raw) if raw else None,
        started=instant(event.get("timestamp")),
        conversation=f"{sample.get('id')}, epoch {sample.get('epoch')}",
    )


def _request(call: Mapping[str, Json], sample: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments of the call, whole again."""
    request = dict(mapping(call.get("request")))
    shared = _shared(call.get("call_refs"), sample, "calls")
    if shared:
        request[text(call.get("call_key")) or "messages"] = shared
    whole: Mapping[str, Json] = _attached(request, mapping(sample.get("attachments")))
    return whole


def _body(request: Mapping[str, Json]) -> bytes | None:
    kept = {key: value for key, value in request.items() if key not in _NOT_SENT}
    body = to_json({**kept, **mapping(request.get("extra_body"))})
    return body if recognise_surface(body) is not None else None


def _input(event: Mapping[str, Json], sample: Mapping[str, Json]) -> list[Json]:
    """The messages in Inspect's own form, for an event that kept no call."""
    said = listed(event.get("input")) or _shared(event.get("input_refs"), sample, "messages")
    whole = [mapping(one) for one in _attached(said, mapping(sample.get("attachments")))]
    return [{**one, "tool_calls": [_named(call) for call in listed(one.get("tool_calls"))]} for one in whole]


def _named(call: Json) -> Json:
    told = mapping(call)
    return {"id": told.get("id"), "name": told.get("function"), "arguments": told.get("arguments")}


def _shared(refs: Json, sample: Mapping[str, Json], pool: str) -> list[Json]:
    """Messages by where they stand in a pool: from the first number up to the second."""
    kept = listed(mapping(sample.get("events_data")).get(pool))
    found: list[Json] = []
    for ref in listed(refs):
        match ref:
            case [int() as start, int() as end] if 0 <= start <= end:
                found += kept[start:end]
            case _:
                continue
    return found


def _attached(value: Json, texts: Mapping[str, Json]) -> Json:
    """The same with long texts in their place."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return texts.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, list):
        return [_attached(one, texts) for one in value]
    if isinstance(value, Mapping):
        return {key: _attached(one, texts) for key, one in value.items()}
    return value


def _usage(told: Mapping[str, Json]) -> Counts:
    """As Inspect counts: the input leaves out what was read and written."""
    return counts(
        told.get("input_tokens"),
        told.get("input_tokens_cache_read"),
        told.get("input_tokens_cache_write"),
        told.get("output_tokens"),
        excludes_cache=True,
    )


FORMATS = (Format(InputKind.INSPECT, "a log of Inspect AI", _recognise, read, streams=True),)
