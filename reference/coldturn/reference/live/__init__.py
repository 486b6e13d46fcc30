"""A model over the network: the bytes that the runtime built are posted, the answer is shown as it comes."""

from coldturn.reference.live.endpoint import Endpoint, endpoint_of
from coldturn.reference.live.errors import (
    DroppedReplyError,
    EndpointError,
    ProviderStatusError,
    ProviderUnreachableError,
)
from coldturn.reference.live.model import LiveModel, open_client, streaming_settings
from coldturn.reference.live.retries import Retries

__all__ = [
    "DroppedReplyError",
    "Endpoint",
    "EndpointError",
    "LiveModel",
    "ProviderStatusError",
    "ProviderUnreachableError",
    "Retries",
    "endpoint_of",
    "open_client",
    "streaming_settings",
]
