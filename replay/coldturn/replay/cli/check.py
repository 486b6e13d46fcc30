"""`coldturn check`: the gate that fails when a prompt's prefix breaks anew."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from coldturn.analysis.breaks.findings import ReadError
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.check.baseline import DEFAULT_NAME
from coldturn.replay.check.formats import github, junit
from coldturn.replay.check.gate import Gate
from coldturn.replay.check.judge import TOLERANCE, Rules
from coldturn.replay.check.judged import Judged, Mend, some
from coldturn.replay.check.measured import RECORDED, Measured
from coldturn.replay.check.places import STANDARD_INPUT
from coldturn.replay.check.recorded import Collector, real_errors
from coldturn.replay.cli.check_view import show
from coldturn.replay.cli.common import print_json, progress, read_all, say, stdout, tell
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import followed
from coldturn.replay.cli.options import Json, NoContent, Strict, usage_error
from coldturn.replay.cli.signs import shown, shown_line
from coldturn.replay.errors import NothingToReplayError
from coldturn.replay.runs.policies import policy_named
from coldturn.traces.errors import (
    NoRequestsError,
    NumbersOnlyError,
    UnrecognisedInputError,
    UnsupportedFormatError,
)

_SESSION_FILE = ".session.toml"
_OTHER_FILES = frozenset({UnrecognisedInputError.slug, UnsupportedFormatError.slug, NumbersOnlyError.slug})

_NO_SESSION = _OTHER_FILES | {NothingToReplayError.slug}


class Format(StrEnum):
    """How `check` reports."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    GITHUB = "github"


def check(  # noqa: PLR0913, PLR0917 - a command's options are its parameters
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="A file, a folder, a glob, or - for standard input."),
    ],
    baseline: Annotated[
        Path, typer.Option("--baseline", metavar="FILE", help="What has been looked at and accepted.")
    ] = Path(DEFAULT_NAME),
    create: Annotated[bool, typer.Option("--create", help="Take in recordings new to the baseline.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Accept changed breaks, lints and hit rates.")] = False,
    trim: Annotated[
        bool, typer.Option("--trim", help="Drop entries, accepted breaks and exemptions that are gone.")
    ] = False,
    update: Annotated[bool, typer.Option("--update", help="Accept changed prompts.")] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="P", help="Replay MCP sessions under this policy too. Repeatable."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance", min=0, max=1, metavar="SHARE", help="How far an estimated hit rate may fall."
        ),
    ] = TOLERANCE,
    lint: Annotated[
        bool, typer.Option("--lint/--no-lint", help="Look for clocks, ids and paths in stable text.")
    ] = True,
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format", metavar="FORMAT", help=f"How to report: {', '.join(Format)}; text by default."
        ),
    ] = None,
    json: Json = False,
    strict: Strict = False,
    no_content: NoContent = False,
) -> None:
    """Fail on what is new against a baseline: breaks, broken rules, falling hit rates, clocks in the prompt.

    A prompt that changed between commits is no break: it is told as cold on deploy, and passes.
    Exit 1 for findings; each names the option that accepts it.

    Examples:
        coldturn check recordings/ --create

        coldturn check recordings/ --baseline coldturn.lock.json --format github

        coldturn check session.jsonl --policy stable
    """
    if json and format_ not in {None, Format.JSON}:
        raise usage_error(f"--json and --format {format_.value} exclude each other: leave one out")
    asked = {Mend.CREATE: create, Mend.FIX: fix, Mend.TRIM: trim, Mend.UPDATE: update}
    rules = Rules(accept=frozenset(mend for mend, given in asked.items() if given), tolerance=tolerance)
    gate = Gate.open(baseline, rules)
    run = _Run(gate, Collector(gate.places, content=not no_content, lint=lint))
    judged = run.judge(inputs, [_policy(name) for name in policy or []])
    _print(judged, run, Format.JSON if json else format_ or Format.TEXT)
    if judged.looked_at and not gate.existed and Mend.CREATE not in rules.accept:
        say(f"there is no {baseline} yet, so everything is new; --create makes one")
    if gate.write(judged) and os.environ.get("CI"):
        say(f"{baseline} was rewritten, and this is CI: a run that accepts what it finds gates nothing")
    raise typer.Exit(_code(judged, run, strict=strict))


