"""`coldturn docs`: the documentation, printed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from coldturn.replay.cli.common import stdout
from coldturn.replay.manual.pages import EXAMPLES, PAGES, Shown, find


def docs(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A page, a cause, an error (its name in brackets), PAGE#SECTION; none: the list of pages.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the documentation: a page, or only what it says of one cause or error.

    On a terminal the text is laid out; into a pipe or a file it goes as Markdown.

    Examples:
        coldturn docs

        coldturn docs clock_in_prefix

        coldturn docs missing-input

        coldturn docs providers | less

        coldturn docs agent.toml > agent.toml
    """
    if name is None:
        stdout().print("\n".join(_list()))
    else:
        _print(find(name))


def _list() -> list[str]:
    width = max(map(len, PAGES))
    return [
        "coldturn docs NAME prints a page, one cause (clock_in_prefix), one error (missing-input):",
        "",
        *(f"  {name:<{width}}  {about}" for name, about in PAGES.items()),
        "",
        "Files that pages use (docs/examples/FILE, $EXAMPLES/FILE); coldturn docs FILE > FILE writes one:",
        f"  {', '.join(EXAMPLES)}",
    ]


def _print(shown: Shown) -> None:
    if shown.is_markdown and sys.stdout.isatty():
        from coldturn.replay.cli.docs_view import laid_out

        laid_out(shown.text)
    else:
        sys.stdout.write(shown.text)
