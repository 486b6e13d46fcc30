"""Logs in which no conversation says anything of its own: parents are right, and their cost does not grow."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import pytest

from coldturn.reference.prefix import (
    lineage_chain,
    lineage_digests,
    lineage_index,
    lineage_search,
    lineage_store,
)
from coldturn.reference.prefix.lineage import Lineages, Placement
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.prefix.shared import SMALL
from prefix.exhaustive import Exhaustive

Texts = list[str]


class Sent(NamedTuple):
    """A request of a made-up log."""

    texts: Texts
    model: str = "m"
    cache_key: str | None = None


def classified(rng: random.Random) -> Iterator[Sent]:
    """One template, one short question; the template alone now and then, and a fixed word at the end."""
    start = _template(rng, 0)
    end = rng.choice([[], ["Answer with one of the labels above."]])
    while True:
        yield Sent(start if rng.random() < 0.1 else [*start, _unique(rng), *end])


def identical(rng: random.Random) -> Iterator[Sent]:
    """The same request again and again, to models and under cache keys that take turns."""
    start, models = _template(rng, 0), rng.choice([1, 2, 3])
    while True:
        yield Sent(start, f"m{rng.randrange(models)}", rng.choice([None, "k", "l"]))


def interleaved(rng: random.Random) -> Iterator[Sent]:
    """Several templates that have paragraphs in common."""
    starts = [_template(rng, number) for number in range(6)]
    while True:
        yield Sent([*rng.choice(starts), _unique(rng)], cache_key=rng.choice([None, "k", "l"]))


def pooled(rng: random.Random) -> Iterator[Sent]:
    """Conversations whose messages all come from one small pool, which holds an empty one."""
    pool = ["", *(_text(rng, number, 2) for number in range(7))]
    keys: list[str | None] = [None, "k", "l"][: rng.choice([1, 3])]
    talks: list[Texts] = [["Rules.\n\nBe kind.\n\n"] for _ in range(4)]
    while True:
        at = rng.randrange(len(talks))
        talks[at] = [*talks[at], rng.choice(pool), rng.choice(pool)]
        if rng.random() < 0.1:
            talks[at] = talks[at][: rng.randint(1, 4)]
        yield Sent(talks[at], cache_key=rng.choice(keys))


def evaluated(rng: random.Random) -> Iterator[Sent]:
    """The same prompts in rounds."""
    start = _template(rng, 0)
    prompts = [[*start, _unique(rng)] for _ in range(9)]
    while True:
        yield from (Sent(prompt, rng.choice(["m", "n"])) for prompt in prompts)


def sampled(rng: random.Random) -> Iterator[Sent]:
    """The same prompt several times at once, then the next."""
    start = _template(rng, 0)
    while True:
        yield from [Sent([*start, _unique(rng)])] * 6


SHAPES = [classified, identical, interleaved, pooled, evaluated, sampled]
Shape = Callable[[random.Random], Iterator[Sent]]


def _sent(shape: Shape, seed: int, count: int) -> Iterator[Sent]:
    return islice(shape(random.Random(seed)), count)  # noqa: S311 - made-up texts


def _text(rng: random.Random, number: int, paragraphs: int) -> str:
    return "".join(f"Paragraph {rng.randrange(4)} of {number % 3}.\n\n" for _ in range(paragraphs))


def _template(rng: random.Random, number: int) -> Texts:
    return [_text(rng, number, 3), f"Example {number}.", _text(rng, 0, 1), "Yes.", "Go on.", "Yes."]


def _unique(rng: random.Random) -> str:
    return f"Item {rng.randrange(10**9)}" + rng.choice(["", "\n\nWhat is it?\n\n", "\n\nPrice?"])


def _request(sent: Sent) -> PromptRequest:
    roles = ("system", "user", "assistant")
    messages = [{"role": roles[min(at, 1 + at % 2)], "content": text} for at, text in enumerate(sent.texts)]
    body: dict[str, Any] = {"model": sent.model, "messages": messages}
    return read_request(json.dumps(body).encode())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("seed", "looks", "few"), [(1, 0, 0), (2, 0, 1), (3, 0, 8), (4, 12, 3), (5, 0, 0)])
def test_the_parent_is_the_one_that_a_look_at_every_request_finds(
    monkeypatch: pytest.MonkeyPatch, shape: Shape, seed: int, looks: int, few: int
) -> None:
    monkeypatch.setattr(lineage_search, "MOST_LOOKS", looks)
    monkeypatch.setattr(lineage_index, "_FEW", few)
    lineages, exhaustive = Lineages(), Exhaustive()
    told = 0
    for sent in _sent(shape, seed, 70):
        request = _request(sent)
        placed = lineages.place(request, cache_key=sent.cache_key)
        best, enough = exhaustive.place(request, None, sent.model, sent.cache_key)
        if enough:
            assert placed.parent_index == best
            told += 1
        else:
            assert placed.parent is None or min(placed.parent.content_bytes, request.content_bytes) <= SMALL
    assert told > 35


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("most", [4, 12])
def test_sums_change_no_answer_when_requests_are_let_go(
    monkeypatch: pytest.MonkeyPatch, shape: Shape, most: int
) -> None:
    def placements() -> list[tuple[int | None, bool, str]]:
        lineages = Lineages(most_leaves=most, most_inner=most)
        placed = [
            lineages.place(_request(sent), cache_key=sent.cache_key) for sent in _sent(shape, most, 120)
        ]
        return [(one.parent_index, one.evicted, one.lineage) for one in placed]

    monkeypatch.setattr(lineage_store, "MOST_FORGOTTEN", 30)
    monkeypatch.setattr(lineage_search, "MOST_LOOKS", 1 << 30)
    monkeypatch.setattr(lineage_search, "MOST_STEPS", 1 << 30)
    monkeypatch.setattr(lineage_digests, "_FEW", 1 << 30)
    plain = placements()
    monkeypatch.setattr(lineage_search, "MOST_LOOKS", 0)
    monkeypatch.setattr(lineage_index, "_FEW", 0)
    monkeypatch.setattr(lineage_digests, "_FEW", 0)
    monkeypatch.setattr(lineage_digests, "_BITS", 7)
    assert placements() == plain


def test_a_source_whose_requests_were_all_let_go_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage_search, "MOST_LOOKS", 0)
    lineages = Lineages(most_leaves=2, most_inner=2)

    def placed(key: str, number: int) -> Placement:
        return lineages.place(_request(Sent([f"{key} " * 400, f"Item {number}."])), key=key)

    for number in range(4):
        placed("a", number)
    for key in ("b", "c", "d"):
        placed(key, 0)
        placed(key, 1)
    again = placed("a", 4)
    assert (again.parent, again.evicted) == (None, True)
    assert placed("a", 5).parent_index == again.index


class _Counted:
    """How often functions that cost time are called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        for owner, name in (
            (lineage_search.Search, "_look"),
            (lineage_search.Search, "_ranked"),
            (lineage_search, "extends"),
            (lineage_index, "extends"),
            (lineage_chain, "common_elements"),
            (lineage_chain.Chain, "foremost"),
        ):
            monkeypatch.setattr(owner, name, self._counting(getattr(owner, name)))

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:  # noqa: ANN401 - any function
            self.calls += 1
            return function(*args)

        return counted


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [3, 5])
def test_what_is_looked_at_does_not_grow_with_the_log(
    monkeypatch: pytest.MonkeyPatch, shape: Shape, seed: int
) -> None:
    lineages, counted = Lineages(), _Counted(monkeypatch)
    most = []
    for at, sent in enumerate(_sent(shape, seed, 600)):
        before = counted.calls
        lineages.place(_request(sent))
        if at >= 300:
            most.append(counted.calls - before)
    assert sum(most) <= 16 * len(most), "of 300 to 600 requests"
    assert max(most) <= 40


