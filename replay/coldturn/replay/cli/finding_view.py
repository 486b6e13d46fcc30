"""One finding in a few labelled lines: where, why, what it cost, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.text import Text

from coldturn.analysis.breaks.findings import Finding, Later, Verdict
from coldturn.analysis.verdicts.vendor import vendor_words
from coldturn.reference.prefix.model import Zone
from coldturn.reference.tokens import estimate_tokens
from coldturn.replay.cli.marks import marked, visible
from coldturn.replay.cli.signs import shown_line

STYLES = {
    Verdict.BROKEN: "bold red",
    Verdict.UNKNOWN: "bold red",
    Verdict.BROKEN_HARMLESS: "yellow",
    Verdict.PLANNED: "cyan",
    Verdict.PROVIDER_SIDE_SUSPECTED: "yellow",
    Verdict.TTL_SUSPECTED: "yellow",
    Verdict.INTACT: "green",
    Verdict.COLD_START: "dim",
}
WORDS = {
    Verdict.BROKEN: "broken",
    Verdict.UNKNOWN: "cause unknown",
    Verdict.BROKEN_HARMLESS: "harmless",
    Verdict.PLANNED: "planned",
    Verdict.PROVIDER_SIDE_SUSPECTED: "provider suspected",
    Verdict.TTL_SUSPECTED: "lifetime suspected",
    Verdict.INTACT: "intact",
    Verdict.COLD_START: "cold start",
}
MEANINGS = {
    Verdict.UNKNOWN: "something came between that the recording does not explain",
    Verdict.BROKEN_HARMLESS: "nothing was lost that a cache held",
    Verdict.PLANNED: "meant to be, and fails no check",
    Verdict.PROVIDER_SIDE_SUSPECTED: "the prompt is intact, and the reported usage shows a miss",
    Verdict.TTL_SUSPECTED: "the prompt is intact, and the times say that its entry had expired",
    Verdict.COLD_START: "the conversation went on where no cache held it yet",
}
"""What a verdict's word stands for, where that is not plain."""

_SHOWN_NAMES = 6
_CLEARLY_MORE = 1.25
"""Times the tokens of the bytes behind a change: what one byte makes in tokens differs from text to text."""


@dataclass(frozen=True, slots=True)
class View:
    """How a finding is shown.

    Attributes:
        colours: Mark what differs by colour.
        full: Every later cause with its place, and what the rules say.
    """

    colours: bool
    full: bool = False

    def lines(self, found: Finding) -> Iterator[Text]:
        """The head line, then one line a label."""
        style = STYLES[found.verdict]
        head = Text("  ").append(found.cause, style=style)
        head.append(f"  {WORDS[found.verdict]}  ", style=style)
        yield head.append(f"request {found.request} after {found.parent}", style="dim")
        for label, value in self._facts(found):
            yield _labelled(label).append(shown_line(value))
        yield from self._windows(found)
        for label, value in _others(found, full=self.full):
            yield _labelled(label).append(shown_line(value))
        if found.remedy and not _is_as_meant(found):
            yield _labelled("do").append(found.remedy, style="green")
        if self.full and found.aliases:
            yield _labelled("alias").append(", ".join(found.aliases), style="dim")
        if self.full and found.anchor:
            yield _labelled("more").append(f"coldturn docs {found.cause}", style="dim")

    def _facts(self, found: Finding) -> Iterator[tuple[str, str]]:
        if found.segment is not None:
            yield "where", _where(found)
        if found.evidence:
            yield "why", found.evidence
        if found.lost_bytes or found.lost_tokens_estimated or found.delta_bytes:
            yield "lost", _lost(found)
        if self.full:
            yield from _figures(found)
        elif _reaches_back(found):
            yield from _rules(found)
        if found.names and found.segment is not None:
            more = len(found.names) - _SHOWN_NAMES
            names = ", ".join(visible(name) for name in found.names[:_SHOWN_NAMES])
            yield "names", names + (f" and {more} more" if more > 0 else "")

    def _windows(self, found: Finding) -> Iterator[Text]:
        if found.was is None and found.now is None:
            return
        if found.segment is None:
            for label, value in (("was", found.was), ("now", found.now)):
                yield _labelled(label).append("not sent" if value is None else visible(value))
            return
        was = marked(found.was or "", found.was_changed, gone=True, colours=self.colours)
        now = marked(found.now or "", found.now_changed, gone=False, colours=self.colours)
        before = Text(visible(found.before or "", from_end=True), style="dim")
        yield _labelled("was").append_text(before).append_text(was)
        yield _labelled("now").append_text(before).append_text(now)


def _labelled(label: str) -> Text:
    return Text().append(f"    {label:<7}", style="dim")


def _is_as_meant(found: Finding) -> bool:
    """Whether nothing is to be mended: it was planned, or nobody meant to repeat what is not repeated."""
    if found.verdict is Verdict.BROKEN_HARMLESS:
        return found.zone is Zone.TRANSIENT
    return found.verdict is Verdict.PLANNED


