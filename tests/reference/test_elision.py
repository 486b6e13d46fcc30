from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.previews import cut_failure, preview
from coldturn.reference.prompt.elision import Limits, shorten
from coldturn.reference.records import ToolResult
from coldturn.reference.tokens import estimate_tokens

LIMITS = Limits(result=100, batch=300, preview=20, failure=40)


def result(number: int, text: str, *, error: bool = False, reads: str | None = None) -> ToolResult:
    return ToolResult(
        turn=0,
        step=number // 3,
        call_id=f"call_{number}",
        name="look",
        handle=f"r{number}-abcdef01",
        text=text,
        is_error=error,
        route="direct",
        reads=reads,
    )


def sized(number: int, tokens: int, *, error: bool = False) -> ToolResult:
    return result(number, chr(ord("a") + number % 26) * (tokens * 4), error=error)


def handles(results: list[ToolResult], limits: Limits = LIMITS) -> set[int]:
    shown = shorten(results, limits)
    return {number for number, one in enumerate(results) if one.handle in shown}


@pytest.mark.requirement("BIG-3")
def test_below_the_result_threshold_in_all_nothing_happens() -> None:
    assert handles([sized(0, 50), sized(1, 49)]) == set()
    # At the threshold the rule goes on, and finds nothing to do: no result is large, the batch is small.
    assert handles([sized(0, 50), sized(1, 50)]) == set()
    assert handles([sized(0, 99, error=True)]) == set()
    assert handles([sized(0, 99, error=True), sized(1, 1)]) == {0}


@pytest.mark.requirement("BIG-3")
def test_a_result_at_the_threshold_goes_one_below_stays() -> None:
    assert handles([sized(0, 100), sized(1, 99)]) == {0}


@pytest.mark.requirement("BIG-3")
def test_over_the_batch_threshold_the_largest_go_until_it_is_under() -> None:
    # 299 is under 300, so nothing goes; 300 is not.
    assert handles([sized(0, 99), sized(1, 99), sized(2, 98), sized(3, 3)]) == set()
    assert handles([sized(0, 99), sized(1, 99), sized(2, 98), sized(3, 4)]) == {0}
    # A preview counts 43 here: 375 in all, less 22, 21, 20 and 19.
    assert handles([sized(number, 60 + number) for number in range(6)]) == {2, 3, 4, 5}


@pytest.mark.requirement("BIG-3")
def test_ties_go_by_record_order() -> None:
    # The tenth record comes behind the ninth although its handle sorts in front of it.
    results = [replace(sized(number, 80), step=0) for number in range(8, 13)]
    shown = shorten(reversed(results), LIMITS)
    assert list(shown) == [one.handle for one in results[:3]]


@pytest.mark.requirement("BIG-3")
def test_a_result_whose_preview_would_not_be_smaller_stays() -> None:
    limits = replace(LIMITS, preview=200)
    assert handles([sized(0, 100), sized(1, 100), sized(2, 100), sized(3, 100)], limits) == set()


@pytest.mark.requirement("BIG-5")
def test_a_failure_keeps_its_top_without_marker_or_guidance() -> None:
    failing = result(0, "Traceback: " + "x" * 400, error=True)
    shown = shorten([failing, sized(1, 100)], LIMITS)
    assert shown[failing.handle] == failing.text[:40]
    assert cut_failure("short", 40) == "short"


@pytest.mark.requirement("BIG-4")
def test_preview_shows_both_ends_and_how_to_read_on() -> None:
    text = "".join(f"{number:04d}|" for number in range(200))
    assert preview(result(7, text), 20) == (
        text[:20]
        + "\n...\n[elided: the middle of this result. To read on, call read_tool_output with "
        + '{"handle":"r7-abcdef01","offset":20}]\n...\n'
        + text[-20:]
    )
    assert preview(result(7, text[:40]), 20) == text[:40]


@pytest.mark.requirement("BIG-8")
def test_an_elided_reader_answer_points_at_the_original() -> None:
    asked = '{"handle":"r1-00000000","offset":500,"grep":"x"}'
    assert f"call read_tool_output with {asked}]" in preview(result(9, "y" * 900, reads=asked), 20)


