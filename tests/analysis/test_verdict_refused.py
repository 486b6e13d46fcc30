"""Requests that the server did not answer: they read nothing, leave nothing, and are nobody's parent."""

from __future__ import annotations

from dataclasses import replace

from analysis.verdict_pairs import CHAT, LONG, chat, exchange, finding, findings, reported, usage, words
from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.verdicts.judge import NEWER_REFUSED, OLDER_REFUSED
from coldturn.traces.exchange import Exchange

SERVED = exchange(chat(f"Time: 10:01\n{LONG}", "a"), CHAT, usage(CHAT, 5_004, 0), started=0.0)
LATER = chat(f"Time: 10:02\n{LONG}", "a", "b", "c")


def refused(status: int, started: float) -> Exchange:
    return exchange(LATER, CHAT, status=status, started=started)


def test_one_loss_is_told_once_where_it_was_paid() -> None:
    retries = [refused(529, 10.0), refused(429, 20.0)]
    served = exchange(LATER, CHAT, usage(CHAT, 5_010, 0), started=30.0)
    first, second, paid = findings(SERVED, *retries, served)
    assert {(one.verdict, one.evidence, one.lost_tokens_estimated) for one in (first, second)} == {
        (Verdict.BROKEN_HARMLESS, NEWER_REFUSED, 0)
    }
    assert (paid.request, paid.parent, paid.cause) == (3, 0, "clock_in_prefix")
    assert (paid.verdict, paid.lost_tokens_estimated) == (Verdict.BROKEN, 4_992)


def test_a_refused_request_does_not_keep_an_entry_alive() -> None:
    body = chat(LONG, "a", "b", "c")
    first = exchange(chat(LONG, "a"), CHAT, usage(CHAT, 5_004, 0), started=0.0)
    between = exchange(body, CHAT, status=529, started=500.0)
    cold = exchange(body, CHAT, usage(CHAT, 5_010, 0), started=700.0)
    found = finding(first, between, cold)
    assert (found.cause, found.request, found.parent) == ("ttl_expired", 2, 0)
    soon = replace(between, started=200.0), replace(cold, started=250.0)
    assert findings(first, *soon)[0].cause != "ttl_expired"


def test_what_was_changed_after_a_refusal_was_never_kept() -> None:
    """A body that is mended after an error 400 goes on from the last one that was answered."""
    first = exchange(chat(LONG, "a"), CHAT, usage(CHAT, 5_004, 0))
    wrong = exchange(chat(LONG, "a", words(900, "bad"), "go on"), CHAT, status=400)
    mended = exchange(chat(LONG, "a", words(900, "good"), "go on"), CHAT, usage(CHAT, 5_910, 4_992))
    assert findings(first, wrong, mended) == []


def test_a_conversation_that_begins_with_a_refusal_is_one_conversation() -> None:
    begun = replace(SERVED, status=400, response_body=None)
    report = reported(begun, exchange(LATER, CHAT, usage(CHAT, 5_010, 0)))
    (lineage,) = report.lineages
    (found,) = lineage.breaks
    assert (found.verdict, found.evidence) == (Verdict.BROKEN_HARMLESS, OLDER_REFUSED)
    assert found.lost_tokens_estimated == 0
    same = exchange(chat(f"Time: 10:01\n{LONG}", "a"), CHAT, usage(CHAT, 5_004, 0), started=700.0)
    assert findings(begun, same) == []
