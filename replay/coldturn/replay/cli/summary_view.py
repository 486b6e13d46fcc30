"""The end of what `explain` prints: how many breaks, by which causes, and what the provider reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from coldturn.analysis.breaks.findings import CauseRow, Report, Verdict
from coldturn.analysis.rates import format_rate
from coldturn.replay.cli.finding_view import MEANINGS, STYLES, WORDS, costs_nothing_yet, counted
from coldturn.replay.cli.signs import shown_line

_FEW = 1
"""Rows up to which a table says no more than the line above it."""


def summary(report: Report, *, whole: bool = True) -> Iterator[Text]:
    """Lines that sum a report up; none for an empty one.

    Args:
        report: What was found.
        whole: Whether every input could be read to its end: else nothing is known of the rest.
    """
    if not report.requests:
        return
    rows = report.causes
    yield _totals(report, rows, whole=whole)
    if len(rows) > _FEW:
        yield from _table(rows)
    yield from _reported(report)
    yield from _legend(rows)
    yield from _unjudged(report)
    yield from _elsewhere(report)


def _totals(report: Report, rows: list[CauseRow], *, whole: bool) -> Text:
    conversations = sum(lineage.requests > 0 for lineage in report.lineages)
    line = Text(f"{counted(report.requests, 'request')} in {counted(conversations, 'conversation')}: ")
    unplanned = [row for row in rows if row.verdict.unplanned]
    breaks = sum(row.breaks for row in unplanned)
    if not unplanned and whole:
        line.append("no unplanned break", style="bold green")
    elif not unplanned:
        line.append("no unplanned break in what could be read", style="bold yellow")
    else:
        line.append(counted(breaks, "unplanned break"), style="bold red")
        causes: Counter[str] = Counter()
        for row in unplanned:
            causes[row.cause] += row.breaks
        if len(rows) <= _FEW:
            line.append(" (" + ", ".join(f"{cause} {count}" for cause, count in causes.most_common()) + ")")
        line.append(_lost(report, sum(row.lost_tokens_estimated for row in unplanned), breaks))
    others: Counter[Verdict] = Counter()
    for row in rows:
        if not row.verdict.unplanned:
            others[row.verdict] += row.breaks
    for verdict, count in others.items():
        line.append(f", {count} {WORDS[verdict]}")
    return line


def _lost(report: Report, tokens: int, breaks: int) -> str:
    """What unplanned breaks lost, and how many of them nothing, since nothing was kept."""
    early = sum(found.verdict.unplanned and costs_nothing_yet(found) for found in report.breaks)
    if early == breaks:
        return ", nothing lost yet"
    some = f", {early:,} of them {'costs' if early == 1 else 'cost'} nothing yet" if early else ""
    return f", about {counted(tokens, 'token')} lost (estimated){some}"


def _table(rows: list[CauseRow]) -> Iterator[Text]:
    wide = max(len(row.cause) for row in rows)
    lost = sum(row.lost_tokens_estimated for row in rows if row.verdict.costs)
    yield Text(f"  {'cause':<{wide}}  requests  tokens lost (estimated)   share", style="dim")
    for row in rows:
        share = format_rate(row.lost_tokens_estimated, lost) if row.verdict.costs else "-"
        line = Text("  ").append(f"{row.cause:<{wide}}", style=STYLES[row.verdict])
        line.append(f"  {row.breaks:>8,}  {row.lost_tokens_estimated:>23,}  {share:>6}")
        yield line.append(f"  {WORDS[row.verdict]}", style="dim")


def _reported(report: Report) -> Iterator[Text]:
    sent = sum(lineage.tokens.input_reported or 0 for lineage in report.lineages)
    read = [lineage.tokens.read_reported for lineage in report.lineages]
    known = [tokens for tokens in read if tokens is not None]
    if sent and known:
        rate = format_rate(sum(known), sent)
        yield Text(
            f"  reported: {sum(known):,} of {counted(sent, 'input token')} read from the cache, {rate}"
        )
        if _is_low(report, sum(known), sent) and not any(row.verdict.costs for row in report.causes):
            yield from _why_low(report)


def _why_low(report: Report) -> Iterator[Text]:
    """Where to look next when no finding lost anything and little was read."""
    unmarked = sum(row.breaks for row in report.causes if row.cause == "breakpoint_missing")
    if unmarked:
        few = "a request has" if unmarked == 1 else f"{unmarked:,} requests have"
        yield Text(f"  {few} no marker, so nothing is kept: `coldturn advise` says what markers would save")
    elif any(lineage.rules is not None for lineage in report.lineages):
        yield Text("  no finding accounts for the rest: `coldturn estimate` shows what the rules allow")


def _is_low(report: Report, read: int, sent: int) -> bool:
    """Whether less than half was read of what requests of one size would repeat of the ones before them."""
    conversations = sum(lineage.requests > 0 for lineage in report.lineages)
    return 2 * read * report.requests < sent * (report.requests - conversations)


def _unjudged(report: Report) -> Iterator[Text]:
    """Once per model of which nothing else is told: that no rules judged it."""
    silent = (
        lineage
        for lineage in report.lineages
        if lineage.surface is not None and lineage.rules is None and lineage.requests > 1
        if not (lineage.breaks or lineage.settings_changed or lineage.vendor_only)
    )
    for model in dict.fromkeys(lineage.model or "these requests" for lineage in silent):
        yield Text("  ").append(
            shown_line(
                f"no cache rules for {model}: judged by bytes and reported reads (--rules NAME chooses some)"
            )
        )


def _elsewhere(report: Report) -> Iterator[Text]:
    """Once per model whose rules are known at other hosts only: which they are."""
    named = dict.fromkeys(found for lineage in report.lineages for found in lineage.rules_elsewhere.items())
    for model, names in named:
        rules = ", or ".join(f"--rules {name}" for name in names)
        yield Text("  ").append(
            shown_line(
                f"no cache rules for {model} at this address; those of the API behind it may be {rules}"
            )
        )


def _legend(rows: list[CauseRow]) -> Iterator[Text]:
    for verdict in dict.fromkeys(row.verdict for row in rows):
        if verdict in MEANINGS:
            yield Text(f"  {WORDS[verdict]}: {MEANINGS[verdict]}", style="dim")
