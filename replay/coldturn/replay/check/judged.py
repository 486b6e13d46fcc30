"""What a gate says: findings, what was exempted, prompts that will be cold, and what the baseline becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from coldturn.replay.check.baseline import Baseline
from coldturn.replay.check.exemptions import Exempted
from coldturn.replay.check.measured import RECORDED

SCHEMA = "coldturn.check/1"


class Kind(StrEnum):
    """What is wrong."""

    NEW_BREAK = "new_break"
    PLANNED_RULE = "planned_rule"
    HIT_RATE = "hit_rate"
    ZONE_LINT = "zone_lint"
    STALE_EXEMPTION = "stale_exemption"
    NOTHING_CHECKED = "nothing_checked"


OF_RECORDINGS = frozenset({Kind.NEW_BREAK, Kind.PLANNED_RULE, Kind.ZONE_LINT, Kind.HIT_RATE})
"""Kinds that one recording alone shows."""
OF_PROMPTS = OF_RECORDINGS - {Kind.HIT_RATE}
"""Those of them that a part of a recording shows as well."""


class Mend(StrEnum):
    """The four words for every change of a baseline."""

    CREATE = "create"
    """Recordings new to it."""
    FIX = "fix"
    """A changed break, lint or rate of a recording that it knows."""
    TRIM = "trim"
    """Entries, accepted breaks and exemptions that are gone."""
    UPDATE = "update"
    """A changed prompt."""

    @property
    def option(self) -> str:
        """As the command line spells it."""
        return f"--{self.value}"


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One thing that fails the gate.

    Attributes:
        source: The recording as the user named it; None when it is none in particular.
        mend: The word that accepts it, or in a few words what to do where no word does.
    """

    kind: Kind
    source: str | None
    request: int | None
    cause: str | None
    zone: str | None
    path: str | None
    message: str
    mend: Mend | str
    policy: str | None = None

    @property
    def how(self) -> str:
        """The option that accepts it, or what to do."""
        return self.mend.option if isinstance(self.mend, Mend) else self.mend

    def as_json(self) -> dict[str, Any]:
        """The published shape."""
        return {**asdict(self), "mend": self.how}


@dataclass(frozen=True, slots=True)
class Cold:
    """A prompt that changed: its next use is written anew, once.

    Attributes:
        bytes: Content bytes of tools and system text behind what stayed the same.
    """

    source: str
    bytes: int
    policy: str

    @property
    def under(self) -> str:
        """The policy in words, where it is one."""
        return "" if self.policy == RECORDED else f" under {self.policy}"


def cold_sentences(changed: Sequence[Cold]) -> Iterator[str]:
    """What changed prompts mean, those that cost the same in one sentence."""
    groups: dict[tuple[int, str], list[str]] = {}
    for one in changed:
        groups.setdefault((one.bytes, one.under), []).append(one.source)
    for (size, under), sources in groups.items():
        yield (
            f"cold on deploy: {size:,} bytes; the prompt of {some(sources)}{under} changed since the baseline"
        )


@dataclass(frozen=True, slots=True)
class Accepted:
    """A change of the baseline that was asked for."""

    source: str
    policy: str
    mend: Mend


def accepted_by_mend(changes: Sequence[Accepted]) -> Iterator[tuple[Mend, str]]:
    """Each word with what it accepted, in a few names."""
    groups: dict[Mend, list[str]] = {}
    for one in changes:
        name = one.source if one.policy == RECORDED else f"{one.source} under {one.policy}"
        groups.setdefault(one.mend, []).append(name)
    for mend, names in groups.items():
        yield mend, some(names)


@dataclass(slots=True)
class Notes:
    """What a person should know and that fails nothing: names of recordings.

    Attributes:
        new: Not in the baseline.
        gone: In the baseline, and their file is gone.
        slack: The baseline accepts more of them than there is now.
    """

    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    slack: list[str] = field(default_factory=list)

    def sentences(self, spelled: Callable[[Mend], str] = lambda mend: mend.option) -> Iterator[str]:
        """One for each kind.

        Args:
            spelled: How a word is given where the reader is.
        """
        create, trim = spelled(Mend.CREATE), spelled(Mend.TRIM)
        if self.new:
            yield f"not in the baseline: {some(self.new)}; {create} takes them in"
        if self.gone:
            yield f"in the baseline, but gone: {some(self.gone)}; {trim} takes them out"
        if self.slack:
            what = f"breaks or lints of {some(self.slack)}"
            yield f"accepted in the baseline, but mended since: {what}; {trim} takes them out"


def some(names: Sequence[str]) -> str:
    """A few of many names, each once, and how many more there are."""
    unique = list(dict.fromkeys(names))
    more = len(unique) - 3
    return ", ".join(unique[:3]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of a gate.

    Attributes:
        looked_at: Source and policy of each recording; `requests` of all of them.
        known: Breaks that the baseline holds.
        notes: What a person should know and that fails nothing.
        baseline: What it becomes with the changes that were asked for.
    """

    findings: tuple[GateFinding, ...]
    exempted: tuple[Exempted, ...]
    cold: tuple[Cold, ...]
    accepted: tuple[Accepted, ...]
    notes: Notes
    baseline: Baseline
    looked_at: tuple[tuple[str, str], ...]
    requests: int
    known: int

    @property
    def ok(self) -> bool:
        """Whether the gate is passed."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """The published shape, all keys present; what could not be read is the caller's to add."""
        return {
            "schema": SCHEMA,
            "ok": self.ok,
            "findings": [finding.as_json() for finding in self.findings],
            "exempted": [asdict(one) for one in self.exempted],
            "cold_on_deploy": [asdict(one) for one in self.cold],
            "accepted": [asdict(one) for one in self.accepted],
        }
