"""F1 per slot: an engine that keeps one sequence of tokens in each of a few slots. llama.cpp's server."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from coldturn.analysis.entries.request import Reading
from coldturn.reference.prefix.difference import common_prefix

_WIDTH = 4
_EMPTY = b""


@dataclass(frozen=True, slots=True)
class SlotRules:
    """How a slot is picked and what it serves.

    Attributes:
        slots: How many there are.
        similarity: A slot is taken when the part of the new prompt that it has in front is larger than this;
            the best one wins, the first among equals. Else the least recently used one.
        recompute_last: At least the last token of a prompt is computed.
    """

    slots: int = 1
    similarity: float = 0.1
    recompute_last: bool = True


@dataclass(slots=True)
class _Slot:
    tokens: bytes = _EMPTY
    used: int = -1


class SlotCache:
    """The slots of one engine. Requests are served one after another."""

    def __init__(self, rules: SlotRules) -> None:
        self._rules = rules
        self._slots = [_Slot() for _ in range(rules.slots)]
        self._count = 0

    def observe(self, tokens: Sequence[int], answer: Sequence[int] = ()) -> Reading:
        """Take the next prompt.

        Args:
            tokens: Its tokens, whole numbers below 2**32; bytes where a token is a byte.
            answer: Tokens of the answer that the slot keeps (of n sampled ones the engine keeps n - 1).
        """
        prompt = _packed(tokens)
        slot, common = self._pick(prompt)
        length = len(prompt) // _WIDTH
        read = min(common, length - 1) if self._rules.recompute_last else common
        slot.tokens = prompt + _packed(answer)
        slot.used = self._count
        self._count += 1
        return Reading(max(read, 0))

    def _pick(self, prompt: bytes) -> tuple[_Slot, int]:
        shares = [common_prefix(slot.tokens, prompt) // _WIDTH for slot in self._slots]
        best = max(range(len(shares)), key=shares.__getitem__)
        if 0 < self._rules.similarity < shares[best] / max(len(prompt) // _WIDTH, 1):
            return self._slots[best], shares[best]
        # Among slots never used the engine takes the last.
        oldest = min(range(len(shares) - 1, -1, -1), key=lambda index: self._slots[index].used)
        return self._slots[oldest], shares[oldest]


def _packed(tokens: Sequence[int]) -> bytes:
    # From bytes themselves the array would take machine words.
    return array("I", iter(tokens)).tobytes()
