"""Logged arguments of google-genai's generate_content are read as the request that is sent for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.reference.prefix.request import read_request
from coldturn.traces.exchange import Exchange, ExchangeKind
from coldturn.traces.genai_call import as_sent
from coldturn.traces.readers import read_exchanges

TOOLS = [{"function_declarations": [{"name": "read"}, {"name": "write"}]}]
CALL: dict[str, Any] = {
    "model": "gemini-2.5-pro",
    "contents": [{"role": "user", "parts": [{"text": "q"}]}],
    "config": {"system_instruction": "S", "tools": TOOLS, "temperature": 0.5},
}


def sent(config: object, contents: object = "q") -> Any:  # noqa: ANN401 - any JSON value
    body = as_sent(json.dumps({"model": "m", "contents": contents, "config": config}).encode())
    return None if body is None else json.loads(body)


@pytest.mark.parametrize("around", [None, "request", "body", "kwargs", "request_params"])
def test_the_configuration_is_part_of_the_prompt(around: str | None) -> None:
    line = json.dumps(CALL if around is None else {around: CALL})
    (only,) = read_exchanges(line.encode(), name="input")
    assert isinstance(only, Exchange)
    assert (only.kind, only.fidelity) == (ExchangeKind.MODEL, Fidelity.CANONICAL)
    prompt = read_request(only.request_body, fidelity=only.fidelity)
    zones = [block.zone for block in prompt.blocks]
    assert zones == [Zone.TOOLS, Zone.TOOLS, Zone.SYSTEM, Zone.HISTORY]
    assert prompt.model == "gemini-2.5-pro"
    assert "config" not in prompt.settings
    assert prompt.settings["generationConfig"] == b'{"temperature":0.5}'


def test_members_stand_where_the_library_puts_them() -> None:
    config = {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "cached_content": "cachedContents/a",
        "tool_config": {"function_calling_config": {"mode": "ANY"}},
        "top_k": None,
        "seed": 7,
        "http_options": {"timeout": 9},
        "automatic_function_calling": {"disable": True},
    }
    assert sent(config) == {
        "model": "m",
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "systemInstruction": {"parts": [{"text": "S"}]},
        "cached_content": "cachedContents/a",
        "tool_config": {"function_calling_config": {"mode": "ANY"}},
        "generationConfig": {"seed": 7},
    }


def test_texts_and_bare_parts_become_contents() -> None:
    model = {"role": "model", "parts": [{"text": "b"}]}
    image = {"inline_data": {"mime_type": "image/png", "data": "AA=="}}
    request = sent({"system_instruction": ["S", {"text": "T"}]}, ["a", image, model, "c"])
    assert request["contents"] == [
        {"role": "user", "parts": [{"text": "a"}, image]},
        model,
        {"role": "user", "parts": [{"text": "c"}]},
    ]
    assert request["system_instruction"] == {"parts": [{"text": "S"}, {"text": "T"}]}


def test_values_keep_their_bytes() -> None:
    body = as_sent(b'{"contents": "\\u00e9", "config": {"tools": [ {"a":1.50} ], "se\\"ed\\ud800": 7}}')
    assert body is not None
    assert b'"tools":[ {"a":1.50} ]' in body
    assert b'{"text":"\\u00e9"}' in body
    assert json.loads(body)["generationConfig"] == {'se"ed\ud800': 7}


@pytest.mark.parametrize("config", [None, "text", [1]])
def test_another_config_is_left_as_it_stands(config: object) -> None:
    assert sent(config) is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"contents": [], "config": {',
        b'{"contents": [1,,2], "config": {}}',
        b'{"x": {"contents": 1, "config": {}}}',
    ],
)
def test_what_is_no_call_is_left_to_its_reader(body: bytes) -> None:
    assert as_sent(body) is None
