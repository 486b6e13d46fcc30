"""Parents: who continues whom, in trees that fork, retry, interleave and break."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix import lineage_search
from coldturn.reference.prefix.difference import first_difference
from coldturn.reference.prefix.lineage import Lineages, Placement
from coldturn.reference.prefix.lineage_node import Node
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.prefix.shared import SMALL, Profile
from prefix.exhaustive import Exhaustive

SYSTEM = "# Rules\n\n" + "\n\n".join(
    f"Rule {number}: be careful with {number} things." for number in range(40)
)


def chat(*texts: str, system: str = SYSTEM, **more: Any) -> PromptRequest:  # noqa: ANN401 - any JSON
    messages = [{"role": "system", "content": system}] if system else []
    messages += [{"role": "user", "content": text} for text in texts]
    return read_request(json.dumps({"model": "m", "messages": messages, **more}).encode())


def parents(*requests: PromptRequest) -> list[int | None]:
    lineages = Lineages()
    return [lineages.place(one).parent_index for one in requests]


def test_a_growing_session_is_a_chain_in_one_lineage() -> None:
    lineages = Lineages()
    requests = [chat(*"abcd"[:count]) for count in range(1, 5)]
    placed = [lineages.place(one) for one in requests]
    assert [(one.index, one.parent_index) for one in placed] == [(0, None), (1, 0), (2, 1), (3, 2)]
    assert len({one.lineage for one in placed}) == 1
    assert not any(one.evicted for one in placed)
    for one, before in zip(placed[1:], requests[:-1], strict=True):
        assert one.parent is not None
        assert one.parent.blocks == before.blocks
        assert one.parent.body == b""


def test_names_of_lineages_are_the_same_in_every_run() -> None:
    def names() -> list[str]:
        lineages = Lineages()
        return [
            lineages.place(one).lineage for one in (chat("a"), chat("a", "b"), chat("x" * 99, system="other"))
        ]

    assert names() == names()
    assert len(set(names())) == 2


def test_an_early_break_does_not_hide_the_parent() -> None:
    clock = [chat(*"abcd"[:count], system=f"10:0{count}\n\n{SYSTEM}") for count in range(1, 5)]
    assert parents(*clock) == [None, 0, 1, 2]


def test_a_small_prompt_that_changed_everywhere_keeps_its_parent() -> None:
    one = chat("hi", system="You are helpful. It is 10:01.")
    other = chat("hi", "and now?", system="You are helpful. It is 10:02.")
    unrelated = chat("name this talk in five words", system="Write titles, nothing else.")
    assert parents(one, unrelated, other) == [None, None, 0]


def test_too_little_in_common_is_a_new_lineage() -> None:
    other = "\n\n".join(f"Entirely different sentence {number}, about cooking." for number in range(60))
    assert parents(chat("a"), chat("b", system=other)) == [None, None]


def test_sessions_that_interleave_stay_apart() -> None:
    left = [chat("left", *"abc"[:count]) for count in range(3)]
    right = [chat("right", *"xyz"[:count]) for count in range(3)]
    assert parents(*[one for pair in zip(left, right, strict=True) for one in pair]) == [None, 0, 0, 1, 2, 3]


def test_a_fork_continues_what_it_left_from_and_breaks_nothing() -> None:
    lineages = Lineages()
    for request in (chat("a"), chat("a", "b"), chat("a", "b", "c")):
        lineages.place(request)
    fork = chat("a", "b", "other")
    placed = lineages.place(fork)
    assert placed.parent_index == 1
    assert placed.parent is not None
    assert first_difference(placed.parent, fork) is None
    assert lineages.place(chat("a", "b", "c", "d")).parent_index == 2
    assert lineages.place(chat("a", "b", "other", "d")).parent_index == 3


def test_a_retry_continues_the_same_request() -> None:
    first, second = chat("a"), chat("a", "b")
    assert parents(first, second, second, chat("a", "b", "c")) == [None, 0, 1, 2]


@pytest.mark.parametrize("looks", [0, 99])
def test_a_turn_that_was_given_up_is_nobodys_parent(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    monkeypatch.setattr(lineage_search, "MOST_LOOKS", looks)
    again = "Your last output did not call a tool. Please call exactly one tool. " * 9

    def talk(*texts: str) -> PromptRequest:
        roles = ["user" if text in {"q", again} else "assistant" for text in texts]
        messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        system = [{"role": "system", "content": SYSTEM}]
        return read_request(json.dumps({"model": "m", "messages": [*system, *messages]}).encode())

    first, failed, taken = talk("q"), talk("q", "I fixed it, and all is well now.", again), talk("q", "So.")
    next_one = talk("q", "So.", "It was nothing, and all is well now.", again)
    assert parents(first, failed, taken, next_one) == [None, 0, 0, 2]
    # Of several that are repeated in full the one that says most, however late a shorter one was sent again.
    assert parents(first, failed, taken, first, next_one) == [None, 0, 0, 0, 2]
    assert parents(first, failed, taken, taken, next_one) == [None, 0, 0, 2, 3]
    # Taken up again, it is one: what the model wrote there is sent again.
    resumed = talk("q", "So.", "I fixed it, and all is well now.", again)
    assert parents(first, failed, taken, resumed) == [None, 0, 0, 1]
    # And what was sent earlier never wins.
    assert parents(first, taken, failed, next_one) == [None, 0, 0, 2]


def test_a_short_talk_is_known_by_its_messages_when_one_long_one_changed() -> None:
    def talk(thought: str, *more: str) -> PromptRequest:
        return chat("What is it?", thought, "It is 42.", "Why?", *more, system="")

    long, other = ("a long thought about it " * 40, "b: another thought of it " * 30)
    assert parents(talk(long), talk(other, "So.")) == [None, 0]
    assert parents(talk(long), chat("Who?", other, "Nobody.", "Why?", system="")) == [None, None]


def test_ids_settle_ties_and_exclude_nobody() -> None:
    lineages = Lineages()
    for conversation in ("x", "y"):
        lineages.place(chat("a"), conversation=conversation)
    assert lineages.place(chat("a", "b"), conversation="x").parent_index == 0
    assert lineages.place(chat("a", "c"), conversation="z").parent_index == 1
    models = Lineages()
    models.place(chat("a", model="m1"))
    models.place(chat("a", model="m2"))
    assert models.place(chat("a", "b", model="m1")).parent_index == 0
    assert models.place(chat("a", "b", "c", model="m3")).parent_index == 2
    keys = Lineages()
    keys.place(chat("a", prompt_cache_key="k1"))
    keys.place(chat("a", prompt_cache_key="k2"))
    assert keys.place(chat("a", "b", prompt_cache_key="k1")).parent_index == 0


def test_candidates_share_the_key_and_the_surface() -> None:
    lineages = Lineages()
    lineages.place(chat("a"), key="one")
    assert lineages.place(chat("a", "b"), key="other").parent_index is None
    body = json.dumps({"system": SYSTEM, "messages": [{"role": "user", "content": "a"}]}).encode()
    assert lineages.place(read_request(body), key="one").parent_index is None
    assert lineages.place(chat("a", "b"), key="one").parent_index == 0


def respond(text: str, previous: str | None = None, instructions: str = SYSTEM) -> PromptRequest:
    body = {"input": text, "instructions": instructions}
    return read_request(json.dumps(body | ({"previous_response_id": previous} if previous else {})).encode())


def test_the_response_that_a_request_names_is_its_parent() -> None:
    lineages = Lineages()
    lineages.place(respond("a"), response_id="r1")
    lineages.place(respond("a"), response_id="r2")
    assert lineages.place(respond("nothing in common", "r1")).parent_index == 0
    assert lineages.place(respond("a", "never seen")).parent_index == 1


def test_only_the_most_recent_are_kept_and_an_evicted_parent_is_told() -> None:
    lineages = Lineages(most_leaves=2, most_inner=1)
    for name in "abc":
        lineages.place(chat(name * 200), response_id=name)
    placed = lineages.place(chat("a" * 200, "more"))
    assert (placed.parent, placed.parent_index, placed.evicted) == (None, 0, True)
    kept = lineages.place(chat("c" * 200, "more"))
    assert (kept.parent_index, kept.evicted) == (2, False)
    named = Lineages(most_leaves=1)
    for name in ("r1", "r2"):
        named.place(respond("a", instructions=name * 300), response_id=name)
    assert named.place(respond("x", "r1")).evicted


def test_a_session_is_let_go_as_a_whole_and_a_fork_keeps_what_it_left_from() -> None:
    lineages = Lineages(most_leaves=2)
    store = lineages._store
    for texts in ("a", "ab", "abc", "abx"):
        lineages.place(chat(*(text * 200 for text in texts), system=""))
    other = lineages.place(chat("other " * 99, system=""))
    assert sorted(store._inner) == [0, 1]
    lineages.place(chat("another " * 99, system=""))
    assert sorted(store._inner) == []
    assert sorted(store._leaves) == [other.index, other.index + 1]
    assert sorted(store._forgotten) == [2, 3]
    evicted = lineages.place(chat("a" * 200, "b" * 200, "x" * 200, "more", system=""))
    assert (evicted.parent_index, evicted.evicted) == (3, True)


def test_what_continued_a_request_that_is_let_go_hangs_below_its_parent() -> None:
    texts = ["a" * 50, "b" * 50, "c" * 50]
    requests = [chat(*texts[:3]), chat(texts[0], texts[2]), chat(texts[0])]
    nodes = [Node(at, None, one, "x", (None,), None) for at, one in enumerate(requests)]
    for parent, child in pairwise(nodes):
        child.continues(parent, Profile(child.request).shared_bytes(parent.request))
    nodes[1].release()
    assert nodes[2].parent is nodes[0]
    assert nodes[0].children == [nodes[2]]
    assert nodes[2].missing == nodes[2].missing_above == 100


def test_memory_is_bounded_by_content_bytes_too() -> None:
    lineages = Lineages(most_bytes=40_000)
    indices = []
    for number in range(12):
        request = chat("q", system=f"{number}\n" + f"{number} filler words\n" * 600)
        indices.append(lineages.place(request).index)
    store = lineages._store
    assert indices == list(range(12))
    assert store._bytes <= 40_000
    assert len(store._leaves) + len(store._inner) < 5
    session = Lineages(most_bytes=60_000)
    for number in range(30):
        session.place(chat("q", system=f"{number}\n\n{SYSTEM * 10}"))
    assert len(session._store._inner) < 5


def test_what_is_kept_of_a_long_session_is_bounded() -> None:
    lineages = Lineages(most_leaves=5, most_inner=5)
    texts: list[str] = []
    placed: list[Placement] = []
    for number in range(40):
        texts.append(f"message {number}")
        placed.append(lineages.place(chat(*texts)))
    assert [one.parent_index for one in placed[1:]] == list(range(39))
    assert len(lineages._store._inner) == 5
    assert not lineages._store._forgotten, "what a kept request repeats needs no digests of its own"
    oldest = next(iter(lineages._store._inner.values()))
    assert oldest.parent is None


TEXTS = st.lists(
    st.sampled_from(["a" * 30, "b" * 40, "c\n\nd\n\n" + "e" * 20, "d\n\nc\n\n", "f"]), max_size=5
)
SYSTEMS = st.sampled_from(["", "s" * 50, "s" * 25 + "\n\n" + "t" * 40, "u" * 60 + "\n\n" + "t" * 40])


@given(
    st.lists(st.tuples(SYSTEMS, TEXTS, st.sampled_from(["m1", "m2"])), max_size=14),
    st.sampled_from([0, 3, 99]),
)
def test_the_search_finds_what_looking_at_every_earlier_request_finds(
    drawn: list[tuple[str, list[str], str]], looks: int
) -> None:
    """With an index from the start, from some time on, or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage_search, "MOST_LOOKS", looks)
        _check_search(drawn)


