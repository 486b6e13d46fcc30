"""The plateau: a small read that recurs while prompts are longer, and what is none."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.analysis.estimates.plateau import (
    RECURRING,
    SHARE,
    SMALL,
    PlateauCounter,
    plateaus,
    plateaus_of_frame,
)
from coldturn.analysis.estimates.registry import shipped
from coldturn.reference.prefix.model import Surface

RULES_55 = shipped().choose(Surface.RESPONSES, "", "gpt-5.5").parameters_for("gpt-5.5")
RULES_54 = shipped().choose(Surface.RESPONSES, "", "gpt-5.4").parameters_for("gpt-5.4")


def calls(
    *reads: int, input_tokens: int = 12_000, conversation: str = "c"
) -> list[tuple[str, str, int, int]]:
    return [(conversation, "m", input_tokens + 100 * at, read) for at, read in enumerate(reads)]


def test_a_read_of_1536_that_recurs_on_gpt_5_5_is_the_first_boundary() -> None:
    (only,) = plateaus(calls(0, 1_536, 1_536, 9_856, 1_536))
    assert (only.read, only.calls, only.inputs) == (1_536, 3, (12_100, 12_400))
    assert only.sentence(RULES_55) == (
        "a read of 1,536 tokens recurs: it is the breakpoint at 2,048 less 385 to 512 hidden tokens, so the "
        "prefix breaks between absolute tokens 2,048 and 4,095"
    )
    assert only.as_json(RULES_55)["broken_between_estimated"] == [2_048, 4_095]


def test_without_intervals_the_prompt_breaks_right_behind_it() -> None:
    (only,) = plateaus(calls(1_664, 1_664, 1_664))
    assert "within 128 tokens behind 1,664 each time" in only.sentence(RULES_54)
    assert "behind token 1,664 each time" in only.sentence()
    assert only.as_json(RULES_54)["boundary_estimated"] is None


def test_conversations_that_break_alike_are_told_once() -> None:
    (only,) = plateaus(
        [*calls(640, 640, 640), *calls(640, 640, 640, conversation="d"), *calls(640, conversation="e")]
    )
    assert (only.conversations, only.calls) == (("c", "d"), 6)


@pytest.mark.parametrize(
    "rows",
    [
        calls(1_536, 1_536),
        calls(0, 0, 0, 0),
        calls(6_400, 6_400, 6_400),
        calls(*(128 * at for at in range(1, 90))),
        calls(*[1_536] * RECURRING, *range(20_000, 20_000 + int(RECURRING / SHARE)), input_tokens=90_000),
        [row for at in range(9) for row in calls(1_536, 1_536, conversation=f"c{at}")],
    ],
    ids=["twice", "nothing", "most of the input", "rising", "chance", "once or twice each"],
)
def test_what_is_no_plateau(rows: list[tuple[str, str, int, int]]) -> None:
    assert plateaus(rows) == []


def test_rows_without_a_number_are_left_out() -> None:
    rows: list[tuple[str, str, int | None, int | None]] = [
        *calls(640, 640, 640),
        ("c", "m", None, 640),
        ("c", "m", 9, None),
    ]
    assert [one.calls for one in plateaus(rows)] == [3]


def test_a_frame_says_the_same() -> None:
    rows = calls(640, 640, 640)
    frame = pl.DataFrame(rows, schema=["who", "model", "whole", "part"], orient="row")
    named = {"input_tokens": "whole", "read": "part"}
    assert plateaus_of_frame(frame, **named, conversation="who", model="model") == plateaus(rows)
    (alone,) = plateaus_of_frame(frame, **named, conversation=None, model=None)
    assert (alone.model, alone.conversations) == ("", ("",))


@given(
    reads=st.lists(st.sampled_from([0, 128, 640, 1_536, 5_000]), max_size=40),
    input_tokens=st.integers(1, 20_000),
)
def test_the_thresholds_are_what_they_say(reads: list[int], input_tokens: int) -> None:
    counter = PlateauCounter()
    for read in reads:
        counter.add(input_tokens, read)
    expected = {
        read
        for read in set(reads)
        if 0 < read <= SMALL * input_tokens and reads.count(read) >= max(RECURRING, SHARE * len(reads))
    }
    assert {one.read for one in counter.found()} == expected


def test_memory_is_bounded_and_what_recurs_stays() -> None:
    counter = PlateauCounter()
    for at in range(5_000):
        counter.add(100_000, 1_536 if at % 5 == 0 else 2_000 + at)
    assert [one.read for one in counter.found()] == [1_536]
