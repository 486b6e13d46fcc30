"""Old recordings cleaned: secrets and telling headers are blotted out at equal length; nothing else moves."""

from __future__ import annotations

import base64
import binascii
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from gzip import GzipFile
from itertools import zip_longest
from pathlib import Path
from typing import IO, cast

import orjson

from coldturn.replay.capture.headers import is_kept
from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.capture.unpacking import unpacked_body
from coldturn.replay.errors import BrokenRecordingError, UnwritableRecordingError
from coldturn.replay.files.scalars import (
    Path as Place,
)
from coldturn.replay.files.scalars import (
    Scalar,
    json_scalars,
    json_spelling,
    yaml_scalars,
    yaml_spelling,
)
from coldturn.traces.cassette import iter_cassette
from coldturn.traces.interaction import Interaction
from coldturn.traces.opening import GZIP_MAGIC, opened
from coldturn.traces.sniff import InputKind, sniff
from coldturn.traces.whole_file import led_to

HARMLESS = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "anthropic-beta",
        "anthropic-version",
        "cache-control",
        "connection",
        "alt-svc",
        "cf-cache-status",
        "content-encoding",
        "content-length",
        "content-security-policy",
        "date",
        "host",
        "keep-alive",
        "openai-beta",
        "openai-model",
        "openai-processing-ms",
        "openai-version",
        "permissions-policy",
        "referrer-policy",
        "server",
        "server-timing",
        "strict-transport-security",
        "transfer-encoding",
        "user-agent",
        "vary",
        "x-content-type-options",
        "x-robots-tag",
    }
)
_HARMLESS_PREFIXES = ("access-control-", "x-amzn-bedrock-", "x-envoy-", "x-kong-", "x-stainless-")
"""Headers that old recordings hold beside those that ours keep, and that tell nothing of a person."""

_ODD = "surrogatepass"


@dataclass(slots=True)
class Scrubbed:
    """What a scrub did.

    Attributes:
        values: How many secrets of each kind were blotted out.
        headers: How often each header's value was.
        torn: Whether a torn last line was left out.
    """

    values: Counter[str] = field(default_factory=Counter)
    headers: Counter[str] = field(default_factory=Counter)
    torn: bool = False

    @property
    def total(self) -> int:
        """All changes."""
        return self.values.total() + self.headers.total()


def scrub_file(source: Path, target: Path, redaction: Redaction) -> Scrubbed:
    """Clean a cassette: vcrpy's YAML or JSON, or JSON lines. The target is written whole or not at all.

    Args:
        source: What to read.
        target: What to write; may be the same file.
        redaction: Knows what must go.

    Raises:
        InputError: It cannot be read, or is no cassette.
        UnwritableRecordingError: The target cannot be written.
    """
    cleaner = _Cleaner(redaction)
    target = led_to(target)
    if target.exists() and not target.is_file():
        raise UnwritableRecordingError(str(target), "it is no file")
    partial = target.with_name(target.name + ".partial")
    try:
        parts = _cleaned(source, cleaner)
        first = next(parts, b"")  # what cannot be read leaves no file
        try:
            with partial.open("wb") as file, _packed_as(source, file) as stream:
                shutil.copymode(source, partial)
                stream.write(first)
                stream.writelines(parts)
        except OSError as error:
            raise UnwritableRecordingError(str(target), (error.strerror or str(error)).lower()) from error
        _ensure_same_shape(source, partial)
        partial.replace(target)
    finally:
        with suppress(OSError):
            partial.unlink()
    cleaner.done.values = redaction.counts.copy()
    return cleaner.done


