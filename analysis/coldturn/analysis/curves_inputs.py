"""Capacity and lifetime curves of whole inputs: traces of block hashes, and recorded requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import urlsplit

from coldturn.analysis.block_trace import BlockRequest
from coldturn.analysis.chains import Chains
from coldturn.analysis.curves import Curve, StackDistances
from coldturn.analysis.entries.store import TouchOrder
from coldturn.analysis.layout_maker import LayoutMaker
from coldturn.analysis.ruleset import Parameters
from coldturn.analysis.sources import reply_of, was_refused
from coldturn.analysis.tokens import BytesWeigh, Weigh
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


def block_curves(
    requests: Iterable[BlockRequest | EntryError], *, touch: TouchOrder = TouchOrder.FRONT_TO_BACK
) -> Curves:
    """Curves of a trace of block hashes, counted in blocks.

    Args:
        requests: As `coldturn.analysis.block_trace.read_block_trace` yields them.
        touch: The order in which one request's blocks become the most recent ones.

    Raises:
        NotPrefixesError: The hashes do not stand for a block and all before it.
    """
    distances = StackDistances(touch)
    taken = left_out = 0
    for item in requests:
        if isinstance(item, EntryError):
            left_out += 1
            continue
        distances.observe(item.blocks, now=item.started)
        taken += 1
    return Curves(distances.capacity_curve(), distances.ttl_curve(), "blocks", taken, left_out)


def exchange_curves(
    exchanges: Iterable[Exchange | EntryError],
    *,
    weigh: Weigh | None = None,
    touch: TouchOrder = TouchOrder.FRONT_TO_BACK,
) -> Curves:
    """Curves of recorded requests, counted in estimated tokens and cut at segments.

    Args:
        exchanges: In the order of the recording; each source, format, host and model is a scope of its own.
        weigh: How tokens are estimated; four bytes are one when None.
        touch: The order in which one request's segments become the most recent ones.
    """
    taking = _Taking(weigh or BytesWeigh(), touch)
    left_out = sum(not taking.add(item) for item in exchanges if _is_model(item))
    distances = taking.distances
    return Curves(
        distances.capacity_curve(),
        distances.ttl_curve() if taking.timed else None,
        "estimated tokens",
        taking.taken,
        left_out,
    )


def _is_model(item: Exchange | EntryError) -> bool:
    return isinstance(item, EntryError) or item.kind is ExchangeKind.MODEL


class _Taking:
    """Recorded requests on their way into the stack."""

    def __init__(self, weigh: Weigh, touch: TouchOrder) -> None:
        self.distances = StackDistances(touch)
        self.timed = True
        self.taken = 0
        self._weigh = weigh
        self._layouts: dict[tuple[str, ...], LayoutMaker] = {}
        self._chains = Chains()

    def add(self, item: Exchange | EntryError) -> bool:
        """Take one; False when it holds no request whose whole prompt is known."""
        if isinstance(item, EntryError) or was_refused(item):
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
        self.timed = self.timed and item.started is not None
        self.distances.observe(layout.links, ends, item.started or 0.0, scope)
        self.taken += 1
        return True
