"""Cache markers: the keys that say where a provider may cache, and nothing to the model."""

from __future__ import annotations

MARKER_KEYS = frozenset({"cache_control", "cachePoint", "prompt_cache_breakpoint"})
"""Anthropic's breakpoint, Bedrock Converse's, and OpenAI's explicit one."""
