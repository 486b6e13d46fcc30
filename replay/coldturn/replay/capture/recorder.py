"""Where captured interactions go: a vcrpy cassette, written line by line (JSONL) or on close."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

import orjson
from vcr.cassette import Cassette
from vcr.persisters.filesystem import FilesystemPersister
from vcr.record_mode import RecordMode
from vcr.request import Request
from vcr.serializers import jsonserializer, yamlserializer

from coldturn.reference.clock import Clock, SystemClock
from coldturn.replay.capture.journal import Journal
from coldturn.replay.capture.jsonl import JsonlPersister, header_line, interaction_line
from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.errors import (
    BinaryBodyError,
    BrokenRecordingError,
    RecordingClosedError,
    RecordingExistsError,
    UnknownFormatError,
    UnwritableRecordingError,
)
from coldturn.traces.migrations import METADATA_KEY, NEWEST

_HEADER_BYTES = 1_048_576
_SERIALIZERS: dict[str, ModuleType] = {
    ".yaml": yamlserializer,
    ".yml": yamlserializer,
    ".json": jsonserializer,
}


class _WithoutBodies(logging.Filter):
    """vcrpy logs bodies at INFO and addresses at DEBUG; what an application logs must not hold them."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING


for _name in ("vcr.cassette", "vcr.request"):
    logging.getLogger(_name).addFilter(_WithoutBodies())


def recording_metadata(clock: Clock, servers: Mapping[str, str]) -> dict[str, Any]:
    """What a recording says of itself: its format, its age, the libraries, labels of servers by URL."""
    created = datetime.fromtimestamp(clock.time_ns() / 1e9, UTC)
    return {
        "version": NEWEST,
        "created": created.isoformat(timespec="seconds"),
        "mcp": version("mcp"),
        "vcrpy": version("vcrpy"),
        "servers": dict(servers),
    }


def _ensure_ours(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.readline(_HEADER_BYTES)
    except OSError as error:
        raise UnwritableRecordingError(str(path), (error.strerror or str(error)).lower()) from error
    if head and _version_of(head) != NEWEST:
        raise BrokenRecordingError(
            str(path),
            "it is no recording in JSON lines of this version, to which more could be added "
            "(`coldturn convert` brings an earlier one to it)",
        )


def _version_of(head: bytes) -> int:
    """The format version in the first line of a recording; 0 when it is none."""
    try:
        version = orjson.loads(head)[METADATA_KEY]["version"]
    except (orjson.JSONDecodeError, TypeError, LookupError):
        return 0
    return version if isinstance(version, int) else 0


class Recorder:
    """Collects interactions of any number of transports in one order.

    A ``.jsonl`` file grows by a line per interaction, so a killed process loses at most those in flight;
    ``.yaml`` and ``.json`` are vcrpy's own files and are written on close.

    Attributes:
        cassette: vcrpy's cassette: its filters apply to everything that is recorded.
        clock: Where times come from.
        redaction: Cleans everything that is written, and counts.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Clock | None = None,
        servers: Mapping[str, str] | None = None,
        overwrite: bool = False,
        shared: bool = False,
        redaction: Redaction | None = None,
        about: Mapping[str, Any] | None = None,
        **cassette_options: Any,  # noqa: ANN401 - vcrpy's own options (filters, hooks), which it types as anything
    ) -> None:
        """Open a recording.

        Args:
            path: Its ending decides the format.
            clock: Defaults to the machine's.
            servers: Labels by URL; a replay knows its servers by them.
            overwrite: Replace a file of that name.
            shared: Other processes may write the file too; one that is there is added to. JSON lines only.
            redaction: Knows what must not be written; when not given, keys of known shapes.
            about: More that the header says, such as which agent was run.
            cassette_options: Passed to vcrpy's ``Cassette``.

        Raises:
            RecordingExistsError: When the file exists and `overwrite` is not set.
            UnwritableRecordingError: When it cannot be opened.
            UnknownFormatError: When the name's ending is none of the formats', or not that of JSON lines.
            BrokenRecordingError: When a file that is to be added to is no recording of ours.
        """
        self.path = Path(path)
        self.clock: Clock = clock or SystemClock()
        suffix = self.path.suffix.lower()
        lines = suffix == ".jsonl"
        if not lines and (shared or suffix not in _SERIALIZERS):
            raise UnknownFormatError(str(path), lines=shared)
        exists = self.path.exists()
        if exists and not (overwrite or shared):
            raise RecordingExistsError(str(path))
        if exists and shared and not overwrite:
            _ensure_ours(self.path)
        self.cassette = Cassette(
            str(self.path),
            serializer=_SERIALIZERS.get(suffix),
            persister=JsonlPersister if lines else FilesystemPersister,
            record_mode=RecordMode.NEW_EPISODES,
            **cassette_options,
        )
        metadata = {**recording_metadata(self.clock, servers or {}), **(about or {})}
        self.cassette.get_metadata(METADATA_KEY, metadata)
        self.redaction = redaction or Redaction()
        self._seq = itertools.count()
        self._shared = shared
        self._closed = False
        self._journal: Journal | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if lines:
                self._journal = Journal(
                    self.path, header_line({METADATA_KEY: metadata}), join=shared and not overwrite
                )
        except OSError as error:
            raise UnwritableRecordingError(str(path), (error.strerror or str(error)).lower()) from error

    def next_seq(self) -> int:
        """The position of a request that is about to be sent; a time where other processes count too."""
        return self.clock.time_ns() if self._shared else next(self._seq)

    def append(self, request: Request, response: Mapping[str, Any]) -> None:
        """Record one finished interaction.

        Raises:
            RecordingClosedError: After `close`.
            OSError: JSON lines could not be written; the file is whole without this interaction.
        """
        if self._closed:
            raise RecordingClosedError(str(self.path), request.uri)
        before = len(self.cassette)
        redaction = self.redaction
        self.cassette.append(redaction.masked_request(request), redaction.masked_response(response))
        if self._journal is not None and len(self.cassette) > before:
            # What is on disk need not be held; sessions are long.
            self._journal.write(interaction_line(*self.cassette.data.pop()))

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
        partial.touch(mode=0o600)
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
