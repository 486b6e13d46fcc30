"""Ceiling, should-have-hit and did-hit stay apart: in names, in rates, and in what each is made from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coldturn.analysis.estimates.estimation import estimate
from coldturn.analysis.estimates.report import EstimateReport
from coldturn.traces.readers import read_exchanges

COUNTS = {"request", "requests", "entry", "n", "exact", "within_block"}
"""Numbers that are neither tokens nor rates nor money."""


def recorded(folder: Path, read_tokens: tuple[int | None, ...]) -> EstimateReport:
    """A conversation that grows, with the reads that are given; None reports none."""
    entries: list[dict[str, Any]] = []
    messages: list[dict[str, str]] = []
    for number, read in enumerate(read_tokens):
        messages = [*messages, {"role": "user", "content": f"{number} " + "x" * 8_000}]
        usage: dict[str, Any] = {"prompt_tokens": 2_100 * (number + 1), "completion_tokens": 1}
        if read is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": read}
        answer = {"role": "assistant", "content": "yes"}
        reply = {"choices": [{"message": answer, "index": 0}], "usage": usage}
        entries.append({"request": {"model": "gpt-5.4", "messages": messages}, "response": reply})
        messages = [*messages, answer]
    log = folder / "log.jsonl"
    log.write_text("\n".join(json.dumps(one) for one in entries))
    return estimate(read_exchanges(log))


def numbers(value: object, name: str = "") -> Iterator[str]:
    """Names of everything that is a number."""
    match value:
        case dict():
            for key, inner in value.items():
                if key not in {"flags", "by_difference"}:
                    yield from numbers(inner, key)
        case list():
            for inner in value:
                yield from numbers(inner, name)
        case bool():
            pass
        case int() | float():
            yield name


def test_every_number_says_whether_it_is_estimated_or_reported(tmp_path: Path) -> None:
    names = set(numbers(recorded(tmp_path, (0, 2_048, 4_096)).as_json())) - COUNTS
    assert names > {"read_estimated", "read_reported", "ceiling_estimated"}
    unclear = {name for name in names if not ("estimated" in name) ^ ("reported" in name)}
    # An error is one of the two columns against the other.
    assert unclear == {"total_error"}


@pytest.mark.parametrize("read", [0, 1_024, 4_200, None])
def test_what_a_request_reports_changes_no_estimate_of_it(tmp_path: Path, read: int | None) -> None:
    usual, other = recorded(tmp_path, (0, 2_048, 4_096)), recorded(tmp_path, (0, 2_048, read))
    for one, another in zip(usual.requests, other.requests, strict=True):
        assert one.ceiling_estimated == another.ceiling_estimated
        assert one.read_estimated == another.read_estimated
    assert usual.requests[2].read_estimated == 4_096
    assert other.requests[2].read_reported == read
    assert usual.totals.hit_rate_estimated == other.totals.hit_rate_estimated
    assert usual.totals.hit_rate_ceiling_estimated == other.totals.hit_rate_ceiling_estimated


def test_rates_are_sums_over_the_requests_that_have_both_numbers(tmp_path: Path) -> None:
    totals = recorded(tmp_path, (0, None, 4_096)).totals
    assert totals.hit_rate_reported == 4_096 / (2_100 + 6_300)
    assert totals.hit_rate_estimated == (2_048 + 4_096) / (2_100 + 4_200 + 6_300)
    assert (totals.hit_rate_ceiling_estimated or 0) > totals.hit_rate_estimated
