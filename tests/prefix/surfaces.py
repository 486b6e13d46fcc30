"""The surfaces on which pairs of bodies are compared."""

from __future__ import annotations

from coldturn.reference.prefix.model import Surface

SURFACES: list[Surface] = list(Surface)
ARGUMENT_TEXTS = (Surface.CHAT_COMPLETIONS, Surface.RESPONSES)
"""Where a call's arguments are a text, so that white space in them reaches the model."""
CONTENT_STRINGS = (Surface.MESSAGES, Surface.CHAT_COMPLETIONS, Surface.RESPONSES)
"""Where a message's content may be a text or a list of parts."""
