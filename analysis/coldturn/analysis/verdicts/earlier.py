"""What requests before the parent left in a cache, where no markers say what is kept.

Looked at when a request breaks, and only then: remembering a request costs nothing that grows with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import is_
from typing import TypeAlias

from coldturn.analysis.estimates.layout import setting
from coldturn.analysis.estimates.ruleset import EntryModel
from coldturn.analysis.verdicts.model import Known
from coldturn.analysis.verdicts.settings import AFFINITY, HEADERS, PATHS, names_cache, value_of
from coldturn.analysis.verdicts.timing import AT_ONCE
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces.exchange import Exchange

MOST_REQUESTS = 64
"""Requests of one cache that are looked at; what older ones left counts as lost."""

_Scope: TypeAlias = tuple[object, ...]
_NAMES = (*PATHS["cache_key_changed"], *PATHS["scope_changed"])
"""Settings by which a request may go to a cache of its own."""
_HEADERS = frozenset(name for name, cause in HEADERS.items() if cause in AFFINITY)
_MODELS = frozenset({EntryModel.LONGEST_PREFIX, EntryModel.WHOLE_UNITS})


@dataclass(frozen=True, slots=True)
class Beginning:
    """A request as what stands at its beginning, and what says which cache it went to.

    Attributes:
        started: Epoch seconds; None when unknown.
        ttl: Seconds that what it left is kept; None when nobody says.
        answered: When its answer began, from when on it can be read; None when unknown.
    """

    contents: Sequence[Content]
    settings: Mapping[str, bytes]
    headers: tuple[tuple[str, str], ...]
    started: float | None = None
    ttl: float | None = None
    answered: float | None = None

    def lives_at(self, now: float | None) -> bool:
        """Whether what it left can be read, as far as times tell."""
        if now is None or self.started is None:
            return True
        if now < (self.started + AT_ONCE if self.answered is None else self.answered):
            return False
        return self.ttl is None or now - self.started <= self.ttl


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a request finds of earlier ones.

    Attributes:
        request: The request.
        before: Earlier ones of the same model at the same host, itself among them.
        own: The request itself, as it stands among them.
    """

    request: PromptRequest
    own: Beginning
    before: Sequence[Beginning]
    known: Known

    @property
    def bytes(self) -> int:
        """Content bytes of the longest beginning that an earlier request left; whole elements are counted."""
        contents, longest = self.own.contents, 0
        for one in self.before:
            # Only what is alike at the place behind the longest so far can be longer.
            further = (
                len(one.contents) > longest < len(contents) and one.contents[longest] is contents[longest]
            )
            if further and one is not self.own and self._goes_together(one):
                longest = max(longest, self._shared(one))
        return self.request.totals.bytes[longest]

    def _goes_together(self, one: Beginning) -> bool:
        """Whether both went to one cache, alike in the settings it keys on, and the older is still kept."""
        tiers = self.known.parameters.tiers
        names = (*_NAMES, *tiers.tools, *tiers.system, *tiers.messages)
        return (
            one.headers == self.own.headers
            and one.lives_at(self.own.started)
            and (
                one.settings == self.own.settings
                or all(setting(one.settings, name) == setting(self.own.settings, name) for name in names)
            )
        )

    def _shared(self, one: Beginning) -> int:
        common = len(tuple(takewhile(bool, map(is_, one.contents, self.own.contents))))
        whole = self.known.model is EntryModel.WHOLE_UNITS
        return common if not whole or common == len(one.contents) else 0


def own_cache(
    request: PromptRequest, headers: Iterable[tuple[str, str]], known: Known
) -> tuple[tuple[str, object], ...]:
    """What names the cache that a request goes to, besides host and model; empty for most."""
    settings = request.settings
    found: list[tuple[str, object]] = [
        (path, value)
        for path in _NAMES
        if path in settings and names_cache(known, path) and (value := value_of(settings, path)) is not None
    ]
    found += [(name, value) for name, value in headers if name in _HEADERS and names_cache(known, name)]
    return tuple(found)


@dataclass(slots=True)
class Beginnings:
    """The latest requests by source, format, host and model."""

    _held: dict[_Scope, deque[Beginning]] = field(default_factory=dict)

    def observe(
        self, exchange: Exchange, request: PromptRequest, known: Known, *, ttl: float | None, served: bool
    ) -> Earlier | None:
        """Take the next request.

        Args:
            exchange: As recorded.
            request: The request.
            known: Rules of its cache.
            ttl: Seconds that it asked to be kept; None for the rules' own.
            served: Whether it was answered; one that was not leaves nothing.

        Returns:
            What it finds, to be asked before the next request is taken; None where rules bound what is held
            (slots, a capacity), name their entries, or where the request is not all of its prompt: the
            request that it continues is the only measure then.
        """
        parameters = known.parameters
        bounded = parameters.slots is not None or parameters.capacity is not None
        if known.model not in _MODELS or bounded or request.by_reference or exchange.parts_missing:
            return None
        scope = (exchange.source, request.surface, known.host, request.model)
        held = self._held.get(scope)
        if held is None:
            held = self._held[scope] = deque(maxlen=MOST_REQUESTS)
        own = Beginning(
            request.contents,
            request.settings,
            tuple(exchange.request_headers),
            exchange.started,
            parameters.ttl if ttl is None else ttl,
            exchange.answered,
        )
        if served:
            held.append(own)
        return Earlier(request, own, held, known)
