"""Connections to MCP servers: supervised, asked through a hub, and their catalogues kept fresh."""

from coldturn.reference.connections.backoff import Backoff
from coldturn.reference.connections.connection import ConnectionState, Limits
from coldturn.reference.connections.errors import CallTimeoutError, UnavailableError, UnknownConnectionError
from coldturn.reference.connections.hub import Hub
from coldturn.reference.connections.refresh import Refresher, Sweep, sweeping
from coldturn.reference.connections.transports import Peer, TransportFactory

__all__ = [
    "Backoff",
    "CallTimeoutError",
    "ConnectionState",
    "Hub",
    "Limits",
    "Peer",
    "Refresher",
    "Sweep",
    "TransportFactory",
    "UnavailableError",
    "UnknownConnectionError",
    "sweeping",
]
