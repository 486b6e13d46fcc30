"""`coldturn session`: the script of a recording as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coldturn.replay.cli.common import say, stdout
from coldturn.replay.cli.options import usage_error

_HELP = """The script of a recording: user turns, decisions, clock.

A file that can be edited; a replay takes it when it lies beside the recording.

Examples:
    coldturn session init session.jsonl
"""

session = typer.Typer(no_args_is_help=True, help=_HELP)


@session.callback()
def _session() -> None:
    """A program of commands, though it has one."""


@session.command("init")
def init(
    cassette: Annotated[
        Path, typer.Argument(metavar="CASSETTE", help="A recording: JSON lines, YAML or JSON.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="A *.session.toml; beside the recording by default."
        ),
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option("--idle", min=0, metavar="SECONDS", help="Calls alone: a gap that parts two turns; 60."),
    ] = None,
) -> None:
    """Write the session file that a recording implies: connections, user turns, decisions, clock.

    A replay of the file, as it is, is a replay of the recording alone. Edit it to try other decisions, to say
    which servers are deferred, or to give the agent its instructions. A file that is there is left alone.

    Examples:
        coldturn session init session.jsonl

        coldturn session init tests/cassettes/chat.yaml -o chat.session.toml
    """
    from coldturn.replay.sessions.implied import IDLE_SECONDS
    from coldturn.replay.sessions.loading import SESSION_SUFFIX
    from coldturn.replay.sessions.session_file import init_session, session_file_for

    if cassette.suffix == ".toml":
        raise usage_error(f"{cassette} is no recording: name the cassette that a session file is made from")
    target = out or session_file_for(cassette)
    if not target.name.endswith(SESSION_SUFFIX):
        raise usage_error(f"{target} would not be found as a session file: end it in {SESSION_SUFFIX}")
    made = init_session(cassette, target, idle_seconds=IDLE_SECONDS if idle is None else idle)
    calls = sum(len(step.calls) for turn in made.turns for step in turn.steps)
    say(f"{len(made.turns)} turns, {calls} calls, {len(made.spec.connections)} servers")
    stdout().print(str(target))
