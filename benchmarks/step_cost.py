"""What a step costs besides handing its bytes over: step 1,000 of a conversation held against step 100.

300 tools in the array, a prompt of 200 KB that grows by one small call and answer a step, no network: a
scripted model answers at once. "Handing over" is what nobody can do without who sends a body and tells what
is new in it: put the bytes together, compare them once with those sent before, hash them once. What is left
may not grow with the conversation. Times are CPU time of the thread, the lower quartile of 80 steps around
the one looked at, the better of two conversations.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from xxhash import xxh3_128_digest

from coldturn.reference.catalogue.definition import compact_json
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ModelRequest
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.difference import common_prefix
from coldturn.reference.prefix.model import Surface
from coldturn.reference.run import Run
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface.model import CallOutcome, SurfaceTool, ToolSurface
from coldturn.reference.wire.model import Reply, ToolCall, ToolDefinition

STEPS = 1_000
EARLY = 100
TOOLS = 300
PROMPT_BYTES = 200_000
LIMIT_RATIO = 1.5
_AROUND = 40
"""Steps on either side whose median is taken."""


def _tools() -> tuple[SurfaceTool, ...]:
    schema = compact_json(
        {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}}
    )
    made = (
        ToolDefinition(f"server__tool_{number:03}", f"Does the thing number {number}. " * 6, schema)
        for number in range(TOOLS)
    )
    return tuple(SurfaceTool(one, one.description[:60], "server", one.name) for one in made)


class _Tools:
    """One surface for the whole Run; a call is answered at once."""

    def __init__(self) -> None:
        self._surface = ToolSurface(_tools(), (), (), (), frozenset(), ())

    async def start_turn(self, _turn: int) -> ToolSurface:
        return self._surface

    def step_surface(self, _turn: int, _step: int) -> ToolSurface:
        return self._surface

    def arrived(self, _handle: str) -> CallOutcome | None:
        return None

    async def call(self, call: ToolCall, *, turn: int, step: int, handle: str = "") -> CallOutcome:
        return CallOutcome(f"{handle}: {call.arguments}", False, "direct", "server", call.name)


@dataclass
class _Timed:
    """Times from the end of one request to the start of the next; keeps the bodies of the steps looked at."""

    steps: int
    kept: range
    seconds: list[float] = field(default_factory=list)
    bodies: dict[int, bytes] = field(default_factory=dict)
    _left: float = field(default_factory=time.thread_time)

    async def respond(self, request: ModelRequest) -> Reply:
        self.seconds.append(time.thread_time() - self._left)
        if request.step in self.kept or request.step >= self.steps - 2:
            self.bodies[request.step] = request.body
        call = ToolCall("", "server__tool_007", json.dumps({"path": f"file {request.step}", "depth": 1}))
        reply = Reply("Done.") if request.step == self.steps - 1 else Reply("", (call,))
        self._left = time.thread_time()
        return reply


def measure(surface: Surface, model: str, steps: int = STEPS) -> _Timed:
    """Drive one turn of `steps` steps; seconds per step in `seconds`."""
    timed = _Timed(steps, range(EARLY - 1, EARLY + 1))
    size = sum(len(tool.definition.schema) + len(tool.definition.description) for tool in _tools())
    instructions = "# Rules\n\n" + "\n".join(
        f"- Rule {number}: be kind, look twice and say so." for number in range((PROMPT_BYTES - size) // 45)
    )
    spec = AgentSpec(surface=surface, model=model, instructions=instructions)
    run = Run(spec, Policy(), _Tools(), timed, max_steps=steps)
    gc.collect()
    gc.disable()
    try:
        anyio.run(run_turn, run, "Go")
    finally:
        gc.enable()
    return timed


def handing_over(body: bytes, before: bytes) -> float:
    """Seconds to join so many bytes, compare them with the body before, and hash them: all once."""
    parts = [body[start : start + 256] for start in range(0, len(body), 256)]
    same = memoryview(before)[: common_prefix(before, body)]
    kept: list[bytes] = []

    def once() -> bytes:
        # Kept, so that each join writes to fresh memory, as a step's does.
        kept.append(b"".join(parts))
        kept[-1].startswith(same)
        return xxh3_128_digest(kept[-1])

    return _usual([_timed(once) for _ in range(2 * _AROUND)])


def in_one_piece(body: bytes) -> float:
    """Seconds for the plain way: `json.dumps` of the whole request, encoded, and one hash of it."""
    value = json.loads(body)

    def plain() -> bytes:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        return xxh3_128_digest(text)

    return _usual([_timed(plain) for _ in range(20)])


def _timed(work: Callable[[], Any]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _usual(seconds: list[float]) -> float:
    """The lower quartile: what else the machine does only ever adds."""
    return sorted(seconds)[len(seconds) // 4]


def figures(surface: Surface, model: str) -> dict[str, float]:
    """The figures of one surface, in milliseconds."""
    runs = [measure(surface, model) for _ in range(2)]
    timed = runs[0]
    early = min(_usual(one.seconds[EARLY - _AROUND : EARLY + _AROUND]) for one in runs)
    late = min(_usual(one.seconds[STEPS - 2 * _AROUND : STEPS]) for one in runs)
    last = timed.bodies[STEPS - 1]
    early_own = early - handing_over(timed.bodies[EARLY], timed.bodies[EARLY - 1])
    late_own = late - handing_over(last, timed.bodies[STEPS - 2])
    return {
        f"{surface.value}_kilobytes_late": len(last) / 1e3,
        f"{surface.value}_ms_early": early * 1e3,
        f"{surface.value}_ms_late": late * 1e3,
        f"{surface.value}_ms_handing_over": (late - late_own) * 1e3,
        f"{surface.value}_late_over_early": late_own / early_own,
        f"{surface.value}_late_over_early_limit": LIMIT_RATIO,
        f"{surface.value}_share_of_plain": late / in_one_piece(last),
    }


def run() -> Mapping[str, float]:
    """Figures of the three surfaces."""
    models = {
        Surface.MESSAGES: "claude-opus-5",
        Surface.CHAT_COMPLETIONS: "gpt-5.6",
        Surface.RESPONSES: "gpt-5.5",
    }
    return {key: value for one, model in models.items() for key, value in figures(one, model).items()}
