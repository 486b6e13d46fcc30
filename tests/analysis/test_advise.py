"""Advice: each simulated mend is held against the same conversation, really sent in the mended way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.analysis.advise.advisor import Survey, advise
from coldturn.analysis.advise.mender import Mender
from coldturn.analysis.advise.report import Advice, Remedy
from coldturn.analysis.advise.ways import WAYS, Mend
from coldturn.analysis.breaks.explain import Compared, Explainer
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.exchange import Exchange, ExchangeKind

Body = dict[str, Any]
RULES = "https://api.ceiling.example/v1/chat/completions"
PAD = "The clerk answers briefly and never guesses. " * 40


def exchanges(
    bodies: Sequence[Body], *, url: str = RULES, every: float = 10.0, source: str = "x"
) -> Callable[[], list[Exchange]]:
    made = [
        Exchange(
            source=source,
            entry=entry,
            kind=ExchangeKind.MODEL,
            method="POST",
            url=url,
            request_body=json.dumps(body).encode(),
            response_body=None,
            status=200,
            content_type="application/json",
            started=1_780_000_000.0 + every * entry,
            fidelity=Fidelity.WIRE,
        )
        for entry, body in enumerate(bodies)
    ]
    return lambda: made


def by_pages() -> RequestEstimator:
    """Every earlier prefix can be read, to the token."""
    return RequestEstimator(EstimateOptions(rules="sglang"))


def advised(bodies: Sequence[Body], url: str = RULES, every: float = 10.0) -> Advice:
    estimators = RequestEstimator if url == CLAUDE else by_pages
    return advise(exchanges(bodies, url=url, every=every), estimators)


def remedy(advice: Advice, cause: str) -> Remedy:
    return next(one for one in advice.remedies if one.cause == cause)


def tool(name: str, **properties: str) -> Body:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {
        "type": "function",
        "function": {"name": name, "description": f"{name}: {PAD[:200]}", "parameters": schema},
    }


def turn(number: int) -> list[Body]:
    return [
        {"role": "user", "content": f"Question {number}: " + "where is it, and since when? " * 9},
        {"role": "assistant", "content": f"Answer {number}: " + "it is in the other drawer. " * 9},
    ]


def chat(count: int, system: Callable[[int], str], tools: Callable[[int], list[Body]]) -> list[Body]:
    """A conversation of so many requests; what the functions get is the request's number."""
    bodies = []
    history: list[Body] = []
    for number in range(count):
        question, answer = turn(number)
        history.append(question)
        messages = [{"role": "system", "content": system(number)}, *history]
        bodies.append({"model": "m", "tools": tools(number), "messages": messages})
        history.append(answer)
    return bodies


def still(_: int) -> str:
    return f"# Clerk\n\n{PAD}"


TOOLS = [tool(name, path="string", depth="integer") for name in ("read", "write", "search", "move")]


def read_of(bodies: Sequence[Body]) -> int:
    return advised(bodies).before.read


def test_a_pinned_order_reads_what_a_pinned_order_reads() -> None:
    moving = chat(4, still, lambda n: TOOLS if n % 2 else TOOLS[::-1])
    found = remedy(advised(moving), "tool_order")
    assert found.breaks == 3
    assert found.after is not None
    assert found.after.read == read_of(chat(4, still, lambda _: TOOLS)) > found.before.read
    assert found.saved == found.after.read - found.before.read


def test_schemas_keep_the_key_order_of_the_first_request() -> None:
    def shuffled(number: int) -> list[Body]:
        keys = ("path", "depth") if number % 2 else ("depth", "path")
        return [tool("read", **dict.fromkeys(keys, "string")), *TOOLS[1:]]

    found = remedy(advised(chat(3, still, shuffled)), "schema_key_order")
    assert found.after is not None
    assert found.after.read == read_of(chat(3, still, lambda _: shuffled(0)))


