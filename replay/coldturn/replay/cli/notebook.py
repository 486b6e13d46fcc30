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
from coldturn.traces.errors import MissingInputError

NOTEBOOKS = {
    "session": "one recording, request by request",
    "hit_rate": "many recordings, by model, day and agent",
    "breaks": "causes of prefix breaks and what they cost",
    "policy": "policies compared, and what each choice is worth",
    "catalogue": "MCP servers: tiers, versions, bytes",
}
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
        typer.Argument(metavar="[PATH]", help="A recording, a trace, Parquet, or a folder of them."),
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
    if path is not None and not path.exists():
        raise MissingInputError(str(path))
    if importlib.util.find_spec("marimo") is None:
        raise NotebooksExtraError
    with resources.as_file(
        resources.files("coldturn.analysis.notebooks").joinpath(f"{wanted}.py")
    ) as shipped:
        code = _marimo(wanted, shipped, path, export, run=run)
    if code:
        raise NotebookFailedError(wanted, code)
    if export is not None:
        say(f"written to {export}")


def _marimo(name: str, shipped: Path, path: Path | None, export: Path | None, *, run: bool) -> int:
    command = [sys.executable, "-m", "marimo", "--quiet"]
    if export is not None:
        command += ["export", "html", str(shipped), "-o", str(export), "--force", "--no-include-code"]
    elif run:
        command += ["run", str(shipped), "--host", "127.0.0.1"]
    else:
        command += ["edit", str(_own_copy(name, shipped)), "--host", "127.0.0.1"]
    environment = dict(os.environ)
    if path is not None:
        environment[_PATH_VARIABLE] = str(path.resolve())
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 # ours, no shell


def _own_copy(name: str, shipped: Path) -> Path:
    """The copy that may be edited: the installed one belongs to the package."""
    copy = Path(f"{name}.py")
    if not copy.exists():
        copy.write_bytes(shipped.read_bytes())
        say(f"{copy} is your copy of the notebook")
    return copy
