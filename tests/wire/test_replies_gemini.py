"""Replies of Gemini: one object, a list of pieces, and events; in both spellings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.errors import ProviderError, UnreadableReplyError
from coldturn.reference.wire.model import Reply, ToolCall

USAGE = {
    "promptTokenCount": 3520,
    "cachedContentTokenCount": 3512,
    "candidatesTokenCount": 2,
    "thoughtsTokenCount": 42,
    "totalTokenCount": 3564,
}


def piece(*parts: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **more}]}


PIECES = [
    piece({"text": "hm", "thought": True}),
    piece({"text": "I "}),
    {
        **piece({"text": "look.", "thoughtSignature": "s"}),
        "usageMetadata": {"promptTokenCount": 3520, "totalTokenCount": 3522},
    },
    {
        **piece(
            {"functionCall": {"name": "look", "args": {"b": 1.0, "a": 2}, "id": "c1"}},
            {"functionCall": {"name": "leap"}},
            finishReason="STOP",
        ),
        "usageMetadata": USAGE,
        "modelVersion": "gemini-3-pro",
        "responseId": "abc",
    },
]


def whole() -> dict[str, Any]:
    parts = [part for one in PIECES for part in one["candidates"][0]["content"]["parts"]]
    return {**PIECES[-1], **piece(*parts, finishReason="STOP")}


def events(*said: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\r\n\r\n" % json.dumps(one).encode() for one in said)


def check(reply: Reply) -> None:
    assert reply.text == "I look."
    assert reply.calls == (ToolCall("c1", "look", '{"b":1.0,"a":2}'), ToolCall("", "leap", "{}"))
    assert (reply.finish_reason, reply.model, reply.response_id) == ("STOP", "gemini-3-pro", "abc")
    usage = reply.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (3520, 44)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (3512, None)
    assert json.loads(usage.raw)["totalTokenCount"] == 3564


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (json.dumps(whole(), indent=1).encode(), "application/json"),
        (json.dumps(PIECES).encode(), "application/json"),
        (b"\n" + json.dumps(PIECES, indent=2).encode(), ""),
        (events(*PIECES), "text/event-stream"),
        (events(*PIECES), ""),
    ],
)
def test_a_reply_says_the_same_however_it_came(body: bytes, kind: str) -> None:
    check(decode_reply(Surface.GENERATE_CONTENT, body, kind))


def test_an_sdk_writes_underscores() -> None:
    said = {
        "candidates": [
            {
                "content": {"parts": [{"function_call": {"name": "look", "args": {}}}]},
                "finish_reason": "STOP",
            }
        ],
        "usage_metadata": {
            "prompt_token_count": 7,
            "candidates_token_count": 1,
            "cached_content_token_count": 0,
        },
        "model_version": "m",
        "response_id": "r",
    }
    reply = decode_reply(Surface.GENERATE_CONTENT, json.dumps(said).encode())
    assert (reply.calls, reply.finish_reason) == ((ToolCall("", "look", "{}"),), "STOP")
    assert (reply.model, reply.response_id) == ("m", "r")
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cache_read_tokens) == (7, 1, 0)


def test_what_was_not_reported_stays_unknown() -> None:
    reply = decode_reply(Surface.GENERATE_CONTENT, json.dumps(piece({"text": "hi"})).encode())
    assert (reply.text, reply.usage) == ("hi", None)
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}
    reply = decode_reply(Surface.GENERATE_CONTENT, json.dumps(blocked).encode())
    assert (reply.text, reply.finish_reason) == ("", "SAFETY")


def read_of(body: bytes) -> int | None:
    usage = decode_reply(Surface.GENERATE_CONTENT, body).usage
    assert usage is not None
    return usage.cache_read_tokens


def test_zeros_that_are_left_out_are_zeros() -> None:
    """Of a count that is not beside the prompt's, unless the answer was cut off before its last counts."""
    counted = {"promptTokenCount": 4_000, "candidatesTokenCount": 2}
    ended = {**piece({"text": "hi"}, finishReason="STOP"), "usageMetadata": counted}
    begun = {**piece({"text": "hi"}), "usageMetadata": counted}
    assert [read_of(json.dumps(one).encode()) for one in (ended, begun, [begun])] == [0, 0, 0]
    assert [read_of(events(*one)) for one in ([begun, ended], [ended], [begun])] == [0, 0, None]
    assert read_of(json.dumps({"usageMetadata": {"totalTokenCount": 9}}).encode()) is None
    for said, read in ((None, 0), ("many", None), (3, 3)):
        told = {**ended, "usageMetadata": {**counted, "cachedContentTokenCount": said}}
        assert read_of(json.dumps(told).encode()) == read


def test_of_several_candidates_the_first_counts() -> None:
    second = {"content": {"parts": [{"text": "no"}]}, "index": 1, "finishReason": "MAX_TOKENS"}
    first = piece({"text": "yes"}, finishReason="STOP")["candidates"][0]
    reply = decode_reply(Surface.GENERATE_CONTENT, json.dumps({"candidates": [second, first]}).encode())
    assert (reply.text, reply.finish_reason) == ("yes", "STOP")


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: [one]])
def test_an_error_is_the_providers_own(wrap: Any) -> None:  # noqa: ANN401 - a lambda of two shapes
    refused = {"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}}
    with pytest.raises(ProviderError, match=r"\(429\): Quota exceeded"):
        decode_reply(Surface.GENERATE_CONTENT, json.dumps(wrap(refused)).encode())


@pytest.mark.parametrize("body", [b"{}", b"[]", b"[{", b"nonsense", b'{"candidates":7}'])
def test_what_is_no_reply_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableReplyError):
        decode_reply(Surface.GENERATE_CONTENT, body)
