"""Where captured interactions go: a vcrpy cassette, written line by line (JSONL) or on close."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from io import BufferedWriter
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

from vcr.cassette import Cassette
from vcr.persisters.filesystem import FilesystemPersister
from vcr.record_mode import RecordMode
from vcr.request import Request
from vcr.serializers import jsonserializer, yamlserializer

from coldturn.reference.clock import Clock, SystemClock
from coldturn.replay.errors import (
    BinaryBodyError,
    RecordingClosedError,
    RecordingExistsError,
    UnknownFormatError,
    UnwritableRecordingError,
)
from coldturn.replay.jsonl import METADATA_KEY, JsonlPersister, header_line, interaction_line
from coldturn.replay.redaction import Redaction

FORMAT_VERSION = 1
_SERIALIZERS: dict[str, ModuleType] = {
    ".yaml": yamlserializer,
    ".yml": yamlserializer,
    ".json": jsonserializer,
}


def recording_metadata(clock: Clock, servers: Mapping[str, str]) -> dict[str, Any]:
    """What a recording says of itself: its format, its age, the libraries, labels of servers by URL."""
    created = datetime.fromtimestamp(clock.time_ns() / 1e9, UTC)
    return {
        "version": FORMAT_VERSION,
        "created": created.isoformat(timespec="seconds"),
        "mcp": version("mcp"),
        "vcrpy": version("vcrpy"),
        "servers": dict(servers),
    }


class Recorder:
    """Collects interactions of any number of transports in one order.

    A ``.jsonl`` file grows by a flushed line per interaction, so a killed process loses at most those in
    flight; ``.yaml`` and ``.json`` are vcrpy's own files and are written on close.

    Attributes:
        cassette: vcrpy's cassette: its filters apply to everything that is recorded.
        clock: Where times come from.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Clock | None = None,
        servers: Mapping[str, str] | None = None,
        overwrite: bool = False,
        redaction: Redaction | None = None,
        **cassette_options: Any,  # noqa: ANN401 - vcrpy's own options (filters, hooks), which it types as anything
    ) -> None:
        """Open a recording.

        Args:
            path: Its ending decides the format.
            clock: Defaults to the machine's.
            servers: Labels by URL; a replay knows its servers by them.
            overwrite: Replace a file of that name.
            redaction: Knows the values that must not be written, wherever in an address or a body they stand.
            cassette_options: Passed to vcrpy's ``Cassette``.

        Raises:
            RecordingExistsError: When the file exists and `overwrite` is not set.
            UnwritableRecordingError: When it cannot be opened.
            UnknownFormatError: When the name ends in none of the formats' endings.
        """
        self.path = Path(path)
        self.clock: Clock = clock or SystemClock()
        suffix = self.path.suffix.lower()
        if suffix != ".jsonl" and suffix not in _SERIALIZERS:
            raise UnknownFormatError(str(path))
        if self.path.exists() and not overwrite:
            raise RecordingExistsError(str(path))
        lines = suffix == ".jsonl"
        self.cassette = Cassette(
            str(self.path),
            serializer=_SERIALIZERS.get(suffix),
            persister=JsonlPersister if lines else FilesystemPersister,
            record_mode=RecordMode.NEW_EPISODES,
            **cassette_options,
        )
        metadata = recording_metadata(self.clock, servers or {})
        self.cassette.get_metadata(METADATA_KEY, metadata)
        self._redaction = redaction or Redaction()
        self._seq = itertools.count()
        self._closed = False
        self._journal: BufferedWriter | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if lines:
                self._journal = self.path.open("wb")
        except OSError as error:
            raise UnwritableRecordingError(str(path), (error.strerror or str(error)).lower()) from error
        if lines:
            self._write(header_line({METADATA_KEY: metadata}))

    def next_seq(self) -> int:
        """The position of a request that is about to be sent."""
        return next(self._seq)

    def append(self, request: Request, response: Mapping[str, Any]) -> None:
        """Record one finished interaction.

        Raises:
            RecordingClosedError: After `close`.
        """
        if self._closed:
            raise RecordingClosedError(str(self.path), request.uri)
        before = len(self.cassette)
        self.cassette.append(self._clean_request(request), self._clean_response(response))
        if self._journal is not None and len(self.cassette) > before:
            self._write(interaction_line(*self.cassette.data[-1]))

    def _clean_request(self, request: Request) -> Request:
        clean = self._redaction
        body = request.body
        kept = clean.bytes(body) if isinstance(body, bytes) else body
        return Request(request.method, clean.text(request.uri), kept, request.headers)

    def _clean_response(self, response: Mapping[str, Any]) -> dict[str, Any]:
        body = dict(response["body"])
        if isinstance(body.get("string"), bytes):
            body["string"] = self._redaction.bytes(body["string"])
        return {**response, "body": body}

    def _write(self, line: bytes) -> None:
        if self._journal is not None:
            self._journal.write(line)
            self._journal.flush()

    def close(self) -> None:
        """Finish the file. Closing twice does nothing.

        Raises:
            BinaryBodyError: When a JSON cassette cannot hold a body; nothing is written then.
        """
        if self._closed:
            return
        self._closed = True
        if self._journal is not None:
            self._journal.close()
            return
        if self.path.suffix.lower() == ".json":
            self._refuse_binary()
        contents = {
            "requests": self.cassette.requests,
            "responses": self.cassette.responses,
            "metadata": {METADATA_KEY: self.cassette.get_metadata(METADATA_KEY, {})},
        }
        partial = self.path.with_name(self.path.name + ".partial")
        FilesystemPersister.save_cassette(partial, contents, _SERIALIZERS[self.path.suffix.lower()])
        partial.replace(self.path)

    def _refuse_binary(self) -> None:
        for entry, (request, response) in enumerate(self.cassette.data):
            for body in (request.body, response["body"]["string"]):
                try:
                    (body or b"").decode()
                except UnicodeDecodeError as error:
                    raise BinaryBodyError(str(self.path), entry) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
