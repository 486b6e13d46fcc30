"""Estimates of requests that name an explicit cache: what it holds is read while it lives, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.exchanges import report
from analysis.gemini_caches import (
    HOST,
    MODEL,
    T0,
    VERTEX,
    asking,
    deleting,
    making,
    other,
    renewing,
    resource,
)
from coldturn.analysis.estimates.report import EstimateReport
from coldturn.analysis.estimates.row import Difference
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges

CORPUS_FILE = "vcr-llm/pydantic-ai__test_cache__test_google_model_cached_content.yaml"


def reads(found: EstimateReport) -> list[tuple[int | None, int | None]]:
    return [(one.read_estimated, one.read_reported) for one in found.requests]


def flags(found: EstimateReport) -> list[tuple[str, ...]]:
    return [one.flags for one in found.requests]


def test_a_request_reads_the_cache_that_it_names() -> None:
    found = report([making(), asking(), asking("cachedContents/a", "Another?", at=2.0, whole=7_050)])
    assert reads(found) == [(7_021, 7_021), (7_021, 7_021)]
    assert [one.rules for one in found.requests] == ["gemini-explicit"] * 2
    assert [one.written_estimated for one in found.requests] == [0, 0]
    assert [one.ceiling_estimated for one in found.requests] == [7_021, 7_021]
    assert [one.difference for one in found.requests] == [Difference.NONE] * 2
    assert flags(found) == [(), ()]
    [row] = found.cached_contents
    assert (row.tokens_reported, row.requests, row.read_reported) == (7_021, 2, 14_042)
    assert (row.made, row.expires, row.deleted, row.renewals) == (T0, T0 + 600, False, 0)
    assert row.storage_token_hours_estimated == pytest.approx(7_021 / 6)
    assert row.storage_amount_estimated == pytest.approx(7_021 / 6 * 4.5 / 1e6)


def test_what_stands_behind_the_cache_is_not_read() -> None:
    """The provider documents no implicit reads there; a report that says more differs."""
    first = asking("cachedContents/a", "q " * 9_000, at=1.0, whole=16_000)
    again = asking("cachedContents/a", "q " * 9_000, "Yes.", "More?", at=2.0, whole=16_010, read=12_000)
    found = report([making(), first, again])
    assert reads(found) == [(7_021, 7_021), (7_021, 12_000)]
    assert found.requests[1].ceiling_estimated >= 15_900
    assert found.requests[1].difference is Difference.MORE


def test_without_reported_usage_the_input_is_the_cache_and_what_is_sent() -> None:
    silent = replace(asking(), response_body=None)
    [row] = report([making(), silent]).requests
    assert (row.read_estimated, row.input_reported) == (7_021, None)
    assert 7_021 < row.input_estimated < 7_040


def test_no_more_is_read_than_was_counted() -> None:
    [row] = report([making(), asking(read=5_000, whole=5_000)]).requests
    assert (row.read_estimated, row.ceiling_estimated) == (5_000, 5_000)


def test_a_cache_of_which_no_size_was_told_is_estimated_from_what_was_put_in() -> None:
    [row] = report([making(tokens=None), replace(asking(), response_body=None)]).requests
    assert row.read_estimated == 7_003
    [cache] = report([making(tokens=None)]).cached_contents
    assert (cache.tokens_reported, cache.storage_token_hours_estimated) == (None, None)


@pytest.mark.parametrize(
    ("calls", "reads_still"),
    [
        ([making()], True),
        ([making(lives=60.0)], False),
        ([making(lives=60.0), renewing(at=30.0, lives=60.0)], False),
        ([making(lives=60.0), renewing(at=59.0, lives=60.0)], True),
        ([making(), renewing(at=10.0, lives=20.0)], False),
        ([making(), deleting(at=50.0)], False),
        ([making(), deleting()], False),
        ([making(), deleting("cachedContents/b", at=50.0)], True),
        ([making(), replace(deleting(at=50.0), status=403)], True),
    ],
)
def test_a_cache_lives_until_its_end_is_told(calls: list[Exchange], reads_still: bool) -> None:
    unanswered = replace(asking(at=100.0), response_body=None)
    found = report([*calls, unanswered])
    assert found.requests[0].read_estimated == (7_021 if reads_still else 0)
    assert ("cached_content_gone" in found.requests[0].flags) is not reads_still


def test_the_provider_refuses_a_cache_that_is_over() -> None:
    found = report([making(lives=60.0), asking(at=30.0), asking(at=100.0, status=403)])
    assert len(found.requests) == 1
    assert found.totals.flags == {"failed_request": 1, "cached_content_gone": 1}


def test_an_answer_after_the_end_contradicts_what_is_known() -> None:
    found = report([making(lives=60.0), asking(at=100.0)])
    assert reads(found) == [(None, 7_021)]
    assert flags(found) == [("refused_by_rules", "cached_content_gone")]


def test_a_cache_whose_making_is_not_recorded_is_unknown() -> None:
    found = report([asking(), asking("cachedContents/a", "Another?", at=2.0)])
    assert reads(found) == [(None, 7_021), (None, 7_021)]
    assert flags(found) == [("cached_content_unknown",)] * 2
    assert found.cached_contents == []
    assert not found.errors


def test_a_making_that_was_refused_makes_nothing() -> None:
    refused = replace(making(), status=400)
    assert flags(report([refused, asking()])) == [("cached_content_unknown",)]


@pytest.mark.parametrize(
    "told",
    [
        other("GET", f"{HOST}/cachedContents/a", None, resource("cachedContents/a"), 0.5),
        other(
            "GET",
            f"{HOST}/cachedContents?pageSize=9",
            None,
            {"cachedContents": [resource("cachedContents/a")]},
            0.5,
        ),
        other("PATCH", f"{HOST}/cachedContents/a", {"ttl": "600s"}, resource("cachedContents/a"), 0.5),
    ],
)
def test_an_answer_that_tells_of_a_cache_tells_its_size(told: Exchange) -> None:
    found = report([told, asking(), replace(asking(at=900.0), response_body=None)])
    assert [one.read_estimated for one in found.requests] == [7_021, 0]
    [row] = found.cached_contents
    assert (row.made, row.expires, row.storage_token_hours_estimated) == (
        None,
        T0 + (600 if told.method == "GET" else 600.5),
        None,
    )


def test_names_of_vertex_are_matched_by_their_last_part() -> None:
    """A project stands in a name as a number, and in another as its id."""
    made = making("projects/123/locations/us-central1/cachedContents/77", url=f"{VERTEX}/cachedContents")
    found = report([made, asking("projects/p/locations/us-central1/cachedContents/77")])
    assert reads(found) == [(7_021, 7_021)]


def test_caches_of_one_recording_are_no_others() -> None:
    found = report([making(), replace(asking(), source="another")])
    assert flags(found) == [("cached_content_unknown",)]


def test_the_same_content_again_is_told() -> None:
    found = report(
        [
            making(),
            making("cachedContents/b", at=100.0),
            making("cachedContents/c", at=100.0, text="other " * 3_000),
            making("cachedContents/d", at=900.0),
        ]
    )
    told = [(one.name[-1], one.same_as and one.same_as[-1], one.paid_again) for one in found.cached_contents]
    assert told == [("a", None, False), ("b", "a", True), ("c", None, False), ("d", "b", False)]


def test_rules_that_a_user_names_know_no_explicit_caches() -> None:
    found = report([making(), asking()], rules="vllm")
    assert (found.requests[0].read_estimated, found.requests[0].flags) == (None, ("no_rules",))
    assert reads(report([making(), asking()], rules="gemini-explicit")) == [(7_021, 7_021)]


def test_without_times_a_cache_lives_until_it_is_deleted() -> None:
    log = [making(at=None), asking(at=None), deleting(), replace(asking(at=None), response_body=None)]
    found = report(log)
    assert [one.read_estimated for one in found.requests] == [7_021, 0]
    assert flags(found) == [("no_time",), ("no_time", "cached_content_gone")]
    [row] = found.cached_contents
    assert (row.made, row.expires) == (T0, T0 + 600)
    assert row.storage_token_hours_estimated is None


def test_a_body_of_another_kind_tells_nothing() -> None:
    for answer in (None, {}, {"name": 7}, {"cachedContents": [7, {"name": ""}]}):
        log = [
            other(method, f"{HOST}/cachedContents", {"model": MODEL}, answer, 0.0)
            for method in ("GET", "POST")
        ]
        assert report([*log, asking()]).cached_contents == []
    broken = replace(making(), request_body=b"{", response_body=b"[")
    assert report([broken]).cached_contents == []


def test_a_published_recording_reads_what_it_says(corpus: Path) -> None:
    path = corpus / CORPUS_FILE
    found = report([one for one in read_exchanges(path) if not isinstance(one, EntryError)])
    assert reads(found) == [(3_512, 3_512)] * 2
    [cache] = found.cached_contents
    assert (cache.tokens_reported, cache.deleted) == (3_512, True)
    assert cache.made is not None
    assert cache.expires is not None
    assert cache.expires - cache.made == pytest.approx(119.66, abs=0.01)