def _where(found: Finding) -> str:
    where = [found.segment or ""]
    if found.section:
        where.append(f"in {found.section!r}")
    if found.block_offset:
        where.append(f"at byte {found.block_offset:,} of the block")
    gone = " of the older request, gone from the newer" if found.side == "parent" else ""
    return f"{found.zone.value}: {' '.join(where)}  {found.path or ''}{gone}".rstrip()


def _lost(found: Finding) -> str:
    """Tokens first, since they are what is paid for; then the bytes, and where they begin."""
    if not found.lost_bytes and not found.lost_tokens_estimated:
        return f"nothing; the change is {found.delta_bytes:+,} bytes"
    if found.lost_bytes and not found.lost_tokens_estimated:
        return f"{_nothing(found)}: {_bytes(found)}{_change(found)}"
    parts = [f"about {counted(found.lost_tokens_estimated, 'token')}"]
    if found.cost_amount_estimated:
        parts.append(money(found.cost_amount_estimated, found.currency))
    cost = f"{', '.join(parts)} (estimated)"
    if found.lost_bytes:
        cost += f": {_bytes(found)}"
    if _reaches_back(found):
        cost += ", and what stands in front of them, back to the last entry that can be read"
    return cost + _change(found)


def _nothing(found: Finding) -> str:
    """By whose word nothing was lost that stands behind the change."""
    if costs_nothing_yet(found):
        return "nothing yet"
    by_report = found.read_reported and (found.readable_estimated is None or _by_rules(found) > 0)
    return "nothing by the report" if by_report else "nothing by the rules"


def costs_nothing_yet(found: Finding) -> bool:
    """Whether nothing could have been read by the rules, and no report denies it."""
    tells = bool(found.lost_bytes) and not found.lost_tokens_estimated and not found.read_reported
    return tells and found.readable_estimated == 0


def _bytes(found: Finding) -> str:
    return f"{counted(found.lost_bytes, 'byte')}{_behind(found)}"


def _change(found: Finding) -> str:
    unit = "byte" if abs(found.delta_bytes) == 1 else "bytes"
    return f"; the change is {found.delta_bytes:+,} {unit}" if found.delta_bytes else ""


def _by_rules(found: Finding) -> int:
    """Tokens that the change took, as far as the rules let them be read."""
    return (found.readable_estimated or 0) - (found.read_estimated or 0)


def _reaches_back(found: Finding) -> bool:
    """Whether the rules take clearly more than the bytes behind the change."""
    by_bytes = estimate_tokens(found.lost_bytes)
    return found.rules is not None and 0 < by_bytes * _CLEARLY_MORE < _by_rules(found)


def _behind(found: Finding) -> str:
    """Content bytes in common, and the byte of the newer file at which they end."""
    if found.offset is None:
        return ""
    if found.segment == "text":
        return f" behind byte {found.offset:,} of the text"
    body = "" if found.wire_offset is None else f" (byte {found.wire_offset:,} of the newer body)"
    return f" behind byte {found.offset:,} of the prompt{body}"


def _figures(found: Finding) -> Iterator[tuple[str, str]]:
    """What the rules say of the request, and what was reported of it."""
    yield from _rules(found)
    if found.read_reported is not None:
        yield "report", f"the provider read {counted(found.read_reported, 'token')}"


def _rules(found: Finding) -> Iterator[tuple[str, str]]:
    if found.readable_estimated is not None:
        yield (
            "rules",
            (
                f"{found.rules}: {counted(found.readable_estimated, 'token')} could have been read, "
                f"{found.read_estimated or 0:,} still can (estimated)"
            ),
        )


def _later(later: Later) -> str:
    """A later cause with its zone, where that is known: traces do not tell it."""
    return later.cause if later.zone is Zone.NONE else f"{later.cause} ({later.zone.value})"


def _others(found: Finding, *, full: bool) -> Iterator[tuple[str, str]]:
    if found.reasoning_invalidated:
        yield "also", "reasoning that is sent back stands behind the change and no longer counts"
    if found.later:
        if full:
            for later in found.later:
                yield "behind", f"{_later(later)}  {later.path or ''}".rstrip()
        else:
            yield "behind", "; ".join(map(_later, found.later))
    for told in dict.fromkeys(
        beside.cause + (f": {beside.evidence}" if beside.evidence else "") for beside in found.alongside
    ):
        yield "beside", told
    if found.vendor is not None:
        yield "vendor", vendor_words(found.vendor)


def money(amount: float, currency: str | None) -> str:
    """An amount with as many digits as say something."""
    digits = 2 if amount >= 1 else 4
    return f"{amount:.{digits}f} {currency or ''}".rstrip() if amount >= 1e-4 else f"below 0.0001 {currency}"


def counted(number: int, noun: str) -> str:
    """``1 token``, ``2,000 tokens``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ranges(numbers: Iterable[int]) -> str:
    """``3, 5-9, 12``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
