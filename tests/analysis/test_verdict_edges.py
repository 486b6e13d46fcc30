"""Where verdicts end: near misses of settings, times, reports and entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.exchanges import DEEPSEEK
from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    HOUR,
    LONG,
    MARK,
    OPENAI,
    chat,
    exchange,
    finding,
    findings,
    marked,
    messages,
    responses,
    usage,
    words,
)
from coldturn.analysis.breaks.findings import Finding
from coldturn.analysis.verdicts.settings import kept_bytes
from coldturn.reference.prefix.request import read_request
from coldturn.traces.exchange import Exchange

NOTE = "Note one. " + "the same long line of this note, word for word, " * 4
KEPT = "What stands behind it and is sent again, " * 4


def with_header(one: Exchange, name: str, value: str) -> Exchange:
    return replace(one, request_headers=((name, value),))


def beside(found: Finding) -> list[str]:
    return [one.cause for one in found.alongside]


def claude(*texts: str, at: float | None = None, **more: object) -> Exchange:
    return exchange(marked(messages(*texts, **more), -1), ANTHROPIC, started=at)


def test_a_session_header_decides_nothing_on_anthropic() -> None:
    was, now = claude(LONG), claude(LONG, "yes", "go on")
    name = "x-claude-code-session-id"
    assert findings(with_header(was, name, "a"), with_header(now, name, "b")) == []


def test_a_session_header_takes_written_entries_too() -> None:
    was, now = (
        exchange(responses(*texts, model="gpt-5.6"), OPENAI) for texts in ((LONG, "a"), (LONG, "a", "b", "c"))
    )
    found = finding(with_header(was, "session_id", "a"), with_header(now, "session_id", "b"))
    assert (found.cause, found.read_estimated, found.lost_tokens_estimated) == ("cache_key_changed", 0, 5_000)


def test_betas_in_another_order_explain_nothing() -> None:
    was = exchange(marked(messages(LONG), -1), ANTHROPIC, usage(ANTHROPIC, 5_001, 0, 5_000), started=1.0)
    body = marked(messages(LONG, "yes", "go on"), -1)
    now = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_010, 0, 5_009), started=9.0)
    assert finding(
        *(with_header(one, "anthropic-beta", text) for one, text in ((was, "a,b"), (now, "b, a")))
    ).cause == ("provider_side")


def test_the_setting_that_takes_most_is_first_whatever_its_name() -> None:
    pair = claude(LONG), claude(LONG, "yes", "go on", speed="fast", tool_choice={"type": "any"})
    found = finding(*pair, rules="anthropic-messages", **{"tiers.tools": '["tool_choice"]'})
    assert (found.cause, beside(found)) == ("tool_choice_changed", ["service_tier_changed"])


def test_an_address_that_was_not_recorded_is_no_other_place() -> None:
    was, now = claude(LONG), exchange(marked(messages(LONG, "yes", "go on"), -1), "")
    assert findings(was, now) == []
    other = exchange(marked(messages(LONG, "yes", "go on"), -1), "https://openrouter.ai/api/v1/messages")
    assert finding(was, other).cause == "scope_changed"


def test_kept_bytes_of_a_chat_end_behind_its_system_message() -> None:
    body = {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "t"}}],
        "messages": [{"role": "system", "content": "SSSS"}, {"role": "user", "content": "u"}],
    }
    request = read_request(exchange(body, CHAT).request_body)
    tools = request.content_bytes - len("SSSSu")
    assert [kept_bytes(request, tiers) for tiers in (("tools",), ("system",), ("messages",))] == [
        0,
        tools,
        tools + 4,
    ]


def test_an_answer_shows_that_markers_were_taken_even_when_nothing_was_read() -> None:
    was = exchange(marked(messages(LONG), 0), ANTHROPIC, usage(ANTHROPIC, 5_001, 0, 5_000), started=0.0)
    body = marked(marked(messages(LONG, "yes", "go on"), 0), 2, marker=HOUR)
    missed = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_010, 0, 5_009), started=9.0)
    assert finding(was, missed).cause == "provider_side"


def test_a_changed_text_is_no_volatile_block() -> None:
    was = claude(LONG, NOTE, KEPT)
    now = claude("X" + LONG, NOTE, KEPT)
    assert beside(finding(was, now)) == []


def test_times_say_nothing_of_another_model() -> None:
    was = exchange(chat(LONG, NOTE, KEPT), CHAT, started=0.0)
    now = exchange(chat(LONG, NOTE, "X" + KEPT, "yes", model="gpt-5.1"), CHAT, started=9_999.0)
    found = finding(was, now)
    assert "ttl_expired" not in beside(found)
    assert "model_changed" in beside(found)
    assert (found.read_estimated, found.lost_tokens_estimated) == (0, found.readable_estimated)


def test_once_the_answer_began_a_miss_is_not_for_haste() -> None:
    first = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=10.0, answered=12.0)
    late = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=12.5, answered=13.0)
    assert finding(first, late).cause == "provider_side"


@pytest.mark.parametrize(
    ("gap", "causes"), [(600.0, ["ttl_downgraded", "ttl_expired"]), (7_200.0, ["ttl_expired"])]
)
def test_a_longer_lifetime_explains_no_longer_pause(gap: float, causes: list[str]) -> None:
    log = [
        exchange(marked(messages(LONG), 0, marker=HOUR), ANTHROPIC, started=0.0),
        claude(LONG, "yes", "go on", at=10.0),
        claude(LONG, "yes", "go on", "ok", "more", at=10.0 + gap),
    ]
    found = finding(*log)
    assert [found.cause, *beside(found)] == causes


def test_an_hour_that_was_not_granted_explains_no_longer_pause() -> None:
    short = usage(ANTHROPIC, 5_001, 0, 5_000, ephemeral_5m_input_tokens=5_000, ephemeral_1h_input_tokens=0)
    was = exchange(marked(messages(LONG), 0, marker=HOUR), ANTHROPIC, short, started=0.0)
    body = marked(messages(LONG, "yes", "go on"), 2, marker=HOUR)
    missed = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_010, 0, 5_009), started=9_000.0)
    assert [finding(was, missed).cause, *beside(finding(was, missed))] == ["ttl_expired"]


def test_answers_that_are_fed_back_are_part_of_a_unit() -> None:
    was = exchange(
        chat(LONG, "a", model="deepseek-chat"), DEEPSEEK, {**usage(CHAT, 5_001, 0), "completion_tokens": 640}
    )
    body = chat("X" + LONG, "a", words(640), "go on", model="deepseek-chat")
    found = finding(was, exchange(body, DEEPSEEK))
    assert found.readable_estimated == (5_001 + 640) - (5_001 + 640) % 64


def test_steps_of_a_provider_s_own_tools_are_no_measure() -> None:
    """Its report sums several steps up; neither a miss nor an entry can be told from it."""
    was = exchange(
        marked(messages(words(2_000)), 0), ANTHROPIC, usage(ANTHROPIC, 21_000, 20_000, 900), started=0.0
    )
    body = marked(messages(words(2_000), "yes", "go on"), 2)
    assert findings(was, exchange(body, ANTHROPIC, usage(ANTHROPIC, 15_000, 14_000, 300), started=9.0)) == []
    plain = exchange(body, ANTHROPIC, usage(ANTHROPIC, 2_010, 2_000, 9), started=9.0)
    assert findings(was, plain) == []
    chats = [
        exchange(chat("hello", *more), CHAT, usage(CHAT, 16_000, 0), started=9.0) for more in ((), ("a", "b"))
    ]
    assert findings(*chats) == []


def test_by_reference_the_report_stands_for_all_of_the_older_request() -> None:
    first = exchange(
        responses("Short.", LONG), OPENAI, usage(OPENAI, 5_002, 0), started=0.0, response_id="r1"
    )
    body = {**responses("Short.", "go on"), "previous_response_id": "r1"}
    assert (
        finding(first, exchange(body, OPENAI, usage(OPENAI, 5_020, 0), started=9.0)).cause == "provider_side"
    )


def test_looking_at_an_expired_entry_does_not_revive_it() -> None:
    log = [
        claude(LONG, at=0.0),
        claude(LONG, "yes", "go on", at=400.0),
        claude(LONG, "another", "way", at=500.0),
    ]
    assert [found.cause for found in findings(*log)] == ["ttl_expired", "ttl_expired"]
    assert "8 min 20 s" in (findings(*log)[1].evidence or "")


def test_a_long_lifetime_outlives_a_shorter_marker_at_the_same_place() -> None:
    log = [
        exchange(marked(messages(LONG), 0, marker=HOUR), ANTHROPIC, started=0.0),
        exchange(marked(messages(LONG, "yes", "go on"), 0), ANTHROPIC, started=10.0),
        exchange(marked(messages(LONG, "another", "way"), 0), ANTHROPIC, started=900.0),
    ]
    assert findings(*log) == []


@pytest.mark.parametrize(("url", "make"), [(OPENAI, responses), (CHAT, chat)])
def test_a_prompt_too_short_to_be_kept_does_not_expire(url: str, make: Any) -> None:  # noqa: ANN401 - a maker
    assert (
        findings(
            exchange(make("S", "a"), url, started=0.0), exchange(make("S", "a", "b", "c"), url, started=9e4)
        )
        == []
    )


def test_a_use_of_the_whole_prefix_starts_its_lifetime_anew() -> None:
    texts = [LONG, "a", *"bcdefgh"]
    log = [exchange(responses(*texts[: 2 + 2 * at]), OPENAI, started=500.0 * at) for at in range(4)]
    fork = exchange(responses(LONG, "a", "another", "way"), OPENAI, started=1_900.0)
    assert findings(*log, fork) == []
    late = exchange(responses(LONG, "a", "another", "way"), OPENAI, started=2_900.0)
    assert finding(*log, late).cause == "ttl_expired"


def test_a_setting_behind_everything_that_was_kept_is_no_break() -> None:
    system = [{"type": "text", "text": LONG, "cache_control": MARK}]
    pair = [
        exchange(messages("a", *more, system=system, tool_choice={"type": kind}), ANTHROPIC)
        for more, kind in (((), "any"), (("b", "c"), "none"))
    ]
    assert findings(*pair) == []


def test_reads_without_markers_show_that_somebody_sets_them() -> None:
    pair = [
        exchange(messages(LONG, *more), ANTHROPIC, usage(ANTHROPIC, 5_010, read, 0), started=float(read))
        for more, read in (((), 0), (("b", "c"), 5_000))
    ]
    assert findings(*pair) == []


def test_what_has_to_be_written_again_costs_the_price_of_writing() -> None:
    bodies = [marked(messages(word + LONG, NOTE, KEPT, model="claude-sonnet-5"), -1) for word in ("A", "B")]
    pair = [exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_100, 0, 5_090), started=1.79e9) for body in bodies]
    found = finding(*pair)
    assert found.cost_amount_estimated == pytest.approx(found.lost_tokens_estimated * 2.0 * 1.15 / 1e6)


def test_another_image_is_no_detail() -> None:
    def body(name: str, detail: str) -> dict[str, Any]:
        part = {
            "type": "image_url",
            "image_url": {"url": f"https://example.org/{name}.png", "detail": detail},
        }
        content = [part, {"type": "text", "text": LONG}]
        return {"model": "gpt-5.4", "messages": [{"role": "user", "content": content}]}

    found = finding(exchange(body("a", "low"), CHAT), exchange(body("b", "high"), CHAT))
    assert found.cause != "image_detail_changed"


def test_what_a_provider_s_own_tools_read_is_no_size_of_an_entry() -> None:
    was = exchange(
        marked(messages(words(2_000), NOTE, KEPT), -1), ANTHROPIC, usage(ANTHROPIC, 21_000, 20_000, 900)
    )
    found = finding(was, claude("X" + words(2_000), NOTE, KEPT))
    assert found.readable_estimated is not None
    assert found.readable_estimated < 2_200


def test_what_goes_on_from_an_answer_was_not_sent_beside_its_question() -> None:
    """Times of replays and of coarse clocks are equal for the steps of a turn."""
    was = exchange(chat(LONG, "a"), CHAT, started=5.0)
    assert findings(was, exchange(chat(LONG, "a", "b", "c"), CHAT, started=5.0)) == []
    assert finding(was, exchange(chat(LONG, "a"), CHAT, started=5.05)).cause == "concurrent_cold"
    assert findings(was, exchange(chat(LONG, "a"), CHAT, started=6.0)) == []
