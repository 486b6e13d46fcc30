"""Published recordings that hold reported reads: the estimate of every request beside what was reported."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from coldturn.analysis.estimates.estimation import Estimation
from coldturn.analysis.estimates.report import Difference, EstimateReport, Flag, RequestEstimate
from coldturn.analysis.rates import format_rate
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.readers import read_exchanges

FOLDERS = ("vcr-llm", "vcr-mcp")
NOTES = Path(__file__).with_name("accuracy_notes.toml")
_WIDEST = 76
_KINDS = {
    Difference.NONE: "",
    Difference.WITHIN_BLOCK: "within a block",
    Difference.WARM_BEFORE: "read what no request in the file had sent",
    Difference.LAGGED: "the provider read less",
    Difference.MORE: "the provider read more",
}


def estimated(corpus: Path) -> EstimateReport:
    """Every recorded request; sources are named by file."""
    estimation = Estimation()
    for path in sorted(path for folder in FOLDERS for path in (corpus / folder).iterdir()):
        try:
            for item in read_exchanges(path, name=path.name):
                estimation.add(item)
        except ColdturnError as error:
            estimation.fail(path.name, error)
        estimation.finish(path.name)
    return estimation.close()


@cache
def notes() -> dict[tuple[str, int], str]:
    """What is known of single requests, by the beginning of the file's name and the request."""
    read = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    return {(one["file"], one["request"]): one["says"] for one in read["note"]}


def note_on(row: RequestEstimate) -> str | None:
    """The note on a request."""
    return next(
        (
            says
            for (file, number), says in notes().items()
            if number == row.request and row.source.startswith(file)
        ),
        None,
    )


def explanation(row: RequestEstimate) -> str | None:
    """Why a reported read is not the estimated one; empty when it is, None when nothing is known."""
    difference, note = row.difference, note_on(row)
    if difference is None:
        return "no rules for it: cannot evaluate"
    if difference is Difference.WARM_BEFORE and Flag.HIDDEN_INPUT in row.flags and note is None:
        note = "most of its input is the provider's own (tools, files, pages)"
    words = [_KINDS[difference], *([note] if note else [])]
    explained = difference in {Difference.NONE, Difference.WARM_BEFORE} or note is not None
    return "; ".join(word for word in words if word) if explained else None


def differs(row: RequestEstimate) -> bool:
    """Whether both columns are known and not equal."""
    return row.difference not in {None, Difference.NONE}


def section(report: EstimateReport) -> Iterator[str]:
    """Lines of the page."""
    reported = [row for row in report.requests if row.read_reported is not None]
    yield from _by_rules(reported)
    yield ""
    kinds = Counter(row.difference for row in reported)
    equal, unknown, differ = kinds[Difference.NONE], kinds[None], sum(map(differs, reported))
    yield (
        f"Of {len(reported):,} requests {equal:,} are equal, most of them since nothing was read; for "
        f"{unknown} there are no rules. All that read something, and all {differ} that differ:"
    )
    yield from ("", "| recording | request | model | ceiling | should | did | difference |")
    yield "|---|---:|---|---:|---:|---:|---|"
    yield from (_row(row) for row in reported if row.read_reported or differs(row))
    unread = Counter(error.slug for error in report.errors)
    yield ""
    yield (
        "Left out: "
        + ", ".join(f"{count} x `{kind}`" for kind, count in sorted(unread.items(), key=str))
        + " (what these mean: [errors.md](errors.md))."
    )


def _by_rules(reported: Sequence[RequestEstimate]) -> Iterator[str]:
    yield "| rules | requests | of these read something | equal | within a block | warm before |"
    yield "|---|---:|---:|---:|---:|---:|"
    names = sorted({row.rules for row in reported if row.rules})
    for name in names:
        rows = [row for row in reported if row.rules == name]
        kinds = Counter(row.difference for row in rows)
        equal = kinds[Difference.NONE]
        near = equal + kinds[Difference.WITHIN_BLOCK]
        read = sum(bool(row.read_reported) for row in rows)
        yield (
            f"| {name} | {len(rows)} | {read} | {equal} ({format_rate(equal, len(rows))}) | {near} "
            f"| {kinds[Difference.WARM_BEFORE]} |"
        )


def _row(row: RequestEstimate) -> str:
    should = "-" if row.read_estimated is None else f"{row.read_estimated:,}"
    name = row.source if len(row.source) <= _WIDEST else f"{row.source[:30]}...{row.source[33 - _WIDEST :]}"
    why = explanation(row)
    words = "**not explained**" if why is None else why or "equal"
    reads = f"{row.ceiling_estimated:,} | {should} | {row.read_reported:,}"
    return f"| {name} | {row.request} | {row.model} | {reads} | {words} |"
