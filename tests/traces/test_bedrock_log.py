"""Bedrock's log of model invocations: both operations, streams, refusals, and bodies that lie elsewhere."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"
HOST = "https://bedrock-runtime.eu-west-1.amazonaws.com"


def converse(turns: int, clock: str = "09:00") -> dict[str, Any]:
    rules = " ".join(f"Rule {number}: look before you answer." for number in range(400))
    talk = [{"role": "user", "content": [{"text": "question 0"}]}]
    for turn in range(1, turns):
        talk.append({"role": "assistant", "content": [{"text": f"answer {turn}"}]})
        talk.append({"role": "user", "content": [{"text": f"question {turn}"}]})
    marker = {"cachePoint": {"type": "default"}}
    return {"system": [{"text": f"It is {clock}. {rules}"}, marker], "messages": talk}


def logged(
    body: object, second: int = 0, answer: object = None, operation: str = "Converse", **more: object
) -> dict[str, Any]:
    given = {"inputContentType": "application/json", "inputTokenCount": 100, "cacheReadInputTokenCount": 2304}
    return {
        "timestamp": f"2026-11-30T09:00:{second:02}Z",
        "region": "eu-west-1",
        "requestId": f"r{second}",
        "operation": operation,
        "modelId": MODEL,
        "input": {**given, "cacheWriteInputTokenCount": 7, "inputBodyJson": body},
        "output": {"outputBodyJson": answer, "outputTokenCount": 20},
        "schemaType": "ModelInvocationLog",
        "schemaVersion": "1.0",
        **more,
    }


def lines(*calls: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in calls)


def only(content: bytes) -> Exchange:
    assert sniff(io.BytesIO(content), "input") is InputKind.BEDROCK_LOG
    (found,) = read_records(content, name="log")
    assert isinstance(found, Exchange)
    return found


@pytest.mark.parametrize("indent", [None, 2])
def test_a_call_went_where_the_log_says(indent: int | None) -> None:
    call = only(json.dumps(logged(converse(1)), indent=indent).encode())
    assert call.url == f"{HOST}/model/{MODEL}/converse"
    assert json.loads(call.request_body) == converse(1)
    assert (call.started, call.status, call.fidelity) == (1_796_029_200, 200, Fidelity.CANONICAL)


def test_the_break_is_found_under_bedrocks_rules() -> None:
    bodies = [converse(1), converse(2), converse(3, "09:01")]
    content = lines(*(logged(body, 10 * index) for index, body in enumerate(bodies)))
    report = explain(read_exchanges(content))
    (lineage,) = report.lineages
    assert [(one.cause, one.request) for one in lineage.breaks] == [("clock_in_prefix", 2)]
    assert (lineage.provider, lineage.tokens.input_reported, lineage.tokens.read_reported) == (
        "aws.bedrock",
        3 * 2_411,
        3 * 2_304,
    )


def test_an_answer_that_is_whole_stays() -> None:
    answer = {"output": {"message": {"role": "assistant", "content": []}}, "usage": {"inputTokens": 5}}
    call = only(lines(logged(converse(1), answer=answer)))
    assert call.response_body is not None
    assert json.loads(call.response_body) == answer


def test_the_events_of_a_stream_are_one() -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": [
        {"role": "user", "content": "q"}]}  # fmt: skip
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 500}
    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    content = lines(logged(body, answer=events, operation="InvokeModelWithResponseStream"))
    call = only(content)
    assert call.url == f"{HOST}/model/{MODEL}/invoke"
    assert call.content_type == "text/event-stream"
    (lineage,) = explain([call]).lineages
    assert (lineage.tokens.input_reported, lineage.tokens.read_reported) == (543, 500)


@pytest.mark.parametrize(("error", "status"), [("ThrottlingException", 429), ("ValidationException", 400)])
def test_a_refused_call_has_a_status(error: str, status: int) -> None:
    assert only(lines(logged(converse(1), errorCode=error))).status == status


def test_a_body_in_a_file_of_its_own_leaves_numbers() -> None:
    elsewhere = logged(None)
    elsewhere["input"] |= {"inputBodyS3Path": "s3://bucket/body.json.gz", "inputTokenCount": 5_000}
    (found,) = read_records(lines(elsewhere))
    assert isinstance(found, UsageRecord)
    assert (found.input_tokens, found.cached_tokens, found.written_tokens) == (7_311, 2_304, 7)


def test_damage_is_told_by_its_line() -> None:
    content = lines(logged(converse(1)))
    found = list(read_records(content + b"7\n" + content[:-30], name="log"))
    assert [type(one) for one in found] == [Exchange, EntryError, EntryError]
    with pytest.raises(UnreadableJsonError):
        list(read_records(content[:-30], kind=InputKind.BEDROCK_LOG))
