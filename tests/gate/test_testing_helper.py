"""`coldturn.replay.testing`: assertions for users' own tests."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest

import coldturn.replay.testing
from coldturn.replay.testing import Request, assert_prefix_stable, breaks_of
from coldturn.traces.readers import read_exchanges
from replay.gate_logs import GROWN, body, broken

BREAKING = [body("a"), body("a", "b", system=GROWN)]


@pytest.mark.parametrize("how", [lambda one: one, json.dumps, lambda one: json.dumps(one).encode()])
def test_a_break_fails_in_whatever_shape_requests_come(how: object) -> None:
    assert callable(how)
    requests: list[Request] = [how(one) for one in BREAKING]
    with pytest.raises(AssertionError, match=r"request 1 parts from request 0 in .*catalog_growth"):
        assert_prefix_stable(requests)
    assert [found.cause for found in breaks_of(requests)] == ["catalog_growth"]
    assert_prefix_stable([how(body("a")), how(body("a", "b"))])


def test_exchanges_of_a_recording_can_be_asserted_on(tmp_path: Path) -> None:
    exchanges = list(read_exchanges(Path(broken(tmp_path / "a.jsonl"))))
    with pytest.raises(AssertionError, match="catalog_growth"):
        assert_prefix_stable(exchanges)  # type: ignore[arg-type]


def test_a_deliberate_move_needs_a_reason_and_may_not_be_stale() -> None:
    assert_prefix_stable(BREAKING, moves={"catalog_growth": "the catalogue grows once"})
    with pytest.raises(ValueError, match="no reason"):
        assert_prefix_stable(BREAKING, moves={"catalog_growth": " "})
    with pytest.raises(AssertionError, match="stale"):
        assert_prefix_stable(BREAKING[:1], moves={"catalog_growth": "it once did"})


@pytest.mark.parametrize(
    "requests", [[], [{"hello": 1}], [b"{"], ["no json"], [{"model": "m", "messages": [{1, 2}]}]]
)
def test_what_is_no_request_is_refused(requests: list[Request]) -> None:
    with pytest.raises(ValueError, match="request"):
        assert_prefix_stable(requests)


def test_a_cache_marker_that_moves_is_no_break() -> None:
    def text(content: str, *, marked: bool = False) -> dict[str, object]:
        block: dict[str, object] = {"type": "text", "text": content}
        return {**block, "cache_control": {"type": "ephemeral"}} if marked else block

    def turn(role: str, *blocks: dict[str, object]) -> dict[str, object]:
        return {"role": role, "content": list(blocks)}

    first = [turn("user", text("one", marked=True))]
    second = [
        turn("user", text("one")),
        turn("assistant", text("yes")),
        turn("user", text("two", marked=True)),
    ]
    model = {"model": "claude-sonnet-4-5", "max_tokens": 9}
    assert_prefix_stable([{**model, "messages": messages} for messages in (first, second)])


def test_key_order_of_mappings_counts() -> None:
    def one(*keys: str) -> dict[str, object]:
        schema = {key: {"type": "string"} for key in keys}
        tool = {"name": "t", "parameters": {"type": "object", "properties": schema}, "type": "function"}
        return {"model": "m", "tools": [tool], "input": "q"}

    (found,) = breaks_of([one("a", "b"), one("b", "a")])
    assert found.cause == "schema_key_order"


def test_the_example_runs() -> None:
    assert doctest.testmod(coldturn.replay.testing).failed == 0
