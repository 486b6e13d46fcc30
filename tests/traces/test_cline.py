"""Sessions of Cline: answers with counts are calls, in the format of the provider that they name."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Zone
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.sniff import sniff

T0 = 1_780_000_000_000


def metrics(whole: int, read: int = 0, written: int = 0) -> dict[str, int]:
    return {"inputTokens": whole, "outputTokens": 5, "cacheReadTokens": read, "cacheWriteTokens": written}


def asked(at: int, content: object) -> dict[str, Any]:
    return {"id": f"u{at}", "role": "user", "content": content, "ts": T0 + at * 1_000}


def said(at: int, *content: object, provider: str = "openai-compatible", **counts: Any) -> dict[str, Any]:  # noqa: ANN401 - counts
    told = {"id": "gpt-4.1" if "openai" in provider else "claude-sonnet-4-5", "provider": provider}
    answer = {"id": f"a{at}", "role": "assistant", "content": list(content), "ts": T0 + at * 1_000}
    return {**answer, "modelInfo": told, "metrics": counts.get("metrics", metrics(5_600, 5_504))}


def session(*messages: object, **more: object) -> bytes:
    around = {"version": 1, "updated_at": "2026-11-30T09:00:00Z", "agent": "lead", "sessionId": "s"}
    return json.dumps({**around, "messages": messages, "system_prompt": "You are Cline.", **more}).encode()


CALL = {"type": "tool_use", "id": "c1", "name": "run", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}
RUN = (asked(0, [{"type": "text", "text": "look"}]), said(1, CALL), asked(2, [RESULT]), said(3))


def calls(content: bytes) -> list[Exchange]:
    assert sniff(io.BytesIO(content), "input") is InputKind.CLINE
    return [one for one in read_exchanges(content, name="s") if isinstance(one, Exchange)]


def test_a_call_sends_what_stands_in_front_of_it() -> None:
    first, second = calls(session(*RUN))
    assert json.loads(first.request_body)["messages"] == [
        {"role": "system", "content": "You are Cline."},
        {"role": "user", "content": "look"},
    ]
    assert [one["role"] for one in json.loads(second.request_body)["messages"]] == [
        "system", "user", "assistant", "tool",
    ]  # fmt: skip
    assert second.started == T0 / 1_000 + 2
    assert second.parts_missing == {Zone.TOOLS, Zone.SYSTEM}


def test_a_conversation_that_only_grows_has_no_break() -> None:
    (lineage,) = explain(read_exchanges(session(*RUN))).lineages
    assert (lineage.requests, lineage.breaks) == (2, [])
    assert (lineage.tokens.input_reported, lineage.tokens.read_reported) == (11_200, 11_008)


def test_a_claude_is_asked_in_its_makers_format() -> None:
    told = metrics(10, 900, 50)
    (call,) = calls(session(RUN[0], said(1, provider="anthropic", metrics=told)))
    assert call.url == "/v1/messages"
    assert call.response_body is not None
    assert json.loads(call.response_body)["usage"]["input_tokens"] == 10


@pytest.mark.parametrize(("provider", "known"), [("anthropic", False), ("openai-native", True)])
def test_an_input_that_may_leave_out_what_was_read_is_unknown(provider: str, known: bool) -> None:
    told = metrics(1_000, 900)
    (call,) = calls(session(RUN[0], said(1, provider=provider, metrics=told)))
    (lineage,) = explain([call]).lineages
    assert (lineage.tokens.input_reported is not None) is known


def test_an_answer_without_counts_is_part_of_the_conversation_alone() -> None:
    bare = {"role": "assistant", "content": [{"type": "text", "text": "hm"}]}
    (call,) = calls(session(RUN[0], bare, asked(2, "go on"), said(3)))
    assert len(json.loads(call.request_body)["messages"]) == 4


def test_damage_is_told() -> None:
    found = list(read_records(session(RUN[0], 7, RUN[1]), name="s"))
    assert [type(one) for one in found] == [EntryError, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(session(*RUN)[:-9], kind=InputKind.CLINE))
