"""What `explain` and `diff` print for people: each break in a few lines, repeats folded into one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.text import Text

from coldturn.analysis.breaks.findings import Finding, LineageReport, Report, Verdict
from coldturn.analysis.breaks.settings import SettingsChange
from coldturn.replay.cli.marks import marked_pair, visible

_STYLES = {
    Verdict.BROKEN: "bold red",
    Verdict.UNKNOWN: "bold red",
    Verdict.BROKEN_HARMLESS: "yellow",
    Verdict.PLANNED: "cyan",
    Verdict.PROVIDER_SIDE_SUSPECTED: "yellow",
    Verdict.TTL_SUSPECTED: "yellow",
    Verdict.INTACT: "green",
    Verdict.COLD_START: "dim",
}
_WORDS = {
    Verdict.BROKEN: "broken",
    Verdict.UNKNOWN: "broken, cause unknown",
    Verdict.BROKEN_HARMLESS: "harmless",
    Verdict.PLANNED: "planned",
    Verdict.PROVIDER_SIDE_SUSPECTED: "the provider, it seems",
    Verdict.TTL_SUSPECTED: "expired, it seems",
    Verdict.INTACT: "intact",
    Verdict.COLD_START: "first request",
}
_INDEX = re.compile(r"\[\d+\]")
_SHOWN_NAMES = 6


@dataclass(frozen=True, slots=True)
class Renderer:
    """Prints reports to a console, which decides on colours."""

    console: Console

    def report(self, report: Report, *, folded: bool = True) -> None:
        """Print every lineage with breaks, then a line of totals."""
        for lineage in report.lineages:
            if lineage.breaks or lineage.settings_changed:
                self._lineage(lineage, folded=folded)
        if report.requests:
            self.console.print(_totals(report))

    def _lineage(self, lineage: LineageReport, *, folded: bool) -> None:
        self.console.print(_heading(lineage))
        branches = [found for found in lineage.breaks if folded and _is_branch(found)]
        others = [found for found in lineage.breaks if not (folded and _is_branch(found))]
        for group in _groups(others, folded=folded):
            self._finding(group[0])
            if len(group) > 1:
                self.console.print(Text(f"    {_repeats(group[1:])}", style="dim"))
            self.console.print()
        if lineage.settings_changed:
            for line in _settings(lineage.settings_changed):
                self.console.print(Text(f"  {line}", style="yellow"))
            self.console.print()
        if branches:
            self.console.print(Text(f"  {_branching(len(branches))}\n", style="dim"))

    def _finding(self, found: Finding) -> None:
        line = Text("  ")
        line.append(found.cause, style=_STYLES[found.verdict])
        line.append(f"  {_WORDS[found.verdict]}  ", style=_STYLES[found.verdict])
        line.append(f"request {found.request} after {found.parent}", style="dim")
        self.console.print(line)
        for label, value in _facts(found):
            self.console.print(_labelled(label).append(value))
        if found.was is not None and found.now is not None:
            was, now = marked_pair(found.was, found.now, colours=self.console.is_terminal)
            before = Text(visible(found.before or "", from_end=True), style="dim")
            self.console.print(_labelled("was").append_text(before).append_text(was))
            self.console.print(_labelled("now").append_text(before).append_text(now))
        if found.remedy and found.verdict.unplanned:
            self.console.print(_labelled("do").append(found.remedy, style="green"))


def _labelled(label: str) -> Text:
    return Text().append(f"    {label:<7}", style="dim")


def _heading(lineage: LineageReport) -> Text:
    parts = [lineage.surface.value if lineage.surface else "text", lineage.model or ""]
    parts.append(_count(lineage.requests, "request"))
    if lineage.fidelity.value != "wire":
        parts.append(f"fidelity {lineage.fidelity.value}")
    rest = "  " + " · ".join(part for part in parts if part)
    return Text().append(lineage.source, style="bold").append(rest, style="dim")


def _facts(found: Finding) -> Iterator[tuple[str, str]]:
    """What stands beside each label; only what is known."""
    where = [found.segment or ""]
    if found.section:
        where.append(f"in {found.section!r}")
    if found.block_offset:
        where.append(f"at byte {found.block_offset:,} of the block")
    gone = " of the older request, gone from the newer" if found.side == "parent" else ""
    yield "where", f"{found.zone.value}: {' '.join(where)}  {found.path or ''}{gone}".rstrip()
    tokens = _count(found.lost_tokens_estimated, "token")
    lost = f"{_count(found.lost_bytes, 'byte')}, about {tokens} (estimated)"
    bytes_ = "byte" if abs(found.delta_bytes) == 1 else "bytes"
    change = f"; the change is {found.delta_bytes:+,} {bytes_}" if found.delta_bytes else ""
    yield "lost", f"{lost}{_behind(found)}{change}"
    if found.names:
        more = len(found.names) - _SHOWN_NAMES
        names = ", ".join(visible(name) for name in found.names[:_SHOWN_NAMES])
        yield "names", names + (f" and {more} more" if more > 0 else "")
    if found.later:
        yield "behind", "; ".join(f"{later.cause} ({later.zone.value})" for later in found.later)


def _behind(found: Finding) -> str:
    """Content bytes in common, and the byte of the newer file at which they end."""
    if found.offset is None:
        return ""
    if found.segment == "text":
        return f" behind byte {found.offset:,} of the text"
    body = "" if found.wire_offset is None else f" (byte {found.wire_offset:,} of the newer body)"
    return f" behind byte {found.offset:,} of the prompt{body}"


def _groups(findings: Sequence[Finding], *, folded: bool) -> Iterator[list[Finding]]:
    """Neighbouring findings that say the same of another request."""
    if not folded:
        yield from ([found] for found in findings)
        return
    for _, group in groupby(findings, key=_likeness):
        yield list(group)


def _is_branch(found: Finding) -> bool:
    """Whether another conversation or a fork begins there, and no break."""
    kinds = {"new_conversation", "fork"}
    return found.verdict is Verdict.BROKEN_HARMLESS and not kinds.isdisjoint(found.kinds)


def _branching(count: int) -> str:
    who, verb = ("conversation or fork", "branches") if count == 1 else ("conversations or forks", "branch")
    return f"{count:,} other {who} {verb} off here: nothing was paid again"


def _likeness(found: Finding) -> tuple[object, ...]:
    place = _INDEX.sub("[]", found.path or found.segment or "")
    return found.cause, found.verdict, found.zone, place, found.section


def _repeats(group: Sequence[Finding]) -> str:
    requests = _ranges(found.request for found in group)
    lost = sum(found.lost_bytes for found in group)
    return f"the same again at request {requests} (another {_count(lost, 'byte')} lost)"


def _ranges(numbers: Iterable[int]) -> str:
    """``3, 5-9, 12``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _settings(changes: Sequence[SettingsChange]) -> Iterator[str]:
    """A line for each set of keys, with the requests that it concerns."""
    requests: dict[tuple[str, ...], list[int]] = {}
    for change in changes:
        requests.setdefault(change.keys, []).append(change.request)
    for keys, numbers in requests.items():
        yield f"settings differ: {', '.join(keys)} (not judged yet)  request {_ranges(numbers)}"


def _totals(report: Report) -> Text:
    unplanned = [found for found in report.breaks if found.verdict.unplanned]
    others = Counter(found.verdict for found in report.breaks if not found.verdict.unplanned)
    conversations = sum(lineage.requests > 0 for lineage in report.lineages)
    line = Text(f"{_count(report.requests, 'request')} in {_count(conversations, 'conversation')}: ")
    if not unplanned:
        line.append("no unplanned break", style="bold green")
    else:
        line.append(_count(len(unplanned), "unplanned break"), style="bold red")
        causes = Counter(found.cause for found in unplanned)
        line.append(" (" + ", ".join(f"{cause} {count}" for cause, count in causes.most_common()) + ")")
        tokens = sum(found.lost_tokens_estimated for found in unplanned)
        line.append(f", about {_count(tokens, 'token')} lost (estimated)")
    for verdict, count in others.items():
        line.append(f", {count} {_WORDS[verdict]}")
    if differing := sum(len(lineage.settings_changed) for lineage in report.lineages):
        line.append(f", settings differ at {_count(differing, 'request')} (not judged)")
    return line


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
