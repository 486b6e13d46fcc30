"""Write the outputs of real commands into ``docs/explain.md``.

Run it as ``python docs/update_explain.py``; a test fails when a block differs from what its command prints.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from pathlib import Path

from coldturn.replay.cli.app import main as coldturn

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explain.md"
_LOG = "docs/examples/tickets.jsonl"
BLOCKS: Mapping[str, tuple[str, ...]] = {
    "explain": ("explain", _LOG),
    "request": ("explain", _LOG, "--request", "6"),
    "no-content": ("explain", _LOG, "--request", "2", "--no-content"),
}
"""Name of a block of the page -> the command it shows, typed in the project's folder."""


def output_of(arguments: tuple[str, ...]) -> str:
    """What ``coldturn ARGUMENTS`` prints.

    Raises:
        SystemExit: when the command fails.
    """
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        try:
            coldturn([*arguments])
        except SystemExit as end:
            if end.code:
                raise
    return out.getvalue().rstrip()


def with_outputs(page: str) -> str:
    """`page` with every block as its command prints it now.

    Raises:
        ValueError: when the page has no such block.
    """
    for name, command in BLOCKS.items():
        block = f"```console\n$ coldturn {' '.join(command)}\n{output_of(command)}\n```"
        found = list(re.finditer(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- /{name} -->)", page, re.DOTALL))
        if len(found) != 1:
            raise ValueError(f"{PAGE.name} has {len(found)} blocks named {name}; it needs one")
        (place,) = found
        page = f"{page[: place.start()]}{place[1]}{block}\n{place[2]}{page[place.end() :]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_outputs(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
