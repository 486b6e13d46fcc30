"""Every model request of the published recordings is read, and its places are in its bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from coldturn.reference.prefix.difference import first_difference, has_wire_drift, wire_offset
from coldturn.reference.prefix.errors import ColdturnError, UnreadableBodyError
from coldturn.reference.prefix.ledger import ledger_of
from coldturn.reference.prefix.model import BlockKind, Fidelity, Surface
from coldturn.reference.prefix.request import PromptRequest, read_request, recognise_surface
from coldturn.reference.wire.model import RENDERED_SURFACES
from coldturn.traces.exchange import Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges


def exchanges(corpus: Path) -> Iterator[Exchange]:
    for path in sorted([*(corpus / "vcr-llm").iterdir(), *(corpus / "llm-trace").glob("*/*.jsonl")]):
        try:
            items = list(read_exchanges(path))
        except ColdturnError:
            # A format that the readers refuse by name; their own tests say which.
            continue
        for item in items:
            if isinstance(item, Exchange) and item.kind is ExchangeKind.MODEL:
                yield item


def test_every_published_request_is_read(corpus: Path) -> None:
    surfaces: Counter[Surface] = Counter()
    fidelities: Counter[Fidelity] = Counter()
    blocks = others = 0
    for item in exchanges(corpus):
        try:
            request = read_request(item.request_body, url=item.url, fidelity=item.fidelity)
        except UnreadableBodyError:
            assert recognise_surface(item.request_body, item.url) is None
            continue
        surfaces[request.surface] += 1
        fidelities[request.fidelity] += 1
        blocks += len(request.blocks)
        others += sum(one.kind is BlockKind.OTHER for one in request.blocks)
        _check_sizes(request)
        _check_places(request)
        assert first_difference(request, request) is None
        assert not has_wire_drift(request, request)
    assert all(surfaces[surface] > 30 for surface in RENDERED_SURFACES)
    assert (surfaces[Surface.CONVERSE], surfaces[Surface.GENERATE_CONTENT]) == (11, 15)
    assert others < blocks / 50


def _check_sizes(request: PromptRequest) -> None:
    ledger = ledger_of(request)
    assert request.content_bytes == sum(len(one.facts.content) for one in request.blocks)
    assert request.content_bytes == sum(one.bytes for one in ledger.segments)
    assert request.content_bytes == sum(one.bytes for one in ledger.zones)
    assert all(one.block is None or 0 <= one.block < len(request.blocks) for one in request.markers)


def _check_places(request: PromptRequest) -> None:
    for number, block in enumerate(request.blocks):
        start, end = block.span
        assert request.body[start : start + 1] in {b"{", b'"'}
        size = len(block.facts.content)
        places = [wire_offset(request, number, offset) for offset in (0, size // 2, size)]
        if request.fidelity is not Fidelity.WIRE:
            assert places == [None] * 3
            continue
        assert all(place is not None and start <= place <= end for place in places)
        assert places == sorted(places, key=lambda place: place or 0)
