"""Explicit caches of Gemini's as recordings hold them: calls that make them, and requests that name them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from analysis.exchanges import GEMINI
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.exchange import Exchange, ExchangeKind

T0 = 1_790_000_000.0
HOST = "https://generativelanguage.googleapis.com/v1beta"
VERTEX = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1"
MODEL = "models/gemini-2.5-pro"


def stamp(seconds: float) -> str:
    """A moment as Google writes it, nanoseconds included."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "123Z"


def other(
    method: str,
    url: str,
    body: object,
    answer: object,
    at: float | None = None,
    status: int = 200,
    entry: int = 0,
) -> Exchange:
    """An exchange that asks no model."""
    return Exchange(
        source="log",
        entry=entry,
        kind=ExchangeKind.OTHER,
        method=method,
        url=url,
        request_body=b"" if body is None else json.dumps(body).encode(),
        response_body=None if answer is None else json.dumps(answer).encode(),
        status=status,
        content_type="application/json",
        started=None if at is None else T0 + at,
        fidelity=Fidelity.WIRE,
    )


def resource(
    name: str, tokens: int | None = 7_021, made: float = 0.0, lives: float = 600.0
) -> dict[str, Any]:
    """What the provider answers of a cache."""
    told: dict[str, Any] = {
        "name": name,
        "model": MODEL,
        "createTime": stamp(T0 + made),
        "updateTime": stamp(T0 + made),
        "expireTime": stamp(T0 + made + lives),
    }
    return told if tokens is None else {**told, "usageMetadata": {"totalTokenCount": tokens}}


def making(
    name: str = "cachedContents/a",
    *,
    at: float | None = 0.0,
    text: str = "long " * 5_600,
    lives: float = 600.0,
    tokens: int | None = 7_021,
    url: str = f"{HOST}/cachedContents",
) -> Exchange:
    """The call that makes a cache."""
    body = {
        "model": MODEL,
        "contents": [{"role": "user", "parts": [{"text": text}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "ttl": f"{lives:.0f}s",
    }
    return other("POST", url, body, resource(name, tokens, at or 0.0, lives), at)


def renewing(name: str = "cachedContents/a", *, at: float, lives: float) -> Exchange:
    """The call that gives a cache a new end."""
    return other(
        "PATCH",
        f"{HOST}/{name}?updateMask=ttl",
        {"ttl": f"{lives:.0f}s"},
        resource(name, None, at, lives),
        at,
    )


def deleting(name: str = "cachedContents/a", *, at: float | None = None) -> Exchange:
    """The call that ends a cache."""
    return other("DELETE", f"{HOST}/{name}", None, {}, at)


def asking(
    name: str | None = "cachedContents/a",
    *said: str,
    at: float | None = 1.0,
    read: int | None = 7_021,
    whole: int | None = 7_036,
    status: int = 200,
    **more: object,
) -> Exchange:
    """A request that names a cache, with what the provider reports."""
    texts = said or ("And now?",)
    contents = [
        {"role": "model" if index % 2 else "user", "parts": [{"text": text}]}
        for index, text in enumerate(texts)
    ]
    body = {**({} if name is None else {"cachedContent": name}), "contents": contents, **more}
    usage = {"promptTokenCount": whole, "cachedContentTokenCount": read, "candidatesTokenCount": 2}
    answer: dict[str, Any] = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}],
        "usageMetadata": {key: value for key, value in usage.items() if value is not None},
    }
    if status >= 400:
        said_no = "CachedContent not found (or permission denied)"
        answer = {"error": {"code": status, "message": said_no, "status": "PERMISSION_DENIED"}}
    return Exchange(
        source="log",
        entry=0,
        kind=ExchangeKind.MODEL,
        method="POST",
        url=GEMINI.replace("gemini-2.5-flash", "gemini-2.5-pro"),
        request_body=json.dumps(body).encode(),
        response_body=json.dumps(answer).encode(),
        status=status,
        content_type="application/json",
        started=None if at is None else T0 + at,
        fidelity=Fidelity.WIRE,
    )
