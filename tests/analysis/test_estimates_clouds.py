"""Estimates of requests to Gemini and to Bedrock's Converse, and of prompts whose beginning was not sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

import pytest

from analysis.exchanges import BEDROCK, GEMINI, OPENAI, exchange, rows, words
from coldturn.analysis.breaks.explain import explain
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges

POINT = {"cachePoint": {"type": "default"}}
SYSTEM = [{"text": words(2_000)}, POINT]


def converse(*texts: str, **more: object) -> dict[str, Any]:
    said = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": [{"text": text}]}
        for at, text in enumerate(texts)
    ]
    return {"messages": said, "system": SYSTEM, **more}


def counts(fresh: int, read: int, written: int) -> dict[str, int]:
    return {
        "inputTokens": fresh,
        "cacheReadInputTokens": read,
        "cacheWriteInputTokens": written,
        "outputTokens": 1,
    }


def test_claude_in_converse_reads_what_a_cache_point_wrote() -> None:
    log = [
        exchange(converse("a"), BEDROCK, counts(5, 0, 2_000)),
        exchange(converse("b"), BEDROCK, counts(5, 2_000, 0)),
        exchange(converse("b", toolConfig={"toolChoice": {"any": {}}}), BEDROCK, counts(5, 2_000, 0)),
    ]
    found = rows(log)
    assert [row.rules for row in found] == ["bedrock-claude"] * 3
    assert [row.read_estimated for row in found] == [0, 2_000, 2_000]
    assert [bool(row.written_estimated) for row in found] == [True, False, False]
    assert [row.input_reported for row in found] == [2_005, 2_005, 2_005]


def test_a_tool_choice_in_converse_loses_the_messages() -> None:
    def asked(choice: str) -> dict[str, Any]:
        body = converse("a", toolConfig={"toolChoice": {choice: {}}})
        body["messages"][0]["content"] += [{"text": words(2_000, "q")}, POINT]
        return body

    log = [exchange(asked(choice), BEDROCK, counts(5, 0, 4_000)) for choice in ("auto", "auto", "any")]
    whole, system_only = rows(log)[1].read_estimated, rows(log)[2].read_estimated
    assert whole is not None
    assert system_only is not None
    assert whole > system_only > 0


def test_gemini_reads_the_longest_prefix() -> None:
    def asked(question: str) -> dict[str, Any]:
        parts = [{"text": words(3_000)}]
        return {
            "systemInstruction": {"parts": parts},
            "contents": [{"role": "user", "parts": [{"text": question}]}],
        }

    usage = {"promptTokenCount": 3_010, "candidatesTokenCount": 1}
    found = rows([exchange(asked("one"), GEMINI, usage), exchange(asked("two"), GEMINI, usage)])
    assert [row.rules for row in found] == ["gemini-implicit"] * 2
    assert found[0].read_estimated == 0
    assert found[1].read_estimated is not None
    assert found[1].read_estimated >= 2_900
    assert found[1].read_reported == 0


def test_what_an_explicit_cache_holds_that_was_not_made_here_is_not_known() -> None:
    body = {"cachedContent": "cachedContents/x", "contents": [{"parts": [{"text": "hi"}]}]}
    usage = {"promptTokenCount": 3_520, "cachedContentTokenCount": 3_512}
    [row] = rows([exchange(body, GEMINI, usage)])
    assert (row.read_reported, row.read_estimated) == (3_512, None)
    assert "cached_content_unknown" in row.flags


def test_what_a_conversation_of_the_provider_holds_is_not_known() -> None:
    for conversation in ("conv_1", {"id": "conv_1"}):
        body = {"model": "gpt-5.6", "conversation": conversation, "input": "and now?"}
        [row] = rows([exchange(body, OPENAI, {"input_tokens": 3_000})])
        assert row.read_estimated is None
        assert "earlier_response_missing" in row.flags
    nothing: dict[str, Any] = {"model": "gpt-5.6", "conversation": None, "input": "and now?"}
    [row] = rows([exchange(nothing, OPENAI, {"input_tokens": 3_000})])
    assert row.read_estimated == 0


@pytest.mark.parametrize(
    ("name", "rules", "reads"),
    [
        (
            "dd-trace-py__tests__contrib__botocore__bedrock_cassettes__bedrock_converse_prompt_caching",
            "bedrock-claude",
            [(0, 0), (1_028, 1_028)],
        ),
        (
            "pydantic-ai__test_bedrock__test_bedrock_cache_messages_with_document_as_last_content",
            "bedrock-claude",
            [(0, 0), (1_712, 1_712)],
        ),
        (
            "pydantic-ai__test_bedrock__test_bedrock_cache_messages_with_image_as_last_content",
            "bedrock-claude",
            [(0, 0), (2_074, 2_074)],
        ),
        (
            "openllmetry__test_bedrock_prompt_caching_metrics__test_prompt_cache",
            "bedrock-claude",
            [(0, 0), (18_131, 18_131)],
        ),
        # Without the call that made it, what an explicit cache holds is reported and not estimated.
        (
            "pydantic-ai__test_cache__test_google_model_cached_content",
            "gemini-explicit",
            [(None, 3_512), (None, 3_512)],
        ),
        # Google read less than its own minimum here: a contested point of the rules.
        (
            "pydantic-ai__test_output__test_google_validated_accepts_what_auto_accepts(validated)",
            "gemini-implicit",
            [(0, 0), (0, 594)],
        ),
    ],
)
def test_published_recordings_of_both_clouds(
    corpus: Path, name: str, rules: str, reads: list[tuple[int | None, int | None]]
) -> None:
    """Estimated and reported reads, request by request."""
    found = rows(one for one in read_exchanges(corpus / "vcr-llm" / f"{name}.yaml") if _is_model(one))
    assert [row.rules for row in found] == [rules] * len(found)
    assert [(row.read_estimated, row.read_reported) for row in found] == reads


def _is_model(item: Exchange | EntryError) -> TypeGuard[Exchange]:
    return isinstance(item, Exchange) and item.kind is ExchangeKind.MODEL


def test_what_is_new_in_a_conversation_of_the_provider_is_no_break() -> None:
    def asked(text: str, instructions: str = "be brief") -> Exchange:
        body = {"model": "gpt-5.6", "conversation": "conv_1", "instructions": instructions, "input": text}
        return exchange(body, OPENAI, {"input_tokens": 3_000})

    assert not explain([asked("first question"), asked("second question")]).breaks
    [broken] = explain([asked("first question"), asked("second question", "be kind")]).breaks
    assert (broken.path, broken.later) == ("$.instructions", ())
