"""Log lines that hold a request's members beside its answer's: never a body as it was sent."""

from __future__ import annotations

import json

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.exchange import Exchange
from coldturn.traces.readers import read_exchanges

ASKED = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "q"}], "tools": []}
USAGE = {"prompt_tokens": 900, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 640}}
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "a"}}], "usage": USAGE}


def only(value: object) -> Exchange:
    (found,) = read_exchanges(json.dumps(value).encode())
    assert isinstance(found, Exchange)
    return found


@pytest.mark.parametrize("key", ["start_time", "startTime", "timestamp"])
def test_an_answer_and_a_time_stand_beside_a_request(key: str) -> None:
    found = only({**ASKED, "response": ANSWER, key: "2026-11-30T09:00:00", "end_time": "2026-11-30T09:00:01"})
    assert json.loads(found.request_body) == ASKED
    assert found.fidelity is Fidelity.CANONICAL
    assert found.started == 1_796_029_200
    (lineage,) = explain([found]).lineages
    assert (lineage.tokens.input_reported, lineage.tokens.read_reported) == (900, 640)


def test_counts_alone_are_an_answer() -> None:
    (lineage,) = explain([only({**ASKED, "usage": USAGE})]).lineages
    assert (lineage.tokens.input_reported, lineage.tokens.read_reported) == (900, 640)


def test_dspys_history_keeps_settings_apart() -> None:
    around = {
        "kwargs": {"temperature": 0},
        "outputs": ["a"],
        "usage": USAGE,
        "cost": 0.1,
        "model_type": "chat",
    }
    line = {"prompt": None, **ASKED, **around, "timestamp": "2026-11-30T09:00:00", "response": ANSWER}
    assert json.loads(only(line).request_body) == {**ASKED, "temperature": 0}


SCHEMA = {"type": "object", "properties": {"response": {"type": "string"}, "timestamp": {"type": "string"}}}


@pytest.mark.parametrize(
    "body",
    [
        {**ASKED, "usage": {"include": True}},
        {**ASKED, "response": None},
        {**ASKED, "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]},
    ],
)
def test_a_body_as_it_was_sent_stays_one(body: dict[str, object]) -> None:
    found = only(body)
    assert found.request_body == json.dumps(body).encode()
    assert found.fidelity is Fidelity.WIRE
