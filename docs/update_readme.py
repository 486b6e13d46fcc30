"""Write the outputs of real commands into README.md, so that its figures are what anyone gets.

Run it as ``make readme``; a test fails when a block differs from what its command prints.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from coldturn.replay.cli.app import main as coldturn

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
LOG = ROOT / "docs" / "examples" / "tickets.jsonl"
BLOCKS: Mapping[str, tuple[str, ...]] = {
    "demo": ("demo",),
    "ablation": ("demo", "--ablate"),
    "explain": ("explain", LOG.name),
    "advise": ("advise", LOG.name),
}
"""Name of a block in the README -> the command it shows, typed in a folder that holds the example log."""
_MACHINE_SPECIFIC = "\nTraces:\n"


def output_of(arguments: tuple[str, ...]) -> str:
    """What ``coldturn ARGUMENTS`` prints in a temporary folder, without the last part, which names paths.

    Raises:
        SystemExit: when the command fails.
    """
    out = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        shutil.copy(LOG, LOG.name)
        try:
            coldturn([*arguments])
        except SystemExit as end:
            if end.code:
                raise
    return out.getvalue().partition(_MACHINE_SPECIFIC)[0].rstrip()


def with_output(readme: str, name: str) -> str:
    """`readme` with the block `name` as its command prints it now.

    Raises:
        ValueError: when the README has no such block.
    """
    command = BLOCKS[name]
    block = f"```console\n$ coldturn {' '.join(command)}\n{output_of(command)}\n```"
    pattern = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- /{name} -->)", re.DOTALL)
    changed, count = pattern.subn(lambda found: f"{found[1]}{block}\n{found[2]}", readme)
    if count != 1:
        raise ValueError(f"README.md has {count} blocks named {name}; it needs one")
    return changed


def main() -> None:
    """Bring every block up to date."""
    text = README.read_text(encoding="utf-8")
    for name in BLOCKS:
        text = with_output(text, name)
    README.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{README.name}: {', '.join(BLOCKS)} as the commands print them now\n")


if __name__ == "__main__":
    main()
