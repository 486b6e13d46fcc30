"""The gate of one process: what its tests used, judged test by test and, at the end, as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.check.baseline import DEFAULT_NAME
from coldturn.replay.check.gate import Gate
from coldturn.replay.check.judge import TOLERANCE, Rules
from coldturn.replay.check.judged import OF_PROMPTS, OF_RECORDINGS, GateFinding, Judged, Mend
from coldturn.replay.check.measured import Measured
from coldturn.replay.check.settings import GateSettings
from coldturn.replay.cli.inputs import expand, followed
from coldturn.replay.pytest_plugin.recordings import Looked, Recordings, Use, packed, unpacked
from coldturn.replay.pytest_plugin.summary import finding_lines
from coldturn.traces.exchange import EntryError, Exchange


def open_session(root: Path, words: frozenset[str]) -> GateSession:
    """Open the gate of a project.

    Args:
        root: pytest's root folder; the project's pyproject.toml stands there.
        words: Changes of the baseline that are asked for.
    """
    settings = root / "pyproject.toml"
    told = GateSettings.of(settings)
    tolerance = TOLERANCE if told.tolerance is None else told.tolerance
    rules = Rules(accept=frozenset(Mend(word) for word in words), tolerance=tolerance)
    gate = Gate.open(root / (told.baseline or DEFAULT_NAME), rules, settings)
    return GateSession(gate, Recordings(root, gate.places, told.lint))


@dataclass(slots=True)
class GateSession:
    """Everything that was looked at in this process.

    Attributes:
        judged: The whole, once it is judged.
        unread: Sentences on recordings that could not be read.
        sent: Findings of this process in what tests sent, where cassettes hold something else.
    """

    gate: Gate
    recordings: Recordings
    uses: list[Use] = field(default_factory=list)
    judged: Judged | None = None
    unread: list[str] = field(default_factory=list)
    sent: int = 0
    wrote: bool = False
    _moved: set[str] = field(default_factory=set)

    def check_test(self, test: str, files: Sequence[Path], reason: str | None) -> Iterator[str]:
        """Check the recordings that a test used.

        Args:
            test: Its node id.
            files: The recordings.
            reason: Why it moves their prefix, if it says so.

        Yields:
            What is wrong, for people.
        """
        for path in files:
            looked = self.note_use(test, path, reason, told=True)
            if looked is not None:
                yield from self._problems(test, looked, reason)

    def check_file(
        self, test: str, path: Path, policy: str | None, reason: str | None
    ) -> tuple[Measured | None, list[str]]:
        """Check one recording, as it is or replayed.

        Returns:
            What it shows, and what is wrong with it.
        """
        try:
            looked = self.recordings.look_at(path) if policy is None else self._replayed(path, policy)
        except ColdturnError as error:
            return None, [f"coldturn: {error}"]
        if looked is None:
            return None, [
                f"coldturn: {self.recordings.name(path)}: there is no such file below the root folder"
            ]
        if looked.measured is None:
            why = looked.problem or f"{looked.source} holds no request to a model; give a policy to replay it"
            return None, [f"coldturn: {why}"]
        self.uses.append(Use(looked, test, reason, told=True))
        return looked.measured, list(self._problems(test, looked, reason))

    def _replayed(self, path: Path, policy: str) -> Looked:
        from coldturn.replay.check.replayed import measure_replay
        from coldturn.replay.runs.policies import policy_named

        name, places = self.recordings.name(path), self.gate.places
        found = measure_replay(str(path), policy_named(policy), places, name=name, lint=self.recordings.lint)
        return Looked(name, found.key, found)

    def _problems(self, test: str, looked: Looked, reason: str | None) -> Iterator[str]:
        if looked.measured is None:
            if self._is_known(looked.key):
                why = looked.problem or f"{looked.source} holds no request to a model any more"
                yield f"coldturn: {why}; the baseline knows it"
            return
        moved = {} if reason is None else {looked.key: reason}
        judge = self.gate.judge_part([looked.measured], moved)
        if reason is not None and judge.moved:
            self._moved.add(test)
        for finding in judge.findings:
            yield from finding_lines(finding)

    def check_sent(
        self, test: str, path: Path, sent: Sequence[Exchange | EntryError], reason: str | None
    ) -> Iterator[str]:
        """Check what a test sent where its cassette holds something else: a cassette answers all the same.

        What the baseline accepts of the recording is accepted here too. Hit rates are left to the cassette,
        since a test may send a part of it. The other arguments are those of `check_test`.

        Yields:
            What is wrong, for people.
        """
        measured = self.recordings.of_sent(path, sent)
        if measured is None:
            return
        # No word accepts it: what the baseline keeps is read from the cassette.
        gate = replace(self.gate, rules=replace(self.gate.rules, accept=frozenset()))
        judge = gate.judge_part([measured], {} if reason is None else {measured.key: reason})
        if reason is not None and judge.moved:
            self._moved.add(test)
        for finding in judge.findings:
            if finding.kind in OF_PROMPTS:
                self.sent += 1
                yield from finding_lines(finding, sent=True)

    def has_moved(self, test: str) -> bool:
        """Whether a recording of a test that may move its prefix did."""
        return test in self._moved

    def note_use(
        self, test: str, path: Path, reason: str | None = None, *, told: bool = False
    ) -> Looked | None:
        """Note that a test used a recording; None when there is no such file."""
        looked = self.recordings.look_at(path)
        if looked is not None:
            self.uses.append(Use(looked, test, reason, told))
        return looked

    def packed(self) -> str:
        """What was looked at here, for the process that started this one."""
        return packed(self.uses)

    def take(self, text: str) -> None:
        """Take what a worker looked at."""
        self.uses += unpacked(text)

    def finish(self, paths: Sequence[str]) -> bool:
        """Look at the settings' recordings, judge everything, and write the baseline where asked for.

        Args:
            paths: Recordings and folders of the settings, from the root folder.

        Returns:
            Whether the gate is passed.
        """
        failed = list(self._look_into(paths))
        measured: dict[tuple[str, str], Measured] = {}
        moved: dict[str, str] = {}
        empty: list[str] = []
        for use in self.uses:
            if use.looked.measured is not None:
                measured[use.looked.measured.id] = use.looked.measured
            elif use.looked.problem is None:
                empty.append(use.looked.key)
            else:
                self.unread.append(use.looked.problem)
            if use.reason is not None:
                moved[use.looked.key] = use.reason
        self.unread = [*failed, *dict.fromkeys(self.unread)]
        self.judged = self.gate.judge(list(measured.values()), dict.fromkeys(empty), moved, must=bool(paths))
        self.wrote = self.gate.write(self.judged)
        return self.judged.ok and not failed

    def _look_into(self, paths: Sequence[str]) -> Iterator[str]:
        """Look at what the settings name; yields what is wrong with a path itself."""
        for path in paths:
            try:
                for one in expand([str(self.recordings.root / path)]):
                    if followed(Path(one.name)) == followed(self.gate.path):
                        continue
                    if self.note_use("", Path(one.name)) is None:
                        yield f"{one.name}: coldturn_paths names it, and there is no such file"
            except ColdturnError as error:
                yield str(error)

    def tests_of(self, source: str | None) -> list[str]:
        """Node ids of the tests that used a recording."""
        return list(dict.fromkeys(use.test for use in self.uses if use.looked.source == source and use.test))

    def was_told(self, finding: GateFinding) -> bool:
        """Whether a finding stands in the report of a test that used the recording."""
        seen = (use.looked for use in self.uses if use.told and use.looked.measured is not None)
        return finding.kind in OF_RECORDINGS and any(
            one.source == finding.source
            and one.measured is not None
            and one.measured.policy == finding.policy
            for one in seen
        )

    def _is_known(self, key: str) -> bool:
        return any(source == key for source, _ in self.gate.baseline.known())
