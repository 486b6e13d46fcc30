"""What `check` prints for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from coldturn.replay.check.judged import GateFinding, Judged, Mend, accepted_by_mend, cold_sentences
from coldturn.replay.check.measured import RECORDED, place_of
from coldturn.replay.cli.signs import shown_line

_WORDS = {
    Mend.CREATE: "taken in",
    Mend.FIX: "accepted as it is now",
    Mend.TRIM: "trimmed",
    Mend.UPDATE: "changed prompt accepted",
}

_SHOWN = 12


def show(judged: Judged, console: Console) -> None:
    """Print findings by recording, then what was accepted, what will be cold, and a line of totals."""
    for source, group in groupby(judged.findings, key=lambda one: (one.source, one.policy)):
        console.print(_heading(*source))
        for alike in _folded(group):
            for line in _finding(alike[0]):
                console.print(line)
            if len(alike) > 1:
                console.print(Text(f"    {_repeats(alike[1:])}", style="dim"))
        console.print()
    for mend, names in accepted_by_mend(judged.accepted):
        console.print(Text(f"{mend.option}: {_WORDS[mend]}: {names}", style="green"))
    for sentence in cold_sentences(judged.cold):
        console.print(Text(sentence, style="cyan").append(f"; {Mend.UPDATE.option} accepts it"))
    console.print(_totals(judged))


def _folded(findings: Iterable[GateFinding]) -> list[list[GateFinding]]:
    """Findings that say the same of several requests, together."""
    groups: dict[object, list[GateFinding]] = {}
    for one in findings:
        groups.setdefault((one.kind, one.cause, one.zone, place_of(one.path), one.how), []).append(one)
    return list(groups.values())


def _repeats(findings: Sequence[GateFinding]) -> str:
    requests = [str(one.request) for one in findings if one.request is not None]
    if not requests:
        return f"the same {_count(len(findings), 'more time')}"
    more = len(requests) - _SHOWN
    return f"the same at request {', '.join(requests[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")


def _heading(source: str | None, policy: str | None) -> Text:
    line = Text(shown_line(source or "all inputs"), style="bold")
    if policy not in {None, RECORDED}:
        line.append(f"  replayed under {policy}", style="dim")
    return line


def _finding(finding: GateFinding) -> Iterator[Text]:
    line = Text("  ").append(finding.kind.value, style="bold red")
    at = None if finding.request is None else f"request {finding.request}"
    facts = [one for one in (finding.cause, at, finding.zone, finding.path) if one is not None]
    yield line.append("  " + "  ".join(facts)) if facts else line
    yield Text(f"    {shown_line(finding.message)}")
    label = "accept" if isinstance(finding.mend, Mend) else "do"
    yield Text(f"    {label:<7}", style="dim").append(finding.how, style="green")


def _totals(judged: Judged) -> Text:
    recordings = len({source for source, _ in judged.looked_at})
    line = Text(f"{_count(recordings, 'recording')}, {_count(judged.requests, 'request')}: ")
    kinds = Counter(one.kind.value for one in judged.findings)
    words = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    if judged.ok:
        line.append("nothing new", style="bold green")
    else:
        line.append(f"{_count(len(judged.findings), 'finding')} ({words})", style="bold red")
    line.append(f", {_count(judged.known, 'break')} known, {len(judged.exempted):,} exempted")
    return line


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
