"""One conversation of four calls, broken by a clock or not, for tests of what tracers write of it."""

from __future__ import annotations

import json
from typing import Any

from coldturn.analysis.breaks.explain import explain
from coldturn.traces.exchange import EntryError
from coldturn.traces.readers import read_exchanges

T0 = 1_780_000_000.0
"""2026-05-28 20:26:40 UTC."""
CALLS = 4
MOVED = 2
"""The call before which the clock moves."""
FUNCTION: dict[str, Any] = {"name": "find", "description": "d", "parameters": {"type": "object"}}
TOOLS = [{"type": "function", "function": FUNCTION}]
BOTH = [(False, []), (True, [("clock_in_prefix", MOVED)])]
"""Whether the clock moves, and what is to be found then."""


def moment(index: int) -> str:
    """When a call began."""
    return f"2026-05-28T20:{26 + index}:40+00:00"


def system(index: int, moved: bool) -> str:
    clock = "09:01" if moved and index >= MOVED else "09:00"
    return f"It is {clock}. " + "Read before you write, and say what you did. " * 300


def prompt(index: int, moved: bool) -> list[dict[str, Any]]:
    """What a call sends, as Chat Completions have it: each step called a tool and had its result."""
    said: list[dict[str, Any]] = [{"role": "system", "content": system(index, moved)}]
    said.append({"role": "user", "content": "Where is it?"})
    for step in range(index):
        said += [answer(step), {"role": "tool", "tool_call_id": f"c{step}", "content": f"not in {step}.py"}]
    return said


def answer(index: int) -> dict[str, Any]:
    call = {"name": "find", "arguments": json.dumps({"q": index}, separators=(",", ":"))}
    return {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [{"id": f"c{index}", "type": "function", "function": call}],
    }


def tokens(index: int, moved: bool) -> tuple[int, int]:
    """Input and what was read of it."""
    cold = index == 0 or (moved and index == MOVED)
    return 3_200 + 40 * index, 0 if cold else 3_072


def found(content: bytes) -> list[tuple[str, int]]:
    """The breaks of a file that holds this conversation and nothing else; all of it was read."""
    records = list(read_exchanges(content, name="input"))
    assert not [one for one in records if isinstance(one, EntryError)]
    explained = explain(records)
    (lineage,) = explained.lineages
    assert lineage.requests == CALLS
    return [(one.cause, one.request) for one in lineage.breaks]


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)
