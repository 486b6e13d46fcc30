"""Trajectories of mini-swe-agent (``*.traj.json``): the messages of a run, with the provider's answers.

The system text is in them; the tools (one shell, in most versions) are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from coldturn.reference.prefix.model import Surface, Zone
from coldturn.traces.classify import instant
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.sessions import (
    SessionCall,
    listed_messages,
    loose,
    members_of,
    object_of,
    text_of,
)
from coldturn.traces.kinds import InputKind
from coldturn.traces.slices import NotJsonError, flat_parts

_OWN = "extra"
"""What the agent notes beside a message and does not send."""
_NEVER_SENT = frozenset({"exit"})


def _is_trajectory(head: Head) -> bool:
    if head.layout is not Layout.OBJECT:
        return False
    return "trajectory_format" in head.keys or {"info", "messages"} <= head.keys


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every call of a run: an assistant's message with the answer that it came from.

    Raises:
        UnreadableJsonError: The document is damaged or cut off.
    """
    sent: list[bytes] = []
    for entry, content in listed_messages(stream, name):
        yield from _message(content, entry, sent, name)


def _message(content: bytes, entry: int, sent: list[bytes], name: str) -> Iterator[Record]:
    """A call, if the message is an answer or refuses one; then the message joins those that are sent."""
    try:
        message = flat_parts(content)
    except NotJsonError as error:
        yield EntryError(name, entry, f"message {entry}: {error}")
        return
    role, own = text_of(message.get("role")), members_of(message.get(_OWN))
    answer = own.get("response", b"")
    if role in ("assistant", "user") and answer[:1] == b"{":
        told = members_of(answer)
        yield SessionCall(
            entry=entry,
            surface=Surface.CHAT_COMPLETIONS,
            model=text_of(told.get("model")) or "",
            parts=tuple(sent),
            answer=answer,
            started=instant(loose(told.get("created"))),
            missing=frozenset({Zone.TOOLS}),
        ).exchange(name)
    if role not in _NEVER_SENT:
        sent.append(object_of(*((key, value) for key, value in message.items() if key != _OWN)))


FORMATS = (Format(InputKind.MINI_SWE_AGENT, "an agent trajectory", _is_trajectory, read),)
