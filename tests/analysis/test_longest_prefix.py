"""The rule longest-prefix-1024-128, by hand-counted examples and by brute force; honest rates."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.analysis.estimates import longest_prefix
from coldturn.analysis.estimates.longest_prefix import LONGEST_PREFIX, LongestPrefix, StepEstimate
from coldturn.analysis.estimates.registry import Registry, shipped
from coldturn.analysis.frames.frames import steps
from coldturn.analysis.rates import format_rate, rate
from coldturn.reference.prefix.ledger import ledger_of
from coldturn.reference.prefix.request import read_request
from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, body, tell

SCOPE = "openai/gpt-5.5"


def feed(rule: LongestPrefix, texts: list[bytes], common: int = 0, scope: str = SCOPE) -> StepEstimate:
    digests = [hashlib.blake2b(text, digest_size=16).digest() for text in texts]
    return rule.observe(digests, [len(text) for text in texts], common, scope)


def numbers(estimate: StepEstimate) -> tuple[int, int, int, int]:
    return (
        estimate.input_tokens_estimated,
        estimate.ceiling_estimated,
        estimate.read_estimated,
        estimate.uncached_estimated,
    )


A, B, C = b"a" * 4_096, b"b" * 512, b"c" * 2_000


def test_a_first_request_reads_nothing() -> None:
    assert numbers(feed(LongestPrefix(), [A, B])) == (1_152, 0, 0, 1_152)


def test_a_continued_request_reads_the_earlier_one_on_the_grid() -> None:
    rule = LongestPrefix()
    feed(rule, [A, B])
    assert numbers(feed(rule, [A, B, C])) == (1_652, 1_152, 1_152, 500)
    assert numbers(feed(rule, [A, B, C, B])) == (1_780, 1_652, 1_536, 244)


@pytest.mark.parametrize(
    ("size", "read"), [(4_092, 0), (4_093, 1_024), (4_096, 1_024), (4_604, 1_024), (4_605, 1_152)]
)
def test_minimum_and_grid_are_exact(size: int, read: int) -> None:
    rule = LongestPrefix()
    first = b"x" * size
    feed(rule, [first])
    estimate = feed(rule, [first, C])
    assert (estimate.ceiling_estimated, estimate.read_estimated) == (-(-size // 4), read)


def test_the_best_earlier_request_counts_not_the_latest() -> None:
    rule = LongestPrefix()
    feed(rule, [A, B, C])
    feed(rule, [C])
    assert feed(rule, [A, B, C, B]).ceiling_estimated == (4_096 + 512 + 2_000) // 4


def test_common_bytes_refine_the_place_within_a_segment() -> None:
    rule = LongestPrefix()
    feed(rule, [A, b"tail " * 200])
    assert feed(rule, [A, b"tail " * 100 + b"other " * 100], common=4_596).ceiling_estimated == 1_149
    # 1,175 tokens in common are a step more than the segment in front holds.
    assert numbers(feed(rule, [A, b"tail " * 120 + b"more"], common=4_700)) == (1_175, 1_175, 1_152, 23)
    assert numbers(feed(rule, [A], common=99_999)) == (1_024, 1_024, 1_024, 0)


def test_another_scope_shares_nothing_whatever_was_compared() -> None:
    rule = LongestPrefix()
    feed(rule, [A, B])
    assert feed(rule, [A, B, C], common=4_608, scope="openai/gpt-6").read_estimated == 0
    assert feed(rule, [A, B, C]).read_estimated == 1_152


def test_an_empty_request_has_no_rate() -> None:
    estimate = feed(LongestPrefix(), [])
    assert numbers(estimate) == (0, 0, 0, 0)
    assert estimate.hit_rate_estimated is None


@given(
    st.lists(
        st.lists(st.sampled_from([b"p" * 900, b"q" * 1_500, b"r" * 4_000, b"s"]), max_size=6), max_size=8
    )
)
def test_it_agrees_with_comparing_every_pair(requests: list[list[bytes]]) -> None:
    rule = LongestPrefix()
    for index, request in enumerate(requests):
        shared = [len(list_prefix(request, earlier)) for earlier in requests[:index]]
        common = len(b"".join(request[: max(shared, default=0)]))
        estimate = feed(rule, request)
        ceiling = -(-common // 4)
        assert estimate.ceiling_estimated == ceiling
        assert estimate.read_estimated == (ceiling // 128 * 128 if ceiling >= 1_024 else 0)
        assert estimate.read_estimated + estimate.uncached_estimated == estimate.input_tokens_estimated
        assert estimate.read_estimated <= estimate.ceiling_estimated <= estimate.input_tokens_estimated


def list_prefix(one: list[bytes], other: list[bytes]) -> list[bytes]:
    return [a for i, (a, b) in enumerate(zip(one, other, strict=False)) if one[:i] == other[:i] and a == b]


def test_a_role_that_changes_ends_the_prefix() -> None:
    raw = body("10:00", ["x " * 3_000, "y"])
    rule = LongestPrefix()
    rule.step(ledger_of(read_request(raw)), 0, SCOPE)
    swapped = raw.replace(b'"role":"user"', b'"role":"assistant"')
    same = rule.step(ledger_of(read_request(raw)), 0, SCOPE)
    other = rule.step(ledger_of(read_request(swapped)), 0, SCOPE)
    assert same.ceiling_estimated == same.input_tokens_estimated
    assert other.ceiling_estimated < same.ceiling_estimated


def test_spans_alone_give_what_the_ledgers_gave(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "t.jsonl"
    with SpanObserver(SpanFile(path), clock=clock, recording="r", policy="p") as observer:
        run = tell(observer, clock)
    rule = LongestPrefix()
    frame = steps(read_spans(path))
    common = frame["common_bytes"].fill_null(0).to_list()
    for (_, request), shared, row in zip(run.sent, common, frame.iter_rows(named=True), strict=True):
        estimate = rule.step(ledger_of(request), shared, run.scope)
        assert numbers(estimate) == (
            row["input_tokens_estimated"],
            row["ceiling_estimated"],
            row["read_estimated"],
            row["uncached_estimated"],
        )
        assert row["hit_rate_estimated"] == estimate.hit_rate_estimated


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 10, "0 %"),
        (10, 10, "100 %"),
        (1, 3, "33.3 %"),
        (1, 1_000_000, "0.1 %"),
        (999_999, 1_000_000, "99.9 %"),
        (9_995, 10_000, "99.9 %"),
        (5, 10_000, "0.1 %"),
        (118, 1_000, "11.8 %"),
        (0, 0, "-"),
        (None, 10, "-"),
        (3, None, "-"),
        (2**70 - 1, 2**70, "99.9 %"),
    ],
)
def test_a_rate_is_never_rounded_to_nothing_or_everything(
    part: int | None, whole: int | None, text: str
) -> None:
    assert format_rate(part, whole) == text


@given(st.integers(1, 10**12), st.integers(2, 10**12), st.integers(0, 4))
def test_only_nothing_prints_as_0_and_only_all_as_100(part: int, whole: int, digits: int) -> None:
    if part < whole:
        value = float(format_rate(part, whole, digits=digits).removesuffix(" %"))
        assert 0 < value < 100


def test_a_rate_is_a_fraction_or_unknown() -> None:
    assert rate(1, 4) == 0.25
    assert rate(0, 4) == 0
    assert rate(None, 4) is rate(1, 0) is rate(1, None) is None


def test_the_rule_is_the_registrys(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = shipped().named(LONGEST_PREFIX)
    other = rules.model_copy(
        update={"parameters": rules.parameters.model_copy(update={"minimum": 1_152, "granularity": 256})}
    )
    monkeypatch.setattr(longest_prefix, "shipped", lambda: Registry([other]))
    rule = LongestPrefix()
    feed(rule, [A, B])
    # 1,152 in common: no multiple of 256 from 1,152 on.
    assert numbers(feed(rule, [A, B, C])) == (1_652, 1_152, 0, 1_652)
    assert feed(rule, [A, B, C]).read_estimated == 1_536
