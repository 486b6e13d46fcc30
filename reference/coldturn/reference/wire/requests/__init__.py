"""From a `Prompt` to request bytes, for each surface.

The bytes are deterministic: compact UTF-8 JSON, keys in the order in which the provider renders them, texts
as they are, tool schemas byte for byte.
"""

from __future__ import annotations

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import Encoded, Prompt
from coldturn.reference.wire.requests.chat_completions import encode_chat_completions
from coldturn.reference.wire.requests.fragments import Fragments
from coldturn.reference.wire.requests.messages import encode_messages
from coldturn.reference.wire.requests.responses import encode_responses

_ENCODERS = {
    Surface.MESSAGES: encode_messages,
    Surface.CHAT_COMPLETIONS: encode_chat_completions,
    Surface.RESPONSES: encode_responses,
}


def encode(prompt: Prompt, surface: Surface, fragments: Fragments | None = None) -> Encoded:
    """Encode `prompt` for `surface`.

    Args:
        prompt: What to say, in zones.
        surface: The request format.
        fragments: Pass the same one for all requests of a Run, and only what is new is serialised.
    """
    fragments = fragments if fragments is not None else Fragments()
    encoded = _ENCODERS[surface](prompt, fragments)
    fragments.finish()
    return encoded