def test_one_of_two_causes_at_one_place_is_mended_alone() -> None:
    """Order and key order both move: mending one leaves the other, mending both leaves none."""

    def both(number: int) -> list[Body]:
        keys = ("path", "depth") if number % 2 else ("depth", "path")
        array = [tool(name, **dict.fromkeys(keys, "string")) for name in ("read", "write", "search")]
        return array if number % 2 else array[::-1]

    advice = advised(chat(3, still, both))
    alone = [remedy(advice, cause).after for cause in ("tool_order", "schema_key_order")]
    ideal = read_of(chat(3, still, lambda _: both(0)))
    assert all(one is not None and one.read < ideal for one in alone)
    assert advice.together is not None
    assert advice.together.read == ideal


def test_a_clock_moves_behind_everything() -> None:
    def clock(number: int) -> str:
        return f"# Clerk\n\n{PAD}\n\n## Current Time\n2026-11-30 10:0{number}:17\n\n## Rules\n{PAD}"

    found = remedy(advised(chat(4, clock, lambda _: TOOLS)), "clock_in_prefix")
    assert found.after is not None
    fixed = chat(4, lambda _: clock(0), lambda _: TOOLS)
    assert found.after.read == read_of(fixed)
    # The time is still sent: a line of 20 bytes more in each request but the first.
    assert found.after.input - advised(fixed).before.input == 3 * 5


def test_a_clock_and_a_growing_list_in_one_text_are_told_apart() -> None:
    def text(number: int) -> str:
        names = "".join(f"- tool_{name}: does what its name says\n" for name in range(4 + number))
        return f"# Clerk\n\n## Current Time\n10:0{number}\n\n## Rules\n{PAD}\n\n## Tool Catalog\n{names}"

    advice = advised(chat(3, text, lambda _: TOOLS))
    clock, growth = remedy(advice, "clock_in_prefix"), remedy(advice, "catalog_growth")
    assert clock.after is not None
    assert growth.after is not None
    assert advice.together is not None
    assert clock.before.read == growth.after.read < clock.after.read < advice.together.read

    def without_clock(number: int) -> str:
        return text(number).replace(f"10:0{number}", "10:00")

    assert clock.after.read == read_of(chat(3, without_clock, lambda _: TOOLS))
    assert advice.together.read >= read_of(chat(3, lambda _: text(0), lambda _: TOOLS))


def test_a_tool_that_arrives_late_is_defined_behind_the_history_and_stays_there() -> None:
    late = tool("late", path="string")
    growing = chat(4, still, lambda n: TOOLS if n < 2 else [*TOOLS, late])
    found = remedy(advised(growing), "tool_added")
    assert found.after is not None

    right = chat(4, still, lambda _: TOOLS)
    note = {"role": "user", "content": json.dumps(late)}
    for body in right[2:]:
        body["messages"].insert(4, note)
    assert found.after.read == read_of(right)
    assert found.after.input == advised(right).before.input


def test_a_tool_that_left_stays() -> None:
    leaving = chat(4, still, lambda n: TOOLS if n < 2 else TOOLS[1:])
    found = remedy(advised(leaving), "tool_removed")
    assert found.after is not None
    assert found.after.read == read_of(chat(4, still, lambda _: TOOLS))


def _with_results(elided: Callable[[int, int], bool]) -> list[Body]:
    """Turns of two steps, each with a long result; `elided(request, result)` tells what is shortened."""
    bodies: list[Body] = []
    history: list[Body] = []
    results: list[int] = []
    for number in range(6):
        if number % 2 == 0:
            history.append({"role": "user", "content": f"Task {number}. " + PAD[:300]})
        shown = []
        for message in history:
            result = message.get("result")
            text = f"[result {result} elided]" if result is not None and elided(number, result) else None
            plain = {key: value for key, value in message.items() if key != "result"}
            shown.append(plain if text is None else {**plain, "content": text})
        system = {"role": "system", "content": still(0)}
        bodies.append({"model": "m", "messages": [system, *shown]})
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"n":{number}}}'},
        }
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = f"result {number}: " + f"line {number} of the file. " * 60
        history.append({"role": "tool", "tool_call_id": f"c{number}", "content": text, "result": number})
        results.append(number)
    return bodies


