"""Signs that would steer a terminal, turn a line around or hide in it, shown as marks that cannot."""

from __future__ import annotations

import re

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Control characters, bidirectional marks and signs without a width; joiners belong to words and stay."""
_MARKS = {"\r": "␍", "\x1b": "␛", "\n": "⏎", "\t": "⇥"}


def shown(text: str) -> str:
    """Text of many lines with a mark for each sign that is no text; its length stays."""
    return _STEERING.sub(lambda sign: _MARKS.get(sign[0], "·"), text)


def shown_line(text: str) -> str:
    """The same for one line, in which a line feed is no text either."""
    return shown(text).replace("\n", _MARKS["\n"]).replace("\t", _MARKS["\t"])


class Marking(RenderHook):
    """Does that to all that a console prints, and leaves the console's own colours."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """What is printed instead."""
        return [_Marked(one) for one in renderables]


class _Marked:
    def __init__(self, content: ConsoleRenderable) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._content, options):
            yield segment if segment.control else Segment(shown(segment.text), segment.style)
