"""What can be wrong with an input, each as one sentence that says what, where and what to try."""

from __future__ import annotations

from collections.abc import Sequence

from coldturn.reference.prefix.errors import ColdturnError


class InputError(ColdturnError):
    """The base of everything that makes a whole input unreadable.

    Attributes:
        source: The input's name as the user gave it.
    """

    slug = "input"

    def __init__(self, source: str, sentence: str) -> None:
        self.source = source
        super().__init__(f"{source}: {sentence}")


class MissingInputError(InputError):
    """No such file or folder, or one that may not be opened."""

    slug = "missing-input"

    def __init__(self, source: str, reason: str = "no such file or folder") -> None:
        super().__init__(source, f"{reason}; give a file, a folder, a glob or - for standard input")


class ReadFailedError(InputError):
    """A file that was opened and cannot be read: a device that fails, or memory that is not mapped."""

    slug = "read-failed"

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, f"it cannot be read ({reason}); copy it elsewhere and try again")


class EmptyInputError(InputError):
    """A file without content, or a folder without recordings."""

    slug = "empty-input"

    def __init__(self, source: str, what: str = "the file is empty") -> None:
        super().__init__(source, f"{what}; give a request body, JSONL of requests or a cassette")


class UnrecognisedInputError(InputError):
    """Content that is none of the kinds we read.

    Attributes:
        seen: What stood there instead, in words.

    Args:
        source: The input.
        seen: As the attribute.
        way: What to do about it; by default which keys would have been a request's.
    """

    slug = "unrecognised-input"

    def __init__(self, source: str, seen: str, way: str | None = None) -> None:
        self.seen = seen
        wanted = way or (
            "a request has a key such as model, messages or input, and a line may hold it under request, "
            "request_raw, body or kwargs, with url, response and started or timestamp beside it; "
            "`coldturn docs inputs` lists other kinds (--format)"
        )
        super().__init__(source, f"not recognised: {seen}; {wanted}")


class NoCassetteError(UnrecognisedInputError):
    """Another kind of recording where only a cassette will do."""

    def __init__(self, source: str, seen: str) -> None:
        self.seen = seen
        InputError.__init__(
            self,
            source,
            f"it holds {seen}, where a recorded session is needed (a vcrpy cassette or a recording of ours);"
            " explain, diff and estimate read it",
        )


class UnreadableJsonError(InputError):
    """A JSON document that is damaged, too deep or cut off."""

    slug = "unreadable-json"

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, f"the JSON cannot be read: {reason}; check that the file is complete")


class DamagedArchiveError(InputError):
    """A gzip file that does not unpack."""

    slug = "damaged-archive"

    def __init__(self, source: str) -> None:
        super().__init__(source, "the compressed file is damaged or cut off; fetch or record it again")


class BrokenCassetteError(InputError):
    """A cassette with an entry that is damaged, or that is cut off.

    Attributes:
        entry: Index of the entry, from 0; None when the damage lies outside the entries.
    """

    slug = "broken-cassette"

    def __init__(self, source: str, entry: int | None, reason: str) -> None:
        self.entry = entry
        where = "the cassette is broken" if entry is None else f"the cassette is broken at entry {entry}"
        super().__init__(source, f"{where}: {reason}; mend or re-record it")


class UnsupportedFormatError(InputError):
    """A kind of recording that is known but not read yet, or a newer version of ours."""

    slug = "unsupported-format"

    def __init__(self, source: str, what: str) -> None:
        super().__init__(source, f"holds {what}, which this version of coldturn does not read")


class NumbersOnlyError(InputError):
    """Token counts or hashes where the bytes of requests are needed."""

    slug = "numbers-only"

    def __init__(self, source: str, *, traced: bool = False) -> None:
        """Say so.

        Args:
            source: Name of the input.
            traced: Whether it holds spans of OpenTelemetry, which may carry messages as well.
        """
        instead = (
            "spans without messages, and finding breaks needs those: add the log records that hold them "
            "(cat spans.jsonl logs.jsonl), or trace anew with capture of message content on "
            "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)"
            if traced
            else "numbers or hashes only, and finding breaks needs the bytes of requests (a cassette)"
        )
        super().__init__(source, f"holds {instead}; coldturn estimate answers for numbers")


class InputTooLargeError(InputError):
    """Something that must be held in memory, or that decompresses, beyond its bound."""

    slug = "input-too-large"

    def __init__(self, source: str, what: str, limit: int) -> None:
        self.limit = limit
        super().__init__(
            source,
            f"{what} is larger than {limit // 1_048_576} MiB; split it, or write a request on each line",
        )


class NoRequestsError(InputError):
    """An input that was read but holds no request to a model on a surface we know.

    Attributes:
        seen: What it holds instead, in words.
    """

    slug = "no-requests"

    def __init__(self, source: str, seen: Sequence[str]) -> None:
        self.seen = tuple(seen)
        what = ", ".join(self.seen) or "no entries"
        super().__init__(
            source,
            f"holds no request to a model that coldturn reads ({what}); it reads Anthropic Messages, OpenAI "
            "Chat Completions and Responses, Gemini's generateContent and Bedrock's Converse",
        )


class UnreadableEntryError(InputError):
    """An entry that cannot be read, where everything is needed."""

    slug = "unreadable-entry"

    def __init__(self, source: str, entry: int, reason: str) -> None:
        self.entry = entry
        super().__init__(source, f"entry {entry} cannot be read: {reason}; mend it, or name another file")


class UnreadableTextError(InputError):
    """A file that is compared as plain text and is none."""

    slug = "unreadable-text"

    def __init__(self, source: str, offset: int) -> None:
        self.offset = offset
        super().__init__(source, f"it is no UTF-8 text at byte {offset}; save it as UTF-8")
