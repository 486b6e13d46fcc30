"""Whether one request goes on with another's conversation, told by what the model wrote.

What people and programs send recurs in any number of conversations: templates, requests to try again,
answers of tools that found nothing. What the model wrote, and the ids of its calls, hardly do. So of two
requests that part somewhere, the newer one goes on with the older one's conversation when it says again what
the model wrote there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from coldturn.reference.prefix.elements import Piece
from coldturn.reference.prefix.model import Block, BlockKind

TRIVIAL_BYTES = 32
"""Below this a repetition says nothing: ``ok``, ``Go on.``, an empty result."""
_SEVERAL = 2
_MODEL = frozenset({"assistant", "model"})


def says_again(was: Iterable[Block], now: Iterable[Block]) -> bool | None:
    """Whether the newer blocks repeat anything of the model's that the older ones hold.

    Args:
        was: The older request's blocks behind the place of parting.
        now: The newer request's.

    Returns:
        None when the model wrote nothing there that tells.
    """
    own = frozenset(_own(was))
    return not own.isdisjoint(_own(now)) if own else None


def says_rest_again(was: Sequence[Block], now: Sequence[Block]) -> bool:
    """Whether all of the older blocks, the model's among them, stand one behind the other in the newer ones.

    However short they are: one such block recurs, several in their order do not.
    """
    old, new = ([(block.kind, block.call_id, block.facts.content) for block in side] for side in (was, now))
    if len(old) < _SEVERAL or not any(map(is_models, was)):
        return False
    return any(new[at : at + len(old)] == old for at in range(len(new) - len(old) + 1))


def _own(blocks: Iterable[Block]) -> Iterator[Hashable]:
    """What tells a conversation: calls and results by their ids, long texts and thoughts by themselves."""
    for block in blocks:
        content = block.facts.content
        if block.kind in {BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT}:
            if block.call_id:
                yield block.kind, block.call_id, content
        elif is_models(block) and len(content) >= TRIVIAL_BYTES:
            yield block.kind, content


def is_models(block: Block | Piece) -> bool:
    """Whether the model wrote a block."""
    return block.role in _MODEL or block.kind in {BlockKind.TOOL_CALL, BlockKind.REASONING}
