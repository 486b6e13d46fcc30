"""A page of docs/ as it is printed: links become commands, pictures their words, comments nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_BLANKS = re.compile(r"\n{3,}")
_UNSHIPPED = ("design",)
"""Pages for who changes the program; they stay in its repository."""


def printable(text: str, page: str) -> str:
    """Markdown that makes sense outside the folder of its page.

    Args:
        text: The page, or a part of it.
        page: Its name, for links into itself.
    """

    def words(prose: str) -> str:
        prose = _PICTURE.sub(r"(Picture: \1)", _COMMENT.sub("", prose))
        return _BLANKS.sub("\n\n", _LINK.sub(lambda link: _command(link[1], link[2], page), prose))

    return _prose_replaced(text, words).strip("\n") + "\n"


def outside_code(text: str) -> str:
    """`text` with its code blocked out, at the same places: headings there are none."""
    return _FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)


def _prose_replaced(text: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    done = 0
    for block in _FENCE.finditer(text):
        parts += [change(text[done : block.start()]), block[0]]
        done = block.end()
    return "".join([*parts, change(text[done:])])


def _command(words: str, target: str, page: str) -> str:
    if "://" in target:
        return f"[{words}]({target})"
    path, _, anchor = target.partition("#")
    name = path.removeprefix("examples/").removesuffix(".md") or page
    if name in _UNSHIPPED:
        return words
    command = f"`coldturn docs {name}{'#' * bool(anchor)}{anchor}`"
    return command if words == path else f"{words} ({command})"
