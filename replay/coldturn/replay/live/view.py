"""What a person sees of a live Run: text as it streams, a line per tool call, a line per turn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from textwrap import shorten
from typing import TextIO

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.breaks.pair import verdict_of
from coldturn.reference.observer import (
    Observer,
    RefreshInfo,
    RefreshOutcome,
    RefreshScope,
    StepInfo,
    StepScope,
    ToolCallInfo,
    ToolOutcomeInfo,
    ToolScope,
    TurnInfo,
    TurnScope,
)
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.surface import meta
from coldturn.reference.wire.model import Reply, Usage

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""All controls but tab and line feed, of direction too: what a model writes must not steer the terminal."""
_CALL_CHARS = 100
"""A model may write any name into a call."""
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete"})
"""Finish reasons of a reply that reached the limit of output tokens."""


class Tally:
    """What one turn has come to so far."""

    def __init__(self) -> None:
        self.steps = 0
        self.cut = False
        self._usages: list[Usage] = []
        self._breaks: Counter[tuple[bool, str]] = Counter()

    def sent(self, info: StepInfo) -> None:
        """Count a request, and its break unless that is harmless."""
        self.steps += 1
        first = info.comparison.first if info.comparison is not None else None
        if first is not None and (verdict := verdict_of(first)) is not Verdict.BROKEN_HARMLESS:
            self._breaks[verdict is Verdict.PLANNED, first.cause] += 1

    def answered(self, reply: Reply) -> None:
        """Take in what the provider reports."""
        self._usages.append(reply.usage or Usage())
        self.cut = reply.finish_reason in _CUT

    def line(self, turn: int) -> str:
        """Sum the turn up: steps, tokens as the provider reported them, breaks."""
        tokens = (
            ("input", [usage.input_tokens for usage in self._usages]),
            ("read", [usage.cache_read_tokens for usage in self._usages]),
            ("written", [usage.cache_write_tokens for usage in self._usages]),
        )
        told = ", ".join(f"{name} {self._reported(counts)}" for name, counts in tokens)
        steps, broken = _counted(self.steps, "step"), self._broken()
        return f"turn {turn + 1}: {steps}; tokens reported: {told}; breaks: {broken}"

    def _reported(self, counts: Sequence[int | None]) -> str:
        known = [count for count in counts if count is not None]
        if not known:
            return "unknown"
        whole = "" if len(known) == self.steps else f" (in {len(known)} of {self.steps} steps)"
        return f"{sum(known):,}{whole}"

    def _broken(self) -> str:
        kinds: list[str] = []
        for planned, word in ((False, "unplanned"), (True, "planned")):
            causes = {cause: n for (kind, cause), n in self._breaks.items() if kind is planned}
            if causes:
                kinds.append(f"{sum(causes.values())} {word} ({', '.join(causes)})")
        return ", ".join(kinds) or "none"


