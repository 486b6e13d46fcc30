"""Prompt to request bytes and response bytes to reply, per provider surface."""

from coldturn.reference.wire.replies import decode_reply
from coldturn.reference.wire.requests import encode
from coldturn.reference.wire.requests.fragments import Fragments

__all__ = ["Fragments", "decode_reply", "encode"]