def test_a_session_that_goes_on_needs_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    lineages = Lineages()
    for sent in _sent(interleaved, 1, 40):
        lineages.place(_request(sent))
    (pool,) = lineages._store._pools.values()
    assert pool.index is not None
    asked: list[PromptRequest] = []
    texts = ["Other rules. " * 40]
    lineages.place(_request(Sent(texts)))
    monkeypatch.setattr(pool.index, "guess", asked.append)
    for number in range(5):
        texts = [*texts, _unique(random.Random(number)) * 9]  # noqa: S311 - made-up texts
        placed = lineages.place(_request(Sent(texts)))
        assert placed.parent_index == placed.index - 1
    assert not asked


def test_what_is_kept_besides_digests_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage_store, "MOST_FORGOTTEN", 20)
    lineages = Lineages(most_leaves=3, most_inner=3)
    for sent in _sent(interleaved, 1, 150):
        lineages.place(_request(sent))
    (digests,) = lineages._store._digests.values()
    sets = digests._sets
    assert sets is not None
    assert len(digests._kept) == len(sets._places) == 20
    assert len(sets._placed) <= 21
    kept = {digest & lineage_digests._BITS for one in digests._kept.values() for digest in one.digests}
    assert sets._sets.keys() == kept
    everywhere = 0
    for held in sets._sets.values():
        everywhere |= held
    assert everywhere.bit_count() == 20
