"""From a content byte to the byte of the body that it was decoded from, through escapes and white space."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from coldturn.reference.prefix import scanner, strings
from coldturn.reference.prefix.elements import Piece, cut_out


def source_offset(element: bytes, piece: Piece, offset: int) -> int:
    """Where content byte `offset` of `piece` stands in its element's bytes.

    A byte that an escape stands for maps to the start of that escape, unless the content has the same escape;
    the end of the content maps to the end of its source (in front of a string's closing quote).
    """
    start, end = piece.source
    source = element[start:end]
    if piece.facts.is_text:
        return start + 1 + _in_escaped(source[1:-1], offset, strings.character)
    if not piece.facts.content:
        return start
    kept = cut_out(source, piece.cuts)
    return start + _before_cuts(_in_json(kept, offset), piece.cuts)


def _in_escaped(text: bytes, offset: int, render: Callable[[re.Match[bytes]], bytes]) -> int:
    """Where byte `offset` of `text` with its escapes rendered stands in `text`."""
    position = produced = 0
    for match in strings.ESCAPE.finditer(text):
        literal = match.start() - position
        if offset <= produced + literal:
            break
        rendered = render(match)
        inside = offset - produced - literal
        if inside < len(rendered):
            return match.start() + (inside if rendered == match[0] else 0)
        produced += literal + len(rendered)
        position = match.end()
    return position + offset - produced


def _before_cuts(position: int, cuts: Iterable[tuple[int, int]]) -> int:
    for start, end in cuts:
        if position < start:
            break
        position += end - start
    return position


def _in_json(data: bytes, offset: int) -> int:
    """Where byte `offset` of the compact form of `data` stands in `data`."""
    produced = 0
    for token in scanner.tokens(data):
        piece = data[token.start : token.end]
        length = len(strings.minimal_string(piece)) if token.kind == "string" else len(piece)
        if offset < produced + length:
            return token.start + _in_escaped(piece, offset - produced, strings.minimal)
        produced += length
    return len(data)
