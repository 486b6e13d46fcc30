"""Which surface a body is of: by its address where that tells, else by what it holds."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import Surface

_ENDINGS = (
    ("/chat/completions", Surface.CHAT_COMPLETIONS),
    ("/responses", Surface.RESPONSES),
    ("/responses/compact", Surface.RESPONSES),
    ("/messages", Surface.MESSAGES),
)
_NO_PROMPT = (
    "/embeddings",
    "/count_tokens",
    "/input_tokens",
    "/moderations",
    "/files",
    "/batches",
    "/converse",
    "/converse-stream",
    "/audio/transcriptions",
    "/images/generations",
)
_ONLY_MESSAGES = frozenset(
    {
        "system",
        "anthropic_version",
        "anthropic_beta",
        "stop_sequences",
        "thinking",
        "mcp_servers",
        "container",
        "cache_control",
        "output_config",
        "top_k",
    }
)
_ONLY_CHAT = frozenset(
    {
        "functions",
        "function_call",
        "max_completion_tokens",
        "response_format",
        "stream_options",
        "n",
        "stop",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "seed",
        "user",
        "parallel_tool_calls",
        "reasoning_effort",
        "modalities",
        "store",
        "prompt_cache_key",
        "verbosity",
    }
)


def recognise_surface(body_or_keys: bytes | Collection[str], url: str = "") -> Surface | None:
    """The request format of a body, or of its top-level keys; None when it is none that we know.

    Args:
        body_or_keys: A request body, or only its top-level keys (then less can be told).
        url: Address it was sent to, when known.
    """
    path = urlsplit(url).path.rstrip("/")
    if path.endswith(_NO_PROMPT):
        return None
    if isinstance(body_or_keys, bytes | bytearray | memoryview):
        try:
            members = slicing.members(bytes(body_or_keys))
        except UnreadableBodyError:
            return None
    else:
        members = None
    keys = (
        frozenset(body_or_keys)
        if members is None and not isinstance(body_or_keys, bytes | bytearray | memoryview)
        else frozenset(one.key for one in members.members)
        if members is not None
        else frozenset()
    )
    return surface_of(keys, members, path)


def surface_of(keys: Collection[str], members: slicing.Members | None, path: str) -> Surface | None:
    """The surface by address path, then by keys, then by what stands in tools and messages."""
    for ending, surface in _ENDINGS:
        if path.endswith(ending) and _fits(keys, surface):
            return surface
    if "messages" not in keys:
        has_input = "input" in keys or "previous_response_id" in keys
        return Surface.RESPONSES if has_input or {"instructions", "model"} <= set(keys) else None
    if "input" in keys:
        return None
    return _of_messages(frozenset(keys), members)


def _fits(keys: Collection[str], surface: Surface) -> bool:
    return surface is Surface.RESPONSES or "messages" in keys


def _of_messages(keys: frozenset[str], members: slicing.Members | None) -> Surface:
    tools = (members.raw("tools") if members else None) or b""
    if b'"input_schema"' in tools or b'"function"' in tools:
        return Surface.MESSAGES if b'"input_schema"' in tools else Surface.CHAT_COMPLETIONS
    only = len(keys & _ONLY_MESSAGES) - len(keys & _ONLY_CHAT)
    if only:
        return Surface.MESSAGES if only > 0 else Surface.CHAT_COMPLETIONS
    messages = (members.raw("messages") if members else None) or b""
    if b'"tool_use_id"' in messages or b'"tool_use"' in messages:
        return Surface.MESSAGES
    model = (members.text("model") if members else None) or ""
    return Surface.MESSAGES if "claude" in model and "max_tokens" in keys else Surface.CHAT_COMPLETIONS
