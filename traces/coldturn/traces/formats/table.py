"""The table of formats. Order matters: the first that recognises an input has it."""

from __future__ import annotations

from collections.abc import Callable

from coldturn.traces.formats import (
    cassettes,
    claude_code,
    codex,
    har,
    langfuse,
    mini_swe_agent,
    otlp,
    pi,
    prompt_log,
    requests,
)
from coldturn.traces.formats.model import Format, Head, Layout
from coldturn.traces.kinds import InputKind


def _has(*keys: str) -> Callable[[Head], bool]:
    """A format whose first object holds all of `keys`."""
    return lambda head: head.layout is not Layout.TEXT and set(keys) <= head.keys


_NOT_READ = (
    Format(InputKind.HASH_TRACE, "a trace of block hashes", _has("hash_ids"), None, numbers=True),
    Format(
        InputKind.USAGE_TABLE,
        "a table of usage numbers",
        _has("prompt_tokens", "completion_tokens"),
        None,
        numbers=True,
    ),
)

FORMATS: tuple[Format, ...] = (
    *cassettes.FORMATS,
    *har.FORMATS,
    *langfuse.FORMATS,
    *otlp.FORMATS,
    *prompt_log.FORMATS,
    *claude_code.FORMATS,
    *codex.FORMATS,
    *pi.FORMATS,
    *mini_swe_agent.FORMATS,
    *_NOT_READ,
    *requests.FORMATS,
)

_BY_KIND = {one.kind: one for one in FORMATS}


def format_of(kind: InputKind) -> Format:
    """The format of a kind."""
    return _BY_KIND[kind]


def recognised(head: Head) -> Format | None:
    """The format that an input with this beginning is of."""
    return next((one for one in FORMATS if one.recognise(head)), None)
