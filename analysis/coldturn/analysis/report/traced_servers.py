"""Servers as a trace tells of them: tiers and bytes at each turn, every refresh of a catalogue, calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coldturn.analysis.report.model import CatalogueVersion, Edit, Server
from coldturn.traces import names
from coldturn.traces.span_reader import AttributeValue, SpanRow


def servers_of(spans: Iterable[SpanRow]) -> list[Server]:
    """Every server that the spans name, in the order in which it was met."""
    known: dict[str, Server] = {}
    for span in sorted(spans, key=lambda span: span.start):
        if span.attributes.get(names.OPERATION) == "invoke_agent":
            _turn(known, span)
        name = span.attributes.get(names.SERVER_NAME)
        if not isinstance(name, str):
            continue
        server = known.setdefault(name, Server(name))
        if names.CATALOG_PREVIOUS in span.attributes:
            _refresh(server, span)
        elif span.attributes.get(names.OPERATION) == "execute_tool":
            server.calls += 1
    return list(known.values())


def _turn(known: dict[str, Server], span: SpanRow) -> None:
    listed = _values(span, names.SERVER_NAMES)
    tiers, sizes = _values(span, names.SERVER_TIERS), _values(span, names.SERVER_PROMPT_BYTES)
    for place, name in enumerate(listed):
        server = known.setdefault(str(name), Server(str(name)))
        tier = str(tiers[place]) if place < len(tiers) else ""
        if tier and (not server.tiers or server.tiers[-1] != tier):
            server.tiers.append(tier)
        size = sizes[place] if place < len(sizes) else None
        if isinstance(size, int):
            server.prompt_bytes = max(size, server.prompt_bytes or 0)


def _refresh(server: Server, span: SpanRow) -> None:
    version, before = span.attributes.get(names.CATALOG_VERSION), span.attributes[names.CATALOG_PREVIOUS]
    if not isinstance(version, int) or version == before:
        return
    turn, trigger = span.attributes.get(names.TURN_INDEX), span.attributes.get(names.CATALOG_TRIGGER)
    place = f"turn {turn}" if isinstance(turn, int) else "before the first turn"
    tools = span.attributes.get(names.CATALOG_TOOL_COUNT)
    server.versions.append(
        CatalogueVersion(
            number=version,
            when=f"{place}, {trigger}" if trigger else place,
            tools=tools if isinstance(tools, int) else 0,
            bytes=None,
            added=_names(span, names.CATALOG_ADDED) if before else (),
            removed=_names(span, names.CATALOG_REMOVED),
            changed=tuple(map(Edit, _names(span, names.CATALOG_CHANGED))),
        )
    )


def _values(span: SpanRow, name: str) -> Sequence[AttributeValue]:
    value = span.attributes.get(name)
    return value if isinstance(value, tuple) else ()


def _names(span: SpanRow, name: str) -> tuple[str, ...]:
    return tuple(map(str, _values(span, name)))
