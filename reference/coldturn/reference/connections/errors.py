"""What can go wrong with a connection; a turn survives each of these as an ordinary tool error."""

from __future__ import annotations

import mcp_types
from mcp import MCPError

from coldturn.reference.prefix.errors import ColdturnError


class UnknownConnectionError(ColdturnError):
    """No connection has this id."""

    slug = "unknown-connection"

    def __init__(self, connection: str) -> None:
        super().__init__(f"no connection is named {connection!r}; connect it first or check its id")


class UnavailableError(ColdturnError):
    """The connection is not ready, or was lost before an answer came."""

    slug = "connection-unavailable"

    def __init__(self, connection: str, reason: str) -> None:
        self.connection = connection
        self.reason = reason
        super().__init__(f"{connection} cannot be reached ({reason}); try again later or do without it")


class CallTimeoutError(ColdturnError):
    """A request outlived its time limit and was cancelled."""

    slug = "call-timeout"

    def __init__(self, connection: str, seconds: float) -> None:
        super().__init__(
            f"{connection} did not answer within {seconds:g} seconds and the request was cancelled;"
            " ask for less at once or raise the time limit"
        )


class UndialledConnectionError(ColdturnError):
    """A connection says neither which command to run nor which address to call."""

    slug = "no-transport"

    def __init__(self, connection: str) -> None:
        super().__init__(f"connection {connection!r} has neither a command nor a url; give it one of them")


def describe_failure(error: BaseException) -> str:
    """One line for the innermost cause of `error`; task groups wrap it."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_lost(error: BaseException) -> bool:
    """Whether `error` says that the session is gone, not merely that one request failed."""
    if not isinstance(error, MCPError):
        return False
    # The SDK reports an HTTP 404 for a known session as an invalid request with this message.
    return error.code == mcp_types.CONNECTION_CLOSED or (
        error.code == mcp_types.INVALID_REQUEST and error.message == "Session terminated"
    )
