"""Markdown laid out for a terminal, whatever colour its background has."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement, TableElement
from rich.syntax import Syntax
from rich.table import Table
from rich.theme import Theme

from coldturn.replay.cli.common import stdout

_WIDTH = 100
"""Longer lines are hard to read."""
_STYLES = Theme({"markdown.code": "cyan", "markdown.h3": "bold underline", "markdown.h4": "bold"})


class _Table(TableElement):
    """A table that breaks long words instead of cutting them off."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Code(CodeBlock):
    """Code without a background of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(
            str(self.text).rstrip(),
            self.lexer_name,
            theme="ansi_dark",
            background_color="default",
            word_wrap=True,
            padding=(0, 2),
        )


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "table_open": _Table,
        "fence": _Code,
        "code_block": _Code,
    }


def laid_out(text: str) -> None:
    """Print Markdown to standard output. Addresses of links stand beside their words."""
    console = stdout()
    width = min(console.width, _WIDTH)
    with console.use_theme(_STYLES):
        console.print(_Page(text, hyperlinks=False), width=width, soft_wrap=False)
