"""What replays print for people: a line per step, and one table that compares policies."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.rates import format_rate
from coldturn.replay.runs.results import Flip, PolicyResult, RecordingResult, StepResult

_WORDS = {
    Verdict.BROKEN: "break",
    Verdict.UNKNOWN: "break",
    Verdict.PLANNED: "planned",
    Verdict.BROKEN_HARMLESS: "harmless",
}
_WIDE = 240

Cell: TypeAlias = Callable[[PolicyResult], str]


def step_lines(result: PolicyResult) -> Iterator[str]:
    """One line per request: size, common prefix, break or none, estimated read with the rule's name."""
    width = len(f"{max((step.input_bytes for step in result.steps), default=0):,}")
    for step in result.steps:
        reads = ", ".join(f"{read:,} ({rule})" for rule, read in step.read_estimated.items())
        yield (
            f"turn {step.turn:>2} step {step.step:>2}  {step.input_bytes:>{width},} bytes  "
            f"{step.common_bytes:>{width},} common  {_break_in_words(step)}  "
            f"estimated read {reads} of {step.input_tokens_estimated:,} tokens"
        )


def _break_in_words(step: StepResult) -> str:
    found = step.finding
    if found is None:
        return "no break"
    return f"{_WORDS[found.verdict]} {found.cause} in {_place(found)}"


def _place(found: Finding) -> str:
    section = f" {found.section}" if found.section else ""
    return f"{found.zone.value} ({found.segment}{section})"


def summary_line(result: PolicyResult) -> str:
    """The totals of one policy in a sentence."""
    uncached = ", ".join(
        f"{tokens:,} uncached tokens (estimated, {rule})"
        for rule, tokens in result.uncached_tokens_estimated.items()
    )
    breaks = result.breaks
    return (
        f"{result.policy}: {uncached or 'no requests'}; {len(result.steps)} requests in {result.turns} "
        f"turns; breaks: {breaks.unplanned} unplanned, {breaks.planned} planned"
    )


def playback_line(result: PolicyResult) -> str:
    """What became of the recording's MCP entries, in a sentence."""
    found = result.playback
    return (
        f"recorded MCP exchanges: {found.played} played, {found.unplayed} not, "
        f"{found.repeated} repeated, {found.reordered} out of order"
    )


def leftover_lines(result: PolicyResult, *, limit: int = 5) -> Iterator[str]:
    """Recorded MCP entries that the replay did not need, the first few by name."""
    left = result.playback.leftover
    for line in left[:limit]:
        yield f"  not played: {line}"
    if len(left) > limit:
        yield f"  not played: {len(left) - limit} more"


def connection_lines(recording: RecordingResult) -> Iterator[str]:
    """What the recording holds, a line per server."""
    for found in recording.connections:
        yield f"{found.server}: sessions {found.sessions}, calls {found.calls}, lists {found.lists}"


def comparison_table(results: Sequence[PolicyResult]) -> str:
    """Policies side by side as text; uncached tokens first, since a hit rate alone flatters a big prefix."""
    table = _table("", *(result.policy for result in results))
    for label, cell in _rows(results):
        table.add_row(label, *(cell(result) for result in results))
    return "\n".join(
        [*_text(table), "", f"Cache reads are estimated by the rule {', '.join(_rules(results))}."]
    )


def ablation_table(recording: RecordingResult) -> str:
    """Which decision is worth how much, as text: each choice of the first policy made otherwise, alone."""
    base, *variants = recording.policies
    by_name = {variant.policy: variant for variant in variants}
    flips = recording.ablation or ()
    rule = next(iter(base.uncached_tokens_estimated), "")
    table = _table(
        "decision", "uncached tokens", "more", "hit rate", "points", "breaks, unplanned", "extra steps"
    )
    for result, flip in [(base, None), *((by_name[_variant(base, flip)], flip) for flip in flips)]:
        points = None if flip is None else flip.hit_rate_delta_estimated
        table.add_row(
            base.policy if flip is None else f"  {flip.field} = {flip.value}",
            _uncached(rule)(result),
            "" if flip is None else f"{flip.uncached_tokens_delta_estimated:+,}",
            _hit_rate(rule)(result),
            "" if points is None else f"{points * 100:+.2f}",
            f"{result.breaks.unplanned:,}",
            f"{result.extra_steps:,}",
        )
    return "\n".join(
        [
            f"Which decision is worth how much: {base.policy}, and the same with one choice made otherwise.",
            "",
            *_text(table),
            "",
            f"Tokens and rates are estimated by the rule {rule}; more: than under {base.policy}.",
        ]
    )


def _variant(base: PolicyResult, flip: Flip) -> str:
    return f"{base.policy}+{flip.field}={flip.value}"


def _table(first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _text(table: Table) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=_WIDE, color_system=None).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def _rows(results: Sequence[PolicyResult]) -> Iterator[tuple[str, Cell]]:
    rules = _rules(results)
    for rule in rules:
        name = f" ({rule})" if len(rules) > 1 else ""
        yield f"uncached input tokens, estimated{name}", _uncached(rule)
        yield "  hit rate, estimated", _hit_rate(rule)
    yield (
        "  hit rate ceiling, estimated",
        lambda r: format_rate(r.ceiling_estimated, r.input_tokens_estimated),
    )
    yield "input tokens, estimated", lambda r: f"{r.input_tokens_estimated:,}"
    yield "input bytes", lambda r: f"{r.input_bytes:,}"
    yield "requests", lambda r: f"{len(r.steps):,}"
    yield "  extra steps among them", lambda r: f"{r.extra_steps:,}"
    yield "breaks, unplanned", lambda r: f"{r.breaks.unplanned:,}"
    yield "breaks, planned", lambda r: f"{r.breaks.planned:,}"
    yield "requests whose system text changed", lambda r: f"{r.breaks.in_system_text:,}"
    yield from _causes("first cause", results, lambda r: r.breaks.by_cause)
    yield from _causes("later cause", results, lambda r: r.breaks.later_by_cause)


def _rules(results: Sequence[PolicyResult]) -> list[str]:
    return list(dict.fromkeys(rule for result in results for rule in result.read_estimated))


def _uncached(rule: str) -> Cell:
    return lambda result: f"{result.uncached_tokens_estimated.get(rule, 0):,}"


def _hit_rate(rule: str) -> Cell:
    return lambda result: format_rate(result.read_estimated.get(rule), result.input_tokens_estimated)


def _causes(
    label: str, results: Sequence[PolicyResult], counts: Callable[[PolicyResult], Mapping[str, int]]
) -> Iterator[tuple[str, Cell]]:
    totals: dict[str, int] = {}
    for result in results:
        for cause, count in counts(result).items():
            totals[cause] = totals.get(cause, 0) + count
    for cause in sorted(totals, key=lambda name: (-totals[name], name)):
        yield f"  {label}: {cause}", _count(cause, counts)


def _count(cause: str, counts: Callable[[PolicyResult], Mapping[str, int]]) -> Cell:
    return lambda result: f"{counts(result).get(cause, 0) or '-'}"
