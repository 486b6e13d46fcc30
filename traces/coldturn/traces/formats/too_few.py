"""Counts that cannot be those of a whole prompt: of an instrumentation that leaves out what was read.

Text has about four bytes a token, code and other languages fewer; twelve times as many over a whole prompt is
no tokenizer's. Where bytes are not counted as text (images, files, and what a server leaves out of the
prompt), nothing is said.
"""

from __future__ import annotations

import re
from typing import Final

_MOST_BYTES: Final = 48
"""A token, on average over a prompt of any length."""
_SHORT: Final = 2_000
"""Bytes that a prompt may have besides, for what is around its texts."""
_BINARY = re.compile(rb"[A-Za-z0-9+/=_-]{400}")
_LEFT_OUT = re.compile(
    rb'"(?:defer_loading|context_management|truncation|thinking|reasoning|encrypted_content|container)"'
)


def has_too_few(body: bytes, tokens: int | None) -> bool:
    """Whether a body is far too long for the input tokens that are reported of it.

    Args:
        body: The request's JSON.
        tokens: As reported, read and written ones included; None means not reported.
    """
    if tokens is None or len(body) <= _SHORT + _MOST_BYTES * tokens:
        return False
    return _BINARY.search(body) is None and _LEFT_OUT.search(body) is None
