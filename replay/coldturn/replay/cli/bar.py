"""A bar for work of known length."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show on standard error how much of `total` is done; nothing when that is no terminal.

    Yields:
        To be called whenever one more is done.
    """
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = console.is_terminal and total > 1
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
