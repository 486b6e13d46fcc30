"""Shares of what an estimate follows: all of it together, none of it twice, each about as large."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.exchanges import ANTHROPIC, CHAT, exchange, words
from coldturn.analysis.curves.block_trace import BlockEstimation, BlockRequest
from coldturn.analysis.entries.ceiling import Ceiling
from coldturn.analysis.estimates.estimation import Estimation
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.registry import shipped
from coldturn.analysis.estimates.report import EstimateReport, RequestEstimate
from coldturn.analysis.estimates.shares import WHOLE, Share, Spool
from coldturn.reference.prefix.model import Zone


def test_every_scope_is_in_one_share() -> None:
    scopes = [("log", "messages", f"host{n}", f"model{n % 7}") for n in range(300)]
    for of in (1, 2, 5):
        shares = [Share(number, of) for number in range(of)]
        taken = [sum(share.has(scope) for share in shares) for scope in scopes]
        assert taken == [1] * 300
        assert min(sum(map(share.has, scopes)) for share in shares) > 150 // of


@given(st.lists(st.lists(st.integers(-9, 30), max_size=8), max_size=12), st.integers(2, 4))
def test_shares_of_blocks_find_together_what_the_whole_finds(requests: list[list[int]], of: int) -> None:
    ceiling, parts = Ceiling(), [Ceiling() for _ in range(of)]
    for blocks in requests:
        whole = WHOLE.leading(blocks, ceiling.observe)[0]
        each = [Share(n, of).leading(blocks, part.observe)[0] for n, part in enumerate(parts)]
        assert min(each) == whole
    assert sum(map(len, parts)) == len(ceiling)


def test_each_share_holds_its_part_of_the_blocks() -> None:
    parts = [Ceiling() for _ in range(4)]
    for start in range(0, 4_000, 100):
        for number, part in enumerate(parts):
            Share(number, 4).leading(range(start, start + 100), part.observe)
    assert [len(part) for part in parts] == [1_000] * 4


def test_a_pass_follows_only_its_scopes() -> None:
    text = words(2_000, "one")
    log = [
        exchange({"model": f"m{n}", "messages": [{"role": "user", "content": text}]}, url)
        for n in range(10)
        for url in (CHAT, ANTHROPIC)
    ]
    followed = []
    for number in range(3):
        with Spool() as spool:
            estimation = Estimation(RequestEstimator(), share=Share(number, 3), spool=spool)
            for one in log:
                estimation.add(one)
            scopes = estimation.estimator.scopes
            assert len(scopes) == 20
            followed.append({key for key, scope in scopes.items() if len(scope.ceiling)})
            assert estimation.report.totals.requests == 0
    assert sum(map(len, followed)) == len(set.union(*followed)) == 20
    assert all(followed)


def test_requests_known_by_their_counts_are_told_by_the_first_share_alone() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": words(2_000, "one")}]}
    log = [replace(exchange(body, CHAT, {"prompt_tokens": 2_000}), parts_missing=frozenset({Zone.TOOLS}))] * 3
    told = []
    for number in range(2):
        with Spool() as spool:
            estimation = Estimation(RequestEstimator(), share=Share(number, 2), spool=spool)
            for one in log:
                estimation.add(one)
            told.append(len(list(spool.read())))
    assert told == [3, 0]


def test_a_cache_with_a_capacity_is_followed_by_the_first_share_alone() -> None:
    rules = shipped().named("vllm")
    parameters = rules.parameters.model_copy(update={"capacity": 2})
    read = []
    for number in range(2):
        trace = BlockEstimation("trace", rules, parameters, EstimateReport(), Share(number, 2))
        row = trace.estimate(BlockRequest(0, 0.0, 16, [5]))
        assert isinstance(row, RequestEstimate)
        read.append(row.read_estimated)
    assert read == [0, None]


def test_a_spool_gives_back_what_it_took_and_leaves_no_file() -> None:
    with Spool() as spool:
        for place in range(1_201):
            spool.write(place, f"note {place}")
        assert list(spool.read()) == [(place, f"note {place}") for place in range(1_201)]
    with pytest.raises(ValueError, match="closed"):
        next(spool.read())
