"""Spans of calls to models, and only those, as observed calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces import names
from coldturn.traces.formats.genai_content import messages_in, parsed, tools_in
from coldturn.traces.formats.genai_usage import usage_of
from coldturn.traces.formats.observed import Observed
from coldturn.traces.formats.spans import Span
from coldturn.traces.formats.talk import compact
from coldturn.traces.slices import to_json

_CALLS = frozenset({"chat", "text_completion", "generate_content", "completion", "call_llm", "responses"})
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}")
_MODEL = ("gen_ai.request.model", "llm.model_name", "ai.model.id", "gen_ai.response.model", "model")
_PROVIDER = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
_CONVERSATION = ("gen_ai.conversation.id", "session.id")


def is_call(span: Span) -> bool:
    """Whether a span is one call of a model, rather than an agent's turn, a tool or a wrapper around calls.

    What a wrapper reports is the sum of its calls, which would be counted twice.
    """
    told = span.attributes
    operation = told.get("ai.operationId")
    if isinstance(operation, str):
        return operation.endswith((".doGenerate", ".doStream"))
    kind = told.get("openinference.span.kind")
    if isinstance(kind, str):
        return kind.upper() == "LLM"
    for key in ("gen_ai.operation.name", "llm.request.type"):
        named = told.get(key)
        if isinstance(named, str):
            return named.lower() in _CALLS
    if "traceloop.span.kind" in told or ("request_data" not in told and not _text(told, *_MODEL)):
        return False
    return "request_data" in told or usage_of(told).known or messages_in(span) is not None


def call_of(span: Span, entry: int) -> Observed:
    """The call that a span tells of."""
    told = span.attributes
    return Observed(
        entry=entry,
        model=_text(told, *_MODEL),
        provider=_text(told, *_PROVIDER),
        messages=messages_in(span),
        tools=tools_in(span),
        body=_logged_body(told),
        usage=usage_of(told),
        usage_raw=_raw_usage(told),
        started=span.start,
        answered=_answered(span),
        host=_host(told.get("server.address")),
        conversation=_text(told, *_CONVERSATION) or span.trace_id,
        span_id=span.span_id,
        response_id=_text(told, "gen_ai.response.id"),
    )


def _logged_body(told: Mapping[str, Any]) -> bytes | None:
    """Logfire's ``request_data``: the request's JSON, where it is one that we know."""
    logged = told.get("request_data")
    value = parsed(logged)
    if not isinstance(value, Mapping) or not {"messages", "input"} & value.keys():
        return None
    text = logged if isinstance(logged, str) else compact(value)
    body = text.encode("utf-8", "surrogatepass")
    return body if recognise_surface(body) is not None else None


def _raw_usage(told: Mapping[str, Any]) -> bytes | None:
    """The provider's own usage object, where an observer kept it."""
    for key in ("gen_ai.usage.raw", names.USAGE_RAW):
        value = parsed(told.get(key))
        if isinstance(value, Mapping):
            return to_json(value)
    return None


def _answered(span: Span) -> float | None:
    if span.start is None:
        return None
    for key, unit in (("ai.response.msToFirstChunk", 1e3), ("gen_ai.response.time_to_first_chunk", 1.0)):
        waited = span.attributes.get(key)
        if isinstance(waited, int | float) and not isinstance(waited, bool) and 0 <= waited < 1e9:
            return span.start + waited / unit
    return None


def _host(value: object) -> str:
    """A server's name; some write its whole address."""
    if not isinstance(value, str):
        return ""
    try:
        name = (urlsplit(value).hostname or "") if "//" in value else value
    except ValueError:
        return ""
    return name if _HOST.fullmatch(name) else ""


def _text(told: Mapping[str, Any], *keys: str) -> str:
    return next((told[key] for key in keys if isinstance(told.get(key), str)), "")
