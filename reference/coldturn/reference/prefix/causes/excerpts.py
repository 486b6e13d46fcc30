"""What is shown of a difference: the text in front, what both requests say from there on, and what changed.

Far more is compared than is shown, so that text which only moved out of the window is not taken for changed.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from coldturn.reference.prefix.causes.change import common_suffix, readable
from coldturn.reference.prefix.difference import Difference, common_prefix
from coldturn.reference.prefix.model import BlockFacts
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.secrets import blotted_sides

CONTEXT = 80
"""Characters of each side that are shown; half as many stand in front."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Characters from and to, in order."""

_ALPHANUMERIC = (string.ascii_letters + string.digits).encode()
_AHEAD = 16_384
"""Bytes of each side that are compared."""
_FRONT = 4_096
"""Bytes in front that are searched for the beginning of a secret, and behind what is shown for its end."""
_LONGEST_FRONT = 65_536
"""As many where nothing in them ends a secret: keys in armour may have tens of thousands."""
_MARGIN = 512
"""Bytes of the front, where nothing is shown, in which something is looked for that ends a secret."""
_UNBROKEN = (
    # A token, the lines of a private key, and a header line with several cookies.
    bytes(sorted(b"+/=_-.~%" + _ALPHANUMERIC)),
    bytes(sorted(b"+/=:,\\- \t\r\n" + _ALPHANUMERIC)),
    bytes(sorted(set(range(256)) - set(b"\r\n\"'\\"))),
)
"""What the longest secrets consist of."""
_STEPS = ((4, 16), (8, 64), (16, 512), (32, 2 * _AHEAD))
"""Characters in common that show where both sides go on alike, and how many may have changed before them."""
_EMPTY_TEXT = b'""'
_CHARACTER_BYTES = 4
"""The longest character of UTF-8."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text around a difference, secrets blotted out.

    Attributes:
        before: Common text in front. `was`: the older request from there on; `now`: the newer one.
        was_changed: What of `was` the newer request does not say; `now_changed`: what of `now` is new.
    """

    before: str
    was: str
    now: str
    was_changed: Spans
    now_changed: Spans


@dataclass(frozen=True, slots=True)
class _Sides:
    """Bytes of both requests around a difference; `rest`: where, if anywhere, both go on alike for good."""

    front: bytes
    was: bytes
    now: bytes
    rest: tuple[int, int] | None = None


