"""From a provider's response bytes to a `Reply`, for each surface, whole or streamed."""

from __future__ import annotations

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import Reply
from coldturn.reference.wire.replies import (
    chat_completions,
    converse,
    generate_content,
    messages,
    responses,
)
from coldturn.reference.wire.replies.event_stream import is_aws_event_stream, server_sent
from coldturn.reference.wire.replies.sse import is_event_stream

_BODY = {
    Surface.MESSAGES: messages.decode_body,
    Surface.CHAT_COMPLETIONS: chat_completions.decode_body,
    Surface.RESPONSES: responses.decode_body,
    Surface.GENERATE_CONTENT: generate_content.decode_body,
    Surface.CONVERSE: converse.decode_body,
}
_STREAM = {
    Surface.MESSAGES: messages.decode_stream,
    Surface.CHAT_COMPLETIONS: chat_completions.decode_stream,
    Surface.RESPONSES: responses.decode_stream,
    Surface.GENERATE_CONTENT: generate_content.decode_stream,
    Surface.CONVERSE: converse.decode_stream,
}


def decode_reply(surface: Surface, body: bytes, content_type: str = "") -> Reply:
    """Decode a response of `surface`, decompressed, whether JSON or a stream: server-sent events, or AWS's.

    Usage is normalised: input tokens include those read from and written to the cache.

    Raises:
        ProviderError: The provider answered with an error object.
        UnreadableReplyError: The body is no reply of this surface.
    """
    if is_aws_event_stream(body, content_type):
        if surface is Surface.CONVERSE:
            return converse.decode_event_stream(body)
        return _STREAM[surface](server_sent(body, surface))
    decoders = _STREAM if is_event_stream(body, content_type) else _BODY
    return decoders[surface](body)
