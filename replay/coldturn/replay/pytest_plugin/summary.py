"""What the plugin prints: findings with cause, place and the word that accepts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coldturn.replay.check.judged import GateFinding, Judged, Kind, Mend, accepted_by_mend, cold_sentences
from coldturn.replay.check.measured import RECORDED
from coldturn.replay.cli.signs import shown_line

if TYPE_CHECKING:
    from coldturn.replay.pytest_plugin.session import GateSession

_BREAKS = frozenset({Kind.NEW_BREAK, Kind.PLANNED_RULE})
_SHOWN = 3


def spelled(mend: Mend) -> str:
    """A word as pytest's option takes it."""
    return f"--coldturn={mend.value}"


def finding_lines(finding: GateFinding, *, sent: bool = False) -> Iterator[str]:
    """A finding: what and where, which pytest repeats at its end; the sentence; what accepts or mends it.

    Args:
        finding: What was found.
        sent: Whether it is in what the test sent, and the cassette holds something else.
    """
    yield shown_line(f"coldturn: {_headline(finding)} in {finding.source or 'all recordings'}")
    yield f"  {shown_line(finding.message)}"
    if sent:
        yield "  seen in what the test sent; the cassette holds other requests, and answered all the same"
    yield f"  accept: {'record the cassette anew, then ' if sent else ''}{_accept(finding)}"


def _headline(finding: GateFinding) -> str:
    words = [finding.kind.value, finding.cause or ""]
    if finding.request is not None:
        words.append(f"at request {finding.request}")
    words += [finding.zone or "", finding.path or ""]
    if finding.policy not in {None, RECORDED}:
        words.append(f"under {finding.policy}")
    return " ".join(word for word in words if word)


def _accept(finding: GateFinding) -> str:
    word = f"pytest {spelled(finding.mend)}" if isinstance(finding.mend, Mend) else finding.mend
    return f'{word}, or mark the test moves_prefix(reason="...")' if finding.kind in _BREAKS else word


def summary_lines(session: GateSession) -> Iterator[str]:
    """The section at the end of a run: nothing that a test's own report says."""
    judged = session.judged
    if judged is None:
        return
    yield ""
    left = [finding for finding in judged.findings if not session.was_told(finding)]
    sent = f", {session.sent} in what tests sent (told above, with the tests)" if session.sent else ""
    yield f"coldturn: {_totals(judged, told=len(left) < len(judged.findings))}{sent}"
    for finding in left:
        yield from _short(finding, session)
    for mend, names in accepted_by_mend(judged.accepted):
        yield f"  {spelled(mend)}: {names}"
    for sentence in cold_sentences(judged.cold):
        yield f"  {sentence}; {spelled(Mend.UPDATE)} accepts it"
    yield from (f"  not read: {problem}" for problem in session.unread[:_SHOWN])
    if len(session.unread) > _SHOWN:
        yield f"  not read: {len(session.unread) - _SHOWN} more"
    yield from (f"  {note}" for note in judged.notes.sentences(spelled))
    if session.wrote:
        yield f"  {session.gate.path.name} was written"


def _short(finding: GateFinding, session: GateSession) -> Iterator[str]:
    how = spelled(finding.mend) if isinstance(finding.mend, Mend) else finding.mend
    yield f"  {finding.source or 'all recordings'}: {_headline(finding)} ({how})"
    tests = session.tests_of(finding.source)
    for test in tests[:_SHOWN]:
        yield f"    in {test}"
    if not tests:
        yield f"    {finding.message}"


def _totals(judged: Judged, *, told: bool) -> str:
    recordings = len({source for source, _ in judged.looked_at})
    found = len(judged.findings)
    words = [
        f"{recordings} recording{'s'[: recordings != 1]} looked at",
        f"{found} finding{'s'[: found != 1]}{' (told above, with the tests)' if told else ''}",
    ]
    if judged.known:
        words.append(f"{judged.known} known")
    if judged.exempted:
        words.append(f"{len(judged.exempted)} exempted")
    return ", ".join(words)
