"""What `estimate` prints for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from coldturn.analysis.estimates.groups import ReportedRates
from coldturn.analysis.estimates.misses import Outcome
from coldturn.analysis.estimates.prices import CostEstimate
from coldturn.analysis.estimates.report import Difference, EstimateReport, Flag, RequestEstimate
from coldturn.analysis.estimates.ruleset import RuleSet
from coldturn.analysis.estimates.usage import UsageTotals
from coldturn.analysis.rates import format_rate
from coldturn.replay.cli.cached_view import cached_remarks, cached_table

_SHOWN = 20
_WORST = 5
_NAME = 48
"""Characters of a conversation's name that are shown, from its end: paths differ there."""
_WORDS = {
    Difference.NONE: "equal",
    Difference.WITHIN_BLOCK: "within a block",
    Difference.WARM_BEFORE: "read what no request of the recording had sent: the cache was warm before it",
    Difference.LAGGED: "the provider read less than its rules allow: lag, routing or eviction",
    Difference.MORE: "the provider read more than its rules allow: the rule is wrong here, or a parameter",
}
_FLAG_WORDS = {
    Flag.NO_TIME: "no start time, so lifetimes could not be applied",
    Flag.TIME_GOES_BACK: "starts before an earlier request; taken to be simultaneous",
    Flag.NO_RULES: "nothing to estimate by",
    Flag.HOST_ASSUMED: "no address in the recording; taken for the provider's own service",
    Flag.REFUSED: "the provider would answer 400",
    Flag.CONTESTED: "hangs on a point on which sources disagree",
    Flag.FAILED: "answered with an error; caches nothing and has no row",
    Flag.LENGTH_MISMATCH: "the length does not fit the number of blocks",
    Flag.EARLIER_RESPONSE_MISSING: "continues a response that the recording does not hold",
    Flag.REASONING_INVALIDATED: "reasoning is sent again behind a prefix that changed; it counts for nothing",
    Flag.HIDDEN_INPUT: "the provider counts much more than was sent",
    Flag.PREFIX_UNKNOWN: "nothing tells which earlier request it repeats, as of the first of a conversation",
    Flag.READ_EXCEEDS_INPUT: "more was read or written than was sent; left out of all sums",
    Flag.NEGATIVE_COUNT: "a count of the provider's is below zero; taken for not reported",
    Flag.CACHED_CONTENT_UNKNOWN: "names an explicit cache whose making the recording does not hold",
    Flag.CACHED_CONTENT_GONE: "names an explicit cache that had expired or been deleted",
}


def estimate_text(report: EstimateReport) -> str:
    """The three columns over all requests, then what makes them worth less."""
    totals = report.totals
    estimated, of_estimated = totals.estimated
    read, of_read = totals.reported
    rows = [
        ("", "tokens read", "of input", "hit rate"),
        _row("ceiling (estimated)", totals.ceiling_estimated, totals.input_estimated),
        _row("should have hit (estimated)", estimated, of_estimated),
        _row("did hit (reported)", read if of_read else None, of_read),
    ]
    lines = [f"{totals.requests:,} request{'s' * (totals.requests != 1)}", "", *_table(rows)]
    if totals.rules:
        used = ", ".join(f"{name} ({count:,})" for name, count in totals.rules.most_common())
        lines += ["", f"rules: {used}"]
    if totals.cost_estimated is not None:
        lines += ["", _cost(totals.cost_estimated)]
    if totals.flags:
        lines += [
            "",
            *(f"{flag}: {count:,}  {_FLAG_WORDS[flag]}" for flag, count in sorted(totals.flags.items())),
        ]
    lines += _rates(report.rates)
    if report.cached_contents:
        lines += ["", *_table(cached_table(report.cached_contents)), *cached_remarks(report.cached_contents)]
    if told := report.vendor.sentences():
        lines += ["", *told]
    if report.notes:
        lines += ["", *report.notes]
    return "\n".join(lines)


