from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.errors import ProviderError, UnreadableReplyError
from coldturn.reference.wire.model import RENDERED_SURFACES, ToolCall


def sse(*events: dict[str, Any] | str) -> bytes:
    return b"".join(
        b"data: " + (event if isinstance(event, str) else json.dumps(event)).encode() + b"\n\n"
        for event in events
    )


def test_messages_body() -> None:
    body = (
        b'{"type":"message","id":"msg_1","model":"claude-opus-5","stop_reason":"tool_use",'
        b'"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Look:"},'
        b'{"type":"tool_use","id":"toolu_1","name":"read","input":{"b": 1.0, "a": 1e5}}],'
        b'"usage":{"input_tokens":7,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,'
        b'"output_tokens":3}}'
    )
    reply = decode_reply(Surface.MESSAGES, body)
    assert reply.text == "Look:"
    assert reply.calls == (ToolCall("toolu_1", "read", '{"b":1.0,"a":1e5}'),)
    assert reply.finish_reason == "tool_use"
    assert reply.response_id == "msg_1"
    assert reply.model == "claude-opus-5"
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.cache_read_tokens, reply.usage.cache_write_tokens) == (
        127,
        100,
        20,
    )
    assert reply.usage.output_tokens == 3


def test_messages_stream_keeps_the_arguments_text_and_the_last_usage() -> None:
    start = {"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}
    reply = decode_reply(
        Surface.MESSAGES,
        sse(
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hé"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "llo"}},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": ""},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"a": '},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": "1}"},
            },
            {
                "type": "content_block_start",
                "index": 2,
                "content_block": {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
            },
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use"},
                "usage": {"output_tokens": 9, "cache_read_input_tokens": 50},
            },
            {"type": "message_stop"},
        ),
        "text/event-stream; charset=utf-8",
    )
    assert reply.text == "Héllo"
    assert reply.calls == (ToolCall("t1", "f", '{"a": 1}'), ToolCall("t2", "g", "{}"))
    assert reply.finish_reason == "tool_use"
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (55, 9)
    assert reply.usage.cache_write_tokens is None, "what was not reported is not zero"


def test_chat_body_and_stream_agree() -> None:
    usage = {
        "prompt_tokens": 1370,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 1280, "cache_write_tokens": 10},
    }
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    body = {
        "id": "c1",
        "model": "gpt",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": "Hi.", "tool_calls": [call]},
            }
        ],
        "usage": usage,
    }
    chunks: list[dict[str, Any] | str] = [
        {
            "id": "c1",
            "model": "gpt",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}],
        },
        {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [{"index": 0, "delta": {"content": "."}}]},
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "call_1", "function": {"name": "f", "arguments": ""}}
                        ]
                    },
                }
            ]
        },
        {
            "choices": [
                {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"a": '}}]}}
            ]
        },
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": usage},
        "[DONE]",
    ]
    whole = decode_reply(Surface.CHAT_COMPLETIONS, json.dumps(body).encode(), "application/json")
    streamed = decode_reply(Surface.CHAT_COMPLETIONS, sse(*chunks))
    assert whole == streamed
    assert whole.calls == (ToolCall("call_1", "f", '{"a": 1}'),)
    assert whole.usage is not None
    assert (whole.usage.input_tokens, whole.usage.cache_read_tokens, whole.usage.cache_write_tokens) == (
        1370,
        1280,
        10,
    )


def test_chat_of_other_servers() -> None:
    body = {
        "choices": [
            {
                "message": {
                    "content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Yes"}],
                    "function_call": {"name": "f", "arguments": {"b": 1, "a": 2}},
                }
            }
        ],
        "usage": {"prompt_tokens": 10, "prompt_cache_hit_tokens": 0},
    }
    reply = decode_reply(Surface.CHAT_COMPLETIONS, json.dumps(body).encode())
    assert reply.text == "Yes"
    assert reply.calls == (ToolCall("", "f", '{"b":1,"a":2}'),)
    assert reply.usage is not None
    assert reply.usage.cache_read_tokens == 0


