"""A first image takes the messages from Anthropic's cache wherever it stands; so does the last that goes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.exchanges import BEDROCK, rows
from analysis.verdict_pairs import (
    ANTHROPIC,
    LONG,
    MARK,
    exchange,
    finding,
    findings,
    marked,
    messages,
    usage,
    words,
)
from coldturn.analysis.estimates.layout_maker import LayoutMaker
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.reference.prefix.request import read_request

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
IMAGE = {"type": "image", "source": PIXEL}
TEXT = {"type": "text", "text": 'saw {"type":"image"}'}
SYSTEM = [{"type": "text", "text": LONG, "cache_control": MARK}]


def turn(*content: dict[str, Any]) -> dict[str, Any]:
    """A conversation whose second step brings a tool's result."""
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    body = messages(words(3_000, "ask"), system=SYSTEM)
    if content:
        result = {"type": "tool_result", "tool_use_id": "t1", "content": list(content)}
        body["messages"] += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return marked(body, -1)


def pair(content: dict[str, Any], read: int) -> list[Any]:
    return [
        exchange(turn(), ANTHROPIC, usage(ANTHROPIC, 8_000, 0, 8_000), started=0.0),
        exchange(turn(content), ANTHROPIC, usage(ANTHROPIC, 8_050, read, 8_050 - read), started=9.0),
    ]


def test_an_image_in_a_result_takes_the_messages() -> None:
    found = finding(*pair(IMAGE, 5_000))
    assert (found.cause, found.tiers_lost) == ("image_toggle", ("messages",))
    assert abs(found.lost_tokens_estimated - 3_000) < 60


def test_a_result_that_speaks_of_images_shows_none() -> None:
    assert findings(*pair(TEXT, 8_000)) == []


@pytest.mark.parametrize(("content", "read"), [(IMAGE, 5_000), (TEXT, 8_000)])
def test_the_simulator_knows_it_as_well(content: dict[str, Any], read: int) -> None:
    last = rows(pair(content, read))[-1]
    assert last.read_estimated is not None
    assert abs(last.read_estimated - read) < 60


def test_images_in_results_on_converse() -> None:
    result = {
        "toolResult": {
            "toolUseId": "t1",
            "content": [{"image": {"format": "png", "source": {"bytes": "AA=="}}}],
        }
    }
    point = {"cachePoint": {"type": "default"}}
    first = [{"role": "user", "content": [{"text": LONG}, point]}]
    call = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]}
    told = {"inputTokens": 20, "outputTokens": 1, "cacheReadInputTokens": 0, "cacheWriteInputTokens": 5_000}
    log = [
        exchange({"messages": first}, BEDROCK, told, started=0.0),
        exchange(
            {"messages": [*first, call, {"role": "user", "content": [result, point]}]},
            BEDROCK,
            told,
            started=9.0,
        ),
    ]
    assert finding(*log).cause == "image_toggle"


def test_an_image_behind_what_two_requests_share_is_in_one_of_them_only() -> None:
    maker = LayoutMaker(Parameters(minimum=0))
    kept = [read_request(json.dumps(turn(content)).encode()) for content in (IMAGE, TEXT, IMAGE)]
    assert [maker.make(request).images for request in kept] == [True, False, True]
