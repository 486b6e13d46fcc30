"""What providers say of a cache miss: Anthropic's and OpenAI's diagnostics, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import read_request
from coldturn.reference.tokens import ReportedTokens
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.model import CacheDiagnosis
from coldturn.reference.wire.replies.diagnosis import comparison_asked

MISSED = CacheDiagnosis("anthropic", "cache_miss", "tools_changed", ReportedTokens(41_850))
OPENAI = {
    "type": "cache_miss",
    "reason": "prompt_cache_key_changed",
    "comparison_reusable_tokens": 1280,
    "cache_missed_tokens": 1281,
}
OPENAI_MISS = CacheDiagnosis(
    "openai",
    "cache_miss",
    "prompt_cache_key_changed",
    ReportedTokens(1281),
    ReportedTokens(1280),
    "resp_1",
)


def message(diagnostics: object) -> dict[str, Any]:
    return {"type": "message", "id": "msg_2", "content": [], "diagnostics": diagnostics}


def response(diagnostics: object) -> dict[str, Any]:
    options = {"mode": "implicit", "comparison_response_id": "resp_1"}
    return {
        "id": "resp_2",
        "output": [],
        "status": "completed",
        "prompt_cache_options": options,
        "prompt_cache_diagnostics": diagnostics,
    }


def streamed(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


def diagnosed(surface: Surface, body: dict[str, Any]) -> CacheDiagnosis | None:
    return decode_reply(surface, json.dumps(body).encode()).diagnosis


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ({"type": "tools_changed", "cache_missed_input_tokens": 41_850}, MISSED),
        (
            {"type": "previous_message_not_found"},
            CacheDiagnosis("anthropic", "comparison_response_not_found", "previous_message_not_found"),
        ),
        ({"type": "unavailable"}, CacheDiagnosis("anthropic", "unavailable", "unavailable")),
        (
            {"type": "weather_changed", "cache_missed_input_tokens": "many"},
            CacheDiagnosis("anthropic", "cache_miss", "weather_changed"),
        ),
        (None, CacheDiagnosis("anthropic", "pending")),
        ({"kind": "tools_changed"}, None),
        ("tools_changed", None),
    ],
)
def test_anthropic_names_its_reason_and_a_new_one_is_kept(
    reason: object, found: CacheDiagnosis | None
) -> None:
    assert diagnosed(Surface.MESSAGES, message({"cache_miss_reason": reason})) == found


@pytest.mark.parametrize("nothing", [None, {}, [], "no", 7])
def test_what_is_no_diagnosis_is_none_and_no_error(nothing: object) -> None:
    assert diagnosed(Surface.MESSAGES, message(nothing)) is None
    assert diagnosed(Surface.RESPONSES, response(nothing)) is None


def test_anthropic_says_it_when_a_stream_begins() -> None:
    start = message({"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 41_850}})
    body = streamed(
        {"type": "message_start", "message": start},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    )
    reply = decode_reply(Surface.MESSAGES, body)
    assert (reply.diagnosis, reply.finish_reason) == (MISSED, "end_turn")


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (OPENAI, OPENAI_MISS),
        ({"type": "cache_hit"}, CacheDiagnosis("openai", "cache_hit", comparison_id="resp_1")),
        (
            {"type": "cache_miss", "reason": "moon_changed", "cache_missed_tokens": 9},
            CacheDiagnosis("openai", "cache_miss", "moon_changed", ReportedTokens(9), comparison_id="resp_1"),
        ),
        ({"type": "half_hit"}, CacheDiagnosis("openai", "half_hit", comparison_id="resp_1")),
    ],
)
def test_openai_names_what_came_of_the_comparison(sent: object, found: CacheDiagnosis) -> None:
    assert diagnosed(Surface.RESPONSES, response(sent)) == found


def test_openai_says_it_when_a_stream_ends() -> None:
    begun = {**response(None), "status": "in_progress"}
    body = streamed(
        {"type": "response.created", "response": begun},
        {"type": "response.completed", "response": response(OPENAI)},
    )
    assert decode_reply(Surface.RESPONSES, body).diagnosis == OPENAI_MISS


def test_a_gateway_may_pass_it_on_in_chat_completions() -> None:
    beside = {
        "prompt_cache_diagnostics": OPENAI,
        "prompt_cache_options": {"comparison_response_id": "resp_1"},
    }
    whole = {"choices": [{"message": {"content": "hi"}}], **beside}
    assert diagnosed(Surface.CHAT_COMPLETIONS, whole) == OPENAI_MISS
    pieces = streamed({"choices": [{"delta": {"content": "hi"}}]}, {"choices": [], **beside}, {"choices": []})
    assert decode_reply(Surface.CHAT_COMPLETIONS, pieces).diagnosis == OPENAI_MISS


@pytest.mark.parametrize(
    ("surface", "asks", "named"),
    [
        (Surface.MESSAGES, {"diagnostics": {"previous_message_id": "msg_1"}}, "msg_1"),
        (Surface.MESSAGES, {"diagnostics": {"previous_message_id": None}}, None),
        (Surface.RESPONSES, {"prompt_cache_options": {"comparison_response_id": "resp_1"}}, "resp_1"),
        (Surface.RESPONSES, {"prompt_cache_options": {"mode": "explicit"}}, None),
        (Surface.RESPONSES, {}, None),
    ],
)
def test_a_request_names_what_it_wants_to_be_compared_with(
    surface: Surface, asks: dict[str, object], named: str | None
) -> None:
    key = "messages" if surface is Surface.MESSAGES else "input"
    body = json.dumps({"model": "m", key: [], **asks}).encode()
    assert comparison_asked(read_request(body, surface=surface).settings) == named
