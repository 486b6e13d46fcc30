"""The text in a streamed reply as it comes: what a person watches. The reply itself is decoded at its end."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from coldturn.reference.prefix.model import Surface


class _Delta(msgspec.Struct):
    text: str | None = None
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    index: int = 0


class _MessagesEvent(msgspec.Struct):
    delta: _Delta | None = None


class _ChatEvent(msgspec.Struct):
    choices: list[_Choice] = []


class _ResponsesEvent(msgspec.Struct):
    type: str
    delta: str | None = None


def _of_messages(data: bytes) -> str:
    delta = msgspec.json.decode(data, type=_MessagesEvent).delta
    return (delta.text if delta is not None else None) or ""


def _of_chat(data: bytes) -> str:
    first = [c.delta for c in msgspec.json.decode(data, type=_ChatEvent).choices if c.index == 0]
    return "".join(delta.content or "" for delta in first if delta is not None)


def _of_responses(data: bytes) -> str:
    event = msgspec.json.decode(data, type=_ResponsesEvent)
    return (event.delta or "") if event.type == "response.output_text.delta" else ""


_TEXT_OF: dict[Surface, Callable[[bytes], str]] = {
    Surface.MESSAGES: _of_messages,
    Surface.CHAT_COMPLETIONS: _of_chat,
    Surface.RESPONSES: _of_responses,
}


class TextDeltas:
    """Finds the text in the parts of an event stream, wherever the parts were cut."""

    def __init__(self, surface: Surface) -> None:
        self._text_of = _TEXT_OF[surface]
        self._rest = b""

    def feed(self, part: bytes) -> str:
        """Give the text that `part` completes; what is no event of the surface gives none."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        return "".join(self._text(line) for line in lines)

    def _text(self, line: bytes) -> str:
        if not line.startswith(b"data:"):
            return ""
        try:
            return self._text_of(line[5:].strip())
        except msgspec.DecodeError:
            # The end mark of OpenAI's streams, or damage, which decoding the whole reply reports.
            return ""
