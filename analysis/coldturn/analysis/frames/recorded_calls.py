"""Which tool calls a recording shows: those that answers ask for, and those that later requests repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from coldturn.analysis.breaks.explain import Compared
from coldturn.reference.prefix.model import Block, BlockKind
from coldturn.traces.exchange import Exchange


@dataclass(slots=True)
class SeenCalls:
    """The calls of one source, each once: a history repeats them with every request.

    A call without an id goes by its bytes. Where answers give calls without ids, the history's are those.
    """

    _seen: set[Hashable] = field(default_factory=set)
    _from_answers: bool = False

    def answered(self, call_id: str | None) -> None:
        """Note a call that an answer asks for."""
        if call_id:
            self._seen.add(call_id)
        else:
            self._from_answers = True

    def repeated(self, one: Compared) -> Iterator[Block]:
        """The calls in a request's history that nothing told of before."""
        for block in new_blocks(one):
            if block.kind is not BlockKind.TOOL_CALL or not block.name:
                continue
            identity = block.call_id or block.facts.digest
            if identity in self._seen or (self._from_answers and not block.call_id):
                continue
            self._seen.add(identity)
            yield block


def new_blocks(one: Compared) -> Iterator[Block]:
    """The blocks of the elements that the request before does not hold, wherever the prefix broke."""
    held = Counter(map(id, one.parent_request.contents)) if one.parent_request else Counter[int]()
    for index, content in enumerate(one.request.contents):
        if held[id(content)]:
            held[id(content)] -= 1
        else:
            yield from one.request.lazy_blocks.of_elements(index, index + 1)


def times(exchange: Exchange) -> tuple[int, int]:
    """Start and end in nanoseconds; of an answer no more than its first byte is known."""
    if exchange.started is None:
        return 0, 0
    start = round(exchange.started * 1_000_000_000)
    answered = exchange.answered
    return start, start if answered is None else max(start, round(answered * 1_000_000_000))
