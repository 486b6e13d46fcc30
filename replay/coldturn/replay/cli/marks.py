"""Two short texts with the part that differs marked, line ends visible and long runs folded."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from rich.text import Text

_RUN = re.compile(r"(.)\1{11,}", re.DOTALL)
_LONGEST = 100
_SIGNS = str.maketrans({"\n": "⏎", "\r": "␍", "\t": "⇥", "\x1b": "␛"})


def marked_pair(was: str, now: str, *, colours: bool) -> tuple[Text, Text]:
    """Mark what differs: by colour on a terminal, else ``[-was-]`` and ``{+now+}``."""
    older, newer = Text(), Text()
    for kind, was_start, was_end, now_start, now_end in _opcodes(was, now):
        gone, came = visible(was[was_start:was_end]), visible(now[now_start:now_end])
        if kind == "equal":
            older.append(gone)
            newer.append(came)
            continue
        if gone:
            older.append(gone if colours else f"[-{gone}-]", style="bold red underline")
        if came:
            newer.append(came if colours else f"{{+{came}+}}", style="bold green underline")
    return older, newer


def _opcodes(was: str, now: str) -> list[tuple[str, int, int, int, int]]:
    """The edit between them. Slivers in common count as changed, and all of it when little is common."""
    blocks = SequenceMatcher(None, was, now, autojunk=False).get_matching_blocks()
    kept = [block for block in blocks if block.size >= 4]
    if sum(block.size for block in kept) * 2 < min(len(was), len(now)):
        kept = []
    codes: list[tuple[str, int, int, int, int]] = []
    at_was = at_now = 0
    for block in [*kept, blocks[-1]]:
        if block.a > at_was or block.b > at_now:
            codes.append(("replace", at_was, block.a, at_now, block.b))
        at_was, at_now = block.a + block.size, block.b + block.size
        if block.size:
            codes.append(("equal", block.a, at_was, block.b, at_now))
    return codes


def visible(text: str, *, from_end: bool = False) -> str:
    """A text on one line, without control characters, runs of one character folded, not too long."""
    line = _RUN.sub(lambda run: f"{run[1] * 3}…({len(run[0])} times)…", text).translate(_SIGNS)
    line = "".join(sign if sign.isprintable() else "·" for sign in line)
    if len(line) <= _LONGEST:
        return line
    return "…" + line[-_LONGEST:] if from_end else line[:_LONGEST] + "…"
