"""What the plugin does while pytest runs; registered only where the gate is on."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.pytest_plugin.played import Played
from coldturn.replay.pytest_plugin.used import played_of, recordings_of
from coldturn.replay.pytest_plugin.words import CHECK, WRITING, in_ci

if TYPE_CHECKING:
    from coldturn.replay.check.measured import Measured
    from coldturn.replay.pytest_plugin.session import GateSession

MARK = "moves_prefix"
_OUTPUT = "coldturn"
_PASSED: pytest.StashKey[bool] = pytest.StashKey()
_FILES: pytest.StashKey[tuple[Path, ...]] = pytest.StashKey()
_PLAYED: pytest.StashKey[list[Played]] = pytest.StashKey()
_CHECKED: pytest.StashKey[bool] = pytest.StashKey()
_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class GateHooks:
    """Notes which recordings tests use, and checks them.

    Every process checks the recordings of its own tests right behind them. What concerns all of them together
    (the baseline's new content, exemptions, folders, the summary) is done once, by the process that started
    the others.
    """

    def __init__(self, config: pytest.Config, words: frozenset[str]) -> None:
        """Be ready; nothing is opened before the first recording.

        Args:
            config: Of this run.
            words: Those of the option; empty when only a fixture asks.
        """
        self._config = config
        self._words = words
        self._refused = sorted(words & set(WRITING)) if in_ci() else []
        self._session: GateSession | None = None
        self._late: dict[Path, str] = {}
        self._is_worker = hasattr(config, "workerinput")
        self._from_workers: list[str] = []
        self._problem: str | None = None

    @property
    def session(self) -> GateSession:
        """The recordings of this process, judged; opened when it is first asked for."""
        if self._session is None:
            from coldturn.replay.pytest_plugin.session import open_session

            writing = self._words & set(WRITING) if not self._refused else frozenset()
            try:
                self._session = open_session(self._config.rootpath, writing)
            except ColdturnError as error:
                pytest.fail(f"coldturn: {error}", pytrace=False)
        return self._session

    def pytest_report_header(self) -> str:
        """Say that the gate is on."""
        words = ", ".join(sorted(self._words))
        if self._refused:
            words = f"{CHECK} (this is CI, where nothing is rewritten: not {', '.join(self._refused)})"
        return f"coldturn: {words}"

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Refuse marks without a reason: their file counts as one that cannot be collected."""
        report = yield
        items = [item for item in report.result or () if isinstance(item, pytest.Item)]
        wrong = [item for item in items if any(_reason(mark) is None for mark in item.iter_markers(MARK))]
        if wrong:
            report.outcome = "failed"
            report.longrepr = "\n".join(_unreasoned(item) for item in wrong)
            report.result = []
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Note the recording that a fixture opened, and what a test sends to it."""
        value = yield
        if isinstance(request.node, pytest.Item) and (played := played_of(value)) is not None:
            request.node.stash.setdefault(_PLAYED, []).append(played)
        for path in recordings_of(value, fixturedef, request):
            if isinstance(request.node, pytest.Item):
                request.node.stash[_FILES] = (*_files_of(request.node), path)
            else:
                # It is written when its scope ends, which may be behind many tests.
                self._late.setdefault(path, request.node.nodeid)
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note whether the test itself passed."""
        report = yield
        if call.when == "call":
            item.stash[_PASSED] = report.passed
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Check the recordings of a test once its fixtures have written them."""
        yield
        self._check(item)

    def _check(self, item: pytest.Item) -> None:
        mark = item.get_closest_marker(MARK)
        reason = None if mark is None else _reason(mark)
        files = list(dict.fromkeys(_files_of(item)))
        problems = list(self.session.check_test(item.nodeid, files, reason)) if files else []
        if not problems:
            problems = [*self._check_played(item, reason)]
        used = any(path.exists() for path in files) or item.stash.get(_CHECKED, False)
        if reason is not None and item.stash.get(_PASSED, False):
            moved = used and self.session.has_moved(item.nodeid)
            problems += [] if moved else [_stale(item, used=used)]
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)

    def _check_played(self, item: pytest.Item, reason: str | None) -> Iterator[str]:
        """Check what the test sent where its cassettes hold something else."""
        for played in item.stash.get(_PLAYED, []):
            sent = list(played.exchanges())
            if sent:
                yield from self.session.check_sent(item.nodeid, played.path, sent, reason)

    def check_now(self, item: pytest.Item, source: Path, policy: str | None) -> Measured:
        """Check a recording inside a test.

        Returns:
            What it shows.
        """
        mark = item.get_closest_marker(MARK)
        reason = None if mark is None else _reason(mark)
        if mark is not None and reason is None:
            pytest.fail(_unreasoned(item), pytrace=False)
        item.stash[_CHECKED] = True
        path = self._config.rootpath / source
        measured, problems = self.session.check_file(item.nodeid, path, policy, reason)
        if measured is None or problems:
            pytest.fail("\n".join(problems), pytrace=False)
        return measured

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - pytest-xdist's, which need not be there
        """Take what a worker has looked at."""
        output = getattr(node, "workeroutput", None) or {}
        if _OUTPUT in output:
            self._from_workers.append(output[_OUTPUT])

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Look at what is left, judge everything together, and write the baseline where that is asked for."""
        if self._is_worker:
            if self._session is not None or self._late:
                self._look_at_late()
                self._config.workeroutput[_OUTPUT] = self.session.packed()  # type: ignore[attr-defined]
            return
        if exitstatus not in _ENDED or self._config.option.collectonly:
            return
        paths = self._config.getini("coldturn_paths")
        if self._session is None and not (self._late or self._from_workers or paths):
            return
        if not self._finish(paths):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _finish(self, paths: Sequence[str]) -> bool:
        try:
            self._look_at_late()
            for text in self._from_workers:
                self.session.take(text)
            return self.session.finish(paths)
        except ColdturnError as error:
            self._problem = f"coldturn: {error}"
        except pytest.fail.Exception as failure:
            self._problem = str(failure)
        return False

    def _look_at_late(self) -> None:
        for path, test in self._late.items():
            self.session.note_use(test, path)
        self._late.clear()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was looked at, and of each finding cause, place and mend."""
        from coldturn.replay.cli.signs import shown

        for line in self._summary():
            terminalreporter.write_line(shown(line))

    def _summary(self) -> Iterator[str]:
        if self._problem is not None:
            yield self._problem
        if self._session is None or self._session.judged is None:
            return
        from coldturn.replay.pytest_plugin.summary import summary_lines

        yield from summary_lines(self._session)


def _files_of(item: pytest.Item) -> tuple[Path, ...]:
    return item.stash[_FILES] if _FILES in item.stash else ()  # noqa: SIM401 - its `get` types no empty tuple


def _reason(mark: pytest.Mark) -> str | None:
    """Why a test moves its prefix; None when the mark does not say so, or says more."""
    reason = mark.kwargs.get("reason")
    if mark.args or mark.kwargs.keys() - {"reason"} or not isinstance(reason, str) or not reason.strip():
        return None
    return reason


def _unreasoned(item: pytest.Item) -> str:
    return f'{item.nodeid}: write @pytest.mark.{MARK}(reason="...") and say why its prefix may move'


def _stale(item: pytest.Item, *, used: bool) -> str:
    why = "no prefix broke in its recordings" if used else "it used no recording"
    return f"coldturn: the mark {MARK} on {item.name} is stale: {why}; take the mark away"
