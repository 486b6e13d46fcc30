"""`coldturn report`: one page with a map of every request's prefix."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.report.model import ReportData
from coldturn.analysis.report.page import need_report_place, write_report
from coldturn.analysis.report.recorded import RecordedView
from coldturn.analysis.report.replayed import SCHEMA, add_results
from coldturn.analysis.report.traced import add_trace
from coldturn.reference.policy import Policy
from coldturn.replay.cli.bar import bar
from coldturn.replay.cli.common import read_all, say, stdout, tell
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import STANDARD_INPUT, Input, expand
from coldturn.replay.cli.options import Context, Format, NoContent, Strict, usage_error
from coldturn.replay.cli.outputs import need_file
from coldturn.replay.cli.replay import policies_of, replay_code
from coldturn.replay.runs.ablation import with_ablation
from coldturn.replay.runs.page import page_data
from coldturn.replay.runs.runner import ReplayOptions, replay
from coldturn.traces.sniff import InputKind

_HEAD = 65_536
_RESULTS = re.compile(rb'^\s*\{\s*"schema"\s*:\s*"' + re.escape(SCHEMA.encode()) + rb'"')
_TRACE = re.compile(rb'^\s*\{\s*"resourceSpans".*"coldturn\.schema\.version"', re.DOTALL)


def report(  # noqa: PLR0913, PLR0917 - a command's options are its parameters
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Recordings as for explain, traces of ours, or what replay --json printed.",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Where the page goes.")] = Path(
        "report.html"
    ),
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="P", help="Replay the inputs under this policy, and show that."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the policy.")
    ] = None,
    compare: Annotated[
        str | None, typer.Option("--compare", metavar="P,P", help="Replay under each, and compare them.")
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Replay with each choice of the policy made otherwise, alone.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option("--jobs", min=0, metavar="N", help="Processes to replay with; 0: one per processor."),
    ] = 1,
    title: Annotated[str | None, typer.Option("--title", help="What the page is called.")] = None,
    context: Context = 160,
    strict: Strict = False,
    no_content: NoContent = False,
    format_: Format = None,
) -> None:
    """Write one self-contained page: hit rates, a map of every request's prefix, each break with its remedy.

    It needs no network and no server: open it in a browser, attach it to an issue, keep it beside a build.

    Examples:
        coldturn report requests.jsonl -o report.html

        coldturn report cassettes/ traces/ -o report.html --no-content

        coldturn report session.jsonl --compare naive,stable -o report.html

        coldturn report session.jsonl --ablate --jobs 4 -o report.html
    """
    need_file(out, "-o", inputs)
    need_report_place(out)
    findings = PairOptions(content=not no_content, context=context)
    if policy is not None or compare is not None or ablate or set_:
        policies = policies_of(policy, set_ or [], compare, ablate=ablate)
        data, code = _replayed(inputs, policies, findings, ablate=ablate, jobs=jobs)
    else:
        data, code = _read(inputs, findings, format_)
    tell(data.errors)
    if not data.requests:
        say(f"no request to show: {out} was not written")
        raise typer.Exit(code or ExitCode.UNUSABLE)
    write_report(data, out, title or _title(inputs))
    stdout().print(f"{out}: {_count(data.requests, 'request')} in {_count(len(data.views), 'view')}")
    raise typer.Exit(code or (ExitCode.UNUSABLE if strict and data.errors else ExitCode.FINE))


def _read(inputs: list[str], findings: PairOptions, kind: InputKind | None) -> tuple[ReportData, ExitCode]:
    """Read recordings, and files of ours by themselves."""
    data = ReportData(content=findings.content)
    recorded = RecordedView(data, findings)
    code = read_all(recorded, inputs, kind, first=lambda one: _take_ours(data, one))
    recorded.close()
    return data, code


def _take_ours(data: ReportData, one: Input) -> bool:
    """Take a trace, or results of a replay; False when it is something else."""
    if not isinstance(one.source, Path):
        return False
    try:
        with one.source.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        # The readers say better what is wrong with it.
        return False
    if _RESULTS.match(head):
        add_results(data, one.source.read_bytes(), one.name)
    elif _TRACE.match(head):
        add_trace(data, one.source, source=one.name)
    else:
        return False
    return True


def _replayed(
    inputs: list[str], policies: Sequence[Policy], findings: PairOptions, *, ablate: bool, jobs: int
) -> tuple[ReportData, ExitCode]:
    """Replay the inputs, and show the replays. Their traces are made only for this."""
    if STANDARD_INPUT in inputs:
        raise usage_error("a replay reads files: name a cassette or a session file, not -")
    # A recorded answer that the MCP client cannot read becomes a tool error; its log of that is no news here.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    files = list(expand(inputs))
    with TemporaryDirectory() as folder, bar("replays", len(files) * len(policies)) as step:
        options = ReplayOptions(out=Path(folder), findings=findings)
        names = [one.name for one in files]
        done = replay(names, policies, options, jobs=jobs or os.cpu_count() or 1, progress=step)
        if ablate:
            done.recordings = [with_ablation(one, policies[0]) for one in done.recordings]
        data = page_data(done, content=findings.content)
    return data, replay_code(done, {one.name for one in files if one.found})


def _title(inputs: Sequence[str]) -> str:
    """The names of the first inputs."""
    names = ["standard input" if one == STANDARD_INPUT else Path(one).name or one for one in inputs]
    more = len(names) - 2
    return ", ".join(names[:2]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