def validation_text(report: EstimateReport) -> str:
    """Estimated against reported reads, with the requests that differ most."""
    found = report.validation
    if not found.n:
        return "\nno request reports cache reads: nothing to validate against"
    error = "-" if found.total_error is None else f"{found.total_error:+.2%}"
    lines = [
        "",
        f"validation: {found.n:,} requests with reported reads",
        f"  equal           {found.exact:,} ({format_rate(found.exact, found.n)})",
        f"  within a block  {found.within_block:,} ({format_rate(found.within_block, found.n)})",
        f"  total error     {error}",
        *(f"  {count:,} x {_WORDS[kind]}" for kind, count in found.by_difference.most_common()),
    ]
    if found.by_miss:
        whole = sum(found.by_miss.values())
        lines += ["", f"what the reported read is, of {whole:,} requests whose units are kept whole:"]
        lines += [f"  {found.by_miss[kind]:,} x {kind}" for kind in Outcome if found.by_miss[kind]]
    far = sorted(
        (
            one
            for one in report.requests
            if one.difference not in (None, Difference.NONE, Difference.WITHIN_BLOCK)
        ),
        key=_gap,
        reverse=True,
    )
    if far:
        rows = [("source", "request", "rules", "estimated", "reported", "why"), *map(_far, far[:_SHOWN])]
        lines += ["", *_table(rows)]
    if len(far) > _SHOWN:
        lines.append(f"and {len(far) - _SHOWN:,} more (all of them with --json)")
    return "\n".join(lines)


def rules_text(rules: Iterable[RuleSet]) -> str:
    """The registry as a table, with the contested points of each entry."""
    lines: list[str] = []
    for one in rules:
        chosen = "" if one.match is not None else ", only by name"
        lines += [
            f"{one.name}  {one.as_of}  {one.status}  {one.model}{chosen}",
            f"  {one.surface}. {one.summary}",
            f"  source: {one.source}",
            *(f"  contested: {point.parameter}: {point.note}" for point in one.contested),
            "",
        ]
    return "\n".join(lines).rstrip()


def rules_json(rules: Iterable[RuleSet]) -> dict[str, Any]:
    """The registry for machines, in full."""
    return {"schema": "coldturn.rules/1", "rules": [one.model_dump(mode="json") for one in rules]}


def _rates(rates: ReportedRates) -> Iterator[str]:
    """Reported hit rates per model, and the conversations that cost most, where there are several."""
    models = [(name or "(none named)", totals) for name, totals in rates.models.items() if totals.requests]
    if len(models) > 1:
        yield from (
            "",
            *_table([("model", "requests", "read", "of input", "hit rate"), *map(_totals, models)]),
        )
    worst = rates.worst(_WORST)
    if len(worst) > 1:
        named = [(conversation[-_NAME:], totals) for (_, conversation), totals in worst]
        yield from ("", "conversations with most input that was not read (reported):")
        yield from _table([("", "requests", "read", "of input", "hit rate"), *map(_totals, named)])


def _totals(one: tuple[str, UsageTotals]) -> tuple[str, ...]:
    name, totals = one
    rate = format_rate(totals.read, totals.input)
    return name, f"{totals.requests:,}", f"{totals.read:,}", f"{totals.input:,}", rate


def _cost(cost: CostEstimate) -> str:
    amount = (
        ""
        if cost.amount_estimated is None
        else f"; with the output {cost.amount_estimated:.4f} {cost.currency}"
    )
    tokens = f"{cost.input_equivalents_estimated:,.0f}"
    return (
        f"cost of the input as reported: that of {tokens} tokens at the full input price{amount} (estimated)"
    )


def _row(name: str, part: int | None, whole: int) -> tuple[str, ...]:
    if part is None:
        return (name, "unknown", "", "")
    return (name, f"{part:,}", f"{whole:,}", format_rate(part, whole))


def _gap(one: RequestEstimate) -> int:
    return abs((one.read_estimated or 0) - (one.read_reported or 0))


def _far(one: RequestEstimate) -> tuple[str, ...]:
    reads = f"{one.read_estimated:,}", f"{one.read_reported:,}"
    return one.source, str(one.request), one.rules or "", *reads, str(one.difference)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if not index else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "  ".join(cells).rstrip()
