"""Lists of tools, skills or agents in a text: which lines are entries, and what they name."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BULLET = re.compile(r"^\s*(?:[-*+\u2022\u2013]|\d{1,3}[.)])\s+(?P<rest>\S.*)$")
_ROW = re.compile(r"^\s*\|\s*(?P<rest>[^|]*\w[^|]*)\|")
_ELEMENT = re.compile(
    r"""^\s*<(?P<tag>[A-Za-z][\w-]*)(?:\s+name=["'](?P<attr>[^"']+)["'][^<>]*>|>\s*(?P<rest>[^<>\n]+)</(?P=tag)>\s*$)"""
)
_JSON_NAME = re.compile(r'"name"\s*:\s*"(?P<rest>[^"]+)"')
_BARE = re.compile(r"^\s*(?P<rest>[A-Za-z_][\w.:/-]*(?:\s*[:\u2013\u2014-]\s+\S.*)?)\s*$")
_NAME = re.compile(r"[A-Za-z_][\w./:-]*")
_FRAME = re.compile(r"^\s*(?:#{1,6}\s.*|</?[A-Za-z][^<>]*>|\|[\s:|-]+\||)\s*$")
_INLINE = re.compile(r"^(?P<label>[^,:]{0,120}:)?\s*(?P<items>[^,]+(?:,[^,]+)*)$")


def entry_name(line: str, *, bare: bool = False) -> str | None:
    """What a list line names, or None when it is no entry. `bare` also takes lines without a bullet."""
    for pattern in (_ELEMENT, _BULLET, _ROW, *((_BARE,) if bare else ())):
        if (match := pattern.match(line)) is not None:
            groups = match.groupdict()
            return _first_name(groups.get("attr") or groups.get("rest") or "")
    return None


def _first_name(text: str) -> str | None:
    if (inner := _JSON_NAME.search(text)) is not None:
        text = inner["rest"]
    name = _NAME.search(text.lstrip("*_`\"'[(<{ "))
    return name[0].rstrip(".:/-") if name is not None else None


def entries(lines: Sequence[str], *, bare: bool = False) -> tuple[str, ...]:
    """Names of the entries; none when `lines` hold more than whole entries, headings, tags and blanks."""
    names: list[str] = []
    for line in lines:
        if (name := entry_name(line, bare=bare)) is not None:
            names.append(name)
        elif not (_FRAME.match(line) or (names and line[:1] in " \t")):
            return ()
    return tuple(names)


def added_lines(was: Sequence[str], now: Sequence[str]) -> list[str] | None:
    """Lines of `now` beyond those of `was`; None when `was` is no ordered subset. Line ends do not count."""
    rest: list[str] = []
    expected = iter([line.rstrip() for line in was] + [""])
    wanted = next(expected)
    left = len(was)
    for line in now:
        if left and line.rstrip() == wanted:
            left -= 1
            wanted = next(expected)
        else:
            rest.append(line)
    return None if left else rest


def inline_items(line: str) -> tuple[str, list[str]] | None:
    """Label and items of a list on one line (``Deferred tools: a, b``), or None."""
    match = _INLINE.match(line.strip())
    if match is None:
        return None
    items = [item.strip().strip("`'\"*.") for item in match["items"].split(",")]
    if not all(_NAME.fullmatch(item) for item in items):
        return None
    return match["label"] or "", items
