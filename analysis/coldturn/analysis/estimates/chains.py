"""History that stays with the provider: a request that continues a response by its id sends what is new."""

from __future__ import annotations

from collections import OrderedDict

from coldturn.analysis.estimates.layout import Unit
from coldturn.reference.prefix.elements import make_facts
from coldturn.reference.prefix.model import BlockFacts, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.wire.model import Reply

MOST_RESPONSES = 1_000
_SENT_AGAIN = frozenset({Zone.TOOLS, Zone.SYSTEM, Zone.TAIL})
_ANSWER = -1


class Chains:
    """What the context of each recent response holds: history and answer, without tools and instructions.

    Args:
        most: How many responses are remembered.
    """

    def __init__(self, most: int = MOST_RESPONSES) -> None:
        self._most = most
        self._contexts: OrderedDict[str, tuple[Unit, ...]] = OrderedDict()

    def earlier(self, request: PromptRequest) -> tuple[Unit, ...] | None:
        """Blocks that a request continues; none for one that sends all; None when they are not known.

        What a conversation of OpenAI's holds is never known: calls of their own fill it. Explicit caches of
        Gemini's are looked up elsewhere (`by_name`).
        """
        named = request.previous_response_id
        if named is not None:
            return self._contexts.get(named)
        return None if request.lacks_its_beginning else ()

    def answered(self, request: PromptRequest, earlier: tuple[Unit, ...], reply: Reply | None) -> None:
        """Remember the context of a response, so that a later request may continue it."""
        if reply is None or reply.response_id is None:
            return
        own = tuple(
            Unit(block.kind, block.role, block.message, block.zone, block.facts)
            for block in request.blocks
            if block.zone not in _SENT_AGAIN
        )
        self._contexts[reply.response_id] = (*earlier, *own, *_answer(reply))
        if len(self._contexts) > self._most:
            self._contexts.popitem(last=False)


def _answer(reply: Reply) -> tuple[Unit, ...]:
    """The answer as blocks: its text, then its tool calls. Reasoning that is not sent back is not in it."""
    found: list[tuple[BlockKind, str, str | None]] = (
        [(BlockKind.TEXT, reply.text, None)] if reply.text else []
    )
    parts = [*found, *((BlockKind.TOOL_CALL, call.arguments, call.name) for call in reply.calls)]
    return tuple(
        Unit(kind, "assistant", _ANSWER, Zone.HISTORY, _facts(text, name or "")) for kind, text, name in parts
    )


def _facts(text: str, name: str) -> BlockFacts:
    return make_facts(text.encode("utf-8", "surrogatepass"), is_text=True, header=name.encode())
