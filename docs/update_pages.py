"""Write the outputs of real commands into pages of docs/, so that what they show is what anyone gets.

A page is a session in an empty folder, written in comments that a reader of the rendered page does not see:

    <!-- do: COMMAND -->            runs in that folder; nothing is shown
    <!-- file: NAME -->             the code block behind it is written there
    <!-- run: COMMAND -->           up to <!-- /run -->: the command and what it prints stand between
    <!-- run 1: COMMAND -->         the same, for a command that ends with exit code 1

Run it as ``make readme``; a test fails when a block differs from what its command prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "docs/advise.md",
    "docs/chart.md",
    "docs/check.md",
    "docs/frames.md",
    "docs/inputs.md",
    "docs/notebook.md",
    "docs/pytest.md",
    "docs/python.md",
)
_STEP = re.compile(
    r"<!-- (?P<kind>do|file|run)(?: (?P<code>\d))?: (?P<text>[^\n]+?) -->\n"
    r"(?:```\w*\n(?P<block>.*?)\n```\n)?"
    r"(?P<end><!-- /run -->)?",
    re.DOTALL,
)
_TIME = re.compile(r"in \d+\.\d\ds")


def run(command: str, folder: Path, code: int = 0) -> str:
    """What a command prints in `folder`, on both streams, with this project's program found first.

    Raises:
        ValueError: when it ends with another exit code than `code`.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CI"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S602 - commands stand in the project's own pages
        command,
        shell=True,
        executable="/bin/bash",
        cwd=folder,
        env={**kept, "PATH": path, "EXAMPLES": str(ROOT / "docs" / "examples"), "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != code:
        raise ValueError(f"{command!r} ended with {done.returncode} in place of {code}: {done.stdout}")
    return _TIME.sub("in 0.10s", done.stdout).strip("\n")


def with_outputs(page: str) -> str:
    """`page` with every block as its command prints it now.

    Raises:
        ValueError: when a command fails, or a step is not closed.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _STEP.sub(lambda found: _step(found, Path(folder)), page)


def _step(found: re.Match[str], folder: Path) -> str:
    kind, text = found["kind"], found["text"]
    if kind == "file":
        target = folder / text
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{found['block']}\n", encoding="utf-8")
        return found[0]
    output = run(text, folder, int(found["code"] or 0))
    if kind == "do":
        return found[0]
    if found["end"] is None:
        raise ValueError(f"no <!-- /run --> behind {text!r}")
    code = f" {found['code']}" if found["code"] else ""
    shown = f"$ {text}\n{output}".rstrip()
    return f"<!-- run{code}: {text} -->\n```console\n{shown}\n```\n<!-- /run -->"


def main(pages: Iterable[str] = PAGES) -> None:
    """Bring every page up to date."""
    for name in pages:
        path = ROOT / name
        path.write_text(with_outputs(path.read_text(encoding="utf-8")), encoding="utf-8")
        sys.stdout.write(f"{name}: as its commands print it now\n")


if __name__ == "__main__":
    main(sys.argv[1:] or PAGES)
