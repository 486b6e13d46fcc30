"""A file of several kinds of lines: what the first kind's reader passes over is told once."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from coldturn.traces.exchange import EntryError
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from fuzz.readers_examples import CHAT, LONGER
from fuzz.session_examples import EXAMPLES as SESSIONS
from fuzz.tracer_examples import EXAMPLES as TRACERS

REQUESTS = b"".join(
    json.dumps({"id": "l", "trace_id": "t", "request": one}).encode() + b"\n" for one in (CHAT, LONGER)
)
LINES: dict[InputKind, bytes] = {
    one.kind: one.content
    for one in (*SESSIONS, *TRACERS)
    if one.content.count(b"\n") > 1 and one.content[:1] == b"{" and one.kind is not InputKind.USAGE_TABLE
    if len(one.content.splitlines()[0]) > len("{")
}


def told(content: bytes) -> list[EntryError]:
    records = read_records(content, name="input")
    return [one for one in records if isinstance(one, EntryError) and "of another kind" in one.message]


@pytest.mark.parametrize("kind", LINES)
def test_lines_of_one_kind_say_nothing(kind: InputKind) -> None:
    assert told(LINES[kind]) == []


@pytest.mark.parametrize("kind", [InputKind.GEMINI_CLI, InputKind.CLAUDE_CODE, InputKind.CODEX, InputKind.PI])
def test_requests_behind_a_session_are_told_once(kind: InputKind) -> None:
    (error,) = told(LINES[kind] + REQUESTS)
    first = len(LINES[kind].splitlines())
    assert error.entry == first
    assert (
        f"2 lines are of another kind (one request body) and not read, the first is line {first + 1}"
        in error.message
    )
    beside = [one for one in read_exchanges(LINES[kind] + REQUESTS, name="input") if one == error]
    assert beside == [error]


@pytest.mark.parametrize(
    ("one", "other"), list(permutations([InputKind.CLAUDE_CODE, InputKind.CODEX, InputKind.PI], 2))
)
def test_one_session_behind_another_is_told(one: InputKind, other: InputKind) -> None:
    assert len(told(LINES[one] + LINES[other])) == 1


def test_requests_in_front_of_a_session_are_told() -> None:
    (error,) = told(REQUESTS + LINES[InputKind.CLAUDE_CODE])
    assert error.entry == 0
    assert error.message.startswith("2 lines are of another kind")
