"""Logs of flattened prompts: one message, compared to the byte."""

from __future__ import annotations

import json

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges
from fuzz.readers_examples import flattened, lines


def test_a_line_is_one_message() -> None:
    (only,) = read_exchanges(lines({**flattened(1), "model": "gpt-5.5"}))
    assert isinstance(only, Exchange)
    assert json.loads(only.request_body) == {
        "model": "gpt-5.5",
        "messages": [{"role": "user", "content": "user: hi\n"}],
    }
    assert only.fidelity is Fidelity.MESSAGES
    assert only.parts_missing == {Zone.TOOLS}


@pytest.mark.parametrize(
    ("written", "started"),
    [
        (1_760_995_991_633_938, 1_760_995_991.633938),
        (1_760_995_991_633, 1_760_995_991.633),
        (1_760_995_991.5, 1_760_995_991.5),
        ("2025-10-20T21:33:11Z", 1_760_995_991.0),
        ("soon", None),
        (10**30, None),
        (None, None),
        (-1, -1.0),
    ],
)
def test_the_unit_of_a_time_is_told_by_its_size(written: object, started: float | None) -> None:
    (only,) = read_exchanges(lines({**flattened(1), "timestamp": written}))
    assert isinstance(only, Exchange)
    assert only.started == (None if started is None else pytest.approx(started))
    assert only.undated is (started is None and written is not None)


def test_a_prompt_that_goes_on_is_no_break_and_one_that_changes_is() -> None:
    grown = [flattened(1), flattened(2), {**flattened(3), "input": "user: ho\n" * 3}]
    report = explain(read_exchanges(lines(*grown), name="input"))
    assert report.requests == 3
    assert [found.request for found in report.breaks] in ([], [2])
    assert not [found for found in report.breaks if found.request == 1]


def test_lines_that_cannot_be_read_are_named() -> None:
    content = lines(flattened(1)) + b'{"input": 7, "output": "", "session_id": ""}\n' + b'{"input": "cut'
    first, second, third = read_exchanges(content, name="input")
    assert isinstance(first, Exchange)
    assert isinstance(second, EntryError)
    assert second.message == "line 2: its input is no text"
    assert isinstance(third, EntryError)
    assert "without a line feed" in third.message
