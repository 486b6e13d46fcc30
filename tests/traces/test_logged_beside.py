"""Log lines that hold a request's members beside its answer's: never a body as it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.exchange import EntryError, Exchange
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


def told(number: int, at: object, **more: object) -> dict[str, object]:
    """The call of that number in a conversation that grows."""
    said = [{"role": "user", "content": f"q{one}"} for one in range(number + 1)]
    return {**ASKED, "messages": said, "response": ANSWER, "start_time": at, **more}


def in_kwargs(number: int, at: object) -> dict[str, object]:
    call = told(number, at)
    return {"kwargs": {key: call[key] for key in ASKED}, "response": ANSWER, "startTime": at}


def asked(content: bytes) -> list[int]:
    found = read_exchanges(content)
    return [len(json.loads(one.request_body)["messages"]) for one in found if isinstance(one, Exchange)]


def as_lines(calls: list[dict[str, object]]) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in calls)


def as_list(calls: list[dict[str, object]]) -> bytes:
    return json.dumps(calls, indent=1).encode()


@pytest.mark.parametrize("written", [as_lines, as_list])
@pytest.mark.parametrize("call", [told, in_kwargs])
@pytest.mark.parametrize(
    "times",
    [
        ["2026-11-30T09:00:01", "2026-11-30T09:00:00", "2026-11-30T09:00:04", "2026-11-30T09:00:02"],
        [1_796_029_201, 1_796_029_200, 1_796_029_204.5, 1_796_029_202],
    ],
)
def test_calls_are_read_in_the_order_in_which_they_began(
    written: Callable[[list[dict[str, object]]], bytes],
    call: Callable[[int, object], dict[str, object]],
    times: list[object],
) -> None:
    content = written([call(number, at) for number, at in zip([1, 0, 3, 2], times, strict=True)])
    assert asked(content) == [1, 2, 3, 4]
    assert [one.entry for one in read_exchanges(content)] == [1, 0, 3, 2]
    assert explain(read_exchanges(content)).breaks == []


def test_a_call_without_a_time_stays_behind_the_one_in_front() -> None:
    calls = [told(2, 1_796_029_202), told(3, None), told(0, 1_796_029_200), told(1, "yesterday")]
    assert asked(as_lines(calls)) == [1, 2, 3, 4]


def test_a_line_that_is_damaged_keeps_its_number_and_the_last_one_its_end() -> None:
    content = as_lines([told(1, 1_796_029_202), told(0, 1_796_029_200)]).replace(b"\n", b"\r\n\n{{\n\n")
    content += b'\n{"model": "m", "mess'
    errors = [one for one in read_exchanges(content) if isinstance(one, EntryError)]
    assert sorted(one.entry for one in errors) == [1, 3]
    assert [one.message[:7] for one in sorted(errors, key=lambda one: one.entry)] == ["line 3:", "line 6:"]
    assert "without a line feed" in errors[-1].message or "without a line feed" in errors[0].message
    assert asked(content) == [1, 2]


def test_requests_that_were_recorded_stay_in_the_order_of_the_file() -> None:
    lines = [{"request": told(number, None), "started": at} for number, at in ((1, 9e8 + 9), (0, 9e8 + 1))]
    for one in lines:
        del one["request"]["response"]  # type: ignore[attr-defined]  # built above
    assert asked(as_lines(lines)) == [2, 1]


def test_what_litellm_logs_before_a_call_is_a_request() -> None:
    address = ["http", "", "127.0.0.1", 9900, "/v1/", None, None]
    found = only({"model": "gpt-4.1", "complete_input_dict": ASKED, "api_base": address})
    assert json.loads(found.request_body) == ASKED
    assert found.fidelity is Fidelity.CANONICAL
