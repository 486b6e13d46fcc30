"""The `coldturn` program. Only the command that was asked for is imported; `--help` imports none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, cleandoc, signature
from typing import Annotated, Any

import typer

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli import leaving
from coldturn.replay.cli.exit_codes import BROKEN_PIPE, INTERRUPTED, ExitCode
from coldturn.replay.cli.settings import read_settings
from coldturn.replay.cli.streams import take_every_sign

_SAY_THEMSELVES = frozenset({"run"})
ABOUT = "Find the byte that turned the prompt cache cold, why, and what it cost."
MORE = "COMMAND --help shows examples. coldturn docs explains: causes, errors, inputs, every command."


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is listed at once and imported when it is called.

    Attributes:
        help: What the list of commands says.
        function: Its name in the module of the command's name: a function, or a program of commands.
    """

    name: str
    help: str
    function: str

    def load(self) -> Callable[..., Any]:
        """Import the command's module."""
        module = import_module(f"coldturn.replay.cli.{self.name}")
        function: Callable[..., Any] = getattr(module, self.function)
        return function

    def add_to(self, app: typer.Typer, function: Callable[..., Any]) -> None:
        """List the command in a program; `function` is what `load` gave, or a placeholder."""
        if isinstance(function, typer.Typer):
            for one in function.registered_commands:
                one.help = _flowing(one.callback.__doc__)
            app.add_typer(function, name=self.name, short_help=self.help)
        else:
            app.command(self.name, short_help=self.help, help=_flowing(function.__doc__))(function)


COMMANDS = (
    Command("demo", "Replay the recording that ships with coldturn under four policies.", "demo"),
    Command("replay", "Replay recorded sessions through the reference runtime.", "replay"),
    Command("explain", "Name every prefix break in recorded requests: where, why, what to do.", "explain"),
    Command("check", "The gate: fail on a new prefix break against a baseline.", "check"),
    Command("estimate", "Cache reads per request: ceiling, by the provider's rules, reported.", "estimate"),
    Command("advise", "Rank what could be mended by the tokens that it would have saved.", "advise"),
    Command("curves", "How large a prompt cache has to be, and how long it must keep entries.", "curves"),
    Command("report", "Write one page: hit rates, a map of every prefix, each break's remedy.", "report"),
    Command("chart", "Draw what recordings and traces tell: hit rates, prefixes, breaks.", "chart"),
    Command("notebook", "Open a notebook on any recording or trace.", "notebook"),
    Command("diff", "Compare two request bodies, or two plain texts.", "diff"),
    Command("record", "Record any agent: a proxy, or a shim in place of a stdio server.", "record"),
    Command("convert", "Convert recordings into one another, and into traces: Parquet, spans.", "convert"),
    Command("session", "Write what a recording implies as a file that you can edit.", "session"),
    Command("scrub", "Take keys and other secrets out of a recording.", "scrub"),
    Command("run", "Run the reference agent live: a real model, real MCP servers.", "run"),
    Command("docs", "Print the documentation: a page, a cause, an error.", "docs"),
)


def _flowing(text: str | None) -> str:
    """Help whose paragraphs fill the terminal, however wide it is; indented lines stay."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(part if "\n " in part else " ".join(part.split("\n")) for part in paragraphs)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        sys.stdout.write(f"coldturn {version('coldturn')}\n")
        raise typer.Exit


def _placeholder() -> None:
    """Stands for a command that was not called."""


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code.

    Args:
        arguments: Without the program's name; those of the process when not given.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    wanted = next((word for word in given if not word.startswith("-")), "")
    take_every_sign()
    try:
        code = leaving.finish(_run(wanted, given or ["--help"]))
    except OSError as error:
        code = leaving.give_up(error)
    sys.exit(code)


def _run(wanted: str, given: Sequence[str]) -> int:
    try:
        leaving.need_output(given)
        code = build(wanted)(given, prog_name="coldturn", standalone_mode=False)
    except ColdturnError as error:
        return leaving.tell(error)
    except typer.TyperException as error:
        # Without a message it was a group of commands alone, whose help is printed by now.
        return leaving.tell(leaving.of_usage(error)) if error.format_message() else ExitCode.UNUSABLE
    except SystemExit:
        # So the library leaves when whoever reads our output has gone, with a code that means a finding here.
        return BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED and wanted not in _SAY_THEMSELVES:
        sys.stderr.write("coldturn: interrupted\n")
    return int(code or ExitCode.FINE)


def build(wanted: str) -> typer.Typer:
    """The program, with the command `wanted` in full and the others by name.

    Raises:
        ColdturnError: The settings in pyproject.toml are wrong.
    """
    functions = {
        command.name: command.load() if command.name == wanted else _placeholder for command in COMMANDS
    }
    called = functions.get(wanted, _placeholder)
    options = {} if isinstance(called, typer.Typer) else signature(called).parameters
    app = typer.Typer(
        name="coldturn",
        help=ABOUT,
        epilog=MORE,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "default_map": _settings(wanted, options) if options else {},
        },
    )
    app.callback()(_root)
    for command in COMMANDS:
        command.add_to(app, functions[command.name])
    return app


def _settings(wanted: str, options: Mapping[str, Parameter]) -> dict[str, dict[str, Any]]:
    names = [command.name for command in COMMANDS]
    flags = {name for name, option in options.items() if isinstance(option.default, bool)}
    return read_settings(wanted, options, every_option=_every_option, commands=names, flags=flags)


def _every_option() -> set[str]:
    """Parameters of all commands, which takes importing them."""
    functions = [command.load() for command in COMMANDS]
    return {
        name for one in functions if not isinstance(one, typer.Typer) for name in signature(one).parameters
    }


if __name__ == "__main__":
    main()
