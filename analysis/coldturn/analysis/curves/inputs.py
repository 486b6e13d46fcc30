"""Capacity and lifetime curves of whole inputs: traces of block hashes, and recorded requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import urlsplit

from coldturn.analysis.curves.block_trace import BlockRequest
from coldturn.analysis.curves.curves import Curve, StackDistances
from coldturn.analysis.entries.store import TouchOrder
from coldturn.analysis.estimates.chains import Chains
from coldturn.analysis.estimates.layout_maker import LayoutMaker
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.analysis.estimates.tokens import BytesWeigh, Weigh
from coldturn.analysis.sources import reply_of, was_refused
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.request import read_request
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind

_PLAIN = Parameters(minimum=0)


@dataclass(frozen=True, slots=True)
class Curves:
    """How much could be read of an input: longest prefixes, without the minimum and the grid of any provider.

    Attributes:
        capacity: By what fits into the cache of each scope.
        ttl: By the lifetime of an entry; None when a request of the input has no time.
        unit: Of sizes and capacities.
        requests: How many were taken.
        left_out: Entries that hold no readable request, or one whose beginning is not known.
    """

    capacity: Curve
    ttl: Curve | None
    unit: str
    requests: int
    left_out: int


class BlockTaking:
    """Takes traces of block hashes, each of which is a scope of its own.

    Args:
        touch: The order in which one request's blocks become the most recent ones.
    """

    def __init__(self, touch: TouchOrder = TouchOrder.FRONT_TO_BACK) -> None:
        self._distances = StackDistances(touch)
        self._taken = self._left_out = 0

    def add(self, item: BlockRequest | EntryError, source: str = "") -> None:
        """Take the next request of a trace.

        Raises:
            NotPrefixesError: The hashes do not stand for a block and all before it.
        """
        if isinstance(item, EntryError):
            self._left_out += 1
            return
        self._distances.observe(item.blocks, now=item.started, scope=source)
        self._taken += 1

    def curves(self) -> Curves:
        """What came of it."""
        distances = self._distances
        capacity, ttl = distances.capacity_curve(), distances.ttl_curve()
        return Curves(capacity, ttl, "blocks", self._taken, self._left_out)


class ExchangeTaking:
    """Takes recorded requests; each source, format, host and model is a scope of its own.

    Args:
        weigh: How tokens are estimated; four bytes are one when None.
        touch: The order in which one request's segments become the most recent ones.
    """

    def __init__(self, weigh: Weigh | None = None, touch: TouchOrder = TouchOrder.FRONT_TO_BACK) -> None:
        self._distances = StackDistances(touch)
        self._timed = True
        self._taken = self._left_out = 0
        self._weigh = weigh or BytesWeigh()
        self._layouts: dict[tuple[str, ...], LayoutMaker] = {}
        self._chains = Chains()

    def add(self, item: Exchange | EntryError) -> None:
        """Take the next exchange of its source."""
        if isinstance(item, EntryError):
            self._left_out += 1
        elif item.kind is ExchangeKind.MODEL:
            taken = self._take(item)
            self._taken += taken
            self._left_out += not taken

    def curves(self) -> Curves:
        """What came of it."""
        distances = self._distances
        ttl = distances.ttl_curve() if self._timed else None
        return Curves(distances.capacity_curve(), ttl, "estimated tokens", self._taken, self._left_out)

    def _take(self, item: Exchange) -> bool:
        """Whether the exchange holds a request whose whole prompt is known."""
        if was_refused(item):
            return False
        try:
            request = read_request(item.request_body, url=item.url, fidelity=item.fidelity)
        except UnreadableBodyError:
            return False
        earlier = self._chains.earlier(request)
        if earlier is None:
            return False
        self._chains.answered(request, earlier, reply_of(item, request))
        host = (urlsplit(item.url).hostname or "") if item.url else ""
        scope = (item.source, request.surface.value, host, request.model or "")
        maker = self._layouts.setdefault(scope, LayoutMaker(_PLAIN, self._weigh))
        layout = maker.make(request, earlier)
        rate = self._weigh.tokens_per_unit
        ends = [int(units * rate) for units in accumulate(layout.weights)]
        self._timed = self._timed and item.started is not None
        self._distances.observe(layout.links, ends, item.started or 0.0, scope)
        return True


def block_curves(
    requests: Iterable[BlockRequest | EntryError], *, touch: TouchOrder = TouchOrder.FRONT_TO_BACK
) -> Curves:
    """Curves of one trace of block hashes, counted in blocks.

    Args:
        requests: As `coldturn.analysis.curves.block_trace.read_block_trace` yields them.
        touch: The order in which one request's blocks become the most recent ones.

    Raises:
        NotPrefixesError: The hashes do not stand for a block and all before it.
    """
    taking = BlockTaking(touch)
    for item in requests:
        taking.add(item)
    return taking.curves()


def exchange_curves(exchanges: Iterable[Exchange | EntryError], *, weigh: Weigh | None = None) -> Curves:
    """Curves of recorded requests, counted in estimated tokens and cut at segments.

    Args:
        exchanges: In the order of the recording.
        weigh: How tokens are estimated; four bytes are one when None.
    """
    taking = ExchangeTaking(weigh)
    for item in exchanges:
        taking.add(item)
    return taking.curves()
