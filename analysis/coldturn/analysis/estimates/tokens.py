"""Tokens at the boundaries of a prompt: estimated from bytes or by a tokenizer, fitted to what was reported.

A provider reports one number per request, the whole input. It fixes the end of that request, and wherever a
later request repeats it, the same place there; between such anchors the weights decide.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from itertools import accumulate
from math import ceil
from typing import Final, NamedTuple, Protocol

from xxhash import xxh3_128_digest

from coldturn.reference.prefix.errors import ColdturnError

BYTES_PER_TOKEN: Final = 4
MOST_ANCHORS = 100_000


class MissingTokenizerError(ColdturnError):
    """The package that counts tokens is not installed, or does not have this vocabulary."""

    slug = "missing-tokenizer"

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"--tokenizer {name}: {reason}")


class Weigh(Protocol):
    """How heavy a piece of text is, in a unit of its own."""

    @property
    def tokens_per_unit(self) -> float:
        """Tokens that one unit stands for, as long as nothing was reported."""

    def __call__(self, text: bytes) -> int:
        """Units of a text."""


class BytesWeigh:
    """A unit is a byte: cheap, deterministic, and about right for English and for code."""

    tokens_per_unit = 1 / BYTES_PER_TOKEN

    def __call__(self, text: bytes) -> int:
        """Its length."""
        return len(text)


class TokenizerWeigh:
    """A unit is a token of a real vocabulary. Pieces are counted by themselves and remembered.

    Args:
        count: Counts the tokens of a text.
        most: How many pieces are remembered.
    """

    tokens_per_unit = 1.0

    def __init__(self, count: Callable[[str], int], most: int = 100_000) -> None:
        self._count = count
        self._most = most
        self._known: OrderedDict[bytes, int] = OrderedDict()

    def __call__(self, text: bytes) -> int:
        """Its tokens."""
        digest = xxh3_128_digest(text)
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = self._count(text.decode("utf-8", "replace"))
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return known


@cache
def tokenizer(name: str) -> TokenizerWeigh:
    """A tokenizer of OpenAI's vocabularies by name, such as ``o200k_base``; needs the extra ``tokenizer``.

    Raises:
        MissingTokenizerError: The package is not installed, or has no such vocabulary.
    """
    with warnings.catch_warnings():
        # The package reads its vocabularies by a function of the standard library that is deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            package = import_module("bpe_openai")
        except ImportError as error:
            raise MissingTokenizerError(name, "install it with: pip install 'coldturn[tokenizer]'") from error
        known = sorted(known for known in package.list_encoding_names() if known.endswith("_base"))
        if name not in known:
            raise MissingTokenizerError(name, f"no such vocabulary; there are {', '.join(known)}")
        encode = package.get_encoding(name).encode_ordinary
    return TokenizerWeigh(lambda text: len(encode(text)))


class _Anchor(NamedTuple):
    """What was reported of a prefix: its tokens, those per unit, and whether they end exactly there."""

    tokens: int
    rate: float
    exact: bool


class Measure:
    """Tokens at boundaries, over the requests of one scope.

    Args:
        tokens_per_unit: What a unit of weight stands for until something is reported.
        most_anchors: How many reported prefixes are remembered.
    """

    def __init__(
        self, tokens_per_unit: float = 1 / BYTES_PER_TOKEN, *, most_anchors: int = MOST_ANCHORS
    ) -> None:
        self._initial = tokens_per_unit
        self._most = most_anchors
        self._anchors: OrderedDict[int, _Anchor] = OrderedDict()

    def ends(self, links: Sequence[int], weights: Sequence[int], reported: int | None) -> list[int]:
        """Cumulative tokens of one request.

        Args:
            links: Its rolling hashes.
            weights: Units of each segment.
            reported: Tokens of its whole input by its provider; None when not reported.

        Returns:
            One count per segment, never falling. The last is `reported` where that is known, unless an
            earlier request told what the same prefix counts without the few tokens that end a prompt.
        """
        if not links:
            return []
        units = list(accumulate(weights))
        last = len(links) - 1
        fixed, rate = self._fixed(links, reported)
        if reported is not None and not (fixed and fixed[-1][0] == last):
            fixed.append((last, reported))
            self._remember(links[last], reported, units[last], exact=False)
        return _between(units, fixed, rate)

    def learn(self, links: Sequence[int], weights: Sequence[int], boundary: int, tokens: int) -> None:
        """Take a provider's count of a prefix: what it read and wrote up to a marker, for later requests."""
        self._remember(links[boundary], tokens, sum(weights[: boundary + 1]), exact=True)

    def _fixed(self, links: Sequence[int], reported: int | None) -> tuple[list[tuple[int, int]], float]:
        """Boundaries of which an earlier request told the tokens; and the rate behind the last of them."""
        fixed: list[tuple[int, int]] = []
        rate = self._initial
        if not self._anchors:
            return fixed, rate
        last = len(links) - 1
        for index, link in enumerate(links):
            anchor = self._anchors.get(link)
            if anchor is None or (fixed and anchor.tokens < fixed[-1][1]):
                continue
            if reported is not None and (anchor.tokens > reported or (index == last and not anchor.exact)):
                continue
            fixed.append((index, anchor.tokens))
            rate = anchor.rate
        return fixed, rate

    def _remember(self, link: int, tokens: int, units: int, *, exact: bool) -> None:
        self._anchors[link] = _Anchor(tokens, tokens / units if units else self._initial, exact)
        self._anchors.move_to_end(link)
        if len(self._anchors) > self._most:
            self._anchors.popitem(last=False)


def _between(units: Sequence[int], fixed: Sequence[tuple[int, int]], rate: float) -> list[int]:
    """Tokens at every boundary: straight lines between the fixed ones, `rate` behind the last."""
    ends: list[int] = []
    start_units = start_tokens = 0
    for index, tokens in fixed:
        span = units[index] - start_units
        grown = tokens - start_tokens
        ends.extend(
            start_tokens + (-(-(unit - start_units) * grown // span) if span else grown)
            for unit in units[len(ends) : index + 1]
        )
        start_units, start_tokens = units[index], tokens
    ends.extend([start_tokens + ceil((unit - start_units) * rate) for unit in units[len(ends) :]])
    return ends
