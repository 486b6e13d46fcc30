"""Where the blocks of a request stand in the text that the engine's template makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from coldturn.reference.prefix.model import Block, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest

_OPEN, _CLOSE = b"<|im_start|>", b"<|im_end|>"
_GLUE = 40
"""More bytes than the template ever puts between two blocks."""

_WRAPPED = (b'{"type":"tool_result","content":', b'{"type":"function_call_output","output":')
"""How the content of a tool result begins on surfaces where it is an object."""


class Place(NamedTuple):
    """Bytes of the rendered prompt: where a block stands, or between which of them something happens."""

    start: int
    end: int


class Rendered:
    """A request beside the text that was made of it.

    Attributes:
        places: Where each block stands; between two of them is only the template's own text.
    """

    def __init__(self, request: PromptRequest, text: bytes) -> None:
        self.blocks = request.blocks
        self.text = text
        self.places = tuple(_places(request.blocks, text))

    def stable_end(self) -> int:
        """Give the end of what the next request should repeat: all but a variable suffix at the end."""
        stable = max(index for index, block in enumerate(self.blocks) if block.zone is not Zone.TRANSIENT)
        return self.places[stable].end

    def start_of(self, zone: Zone) -> int:
        """Give where the first block of a zone begins."""
        return next(
            place.start for place, block in zip(self.places, self.blocks, strict=True) if block.zone is zone
        )


def named_place(parent: Rendered, child: Rendered, path: str, offset: int, inside: int) -> Place:
    """Give the bytes of the child's text between which a break lies that a span names.

    It is one byte where a text goes on differently, the template's own text where a block is another, and
    the whole block where JSON is rendered in another form than sent.

    Args:
        parent: The request before.
        child: The request that broke.
        path: The block that the span names, in either.
        offset: Content bytes in front of the place.
        inside: Of these in the block itself.
    """
    starts = [0, *accumulate(len(block.facts.content) for block in child.blocks)]
    pairs = enumerate(zip(child.blocks, [*parent.blocks, *child.blocks], strict=False))
    named = [
        index
        for index, (new, old) in pairs
        if starts[index] == offset - inside and path in (new.path, old.path)
    ]
    assert len(named) == 1, f"{path} at {offset} names {len(named)} blocks"
    index = named[0]
    place = child.places[index]
    if not inside:
        others = [one.places[index].start for one in (parent, child) if index < len(one.places)]
        return Place(child.places[index - 1].end if index else 0, min(others))
    if _text(child.blocks[index]) is None:
        return place
    exact = place.start + len(_text_before(child.blocks[index], inside))
    return Place(exact, exact)


def _places(blocks: Sequence[Block], rendered: bytes) -> Iterator[Place]:
    end = 0
    for block in blocks:
        place = _place(block, rendered, end)
        assert end <= place.start <= end + _GLUE, f"{block.path} is not rendered behind the block before it"
        yield place
        end = place.end


def _place(block: Block, rendered: bytes, behind: int) -> Place:
    if block.kind is BlockKind.TOOL:
        start = rendered.index(_OPEN, behind) + len(_OPEN)
        return Place(start, rendered.index(_CLOSE, start))
    if block.kind is BlockKind.TOOL_CALL:
        start = rendered.index(b'{"type": "function"', behind)
        named = b'"id": "%b"}' % (block.call_id or "").encode()
        return Place(start, rendered.index(named, start) + len(named))
    text = _text(block)
    assert text, f"{block.path} is rendered in another form, or empty and stands nowhere"
    start = rendered.index(text, behind)
    return Place(start, start + len(text))


def _text(block: Block) -> bytes | None:
    """Give the text that a block is rendered as; None for JSON that is rendered in another form."""
    content = block.facts.content
    if block.facts.is_text:
        return content
    if not content.startswith(_WRAPPED):
        return None
    wrapped: dict[str, object] = msgspec.json.decode(content)
    text = wrapped.get("content", wrapped.get("output"))
    assert isinstance(text, str)
    return text.encode()


def _text_before(block: Block, inside: int) -> bytes:
    """Give what the first `inside` bytes of a block's content say."""
    head = block.facts.content[:inside]
    if block.facts.is_text:
        return head
    wrapper = next(start for start in _WRAPPED if head.startswith(start))
    return msgspec.json.decode(head[len(wrapper) :] + b'"', type=str).encode()