def excerpt(
    parent: PromptRequest, child: PromptRequest, place: Difference, context: int = CONTEXT
) -> Excerpt:
    """The excerpt at a difference.

    Args:
        parent: The older request.
        child: The newer request.
        place: Where they first differ; the older one has a block there.
        context: Characters of each side, half as many in front.
    """
    shown = context * _CHARACTER_BYTES
    sizes = max(_AHEAD, shown + _FRONT), max(_FRONT, shown // 2 + _MARGIN)
    look = _Look(parent, child, place.parent or 0, *sizes)
    sides = _cut(_in_headers(look) if place.in_header else _in_contents(look, place.block_offset))
    size = shown + _FRONT
    front, was, now = blotted_sides(sides.front, sides.was[:size], sides.now[:size])
    rest = None
    if sides.rest is not None:
        rest = len(readable(sides.was[: sides.rest[0]])), len(readable(sides.now[: sides.rest[1]]))
    spans = changed_spans(readable(sides.was), readable(sides.now), context, rest)
    half = context // 2
    return Excerpt(front[-half:] if half else "", was[:context], now[:context], *spans)


@dataclass(frozen=True, slots=True)
class _Look:
    """Two requests at the index of a block, how many bytes are compared, and how many are in front."""

    parent: PromptRequest
    child: PromptRequest
    index: int
    size: int
    front: int

    def ahead(self, request: PromptRequest, inside: int) -> bytes:
        """Content from a place on, across blocks."""
        parts: list[bytes] = []
        left = self.size
        pieces = request.lazy_blocks.pieces()
        for index in range(self.index, len(pieces)):
            parts.append(_said(pieces[index].facts)[inside : inside + left])
            left -= len(parts[-1])
            inside = 0
            if left <= 0:
                break
        return b"".join(parts)

    def behind(self, inside: int) -> bytes:
        """Content in front of a place, across blocks; more where a secret may go on from there."""
        size = self.front
        text = self._behind(inside, size)
        while len(text) == size < _LONGEST_FRONT and _is_unbroken(text[:_MARGIN]):
            size = min(4 * size, _LONGEST_FRONT)
            text = self._behind(inside, size)
        return text

    def _behind(self, inside: int, size: int) -> bytes:
        pieces = self.parent.lazy_blocks.pieces()
        parts = [pieces[self.index].facts.content[max(0, inside - size) : inside]]
        left = size - len(parts[0])
        for index in range(self.index - 1, -1, -1):
            if left <= 0:
                break
            parts.append(pieces[index].facts.content[-left:])
            left -= len(parts[-1])
        return b"".join(reversed(parts))


def _is_unbroken(text: bytes) -> bool:
    """Whether all of a text may be part of one secret."""
    return any(not text.translate(None, signs) for signs in _UNBROKEN)


def _in_headers(look: _Look) -> _Sides:
    """The headers (role, ids), unless the contents show the difference as well."""
    old, new = (request.blocks[look.index].facts for request in (look.parent, look.child))
    front = look.behind(0)
    if old.content == new.content:
        was, now = (_said(one) if not one.content else b"" for one in (old, new))
        return _Sides(front, old.header + was, new.header + now)
    was, now = look.ahead(look.parent, 0), look.ahead(look.child, 0)
    if common_prefix(was, now) < CONTEXT // 2:
        return _Sides(front, was, now)
    return _Sides(front, old.header + was, new.header + now)


def _said(facts: BlockFacts) -> bytes:
    """A block's content; an empty text is told from no content by its quotes."""
    return _EMPTY_TEXT if facts.is_text and not facts.content else facts.content


def _in_contents(look: _Look, offset: int) -> _Sides:
    was = look.parent.blocks[look.index].facts.content
    inside = _character_start(was, offset)
    sides = _Sides(look.behind(inside), look.ahead(look.parent, inside), look.ahead(look.child, inside))
    if look.index >= len(look.child.blocks):
        return sides
    now = look.child.blocks[look.index].facts.content
    if not was or not now:
        return sides
    if (inside == len(was)) != (inside == len(now)) and _is_alike(sides):
        return _with_boundary(look, sides, ended=inside == len(was))
    tail = common_suffix(was, now, min(len(was), len(now)) - inside)
    behind = _character_end(was, len(was) - tail)
    rest = behind - inside, behind - inside + len(now) - len(was)
    return replace(sides, rest=rest) if max(rest) <= look.size else sides


def _is_alike(sides: _Sides) -> bool:
    """Whether both go on alike as far as is shown, so that nothing but a boundary differs there."""
    shown = min(len(sides.was), len(sides.now), CONTEXT // 2)
    return 0 < shown <= common_prefix(sides.was, sides.now)


def _with_boundary(look: _Look, sides: _Sides, *, ended: bool) -> _Sides:
    """The header of what begins there in the request whose block ended; the older one's if `ended`."""
    blocks = (look.parent if ended else look.child).blocks
    header = blocks[look.index + 1].facts.header
    if ended:
        return replace(sides, was=header + sides.was)
    return replace(sides, now=header + sides.now)


def _cut(sides: _Sides) -> _Sides:
    """The sides from their first difference on, unless it stands well within what is shown."""
    common = common_prefix(sides.was, sides.now)
    if common < CONTEXT // 2:
        return sides
    common = _character_start(sides.was, common)
    return _Sides(sides.front + sides.was[:common], sides.was[common:], sides.now[common:])


def changed_spans(was: str, now: str, shown: int, rest: tuple[int, int] | None = None) -> tuple[Spans, Spans]:
    """What changed of the first `shown` characters of two texts.

    Args:
        was: The older text, as much of it as is to be compared.
        now: The newer one.
        shown: Characters in which changes are looked for.
        rest: Where both are known to go on alike up to an end.
    """
    old: list[tuple[int, int]] = []
    new: list[tuple[int, int]] = []
    for was_from, was_to, now_from, now_to in _edits(was, now, shown, rest):
        _add(old, was_from, min(was_to, shown))
        _add(new, now_from, min(now_to, shown))
    return tuple(old), tuple(new)


def _add(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a span, joined to the last one where that ends at its start."""
    if start >= end:
        return
    if spans and spans[-1][1] == start:
        start, _ = spans.pop()
    spans.append((start, end))


def _edits(
    was: str, now: str, shown: int, rest: tuple[int, int] | None
) -> Iterator[tuple[int, int, int, int]]:
    """Runs of the older text that gave way to runs of the newer one, from the start on."""
    at_was = at_now = 0
    while at_was < len(was) or at_now < len(now):
        run = _run(was, at_was, now, at_now, max(shown - at_was, shown - at_now, 1))
        at_was, at_now = at_was + run, at_now + run
        if at_was >= shown and at_now >= shown:
            return
        known = _behind_both(rest, at_was, at_now)
        gone, came = _next_alike(was[at_was:], now[at_now:], shown - min(at_was, at_now), known)
        yield at_was, at_was + gone, at_now, at_now + came
        at_was, at_now = at_was + gone, at_now + came


def _behind_both(rest: tuple[int, int] | None, at_was: int, at_now: int) -> tuple[int, int] | None:
    if rest is None or rest[0] < at_was or rest[1] < at_now or rest == (at_was, at_now):
        return None
    return rest[0] - at_was, rest[1] - at_now


def _run(was: str, at_was: int, now: str, at_now: int, limit: int) -> int:
    """Characters in common from two places on, at most `limit`."""
    old, new = was[at_was : at_was + limit], now[at_now : at_now + limit]
    pairs = zip(old, new, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new)))


def _next_alike(was: str, now: str, shown: int, rest: tuple[int, int] | None) -> tuple[int, int]:
    """How much of each side changed until both go on alike; all of both when they never do."""
    for size, reach in _STEPS:
        found = [] if rest is None or sum(rest) > reach else [rest]
        found += _anchors(was, now, size, min(reach, shown), reach)
        found += [(gone, came) for came, gone in _anchors(now, was, size, min(reach, shown), reach)]
        if found:
            return min(found, key=sum)
    return len(was), len(now)


def _anchors(text: str, other: str, size: int, looks: int, reach: int) -> Iterator[tuple[int, int]]:
    """Places of `text` and `other` from which on `size` characters or more are the same."""
    step = max(size // 4, 1)
    # One step further than is looked: what begins in between is found from there backwards.
    for start in range(0, min(looks + step - 1, len(text) - size) + 1, step):
        found = other.find(text[start : start + size], 0, reach - start + size)
        if found >= 0:
            back = _run(text[:start][::-1], 0, other[:found][::-1], 0, step)
            yield start - back, found - back


def _character_start(text: bytes, at: int) -> int:
    """The start of the UTF-8 character that byte `at` lies in."""
    while 0 < at < len(text) and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _character_end(text: bytes, at: int) -> int:
    """The end of the character in front of byte `at`."""
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at