class LiveView:
    """An observer that shows what happens, and passes everything on.

    Args:
        inner: Is told everything.
        out: Gets the agent's text, and nothing else.
        notes: Gets tool calls, summaries and troubles.
    """

    def __init__(self, inner: Observer, out: TextIO, notes: TextIO) -> None:
        self._inner = inner
        self._out = out
        self._notes = notes
        self._open_text = False
        self._open_call: str | None = None
        self._turn = -1
        self._tally = Tally()

    def text(self, text: str) -> None:
        """Show text of the agent as it comes."""
        shown = _CONTROLS.sub("", text)
        if not shown:
            return
        self._end_note()
        self._out.write(shown)
        self._out.flush()
        self._open_text = not shown.endswith("\n")

    def note(self, line: str) -> None:
        """Show a line that is no text of the agent."""
        self.end_line()
        self._notes.write(f"{_CONTROLS.sub('', line)}\n")
        self._notes.flush()

    def waiting(self, error: ColdturnError, seconds: float) -> None:
        """Say why nothing comes for a while."""
        self.note(f"  {error}; trying again in {seconds:.1f} s")

    def end_line(self) -> None:
        """Begin a new line where text or a note has left one open."""
        self._end_note()
        if self._open_text:
            self._out.write("\n")
            self._out.flush()
            self._open_text = False

    def close_turn(self) -> None:
        """Show what the turn has come to, also after an error or when it was stopped."""
        if self._tally.cut:
            self.note("  the answer was cut at max_output_tokens of the spec")
        self.note(self._tally.line(self._turn))

    def _end_note(self) -> None:
        if self._open_call is not None:
            self._notes.write("\n")
            self._notes.flush()
            self._open_call = None

    def turn(self, info: TurnInfo) -> AbstractContextManager[TurnScope]:
        """A turn: passed on; its summary comes with `close_turn`."""
        self._turn, self._tally = info.turn, Tally()
        return self._inner.turn(info)

    @contextmanager
    def step(self, info: StepInfo) -> Iterator[StepScope]:
        """A model call: counted."""
        self._tally.sent(info)
        with self._inner.step(info) as scope:
            yield _Step(scope, self._tally)

    @contextmanager
    def tool(self, info: ToolCallInfo) -> Iterator[ToolScope]:
        """A tool call: its name at once, its outcome behind it."""
        self.end_line()
        self._notes.write(f"  {_CONTROLS.sub('', _called(info))} …")
        self._notes.flush()
        self._open_call = info.call_id
        with self._inner.tool(info) as scope:
            yield _Tool(scope, self, info)

    def tool_ended(self, info: ToolCallInfo, outcome: ToolOutcomeInfo) -> None:
        """Show how a call ended, on its own line if that is still open."""
        failed = (
            f" failed ({outcome.refusal})," if outcome.refusal else " failed," if outcome.is_error else ""
        )
        line = f"{failed} {outcome.size:,} bytes"
        if self._open_call == info.call_id:
            self._notes.write(line)
            self._end_note()
        else:
            self.note(f"  {_called(info)} …{line}")

    @contextmanager
    def refresh(self, info: RefreshInfo) -> Iterator[RefreshScope]:
        """A catalogue refresh: shown when it changed something or failed."""
        with self._inner.refresh(info) as scope:
            yield _Refresh(scope, self, info)

    def refreshed(self, info: RefreshInfo, outcome: RefreshOutcome) -> None:
        """Show what a refresh found."""
        if outcome.error is not None:
            self.note(f"  {info.server}: its tools cannot be read ({outcome.error})")
        elif not outcome.previous_version:
            self.note(f"  {info.server}: {_counted(outcome.tool_count, 'tool')}")
        elif outcome.added or outcome.removed or outcome.changed:
            self.note(
                f"  {info.server}: tools changed, {len(outcome.added)} added, "
                f"{len(outcome.removed)} removed, {len(outcome.changed)} edited"
            )


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _called(info: ToolCallInfo) -> str:
    """Name a call by what it reaches: the tool itself, unless it only asks about one."""
    asks = info.tool is None or info.exposed_name == meta.DESCRIBE
    words = (info.exposed_name if asks else "", info.server or "", info.tool or "")
    return shorten(" ".join(filter(None, words)), _CALL_CHARS, placeholder="…")


class _Step:
    def __init__(self, inner: StepScope, tally: Tally) -> None:
        self._inner = inner
        self._tally = tally

    def reply(self, reply: Reply) -> None:
        self._tally.answered(reply)
        self._inner.reply(reply)


class _Tool:
    def __init__(self, inner: ToolScope, view: LiveView, info: ToolCallInfo) -> None:
        self._inner = inner
        self._view = view
        self._info = info

    def finish(self, outcome: ToolOutcomeInfo) -> None:
        self._inner.finish(outcome)
        self._view.tool_ended(self._info, outcome)


class _Refresh:
    def __init__(self, inner: RefreshScope, view: LiveView, info: RefreshInfo) -> None:
        self._inner = inner
        self._view = view
        self._info = info

    def finish(self, outcome: RefreshOutcome) -> None:
        self._inner.finish(outcome)
        self._view.refreshed(self._info, outcome)
