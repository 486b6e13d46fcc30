"""Worked examples of entries that end at markers, with their exact figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.exchanges import ANTHROPIC, exchange, reads, report, rows, words
from coldturn.analysis.entries.request import CacheRequest, Reading, Write
from coldturn.analysis.entries.store import EntryStore
from coldturn.analysis.entries.written import WrittenEntries
from coldturn.traces.exchange import Exchange

MODEL = "claude-sonnet-5"
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
BLOCK = 250
"""Tokens of a block in these prompts."""


def text(name: str, tokens: int = BLOCK, /, **marker: object) -> dict[str, Any]:
    return {"type": "text", "text": words(tokens, f"{name:>3}"), **marker}


def blocks(count: int, *marked: int, changed: int | None = None, tag: str = "t") -> list[dict[str, Any]]:
    """User messages of one block each, so many of them; those of these numbers (from 1) carry a marker."""
    return [
        {
            "role": "user",
            "content": [text(f"{tag if n == changed else 'b'}{n}", **(MARK if n in marked else {}))],
        }
        for n in range(1, count + 1)
    ]


def body(messages: Sequence[dict[str, Any]], /, **more: object) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 1, "messages": list(messages), **more}


def sent(messages: Sequence[dict[str, Any]], started: float | None = None, /, **more: object) -> Exchange:
    return exchange(body(messages, **more), ANTHROPIC, started=started)


def tokens(count: int) -> int:
    return BLOCK * count


def test_turns_of_10_15_and_35_blocks() -> None:
    """At 35 positions 35 to 16 are looked at; 15 is one outside."""
    found = reads([sent(blocks(10, 10)), sent(blocks(15, 15)), sent(blocks(35, 35))])
    assert found == [(0, tokens(10)), (tokens(10), tokens(5)), (0, tokens(35))]


def test_a_second_marker_at_15_hits() -> None:
    found = reads([sent(blocks(10, 10)), sent(blocks(15, 15)), sent(blocks(35, 15, 35))])
    assert found[2] == (tokens(15), tokens(20))


def test_twenty_positions_are_looked_at_the_marked_one_included() -> None:
    assert reads([sent(blocks(10, 10)), sent(blocks(29, 29))])[1] == (tokens(10), tokens(19))
    assert reads([sent(blocks(10, 10)), sent(blocks(30, 30))])[1] == (0, tokens(30))


def test_a_timestamp_at_block_6_makes_every_request_write_and_none_read() -> None:
    found = reads(sent(blocks(6, 6, changed=6, tag=f"{minute}")) for minute in range(4))
    assert found == [(0, tokens(6))] * 4
    # In front of it the prefix stands still: a marker there is what helps.
    mended = reads(sent(blocks(6, 5, changed=6, tag=f"{minute}")) for minute in range(3))
    assert mended == [(0, tokens(5)), (tokens(5), 0), (tokens(5), 0)]


def test_a_lifetime_counts_from_the_start_of_the_request() -> None:
    """A 5 minute entry with an answer of 4 minutes leaves about one minute."""
    generated = 240.0
    assert reads([sent(blocks(10, 10), 0.0), sent(blocks(11, 11), generated + 60)])[1][0] == tokens(10)
    assert reads([sent(blocks(10, 10), 0.0), sent(blocks(11, 11), generated + 61)])[1][0] == 0


def test_a_read_starts_the_lifetime_anew() -> None:
    times = [0.0, 290.0, 580.0, 870.0]
    found = reads(sent(blocks(10, 10), started) for started in times)
    assert [read for read, _ in found] == [0, tokens(10), tokens(10), tokens(10)]


def test_an_hour_marker_lives_for_an_hour() -> None:
    messages = blocks(10, 10)
    messages[9]["content"][0].update(HOUR)
    assert reads([sent(messages, 0.0), sent(messages, 3_600.0)])[1][0] == tokens(10)
    assert reads([sent(messages, 0.0), sent(messages, 3_601.0)])[1][0] == 0


def test_mixed_lifetimes_are_billed_apart() -> None:
    """A = highest hit, B = highest hour marker behind it, C = last marker: A, then B-A, then C-B."""
    cache = WrittenEntries(minimum=1_024, ttl=300, long_ttl=3_600, store=EntryStore(ttl=300))
    ends = [2_000, 5_000, 9_000]
    first = CacheRequest("abc", ends, 0.0, probes=(0,), writes=(Write(0, 3_600.0),))
    assert cache.observe(first) == Reading(0, 2_000, 2_000)
    second = CacheRequest("abc", ends, 1.0, probes=(0, 1, 2), writes=(Write(1, 3_600.0), Write(2, 300.0)))
    assert cache.observe(second) == Reading(read=2_000, written=7_000, written_long=3_000)
    # Ten minutes on, the five minute entry is gone and the hour one is not.
    third = CacheRequest("abc", ends, 601.0, probes=(0, 1, 2), writes=(Write(2, 300.0),))
    assert cache.observe(third) == Reading(read=5_000, written=4_000, written_long=0)


@settings(deadline=None, max_examples=30)
@given(
    grown=st.lists(st.integers(1, 19), min_size=1, max_size=8),
    gaps=st.lists(st.integers(0, 300), min_size=8, max_size=8),
)
def test_on_an_intact_chain_each_request_reads_what_the_one_before_read_and_wrote(
    grown: list[int], gaps: list[int]
) -> None:
    log, size, now = [], 6, 0.0
    for more, gap in zip((0, *grown), (0, *gaps), strict=False):
        size, now = size + more, now + gap
        log.append(sent(blocks(size, size), now))
    found = reads(log)
    for (read, written), (then, _) in pairwise(found):
        assert read is not None
        assert written is not None
        assert then == read + written


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-opus-5", 512), ("claude-opus-5-5", 512), ("claude-fable-5-1", 512),
        ("claude-mythos-5-1", 512),
        ("claude-sonnet-4-5-20250929", 1_024), ("claude-sonnet-4-6", 1_024), ("claude-sonnet-5", 1_024),
        ("claude-opus-4-8", 1_024), ("claude-opus-4-7", 2_048), ("claude-3-5-haiku-20241022", 2_048),
        ("claude-fable-5", 512),
        ("claude-opus-4-5", 4_096), ("claude-opus-4-6", 4_096), ("claude-haiku-4-5-20251001", 4_096),
    ],
)  # fmt: skip
def test_the_minimum_of_each_model(model: str, minimum: int) -> None:
    for size, written in ((minimum - 1, 0), (minimum, minimum)):
        message = {"role": "user", "content": [text("x", size, **MARK)]}
        assert reads([sent([message], model=model)] * 2) == [(0, written), (written, 0)]


def test_a_model_whose_minimum_nobody_knows_is_not_guessed_at() -> None:
    found = report([sent(blocks(10, 10), model="claude-nova-9")])
    assert found.requests[0].read_estimated is None
    assert "know no minimum for model claude-nova-9" in found.errors[0].message
    settled = reads([sent(blocks(10, 10), model="claude-nova-9")], minimum="1024")
    assert settled == [(0, tokens(10))]


def test_a_fifth_marker_and_a_late_hour_are_refused() -> None:
    five = rows([sent(blocks(12, 8, 9, 10, 11, 12))])[0]
    assert (five.read_estimated, five.written_estimated, list(five.flags)[-1]) == (0, 0, "refused_by_rules")
    late = blocks(12, 8)
    late[11]["content"][0].update(HOUR)
    assert "refused_by_rules" in rows([sent(late)])[0].flags
    early = blocks(12, 12)
    early[7]["content"][0].update(HOUR)
    assert rows([sent(early)])[0].written_estimated == tokens(12)


def test_one_marker_for_the_whole_request_lands_on_the_last_block() -> None:
    found = reads([sent(blocks(10), **MARK), sent(blocks(12), **MARK)])
    assert found == [(0, tokens(10)), (tokens(10), tokens(2))]
    # It takes one of the four.
    assert "refused_by_rules" in rows([sent(blocks(12, 7, 8, 9, 10), **MARK)])[0].flags


def _calls(count: int) -> list[dict[str, Any]]:
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"n": n}} for n in range(count)]
    answers = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": f"r{n}"} for n in range(count)]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": answers}]


def test_runs_of_calls_and_of_results_are_one_position_each() -> None:
    head = blocks(10, 10)
    longer = [*blocks(10), *_calls(40), *blocks(1, 1)]
    assert reads([sent(head), sent(longer)])[1][0] == tokens(10)
    # The same number of single blocks is out of reach.
    assert reads([sent(head), sent([*blocks(10), *blocks(81, 81)])])[1][0] == 0


def test_moved_markers_are_no_change() -> None:
    found = reads([sent(blocks(10, 10)), sent(blocks(11, 11)), sent(blocks(12, 12))])
    assert [read for read, _ in found] == [0, tokens(10), tokens(11)]


TOOLS = [{"name": "look", "description": words(1_500), "input_schema": {"type": "object"}, **MARK}]
SYSTEM = [text("sys", 1_500, **MARK)]


def _read_after(**change: object) -> int:
    """What is read after a change, with markers behind tools, system and messages."""
    base = {"tools": TOOLS, "system": SYSTEM}
    read = rows([sent(blocks(10, 10), **base), sent(blocks(10, 10), **{**base, **change})])[1].read_estimated
    assert read is not None
    return read


def test_settings_lose_the_tiers_behind_them() -> None:
    tools = _read_after(speed="fast")
    assert 1_500 <= tools < 1_600
    for change in (
        {"tool_choice": {"type": "any"}},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        {"thinking": {"type": "enabled", "budget_tokens": 1_024}},
        {"output_config": {"effort": "low"}},
    ):
        assert _read_after(**change) == tools + 1_500
    # What loses the system loses the messages behind it, whatever their own settings are.
    fixed = {"tool_choice": {"type": "any"}, "tools": TOOLS, "system": SYSTEM}
    pair = (sent(blocks(10, 10), **fixed), sent(blocks(10, 10), **fixed, speed="fast"))
    assert rows(pair)[1].read_estimated == tools
    assert _read_after(temperature=0.5) == tools + 1_500 + tokens(10)
    assert _read_after(tools=[{**TOOLS[0], "description": words(1_500, "new")}]) == 0


def test_an_image_anywhere_loses_the_messages() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 9_000}}
    with_image = [*blocks(10, 10), {"role": "user", "content": [image]}]
    found = rows([sent(blocks(10, 10), system=SYSTEM), sent(with_image, system=SYSTEM)])
    assert found[1].read_estimated == 1_500
    # Its text says nothing of what it costs the model: it counts 1,600 tokens at most.
    assert abs(found[1].input_estimated - (1_500 + tokens(10) + 1_600)) <= 2


def test_deferred_tools_are_outside_the_key() -> None:
    late = {"name": "late", "description": "d" * 400, "input_schema": {}, "defer_loading": True}
    found = reads(
        [
            sent(blocks(10, 10), tools=TOOLS),
            sent(blocks(10, 10), tools=[late, *TOOLS]),
            sent(blocks(10, 10), tools=[{**late, "defer_loading": False}, *TOOLS]),
        ]
    )
    assert found[1] == (found[0][1], 0)
    assert found[2][0] == 0


@pytest.mark.parametrize(("model", "kept"), [("claude-sonnet-4-5", False), ("claude-sonnet-5", True)])
def test_older_models_drop_earlier_thinking_at_a_plain_user_message(model: str, *, kept: bool) -> None:
    question = {"role": "user", "content": [text("ask", 1_500)]}
    thought = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm " * 500, "signature": "s"},
            {"type": "tool_use", "id": "c", "name": "look", "input": {}},
        ],
    }
    answer = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r", **MARK}],
    }
    plain = {"role": "user", "content": [text("new", 100, **MARK)]}
    first, second = (
        sent([question, thought, answer], model=model),
        sent([question, thought, answer, plain], model=model),
    )
    found = reads([first, first, second])
    assert found[1][0] == found[0][1]
    assert (found[2][0] == found[0][1]) is kept


def test_identical_requests_at_once_all_miss() -> None:
    """An entry is readable once the first answer begins."""
    cache = WrittenEntries(minimum=0, ttl=300, long_ttl=None, store=EntryStore(ttl=300))

    def ask(started: float) -> int:
        return cache.observe(
            CacheRequest("a", [9], started, started + 2.0, probes=(0,), writes=(Write(0),))
        ).read

    assert [ask(started) for started in (0.0, 0.5, 1.0, 1.9)] == [0, 0, 0, 0]
    assert ask(2.0) == 9


@pytest.mark.parametrize(
    ("model", "change", "flagged"),
    [
        ("claude-sonnet-5", "front", True),
        ("claude-sonnet-5", "behind", False),
        ("claude-sonnet-5", "reasoning", False),
        ("claude-sonnet-4-5", "front", False),
    ],
)
def test_reasoning_behind_a_changed_prefix_is_lost_too(model: str, change: str, *, flagged: bool) -> None:
    def asked(changed: str) -> Exchange:
        thought = f"hm {changed == 'reasoning'} " * 300
        return sent(
            [
                {"role": "user", "content": [text("ask", 1_500), text(str(changed == "front"), 50)]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": thought, "signature": "s"},
                    {"type": "tool_use", "id": "c", "name": "look", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": f"r {changed == 'behind'}"}
                ]},
            ],
            model=model,
        )  # fmt: skip

    found = rows([asked("nothing"), asked(change)])[1]
    assert ("reasoning_invalidated" in found.flags) is flagged
