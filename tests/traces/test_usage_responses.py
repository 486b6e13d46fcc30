"""A recorded response that holds usage and nothing else is usage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.traces.readers import read_exchanges
from coldturn.traces.usage_reply import bare_usage, counts, usage_reply
from fuzz.readers_examples import CHAT, lines

MESSAGES = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": "s", "messages": CHAT["messages"]}
RESPONSES = {"model": "gpt-5.5", "input": "hi"}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
CHAT_USAGE = {"prompt_tokens": 1500, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1024}}
CLAUDE_USAGE = {"input_tokens": 476, "cache_read_input_tokens": 1024, "output_tokens": 2}
RESPONSES_USAGE = {"input_tokens": 1500, "input_tokens_details": {"cached_tokens": 1024}, "output_tokens": 2}
GEMINI_USAGE = {"promptTokenCount": 1500, "cachedContentTokenCount": 1024}


@pytest.mark.parametrize(
    ("body", "response"),
    [
        (CHAT, {"usage": CHAT_USAGE}),
        (CHAT, CHAT_USAGE),
        (CHAT, {"id": "x", "model": "m", "usage": CHAT_USAGE}),
        (MESSAGES, {"usage": CLAUDE_USAGE}),
        (MESSAGES, CLAUDE_USAGE),
        (RESPONSES, {"usage": RESPONSES_USAGE}),
        (GEMINI, {"usageMetadata": GEMINI_USAGE}),
    ],
)
def test_bare_usage_is_read(body: dict[str, Any], response: dict[str, Any]) -> None:
    report = explain(read_exchanges(lines({"request": body, "response": response}), name="input"))
    tokens = report.lineages[0].tokens
    assert (tokens.input_reported, tokens.read_reported) == (1500, 1024)


@pytest.mark.parametrize(
    "response",
    [{"usage": CHAT_USAGE, "choices": []}, {"error": {"message": "no"}}, {}, {"text": "prompt_tokens"}],
)
def test_any_other_response_stays_as_it_is(response: dict[str, Any]) -> None:
    assert bare_usage(json.dumps(response).encode()) is None


@pytest.mark.parametrize("surface", list(Surface))
def test_counts_come_back_from_the_reply_made_of_them(surface: Surface) -> None:
    told = counts(2000, 1500, None, 7)
    usage = decode_reply(surface, usage_reply(surface, told), "application/json").usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (2000, 1500, 7)


@pytest.mark.parametrize("value", [-1, True, "12x", 1.5, float("nan"), 10**30, "9" * 5000, None, []])
def test_what_is_no_count_is_unknown(value: object) -> None:
    assert counts(value, value, value, value).known is False
