"""`coldturn replay`: recorded sessions through the reference runtime."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from coldturn.analysis.breaks.pair import PairOptions
from coldturn.reference.policy import Policy
from coldturn.replay.cli.bar import bar
from coldturn.replay.cli.common import print_json, say, stdout
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import STANDARD_INPUT, expand
from coldturn.replay.cli.options import Context, Json, NoContent, usage_error
from coldturn.replay.errors import NothingToReplayError
from coldturn.replay.runs.ablation import ablation_policies, with_ablation
from coldturn.replay.runs.policies import file_name, policy_named, with_settings
from coldturn.replay.runs.report import (
    ablation_table,
    comparison_table,
    connection_lines,
    leftover_lines,
    playback_line,
    step_lines,
    summary_line,
)
from coldturn.replay.runs.results import RecordingResult, ReplayReport
from coldturn.replay.runs.runner import ReplayOptions
from coldturn.replay.runs.runner import replay as replay_all
from coldturn.replay.sessions.implied import IDLE_SECONDS
from coldturn.traces.errors import NumbersOnlyError, UnrecognisedInputError, UnsupportedFormatError

_OTHER_KINDS = frozenset(
    {
        UnrecognisedInputError.slug,
        UnsupportedFormatError.slug,
        NumbersOnlyError.slug,
        NothingToReplayError.slug,
    }
)

Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Write each replay's spans there as JSON lines.")
]


def replay(  # noqa: PLR0913, PLR0917 - a command's options are its parameters
    recordings: Annotated[
        list[str],
        typer.Argument(metavar="RECORDING", help="A cassette, a *.session.toml, a folder or a glob."),
    ],
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="P", help="A policy's name or TOML file; stable by default."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the policy.")
    ] = None,
    compare: Annotated[
        str | None, typer.Option("--compare", metavar="P,P", help="Replay under each and print one table.")
    ] = None,
    ablate: Annotated[
        bool,
        typer.Option("--ablate", help="Make each choice of the policy otherwise, alone: what each is worth."),
    ] = False,
    out: Out = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=0, metavar="N", help="Processes to use; 0: one for each processor.")
    ] = 1,
    idle: Annotated[
        float,
        typer.Option("--idle", min=0, metavar="SECONDS", help="Calls alone: a gap that parts two turns."),
    ] = IDLE_SECONDS,
    context: Context = 80,
    json: Json = False,
    no_content: NoContent = False,
) -> None:
    """Replay recorded MCP sessions: the real client, recorded servers and decisions, any policy.

    Prints a line per request: bytes, common prefix, break or none, and what a cache could have served.

    Examples:
        coldturn replay session.jsonl

        coldturn replay session.jsonl --compare naive,stable

        coldturn replay session.jsonl --set clock=system --out traces/

        coldturn replay recordings/ --ablate --jobs 4
    """
    policies = policies_of(policy, set_ or [], compare, ablate=ablate)
    findings = PairOptions(content=not no_content, context=context)
    options = ReplayOptions(out=out, findings=findings, idle_seconds=idle)
    # A recorded answer that the MCP client cannot read becomes a tool error; its log of that is no news here.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    inputs = list(expand(recordings))
    if STANDARD_INPUT in recordings:
        raise usage_error("replay reads files: name a cassette or a session file, not -")
    with bar("replays", len(inputs) * len(policies)) as step:
        report = replay_all(
            [one.name for one in inputs], policies, options, jobs=jobs or os.cpu_count() or 1, progress=step
        )
    if ablate:
        report.recordings = [with_ablation(one, policies[0]) for one in report.recordings]
    _print(report, as_json=json, compared=compare is not None)
    raise typer.Exit(replay_code(report, {one.name for one in inputs if one.found}))


def replay_code(report: ReplayReport, found: set[str]) -> ExitCode:
    """What could not be replayed fails, except a file of another kind that a folder happened to hold."""
    # An entry alone has no slug: the rest of its recording was replayed.
    slugs = [(error.slug, error.source) for error in report.errors if error.slug is not None]
    failed = {slug for slug, source in slugs if source not in found or slug not in _OTHER_KINDS}
    if not failed and report.recordings:
        return ExitCode.FINE
    failed = failed or {slug for slug, _ in slugs}
    return ExitCode.CANNOT_EVALUATE if failed == {NumbersOnlyError.slug} else ExitCode.UNUSABLE


def _print(report: ReplayReport, *, as_json: bool, compared: bool) -> None:
    if as_json:
        print_json(report.as_json())
    else:
        for recording in report.recordings:
            stdout().print("\n".join(_text(recording, compared=compared)))
    for recording in report.recordings:
        for note in dict.fromkeys([*recording.notes, *(n for p in recording.policies for n in p.notes)]):
            say(f"{recording.source}: {note}")
    for error in report.errors:
        place = "" if error.source in error.message else f"{error.source}: "
        say(f"{place}{error.message}" + (f" [{error.slug}]" if error.slug else ""))


def _text(recording: RecordingResult, *, compared: bool) -> list[str]:
    script = recording.session_file or "derived from the recording alone"
    lines = [recording.source, f"  script: {script}", *(f"  {line}" for line in connection_lines(recording))]
    if recording.unmapped_calls:
        lines.append(f"  calls of tools that belong to no recorded server: {recording.unmapped_calls}")
    if recording.ablation is not None:
        lines += ["", ablation_table(recording)]
    elif compared:
        lines += ["", comparison_table(recording.policies)]
    else:
        for result in recording.policies:
            lines += ["", *step_lines(result), "", summary_line(result)]
            lines += [playback_line(result), *leftover_lines(result)]
    traces = [result.trace for result in recording.policies if result.trace is not None]
    return [*lines, *(f"trace: {trace}" for trace in traces), ""]


def policies_of(
    policy: str | None, settings: Sequence[str], compare: str | None, *, ablate: bool
) -> list[Policy]:
    """The policies that the options name.

    Raises:
        UsageError: They exclude each other, or name nothing.
    """
    if compare is not None and (policy is not None or ablate):
        other = "--ablate" if ablate else "--policy"
        raise usage_error(f"{other} and --compare exclude each other: list every policy behind --compare")
    names = [policy or "stable"] if compare is None else [name for name in compare.split(",") if name]
    if not names:
        raise usage_error("--compare names no policy: write --compare naive,stable")
    policies = [with_settings(policy_named(name.strip()), settings) for name in names]
    if ablate:
        policies = ablation_policies(policies[0])
    files = Counter(file_name(one) for one in policies)
    if twice := [name for name, count in files.items() if count > 1]:
        raise usage_error(f"{twice[0]} is named twice: each policy needs a name of its own")
    return policies
