"""What kind of recording an input is, told from its content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import IO

from coldturn.traces.errors import (
    EmptyInputError,
    InputTooLargeError,
    NumbersOnlyError,
    UnrecognisedInputError,
    UnsupportedFormatError,
)
from coldturn.traces.limits import MAX_LINE
from coldturn.traces.opening import BOM, Line, document, lines
from coldturn.traces.slices import NotJsonError, object_parts


class InputKind(StrEnum):
    """The kinds of input that are read; their values are what ``--format`` takes."""

    BODY = "body"
    BODIES = "bodies"
    JSONL = "jsonl"
    RECORDING = "recording"
    CASSETTE_YAML = "cassette-yaml"
    CASSETTE_JSON = "cassette-json"

    @property
    def words(self) -> str:
        """What a file of this kind holds, in words."""
        return _WORDS.get(self, "a cassette")


_WORDS = {
    InputKind.BODY: "one request body",
    InputKind.BODIES: "a list of request bodies",
    InputKind.JSONL: "JSONL of requests",
}

_HEAD = 65_536
_CASSETTE_KEY = re.compile(rb"^(?:interactions|requests|responses):", re.MULTILINE)
_YAML_KEY = re.compile(rb"^([A-Za-z_][\w.-]*):(?:[ \t\r]|$)", re.MULTILINE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

# Kinds that others write and that this version names instead of guessing at: keys that must all be there.
_UNSUPPORTED: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"log"}), "a HAR file"),
    (frozenset({"resourceSpans"}), "OpenTelemetry spans"),
    (frozenset({"resource_spans"}), "OpenTelemetry spans"),
    (frozenset({"spanContext"}), "spans"),
    (frozenset({"trace", "observations"}), "a Langfuse export"),
    (frozenset({"trajectory_format"}), "an agent trajectory"),
    (frozenset({"info", "messages"}), "an agent trajectory"),
    (frozenset({"type", "sessionId", "uuid"}), "a Claude Code transcript"),
    (frozenset({"type", "payload", "timestamp"}), "a Codex rollout"),
    (frozenset({"type", "modelId", "cwd"}), "a pi session"),
    (frozenset({"input", "output", "session_id"}), "a log of flattened prompt texts"),
)
# At least one of these stands in every request, recorded call or JSON-RPC message.
_REQUEST_HINTS = frozenset({
    "request", "request_raw", "request_base64", "request_params", "jsonrpc", "model", "messages", "input",
    "contents", "prompt", "system", "instructions", "tools", "previous_response_id",
})  # fmt: skip
_NUMBERS = (frozenset({"hash_ids"}), frozenset({"prompt_tokens", "completion_tokens"}))


def sniff(stream: IO[bytes], name: str) -> InputKind:
    """Recognise the kind and leave `stream` at its start.

    Raises:
        EmptyInputError: Nothing but blanks.
        UnrecognisedInputError: None of the kinds; the message says what was seen.
        UnsupportedFormatError: A known kind that is not read.
        NumbersOnlyError: A table of token counts or hashes, where bytes are needed.
    """
    head = stream.read(_HEAD).removeprefix(BOM)
    stream.seek(0)
    first = head.lstrip()[:1]
    if first == b"[":
        return InputKind.BODIES
    if first == b"{":
        kind = _object_kind(stream, name)
        stream.seek(0)
        return kind
    if not first and len(head) < _HEAD:
        raise EmptyInputError(name, "the file holds nothing but blanks")
    if _CASSETTE_KEY.search(head):
        return InputKind.CASSETTE_YAML
    if _CONTROL.search(head):
        raise UnrecognisedInputError(name, "binary data")
    keys = [key.decode() for key in _YAML_KEY.findall(head)][:6]
    raise UnrecognisedInputError(name, f"YAML with the keys {', '.join(keys)}" if keys else "plain text")


def _object_kind(stream: IO[bytes], name: str) -> InputKind:
    """One JSON document or many, by whether the first line is an object by itself."""
    few = lines(stream)
    first = _held(next(few), name)
    second = next(few, None)
    parts = _parts(first)
    if parts is None:
        # A pretty-printed document goes on with a key; in JSONL each line opens an object of its own.
        if second is not None and second.content[:1] == b"{" and first.content != b"{":
            return _lines_kind(_parts(second) or {}, name)
        return _document_kind(_opening_keys(stream, name), name)
    return _document_kind(parts, name) if second is None else _lines_kind(parts, name)


def _held(line: Line, name: str) -> Line:
    """The first line; one that cannot be held is refused here, rather than read to its end to be told so."""
    if line.too_long:
        raise InputTooLargeError(name, "the first line", MAX_LINE)
    return line


def _parts(line: Line) -> dict[str, bytes] | None:
    try:
        return object_parts(line.content)
    except NotJsonError:
        return None


def _lines_kind(parts: Mapping[str, bytes], name: str) -> InputKind:
    if _is_header(parts):
        return InputKind.RECORDING
    if "request" in parts and "response" in parts and is_interaction(parts["request"]):
        return InputKind.RECORDING
    refuse_foreign(parts, name)
    return InputKind.JSONL


def _document_kind(keys: Mapping[str, bytes], name: str) -> InputKind:
    if "interactions" in keys or ("request" in keys and is_interaction(keys["request"])):
        return InputKind.CASSETTE_JSON
    if _is_header(keys):
        return InputKind.RECORDING
    refuse_foreign(keys, name)
    return InputKind.BODY


def _is_header(keys: Mapping[str, bytes]) -> bool:
    """Whether this is the first line of a recording of ours."""
    return "request" not in keys and ("coldturn" in keys or {"version", "metadata"} <= keys.keys())


def _opening_keys(stream: IO[bytes], name: str) -> dict[str, bytes]:
    """The keys of a document that spans lines, when the whole of it is needed to know them."""
    stream.seek(0)
    try:
        return object_parts(document(stream, name))
    except NotJsonError:
        return {}


def is_interaction(request: bytes) -> bool:
    """Whether a `request` member is an HTTP request with its parts, rather than the body itself."""
    try:
        keys = object_parts(request).keys()
    except NotJsonError:
        return False
    return bool({"uri", "url"} & keys) and "method" in keys


def refuse_foreign(keys: Mapping[str, bytes], name: str) -> None:
    """Name the kinds that others write instead of misreading them.

    Raises:
        UnsupportedFormatError: A known kind that is not read.
        NumbersOnlyError: Numbers where bytes are needed.
        UnrecognisedInputError: Nothing that a request would hold.
    """
    for known, what in _UNSUPPORTED:
        if known <= keys.keys():
            raise UnsupportedFormatError(name, what)
    if any(known <= keys.keys() for known in _NUMBERS):
        raise NumbersOnlyError(name)
    if keys and not _REQUEST_HINTS & keys.keys():
        raise UnrecognisedInputError(name, f"JSON with the keys {', '.join(list(keys)[:8])}")
