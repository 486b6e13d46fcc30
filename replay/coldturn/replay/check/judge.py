"""What was measured against a baseline."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.replay.check.baseline import (
    Baseline,
    KnownBreak,
    KnownPrompt,
    KnownRecording,
    known_recording,
)
from coldturn.replay.check.exemptions import Exemptions, Standing
from coldturn.replay.check.hidden import hidden_of, with_hidden
from coldturn.replay.check.judged import Accepted, Cold, GateFinding, Judged, Kind, Mend, Notes
from coldturn.replay.check.measured import RECORDED, Key, Measured, SeenBreak, SeenLint
from coldturn.replay.check.places import Places

_UNMARKED = "breakpoint_missing"
TOLERANCE = 0.05
"""How far an estimated hit rate may fall, as a fraction of the input: five points of a hundred."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a gate judges.

    Attributes:
        accept: Changes of the baseline that are asked for.
        tolerance: How far a hit rate may fall.
    """

    accept: Collection[Mend] = frozenset()
    tolerance: float = TOLERANCE


@dataclass(slots=True)
class Judge:
    """Judges recordings one after another against one baseline.

    Attributes:
        may_move: Why recordings may break their prefix, by their names in the baseline.
        moved: Names of those that did.
    """

    baseline: Baseline
    exemptions: Exemptions
    rules: Rules = field(default_factory=Rules)
    may_move: Mapping[str, str] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    findings: list[GateFinding] = field(default_factory=list)
    cold: list[Cold] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    known: int = 0
    _lines: dict[tuple[str, str], KnownRecording] = field(default_factory=dict)
    _prompts: dict[str, KnownPrompt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines = self.baseline.known()
        self._prompts = {one.prompt: one for one in self.baseline.prompts}

    def look_at(self, one: Measured) -> None:
        """Judge one recording."""
        breaks, lints = self._not_exempted(one)
        line = known_recording(one, breaks, lints)
        before = self._lines.get(one.id)
        if before is None:
            self._new(one, line, breaks, lints)
            return
        there = with_hidden(line, before, hidden_of(one, breaks))
        found = list(self._changes(one, before, breaks, lints))
        # What a break costs is told with the break.
        if not any(each.kind in _OF_BREAKS for each in found) and one.key not in self.may_move:
            found += _rates(one, before, self.rules.tolerance)
        after = before
        if Mend.FIX in self.rules.accept:
            self.known += len(breaks)
            after = there.model_copy(update={"prompts": before.prompts})
        else:
            self.known += len(breaks) - sum(
                each.kind in _OF_BREAKS and each.request is not None for each in found
            )
            self.findings += found
        if Mend.TRIM in self.rules.accept:
            after = _without_gone(after, there)
        elif _without_gone(after, there) != after:
            self.notes.slack.append(_name(one))
        after = self._prompt(one, before, after)
        self._take(one, before, after, Mend.FIX if Mend.FIX in self.rules.accept else Mend.TRIM)

    def _new(
        self, one: Measured, line: KnownRecording, breaks: Sequence[SeenBreak], lints: Sequence[SeenLint]
    ) -> None:
        if Mend.CREATE in self.rules.accept:
            self._keep(one, line)
            self.accepted.append(Accepted(one.source, one.policy, Mend.CREATE))
            self.known += len(breaks)
            return
        self.findings += [_of_break(one, found, Mend.CREATE) for found in breaks]
        self.findings += [_of_lint(one, found, Mend.CREATE) for found in lints]
        self.notes.new.append(_name(one))

    def _changes(
        self, one: Measured, before: KnownRecording, breaks: Sequence[SeenBreak], lints: Sequence[SeenLint]
    ) -> Iterator[GateFinding]:
        yield from (_of_break(one, found, Mend.FIX) for found in _new_breaks(breaks, before.breaks))
        if before.marked and not one.marked:
            yield _of_lost_markers(one)
        accepted = {lint.key for lint in before.lints}
        yield from (_of_lint(one, found, Mend.FIX) for found in lints if found.key not in accepted)

    def _prompt(self, one: Measured, before: KnownRecording, after: KnownRecording) -> KnownRecording:
        """Tell of a changed prompt, or take it in."""
        changed = [head for head in one.heads if head.digest not in before.prompts]
        if Mend.UPDATE in self.rules.accept:
            if sorted(head.digest for head in one.heads) == before.prompts:
                return after
            self.accepted.append(Accepted(one.source, one.policy, Mend.UPDATE))
            prompts = sorted(head.digest for head in one.heads)
            return after.model_copy(update={"prompts": prompts, "requests": one.requests})
        olds = [self._prompts[digest] for digest in before.prompts if digest in self._prompts]
        for head in changed:
            shared = max((old.common_bytes(head) for old in olds), default=0)
            self.cold.append(Cold(one.source, head.bytes - shared, one.policy))
        return after

    def _take(self, one: Measured, before: KnownRecording, after: KnownRecording, mend: Mend) -> None:
        if after == before:
            return
        self._keep(one, after)
        if after.model_copy(update={"prompts": before.prompts, "requests": before.requests}) != before:
            self.accepted.append(Accepted(one.source, one.policy, mend))

    def _keep(self, one: Measured, line: KnownRecording) -> None:
        self._lines[one.id] = line
        for head in one.heads:
            if head.digest in line.prompts:
                self._prompts[head.digest] = KnownPrompt.of(head)

    def _not_exempted(self, one: Measured) -> tuple[tuple[SeenBreak, ...], tuple[SeenLint, ...]]:
        reason = self.may_move.get(one.key)
        breaks = []
        for found in one.breaks:
            if self.exemptions.covers(one, found):
                continue
            if reason is not None:
                self.exemptions.note(one, found, reason)
                self.moved.add(one.key)
            else:
                breaks.append(found)
        return tuple(breaks), tuple(lint for lint in one.lints if not self.exemptions.covers(one, lint))

    def forget(self, key: str) -> bool:
        """Drop the lines of a recording that holds nothing to check any more, where trimming is asked for."""
        if Mend.TRIM not in self.rules.accept:
            return False
        for id_ in [id_ for id_ in self._lines if id_[0] == key]:
            del self._lines[id_]
            self.accepted.append(Accepted(key, id_[1], Mend.TRIM))
        return True

    def result(self, measured: Sequence[Measured], places: Places) -> Judged:
        """Everything that was found, and what looking at all of it together shows.

        Args:
            measured: All recordings that were looked at.
            places: Where the baseline's recordings lie.
        """
        stale = self.exemptions.stale(measured, places)
        removed = [one.exemption for one in stale if one.in_baseline and Mend.TRIM in self.rules.accept]
        self.findings += [_of_stale(one) for one in stale if one.exemption not in removed]
        self._missing(measured, places)
        self.accepted += [Accepted(one.source, one.policy or RECORDED, Mend.TRIM) for one in removed]
        kept = [one for one in self.baseline.exemptions if one not in removed]
        after = self.baseline.model_copy(
            update={
                "exemptions": kept,
                "recordings": list(self._lines.values()),
                "prompts": list(self._prompts.values()),
            }
        )
        return Judged(
            findings=tuple(self.findings),
            exempted=tuple(self.exemptions.exempted),
            cold=tuple(self.cold),
            accepted=tuple(self.accepted),
            notes=self.notes,
            baseline=after,
            looked_at=tuple((one.source, one.policy) for one in measured),
            requests=sum(one.requests for one in measured),
            known=self.known,
        )

    def _missing(self, measured: Sequence[Measured], places: Places) -> None:
        """Drop lines of recordings that are gone, or tell of them."""
        seen = {one.id for one in measured}
        for id_ in [id_ for id_ in self._lines if id_ not in seen and not places.is_there(id_[0])]:
            source, policy = id_
            if Mend.TRIM in self.rules.accept:
                del self._lines[id_]
                self.accepted.append(Accepted(source, policy, Mend.TRIM))
            else:
                self.notes.gone.append(source)


_OF_BREAKS = frozenset({Kind.NEW_BREAK, Kind.PLANNED_RULE})


def nothing_checked(source: str | None, message: str, mend: Mend | str) -> GateFinding:
    """That nothing was looked at where something should have been."""
    return GateFinding(Kind.NOTHING_CHECKED, source, None, None, None, None, message, mend)


def _name(one: Measured) -> str:
    return one.source if one.policy == RECORDED else f"{one.source} under {one.policy}"


def _new_breaks(breaks: Sequence[SeenBreak], known: Sequence[KnownBreak]) -> Iterator[SeenBreak]:
    """Breaks beyond the accepted number of their kind: first those at requests that had none before."""
    accepted = {one.key: one.requests for one in known}
    by_key: dict[Key, list[SeenBreak]] = {}
    for found in breaks:
        by_key.setdefault(found.key, []).append(found)
    beyond: list[SeenBreak] = []
    for key, group in by_key.items():
        before = accepted.get(key, [])
        extra = max(0, len(group) - len(before))
        unknown_first = sorted(group, key=lambda found: (found.request in before, -found.request))
        beyond += unknown_first[:extra]
    yield from sorted(beyond, key=lambda found: found.request)


def _rates(one: Measured, before: KnownRecording, tolerance: float) -> Iterator[GateFinding]:
    """A hit rate that fell, by the rule or as its ceiling: small prompts have only the latter."""
    rates = (
        ("estimated hit rate", before.hit_rate_estimated, one.hit_rate_estimated),
        (
            "ceiling of the hit rate (estimated)",
            before.hit_rate_ceiling_estimated,
            one.ceiling_rate_estimated,
        ),
    )
    for name, was, now in rates:
        # Both are rounded to four digits; what is left over is no fall.
        if was is not None and now is not None and round(was - now, 4) > tolerance:
            message = f"the {name} of {_name(one)} fell from {was:.1%} to {now:.1%} of the input"
            yield GateFinding(
                Kind.HIT_RATE, one.source, None, None, None, None, message, Mend.FIX, policy=one.policy
            )
            return


def _of_lost_markers(one: Measured) -> GateFinding:
    """Requests had cache markers, and none has any more: no text differs, and nothing is cached."""
    message = (
        f"no request of {_name(one)} has a cache marker any more, and some had: nothing of them is kept."
        f" {ALL_REMEDIES[_UNMARKED]}"
    )
    return GateFinding(
        Kind.NEW_BREAK, one.source, None, _UNMARKED, None, None, message, Mend.FIX, policy=one.policy
    )


def _of_break(one: Measured, found: SeenBreak, mend: Mend) -> GateFinding:
    kind = Kind.PLANNED_RULE if found.rule else Kind.NEW_BREAK
    return _finding(kind, one, found, mend)


def _of_lint(one: Measured, found: SeenLint, mend: Mend) -> GateFinding:
    return _finding(Kind.ZONE_LINT, one, found, mend)


def _finding(kind: Kind, one: Measured, found: SeenBreak | SeenLint, mend: Mend) -> GateFinding:
    return GateFinding(
        kind=kind,
        source=one.source,
        request=found.request,
        cause=found.cause,
        zone=found.zone,
        path=found.path,
        message=found.message,
        mend=mend,
        policy=one.policy,
    )


def _of_stale(standing: Standing) -> GateFinding:
    one = standing.exemption
    at = "" if one.request is None else f" at request {one.request}"
    return GateFinding(
        kind=Kind.STALE_EXEMPTION,
        source=one.source,
        request=one.request,
        cause=one.cause,
        zone=None,
        path=None,
        message=f"the exemption of {one.cause}{at} in {one.source} exempts nothing ({one.reason})",
        mend=Mend.TRIM if standing.in_baseline else "take it out of [tool.coldturn.check] in pyproject.toml",
        policy=one.policy,
    )


def _without_gone(accepted: KnownRecording, line: KnownRecording) -> KnownRecording:
    """An accepted line with only as many breaks, and only those lints, as there are now."""
    now = {one.key: one for one in line.breaks}
    lints = {one.key for one in line.lints}
    breaks = [
        now[one.key] if len(now[one.key].requests) < len(one.requests) else one
        for one in accepted.breaks
        if one.key in now
    ]
    return accepted.model_copy(
        update={"breaks": breaks, "lints": [one for one in accepted.lints if one.key in lints]}
    )