def test_a_moving_elision_waits_for_the_next_turn() -> None:
    moving = _with_results(lambda request, result: result < request - 1)
    advice = advised(moving)
    found = remedy(advice, "elision_moving_boundary")
    assert found.after is not None
    planned = _with_results(lambda request, result: result < request - request % 2 - 1)
    assert found.after.read == read_of(planned)
    assert found.after.input == advised(planned).before.input


SONNET = "claude-sonnet-4-5"
CLAUDE = "https://api.anthropic.com/v1/messages"
EPHEMERAL = {"type": "ephemeral"}


def claude(count: int, *, marked: bool = True, **members: Callable[[int], Any]) -> list[Body]:
    bodies = []
    history: list[Body] = []
    for number in range(count):
        question, answer = turn(number)
        history.append({"role": "user", "content": [{"type": "text", "text": question["content"]}]})
        system: list[Body] = [{"type": "text", "text": PAD * 6}]
        body: Body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "system": system,
            "messages": list(history),
        }
        if marked:
            last = {"type": "text", "text": question["content"], "cache_control": EPHEMERAL}
            body["messages"][-1] = {"role": "user", "content": [last]}
        bodies.append(body | {name: value(number) for name, value in members.items()})
        history.append({"role": "assistant", "content": answer["content"]})
    return bodies


def test_a_setting_keeps_its_value() -> None:
    def choice(number: int) -> Body:
        return {"type": "auto"} if number < 2 else {"type": "any"}

    found = remedy(advised(claude(4, tool_choice=choice), url=CLAUDE), "tool_choice_changed")
    assert found.after is not None
    assert found.after.read == advised(claude(4, tool_choice=lambda _: choice(0)), url=CLAUDE).before.read
    assert found.saved is not None
    assert found.saved > 0


def test_markers_are_set_where_there_are_none() -> None:
    found = remedy(advised(claude(3, marked=False), url=CLAUDE), "breakpoint_missing")
    assert found.after is not None
    assert (found.before.read, found.after.read) == (0, advised(claude(3), url=CLAUDE).before.read)


def test_a_longer_lifetime_outlasts_a_pause() -> None:
    slow = advised(claude(3), url=CLAUDE, every=360.0)
    found = remedy(slow, "ttl_expired")
    assert found.after is not None
    assert found.before.read == 0
    assert found.after.read == advised(claude(3), url=CLAUDE).before.read


def test_what_no_request_can_mend_has_no_figure() -> None:
    bodies = claude(2, model=lambda n: f"claude-sonnet-4-5{'' if n else '-20250929'}")
    advice = advised(bodies, url=CLAUDE)
    assert all(one.saved is None for one in advice.remedies if WAYS[one.cause].mend is Mend.NONE)
    short = [
        {"model": "claude-sonnet-4-5", "max_tokens": 9, "cache_control": EPHEMERAL, "messages": turn(0)[:1]}
    ]
    short.append({**short[0], "messages": [*turn(0), *turn(1)[:1]]})
    below = remedy(advised(short, url=CLAUDE), "below_minimum")
    assert (below.saved, below.as_json()["hit_rate_after_estimated"]) == (None, None)


def test_a_conversation_that_only_grows_has_nothing_to_mend() -> None:
    advice = advised(chat(3, still, lambda _: TOOLS))
    assert (advice.remedies, advice.together, advice.requests) == ([], None, 3)


def test_every_cause_has_a_way_and_no_way_lacks_a_cause() -> None:
    assert WAYS.keys() - {"unknown"} == ALL_REMEDIES.keys() - {"unknown"}
    assert all(way.wire.endswith(".") and way.trade_off.endswith(".") for way in WAYS.values())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.permutations(range(4)), min_size=2, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_mending_all_never_reads_less_and_no_mend_reads_more_than_the_ceiling(
    orders: list[list[int]], clocks: list[int]
) -> None:
    def system(number: int) -> str:
        return f"# Clerk\n\nCurrent time: 10:0{clocks[number]}\n\n{PAD[:600]}"

    bodies = chat(len(orders), system, lambda n: [TOOLS[at] for at in orders[n]])
    advice = advised(bodies)
    for sums in [one.after for one in advice.remedies] + [advice.together]:
        if sums is not None:
            assert sums.read <= sums.ceiling
    if advice.together is not None:
        assert advice.together.read >= advice.before.read