def _packed_as(source: Path, file: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    with source.open("rb") as stream:
        packed = stream.read(2) == GZIP_MAGIC
    return cast("IO[bytes]", GzipFile(fileobj=file, mode="wb", mtime=0)) if packed else nullcontext(file)


def inspect_file(source: Path, redaction: Redaction) -> Scrubbed:
    """Tell what `scrub_file` would do.

    Raises:
        InputError: It cannot be read, or is no cassette.
    """
    cleaner = _Cleaner(redaction)
    for _ in _cleaned(source, cleaner):
        pass
    cleaner.done.values = redaction.counts.copy()
    return cleaner.done


def _cleaned(source: Path, cleaner: _Cleaner) -> Iterator[bytes]:
    name = str(source)
    for _ in iter_cassette(source):
        pass  # what is damaged is an error here, before anything is taken for clean
    with opened(name, name) as stream:
        kind = sniff(stream, name)
        stream.seek(0)
        try:
            if kind is InputKind.RECORDING:
                yield from _cleaned_lines(stream, cleaner)
                return
            text = stream.read().decode("utf-8", _ODD)
        except UnicodeDecodeError as error:
            raise BrokenRecordingError(name, f"it is no UTF-8 at byte {error.start}") from error
    if kind is InputKind.CASSETTE_YAML:
        yield cleaner.text(text, yaml_scalars(text), yaml_spelling).encode("utf-8", _ODD)
    else:
        yield cleaner.text(text, json_scalars(text), json_spelling).encode("utf-8", _ODD)


def _cleaned_lines(stream: IO[bytes], cleaner: _Cleaner) -> Iterator[bytes]:
    for line in stream:
        if not line.endswith(b"\n") and _is_torn(line):
            cleaner.done.torn = True
            return
        text = line.decode("utf-8", _ODD)
        yield cleaner.text(text, json_scalars(text), json_spelling).encode("utf-8", _ODD)


def _is_torn(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return True
    return False


class _Cleaner:
    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self.done = Scrubbed()

    def text(self, text: str, scalars: Iterator[Scalar], spell: Callable[[str, str], str]) -> str:
        parts: list[str] = []
        position, previous = 0, ""
        for scalar in scalars:
            value = self._value(scalar, previous)
            previous = scalar.value
            if value != scalar.value:
                was = text[scalar.start : scalar.end]
                parts += [text[position : scalar.start], spell(value, was)]
                position = scalar.end
        return "".join([*parts, text[position:]])

    def _value(self, scalar: Scalar, previous: str) -> str:
        if scalar.base64:
            return self._packed(scalar.value)
        header = "" if scalar.key else _header_name(scalar.path, previous)
        if header and not _may_stay(header) and scalar.value.strip("*"):
            self.done.headers[header] += 1
            return "*" * len(scalar.value)
        return self._redaction.masked_body(scalar.value.encode("utf-8", _ODD)).decode("utf-8", _ODD)

    def _packed(self, value: str) -> str:
        """Base64 of a body, which may be compressed; one that holds nothing stays as it is."""
        try:
            body = base64.b64decode(value)
        except binascii.Error:
            return value
        encoding = "gzip" if body[:2] == GZIP_MAGIC else ""
        content, problem = unpacked_body(body, encoding)
        clean = self._redaction.masked_body(content)
        if problem or clean == content:
            return value
        if encoding:
            packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
            clean = packer.compress(clean) + packer.flush()
        return base64.b64encode(clean).decode()


def _may_stay(header: str) -> bool:
    return is_kept(header) or header in HARMLESS or header.startswith(_HARMLESS_PREFIXES)


def _header_name(path: Place, previous: str) -> str:
    """The name of the header whose value stands at `path`; empty when none does.

    Headers are a mapping of names to values or lists of them, or a list of pairs.
    """
    if "headers" not in path or not {"request", "response", "requests", "responses"} & set(path):
        return ""
    rest = path[len(path) - path[::-1].index("headers") :]
    if rest and isinstance(rest[0], str):
        return rest[0].lower()
    return previous.lower() if len(rest) == 2 and rest[1] == 1 else ""


def _ensure_same_shape(source: Path, cleaned: Path) -> None:
    """Read both, and see that only bytes inside values differ."""
    entries = zip_longest(iter_cassette(source), iter_cassette(cleaned))
    for number, (before, after) in enumerate(entries):
        if before is None or after is None or _shape(before) != _shape(after):
            raise BrokenRecordingError(
                str(source), "it could not be cleaned without moving anything", entry=number
            )


def _shape(interaction: Interaction) -> tuple[object, ...]:
    return (
        interaction.method,
        len(interaction.uri.encode("utf-8", _ODD)),
        len(interaction.request_body) if interaction.request_body[:2] != GZIP_MAGIC else 0,
        [(name, len(value)) for name, value in interaction.request_headers],
        interaction.status,
        [(name, len(value)) for name, value in interaction.response_headers],
        len(interaction.response_body or b"") if (interaction.response_body or b"")[:2] != GZIP_MAGIC else 0,
        interaction.timing,
    )
