"""The MCP servers of a recording: what it holds of each, and the connection that a replay makes to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from coldturn.replay.playback.recording import Entry, Recording, address
from coldturn.replay.playback.sse import result_of

_STDIO_HOST = re.compile(r"^stdio\.(.+)\.invalid$")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One MCP server of a recording.

    Attributes:
        id: Connection id: the recorder's label, else the server's name, else its host; made fit.
        url: Its address.
        sessions: MCP conversations: handshakes that succeeded, or one when it was recorded without.
        calls: ``tools/call`` requests.
        lists: ``tools/list`` requests, each page.
        tools: Names that it listed, or that were called on it.
        first: Epoch seconds of its first entry.
        names: Everything that it is called: label, own name, host; prefixes of tool names are among them.
    """

    id: str
    url: str
    sessions: int
    calls: int
    lists: int
    tools: frozenset[str]
    first: float
    names: tuple[str, ...]


def endpoints_of(recording: Recording) -> tuple[Endpoint, ...]:
    """The servers in the order in which they were first asked."""
    taken: set[str] = set()
    found: list[Endpoint] = []
    for url in recording.endpoints:
        entries = [entry for entry in recording.mcp if address(entry.url) == url]
        endpoint = _endpoint(url, entries, taken)
        taken.add(endpoint.id)
        found.append(endpoint)
    return tuple(found)


def _endpoint(url: str, entries: Sequence[Entry], taken: set[str]) -> Endpoint:
    label, own, host = entries[0].server, _server_name(entries), _host(url)
    names = tuple(dict.fromkeys(name for name in (label if label != url else "", own, host) if name))
    methods = [entry.rpc.method for entry in entries if entry.rpc is not None]
    return Endpoint(
        id=_unique(connection_id(names[0] if names else "server"), taken),
        url=url,
        sessions=max(sum(_opens_session(entry) for entry in entries), 1),
        calls=methods.count("tools/call"),
        lists=methods.count("tools/list"),
        tools=frozenset(_tool_names(entries)),
        first=entries[0].start,
        names=names,
    )


def connection_id(name: str) -> str:
    """A name made fit for a connection's id: letters, digits, underscore and hyphen, at most 32."""
    fit = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:32].rstrip("-_")
    return fit or "server"


def _unique(name: str, taken: set[str]) -> str:
    number, found = 2, name
    while found in taken:
        found = f"{name[:29]}-{number}"
        number += 1
    return found


def _host(url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    stdio = _STDIO_HOST.match(host)
    return stdio.group(1) if stdio else host


def _opens_session(entry: Entry) -> bool:
    """A handshake that succeeded; a discovery counts when it settles on an era without handshakes."""
    if entry.rpc is None or entry.status >= 400:
        return False
    if entry.rpc.method == "initialize":
        return result_of(entry.body) is not None
    if entry.rpc.method == "server/discover":
        versions = (result_of(entry.body) or {}).get("supportedVersions") or ()
        return any(version in MODERN_PROTOCOL_VERSIONS for version in versions if isinstance(version, str))
    return False


def _server_name(entries: Sequence[Entry]) -> str:
    for entry in entries:
        if entry.rpc is None or entry.rpc.method not in ("initialize", "server/discover"):
            continue
        result = result_of(entry.body) or {}
        stamped = _object(result.get("_meta")).get(SERVER_INFO_META_KEY)
        name = _object(result.get("serverInfo") or stamped).get("name")
        if isinstance(name, str) and name:
            return name
    return ""


def _tool_names(entries: Sequence[Entry]) -> list[str]:
    names: list[str] = []
    for entry in entries:
        if entry.rpc is None:
            continue
        if entry.rpc.method == "tools/call":
            names.append(str(entry.rpc.params.get("name")))
        elif entry.rpc.method == "tools/list":
            listed = (result_of(entry.body) or {}).get("tools")
            tools = listed if isinstance(listed, list) else []
            names += [str(tool["name"]) for tool in map(_object, tools) if "name" in tool]
    return names


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
