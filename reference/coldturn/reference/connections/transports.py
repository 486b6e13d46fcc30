"""How a connection is dialled: a command's stdin and stdout, an address, or whatever a factory returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.mcpserver import MCPServer

from coldturn.reference.connections.errors import UndialledConnectionError
from coldturn.reference.spec import ConnectionSpec

Peer: TypeAlias = Transport | MCPServer[Any] | Server[Any] | StdioServerParameters
"""What `mcp.Client` connects to."""

TransportFactory: TypeAlias = Callable[[], Peer]
"""Called once per attempt: a transport serves one session."""


def factory_of(spec: ConnectionSpec) -> TransportFactory:
    """Make the factory that the Spec asks for.

    Raises:
        UndialledConnectionError: Neither a command nor a url.
    """
    if spec.command:
        command, *arguments = spec.command
        parameters = StdioServerParameters(command=command, args=arguments)
        return lambda: parameters
    if spec.url is None:
        raise UndialledConnectionError(spec.id)
    url = spec.url
    # No limit on the size of an event: the record log holds results whole.
    return lambda: streamable_http_client(url, max_sse_event_size=None)
