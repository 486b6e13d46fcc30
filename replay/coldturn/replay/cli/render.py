"""What `explain` and `diff` print for people: each break in a few lines, repeats folded into one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.text import Text

from coldturn.analysis.breaks.findings import Finding, LineageReport, Report, Verdict
from coldturn.analysis.rates import format_rate
from coldturn.reference.prefix.causes.branches import FORK, NEW_CONVERSATION, SIDE_CALL
from coldturn.replay.cli.finding_view import View, counted, ranges
from coldturn.replay.cli.signs import shown_line
from coldturn.replay.cli.summary_view import summary

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Renderer:
    """Prints reports to a console, which decides on colours."""

    console: Console

    def report(self, report: Report, *, folded: bool = True, whole: bool = True) -> None:
        """Print every lineage with something to say, then the sums.

        Args:
            report: What was found.
            folded: Neighbours that say the same are one.
            whole: Whether every input could be read to its end.
        """
        shown = [
            lineage
            for lineage in report.lineages
            if lineage.breaks or lineage.settings_changed or lineage.vendor_only
        ]
        for index, lineage in enumerate(shown):
            self._lineage(lineage, folded=folded, first=not index)
        for line in summary(report, whole=whole):
            self.console.print(line)

    def _lineage(self, lineage: LineageReport, *, folded: bool, first: bool) -> None:
        self.console.print(_heading(lineage, first=first))
        branches = [found for found in lineage.breaks if folded and _is_branch(found)]
        others = [found for found in lineage.breaks if not (folded and _is_branch(found))]
        view = View(self.console.is_terminal, full=not folded)
        for group in _groups(others, folded=folded):
            for line in view.lines(group[0]):
                self.console.print(line)
            if len(group) > 1:
                self.console.print(Text(f"    {_repeats(group[1:])}", style="dim"))
            self.console.print()
        settings = [*_settings(lineage), *_vendor_only(lineage)]
        for words in settings:
            self.console.print(Text(f"  {words}", style="dim"))
        if settings:
            self.console.print()
        if branches:
            self.console.print(Text(f"  {_branching(len(branches))}\n", style="dim"))


def _heading(lineage: LineageReport, *, first: bool) -> Text:
    parts = [lineage.surface.value if lineage.surface else "text", lineage.model or ""]
    if lineage.older is None:
        # Said once: it holds for all that follow.
        numbered = " (numbered from 0)" if first and lineage.requests > 1 else ""
        parts.append(f"{counted(lineage.requests, 'request')}{numbered}")
    if lineage.fidelity.value != "wire":
        parts.append(f"fidelity {lineage.fidelity.value}")
    if lineage.surface is not None and lineage.rules is None:
        parts.append("no cache rules known, judged by bytes and reported reads (--rules NAME chooses some)")
    tokens = lineage.tokens
    if tokens.input_reported and tokens.read_reported is not None:
        parts.append(f"{format_rate(tokens.read_reported, tokens.input_reported)} read (reported)")
    rest = "  " + " · ".join(part for part in parts if part)
    name = lineage.source if lineage.older is None else f"{lineage.older} → {lineage.source}"
    return Text().append(shown_line(name), style="bold").append(shown_line(rest), style="dim")


def _groups(findings: Sequence[Finding], *, folded: bool) -> Iterator[list[Finding]]:
    """Neighbouring findings that say the same of another request."""
    if not folded:
        yield from ([found] for found in findings)
        return
    for _, group in groupby(findings, key=_likeness):
        yield list(group)


def _is_branch(found: Finding) -> bool:
    """Whether another conversation or a fork begins there, and no break."""
    kinds = {NEW_CONVERSATION, FORK, SIDE_CALL}
    harmless = found.verdict is Verdict.BROKEN_HARMLESS and found.segment is not None
    return harmless and not kinds.isdisjoint(found.kinds)


def _branching(count: int) -> str:
    who, verb = ("conversation or fork", "branches") if count == 1 else ("conversations or forks", "branch")
    return f"{count:,} other {who} {verb} off here: nothing behind is sent again"


def _likeness(found: Finding) -> tuple[object, ...]:
    place = _INDEX.sub("[]", found.path or found.segment or "")
    others = tuple((one.cause, one.zone) for one in found.later), tuple(one.cause for one in found.alongside)
    return found.cause, found.verdict, found.zone, place, found.section, others


def _repeats(group: Sequence[Finding]) -> str:
    requests = ranges(found.request for found in group)
    lost = sum(found.lost_tokens_estimated for found in group)
    cost = f" (another {counted(lost, 'token')} lost, estimated)" if lost else ""
    noun = "request" if len(group) == 1 else "requests"
    return f"{noun} {requests}: the same{cost}"


def _settings(lineage: LineageReport) -> Iterator[str]:
    """A line for each set of keys that no finding is about, with the requests that it concerns."""
    told = {found.request for found in lineage.breaks if _tells_settings(found)}
    requests: dict[tuple[str, ...], list[int]] = {}
    for change in lineage.settings_changed:
        if change.request not in told:
            requests.setdefault(change.keys, []).append(change.request)
    why = "no rules to judge them by" if lineage.rules is None else "at no known cost"
    for keys, numbers in requests.items():
        yield f"settings differ, {why}: {', '.join(keys)}  {_at(numbers)}"


def _vendor_only(lineage: LineageReport) -> Iterator[str]:
    """A line for each word of a provider's that stands by itself."""
    requests: dict[tuple[str, str], list[int]] = {}
    for word in lineage.vendor_only:
        requests.setdefault((word.source, word.reason), []).append(word.request)
    for (source, reason), numbers in requests.items():
        yield f"{source} says {reason}, and nothing here was compared with it  {_at(numbers)}"


def _tells_settings(found: Finding) -> bool:
    return found.zone.value == "settings" or any(one.cause.endswith("_changed") for one in found.alongside)


def _at(numbers: Sequence[int]) -> str:
    return f"request{'' if len(numbers) == 1 else 's'} {ranges(numbers)}"
