"""Catalogues of MCP servers from recorded traffic: every version of a list of tools, and what it changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from coldturn.analysis.report.model import CatalogueVersion, Edit, Server
from coldturn.reference.prefix.secrets import blotted_sides, blotted_text
from coldturn.reference.wire.replies.sse import event_data, is_event_stream
from coldturn.traces.exchange import Exchange

_STDIO_HOST = re.compile(r"^stdio\.(.+)\.invalid$")
_CONTEXT = 160
_BEFORE = 40


class _Params(msgspec.Struct):
    name: str | None = None
    cursor: str | None = None


class _Call(msgspec.Struct):
    method: str = ""
    params: _Params = msgspec.field(default_factory=_Params)


class _Tool(msgspec.Struct):
    name: str


class _Listing(msgspec.Struct, rename="camel"):
    tools: list[msgspec.Raw]
    next_cursor: str | None = None


class _Answer(msgspec.Struct):
    result: _Listing


@dataclass(slots=True)
class _Known:
    """One server, and the list of tools as far as it has been read."""

    server: Server
    tools: dict[str, bytes] | None = None
    pages: dict[str, bytes] = field(default_factory=dict)


class Catalogues:
    """Takes MCP exchanges in the order of their recording.

    Args:
        content: Whether what changed in a definition may be shown.
    """

    def __init__(self, *, content: bool) -> None:
        self._content = content
        self._known: dict[tuple[str, str], _Known] = {}

    def add(self, exchange: Exchange) -> None:
        """Take the next exchange; what is neither a listing nor a call passes."""
        try:
            call = msgspec.json.decode(exchange.request_body, type=_Call)
        except (msgspec.DecodeError, RecursionError):
            return
        if call.method == "tools/call":
            self._of(exchange).server.calls += 1
        elif call.method == "tools/list":
            known = self._of(exchange)
            if call.params.cursor is None:
                known.pages = {}
            if (listing := _listing(exchange)) is not None:
                self._page(known, listing, exchange)

    def servers(self) -> list[Server]:
        """Every server that was asked for its tools or to use one, in that order."""
        return [known.server for known in self._known.values()]

    def versions_at(self, url: str) -> list[CatalogueVersion]:
        """The versions of the list of the server at an address; none when it was never asked for it."""
        found = (known.server.versions for (_, address), known in self._known.items() if address == url)
        return next(found, [])

    def _of(self, exchange: Exchange) -> _Known:
        place = exchange.source, exchange.url.partition("?")[0]
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = _Known(Server(_name(exchange.url, exchange.source)))
        return known

    def _page(self, known: _Known, listing: _Listing, exchange: Exchange) -> None:
        known.pages |= dict(_definitions(listing))
        if listing.next_cursor or known.pages == known.tools:
            return
        before, now = known.tools or {}, known.pages
        versions = known.server.versions
        versions.append(
            CatalogueVersion(
                number=len(versions) + 1,
                when=f"entry {exchange.entry}",
                tools=len(now),
                bytes=sum(map(len, now.values())),
                added=tuple(sorted(now.keys() - before.keys())) if known.tools is not None else (),
                removed=tuple(sorted(before.keys() - now.keys())),
                changed=tuple(self._edits(before, now)),
            )
        )
        known.tools, known.pages = now, {}

    def _edits(self, before: Mapping[str, bytes], now: Mapping[str, bytes]) -> Iterator[Edit]:
        for name in sorted(before.keys() & now.keys()):
            if before[name] != now[name]:
                yield _edit(name, before[name], now[name]) if self._content else Edit(name)


def _listing(exchange: Exchange) -> _Listing | None:
    body = exchange.response_body or b""
    if is_event_stream(body, exchange.content_type):
        found = (_decoded(data.encode()) for data in event_data(body))
        return next((one for one in found if one is not None), None)
    return _decoded(body)


def _decoded(body: bytes) -> _Listing | None:
    try:
        return msgspec.json.decode(body, type=_Answer).result
    except (msgspec.DecodeError, RecursionError):
        return None


def _definitions(listing: _Listing) -> Iterator[tuple[str, bytes]]:
    for raw in listing.tools:
        try:
            yield msgspec.json.decode(raw, type=_Tool).name, bytes(msgspec.json.format(raw, indent=-1))
        except (msgspec.DecodeError, RecursionError):
            continue


def _edit(name: str, was: bytes, now: bytes) -> Edit:
    """The first difference of two definitions, with a little of what stands in front."""
    older, newer = was.decode("utf-8", "replace"), now.decode("utf-8", "replace")
    pairs = zip(older, newer, strict=False)
    at = next(
        (place for place, (one, other) in enumerate(pairs) if one != other), min(len(older), len(newer))
    )
    front = older[:at].encode()
    before, gone, came = blotted_sides(front, older[at:].encode(), newer[at:].encode())
    return Edit(name, before[-_BEFORE:], gone[:_CONTEXT], came[:_CONTEXT])


def _name(url: str, source: str) -> str:
    """The label of a recorded stdio server, else host and path, else the input's name."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return source
    stdio = _STDIO_HOST.match(host)
    if stdio:
        return stdio[1]
    return blotted_text(f"{host}{parts.path.rstrip('/')}") if host else Path(source).name
