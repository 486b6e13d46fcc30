"""The last lines of `explain`: what they say where no finding does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.findings import LineageReport, Report, Tokens
from coldturn.reference.prefix.model import Fidelity, Surface
from coldturn.replay.cli.summary_view import summary
from coldturn.traces.readers import read_exchanges

ESTIMATE = "no finding accounts for the rest"
BYTES_ALONE = "no cache rules for some-model: judged by bytes and reported reads"


def lineage(
    requests: int = 4, read: int | None = 0, sent: int | None = 10_000, rules: str | None = "vllm"
) -> LineageReport:
    return LineageReport(
        id="a",
        source="log.jsonl",
        provider="openai",
        surface=Surface.CHAT_COMPLETIONS,
        model="some-model",
        fidelity=Fidelity.WIRE,
        requests=requests,
        tokens=Tokens(input_reported=sent, read_reported=read),
        rules=rules,
    )


def said(*lineages: LineageReport) -> str:
    return "\n".join(line.plain for line in summary(Report(list(lineages))))


@pytest.mark.parametrize(
    ("requests", "read", "told"),
    [
        (4, 0, True),
        (4, 3_749, True),
        (4, 3_751, False),
        (2, 2_499, True),
        (2, 2_501, False),
        (1, 0, False),
        (4, None, False),
    ],
)
def test_a_low_rate_that_nothing_explains_is_said(requests: int, read: int | None, told: bool) -> None:
    assert (ESTIMATE in said(lineage(requests, read))) is told


def test_a_low_rate_is_not_said_where_there_are_no_rules_to_estimate_by() -> None:
    assert ESTIMATE not in said(lineage(rules=None))


def test_requests_that_began_conversations_had_nothing_to_read() -> None:
    assert ESTIMATE not in said(*(replace(lineage(1), id=str(at)) for at in range(3)))


def test_missing_rules_are_said_once_where_no_heading_says_so() -> None:
    told = said(lineage(rules=None), replace(lineage(rules=None), id="b"))
    assert told.count(BYTES_ALONE) == 1
    assert "--rules NAME chooses some" in told
    assert BYTES_ALONE not in said(lineage())
    assert BYTES_ALONE not in said(lineage(requests=1, rules=None)), "there was nothing to compare"
    assert BYTES_ALONE not in said(replace(lineage(rules=None), surface=None)), "two plain texts have none"


def test_what_was_not_read_to_its_end_gets_no_clean_bill() -> None:
    report = Report([lineage()])
    line, *_ = summary(report, whole=False)
    assert line.plain == "4 requests in 1 conversation: no unplanned break in what could be read"
    line, *_ = summary(report)
    assert line.plain == "4 requests in 1 conversation: no unplanned break"


def test_requests_that_nothing_marks_account_for_a_rate_of_nothing() -> None:
    lines = []
    for turns in (1, 2, 3):
        messages = [
            {
                "role": ("user", "assistant")[at % 2],
                "content": f"{at}: " + "The clerk answers briefly. " * 300,
            }
            for at in range(2 * turns - 1)
        ]
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}
        usage = {"input_tokens": 2_000 * turns, "cache_read_input_tokens": 0, "output_tokens": 9}
        reply = {"type": "message", "id": f"m{turns}", "role": "assistant", "content": [], "usage": usage}
        lines.append(
            json.dumps({"url": "https://api.anthropic.com/v1/messages", "request": body, "response": reply})
        )
    report = explain(read_exchanges("\n".join(lines).encode() + b"\n"))
    told = "\n".join(line.plain for line in summary(report))
    assert "2 requests have no marker, so nothing is kept: `coldturn advise` says" in told
    assert ESTIMATE not in told
