"""The text around the first differing character."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.reference.prefix.model import Break
from coldturn.reference.prefix.request import PromptRequest

DEFAULT = 80
"""Characters of `was` and `now` that a `Break` carries; half as many stand in front."""


@dataclass(frozen=True, slots=True)
class Window:
    """Common text in front, then each side from the first differing character on."""

    before: str | None
    was: str | None
    now: str | None


def window_of(parent: PromptRequest, child: PromptRequest, found: Break, context: int = DEFAULT) -> Window:
    """The window at a break, `context` characters on each side and half of that in front."""
    if context <= DEFAULT:
        before = found.before[-(context // 2) :] if context > 1 else ""
        return Window(before, found.was[:context], found.now[:context])
    was, now = _rest(parent, found.path), _rest(child, found.path)
    at = found.block_offset or 0
    if was is None or now is None or was[:at] != now[:at]:
        return Window(found.before, found.was, found.now)
    start = _character_start(was, at)
    before = was[:start].decode("utf-8", "replace")
    return Window(
        before[-(context // 2) :],
        was[start:].decode("utf-8", "replace")[:context],
        now[start:].decode("utf-8", "replace")[:context],
    )


def _rest(request: PromptRequest, path: str) -> bytes | None:
    return next((block.facts.content for block in request.blocks if block.path == path), None)


def _character_start(text: bytes, at: int) -> int:
    """The start of the UTF-8 character that byte `at` lies in."""
    while 0 < at < len(text) and text[at] & 0xC0 == 0x80:
        at -= 1
    return at
