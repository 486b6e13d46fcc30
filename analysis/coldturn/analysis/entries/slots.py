"""F1 per slot: an engine that keeps one prompt in each of a few slots. llama.cpp's server."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from typing import Generic, TypeVar

from coldturn.analysis.entries.request import CacheRequest, Key, Reading
from coldturn.reference.prefix.difference import common_prefix

_WIDTH = 4
T = TypeVar("T")


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


class _Slots(Generic[T]):
    """What each slot holds, and when it was last used."""

    def __init__(self, rules: SlotRules, empty: T) -> None:
        self._rules = rules
        self.held = [empty] * rules.slots
        self._used = [-1] * rules.slots
        self._count = 0

    def place(self, prompt: T, shares: Sequence[int], total: int) -> Reading:
        """Put a prompt into the slot that fits.

        Args:
            prompt: What the slot holds afterwards.
            shares: Tokens that each slot has in common with it, from the start.
            total: Its tokens.
        """
        slot = self._pick(shares, total)
        self.held[slot] = prompt
        self._used[slot] = self._count
        self._count += 1
        most = total - 1 if self._rules.recompute_last else total
        return Reading(max(min(shares[slot], most), 0))

    def _pick(self, shares: Sequence[int], total: int) -> int:
        best = max(range(len(shares)), key=shares.__getitem__)
        if total and 0 < self._rules.similarity < shares[best] / total:
            return best
        # Among slots that were never used the engine takes the last.
        return min(range(len(shares) - 1, -1, -1), key=self._used.__getitem__)


class SlotCache:
    """The slots of one engine, asked with tokens. Requests are served one after another."""

    def __init__(self, rules: SlotRules) -> None:
        self._slots = _Slots(rules, b"")

    def observe(self, tokens: Sequence[int], answer: Sequence[int] = ()) -> Reading:
        """Take the next prompt.

        Args:
            tokens: Its tokens, whole numbers below 2**32; bytes where a token is a byte.
            answer: Tokens of the answer that the slot keeps (of n sampled ones the engine keeps n - 1).
        """
        # From bytes themselves an array would take machine words.
        prompt = array("I", iter(tokens)).tobytes()
        shares = [common_prefix(held, prompt) // _WIDTH for held in self._slots.held]
        return self._slots.place(prompt + array("I", iter(answer)).tobytes(), shares, len(tokens))


class SlotPrefixes:
    """The same, asked with keys at boundaries: an estimate between them."""

    def __init__(self, rules: SlotRules) -> None:
        self._slots: _Slots[Sequence[Key]] = _Slots(rules, ())

    def observe(self, request: CacheRequest) -> Reading:
        """Take the next request."""
        shares = [_share(held, request) for held in self._slots.held]
        return self._slots.place(request.keys, shares, request.tokens)


def _share(held: Sequence[Key], request: CacheRequest) -> int:
    known = len(tuple(takewhile(bool, map(eq, held, request.keys))))
    common = request.ends[known - 1] if known else 0
    partial = request.partial
    if partial is not None and known < len(held) and held[known] == partial.key:
        return max(common, partial.tokens)
    return common
