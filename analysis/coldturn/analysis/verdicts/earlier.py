"""Which beginnings the earlier requests of one cache left, where no markers say what is kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

from coldturn.analysis.estimates.layout import setting
from coldturn.analysis.estimates.layout_maker import LayoutMaker
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters
from coldturn.analysis.verdicts.model import Known
from coldturn.analysis.verdicts.settings import PATHS
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces.exchange import Exchange

MOST_KEYS = 50_000
"""Beginnings that one book holds; the oldest are forgotten first, and what they held counts as lost."""

_Scope: TypeAlias = tuple[object, ...]
_NAMES = (*PATHS["cache_key_changed"], *PATHS["scope_changed"])
"""Settings by which a request may go to a cache of its own."""


class BeginningBook:
    """The beginnings of one model at one host, as the texts and the settings that count make them.

    Args:
        parameters: Rules of the provider.
        whole: Only whole requests can be read, rather than any part of their beginning.
    """

    def __init__(self, parameters: Parameters, *, whole: bool) -> None:
        self._layouts = LayoutMaker(parameters)
        self._whole = whole
        self._keys: OrderedDict[int, None] = OrderedDict()

    def observe(self, request: PromptRequest, *, served: bool) -> int:
        """Take the next request.

        Args:
            request: The request.
            served: Whether it was answered; one that was not leaves nothing.

        Returns:
            Content bytes of the longest beginning that an earlier request left.
        """
        layout = self._layouts.make(request)
        known = self._deepest(layout.keys)
        if served:
            self._keep(layout.keys[-1:] if self._whole else layout.keys[known:])
        return sum(layout.weights[:known])

    def _deepest(self, keys: Sequence[int]) -> int:
        """How many segments from the start an earlier request had."""
        return next((at + 1 for at in range(len(keys) - 1, -1, -1) if keys[at] in self._keys), 0)

    def _keep(self, keys: Sequence[int]) -> None:
        for key in keys:
            self._keys[key] = None
            self._keys.move_to_end(key)
        while len(self._keys) > MOST_KEYS:
            self._keys.popitem(last=False)


class Beginnings:
    """A book for each cache: source, format, host, model, and what else names a cache of its own."""

    def __init__(self) -> None:
        self._books: dict[_Scope, BeginningBook] = {}

    def observe(self, exchange: Exchange, request: PromptRequest, known: Known, *, served: bool) -> int:
        """Take the next request; as `BeginningBook.observe`.

        0 where rules bound what is held (slots, a capacity), name their entries, or where the request is not
        all of its prompt: the request that it continues is the only measure then.
        """
        models = (EntryModel.LONGEST_PREFIX, EntryModel.WHOLE_UNITS)
        bounded = known.parameters.slots is not None or known.parameters.capacity is not None
        partial = request.previous_response_id is not None or bool(exchange.parts_missing)
        if known.model not in models or bounded or partial:
            return 0
        scope = _scope(exchange, request, known)
        book = self._books.get(scope)
        if book is None:
            whole = known.model is EntryModel.WHOLE_UNITS
            book = self._books[scope] = BeginningBook(known.parameters, whole=whole)
        return book.observe(request, served=served)


def _scope(exchange: Exchange, request: PromptRequest, known: Known) -> _Scope:
    own = tuple(setting(request.settings, name) for name in _NAMES)
    routes = tuple(exchange.request_headers)
    return exchange.source, request.surface, known.host, request.model, own, routes