def _check_search(drawn: list[tuple[str, list[str], str]]) -> None:
    lineages, exhaustive = Lineages(), Exhaustive()
    for system, texts, model in drawn:
        request = chat(*texts, system=system, model=model)
        best, enough = exhaustive.place(request, None, model, None)
        placed = lineages.place(request)
        if enough:
            assert placed.parent_index == best
        else:
            assert placed.parent is None or min(placed.parent.content_bytes, request.content_bytes) <= SMALL


@pytest.mark.parametrize("count", [1, 3])
def test_equal_messages_count_as_often_as_both_have_them(count: int) -> None:
    same = ["again and again " * 20] * count
    lineages = Lineages()
    lineages.place(chat(*same, system=""))
    lineages.place(chat("other " * 40, *same, system=""))
    assert lineages.place(chat(*same, "x", system="")).parent_index == 0


@given(st.lists(st.tuples(SYSTEMS, TEXTS, st.sampled_from(["m1", "m2"])), max_size=25))
def test_an_index_changes_no_answer_when_requests_are_let_go(drawn: list[tuple[str, list[str], str]]) -> None:
    def placements(looks: int) -> list[tuple[int | None, bool]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lineage_search, "MOST_LOOKS", looks)
            lineages = Lineages(most_leaves=3, most_inner=3)
            requests = [chat(*texts, system=system, model=model) for system, texts, model in drawn]
            placed = [lineages.place(one) for one in requests]
            return [(one.parent_index, one.evicted) for one in placed]

    assert placements(0) == placements(99)
