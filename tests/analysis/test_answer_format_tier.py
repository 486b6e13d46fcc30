"""The format of the answer is rendered as system text for Claude: a change takes system and messages."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.exchanges import ANTHROPIC, BEDROCK, exchange, rows, words
from analysis.verdict_pairs import finding, findings

SCHEMA = {"type": "json_schema", "schema": {"type": "object", "properties": {"v": {"type": "string"}}}}
OTHER = {"type": "json_schema", "schema": {"type": "object", "properties": {"w": {"type": "string"}}}}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "look", "description": words(2_000), "input_schema": {"type": "object"}, **MARK}


def messages(**more: object) -> dict[str, Any]:
    system = [{"type": "text", "text": words(3_000, "sys"), **MARK}]
    said = [{"role": "user", "content": [{"type": "text", "text": "q"}]}]
    body = {"model": "claude-opus-5", "max_tokens": 9, "tools": [TOOL], "system": system, "messages": said}
    return {**body, **more}


def converse(**more: object) -> dict[str, Any]:
    system = [{"text": words(3_000, "sys")}, {"cachePoint": {"type": "default"}}]
    return {"system": system, "messages": [{"role": "user", "content": [{"text": "q"}]}], **more}


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ({}, {"output_config": {"format": SCHEMA}}),
        ({"output_config": {"format": SCHEMA}}, {"output_config": {"format": OTHER}}),
        ({"output_format": SCHEMA}, {}),
    ],
)
def test_only_the_tools_stay(was: dict[str, Any], now: dict[str, Any]) -> None:
    pair = exchange(messages(**was), ANTHROPIC), exchange(messages(**now), ANTHROPIC)
    whole = rows([pair[0], pair[0]])[1].read_estimated
    kept = rows(pair)[1].read_estimated
    assert whole is not None
    assert kept is not None
    assert 1_900 < kept < 2_200
    assert whole > 4_900
    found = finding(*pair)
    assert (found.cause, found.tiers_lost) == ("response_format_changed", ("system", "messages"))


def test_the_effort_beside_it_takes_the_messages_alone() -> None:
    """One object holds both settings."""
    pair = [
        exchange(messages(output_config={"format": SCHEMA, "effort": effort}), ANTHROPIC)
        for effort in ("low", "high")
    ]
    assert rows(pair)[1].read_estimated == rows([pair[0], pair[0]])[1].read_estimated
    assert findings(*pair) == []


def test_in_converse_too() -> None:
    def asked(schema: object) -> dict[str, Any]:
        return converse(outputConfig={"textFormat": {"type": "json_schema", "structure": schema}})

    pair = exchange(asked(SCHEMA), BEDROCK), exchange(asked(OTHER), BEDROCK)
    assert [one.read_estimated for one in rows(pair)] == [0, 0]
    assert finding(*pair).cause == "response_format_changed"


def test_citations_take_system_and_messages() -> None:
    def asked(*, cites: bool) -> dict[str, Any]:
        source = {"type": "text", "media_type": "text/plain", "data": words(1_500, "doc")}
        document = {"type": "document", "source": source, "citations": {"enabled": cites}}
        said = [
            {"role": "user", "content": [document, {"type": "text", "text": "What does it say of this?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "It says a good deal of this. " * 9}]},
            {"role": "user", "content": [{"type": "text", "text": "And of that?", **MARK}]},
        ]
        return messages(messages=said)

    without, cited = (exchange(asked(cites=cites), ANTHROPIC) for cites in (False, True))
    read = [one.read_estimated or 0 for one in rows([without, cited, cited, without])]
    assert read[0] == 0
    assert 1_900 < read[1] < 2_200
    assert min(read[2:]) > 6_400
    found = finding(without, cited)
    assert found.read_estimated is not None
    assert 1_900 < found.read_estimated < 2_200
