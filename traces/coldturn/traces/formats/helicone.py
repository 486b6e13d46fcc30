"""Helicone's requests, as its query API answers (``{"data": [...]}``) and exports hold them: lists, lines.

Bodies are those that went through the gateway, written afresh. What Helicone answered from its own cache went
to no provider. Source: the `HeliconeRequest` of its API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any, TypeAlias

from coldturn.reference.prefix.model import Fidelity
from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import address, instant, kind_of
from coldturn.traces.exchange import Exchange, ExchangeKind
from coldturn.traces.formats.genai_content import parsed
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.timed import Found, Log, mapping, records_in_time, text
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import to_json
from coldturn.traces.usage_reply import Counts, counts, usage_reply

Json: TypeAlias = Any

_OWN = ("request_body", "request_created_at")
_NOBODY = "00000000-0000-0000-0000-000000000000"
"""The reference of a request that no cached answer was given to."""
_STATUSES = range(100, 600)
_MILLISECONDS = 1e3
_LONGEST_WAIT = 1e9


def _recognise(head: Head) -> bool:
    if head.layout is Layout.TEXT:
        return False
    told = head.member("data")
    return head.any_has(*_OWN) or all(f'"{key}"'.encode() in told for key in _OWN)


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each request in the order of the times; errors as for `records_in_time`."""
    records = Records(name)

    def tell(told: Mapping[str, Json], _within: tuple[int, ...], number: int) -> Iterator[Record]:
        body = mapping(parsed(told.get("request_body")))
        if body:
            yield _exchange(told, body, name, number)
        else:
            yield from records.of(_numbers(told, number))

    yield from records_in_time(stream, name, Log("request", frozenset({"data"}), _calls, tell))


def _calls(told: Mapping[str, Json]) -> Iterator[Found]:
    if mapping(parsed(told.get("request_body"))) or _usage(told).known:
        yield Found(instant(told.get("request_created_at")), id=text(told.get("request_id")))


def _exchange(told: Mapping[str, Json], body: Mapping[str, Json], name: str, number: int) -> Exchange:
    url = address(text(told.get("target_url")) or text(told.get("request_path")))
    sent = to_json(body)
    started, status = instant(told.get("request_created_at")), told.get("response_status")
    return Exchange(
        source=name,
        entry=number,
        kind=ExchangeKind.OTHER if _answered_itself(told) else kind_of(sent, url),
        method="POST",
        url=url,
        request_body=sent,
        response_body=_reply(told, sent, url),
        status=status if isinstance(status, int) and status in _STATUSES else None,
        content_type="application/json",
        started=started,
        fidelity=Fidelity.CANONICAL,
        undated=started is None and told.get("request_created_at") is not None,
        answered=_first_token(told, started),
    )


def _answered_itself(told: Mapping[str, Json]) -> bool:
    return text(told.get("cache_reference_id")) not in ("", _NOBODY)


def _reply(told: Mapping[str, Json], sent: bytes, url: str) -> bytes | None:
    """The answer as it stands there; of one without usage, the counts beside it."""
    answer = mapping(parsed(told.get("response_body")))
    if answer.keys() & {"usage", "usageMetadata"}:
        return to_json(answer)
    surface, usage = recognise_surface(sent, url), _usage(told)
    return usage_reply(surface, usage) if surface is not None and usage.known else None


def _usage(told: Mapping[str, Json]) -> Counts:
    """Claude's input is counted without what was read and written, as its provider does."""
    return counts(
        told.get("prompt_tokens"),
        told.get("prompt_cache_read_tokens"),
        told.get("prompt_cache_write_tokens"),
        told.get("completion_tokens"),
        excludes_cache=text(told.get("provider")).upper() == "ANTHROPIC",
    )


def _numbers(told: Mapping[str, Json], number: int) -> Observed:
    return Observed(
        entry=number,
        model=text(told.get("response_model")) or text(told.get("request_model")),
        provider=text(told.get("provider")).lower(),
        usage=_usage(told),
        started=instant(told.get("request_created_at")),
        conversation=text(mapping(told.get("request_properties")).get("Helicone-Session-Id")),
    )


def _first_token(told: Mapping[str, Json], started: float | None) -> float | None:
    waited = told.get("time_to_first_token")
    if started is None or not isinstance(waited, int | float) or isinstance(waited, bool):
        return None
    return started + waited / _MILLISECONDS if 0 < waited < _LONGEST_WAIT else None


FORMATS = (Format(InputKind.HELICONE, "Helicone's requests", _recognise, read, streams=True),)
