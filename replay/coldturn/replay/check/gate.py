"""The gate as a whole: recordings are measured, judged, and the baseline written where that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from coldturn.replay.check.baseline import Baseline
from coldturn.replay.check.baseline_file import (
    State,
    need_baseline_place,
    read_baseline,
    state_of,
    write_baseline,
)
from coldturn.replay.check.errors import BaselineError
from coldturn.replay.check.exemptions import Exemptions
from coldturn.replay.check.judge import Judge, Rules, nothing_checked
from coldturn.replay.check.judged import Judged, Mend
from coldturn.replay.check.measured import Measured
from coldturn.replay.check.places import Places

PYPROJECT = Path("pyproject.toml")
NOTHING = "name recordings of model requests or of MCP sessions, or a folder of them"


@dataclass(slots=True)
class Gate:
    """One baseline with its exemptions, opened.

    Attributes:
        path: The baseline's file.
        places: Names of its recordings.
        existed: Whether there was a baseline.
        state: What tells whether the file was changed since.
    """

    path: Path
    places: Places
    baseline: Baseline
    existed: bool
    state: State = None
    settings: Path | None = None
    rules: Rules = field(default_factory=Rules)

    @classmethod
    def open(cls, path: Path, rules: Rules | None = None, settings: Path | None = PYPROJECT) -> Gate:
        """Read a baseline.

        Args:
            path: Its file, which need not exist.
            rules: How to judge.
            settings: A pyproject.toml that may hold exemptions too.

        Raises:
            BaselineError: It cannot be used.
            BaselineUnwritableError: It is to be made, and cannot be.
            ExemptionError: An exemption in it says too little.
        """
        state = state_of(path)
        found = read_baseline(path)
        places = Places.beside(path)
        baseline = found or Baseline()
        # Read once here, so that a wrong exemption is told before anything is measured.
        Exemptions.of(baseline, places, settings)
        gate = cls(path, places, baseline, found is not None, state, settings, rules or Rules())
        if gate.writes and not gate.existed:
            need_baseline_place(path)
        return gate

    @property
    def writes(self) -> bool:
        """Whether what is judged changes the file: asked for, and there is one or one may be made."""
        return bool(self.rules.accept) and (self.existed or Mend.CREATE in self.rules.accept)

    def judge(
        self,
        measured: Sequence[Measured],
        empty: Iterable[str] = (),
        moved: Mapping[str, str] = MappingProxyType({}),
        *,
        must: bool = True,
    ) -> Judged:
        """Judge all recordings that were looked at.

        Args:
            measured: What they show.
            empty: Names in the baseline of recordings that were looked at and hold nothing to check.
            moved: Why recordings may move their prefix, by their names in the baseline.
            must: Whether it is a finding that nothing was looked at.
        """
        judge = self.judge_part(measured, moved)
        known = {source for source, _ in self.baseline.known()}
        seen = {one.key for one in measured}
        for key in empty:
            if key in known - seen and not judge.forget(key):
                message = f"{key} holds no request any more, and the baseline knows it"
                judge.findings.append(nothing_checked(key, message, Mend.TRIM))
        if must and not measured:
            message = "nothing was looked at: the inputs hold no request to a model"
            judge.findings.append(nothing_checked(None, message, NOTHING))
        return judge.result(measured, self.places)

    def judge_part(
        self, measured: Sequence[Measured], moved: Mapping[str, str] = MappingProxyType({})
    ) -> Judge:
        """Judge some recordings of many: what only all of them together can tell is left out."""
        exemptions = Exemptions.of(self.baseline, self.places, self.settings)
        judge = Judge(self.baseline, exemptions, self.rules, moved)
        for one in sorted(measured, key=lambda each: each.id):
            judge.look_at(one)
        return judge

    def write(self, judged: Judged) -> bool:
        """Write the baseline as judging left it, where changes of it were asked for.

        Returns:
            Whether the file changed.

        Raises:
            BaselineError: Somebody else changed it since it was read.
            BaselineUnwritableError: It cannot be written.
        """
        if not self.writes:
            return False
        if state_of(self.path) != self.state:
            raise BaselineError(str(self.path), "it was changed while this ran; run the same again")
        return write_baseline(self.path, judged.baseline)
