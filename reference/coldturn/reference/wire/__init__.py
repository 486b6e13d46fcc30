"""Prompt to request bytes and response bytes to reply, per provider surface."""

from coldturn.reference.wire.replies import decode_reply

__all__ = ["decode_reply"]
