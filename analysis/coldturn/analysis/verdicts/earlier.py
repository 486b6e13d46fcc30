"""What requests before the parent left in a cache, where no markers say what is kept.

Looked at when a request breaks, and only then: remembering a request costs nothing that grows with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import is_
from typing import TypeAlias

from coldturn.analysis.estimates.layout import setting
from coldturn.analysis.estimates.ruleset import EntryModel
from coldturn.analysis.verdicts.model import Known
from coldturn.analysis.verdicts.settings import PATHS
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces.exchange import Exchange

MOST_REQUESTS = 64
"""Requests of one cache that are looked at; what older ones left counts as lost."""

_Scope: TypeAlias = tuple[object, ...]
_NAMES = (*PATHS["cache_key_changed"], *PATHS["scope_changed"])
"""Settings by which a request may go to a cache of its own."""
_MODELS = frozenset({EntryModel.LONGEST_PREFIX, EntryModel.WHOLE_UNITS})


@dataclass(frozen=True, slots=True)
class Beginning:
    """A request as what stands at its beginning, and the settings that a cache keys on."""

    contents: Sequence[Content]
    settings: tuple[bytes | None, ...]


@dataclass(slots=True)
class Earlier:
    """What a request finds of earlier ones of the same cache.

    Attributes:
        request: The request.
        whole: Only whole requests can be read, rather than any part of their beginning.
    """

    request: PromptRequest
    settings: tuple[bytes | None, ...] = ()
    before: Sequence[Beginning] = ()
    whole: bool = False

    @property
    def bytes(self) -> int:
        """Content bytes of the longest beginning that an earlier request left; whole elements are counted."""
        contents = self.request.contents
        shared = [self._shared(one, contents) for one in self.before if one.settings == self.settings]
        return self.request.totals.bytes[max(shared, default=0)]

    def _shared(self, one: Beginning, contents: Sequence[Content]) -> int:
        common = sum(1 for _ in takewhile(bool, map(is_, one.contents, contents)))
        return common if not self.whole or common == len(one.contents) else 0


@dataclass(slots=True)
class Beginnings:
    """The latest requests of each cache: by source, format, host, model, and what else names one."""

    _held: dict[_Scope, deque[Beginning]] = field(default_factory=dict)

    def observe(
        self, exchange: Exchange, request: PromptRequest, known: Known, *, served: bool
    ) -> Earlier | None:
        """Take the next request.

        Args:
            exchange: As recorded.
            request: The request.
            known: Rules of its cache.
            served: Whether it was answered; one that was not leaves nothing.

        Returns:
            What it finds; None where rules bound what is held (slots, a capacity), name their entries, or
            where the request is not all of its prompt: the request that it continues is the only measure.
        """
        parameters = known.parameters
        bounded = parameters.slots is not None or parameters.capacity is not None
        partial = request.by_reference or bool(exchange.parts_missing)
        if known.model not in _MODELS or bounded or partial:
            return None
        held = self._held.setdefault(_scope(exchange, request, known), deque(maxlen=MOST_REQUESTS))
        tiers = parameters.tiers
        names = (*tiers.tools, *tiers.system, *tiers.messages)
        settings = tuple(setting(request.settings, name) for name in names)
        whole = known.model is EntryModel.WHOLE_UNITS
        found = Earlier(request, settings, tuple(held), whole)
        if served:
            held.append(Beginning(request.contents, settings))
        return found


def _scope(exchange: Exchange, request: PromptRequest, known: Known) -> _Scope:
    own = tuple(setting(request.settings, name) for name in _NAMES)
    return exchange.source, request.surface, known.host, request.model, own, tuple(exchange.request_headers)
