"""Short texts with the part that differs marked, line ends visible and long runs folded."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.text import Text

_RUN = re.compile(r"(.)\1{11,}", re.DOTALL)
_LONGEST = 100
_SIGNS = str.maketrans({"\n": "⏎", "\r": "␍", "\t": "⇥", "\x1b": "␛"})


def marked(text: str, changed: Iterable[tuple[int, int]], *, gone: bool, colours: bool) -> Text:
    """Mark what changed: by colour on a terminal, else ``[-gone-]`` and ``{+came+}``.

    Args:
        text: One side.
        changed: Characters from and to that the other side does not have, in order.
        gone: Whether the side is the older one.
        colours: Whether colours are seen.
    """
    front, back, style = ("[-", "-]", "bold red underline") if gone else ("{+", "+}", "bold green underline")
    shown = Text()
    at = 0
    for start, end in changed:
        shown.append(visible(text[at:start]))
        part = visible(text[start:end])
        shown.append(part if colours else f"{front}{part}{back}", style=style)
        at = end
    return shown.append(visible(text[at:]))


def visible(text: str, *, from_end: bool = False) -> str:
    """A text on one line, without control characters, runs of one character folded, not too long."""
    line = _RUN.sub(lambda run: f"{run[1] * 3}…({len(run[0])} times)…", text).translate(_SIGNS)
    line = "".join(sign if sign.isprintable() else "·" for sign in line)
    if len(line) <= _LONGEST:
        return line
    return "…" + line[-_LONGEST:] if from_end else line[:_LONGEST] + "…"
