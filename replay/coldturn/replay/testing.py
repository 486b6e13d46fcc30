"""For users' own tests: assert that requests keep their prefix, wherever they come from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from coldturn.analysis.breaks.explain import Explainer
from coldturn.analysis.breaks.findings import Finding
from coldturn.reference.prefix.model import Fidelity
from coldturn.replay.check.measuring import sentence_of
from coldturn.traces.exchange import Exchange, ExchangeKind

__all__ = ["Request", "assert_prefix_stable", "breaks_of"]

Request: TypeAlias = bytes | str | Mapping[str, object] | Exchange
"""A request's body as sent, as text, as the value that was serialised, or with its address and answer."""


def breaks_of(requests: Iterable[Request], *, url: str = "") -> list[Finding]:
    """Every unplanned break of requests, in order.

    Args:
        requests: In the order in which they were sent; several conversations may be mixed. A mapping counts
            as its compact JSON, keys in its own order.
        url: Where they were sent: helps to recognise the format of bodies that do not tell.

    Raises:
        ValueError: One is no request to a model that coldturn reads, or there is none at all.
    """
    explainer = Explainer()
    for exchange in _exchanges(requests, url):
        explainer.add(exchange)
    if explainer.report.errors:
        error = explainer.report.errors[0]
        raise ValueError(f"request {error.entry} cannot be read: {error.message}")
    if not explainer.report.requests:
        raise ValueError("there is no request to a model to look at: the prefix of nothing is not stable")
    return sorted(
        (found for found in explainer.report.breaks if found.verdict.unplanned), key=lambda one: one.request
    )


def assert_prefix_stable(
    requests: Iterable[Request], *, url: str = "", moves: Mapping[str, str] | None = None
) -> None:
    """Assert that no request breaks the prefix of the one that it continues.

    Example:
        >>> first = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
        >>> answer = [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Go on."}]
        >>> assert_prefix_stable([first, {**first, "messages": [*first["messages"], *answer]}])

    Args:
        requests: As for `breaks_of`.
        url: As for `breaks_of`.
        moves: Causes that are deliberate here, each with the reason why. One that does not occur fails too.

    Raises:
        AssertionError: A prefix broke; the message names place, cause and cost of every break.
        ValueError: A reason is empty, or a request cannot be read.
    """
    allowed = dict(moves or {})
    if empty := [cause for cause, reason in allowed.items() if not reason.strip()]:
        raise ValueError(f"moves[{empty[0]!r}] has no reason: say why the prefix may move")
    found = breaks_of(requests, url=url)
    unwanted = [one for one in found if one.cause not in allowed]
    stale = sorted(allowed.keys() - {one.cause for one in found})
    lines = [*(sentence_of(one) for one in unwanted)]
    lines += [f"moves[{cause!r}] is stale: no break has this cause; take it out" for cause in stale]
    if lines:
        raise AssertionError("\n".join(lines))


def _exchanges(requests: Iterable[Request], url: str) -> Iterator[Exchange]:
    for number, request in enumerate(requests):
        if isinstance(request, Exchange):
            yield request
        else:
            yield Exchange(
                source="requests",
                entry=number,
                kind=ExchangeKind.MODEL,
                method="POST",
                url=url,
                request_body=_body(request, number),
                response_body=None,
                status=None,
                content_type="",
                started=None,
                fidelity=Fidelity.WIRE,
            )


def _body(request: bytes | str | Mapping[str, object], number: int) -> bytes:
    if isinstance(request, bytes):
        return request
    if isinstance(request, str):
        return request.encode("utf-8", "surrogatepass")
    try:
        text = json.dumps(request, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"request {number} is no JSON: {error}") from error
    return text.encode("utf-8", "surrogatepass")
