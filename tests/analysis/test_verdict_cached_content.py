"""Findings of pairs that name explicit caches: another name, one that is over, what stands behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.gemini_caches import asking, deleting, making, renewing
from analysis.verdict_pairs import finding, findings
from coldturn.analysis.advise.advisor import advise
from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.findings import Verdict
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import Exchange

TALK = ("What is asked first, at some length, so that the pair is one conversation?", "Yes.", "And then?")
B = "cachedContents/b"


def test_one_cache_throughout_is_intact() -> None:
    pair = asking("cachedContents/a", TALK[0]), asking("cachedContents/a", *TALK, at=2.0)
    assert findings(making(), *pair) == []


def test_a_cache_of_which_nothing_is_known_is_said_once() -> None:
    first = asking("cachedContents/a", TALK[0])
    found = explain([first, asking("cachedContents/a", *TALK, at=2.0)])
    assert found.breaks == []
    assert ["whose making is not recorded" in one.message for one in found.errors] == [True]


def test_what_stands_behind_the_cache_is_not_missed() -> None:
    """No implicit reads are documented there, so a long rest that is not read is no miss."""
    long = "q " * 30_000
    first = asking("cachedContents/a", long, whole=40_000)
    assert findings(making(), first, asking("cachedContents/a", long, *TALK[1:], at=2.0, whole=40_010)) == []


def test_a_cache_made_again_with_the_same_content_was_paid_again() -> None:
    log = [making(), asking("cachedContents/a", TALK[0]), making(B, at=40.0), asking(B, *TALK, at=50.0)]
    found = finding(*log)
    assert (found.cause, found.verdict, found.zone) == (
        "cached_content_changed",
        Verdict.BROKEN,
        Zone.SETTINGS,
    )
    assert (found.lost_tokens_estimated, found.read_reported) == (7_021, 7_021)
    assert (found.was, found.now) == ("cachedContents/a", B)
    assert found.evidence is not None
    assert "still lived when this one was made: 7,021 tokens paid for" in found.evidence


def test_advice_knows_what_the_caches_hold() -> None:
    log = [making(), asking("cachedContents/a", TALK[0]), making(B, at=40.0), asking(B, *TALK, at=50.0)]
    advice = advise(lambda: log)
    assert [one.cause for one in advice.remedies] == ["cached_content_changed"]
    assert (advice.before.requests, advice.before.read) == (2, 14_042)


def test_its_making_is_counted_once() -> None:
    other = "Another conversation, about something else, that was begun with the same cache as the first."
    log = [
        making(),
        asking("cachedContents/a", TALK[0]),
        asking("cachedContents/a", other, at=2.0),
        making(B, at=40.0),
        asking(B, *TALK, at=50.0),
        asking(B, other, *TALK[1:], at=51.0),
    ]
    first, second = findings(*log)
    assert (first.verdict, first.lost_tokens_estimated) == (Verdict.BROKEN, 7_021)
    assert (second.verdict, second.lost_tokens_estimated) == (Verdict.BROKEN_HARMLESS, 0)


@pytest.mark.parametrize(
    ("between", "lives", "cause"),
    [
        ((), 20.0, "cached_content_expired"),
        ((deleting(at=30.0),), 600.0, "cached_content_expired"),
        ((renewing(at=15.0, lives=100.0),), 20.0, "cached_content_changed"),
    ],
)
def test_one_made_again_after_its_end_tells_of_the_lifetime(
    between: tuple[Exchange, ...], lives: float, cause: str
) -> None:
    log = [making(lives=lives), asking("cachedContents/a", TALK[0]), *between, making(B, at=40.0)]
    found = finding(*log, asking(B, *TALK, at=50.0))
    assert (found.cause, found.lost_tokens_estimated) == (cause, 7_021)
    assert (found.verdict is Verdict.TTL_SUSPECTED) is (cause == "cached_content_expired")


def test_a_cache_with_other_content_is_paid_in_full() -> None:
    log = [
        making(),
        asking("cachedContents/a", TALK[0]),
        making(B, at=40.0, text="new " * 9_000, tokens=9_009),
    ]
    found = finding(*log, asking(B, *TALK, at=50.0, read=9_009, whole=9_050))
    assert (found.cause, found.verdict, found.lost_tokens_estimated) == (
        "cached_content_changed",
        Verdict.BROKEN,
        9_009,
    )
    assert "something else" in str(found.evidence)


@pytest.mark.parametrize(
    ("was", "now", "verdict", "lost"),
    [
        (7_021, 7_021, Verdict.BROKEN_HARMLESS, 0),
        (7_021, 5_000, Verdict.BROKEN, 2_021),
        (7_021, None, Verdict.BROKEN, 7_021),
        (None, 7_021, Verdict.BROKEN_HARMLESS, 0),
    ],
)
def test_of_caches_whose_making_is_not_recorded_only_reports_tell(
    was: int | None, now: int | None, verdict: Verdict, lost: int
) -> None:
    first = asking("cachedContents/a", TALK[0], read=was)
    [found] = explain([first, asking(B, *TALK, at=2.0, read=now)]).breaks
    assert (found.cause, found.verdict, found.lost_tokens_estimated) == (
        "cached_content_changed",
        verdict,
        lost,
    )
    assert "does not hold the making" in str(found.evidence)


def test_without_reports_such_a_change_stays_unknown() -> None:
    pair = asking("cachedContents/a", TALK[0], whole=None), asking(B, *TALK, at=2.0, read=None, whole=None)
    [found] = explain(pair).breaks
    assert (found.verdict, found.lost_tokens_estimated) == (Verdict.UNKNOWN, 0)


def test_a_cache_that_is_named_no_more() -> None:
    first = asking("cachedContents/a", TALK[0])
    found = finding(making(), first, asking(None, *TALK, at=2.0, read=0, whole=40))
    assert (found.cause, found.verdict, found.lost_tokens_estimated) == (
        "cached_content_changed",
        Verdict.BROKEN,
        7_021,
    )
    over = finding(making(lives=60.0), first, asking(None, *TALK, at=100.0, read=0, whole=40))
    assert (over.cause, over.verdict) == ("cached_content_expired", Verdict.TTL_SUSPECTED)
    read = finding(making(), first, asking(None, *TALK, at=2.0, read=7_040, whole=7_050))
    assert (read.verdict, read.lost_tokens_estimated) == (Verdict.BROKEN_HARMLESS, 0)


def test_beginning_to_name_one_breaks_nothing() -> None:
    assert findings(making(), asking(None, TALK[0], read=0), asking("cachedContents/a", *TALK, at=2.0)) == []
    said = {"parts": [{"text": "Be brief, and say no more than you are asked."}]}
    moved = (
        asking(None, *TALK, read=0, systemInstruction=said),
        asking("cachedContents/a", *TALK, "Fine.", at=2.0),
    )
    assert findings(making(), *moved) == []


@pytest.mark.parametrize(
    ("end", "verdict", "words"),
    [
        ((), Verdict.TTL_SUSPECTED, "expired 40 s before"),
        ((deleting(at=30.0),), Verdict.BROKEN, "was deleted 1 min 10 s before"),
        ((deleting(),), Verdict.BROKEN, "was deleted, and"),
    ],
)
def test_a_request_that_is_refused_since_its_cache_is_over(
    end: tuple[Exchange, ...], verdict: Verdict, words: str
) -> None:
    log = [making(lives=60.0), asking("cachedContents/a", TALK[0]), *end]
    found = finding(*log, asking("cachedContents/a", *TALK, at=100.0, status=403))
    assert (found.cause, found.verdict, found.lost_tokens_estimated) == ("cached_content_expired", verdict, 0)
    assert words in str(found.evidence)
    assert found.confidence == "observed"


def test_without_times_and_usage_a_deletion_still_tells() -> None:
    first = asking("cachedContents/a", TALK[0], at=None, read=None, whole=None)
    refused = asking("cachedContents/a", *TALK, at=None, status=403)
    found = finding(making(at=None), first, deleting(), refused)
    assert (found.cause, found.confidence) == ("cached_content_expired", "observed")


def test_a_first_request_that_is_refused_is_no_finding_and_is_told() -> None:
    late = asking("cachedContents/a", TALK[0], at=100.0, status=403)
    for end, how in (((), "at its end"), ((deleting(at=30.0),), "deleted")):
        explained = explain([making(lives=60.0), *end, late])
        assert explained.breaks == []
        assert [how in one.message for one in explained.errors] == [True]


def test_a_request_that_is_refused_for_another_reason_is_not_said_to_be_late() -> None:
    log = [making(), asking("cachedContents/a", TALK[0])]
    assert findings(*log, asking("cachedContents/a", *TALK, at=100.0, status=429)) == []


def test_a_text_that_changes_behind_the_cache_is_harmless() -> None:
    first = asking("cachedContents/a", TALK[0], "Yes.", "More, please, of what was said before.")
    changed = asking("cachedContents/a", TALK[0], "No.", "More, please, of what was said before.", at=2.0)
    found = finding(making(), first, changed)
    assert (found.verdict, found.lost_tokens_estimated, found.zone) == (
        Verdict.BROKEN_HARMLESS,
        0,
        Zone.HISTORY,
    )
    read = replace(first, response_body=(first.response_body or b"").replace(b"7021", b"9021"))
    lost = finding(making(), read, changed)
    assert (lost.verdict, lost.lost_tokens_estimated) == (Verdict.BROKEN, 2_000)


def test_a_cache_that_is_not_read_whole_is_the_providers() -> None:
    log = [making(), asking("cachedContents/a", TALK[0])]
    found = finding(*log, asking("cachedContents/a", *TALK, at=2.0, read=0))
    assert (found.cause, found.verdict, found.lost_tokens_estimated) == (
        "provider_side",
        Verdict.PROVIDER_SIDE_SUSPECTED,
        7_021,
    )