def test_a_mender_of_nothing_hands_requests_on() -> None:
    seen: list[Compared] = []
    explainer = Explainer(compared=seen.append)
    for one in exchanges(chat(3, still, lambda n: TOOLS[n:]))():
        explainer.add(one)
    mender = Mender([])
    assert all(mender.mend(one) == (one.request, one.parent_request) for one in seen)


def test_the_survey_counts_requests_by_cause() -> None:
    survey = Survey()
    for one in exchanges(chat(4, still, lambda n: TOOLS if n % 2 else TOOLS[::-1]))():
        survey.add(one)
    assert survey.causes == {"tool_order": 3}


@pytest.mark.parametrize("count", [2, 5])
def test_the_shape(count: int) -> None:
    document = advised(chat(count, still, lambda n: TOOLS if n % 2 else TOOLS[::-1])).as_json()
    assert document["schema"] == "coldturn.advise/1"
    (row,) = document["remedies"]
    assert row.keys() >= {
        "cause", "breaks", "saved_tokens_estimated", "hit_rate_before_estimated", "hit_rate_after_estimated",
        "remedy", "trade_off",
    }  # fmt: skip
    assert 0 <= row["hit_rate_before_estimated"] < row["hit_rate_after_estimated"] < 1
    assert document["errors"] == []


def gemini(tools: Callable[[int], list[str]]) -> list[Body]:
    bodies = []
    for number in range(4):
        said = [{"role": "user", "parts": [{"text": f"Question {one}"}]} for one in range(number + 1)]
        declared = [{"name": name, "description": PAD[:300]} for name in tools(number)]
        system = {"parts": [{"text": PAD * 6}]}
        bodies.append(
            {"systemInstruction": system, "tools": [{"functionDeclarations": declared}], "contents": said}
        )
    return bodies


def converse(tools: Callable[[int], list[str]]) -> list[Body]:
    bodies = []
    for number in range(4):
        said = [{"role": "user", "content": [{"text": f"Question {one}"}]} for one in range(number + 1)]
        specs = [{"toolSpec": {"name": name, "description": PAD[:300]}} for name in tools(number)]
        bodies.append({"system": [{"text": PAD * 6}], "toolConfig": {"tools": specs}, "messages": said})
    return bodies


@pytest.mark.parametrize(
    ("made", "url"),
    [
        (gemini, "https://h.example/models/m:generateContent"),
        (converse, "https://h.example/model/m/converse"),
    ],
)
def test_tools_that_stand_deeper_in_a_body_are_mended_too(
    made: Callable[[Callable[[int], list[str]]], list[Body]], url: str
) -> None:
    names = ["read", "write", "search"]
    pinned = advised(made(lambda _: names), url=url).before.read
    shuffled = remedy(advised(made(lambda n: names if n % 2 else names[::-1]), url=url), "tool_order")
    assert shuffled.after is not None
    assert shuffled.before.read < shuffled.after.read == pinned
    grown = remedy(advised(made(lambda n: names if n < 2 else [*names, "late"]), url=url), "tool_added")
    assert grown.after is not None
    assert grown.before.read < pinned <= grown.after.read


@pytest.mark.parametrize("odd", [b'"\xff"', b"[" * 5_000 + b"]" * 5_000])
def test_what_cannot_be_decoded_counts_as_it_was_sent(odd: bytes) -> None:
    bodies = chat(3, still, lambda n: TOOLS if n % 2 else TOOLS[::-1])
    made = [
        replace(one, request_body=one.request_body.replace(b'"path": {"type": "string"}', b'"path": ' + odd))
        for one in exchanges(bodies)()
    ]
    advice = advise(lambda: made, by_pages)
    found = remedy(advice, "tool_order")
    assert found.after == found.before
    assert [error.entry for error in advice.errors if "no mend of it" in error.message] == [1, 2]
