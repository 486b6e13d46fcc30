"""Traces of OpenAI's Agents SDK, as its exporters send them: lines, a list, or a batch (``{"data": [...]}``).

A generation holds the messages that were sent, in the form of Chat Completions, and its usage; tools are not
kept. A call of the Responses API has numbers only. Source: span data and processors of openai-agents 0.24.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any, TypeAlias
from urllib.parse import urlsplit

from coldturn.traces.classify import instant
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.talk import messages_of
from coldturn.traces.formats.timed import Found, Log, listed, mapping, records_in_time, text
from coldturn.traces.kinds import InputKind
from coldturn.traces.usage_reply import Counts, counts

Json: TypeAlias = Any

_KINDS = (b'"trace.span"', b'"trace"')
_CALLS = ("generation", "response")


def _recognise(head: Head) -> bool:
    if head.layout is Layout.TEXT:
        return False
    if any(one.get("object") in _KINDS for one in head.objects):
        return True
    return _KINDS[0] in head.member("data") and b'"span_data"' in head.member("data")


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each call in the order of the times; errors as for `records_in_time`."""
    records = Records(name)

    def tell(span: Mapping[str, Json], _within: tuple[int, ...], number: int) -> Iterator[Record]:
        yield from records.of(_call(span, number))

    yield from records_in_time(stream, name, Log("span", frozenset({"data"}), _calls, tell))


def _calls(span: Mapping[str, Json]) -> Iterator[Found]:
    told = mapping(span.get("span_data"))
    if told.get("type") in _CALLS and (told.get("input") or _usage(told).known):
        yield Found(instant(span.get("started_at")), (), text(span.get("id")), text(span.get("parent_id")))


def _call(span: Mapping[str, Json], number: int) -> Observed:
    told = mapping(span.get("span_data"))
    said = listed(told.get("input"))
    return Observed(
        entry=number,
        model=text(told.get("model")),
        messages=messages_of(said) if said else None,
        usage=_usage(told),
        started=instant(span.get("started_at")),
        host=_host(mapping(told.get("model_config")).get("base_url")),
        conversation=text(span.get("trace_id")),
    )


def _usage(told: Mapping[str, Json]) -> Counts:
    """The input includes what was read and written."""
    usage = mapping(told.get("usage"))
    details = mapping(usage.get("input_tokens_details"))
    return counts(
        usage.get("input_tokens"),
        details.get("cached_tokens"),
        details.get("cache_write_tokens") or None,
        usage.get("output_tokens"),
    )


def _host(value: Json) -> str:
    try:
        return urlsplit(text(value)).hostname or ""
    except ValueError:
        return ""


FORMATS = (Format(InputKind.OPENAI_AGENTS, "traces of OpenAI's Agents SDK", _recognise, read, streams=True),)
