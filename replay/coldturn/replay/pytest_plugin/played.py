"""What a test sent to its cassette, which answers requests that differ from those it holds.

vcrpy compares method and address unless a project asks for more: a changed prompt gets the recorded answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from coldturn.traces.exchange import EntryError, Exchange

Vcr: TypeAlias = Any
"""An object of vcrpy's, which is not imported."""


@dataclass(slots=True)
class Played:
    """Requests of one test to one cassette, in order, each with its answer.

    Attributes:
        cassette: vcrpy's cassette.
        path: Its file.
        pairs: vcrpy's request as it was sent, and the answer, recorded or new.
    """

    cassette: Vcr
    path: Path
    pairs: list[tuple[Vcr, Vcr]] = field(default_factory=list)

    def watch(self) -> None:
        """Note from now on what the cassette answers and records."""
        play, append = self.cassette.play_response, self.cassette.append

        def play_response(request: Vcr) -> Vcr:
            answer = play(request)
            self.pairs.append((request, answer))
            return answer

        def appended(request: Vcr, response: Vcr) -> None:
            self.pairs.append((request, response))
            append(request, response)

        self.cassette.play_response, self.cassette.append = play_response, appended

    def exchanges(self) -> Iterator[Exchange | EntryError]:
        """What was sent, where it differs from what the cassette holds; nothing where that is the same.

        Nothing either where a body was a stream: then it is unknown what was sent.
        """
        held = [one.body for one in self.cassette.requests]
        bodies = [request.body for request, _ in self.pairs]
        if all(body in held for body in bodies) or not all(map(_is_whole, bodies)):
            return
        from coldturn.traces.exchange import EntryError
        from coldturn.traces.formats.cassettes import exchange_of
        from coldturn.traces.interaction import EntryValueError, interaction_of

        for number, (request, answer) in enumerate(self.pairs):
            sent = {
                "method": request.method,
                "uri": request.uri,
                "headers": dict(request.headers),
                "body": request.body,
            }
            try:
                interaction = interaction_of({"request": sent, "response": answer}, number)
            except EntryValueError as error:
                yield EntryError(str(self.path), number, str(error))
            else:
                yield exchange_of(interaction, source=str(self.path))


def _is_whole(body: object) -> bool:
    return body is None or isinstance(body, bytes | str | dict | list)
