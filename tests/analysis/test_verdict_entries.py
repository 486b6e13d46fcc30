"""What a text break costs by the provider's entry model, and what stands beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.exchanges import DEEPSEEK
from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    LONG,
    MARK,
    OPENAI,
    VERTEX,
    chat,
    exchange,
    finding,
    findings,
    marked,
    messages,
    reported,
    responses,
    usage,
    words,
)
from coldturn.analysis.breaks.findings import Verdict
from coldturn.traces.exchange import Exchange
from prefix.golden import system_prompt

EDITED = "Note one. " + "the same long line of this note, word for word, " * 4
KEPT = "What stands behind it and is sent again, " * 4


def edited(url_body: Any, *texts: str, **more: object) -> tuple[Exchange, Exchange]:  # noqa: ANN401 - a maker
    """A pair whose second request edits the text before the last and repeats the last."""
    url, make = url_body
    was = make(*texts, EDITED, KEPT, **more)
    now = make(*texts, EDITED.replace("one", "two"), KEPT, "and on", **more)
    return exchange(was, url), exchange(now, url)


def system_only(*texts: str, **more: object) -> dict[str, Any]:
    system = [{"type": "text", "text": LONG, "cache_control": MARK}]
    return messages(*texts, system=system, **more)


def test_a_change_behind_the_last_entry_breaks_nothing() -> None:
    found = finding(*edited((ANTHROPIC, system_only)))
    assert (found.verdict, found.lost_tokens_estimated) == (Verdict.BROKEN_HARMLESS, 0)
    assert found.lost_bytes > 0
    assert "behind the last entry" in (found.evidence or "")


def test_a_change_in_front_of_it_costs_back_to_the_entry_before() -> None:
    """Only written entries can be read: the loss is more than the bytes behind the place."""
    was = marked(system_only(words(3_000), EDITED, KEPT), 2)
    now = marked(system_only(words(3_000), EDITED.replace("one", "two"), KEPT, "yes", "go on"), 4)
    found = finding(exchange(was, ANTHROPIC), exchange(now, ANTHROPIC))
    assert found.verdict is Verdict.BROKEN
    assert found.read_estimated == 5_000
    assert found.readable_estimated == 5_000 + 3_000 + -(-(len(EDITED) + len(KEPT)) // 4)
    assert found.lost_tokens_estimated == found.readable_estimated - 5_000
    assert found.lost_tokens_estimated * 4 > found.lost_bytes * 20


def test_an_entry_of_an_earlier_request_counts() -> None:
    first = marked(messages(LONG), 0)
    second = marked(messages(LONG, EDITED, KEPT), 2)
    third = marked(messages(LONG, EDITED.replace("one", "two"), KEPT, "yes", "go on"), 4)
    found = findings(*(exchange(one, ANTHROPIC) for one in (first, second, third)))
    assert [one.read_estimated for one in found] == [5_000]


def test_implicit_breakpoints_of_openai() -> None:
    """Only the end of the latest user message was written: neither what stands behind it nor in front."""
    texts = (LONG, words(2_000), KEPT)
    was = exchange(responses(*texts, model="gpt-5.6"), OPENAI)
    tail = responses(LONG, words(2_000), KEPT.replace("sent", "said"), "go on", model="gpt-5.6")
    assert finding(was, exchange(tail, OPENAI)).verdict is Verdict.BROKEN_HARMLESS
    early = responses(LONG, words(1_999) + "new ", KEPT, "go on", model="gpt-5.6")
    found = finding(was, exchange(early, OPENAI))
    assert (found.verdict, found.lost_tokens_estimated) == (Verdict.BROKEN, 7_000)


def test_within_one_step_of_an_estimate_nothing_is_called_harmless() -> None:
    """39 steps of 128 tokens are 4,992, but where they end is estimated: only a report can tell."""
    bodies = chat(LONG, EDITED, KEPT), chat(LONG, EDITED.replace("one", "two"), KEPT, "and on")
    was, now = (exchange(body, CHAT) for body in bodies)
    found = finding(was, now)
    assert (found.verdict, found.readable_estimated, found.read_estimated) == (Verdict.BROKEN, 4_992, 4_992)
    assert found.lost_tokens_estimated == 0
    assert "nothing is lost by them" in (found.evidence or "")
    told = (
        exchange(bodies[0], CHAT, usage(CHAT, 5_100, 0)),
        exchange(bodies[1], CHAT, usage(CHAT, 5_110, 4_992)),
    )
    assert finding(*told).verdict is Verdict.BROKEN_HARMLESS


def test_a_text_that_goes_back_to_an_earlier_one_can_be_read() -> None:
    """A, B, A: what A left is still there, whatever the request in between sent."""
    tail = words(900)
    texts = [("A" + LONG, "a"), ("B" + LONG, "a", tail), ("A" + LONG, "a", tail)]
    there, back = findings(*(exchange(chat(*one), CHAT) for one in texts))
    assert (there.read_estimated, there.verdict) == (0, Verdict.BROKEN)
    assert (back.read_estimated, back.readable_estimated) == (4_992, 5_888)
    assert (back.lost_tokens_estimated, back.verdict) == (896, Verdict.BROKEN)
    logs = (exchange(marked(messages(*one), -1, -2), ANTHROPIC) for one in texts)
    assert [one.read_estimated for one in findings(*logs)] == [0, 5_000]
    read = [exchange(chat(*one), CHAT, usage(CHAT, 5_903, 0)) for one in texts]
    assert findings(*read)[1].read_estimated == 0
    other = [exchange(chat(*one, prompt_cache_key=str(at)), CHAT) for at, one in enumerate(texts)]
    assert findings(*other)[1].read_estimated == 0
    homes = [(("openai-organization", home),) for home in "abb"]
    other = [
        replace(exchange(chat(*one), CHAT), request_headers=home)
        for one, home in zip(texts, homes, strict=True)
    ]
    assert findings(*other)[1].read_estimated == 0


@pytest.mark.parametrize("word", [0, 2_500, 4_000])
def test_longest_prefixes_lose_whole_steps(word: int) -> None:
    was = exchange(chat(LONG, EDITED, KEPT), CHAT)
    now = exchange(chat(LONG[: 4 * word] + "X" + LONG[4 * word :], EDITED, KEPT), CHAT)
    found = finding(was, now)
    left = word - word % 128
    assert (found.read_estimated, found.lost_tokens_estimated) == (left, 4_992 - left)


def test_whole_units_are_lost_as_a_whole() -> None:
    first = exchange(chat(LONG, "a", model="deepseek-chat"), DEEPSEEK)
    second = exchange(chat(LONG, "a", EDITED, KEPT, model="deepseek-chat"), DEEPSEEK)
    third = exchange(
        chat(LONG, "a", EDITED.replace("one", "two"), KEPT, "and on", model="deepseek-chat"), DEEPSEEK
    )
    (found,) = findings(first, second, third)
    assert found.verdict is Verdict.BROKEN
    assert found.read_estimated == 5_001 - 5_001 % 64
    (alone,) = findings(second, third)
    assert alone.read_estimated == 0


def test_a_break_of_a_prompt_that_nobody_keeps_is_still_a_break() -> None:
    """The same change costs once the conversation is longer, and a gate should say so before."""
    found = finding(*edited((CHAT, chat), "Short."))
    assert (found.verdict, found.readable_estimated) == (Verdict.BROKEN, 0)
    assert (found.lost_bytes, found.lost_tokens_estimated) == (361, 0)
    assert found.evidence == (
        "below the 1,024-token minimum: costs nothing yet, about 91 tokens (estimated) once it is kept"
    )


def test_a_break_of_an_unmarked_prompt_loses_nothing_yet() -> None:
    found = finding(*(exchange(messages(f"{at}{LONG}", "a"), ANTHROPIC) for at in "AB"))
    assert (found.verdict, found.readable_estimated, found.lost_tokens_estimated) == (Verdict.BROKEN, 0, 0)
    assert "the older request wrote no entry: costs nothing yet, about 5,001 tokens" in (found.evidence or "")


def test_what_nobody_keeps_is_not_lost_to_key_order_either() -> None:
    """On Vertex AI the order of top-level keys is part of the key."""
    body = messages("Short.", "a")
    was = exchange(marked(body, -1), VERTEX)
    now = exchange(dict(reversed(marked(messages("Short.", "a", "b"), -1).items())), VERTEX)
    report = reported(was, now)
    assert sum(row.lost_tokens_estimated for row in report.causes) == 0


def test_shares_leave_out_what_lost_nothing() -> None:
    """A short prompt's clock beside a long one's: the long one lost all that was lost."""
    pairs = [
        exchange(chat(f"Time: {time} {body}", "a", *more), CHAT, source=body[:5])
        for body in ("Short.", LONG)
        for time, more in (("10:01", ()), ("10:02", ("b", "c")))
    ]
    (row,) = reported(*pairs).causes
    assert (row.cause, row.breaks, row.share) == ("clock_in_prefix", 2, 1.0)
    assert row.lost_tokens_estimated == 4_992


def test_a_chain_loses_what_the_provider_holds_of_it_too() -> None:
    """Tools stand in front of what earlier responses keep: without them all of that is read anew."""
    tool = {"type": "function", "name": "search", "parameters": {"type": "object"}}

    def sent(text: str, whole: int, read: int, name: str, **more: object) -> Exchange:
        body = {"model": "gpt-5.4", "instructions": "Be brief.", "input": text, **more}
        return exchange(body, OPENAI, usage(OPENAI, whole, read), response_id=name)

    first = sent(LONG, 5_020, 0, "r1", tools=[tool])
    second = sent(LONG, 10_040, 4_992, "r2", tools=[tool], previous_response_id="r1")
    found = finding(first, second, sent("more", 10_050, 0, "r3", previous_response_id="r2"))
    assert (found.cause, found.readable_estimated, found.read_estimated) == ("tool_removed", 9_984, 0)
    assert found.lost_tokens_estimated == 9_984


def test_without_rules_bytes_alone_decide() -> None:
    was, now = edited((CHAT, chat), LONG, model="mine")
    report = reported(was, now)
    assert report.lineages[0].rules is None
    (found,) = report.breaks
    assert (found.rules, found.readable_estimated, found.verdict) == (None, None, Verdict.BROKEN)
    assert found.lost_tokens_estimated == -(-found.lost_bytes // 4)


def test_a_report_of_the_whole_read_makes_a_break_harmless() -> None:
    was = exchange(chat(LONG, EDITED, KEPT), CHAT, usage(CHAT, 5_100, 0))
    now = chat(LONG[: len(LONG) // 2] + "new " + LONG[len(LONG) // 2 :], EDITED, KEPT)
    assert finding(was, exchange(now, CHAT, usage(CHAT, 5_101, 2_432))).verdict is Verdict.BROKEN
    assert finding(was, exchange(now, CHAT, usage(CHAT, 5_101, 4_992))).verdict is Verdict.BROKEN_HARMLESS


def test_tokens_follow_what_the_provider_counted() -> None:
    """Half as many tokens a byte as the rule of thumb says."""
    was = exchange(chat(LONG, EDITED, KEPT), CHAT, usage(CHAT, 2_550, 0))
    now = exchange(chat("X" + LONG, EDITED, KEPT), CHAT, usage(CHAT, 2_550, 0))
    assert finding(was, now).readable_estimated == 2_432


@pytest.mark.parametrize(("model", "beside"), [("gpt-5.4", ["ttl_expired"]), ("gpt-5.5", [])])
def test_a_lifetime_that_had_ended_is_named_beside_the_text(model: str, beside: list[str]) -> None:
    """The field report: 22 min 32 s between two requests whose catalogue grew."""
    prompts = (system_prompt(promoted=False), system_prompt(promoted=True))
    was, now = (
        exchange(
            responses(prompt, "Find it.", model=model), OPENAI, started=1_779_770_344.0 + 1_352.0 * index
        )
        for index, prompt in enumerate(prompts)
    )
    found = finding(was, now)
    assert found.cause == "catalog_growth"
    assert [one.cause for one in found.alongside] == beside
    if beside:
        assert "22 min 32 s" in (found.alongside[0].evidence or "")


def test_reasoning_behind_a_change_is_lost_with_it() -> None:
    def body(fact: str, model: str) -> dict[str, Any]:
        made = marked(messages(LONG + fact, "answer", "go on", model=model), 0, 2)
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
        made["messages"][1]["content"].insert(0, thinking)
        return made

    for model, lost in (("claude-opus-5", True), ("claude-sonnet-4-5", False)):
        pair = (exchange(body(fact, model), ANTHROPIC) for fact in ("a fact", "a fable"))
        assert finding(*pair).reasoning_invalidated is lost


def test_money_needs_a_dated_price_and_a_report() -> None:
    bodies = [chat(word + LONG, EDITED, KEPT, model="gpt-5.4") for word in ("A", "B")]
    plain = [exchange(body, CHAT) for body in bodies]
    assert finding(*plain).cost_amount_estimated is None
    told = [exchange(body, CHAT, usage(CHAT, 5_100, 0), started=1_790_000_000.0) for body in bodies]
    found = finding(*told)
    assert found.currency == "USD"
    assert found.cost_amount_estimated == pytest.approx(found.lost_tokens_estimated * 2.5 * 0.9 / 1e6)


def test_the_first_request_is_counted_and_not_listed() -> None:
    report = reported(exchange(chat(LONG, "a"), CHAT, usage(CHAT, 5_001, 0)))
    assert report.breaks == []
    assert report.lineages[0].verdicts == {Verdict.COLD_START: 1}


def test_another_conversation_is_judged_by_nothing_else() -> None:
    was = exchange(chat(words(300), "Where is it?", "There."), CHAT, started=0.0)
    now = exchange(chat(words(300), "Count to ten.", verbosity="low"), CHAT, started=9_999.0)
    found = finding(was, now)
    assert (found.kinds, found.alongside) == (("new_conversation",), ())
