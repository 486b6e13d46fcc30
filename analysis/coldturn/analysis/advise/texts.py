"""Texts that changed in several places, of which some are mended: line by line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coldturn.analysis.advise.carrying import carry
from coldturn.analysis.advise.items import Json
from coldturn.reference.prefix.causes.align import Gap


@dataclass(slots=True)
class TextMerge:
    """Merges the texts of one element.

    Attributes:
        undo: Whether the change that ends at a byte of the new text is mended.
        moved: What the mended text lacks of the new one: the byte up to which it stood there, and its lines.
    """

    undo: Callable[[int], bool]
    moved: list[tuple[int, str]] = field(default_factory=list)

    def merged(self, was: Json, mended: Json, now: Json) -> Json:
        """The value with its texts merged; where the three have other shapes, the mended one as it is."""
        if isinstance(was, str) and isinstance(mended, str) and isinstance(now, str):
            return now if was == mended == now else self._text(was, mended, now)
        if isinstance(was, dict) and isinstance(mended, dict) and isinstance(now, dict):
            if was.keys() == mended.keys() == now.keys():
                return {key: self.merged(was[key], mended[key], one) for key, one in now.items()}
        elif isinstance(was, list) and isinstance(mended, list) and isinstance(now, list):
            if len(was) == len(mended) == len(now):
                return [self.merged(*three) for three in zip(was, mended, now, strict=True)]
        elif was == now:
            return mended
        return mended

    def _text(self, was: str, mended: str, now: str) -> str:
        lines = now.splitlines(keepends=True)
        ends = _ends(lines)

        def replace(gap: Gap, run: Sequence[str]) -> Sequence[str] | None:
            end = ends[gap.now_end]
            if not self.undo(end):
                return None
            if gap.now_end > gap.now_start:
                self.moved.append((end, "".join(lines[gap.now_start : gap.now_end])))
            return run

        parts = was.splitlines(keepends=True), mended.splitlines(keepends=True), lines
        sent, _ = carry(*parts, replace, lambda mine, _: mine)
        return "".join(sent)


def _ends(lines: Sequence[str]) -> list[int]:
    """Bytes up to each line's beginning, and to the end."""
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line.encode("utf-8", "surrogatepass")))
    return ends
