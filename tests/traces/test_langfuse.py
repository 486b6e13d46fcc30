"""Langfuse exports: in the order of their times, wrappers passed over, prompts in whatever form they came."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Record
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.usage_record import UsageRecord
from fuzz.readers_examples import dumped, export, lines, observation

ASKED = {"role": "user", "content": "Where is the file?"}
TOOL = {"name": "find", "description": "d"}


def read(*observations: dict[str, Any]) -> list[Record]:
    return list(read_records(dumped(export(*observations)), name="input"))


def body(given: object, **more: object) -> Any:  # noqa: ANN401 - a body's values
    (only,) = read(observation(1, input=given, **more))
    assert isinstance(only, Exchange), only
    assert only.fidelity is Fidelity.MESSAGES
    return json.loads(only.request_body)


def test_generations_are_read_in_the_order_of_their_times() -> None:
    ask = [dict(ASKED, content=f"question {number}") for number in range(3)]
    found = read(*(observation(number, input=json.dumps([ask[number]])) for number in (2, 0, 1)))
    said = [json.loads(one.request_body)["messages"][0] for one in found if isinstance(one, Exchange)]
    assert said == ask
    assert [one.entry for one in found] == [0, 1, 2]
    assert [one.started for one in found if isinstance(one, Exchange)] == sorted(
        one.started or 0 for one in found if isinstance(one, Exchange)
    )


@pytest.mark.parametrize("layout", ["trace", "nested", "list", "lines", "page", "page on a line"])
def test_exports_come_in_several_layouts(layout: str) -> None:
    both = (observation(1), observation(2))
    content = {
        "trace": dumped(export(*both), 2),
        "nested": dumped({"id": "t", "projectId": "p", "observations": list(both)}, 2),
        "list": dumped(list(both)),
        "lines": lines(*both),
        "page": dumped({"data": list(both), "meta": {"page": 1}}, 2),
        "page on a line": lines({"data": list(both), "meta": {"page": 1}}),
    }[layout]
    assert [type(one) for one in read_records(content)] == [Exchange, Exchange]


@pytest.mark.parametrize(
    ("given", "messages"),
    [
        ([ASKED], [ASKED]),
        (json.dumps([ASKED]), [ASKED]),
        ({"messages": [ASKED]}, [ASKED]),
        ([{"role": "user", "parts": [{"type": "text", "content": "Where is the file?"}]}], [ASKED]),
        ("Where is the file?", [ASKED]),
        (
            [ASKED, {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
             {"type": "function_call_output", "call_id": "c", "output": "a.py"}],
            [ASKED,
             {"role": "assistant", "content": None, "tool_calls": [
                 {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}]},
             {"role": "tool", "tool_call_id": "c", "content": "a.py"}],
        ),
        ({"system": "Be brief.", "messages": [ASKED]}, [{"role": "system", "content": "Be brief."}, ASKED]),
    ],
)  # fmt: skip
def test_a_prompt_is_read_in_the_form_it_came(given: object, messages: object) -> None:
    assert body(given)["messages"] == messages


def test_tools_are_taken_from_where_they_stand() -> None:
    declared = {"contents": [ASKED], "config": {"tools": [{"function_declarations": [TOOL]}]}}
    kept = [{"type": "function", "function": TOOL}]
    assert body({"messages": [ASKED], "tools": [TOOL]})["tools"] == kept
    assert body(declared)["tools"] == kept
    answer = {"object": "response", "instructions": "Be brief.", "tools": [{"type": "function", **TOOL}]}
    found = body([ASKED], output=json.dumps(answer))
    assert found["tools"] == kept
    assert found["messages"][0] == {"role": "system", "content": "Be brief."}
    attributes = {"attributes": {"gen_ai.tool.definitions": [TOOL]}}
    assert body([ASKED], metadata=json.dumps(attributes))["tools"] == kept


def test_tools_that_nobody_kept_are_unknown() -> None:
    (only,) = read(observation(1))
    assert isinstance(only, Exchange)
    assert only.parts_missing == {Zone.TOOLS}


def test_a_part_of_a_prompt_is_no_prompt() -> None:
    """Some write only the newest message there: nothing can be compared with it."""
    parts: list[object] = [
        {"role": "user", "content": "and?"},
        {"messages": 7},
        {"messages": {}},
        [],
        None,
        7,
    ]
    for given in parts:
        (only,) = read(observation(1, input=json.dumps(given)))
        assert isinstance(only, UsageRecord)
        assert (only.input_tokens, only.output_tokens) == (20, 3)


def test_a_generation_around_another_is_its_wrapper() -> None:
    outer, inner = observation(1), observation(2, parentObservationId="o1")
    (only,) = read(outer, inner)
    assert isinstance(only, Exchange)
    assert only.started == 1_796_032_802.0


@pytest.mark.parametrize(
    ("usage", "whole", "cached"),
    [
        ({"input": 60, "output": 15, "total": 75}, 60, None),
        ({"input": 500, "output": 15, "total": 1515, "input_cache_read": 1000}, 1500, 1000),
        ({"input": 1500, "output": 15, "total": 1515, "input_cache_read": 1000}, 1500, 1000),
        ({"input": 3, "output": 1, "cache_read_input_tokens": 1000}, 1003, 1000),
        ({"input": "60", "output": None}, 60, None),
    ],
)
def test_usage_is_disjoint_where_it_adds_up_so(usage: dict[str, Any], whole: int, cached: int | None) -> None:
    report = explain(read_exchanges(dumped(export(observation(1, usageDetails=usage))), name="input"))
    tokens = report.lineages[0].tokens
    assert (tokens.input_reported, tokens.read_reported) == (whole, cached)


def test_other_observations_are_counted_when_nothing_else_is_there() -> None:
    with pytest.raises(NoRequestsError, match="2 observations, none of them a call"):
        read(observation(1, type="SPAN"), observation(2, type="TOOL"))


def test_what_is_no_observation_is_an_error_of_its_own() -> None:
    found = list(read_records(dumped({"trace": {}, "observations": [7, observation(1)]}), name="input"))
    assert [type(one) for one in found] == [EntryError, Exchange]


def test_a_cut_export_is_refused_as_a_whole() -> None:
    """Its order is only known at its end."""
    with pytest.raises(UnreadableJsonError, match="cut off"):
        list(read_records(dumped(export(observation(2), observation(1)), 2)[:-40]))
