"""Where a provider is reached and with which key: the environment variables of the official SDKs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from coldturn.reference.live.errors import EndpointError
from coldturn.reference.prefix.model import Surface

ANTHROPIC_VERSION = "2023-06-01"
"""Value of the ``anthropic-version`` header, without which the API refuses a request."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """Names and defaults as the official SDK of a provider has them."""

    base_variable: str
    key_variable: str
    base: str


_OPENAI = _Provider("OPENAI_BASE_URL", "OPENAI_API_KEY", "https://api.openai.com/v1")
_ANTHROPIC = _Provider("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "https://api.anthropic.com")

_PLACES = {
    Surface.MESSAGES: (_ANTHROPIC, "/v1/messages"),
    Surface.CHAT_COMPLETIONS: (_OPENAI, "/chat/completions"),
    Surface.RESPONSES: (_OPENAI, "/responses"),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests of one surface go.

    Attributes:
        url: Holds no secret.
        headers: Of every request; they hold the key and are left out of the representation.
        key: The key, empty for a server that wants none.
        base_variable: The environment variable that sets the address.
        key_variable: The one that sets the key.
    """

    surface: Surface
    url: str
    base_variable: str
    key_variable: str
    headers: Mapping[str, str] = field(repr=False)
    key: str = field(default="", repr=False)


def endpoint_of(surface: Surface, environment: Mapping[str, str]) -> Endpoint:
    """Read the address and the key of a surface's provider.

    Without a base URL the provider's own is taken, and then a key is needed; a server of one's own may want
    none.

    Args:
        surface: What requests are written in.
        environment: Such as ``os.environ``.

    Raises:
        EndpointError: No key for the provider's own address, or a value that cannot be used.
    """
    provider, path = _PLACES[surface]
    given = environment.get(provider.base_variable, "").strip()
    key = environment.get(provider.key_variable, "").strip()
    if not given and not key:
        raise EndpointError(
            provider.key_variable,
            f"is not set; set it, or set {provider.base_variable} to a server that wants no key",
        )
    if not all("!" <= character <= "~" for character in key):
        raise EndpointError(
            provider.key_variable, "holds a character that no header can carry; copy the key again"
        )
    return Endpoint(
        surface=surface,
        url=_checked(given or provider.base, provider.base_variable) + path,
        base_variable=provider.base_variable,
        key_variable=provider.key_variable,
        # A connection of its own per request: a kept one may be closed by the time a person answers, and what
        # went into it cannot be repeated, since it may be billed.
        headers={"content-type": "application/json", "connection": "close", **_headers(provider, key)},
        key=key,
    )


def _headers(provider: _Provider, key: str) -> dict[str, str]:
    if provider is _ANTHROPIC:
        version = {"anthropic-version": ANTHROPIC_VERSION}
        return {**version, "x-api-key": key} if key else version
    return {"authorization": f"Bearer {key}"} if key else {}


def _checked(base: str, variable: str) -> str:
    """Refuse an address that is none, or that could carry a secret into a recording."""
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise EndpointError(variable, "is no address; it looks like https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError(
            variable, "holds a user, a password, a query or a fragment; leave them out, the key has its own"
        )
    return base.rstrip("/")