def test_responses_stream_is_its_last_event_or_what_was_done_before_a_cut() -> None:
    item = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a":1}', "id": "fc_1"}
    text = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    response = {
        "id": "r1",
        "model": "gpt",
        "status": "completed",
        "output": [text, item],
        "usage": {"input_tokens": 8, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 0}},
    }
    events: list[dict[str, Any] | str] = [
        {
            "type": "response.created",
            "response": {**response, "status": "in_progress", "output": [], "usage": None},
        },
        {"type": "response.output_item.done", "output_index": 1, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": text},
    ]
    whole = decode_reply(
        Surface.RESPONSES, sse(*events, {"type": "response.completed", "response": response})
    )
    assert whole == decode_reply(Surface.RESPONSES, json.dumps(response).encode())
    assert (whole.text, whole.calls) == ("Hi", (ToolCall("call_1", "f", '{"a":1}'),))
    cut = decode_reply(Surface.RESPONSES, sse(*events) + b'data: {"type":"response.comp')
    assert (cut.text, cut.calls, cut.usage) == (whole.text, whole.calls, None)
    bare = {"type": "response.created", "response": {"id": "r1", "status": "in_progress"}}  # llama.cpp
    assert decode_reply(Surface.RESPONSES, sse(bare, *events[1:])).text == "Hi"


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_an_error_body_is_the_providers_error(surface: Surface) -> None:
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'
    for sent in (body, b"event: error\ndata: " + body + b"\n\n"):
        with pytest.raises(ProviderError, match=r"\(rate_limit_error\): slow down") as caught:
            decode_reply(surface, sent)
        assert caught.value.slug == "provider-error"


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
@pytest.mark.parametrize(
    "body", [b"", b"<html>502</html>", b"[]", b"{}", b'{"content":3,"choices":3,"output":3}', b'{"a":"\xff"}']
)
def test_what_is_no_reply_is_one_clear_error(surface: Surface, body: bytes) -> None:
    with pytest.raises(UnreadableReplyError, match=f"as a reply of {surface.value}"):
        decode_reply(surface, body)


def test_a_broken_event_in_the_middle_is_an_error() -> None:
    stream = sse({"choices": []}, "{broken", {"choices": []})
    with pytest.raises(UnreadableReplyError):
        decode_reply(Surface.CHAT_COMPLETIONS, stream)


_KINDS = {
    "anthropic": Surface.MESSAGES,
    "chat": Surface.CHAT_COMPLETIONS,
    "openai-responses": Surface.RESPONSES,
    "bedrock-converse": Surface.CONVERSE,
    "bedrock-invoke": Surface.MESSAGES,
}
"""Gemini's recordings hold other requests in between, so its calls are counted otherwise."""


def _reply_bodies(cassette: Path) -> list[bytes]:
    """Response bodies of a cassette in vcrpy's default dialect, decompressed."""
    loaded = yaml.load(cassette.read_bytes(), yaml.CSafeLoader)
    found = []
    for interaction in loaded.get("interactions", ()):
        response = interaction["response"]
        body = response["body"]["string"] if "body" in response else json.dumps(response["parsed_body"])
        body = body.encode() if isinstance(body, str) else body
        found.append(gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body)
    return found


def test_usage_of_published_recordings_is_what_their_truth_table_says(corpus: Path) -> None:
    with (corpus / "cached_token_truth.tsv").open() as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["kind"] in _KINDS]
    named = Counter((row["cassette"], row["call"]) for row in rows)
    checked = 0
    for row in rows:
        cassettes = list((corpus / "vcr-llm").glob(f"{row['repo']}__*__{row['cassette']}"))
        if len(cassettes) != 1 or named[row["cassette"], row["call"]] != 1:
            continue  # a name that several recordings share
        bodies = _reply_bodies(cassettes[0])
        if not bodies or int(row["total_input_tokens"]) == 0:
            continue
        usage = decode_reply(_KINDS[row["kind"]], bodies[int(row["call"])]).usage
        assert usage is not None
        found = (usage.input_tokens, usage.cache_read_tokens or 0, usage.cache_write_tokens or 0)
        expected = tuple(int(row[name]) for name in ("total_input_tokens", "cached_read", "cache_write"))
        assert found == expected, (row["cassette"], row["call"])
        checked += 1
    assert checked >= 34, checked
