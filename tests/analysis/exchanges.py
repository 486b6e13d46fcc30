"""Recorded requests for tests of estimates, made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from coldturn.analysis.estimates.estimation import estimate
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.report import EstimateReport, RequestEstimate
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.exchange import Exchange, ExchangeKind

OPENAI = "https://api.openai.com/v1/responses"
CHAT = "https://api.openai.com/v1/chat/completions"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
DEEPSEEK = "https://api.deepseek.com/chat/completions"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-5/converse"


def exchange(
    body: Mapping[str, Any],
    url: str,
    usage: Mapping[str, Any] | None = None,
    *,
    started: float | None = None,
    answered: float | None = None,
    response_id: str | None = None,
    text: str = "ok",
    source: str = "log",
    status: int | None = 200,
) -> Exchange:
    """One request with an answer that reports `usage`."""
    return Exchange(
        source=source,
        entry=0,
        kind=ExchangeKind.MODEL,
        method="POST",
        url=url,
        request_body=json.dumps(body).encode(),
        response_body=None if usage is None else json.dumps(_answer(url, usage, response_id, text)).encode(),
        status=status,
        content_type="application/json",
        started=started,
        fidelity=Fidelity.WIRE,
        answered=answered,
    )


def _answer(url: str, usage: Mapping[str, Any], response_id: str | None, text: str) -> dict[str, Any]:
    if url.endswith("/messages"):
        return {"id": response_id, "content": [{"type": "text", "text": text}], "usage": usage}
    if url.endswith("/responses"):
        item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        return {"id": response_id, "output": [item], "usage": usage}
    if url.endswith("/converse"):
        return {"output": {"message": {"content": [{"text": text}]}}, "usage": usage}
    if url.endswith(":generateContent"):
        return {"candidates": [{"content": {"parts": [{"text": text}]}}], "usageMetadata": usage}
    return {"id": response_id, "choices": [{"message": {"content": text}}], "usage": usage}


def report(exchanges: Iterable[Exchange], rules: str | None = None, **parameters: str) -> EstimateReport:
    """Estimate, with rules and parameters of one's own."""
    return estimate(exchanges, RequestEstimator(EstimateOptions(rules, parameters)))


def rows(exchanges: Iterable[Exchange], rules: str | None = None, **parameters: str) -> list[RequestEstimate]:
    """The rows of a report without errors."""
    found = report(exchanges, rules, **parameters)
    assert not found.errors
    return found.requests


def reads(
    exchanges: Iterable[Exchange], rules: str | None = None, **parameters: str
) -> list[tuple[int | None, int | None]]:
    """Read and written of each request."""
    return [(one.read_estimated, one.written_estimated) for one in rows(exchanges, rules, **parameters)]


def words(count: int, word: str = "word") -> str:
    """A text of four bytes a token, so many tokens long."""
    return "".join(f"{word[:3]} " for _ in range(count))
