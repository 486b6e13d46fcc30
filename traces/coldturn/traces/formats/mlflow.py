"""MLflow's traces as JSON (``trace.to_json()``): one, a list, lines, or the API's ``{"traces": [...]}``.

Spans of chat models hold what the library was called with (``mlflow.spanInputs``), so mostly the whole
request, and what it answered. All attributes are texts of JSON. Source: entities and tracers of mlflow 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any, TypeAlias

from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import instant
from coldturn.traces.formats.genai_content import parsed
from coldturn.traces.formats.langchain_messages import langchain_messages
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.talk import Message, messages_of
from coldturn.traces.formats.timed import Found, Log, listed, mapping, records_in_time, text
from coldturn.traces.genai_call import as_sent
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import to_json
from coldturn.traces.usage_reply import Counts, counts

Json: TypeAlias = Any

_MODELS = ("CHAT_MODEL", "LLM")
_INPUTS, _OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
_USAGE, _TOOLS, _FORM = "mlflow.chat.tokenUsage", "mlflow.chat.tools", "mlflow.message.format"
_NOT_SENT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})
_NANOSECONDS = 1e9


def _recognise(head: Head) -> bool:
    if head.layout is Layout.TEXT:
        return False
    if b'"mlflow.' in head.member("traces"):
        return True
    return any("info" in one and b'"mlflow.' in one.get("data", b"") for one in head.objects)


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each call in the order of the times; errors as for `records_in_time`."""
    records = Records(name)

    def tell(trace: Mapping[str, Json], within: tuple[int, ...], number: int) -> Iterator[Record]:
        yield from records.of(_call(_spans(trace)[within[0]], number))

    yield from records_in_time(stream, name, Log("trace", frozenset({"traces"}), _calls, tell))


def _spans(trace: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    return [mapping(one) for one in listed(mapping(trace.get("data")).get("spans"))]


def _calls(trace: Mapping[str, Json]) -> Iterator[Found]:
    for place, span in enumerate(_spans(trace)):
        if _told(span, "mlflow.spanType") in _MODELS and _told(span, _INPUTS):
            parent = text(span.get("parent_span_id")) or text(span.get("parent_id"))
            yield Found(_started(span), (place,), _id(span), parent)


def _id(span: Mapping[str, Json]) -> str:
    return text(span.get("span_id")) or text(mapping(span.get("context")).get("span_id"))


def _started(span: Mapping[str, Json]) -> float | None:
    """Nanoseconds, under one name or the other."""
    told = span.get("start_time_unix_nano", span.get("start_time"))
    return instant(told / _NANOSECONDS) if isinstance(told, int) and not isinstance(told, bool) else None


def _told(span: Mapping[str, Json], key: str) -> Json:
    return parsed(mapping(span.get("attributes")).get(key))


def _call(span: Mapping[str, Json], number: int) -> Observed:
    inputs, outputs, form = _told(span, _INPUTS), mapping(_told(span, _OUTPUTS)), text(_told(span, _FORM))
    body, tools = _body(mapping(inputs)), _told(span, _TOOLS)
    raw = mapping(outputs.get("usage")) or mapping(outputs.get("usageMetadata"))
    return Observed(
        entry=number,
        model=text(mapping(inputs).get("model")) or text(_told(span, "mlflow.llm.model")),
        provider=form if form != "langchain" else "",
        messages=_messages(inputs) if body is None else None,
        tools=tools if isinstance(tools, list) else None,
        body=body,
        usage=_usage(mapping(_told(span, _USAGE)), form),
        usage_raw=to_json(raw) if raw else None,
        started=_started(span),
        conversation=text(span.get("trace_id")),
    )


def _body(inputs: Mapping[str, Json]) -> bytes | None:
    """The arguments of a client library's call as the request."""
    if not isinstance(inputs.get("model"), str):
        return None
    kept = {key: value for key, value in inputs.items() if key not in _NOT_SENT}
    body = to_json(kept)
    body = as_sent(body) or body
    return body if recognise_surface(body) is not None else None


def _messages(inputs: Json) -> tuple[Message, ...]:
    """The messages of a framework's call."""
    told = mapping(inputs).get("messages", inputs)
    said = told[0] if isinstance(told, list) and told and isinstance(told[0], list) else told
    if isinstance(said, str):
        return messages_of(said) if said else ()
    return langchain_messages(said)


def _usage(told: Mapping[str, Json], form: str) -> Counts:
    return counts(
        told.get("input_tokens"),
        told.get("cache_read_input_tokens"),
        told.get("cache_creation_input_tokens"),
        told.get("output_tokens"),
        excludes_cache=form == "anthropic",
    )


FORMATS = (Format(InputKind.MLFLOW, "MLflow's traces", _recognise, read, streams=True),)
