"""Whether a request goes on with a conversation in another request format, told by what the model wrote.

Formats write the same words in different ways, so decoded texts, call ids and calls with their arguments are
compared, not bytes. What stood in the first request of a conversation proves nothing: templates and worked
examples hold messages of a model too, and go to many providers. What a model wrote later on does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeAlias

import msgspec

from coldturn.reference.prefix.continuation import TRIVIAL_BYTES, is_models
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.model import Block, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.wire.model import Reply

LEAST_ID = 12
"""Characters of a call's id below which it says nothing: ``call_1`` recurs."""
_SEVERAL = 2
_ARGUMENTS = ("arguments", "input", "args")
_OUTER = ("function", "functionCall", "toolUse", "custom")
_PROMPT = frozenset({Zone.SYSTEM, Zone.TAIL})

Mark: TypeAlias = tuple[Hashable, ...]
"""What tells a conversation: ``("text", ...)``, ``("id", ...)``, ``("call", name, arguments)``."""


def tell(own: frozenset[Mark], repeated: frozenset[Mark]) -> bool:
    """Whether what is repeated tells a conversation.

    One long text or id does; of short ones several do when they are all that the model wrote there.

    Args:
        own: Marks of what a model wrote within a conversation.
        repeated: Those that are found elsewhere.
    """
    if any(map(_is_long, repeated)):
        return True
    return len(repeated) >= _SEVERAL and repeated == own


def _is_long(mark: Mark) -> bool:
    kind, *_, said = mark
    return kind == "id" or (isinstance(said, bytes) and len(said) >= TRIVIAL_BYTES)


def written(request: PromptRequest) -> frozenset[Mark]:
    """Marks of everything in a request that a model wrote."""
    return frozenset(_marks(block for block in request.blocks if is_models(block)))


def produced(request: PromptRequest, reply: Reply | None, first: Iterable[Content]) -> frozenset[Mark]:
    """Marks of what a model wrote within a conversation.

    Args:
        request: The latest request of the conversation.
        reply: Its answer.
        first: What the conversation's first request says; that may be a template's.
    """
    given = frozenset(map(id, first))
    blocks = request.lazy_blocks
    added = (
        block
        for element, content in enumerate(request.contents)
        if id(content) not in given
        for block in blocks.of_elements(element, element + 1)
        if is_models(block)
    )
    return frozenset((*_marks(added), *(() if reply is None else _answered(reply))))


def share_repeated(was: PromptRequest, now: PromptRequest) -> float:
    """Which part of an older request's messages a newer one says again, by bytes of texts and calls."""
    older, newer = _said(was), _said(now)
    whole = sum(older.values())
    return sum(size for said, size in older.items() if said in newer) / whole if whole else 0.0


def same_agent(was: PromptRequest, now: PromptRequest, missing: frozenset[Zone]) -> bool:
    """Whether tools or system text are one agent's; a title or summary is asked for with others, or none.

    Args:
        was: The older request.
        now: The newer one, in another format.
        missing: Zones that the recording does not hold of one of them; they tell nothing.
    """
    if Zone.TOOLS not in missing:
        before, after = _tools(was), _tools(now)
        if before:
            return not before.isdisjoint(after)
    if Zone.SYSTEM in missing:
        return True
    texts, others = _system(was), _system(now)
    return texts == others or not texts.isdisjoint(others)


def _marks(blocks: Iterable[Block]) -> Iterator[Mark]:
    for block in blocks:
        if block.kind is BlockKind.TOOL_CALL:
            yield from _of_call(block.call_id, block.name, _arguments(block.facts.content))
        elif block.kind is BlockKind.TEXT:
            yield from _of_text(block.facts.content)


def _answered(reply: Reply) -> Iterator[Mark]:
    yield from _of_text(reply.text.encode("utf-8", "surrogatepass"))
    for call in reply.calls:
        yield from _of_call(call.id, call.name, _canonical(call.arguments))


def _of_text(text: bytes) -> Iterator[Mark]:
    # Some providers refuse white space at the end, so it is taken off on the way there.
    said = text.strip()
    if said:
        yield "text", said


def _of_call(call_id: str | None, name: str | None, arguments: bytes | None) -> Iterator[Mark]:
    if call_id is not None and len(call_id) >= LEAST_ID:
        yield "id", call_id
    if arguments is not None:
        yield "call", name, arguments


def _said(request: PromptRequest) -> dict[Mark, int]:
    """Texts and calls of a history with their sizes, however short they are."""
    found: dict[Mark, int] = {}
    for block in request.blocks:
        if block.zone is not Zone.HISTORY:
            continue
        if block.kind is BlockKind.TEXT:
            text = block.facts.content.strip()
            found["text", text] = len(text)
        elif block.kind is BlockKind.TOOL_CALL and (arguments := _arguments(block.facts.content)) is not None:
            found["call", block.name, arguments] = len(arguments)
    return found


def _tools(request: PromptRequest) -> set[str]:
    """Names of the tools that a request defines, loaded or not."""
    elements = [
        *(
            element
            for placed in request.groups
            if placed.group.zone is Zone.TOOLS
            for element in placed.elements
        ),
        *request.unloaded,
    ]
    pieces = (piece for element in elements for piece in element.pieces)
    return {piece.name for piece in pieces if piece.kind is BlockKind.TOOL and piece.name}


def _system(request: PromptRequest) -> set[bytes]:
    """Digests of the runs of system text; of those that are trivial only whole texts."""
    return {
        segment.digest
        for block in request.blocks
        if block.zone in _PROMPT and block.facts.is_text
        for segment in block.facts.segments
        if segment.end - segment.start >= TRIVIAL_BYTES or len(block.facts.segments) == 1
    }


def _arguments(call: bytes) -> bytes | None:
    """Arguments of a call as a format writes it, in one spelling; None where there are none to be read."""
    try:
        found = msgspec.json.decode(call)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    for outer in (None, *_OUTER):
        inner = found if outer is None else found.get(outer) if isinstance(found, dict) else None
        if isinstance(inner, dict):
            for key in _ARGUMENTS:
                if key in inner:
                    return _canonical(inner[key])
    return None


def _canonical(arguments: object) -> bytes:
    """Arguments with sorted keys; text that holds JSON is read first."""
    if not isinstance(arguments, str):
        return msgspec.json.encode(arguments, order="sorted")
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return arguments.encode("utf-8", "surrogatepass")
