"""Calls that make, renew, tell of and delete explicit caches of Gemini's (``cachedContents``).

Source: the reference of ``cachedContents`` on the Gemini API and of ``CachedContent`` on Vertex AI, read
2026-11-30. An answer never repeats what was put in; it tells a name, sizes and times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import unquote, urlsplit

from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.classify import instant
from coldturn.traces.exchange import Exchange, ExchangeKind
from coldturn.traces.slices import NotJsonError, object_parts, value_of

_PATH = re.compile(r"/cachedContents(?:/(?P<id>[^/:]+))?$")
_SECONDS = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)s")
_ASKED = frozenset({"expireTime", "expire_time", "model", "ttl"})
_REFUSED = 400
_MOST = 10**15


class CacheAction(StrEnum):
    """What a call did."""

    MADE = "made"
    RENEWED = "renewed"
    TOLD = "told"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class CacheCall:
    """What one call that was answered tells of one cache.

    Attributes:
        id: The last part of `name`, by which requests are matched: of the rest projects may stand as a number
            or as a name.
        tokens: What the provider counted; None when it told none.
        lifetime: Seconds from this call on; None when nobody told.
        told_at: When it was made or renewed, epoch seconds by the provider's clock; None when it told none.
        model: As the call or its answer names it.
        content: Body of the call that made it: what was put in. Empty for the other calls.
    """

    action: CacheAction
    id: str
    name: str
    tokens: ReportedTokens | None = None
    lifetime: float | None = None
    told_at: float | None = None
    model: str | None = None
    content: bytes = b""


def cache_id(name: str) -> str:
    """The part of a cache's name that is its own."""
    return name.rsplit("/", 1)[-1]


def cache_calls(exchange: Exchange) -> Iterator[CacheCall]:
    """What an exchange tells of explicit caches; nothing when it is about something else or was refused."""
    if exchange.kind is not ExchangeKind.OTHER or "/cachedContents" not in exchange.url:
        return
    found = _PATH.search(unquote(urlsplit(exchange.url).path).rstrip("/"))
    if found is None or (exchange.status is not None and exchange.status >= _REFUSED):
        return
    method, named = exchange.method.upper(), found["id"]
    if method == "DELETE" and named is not None:
        yield CacheCall(CacheAction.DELETED, named, f"cachedContents/{named}")
        return
    action = _ACTIONS.get((method, named is not None))
    answer = _object(exchange.response_body)
    if action is None:
        return
    several = answer.get("cachedContents")
    if action is CacheAction.TOLD and isinstance(several, list):
        for one in several:
            yield from _told(action, one if isinstance(one, dict) else {}, exchange)
        return
    yield from _told(action, answer, exchange)


_ACTIONS = {
    ("POST", False): CacheAction.MADE,
    ("PATCH", True): CacheAction.RENEWED,
    ("GET", True): CacheAction.TOLD,
    ("GET", False): CacheAction.TOLD,
}
"""By method, and whether the address names a cache."""
_BEGINS = {
    CacheAction.MADE: "createTime",
    CacheAction.RENEWED: "updateTime",
    CacheAction.TOLD: "createTime",
}
"""Where an answer says from when on a lifetime counts."""


def _told(action: CacheAction, answer: dict[str, Any], exchange: Exchange) -> Iterator[CacheCall]:
    name = answer.get("name")
    if not isinstance(name, str) or not name:
        return
    asked = {} if action is CacheAction.TOLD else _asked(exchange.request_body)
    model = answer.get("model") or asked.get("model")
    yield CacheCall(
        action,
        cache_id(name),
        name,
        tokens=_tokens(answer),
        lifetime=_lifetime(action, answer, asked, exchange.started),
        told_at=_time(answer.get(_BEGINS[action])),
        model=model.rsplit("/", 1)[-1] if isinstance(model, str) else None,
        content=exchange.request_body if action is CacheAction.MADE else b"",
    )


def _lifetime(
    action: CacheAction, answer: dict[str, Any], asked: dict[str, Any], now: float | None
) -> float | None:
    """By the provider's own clock where it tells both ends, else as it was asked for."""
    expires = _time(answer.get("expireTime"))
    since = now if action is CacheAction.TOLD else _time(answer.get(_BEGINS[action]))
    if expires is not None and since is not None:
        return max(expires - since, 0.0)
    asked_for = asked.get("ttl")
    seconds = _SECONDS.fullmatch(asked_for) if isinstance(asked_for, str) else None
    if seconds is not None:
        return float(seconds[1])
    until = expires if expires is not None else _time(asked.get("expireTime") or asked.get("expire_time"))
    return None if until is None or now is None else max(until - now, 0.0)


def _time(value: object) -> float | None:
    """A moment; fractions beyond the microsecond, which Google sends, are cut."""
    text = re.sub(r"(\.\d{6})\d+", r"\1", value) if isinstance(value, str) else None
    return instant(text)


def _tokens(answer: dict[str, Any]) -> ReportedTokens | None:
    usage = answer.get("usageMetadata")
    count = usage.get("totalTokenCount") if isinstance(usage, dict) else None
    whole = isinstance(count, int) and not isinstance(count, bool)
    return ReportedTokens(count) if isinstance(count, int) and whole and 0 <= count < _MOST else None


def _object(body: bytes | None) -> dict[str, Any]:
    try:
        value = value_of(body or b"{}")
    except NotJsonError:
        return {}
    return value if isinstance(value, dict) else {}


def _asked(body: bytes) -> dict[str, Any]:
    """What a call asks for besides content, which may be large and is not decoded."""
    try:
        return {key: value_of(part) for key, part in object_parts(body).items() if key in _ASKED}
    except NotJsonError:
        return {}
