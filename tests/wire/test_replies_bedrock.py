"""Replies of Bedrock: Converse whole and streamed, invoke streamed, and the frames that carry streams."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.errors import ProviderError, UnreadableReplyError
from coldturn.reference.wire.model import ToolCall, Usage
from coldturn.reference.wire.replies.event_stream import DamagedStreamError, is_aws_event_stream, messages
from wire.aws_events import chunk, event, message

AWS = "application/vnd.amazon.eventstream"
USAGE = {
    "inputTokens": 22,
    "outputTokens": 13,
    "totalTokens": 2527,
    "cacheReadInputTokens": 0,
    "cacheWriteInputTokens": 2492,
}


def counts(usage: Usage | None) -> tuple[int | None, ...]:
    assert usage is not None
    return usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens


def whole(**more: object) -> bytes:
    parts = [
        {"reasoningContent": {"reasoningText": {"text": "hm"}}},
        {"text": "I "},
        {"text": "look."},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"b": 1.0, "a": 2}}},
        {"toolUse": {"toolUseId": "t2", "name": "leap"}},
    ]
    output = {"message": {"role": "assistant", "content": parts}}
    return json.dumps({"output": output, "stopReason": "tool_use", "usage": USAGE, **more}).encode()


STREAM = [
    event("messageStart", {"role": "assistant"}),
    event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}}),
    event("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "I "}}),
    event("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "look."}}),
    event("contentBlockStop", {"contentBlockIndex": 1}),
    event(
        "contentBlockStart",
        {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "look"}}},
    ),
    event("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"b":1.0,'}}}),
    event("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '"a":2}'}}}),
    event(
        "contentBlockStart",
        {"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "t2", "name": "leap"}}},
    ),
    event("messageStop", {"stopReason": "tool_use"}),
    event("metadata", {"usage": USAGE, "metrics": {"latencyMs": 9}}),
]
CALLS = (ToolCall("t1", "look", '{"b":1.0,"a":2}'), ToolCall("t2", "leap", "{}"))


@pytest.mark.parametrize(("body", "kind"), [(whole(), "application/json"), (b"".join(STREAM), AWS)])
@pytest.mark.parametrize("told", [True, False])
def test_converse_whole_and_streamed_say_the_same(body: bytes, kind: str, told: bool) -> None:
    reply = decode_reply(Surface.CONVERSE, body, kind if told else "")
    assert (reply.text, reply.calls, reply.finish_reason) == ("I look.", CALLS, "tool_use")
    assert counts(reply.usage) == (22 + 2492, 13, 0, 2492)
    assert reply.usage is not None
    assert json.loads(reply.usage.raw) == USAGE


def test_nova_names_its_counts_otherwise_and_streams_events_under_their_names() -> None:
    usage = {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokenCount": 5}
    assert counts(decode_reply(Surface.CONVERSE, whole(usage=usage)).usage) == (8, 4, 5, None)
    events: list[dict[str, Any]] = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "hi"}, "contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": usage}},
    ]
    reply = decode_reply(Surface.CONVERSE, b"".join(map(chunk, events)), AWS)
    assert (reply.text, reply.finish_reason, counts(reply.usage)) == ("hi", "end_turn", (8, 4, 5, None))


def test_invoke_streams_the_events_of_the_models_maker() -> None:
    begun = {"id": "msg_1", "content": [], "usage": {"input_tokens": 4, "cache_read_input_tokens": 9}}
    said: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi\n"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 4}},
    ]
    reply = decode_reply(Surface.MESSAGES, b"".join(map(chunk, said)), AWS)
    assert (reply.text, reply.response_id, reply.finish_reason) == ("hi\n", "msg_1", "end_turn")
    assert counts(reply.usage) == (13, 2, 9, None)


def test_an_error_is_the_providers_own() -> None:
    with pytest.raises(ProviderError, match=r"\(throttlingException\): too many"):
        decode_reply(
            Surface.CONVERSE,
            STREAM[0]
            + message(
                b'{"message":"too many"}', message_type="exception", exception_type="throttlingException"
            ),
        )
    with pytest.raises(ProviderError, match="The model is not there"):
        decode_reply(Surface.CONVERSE, b'{"message":"The model is not there"}')
    with pytest.raises(ProviderError, match=r"\(500\): broke"):
        decode_reply(
            Surface.MESSAGES, message(b"", message_type="error", error_code="500", error_message="broke"), AWS
        )


@pytest.mark.parametrize("kept", range(1, 40))
def test_a_stream_that_was_cut_off_is_read_as_far_as_it_goes(kept: int) -> None:
    body = b"".join(STREAM)
    end = len(body) * kept // 40
    reply = decode_reply(Surface.CONVERSE, body[:end], AWS)
    assert "I look.".startswith(reply.text)
    assert reply.usage is None


@given(st.integers(0, len(b"".join(STREAM)) - 1), st.integers(1, 255))
def test_no_changed_byte_passes_for_the_stream(at: int, flip: int) -> None:
    """Every byte is under one of the sums."""
    body = b"".join(STREAM)
    damaged = body[:at] + bytes([body[at] ^ flip]) + body[at + 1 :]
    with pytest.raises(DamagedStreamError):
        list(messages(damaged))


def test_the_headers_of_every_type_are_passed_over() -> None:
    kinds = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)]
    odd = b"".join(b"\x01x" + bytes([kind]) + bytes(size) for kind, size in kinds)
    odd += b"\x01y\x06\x00\x02zz"
    plain = message(b"{}", event_type="a")
    head = plain[12:-6] + odd
    framed = rebuilt(head, b"{}")
    [found] = messages(framed)
    assert (found.headers, found.payload) == ({":event-type": "a"}, b"{}")
    for wrong in (b"\x01x\x0b", b"\x01x\x07\x00\x09a", b"\x09x", b"\x01x"):
        with pytest.raises(DamagedStreamError):
            list(messages(rebuilt(wrong, b"")))


def rebuilt(head: bytes, payload: bytes) -> bytes:
    """A message with exactly these header bytes."""
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    framed = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return framed + struct.pack(">I", zlib.crc32(framed))


def test_a_stream_is_known_by_its_first_sum() -> None:
    assert is_aws_event_stream(STREAM[0], "")
    assert is_aws_event_stream(b"", f"{AWS}; charset=utf-8")
    assert not is_aws_event_stream(whole(), "")
    assert not is_aws_event_stream(b"data: {}\n\n" * 5, "")
    assert not is_aws_event_stream(b"", "")


def test_what_is_no_reply_is_unreadable() -> None:
    with pytest.raises(UnreadableReplyError, match="damaged at byte 0"):
        decode_reply(Surface.CONVERSE, b"\x00" * 40, AWS)
    with pytest.raises(UnreadableReplyError):
        decode_reply(Surface.CONVERSE, b"<html>")
    with pytest.raises(UnreadableReplyError, match="chunk"):
        decode_reply(Surface.MESSAGES, event("chunk", {"bytes": "***"}), AWS)
