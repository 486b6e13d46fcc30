"""Errors of the wire: a reply that cannot be read, and one that says the provider refused."""

from __future__ import annotations

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface


class UnreadableReplyError(ColdturnError):
    """A response body that is no reply of its surface."""

    slug = "unreadable-reply"

    def __init__(self, surface: Surface, reason: str) -> None:
        self.surface = surface
        self.reason = reason
        super().__init__(
            f"the response body cannot be read as a reply of {surface.value}: {reason}; "
            "check that the request's surface is the one the server speaks"
        )


class ProviderError(ColdturnError):
    """The provider answered with an error object instead of a reply.

    Attributes:
        kind: The provider's own error type or code, as sent.
    """

    slug = "provider-error"

    def __init__(self, surface: Surface, kind: str, message: str) -> None:
        self.surface = surface
        self.kind = kind
        super().__init__(
            f"the provider answered the {surface.value} request with an error ({kind}): {message}"
        )
