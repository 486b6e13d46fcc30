"""Which surface a body is of: by its address where that tells, else by what it holds."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import Surface

_ENDINGS = (
    ("/chat/completions", Surface.CHAT_COMPLETIONS),
    ("/responses", Surface.RESPONSES),
    ("/responses/compact", Surface.RESPONSES),
    ("/messages", Surface.MESSAGES),
    (":generateContent", Surface.GENERATE_CONTENT),
    (":streamGenerateContent", Surface.GENERATE_CONTENT),
    ("/converse", Surface.CONVERSE),
    ("/converse-stream", Surface.CONVERSE),
)
_HISTORY = {Surface.RESPONSES: None, Surface.GENERATE_CONTENT: "contents"}
"""The key of each surface's history where it is not ``messages``; None where it may be absent."""
_NO_PROMPT = (
    "/embeddings",
    "/count_tokens",
    "/input_tokens",
    "/moderations",
    "/files",
    "/batches",
    "/cachedContents",
    # Gemini's newer interface: a format of its own that is not read.
    "/interactions",
    ":countTokens",
    ":computeTokens",
    ":embedContent",
    ":batchEmbedContents",
    ":predict",
    "/audio/transcriptions",
    "/images/generations",
)
_ONLY_MESSAGES = frozenset(
    {
        "anthropic_beta",
        "anthropic_version",
        "cache_control",
        "container",
        "mcp_servers",
        "output_config",
        "stop_sequences",
        "system",
    }
)
_ONLY_CONVERSE = frozenset(
    {
        "additionalModelRequestFields",
        "additionalModelResponseFieldPaths",
        "guardrailConfig",
        "inferenceConfig",
        "modelId",
        "performanceConfig",
        "promptVariables",
        "requestMetadata",
        "schemaVersion",
        "toolConfig",
    }
)
"""Of Converse, and of Nova's own bodies, which are written like it."""
_ONLY_RESOURCE = frozenset({"displayName", "expireTime", "ttl"})
"""A body that makes an explicit cache of Gemini's: it asks a model for nothing."""
_ONLY_CHAT = frozenset(
    {
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "modalities",
        "n",
        "parallel_tool_calls",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format",
        "seed",
        "stop",
        "store",
        "stream_options",
        "top_logprobs",
        "user",
        "verbosity",
    }
)


class Told(StrEnum):
    """What told a surface: how far another body with the same envelope must be of the same one."""

    ENVELOPE = "envelope"
    TOOLS = "tools"
    WORDS = "words"


class Recognised(NamedTuple):
    """A surface, or None, and what told it."""

    surface: Surface | None
    by: Told


def recognise_surface(body_or_keys: bytes | Collection[str], url: str = "") -> Surface | None:
    """The request format of a body, or of its top-level keys; None when it is none that we know.

    Args:
        body_or_keys: A request body, or only its top-level keys (then less can be told).
        url: Address it was sent to, when known.
    """
    path = urlsplit(url).path.rstrip("/")
    if not isinstance(body_or_keys, bytes):
        keys = frozenset(body_or_keys)
        if path.endswith(_NO_PROMPT):
            return None
        told = _of_path(keys, path) or _of_history(keys)
        return told or (_of_keys(keys) or Surface.CHAT_COMPLETIONS if _is_spoken(keys) else None)
    try:
        return surface_of(slicing.members(body_or_keys), path).surface
    except UnreadableBodyError:
        return None


def surface_of(members: slicing.Members, path: str) -> Recognised:
    """The surface by address path, then by keys and tools, then by what the messages say."""
    keys = frozenset(one.key for one in members.members)
    if path.endswith(_NO_PROMPT):
        return Recognised(None, Told.ENVELOPE)
    named = _of_path(keys, path) or _of_history(keys)
    if named is not None or not _is_spoken(keys):
        return Recognised(named, Told.ENVELOPE)
    shown = _of_tools(members)
    if shown is not None:
        return Recognised(shown, Told.TOOLS)
    typical = _of_keys(keys)
    if typical is not None:
        return Recognised(typical, Told.TOOLS)
    words = members.raw("messages") or b""
    if _is_untyped(members):
        return Recognised(Surface.CONVERSE, Told.WORDS)
    claude = "claude" in (members.text("model") or "") and "max_tokens" in keys
    spoken = b'"tool_use_id"' in words or b'"tool_use"' in words or claude
    return Recognised(Surface.MESSAGES if spoken else Surface.CHAT_COMPLETIONS, Told.WORDS)


def _is_spoken(keys: Collection[str]) -> bool:
    """Whether there are messages that tell of which surface they are."""
    return "messages" in keys and "input" not in keys


def _of_path(keys: Collection[str], path: str) -> Surface | None:
    for ending, surface in _ENDINGS:
        if path.endswith(ending):
            history = _HISTORY.get(surface, "messages")
            return surface if (history in keys if history else "messages" not in keys) else None
    return None


def _of_history(keys: Collection[str]) -> Surface | None:
    """The surface by where the history stands, and by keys that only Converse has beside messages."""
    if "messages" in keys:
        return Surface.CONVERSE if not _ONLY_CONVERSE.isdisjoint(keys) and "input" not in keys else None
    if "contents" in keys and "input" not in keys:
        return Surface.GENERATE_CONTENT if _ONLY_RESOURCE.isdisjoint(keys) else None
    told = "input" in keys or "previous_response_id" in keys or {"instructions", "model"} <= set(keys)
    return Surface.RESPONSES if told else None


def _is_untyped(members: slicing.Members) -> bool:
    """Whether the content of the messages is parts without a type, as Converse has them."""
    messages = members.get("messages")
    if messages is None or members.data[messages.value : messages.value + 1] != b"[":
        return False
    for start, end in slicing.items(members.data, messages.value, messages.end)[0]:
        if members.data[start : start + 1] != b"{":
            continue
        content = slicing.members(members.data, start, end).get("content")
        if content is None or members.data[content.value : content.value + 1] != b"[":
            return False
        parts = slicing.items(members.data, content.value, content.end)[0]
        objects = [span for span in parts if members.data[span[0] : span[0] + 1] == b"{"]
        if objects:
            return all(slicing.members(members.data, *span).get("type") is None for span in objects)
    return False


def _of_keys(keys: frozenset[str]) -> Surface | None:
    balance = len(keys & _ONLY_MESSAGES) - len(keys & _ONLY_CHAT)
    if not balance:
        return None
    return Surface.MESSAGES if balance > 0 else Surface.CHAT_COMPLETIONS


def _of_tools(members: slicing.Members) -> Surface | None:
    tools = members.get("tools")
    if tools is None or members.data[tools.value : tools.value + 1] != b"[":
        return None
    for start, end in slicing.items(members.data, tools.value, tools.end)[0]:
        shown = surface_of_tool(members.data[start:end])
        if shown is not None:
            return shown
    return None


def surface_of_tool(data: bytes) -> Surface | None:
    """The surface that a tool's definition is written for, where it tells."""
    if data[:1] != b"{":
        return None
    tool = slicing.members(data)
    if tool.get("input_schema"):
        return Surface.MESSAGES
    return Surface.CHAT_COMPLETIONS if tool.get("function") else None
