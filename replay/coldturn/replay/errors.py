"""What can go wrong with recordings: one sentence each, with the place and what to try."""

from __future__ import annotations

from collections.abc import Sequence

from coldturn.reference.prefix.errors import ColdturnError


class RecordingError(ColdturnError):
    """A recording that cannot be read or written as asked."""

    slug = "recording"


class RecordingExistsError(RecordingError):
    """Recording would overwrite a file."""

    slug = "recording-exists"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} exists already: name another file, or ask to overwrite it")


class UnwritableRecordingError(RecordingError):
    """A recording that cannot be opened for writing."""

    slug = "recording-unwritable"

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(f"{path} cannot be written ({reason}): choose another folder")


class SecretVariableError(RecordingError):
    """An environment variable that was named as a secret and holds none."""

    slug = "secret-variable"

    def __init__(self, name: str, *, set_: bool, shortest: int) -> None:
        self.name = name
        what = f"is shorter than {shortest} characters, which ordinary text has too" if set_ else "is not set"
        super().__init__(f"the variable {name} {what}: set it where coldturn runs, or do not name it")


class UnknownFormatError(RecordingError):
    """A file name that tells no recording format."""

    slug = "recording-format"

    def __init__(self, path: str, *, lines: bool = False) -> None:
        self.path = path
        where = "cannot be shared by several recorders: end it in .jsonl"
        super().__init__(
            f"{path} {where if lines else 'names no recording format: end it in .jsonl, .yaml or .json'}"
        )


class BinaryBodyError(RecordingError):
    """A body that JSON cassettes cannot hold."""

    slug = "recording-binary-body"

    def __init__(self, path: str, entry: int) -> None:
        self.path = path
        self.entry = entry
        super().__init__(
            f"{path} was not written: the body of entry {entry} is binary, which JSON cassettes cannot hold; "
            "record to .jsonl or .yaml"
        )


class BrokenRecordingError(RecordingError):
    """A recording, or one of its entries, that is not what it should be."""

    slug = "recording-broken"

    def __init__(self, path: str, reason: str, *, entry: int | None = None) -> None:
        self.path = path
        self.entry = entry
        self.reason = reason
        where = path if entry is None else f"{path}, entry {entry},"
        super().__init__(f"{where} cannot be read: {reason}")


class RecordingClosedError(RecordingError):
    """An interaction ended after its recording was closed."""

    slug = "recording-closed"

    def __init__(self, path: str, url: str) -> None:
        self.path = path
        self.url = url
        super().__init__(
            f"{path} is closed and cannot take the exchange with {url}: close clients before the recorder"
        )


class StdioServerError(RecordingError):
    """A stdio server that could not be started or has gone."""

    slug = "stdio-server"

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"the stdio server {name} {reason}")

    @classmethod
    def unstarted(cls, name: str, error: OSError) -> StdioServerError:
        """Of a server that the system did not start; it names the program or the folder that is missing."""
        what = f"{error.filename}: " if error.filename else ""
        reason = (error.strerror or str(error)).lower()
        return cls(name, f"could not be started ({what}{reason}): check its command")


class UpstreamError(RecordingError):
    """A server that the proxy cannot stand in front of."""

    slug = "upstream"

    def __init__(self, text: str, reason: str) -> None:
        self.text = text
        super().__init__(f"the upstream {text} cannot be used: {reason}")


class PortInUseError(RecordingError):
    """The proxy's port is taken."""

    slug = "port-in-use"

    def __init__(self, port: int) -> None:
        self.port = port
        super().__init__(f"port {port} of 127.0.0.1 is in use: choose another with --port, or 0 for any")


class PlaybackMissError(RecordingError):
    """A request that the recording has no answer for.

    Attributes:
        asked: The request in words.
        nearest: Recorded calls that are most like it, each with what differs.
    """

    slug = "playback-miss"

    def __init__(self, source: str, asked: str, nearest: Sequence[str]) -> None:
        self.source = source
        self.asked = asked
        self.nearest = tuple(nearest)
        found = "; ".join(self.nearest) if self.nearest else "nothing like it"
        super().__init__(f"{source} holds no answer to {asked}; nearest: {found}")


class NothingToReplayError(RecordingError):
    """A recording without anything that a replay could follow."""

    slug = "nothing-to-replay"

    def __init__(self, source: str, reason: str) -> None:
        self.source = source
        self.reason = reason
        super().__init__(f"{source} cannot be replayed: {reason}")


class SessionFileError(RecordingError):
    """A session file that cannot be used."""

    slug = "session-file"

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"the session file {path} cannot be used: {reason}")


class ReplayProcessError(RecordingError):
    """A process that replayed a recording and ended before it was done."""

    slug = "replay-process"

    def __init__(self, source: str) -> None:
        self.source = source
        super().__init__(
            f"{source} was not replayed: the process that did it was ended from outside (is there memory for "
            "all of them?); use fewer --jobs"
        )


class RecordingWarning(UserWarning):
    """Something about a recording that a person should know and that stops nothing."""
