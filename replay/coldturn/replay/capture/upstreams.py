"""Which server a request to the proxy is meant for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from coldturn.replay.errors import UpstreamError

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(https?://.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server behind the proxy.

    Attributes:
        url: Its address, without a slash at the end.
        label: What recordings call it; empty for a server that is known by its address.
        prefix: Of the paths at the proxy that are meant for it: ``/NAME``, or nothing for all others.
    """

    url: str
    label: str = ""
    prefix: str = ""

    def target(self, path: str, query: str) -> str:
        """The address that a path at the proxy stands for, its bytes unchanged."""
        rest = path.removeprefix(self.prefix)
        if rest == "/" and self.prefix:
            rest = ""
        whole = self.url + rest
        if not urlsplit(self.url).path and not rest:
            whole += "/"
        return f"{whole}?{query}" if query else whole


def parse_upstreams(texts: Sequence[str], label: str = "") -> tuple[Upstream, ...]:
    """Read the servers that a person names, each an address or ``NAME=ADDRESS``.

    Args:
        texts: One without a name gets every path that belongs to no named one.
        label: What recordings call the one without a name.

    Raises:
        UpstreamError: An address is none, or two claim the same paths.
    """
    found: dict[str, Upstream] = {}
    for text in texts:
        named = _NAMED.fullmatch(text)
        name, url = named.groups() if named else ("", text)
        _ensure_address(url)
        upstream = Upstream(url.rstrip("/"), name or label, f"/{name}" if name else "")
        if upstream.prefix in found:
            raise UpstreamError(
                text, "another one has the same paths: write NAME=ADDRESS with a name of its own"
            )
        found[upstream.prefix] = upstream
    return tuple(found.values())


def choose(upstreams: Iterable[Upstream], path: str) -> Upstream | None:
    """The server that a path belongs to: a named one, else the one without a name."""
    rest: Upstream | None = None
    for upstream in upstreams:
        if not upstream.prefix:
            rest = upstream
        elif path == upstream.prefix or path.startswith(upstream.prefix + "/"):
            return upstream
    return rest


def _ensure_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise UpstreamError(url, f"it is no address ({error})") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise UpstreamError(url, "an address begins with http:// or https:// and a host")
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise UpstreamError(
            parts.hostname, "its address has a user, a query or a fragment, which the client is to send"
        )
