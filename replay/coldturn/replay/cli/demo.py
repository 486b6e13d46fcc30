"""`coldturn demo`: the main job on the recording that ships with the package."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from shutil import which
from textwrap import fill
from typing import Annotated

import typer

from coldturn.analysis.report.page import need_report_place, write_report
from coldturn.replay.cli.common import print_json, say, stdout
from coldturn.replay.cli.options import Json
from coldturn.replay.runs.demo import BEST, DEMO_POLICIES, KEPT, LABEL, ablate_demo, replay_demo, told
from coldturn.replay.runs.page import page_data
from coldturn.replay.runs.report import ablation_table, comparison_table, connection_lines, playback_line
from coldturn.replay.runs.results import RecordingResult, ReplayReport
from coldturn.replay.runs.runner import requests_file

PAGE = "report.html"
_WIDTH = 100


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where traces go, a file per policy.")
    ] = Path("coldturn-demo"),
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Instead: what each choice of the policy stable is worth.")
    ] = False,
    json: Json = False,
) -> None:
    """Replay the recording that ships with coldturn under four policies, and compare them.

    An agent reviews a small repository with five MCP servers, one of 235 tools. Nothing is spawned and no
    network is used: servers answer as recorded. DIR gets a trace per policy, one policy's requests, and
    a page that shows them.

    Examples:
        coldturn demo

        coldturn demo --ablate

        coldturn demo --out traces/ --json
    """
    if not ablate:
        need_report_place(out / PAGE)
    under = f"{BEST} and its variants" if ablate else ", ".join(DEMO_POLICIES)
    say(f"replaying the recording that ships with coldturn under {under}")
    result = ablate_demo(out) if ablate else replay_demo(out)
    if not ablate:
        _write_page(result, out)
    if json:
        print_json(ReplayReport([result]).as_json())
    else:
        stdout().print("\n".join(_text(result, out)))


def _write_page(result: RecordingResult, out: Path) -> None:
    write_report(page_data(ReplayReport([result])), out / PAGE, "The recording that ships with coldturn")


def _text(result: RecordingResult, out: Path) -> list[str]:
    first = result.policies[0]
    return [
        f"A recorded session of {first.turns} turns with {len(result.connections)} MCP servers:",
        *(f"  {line}" for line in connection_lines(result)),
        "",
        *(_compared(result) if result.ablation is None else [ablation_table(result)]),
        "",
        "Traces:",
        *(f"  {policy.trace}" for policy in result.policies),
        *(["", "Next:", *_next_commands(out)] if result.ablation is None else []),
    ]


def _compared(result: RecordingResult) -> list[str]:
    return [
        comparison_table(result.policies),
        "",
        *(f"{_wrapped(sentence)}\n" for sentence in told(result)),
        *_played(result),
    ]


def _played(result: RecordingResult) -> list[str]:
    if any(policy.playback.unplayed for policy in result.policies):
        return [f"{policy.policy}: {playback_line(policy)}" for policy in result.policies]
    return [f"Each policy played all {result.policies[0].playback.played} recorded MCP exchanges."]


def _wrapped(sentence: str) -> str:
    return fill(sentence, _WIDTH, break_on_hyphens=False)


def _next_commands(out: Path) -> list[str]:
    requests, traces = quote(str(requests_file(out, LABEL, KEPT))), quote(str(out))
    return [
        f"  {out / PAGE}    # the same as a page: open it in a browser",
        f"  {_typed('coldturn')} explain {requests}    # each break of {KEPT}: was and now",
        f"  {_typed('coldturn')} notebook policy {traces}    # requests as bars, policy by policy",
    ]


def _typed(program: str) -> str:
    """How to call a program: by name where the shell finds it, else where this environment keeps it."""
    beside = Path(sys.executable).with_name(program)
    if which(program) or not beside.exists():
        return program
    here = Path.cwd()
    return quote(str(beside.relative_to(here) if beside.is_relative_to(here) else beside))
