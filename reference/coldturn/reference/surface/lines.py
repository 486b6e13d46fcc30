"""One-line texts about servers and tools: folded, cut at a code point, never with a count or a time."""

from __future__ import annotations

ELLIPSIS = "…"


def one_line(text: str, limit: int) -> str:
    """Fold white space to single spaces and cut at `limit` code points, the ellipsis included."""
    folded = " ".join(text.split())
    return folded if len(folded) <= limit else folded[: limit - 1].rstrip() + ELLIPSIS


def first_line(text: str) -> str:
    """The first line that is not blank, folded."""
    return next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")


def hint(description: str, limit: int) -> str:
    """When to use a tool, in one line: the first line of its description."""
    return one_line(first_line(description), limit)


def server_line(server: str, description: str, limit: int, *, state: str = "") -> str:
    """The line that makes a server known.

    Args:
        server: Connection id.
        description: From the Spec or the server; may be empty.
        limit: Code points of the description.
        state: Why nothing can be found there, when that is so.
    """
    text = one_line(description, limit) or "no description"
    return f"{server}: {text}" + (f" ({state})" if state else "")
