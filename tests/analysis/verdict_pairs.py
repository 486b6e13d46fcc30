"""Pairs of recorded requests for tests of verdicts, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analysis.exchanges import ANTHROPIC, CHAT, OPENAI, exchange, words
from coldturn.analysis.breaks.explain import Explainer
from coldturn.analysis.breaks.findings import Finding, Report
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.analysis.verdicts.judge import Judge
from coldturn.analysis.verdicts.model import Thresholds
from coldturn.analysis.verdicts.rulebook import Rulebook
from coldturn.traces.exchange import Exchange

GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
VERTEX = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-5:rawPredict"
OPENROUTER = "https://openrouter.ai/api/v1/chat/completions"
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def reported(*exchanges: Exchange, rules: str | None = None, **parameters: str) -> Report:
    """What is said of a recording, under rules and parameters of one's own."""
    book = Rulebook(EstimateOptions(rules, parameters))
    explainer = Explainer(judge=Judge(book, Thresholds()))
    for one in exchanges:
        explainer.add(one)
    assert not explainer.report.errors
    return explainer.report


def findings(*exchanges: Exchange, rules: str | None = None, **parameters: str) -> list[Finding]:
    """Its findings."""
    return reported(*exchanges, rules=rules, **parameters).breaks


def finding(*exchanges: Exchange, rules: str | None = None, **parameters: str) -> Finding:
    """Its one finding."""
    (found,) = findings(*exchanges, rules=rules, **parameters)
    return found


def messages(*texts: str, **more: object) -> dict[str, Any]:
    """A body of Anthropic's Messages; an alternating conversation of text blocks."""
    turns = [
        {"role": ("user", "assistant")[index % 2], "content": [{"type": "text", "text": text}]}
        for index, text in enumerate(texts)
    ]
    return {"model": "claude-sonnet-5", "max_tokens": 10, "messages": turns, **more}


def marked(body: dict[str, Any], *places: int, marker: Mapping[str, str] = MARK) -> dict[str, Any]:
    """The same with markers on the last blocks of some messages."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    for place in places:
        copy["messages"][place]["content"][-1]["cache_control"] = marker
    return copy


def chat(*texts: str, **more: object) -> dict[str, Any]:
    """A body of Chat Completions; the first text is the system's."""
    roles = ("system", "user", "assistant")
    turns = [
        {"role": roles[0] if not index else roles[2 - index % 2], "content": text}
        for index, text in enumerate(texts)
    ]
    return {"model": "gpt-5.4", "messages": turns, **more}


def responses(*texts: str, **more: object) -> dict[str, Any]:
    """A body of OpenAI's Responses; the first text is the instructions."""
    turns = [
        {"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts[1:])
    ]
    return {"model": "gpt-5.4", "instructions": texts[0], "input": turns, **more}


def usage(url: str, whole: int, read: int, written: int = 0, **more: int) -> dict[str, Any]:
    """A provider's report of so many tokens in all, of which some were read and written."""
    if url.endswith(("/messages", ":rawPredict")):
        return {
            "input_tokens": whole - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": 1,
            **({"cache_creation": more} if more else {}),
        }
    if url.endswith("/responses"):
        details = {"cached_tokens": read, "cache_write_tokens": written}
        return {"input_tokens": whole, "input_tokens_details": details, "output_tokens": 1}
    details = {"cached_tokens": read}
    return {"prompt_tokens": whole, "prompt_tokens_details": details, "completion_tokens": 1}


SURFACES = (
    (ANTHROPIC, lambda *texts, **more: marked(messages(*texts, **more), -1)),
    (CHAT, chat),
    (OPENAI, responses),
)
"""Address and body of each surface whose rules are in the registry."""

LONG = words(5_000)
"""5,000 tokens."""

__all__ = [
    "ANTHROPIC",
    "CHAT",
    "GEMINI",
    "HOUR",
    "LONG",
    "MARK",
    "OPENAI",
    "OPENROUTER",
    "SURFACES",
    "VERTEX",
    "chat",
    "exchange",
    "finding",
    "findings",
    "marked",
    "messages",
    "reported",
    "responses",
    "usage",
    "words",
]
