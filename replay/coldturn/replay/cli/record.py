"""`coldturn record`: record any agent, in any language."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coldturn.replay.cli.common import say
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.options import AllowSecrets, SecretEnv

if TYPE_CHECKING:
    from coldturn.replay.capture.steady import SteadyRecorder
    from coldturn.replay.capture.upstreams import Upstream

DEFAULT_PORT = 8484

_HELP = """Record any agent's traffic into a cassette.

The proxy takes what is reached by address, the shim what is started as a process.

Examples:
    coldturn record proxy --upstream https://api.anthropic.com --out s.jsonl

    coldturn record stdio --out s.jsonl --name time -- uvx mcp-server-time
"""

record = typer.Typer(no_args_is_help=True, help=_HELP)

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="The recording: .jsonl (or .yaml, .json).")]


@record.command("proxy")
def proxy(
    upstream: Annotated[
        list[str],
        typer.Option("--upstream", metavar="URL", help="A server; NAME=URL serves it at /NAME. Repeatable."),
    ],
    out: Out,
    label: Annotated[
        str,
        typer.Option("--label", metavar="NAME", help="What the recording calls the server without a name."),
    ] = "",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 takes any that is free.")
    ] = DEFAULT_PORT,
    append: Annotated[
        bool, typer.Option("--append", help="Add to a recording that is there, instead of refusing.")
    ] = False,
    secret_env: SecretEnv = None,
    allow_secrets: AllowSecrets = False,
) -> None:
    """Record what passes through a proxy on 127.0.0.1, until Ctrl-C.

    Point the agent at the address that is printed. Bodies pass unchanged; keys are kept out of the recording.

    Examples:
        coldturn record proxy --upstream https://api.anthropic.com --out s.jsonl

        coldturn record proxy --upstream docs=https://host/mcp --out s.jsonl
    """
    import anyio

    from coldturn.replay.capture.proxy import listen
    from coldturn.replay.capture.redaction import Redaction
    from coldturn.replay.capture.steady import SteadyRecorder
    from coldturn.replay.capture.upstreams import parse_upstreams

    _quiet()
    upstreams = parse_upstreams(upstream, label)
    redaction = Redaction.of_variables(secret_env or [], os.environ, shapes=not allow_secrets)
    lines = out.suffix.lower() == ".jsonl"
    listening = listen(port)
    recorder = SteadyRecorder(
        out,
        say,
        shared=lines and (append or not out.exists()),
        servers={one.url: one.label for one in upstreams if one.label},
        redaction=redaction,
    )
    with recorder:
        anyio.run(_serve, listening, recorder, upstreams)
    say(recorder.summary())
    raise typer.Exit(ExitCode.UNUSABLE if recorder.lost else ExitCode.FINE)


async def _serve(listening: socket.socket, recorder: SteadyRecorder, upstreams: Sequence[Upstream]) -> None:
    import anyio

    from coldturn.replay.capture.proxy import open_proxy

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with open_proxy(listening, recorder, upstreams, notice=say) as url:
            for one in upstreams:
                say(f"{url}{one.prefix} stands for {one.url}")
            say(f"recording into {recorder.path}; Ctrl-C ends it")
            async for _ in signals:
                return


@record.command("stdio", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def stdio(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="The server's command.")],
    out: Out,
    name: Annotated[
        str,
        typer.Option("--name", metavar="NAME", help="What the recording calls it; the program's by default."),
    ] = "",
    secret_env: SecretEnv = None,
    allow_secrets: AllowSecrets = False,
) -> None:
    """Stand in for a stdio MCP server: start it, pass everything on unchanged, and record it.

    An MCP host is told to start this instead of the server. Adds to FILE when it is there, so that all
    servers of a session, and the proxy, can share one recording.

    Examples:
        coldturn record stdio --out s.jsonl --name time -- uvx mcp-server-time
    """
    from coldturn.reference.prefix.errors import ColdturnError
    from coldturn.replay.capture.shim import run_shim, server_name, start_server

    called = name or server_name(command)
    server = start_server(command, called)
    _quiet()
    try:
        from coldturn.replay.capture.redaction import Redaction
        from coldturn.replay.capture.stdio_tape import StdioTape
        from coldturn.replay.capture.steady import SteadyRecorder

        redaction = Redaction.of_variables(secret_env or [], os.environ, shapes=not allow_secrets)
        recorder = SteadyRecorder(out, say, shared=True, redaction=redaction)
    except ColdturnError:
        server.kill()
        raise
    with recorder:
        code = run_shim(server, StdioTape(called, recorder), say)
    if recorder.lost or recorder.redaction.counts:
        say(recorder.summary())
    raise typer.Exit(code)


def _quiet() -> None:
    """What libraries log is no news here; what was masked is told at the end."""
    logging.getLogger().addHandler(logging.NullHandler())