def _policy(name: str) -> Policy:
    found = policy_named(name)
    if found.name == RECORDED:
        raise usage_error(f"--policy {name}: {RECORDED} stands for requests as they are; name it otherwise")
    return found


class _Run:
    """One run: what was read and replayed, and what could not be.

    Attributes:
        reading: The exit code that reading alone leads to.
        others: Files of other kinds that a folder or a pattern happened to hold.
    """

    def __init__(self, gate: Gate, collector: Collector) -> None:
        self._gate = gate
        self._collector = collector
        self.reading = ExitCode.FINE
        self.errors: list[ReadError] = []
        self.others: list[ReadError] = []
        self._named: frozenset[str] = frozenset()

    def judge(self, inputs: Sequence[str], policies: Sequence[Policy]) -> Judged:
        """Look at the inputs, under each policy too."""
        self._named = frozenset(inputs)
        sessions = [name for name in inputs if name.endswith(_SESSION_FILE)]
        self.reading = read_all(self._collector, [name for name in inputs if name not in sessions], None)
        found = self._collector.found
        recorded = {one.source for one in found}
        empty = {error.source for error in self._collector.errors} - recorded
        replayed = list(self._replayed([*sessions, *self._collector.sessions], policies, recorded))
        own = self._gate.path.resolve()
        read = [one for one in self._collector.errors if followed(Path(one.source)) != own]
        self.others += [one for one in read if one.slug in _OTHER_FILES and one.source not in self._named]
        self.errors = [*(one for one in real_errors(read) if one not in self.others), *self.errors]
        self._tell_unused(recorded | {one.source for one in replayed})
        failed = {error.source for error in self.errors}
        keys = [self._gate.places.key(source) for source in sorted(empty - failed)]
        return self._gate.judge([*found, *replayed], keys)

    def _tell_unused(self, used: set[str]) -> None:
        """Tell of inputs that hold nothing to check; those that were found rather than named in one line."""
        empty = [one for one in self._collector.errors if one.slug == NoRequestsError.slug]
        unused = [one for one in empty if one.source not in used]
        tell(one for one in unused if one.source in self._named)
        found = [one.source for one in (*unused, *self.others) if one.source not in self._named]
        if found:
            say(f"nothing that the gate looks at: {some(found)}")

    def _replayed(
        self, sources: Sequence[str], policies: Sequence[Policy], recorded: set[str]
    ) -> Iterator[Measured]:
        """Sessions under each policy; without any, those that hold no model requests under `stable`."""
        todo = [
            (source, policy)
            for source in dict.fromkeys(sources)
            if source != STANDARD_INPUT
            for policy in (policies or ([] if source in recorded else [policy_named("stable")]))
        ]
        if not todo:
            return
        from coldturn.replay.check.replayed import measure_replay

        # A recorded answer that the MCP client cannot read becomes a tool error; its log of that is no news.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        content, lint = self._collector.content, self._collector.lint
        with progress("replays") as ticker:
            for source, policy in todo:
                try:
                    yield measure_replay(source, policy, self._gate.places, content=content, lint=lint)
                except ColdturnError as error:
                    self._not_replayed(source, error, asked=bool(policies) and source in self._named)
                ticker.step()

    def _not_replayed(self, source: str, error: ColdturnError, *, asked: bool) -> None:
        """Note a session that cannot be replayed; one that nobody asked for by name may be something else."""
        found = ReadError(source, getattr(error, "entry", None), str(error), error.slug)
        if error.slug in _NO_SESSION and not asked:
            self.others.append(found)
            return
        self.errors.append(found)
        self.reading = ExitCode.UNUSABLE


def _print(judged: Judged, run: _Run, how: Format) -> None:
    if how is Format.JSON:
        errors = [error.as_json() for error in (*run.errors, *run.others)]
        print_json({**judged.as_json(), "errors": errors})
    elif how is Format.JUNIT:
        typer.echo(shown(junit(judged, run.errors)), nl=False)
    elif how is Format.GITHUB:
        for line in github(judged, run.errors):
            typer.echo(shown_line(line))
    else:
        show(judged, stdout())
    tell(run.errors)
    for note in judged.notes.sentences():
        say(note)


def _code(judged: Judged, run: _Run, *, strict: bool) -> ExitCode:
    if run.reading is not ExitCode.FINE:
        return run.reading
    if strict and run.errors:
        return ExitCode.UNUSABLE
    return ExitCode.FINE if judged.ok else ExitCode.FINDING
