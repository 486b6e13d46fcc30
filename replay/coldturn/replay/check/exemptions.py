"""Exemptions: what a person decided to live with, where it stands, and whether it is still needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coldturn.replay.check.baseline import Baseline, Exemption
from coldturn.replay.check.baseline_file import read_exemptions
from coldturn.replay.check.measured import Measured, SeenBreak, SeenLint
from coldturn.replay.check.places import Places
from coldturn.replay.check.settings import check_table

SETTING = "exemptions"
"""The key of ``[tool.coldturn.check]`` that holds them: an array of tables."""


@dataclass(slots=True)
class Standing:
    """An exemption with where it stands.

    Attributes:
        key: Its source as the baseline names recordings.
        in_baseline: It stands in the baseline, so that trimming can take it out; else in a settings file.
        used: Something was exempted by it.
    """

    exemption: Exemption
    key: str
    in_baseline: bool
    used: bool = False

    def covers(self, measured: Measured, found: SeenBreak | SeenLint) -> bool:
        """Whether it exempts what was found in a recording."""
        one = self.exemption
        return (
            self.key == measured.key
            and one.cause == found.cause
            and one.request in {None, found.request}
            and one.policy in {None, measured.policy}
        )

    def concerns(self, ids: Iterable[tuple[str, str]]) -> bool:
        """Whether one of the recordings that were looked at is its own."""
        return any(key == self.key and self.exemption.policy in {None, policy} for key, policy in ids)


@dataclass(frozen=True, slots=True)
class Exempted:
    """Something that was found and is exempted."""

    source: str
    request: int | None
    cause: str
    reason: str
    policy: str


@dataclass(slots=True)
class Exemptions:
    """All exemptions in force."""

    standing: list[Standing] = field(default_factory=list)
    exempted: list[Exempted] = field(default_factory=list)

    @classmethod
    def of(cls, baseline: Baseline, places: Places, settings: Path | None = None) -> Exemptions:
        """Those of a baseline and of a settings file.

        Args:
            baseline: The baseline.
            places: Names of its recordings.
            settings: A pyproject.toml; its paths start in its own folder.

        Raises:
            ExemptionError: One in the settings says too little.
        """
        standing = [Standing(one, one.source, in_baseline=True) for one in baseline.exemptions]
        if settings is not None:
            standing += [
                Standing(one, places.key(one.source, settings.parent), in_baseline=False)
                for one in _in_settings(settings)
            ]
        return cls(standing)

    def covers(self, measured: Measured, found: SeenBreak | SeenLint) -> bool:
        """Whether something is exempted; notes that it was, and marks every exemption that says so."""
        covering = [one for one in self.standing if one.covers(measured, found)]
        for one in covering:
            one.used = True
        if covering:
            self.note(measured, found, covering[0].exemption.reason)
        return bool(covering)

    def note(self, measured: Measured, found: SeenBreak | SeenLint, reason: str) -> None:
        """Note that something was found and is exempted."""
        exempted = Exempted(measured.source, found.request, found.cause, reason, measured.policy)
        self.exempted.append(exempted)

    def stale(self, measured: Sequence[Measured], places: Places) -> list[Standing]:
        """Those that exempt nothing though their recording was looked at, or whose recording is gone."""
        ids = [one.id for one in measured]
        return [
            one
            for one in self.standing
            if not one.used and (one.concerns(ids) or not places.is_there(one.key))
        ]


def _in_settings(path: Path) -> list[Exemption]:
    return read_exemptions(check_table(path).get(SETTING, []), path.name)
