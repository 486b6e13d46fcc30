"""`coldturn notebook`: a notebook of analysis on any recording or trace."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli.common import say
from coldturn.replay.cli.options import usage_error
from coldturn.replay.cli.outputs import need_file
from coldturn.traces.errors import MissingInputError
from coldturn.traces.otlp import TraceFileError
from coldturn.traces.whole_file import written_whole

NOTEBOOKS = {
    "session": "one recording, request by request",
    "hit_rate": "many recordings, by model, day and agent",
    "breaks": "causes of prefix breaks and what they cost",
    "policy": "policies compared, and what each choice is worth",
    "catalogue": "MCP servers: tiers, versions, bytes",
}
GENERATOR = b'<meta name="generator" content="coldturn notebook">'
"""Stands at the beginning of every page that is exported."""
_HEAD = 4_096
_PATH_VARIABLE = "COLDTURN_NOTEBOOK_PATH"


class UnknownNotebookError(ColdturnError):
    """No notebook of that name."""

    slug = "no-notebook"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no notebook {name}: take {', '.join(NOTEBOOKS)}")


class NotebooksExtraError(ColdturnError):
    """Marimo is not installed."""

    slug = "notebooks-extra"

    def __init__(self) -> None:
        super().__init__("notebooks need marimo, which is not installed: pip install 'coldturn[notebooks]'")


class PageFileError(ColdturnError):
    """A page that cannot be written where it should go."""

    slug = "page-file"

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(f"{path}: the page cannot be written ({reason}): give another place with --export")


class NotebookFailedError(ColdturnError):
    """Marimo could not open or write a notebook."""

    slug = "notebook-failed"

    def __init__(self, name: str, code: int) -> None:
        self.name = name
        self.code = code
        super().__init__(f"marimo left the notebook {name} with code {code}; what it said stands above")


def notebook(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help=f"One of {', '.join(NOTEBOOKS)}.", show_default=False)
    ],
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="A recording, a trace, Parquet, or a folder of them."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write a page (.html) instead of opening one."),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Open it as an app: without code, nothing to edit.")
    ] = False,
) -> None:
    """Open a notebook in a browser, on your data or on the demo's.

    What PATH names is converted to Parquet first, once, into the cache folder. The server listens on
    127.0.0.1 alone. What you edit is a copy in the working folder, NAME.py, if it is not there yet.

    Examples:
        coldturn notebook session recordings/today.jsonl

        coldturn notebook policy coldturn-demo/ --run

        coldturn notebook hit_rate traces/ --export hit-rate.html
    """
    wanted = name.replace("-", "_")
    if wanted not in NOTEBOOKS:
        raise UnknownNotebookError(name)
    if export is not None and (run or export.suffix.lower() not in {".html", ".htm"}):
        raise usage_error(f"--export {export}: it writes a page, so name a .html file, without --run")
    if export is not None:
        need_file(export, "--export", [] if path is None else [path])
    if path is not None and not path.exists():
        raise MissingInputError(str(path))
    if importlib.util.find_spec("marimo") is None:
        raise NotebooksExtraError
    with resources.as_file(
        resources.files("coldturn.analysis.notebooks").joinpath(f"{wanted}.py")
    ) as shipped:
        if export is None:
            _open(wanted, shipped, path, run=run)
        else:
            _export(wanted, shipped, path, export)
            say(f"written to {export}")
            say("when opened it loads marimo's code from a CDN; `coldturn report` needs no network")


def _open(name: str, shipped: Path, path: Path | None, *, run: bool) -> None:
    way = ["run", str(shipped)] if run else ["edit", str(_own_copy(name, shipped))]
    _marimo(name, [*way, "--host", "127.0.0.1"], path)


def _export(name: str, shipped: Path, path: Path | None, export: Path) -> None:
    """Write a page, whole or not at all; the place and the input are looked at before marimo starts."""
    from coldturn.analysis.notebooks.data import frames_of

    try:
        with written_whole(export, "page of a notebook", is_page) as partial:
            partial.touch()
            frames_of(path)
            _marimo(
                name,
                ["export", "html", str(shipped), "-o", str(partial), "--force", "--no-include-code"],
                path,
            )
            _mark(partial)
    except TraceFileError as error:
        raise PageFileError(export, error.reason) from error


def _mark(page: Path) -> None:
    text = page.read_bytes()
    page.write_bytes(text.replace(b"<head>", b"<head>" + GENERATOR, 1))


def is_page(path: Path) -> bool:
    """Whether a file begins like an exported notebook of ours."""
    with path.open("rb") as file:
        return GENERATOR in file.read(_HEAD)


def _marimo(name: str, arguments: list[str], path: Path | None) -> None:
    command = [sys.executable, "-m", "marimo", "--quiet", *arguments]
    environment = dict(os.environ)
    if path is not None:
        environment[_PATH_VARIABLE] = str(path.resolve())
    code = subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 # ours, no shell
    if code:
        raise NotebookFailedError(name, code)


def _own_copy(name: str, shipped: Path) -> Path:
    """The copy that may be edited: the installed one belongs to the package."""
    copy = Path(f"{name}.py")
    if not copy.exists():
        copy.write_bytes(shipped.read_bytes())
        say(f"{copy} is your copy of the notebook")
    return copy
