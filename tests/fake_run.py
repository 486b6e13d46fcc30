"""A small Run told to an observer by hand: three turns, a break, a planned one, a failing call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import orjson

from coldturn.reference.observer import (
    ElisionInfo,
    Observer,
    RefreshInfo,
    RefreshOutcome,
    ServerState,
    StepInfo,
    ToolCallInfo,
    ToolOutcomeInfo,
    TurnInfo,
)
from coldturn.reference.prefix.ledger import ledger_of
from coldturn.reference.prefix.model import Break, Comparison, Confidence, LaterCause, Surface, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.tokens import EstimatedTokens, ReportedTokens, estimate_tokens
from coldturn.reference.wire.model import CacheDiagnosis, Reply, Usage

NO_ELISION = ElisionInfo(0, 0, 0, -1, ())
MODEL = "claude-sonnet-5"
TOOLS = [
    {"name": f"tool_{i}", "description": "word " * 300, "input_schema": {"type": "object"}} for i in range(3)
]

CLOCK_BREAK = Break(
    zone=Zone.SYSTEM, segment="system[0]", path="$.system[0]", side="child", section="## Time", offset=0,
    block_offset=12, wire_offset=None, cause="clock_in_prefix", confidence=Confidence.OBSERVED, planned=False,
    harmless=False, lost_bytes=900, delta_bytes=0, names=(), kinds=(), before="", was="10:00", now="10:01",
    later=(LaterCause("history_rewritten", Zone.HISTORY, "$.messages[0]", 3),),
)  # fmt: skip
ELISION_BREAK = replace(
    CLOCK_BREAK, zone=Zone.HISTORY, segment="messages[1]", path="$.messages[1].content[0]", section=None,
    cause="planned_elision", planned=True, later=(), delta_bytes=-4_000,
)  # fmt: skip
REMINDER_GONE = replace(ELISION_BREAK, cause="transient_tail_removed", planned=False, harmless=True)


@dataclass
class FakeClock:
    """Stands still until it is moved."""

    now: int = 1_700_000_000_000_000_000

    def time_ns(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000_000)


def body(clock: str, texts: list[str], *, markers: bool = True) -> bytes:
    """A Messages request: three tools, a system text with a clock, alternating messages."""
    marker = {"cache_control": {"type": "ephemeral", "ttl": "1h"}} if markers else {}
    text = f"# Agent\n\n## Time\n\nIt is {clock}.\n\n## Rules\n\n" + "rule\n" * 400
    return orjson.dumps(
        {
            "model": MODEL,
            "max_tokens": 100,
            "tools": TOOLS,
            "system": [{"type": "text", "text": text, **marker}],
            "messages": [
                {"role": "user" if i % 2 == 0 else "assistant", "content": [{"type": "text", "text": said}]}
                for i, said in enumerate(texts)
            ],
        }
    )  # fmt: skip


@dataclass
class FakeRun:
    """Tells one step after the other; common bytes are counted here, causes are given."""

    observer: Observer
    clock: FakeClock
    run_id: str = "run-1"
    scope: str = f"anthropic/{MODEL}"
    sent: list[tuple[tuple[int, int], PromptRequest]] = field(default_factory=list)

    def step(
        self,
        turn: int,
        step: int,
        raw: bytes,
        *,
        first: Break | None = None,
        usage: Usage | None = None,
        diagnosis: CacheDiagnosis | None = None,
        elision: ElisionInfo = NO_ELISION,
    ) -> StepInfo:
        request = read_request(raw, surface=Surface.MESSAGES)
        base, comparison = None, None
        if self.sent:
            base, parent = self.sent[-1]
            was, now = content(parent), content(request)
            pairs = zip(was, now, strict=False)
            common = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(was), len(now)))
            if first is not None:
                first = replace(first, offset=common)
            stable = first is None or first.harmless
            comparison = Comparison(common, len(was), len(now), stable, first, wire_drift=False)
        info = StepInfo(
            run_id=self.run_id, turn=turn, step=step, surface=Surface.MESSAGES, model=MODEL, scope=self.scope,
            body=raw, ledger=ledger_of(request), markers=request.markers, base=base, comparison=comparison,
            elision=elision,
        )  # fmt: skip
        with self.observer.step(info) as scope:
            self.clock.advance(2)
            scope.reply(
                Reply(
                    "ok",
                    usage=usage,
                    response_id=f"msg_{turn}_{step}",
                    model=MODEL,
                    finish_reason="stop",
                    diagnosis=diagnosis,
                )
            )
        self.sent.append(((turn, step), request))
        return info

    def tool(self, call_id: str, *, is_error: bool = False, refusal: str | None = None) -> None:
        with self.observer.tool(ToolCallInfo(call_id, "files__read", "direct", "files", "read", 1)) as scope:
            self.clock.advance(0.5)
            tokens = EstimatedTokens(25)
            scope.finish(ToolOutcomeInfo(100, tokens, "ab" * 16, f"h-{call_id}", is_error, refusal))

    def refresh(self, trigger: str, version: int) -> None:
        with self.observer.refresh(RefreshInfo("files", trigger)) as scope:
            scope.finish(RefreshOutcome(version, version - 1, "cd" * 16, 3, ("read",), (), ()))


def content(request: PromptRequest) -> bytes:
    return b"".join(block.facts.content for block in request.blocks)


def reported(*counts: int, raw: str) -> Usage:
    read, output, cached, written = map(ReportedTokens, counts)
    return Usage(read, output, cached, written, raw)


def server() -> ServerState:
    return ServerState("files", 2, "cd" * 16, 3, "direct", "unset", "ready", estimate_tokens(900))


def turn_info(turn: int, run_id: str = "run-1") -> TurnInfo:
    return TurnInfo(run_id, "reviewer", turn, "stable")


def tell(observer: Observer, clock: FakeClock, *, run_id: str = "run-1") -> FakeRun:
    """The whole Run."""
    run = FakeRun(observer, clock, run_id)
    run.refresh("connect", 1)
    texts = ["Look at the files. " * 40]
    with observer.turn(turn_info(0, run_id)) as turn:
        run.step(0, 0, body("10:00", texts), usage=reported(5_000, 10, 0, 4_096, raw='{"input_tokens":904}'))
        run.tool("call_0001")
        run.tool("call_0002", is_error=True)
        texts += ["I looked.", "big result " * 400]
        run.step(0, 1, body("10:00", texts), usage=reported(6_000, 12, 4_096, 0, raw='{"input_tokens":1904}'))
        turn.finish((server(),))
    clock.advance(30)
    with observer.turn(turn_info(1, run_id)) as turn:
        run.refresh("list_changed", 2)
        texts += ["And now?", "Next question. " * 30]
        run.step(1, 0, body("10:01", texts), first=CLOCK_BREAK)
        run.tool("call_0003", is_error=True, refusal="unknown_tool")
        turn.finish((server(),))
    clock.advance(30)
    with observer.turn(turn_info(2, run_id)) as turn:
        texts[2] = "big result ..."
        elided = ElisionInfo(1, 4_400, 14, 4, ("h-call_0001",))
        run.step(2, 0, body("10:01", texts), first=ELISION_BREAK, elision=elided)
        texts += ["fine", "bye"]
        run.step(2, 1, body("10:01", texts), first=REMINDER_GONE)
        turn.finish((server(),))
    return run
