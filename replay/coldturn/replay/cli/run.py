"""`coldturn run`: the reference agent, live in the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from anyio.from_thread import BlockingPortal, start_blocking_portal

from coldturn.reference.observer import Observer
from coldturn.reference.publish import publish
from coldturn.replay.cli.common import say
from coldturn.replay.cli.exit_codes import INTERRUPTED, ExitCode
from coldturn.replay.live.agent_file import AgentFile, policy_of, read_agent_file
from coldturn.replay.live.session import LiveAgent, LiveOptions, open_live
from coldturn.replay.live.view import LiveView
from coldturn.replay.runs.policies import policy_named, with_settings

_PROMPT = "> "


def run(
    agent: Annotated[Path, typer.Argument(metavar="AGENT.TOML", help="The agent: its spec, and its policy.")],
    message: Annotated[
        str | None,
        typer.Option("--message", metavar="TEXT", help="Take one turn with this message and exit."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record all traffic into a new cassette.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="P", help="A policy's name or TOML file; the agent's by default."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the policy.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Add every turn's spans to this file.")
    ] = None,
) -> None:
    """Run the reference agent against a real model and real MCP servers.

    OPENAI_BASE_URL and OPENAI_API_KEY, or ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY, say where the model is.
    Ctrl-D ends the conversation, Ctrl-C stops a turn.

    Examples:
        coldturn run agent.toml

        coldturn run agent.toml --message "What changed in this repository?"

        coldturn run agent.toml --record session.jsonl
    """
    read = read_agent_file(agent)
    chosen = policy_named(policy) if policy is not None else policy_of(read, agent)
    published = publish(read.spec, with_settings(chosen, set_ or []))
    options = LiveOptions(published.policy, record, trace)
    with _opened(read, options) as conversation:
        code = conversation.one(message) if message is not None else conversation.many()
    raise typer.Exit(code)


def _edit_lines() -> None:
    """Let `input` edit lines and remember them, where Python was built with that."""
    with suppress(ImportError):
        import readline

        readline.set_auto_history(True)


@contextmanager
def _opened(agent: AgentFile, options: LiveOptions) -> Iterator[_Conversation]:
    """The agent lives in a thread of its own: this one reads the keyboard and gets the signals."""
    views: list[LiveView] = []

    def show(observer: Observer) -> LiveView:
        views.append(LiveView(observer, sys.stdout, sys.stderr))
        return views[-1]

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_live(agent, options, os.environ, show)) as live,
    ):
        yield _Conversation(portal, live, views[-1])


class _Conversation:
    def __init__(self, portal: BlockingPortal, live: LiveAgent, view: LiveView) -> None:
        self._portal = portal
        self._live = live
        self._view = view

    def one(self, message: str) -> int:
        """Take one turn; an error of it is the program's."""
        return self._turn(message)

    def many(self) -> int:
        """Take a turn for each line of the user. Typed errors are told; only those of a script matter."""
        typed = sys.stdin.isatty()
        if typed:
            _edit_lines()
        codes: list[int] = []
        while (line := self._line(typed=typed)) is not None:
            if line.strip():
                codes.append(self._turn(line))
        return ExitCode.FINE if typed else max(codes, default=ExitCode.FINE)

    def _line(self, *, typed: bool) -> str | None:
        while True:
            try:
                return input(_PROMPT if typed else "")
            except EOFError:
                self._view.end_line()
                return None
            except KeyboardInterrupt:
                self._view.note("\n(Ctrl-D ends)")

    def _turn(self, text: str) -> int:
        """Take a turn and return its exit code; Ctrl-C stops it, and a second one the program."""
        future = self._portal.start_task_soon(self._live.turn, text)
        try:
            outcome = future.result()
        except KeyboardInterrupt:
            self._portal.call(self._live.stop)
            future.result()
            say("the turn was stopped")
            return INTERRUPTED
        self._view.end_line()
        if outcome is not None and outcome.error is not None:
            say(f"{outcome.error} [{outcome.error.slug}]")
            return ExitCode.UNUSABLE
        return ExitCode.FINE
