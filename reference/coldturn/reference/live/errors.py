"""What can go wrong between us and a provider, said without the key."""

from __future__ import annotations

from coldturn.reference.prefix.errors import ColdturnError

_QUOTED_CHARS = 300
"""How much of a provider's own words an error repeats."""


class EndpointError(ColdturnError):
    """The environment does not say how to reach a provider.

    Attributes:
        variable: The environment variable that is missing or wrong.
    """

    slug = "endpoint"

    def __init__(self, variable: str, reason: str) -> None:
        self.variable = variable
        super().__init__(f"the provider cannot be addressed: {variable} {reason}")


class ProviderUnreachableError(ColdturnError):
    """No connection to the provider came about, so nothing was sent."""

    slug = "provider-unreachable"

    def __init__(self, url: str, reason: str, variable: str) -> None:
        self.url = url
        super().__init__(
            f"{url} cannot be reached ({reason}); check the network, and {variable} if the address is wrong"
        )


class ProviderStatusError(ColdturnError):
    """The provider answered with a status that is no success.

    Attributes:
        status: The HTTP status.
        retry_after: Seconds that the provider asked to wait, or None.
    """

    slug = "provider-status"

    def __init__(
        self, url: str, status: int, said: str, advice: str, *, retry_after: float | None = None
    ) -> None:
        self.url = url
        self.status = status
        self.retry_after = retry_after
        folded = " ".join(said.split())
        quoted = folded if len(folded) <= _QUOTED_CHARS else folded[:_QUOTED_CHARS] + "…"
        super().__init__(f"{url} answered {status} ({quoted or 'without a word'}); {advice}")


class DroppedReplyError(ColdturnError):
    """The connection broke, or the stream ended, before the reply was whole.

    Attributes:
        received: Bytes of the reply that had arrived.
    """

    slug = "dropped-reply"

    def __init__(self, url: str, received: int, reason: str) -> None:
        self.url = url
        self.received = received
        super().__init__(
            f"the reply of {url} broke off after {received:,} bytes ({reason}); "
            "it was not asked for again, since it may be billed: repeat the message"
        )
