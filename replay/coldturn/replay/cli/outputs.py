"""Where a command writes one file: what is wrong with the place is told before any work."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from coldturn.replay.cli.options import usage_error

PICTURES = (".png", ".svg", ".pdf")


def need_file(out: Path, option: str, inputs: Iterable[str | Path], *, endings: Collection[str] = ()) -> None:
    """Refuse a place that is no file, that has another ending, or that is one of the inputs.

    Args:
        out: What the user gave.
        option: With which option.
        inputs: What the command reads.
        endings: Those that it may have, lower case; any when empty.

    Raises:
        UsageError: It cannot be the place.
    """
    if not out.name or out.is_dir():
        raise usage_error(f"{option} {str(out)!r} is a folder or no name at all: name a file")
    if endings and out.suffix.lower() not in endings:
        raise usage_error(f"{option} {out}: give it one of the endings {', '.join(endings)}")
    if any(_same(out, Path(one)) for one in inputs):
        raise usage_error(f"{option} {out} is one of the inputs: name another file")


def _same(out: Path, one: Path) -> bool:
    try:
        return one.is_file() and out.samefile(one)
    except (OSError, ValueError):
        return False
