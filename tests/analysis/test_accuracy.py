"""What docs/accuracy.md says: figures that hold, differences that are explained, and that it is current."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.accuracy import PAGE, engine_table_of, page
from benchmarks.accuracy_blocks import CAPACITIES, TRACES, requests_of, simulated
from benchmarks.accuracy_recordings import differs, estimated, explanation, note_on, notes
from benchmarks.accuracy_sessions import FILE, Session, compare, estimates, parameters_of, read_sessions

from coldturn.analysis.curves.inputs import block_curves
from coldturn.analysis.entries.store import TouchOrder
from coldturn.analysis.estimates.estimation import estimate
from coldturn.analysis.estimates.misses import Call, Outcome, outcome, units_behind
from coldturn.analysis.estimates.report import Difference, EstimateReport
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.readers import read_exchanges
from coldturn.traces.usage_record import UsageRecord


@pytest.fixture(scope="module")
def recordings(corpus: Path) -> EstimateReport:
    return estimated(corpus)


def test_the_page_is_what_the_command_writes(corpus: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(corpus, engine_table_of(text))


def test_the_page_holds_the_engine_table_of_every_case_and_no_request_is_apart() -> None:
    cases = pytest.importorskip("engine.cases").CASES
    rows = [line.split("|")[1:-1] for line in engine_table_of(PAGE.read_text(encoding="utf-8")).splitlines()]
    found = {cells[0].strip(): cells[-1].strip() for cells in rows[2:] if cells}
    assert found == dict.fromkeys(cases, "0")


def test_agent_sessions_agree_at_least_as_often_as_they_did(corpus: Path) -> None:
    found = compare(read_sessions(corpus / FILE))
    equal = {model: (one.outcomes[Outcome.EXACT], one.calls) for model, one in found.items()}
    least = {
        "deepseek-chat": (3_904, 4_633),
        "deepseek-reasoner": (111, 115),
        "deepseek-v4-flash": (61, 63),
    }
    assert equal.keys() == least.keys()
    for model, (exact, calls) in least.items():
        assert equal[model][0] >= exact
        assert equal[model][1] == calls


def test_of_every_thousand_calls_at_most_one_is_not_explained(corpus: Path) -> None:
    found = compare(read_sessions(corpus / FILE))
    assert (
        sum(len(one.unexplained) for one in found.values())
        <= sum(one.calls for one in found.values()) / 1_000
    )
    # Sessions either lag about every other time, or hardly ever.
    without, with_lag = (
        [sum(column) for column in zip(*(one.part(lagging=lags) for one in found.values()), strict=True)]
        for lags in (False, True)
    )
    assert without[2] / without[1] > 0.97
    assert with_lag[2] / with_lag[1] < 0.55


def test_the_share_of_tokens_that_deepseek_reads_in_practice_is_the_registrys(corpus: Path) -> None:
    found = compare(read_sessions(corpus / FILE))
    for model, one in found.items():
        assert one.did / one.should == pytest.approx(parameters_of(model).reliability, abs=0.015)


def session(*calls: tuple[int, int, int], model: str = "deepseek-chat") -> Session:
    records = [
        UsageRecord(
            source="made up",
            entry=number,
            conversation="made up",
            call=number,
            model=model,
            input_tokens=ReportedTokens(prompt),
            cached_tokens=ReportedTokens(read),
            output_tokens=ReportedTokens(answer),
        )
        for number, (prompt, answer, read) in enumerate(calls)
    ]
    return Session("made up", model, records)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([(1_000, 90, 0), (1_200, 80, 1_088)], Outcome.EXACT),
        ([(1_000, 24, 0), (1_200, 80, 960)], Outcome.ONE_LESS),
        ([(1_000, 90, 0), (1_200, 80, 1_152)], Outcome.OWN_PROMPT),
        ([(1_000, 190, 0), (1_200, 80, 960)], Outcome.PROMPT_ONLY),
        ([(1_000, 90, 320), (1_200, 80, 320)], Outcome.START),
        ([(1_000, 90, 0), (1_200, 80, 1_088), (1_400, 9, 1_088)], Outcome.SAME_AGAIN),
        ([(1_000, 90, 0), (1_200, 80, 320), (1_400, 9, 1_088)], Outcome.EARLIER_CALL),
        ([(1_000, 300, 0), (1_400, 80, 1_152)], Outcome.INSIDE_ANSWER),
        ([(1_000, 90, 0), (1_400, 80, 1_216)], Outcome.UNEXPLAINED),
    ],
)
def test_what_a_read_is(calls: Sequence[tuple[int, int, int]], expected: Outcome) -> None:
    one = session(*calls)
    last = len(calls) - 1
    estimated = list(estimates(one))[last]
    assert estimated is not None
    assert outcome(one.calls, last, estimated, parameters_of(one.model)) is expected


@pytest.mark.parametrize(
    ("reads", "behind"),
    [((0, 1_088, 1_088), 1), ((0, 1_088, 1_280, 1_088), 2), ((0, 320, 320), None)],
)
def test_how_far_a_read_is_behind(reads: Sequence[int], behind: int | None) -> None:
    calls = [Call(1_000 + 200 * at, 90, read) for at, read in enumerate(reads)]
    assert units_behind(calls, len(calls) - 1, parameters_of("deepseek-chat")) == behind


def test_models_differ_in_steps_and_in_whether_the_answer_is_kept() -> None:
    calls = ((1_000, 200, 0), (1_300, 0, 0))
    read = {model: list(estimates(session(*calls, model=model)))[1] for model in
            ("deepseek-chat", "deepseek-reasoner", "deepseek-v4-flash")}  # fmt: skip
    assert read == {"deepseek-chat": 1_152, "deepseek-reasoner": 960, "deepseek-v4-flash": 1_152}
    odd = session((1_000, 90, 0), (1_300, 0, 0), model="deepseek-v4-flash")
    assert list(estimates(odd)) == [None, 1_024]


def test_every_difference_in_the_recordings_is_explained(recordings: EstimateReport) -> None:
    rows = [row for row in recordings.requests if differs(row)]
    assert len(rows) > 20
    assert [(row.source, row.request) for row in rows if explanation(row) is None] == []


def test_no_note_is_left_over(recordings: EstimateReport) -> None:
    used = {note_on(row) for row in recordings.requests if differs(row)} - {None}
    rows = [(row.source, row.request) for row in recordings.requests if differs(row)]
    stale = [
        key
        for key in notes()
        if not any(key[1] == number and name.startswith(key[0]) for name, number in rows)
    ]
    assert stale == []
    assert used == set(notes().values())


def test_equal_reads_in_the_recordings_do_not_get_fewer(recordings: EstimateReport) -> None:
    found = recordings.validation
    assert found.n >= 199
    assert found.exact >= 176
    rows = [row for row in recordings.requests if row.difference is Difference.NONE]
    read = [row for row in rows if row.read_reported]
    assert len(read) >= 10


def test_the_rules_never_read_more_than_a_cache_without_bounds(recordings: EstimateReport) -> None:
    rows = [row for row in recordings.requests if row.read_estimated is not None]
    assert [row for row in rows if (row.read_estimated or 0) > row.ceiling_estimated] == []
    assert any(row.read_estimated for row in rows)


def test_an_answer_that_is_sent_back_counts_for_the_ceiling(tmp_path: Path) -> None:
    first = [{"role": "user", "content": "a" * 4_000}]
    answer = {"role": "assistant", "content": "b" * 800}
    entries = []
    for messages, tokens in ((first, 1_000), ([*first, answer, {"role": "user", "content": "more"}], 1_210)):
        usage = {"prompt_tokens": tokens, "completion_tokens": 200, "prompt_cache_hit_tokens": 0}
        entries.append(
            {
                "request": {"model": "deepseek-chat", "messages": messages},
                "response": {"choices": [{"message": answer, "index": 0}], "usage": usage},
            }
        )
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(json.dumps(one) for one in entries))
    second = estimate(read_exchanges(log)).requests[1]
    assert second.read_estimated == 1_152
    assert second.ceiling_estimated == 1_152


@pytest.mark.parametrize(
    ("name", "unlimited", "rates"),
    [
        ("conversation", 0.366, (0.3546, 0.3257, 0.2112, 0.0445)),
        ("synthetic", 0.640, (0.6396, 0.6242, 0.4235, 0.0825)),
    ],
)
def test_block_traces_hit_as_published(
    corpus: Path, name: str, unlimited: float, rates: Sequence[float]
) -> None:
    requests = requests_of(corpus, name)
    curve = block_curves(requests).capacity
    assert name in TRACES
    assert curve.hit_rate_estimated(10**9) == pytest.approx(unlimited, abs=0.0005)
    for capacity, expected in zip(CAPACITIES, rates, strict=True):
        one_size = simulated(requests, capacity, TouchOrder.FRONT_TO_BACK)
        assert curve.hit_rate_estimated(capacity) == one_size
        assert round(one_size, 4) == expected
