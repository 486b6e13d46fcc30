"""What an answer and its time tell besides usage: for whom it was, what was left out, how many came."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces.exchange import Exchange

MINUTE = 60.0
MOST_PREFIXES = 4_096
_ROUTED_BYTES = 1_024
"""OpenAI picks a machine by about the first 256 tokens, and the cache key."""
_ACCOUNT = frozenset({"anthropic-organization-id", "openai-organization", "openai-project"})
_EDITS = b'"applied_edits"'
_CLEARED = re.compile(rb'"cleared_input_tokens"\s*:\s*(\d{1,12})')
_ENDS = 8_192
_KEY = "prompt_cache_key"
_COUNTED = "openai"

_Prefix: TypeAlias = tuple[str, str, str | None, bytes | None, tuple[Content, ...]]


@dataclass(frozen=True, slots=True)
class Signs:
    """What stands beside a request.

    Attributes:
        account: Headers of the answer that name who was billed, with their values.
        cleared: Input tokens that the server left out by its own word (`applied_edits`); zero also when it
            says nothing.
        crowd: Requests within the last minute with the same beginning and cache key, this one among them;
            zero where that is not counted.
    """

    account: tuple[tuple[str, str], ...] = ()
    cleared: int = 0
    crowd: int = 0


NO_SIGNS = Signs()


@dataclass(slots=True)
class SignReader:
    """Reads the signs of requests in the order in which they were sent."""

    _starts: OrderedDict[_Prefix, deque[float]] = field(default_factory=OrderedDict)

    def of(self, exchange: Exchange, request: PromptRequest, *, provider: str | None, host: str) -> Signs:
        """The signs of the next request.

        Args:
            exchange: As recorded.
            request: The request.
            provider: By whose rules its cache goes; None without rules.
            host: Where it was sent.
        """
        account = account_of(exchange.headers) if exchange.headers else ()
        cleared = cleared_tokens(exchange.response_body)
        crowd = 0
        if exchange.started is not None and provider == _COUNTED:
            crowd = self._crowd(_prefix(exchange, request, host), exchange.started)
        return Signs(account, cleared, crowd) if account or cleared or crowd else NO_SIGNS

    def _crowd(self, prefix: _Prefix, started: float) -> int:
        starts = self._starts.get(prefix)
        if starts is None:
            starts = self._starts[prefix] = deque()
            if len(self._starts) > MOST_PREFIXES:
                self._starts.popitem(last=False)
        while starts and started - starts[0] >= MINUTE:
            starts.popleft()
        starts.append(started)
        return len(starts)


def account_of(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Headers of an answer (names in lower case) that say for whom it was made, in order of names."""
    return tuple(sorted((name, value) for name, value in headers if name in _ACCOUNT))


def cleared_tokens(answer: bytes | None) -> int:
    """Input tokens that an answer says the server left out of the prompt: old tool results, old thinking."""
    if answer is None:
        return 0
    at = answer.rfind(_EDITS, max(len(answer) - _ENDS, 0))
    if at < 0:
        return 0
    end = answer.find(b"]", at)
    return sum(int(found) for found in _CLEARED.findall(answer, at, end if end >= 0 else len(answer)))


def _prefix(exchange: Exchange, request: PromptRequest, host: str) -> _Prefix:
    totals, contents = request.totals.bytes, request.contents
    count = 0
    while count < len(contents) and totals[count] < _ROUTED_BYTES:
        count += 1
    return exchange.source, host, request.model, request.settings.get(_KEY), contents[:count]