texts = st.one_of(
    st.text(max_size=900),
    st.text("\ud83d\ude00é\U0001f600a", max_size=900),
    st.integers(0, 1200).map(lambda count: "line\n" * (count // 5)),
)
batches = st.lists(st.tuples(texts, st.booleans()), max_size=12).map(
    lambda rows: [result(number, text, error=error) for number, (text, error) in enumerate(rows)]
)
limits = st.builds(
    Limits,
    result=st.integers(1, 200),
    batch=st.integers(200, 600),
    preview=st.integers(1, 60),
    failure=st.integers(1, 80),
)


def applied(results: list[ToolResult], limit: Limits) -> list[ToolResult]:
    shown = shorten(results, limit)
    return [replace(one, text=shown.get(one.handle, one.text)) for one in results]


@pytest.mark.requirement("BIG-3")
@given(batches, limits, st.randoms(use_true_random=False))
def test_the_outcome_does_not_depend_on_the_order_of_the_input(
    results: list[ToolResult], limit: Limits, random: Random
) -> None:
    shuffled = list(results)
    random.shuffle(shuffled)
    assert shorten(shuffled, limit) == shorten(results, limit)


@pytest.mark.requirement("BIG-6")
@given(batches, limits)
def test_shortening_twice_changes_nothing_more(results: list[ToolResult], limit: Limits) -> None:
    once = applied(results, limit)
    assert applied(once, limit) == once


@pytest.mark.requirement("BIG-4")
@given(texts, st.integers(1, 400))
def test_a_preview_is_never_longer_and_parts_no_surrogate_pair(text: str, characters: int) -> None:
    for shown in (preview(result(0, text), characters), cut_failure(text, characters)):
        assert len(shown) <= len(text)
        size = len(shown.encode("utf-16-le", "surrogatepass"))
        assert size <= len(text.encode("utf-16-le", "surrogatepass"))
    shown = preview(result(0, text), characters)
    if shown != text:
        head, _, tail = shown.partition("\n...\n[elided:")
        tail = tail.partition("]\n...\n")[2]
        assert text.startswith(head)
        assert text.endswith(tail)
        cuts = (len(head), len(text) - len(tail), len(cut_failure(text, characters)))
        for cut in cuts:
            pair = text[max(cut - 1, 0) : cut + 1]
            assert not (
                len(pair) == 2 and "\ud800" <= pair[0] <= "\udbff" and "\udc00" <= pair[1] <= "\udfff"
            )


@pytest.mark.requirement("BIG-4")
def test_a_cut_stands_in_front_of_a_surrogate_pair() -> None:
    pairs = "\ud83d\ude00" * 300  # as lenient decoders leave it: two code points per character
    shown = preview(result(0, pairs), 21)
    assert shown != pairs
    assert shown.startswith("\ud83d\ude00" * 10 + "\n...")
    assert shown.endswith("...\n" + "\ud83d\ude00" * 11)
    assert cut_failure(pairs, 21) == "\ud83d\ude00" * 10


@pytest.mark.requirement("BIG-3")
@given(batches, limits)
def test_what_is_left_whole_is_small_or_under_the_batch(results: list[ToolResult], limit: Limits) -> None:
    shown = shorten(results, limit)
    after = applied(results, limit)
    total = sum(estimate_tokens(len(one.text.encode("utf-8", "surrogatepass"))) for one in after)
    for one in results:
        if one.handle in shown or one.is_error or preview(one, limit.preview) == one.text:
            continue
        assert (
            estimate_tokens(len(one.text.encode("utf-8", "surrogatepass"))) < max(limit.result, 1)
            or not shown
        )
        before = sum(estimate_tokens(len(r.text.encode("utf-8", "surrogatepass"))) for r in results)
        assert total < limit.batch or before < limit.result


@given(st.lists(st.tuples(texts, st.booleans()), max_size=8), limits)
def test_a_growing_batch_never_takes_a_shortening_back(rows: list[tuple[str, bool]], limit: Limits) -> None:
    results = [result(number, text, error=error) for number, (text, error) in enumerate(rows)]
    seen: dict[str, str] = {}
    for end in range(len(results) + 1):
        shown = shorten(results[:end], limit)
        assert seen.items() <= shown.items()
        seen = dict(shown)


@pytest.mark.requirement("BIG-2")
def test_a_policy_whose_result_threshold_is_over_its_batch_threshold_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"result_tokens \(5\) is over batch_tokens \(4\)"):
        Policy(result_tokens=5, batch_tokens=4)
    assert all(policy.result_tokens <= policy.batch_tokens for policy in POLICIES.values())
