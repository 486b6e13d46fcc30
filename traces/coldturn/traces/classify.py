"""What a recorded request talks to, when it was sent, and its bodies unpacked."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.exchange import ExchangeKind
from coldturn.traces.interaction import Headers, Interaction
from coldturn.traces.limits import MAX_BODY_UNPACKED
from coldturn.traces.opening import GZIP_MAGIC
from coldturn.traces.slices import NotJsonError, object_parts

_RPC = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"')
_KEY_OF_RPC = b'"jsonrpc"'
_RPC_WINDOW = 4096
_LONG = 16_384
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799
"""Epoch seconds of the first and the last day that dates can tell (years 1 and 9999)."""
_FIRST_KEY = re.compile(rb'\s*\{\s*"([a-z_]+)"\s*:')
_MODEL_KEYS = frozenset({b"model", b"messages", b"input", b"instructions", b"max_tokens", b"stream"})
_MODEL_PATHS = (
    "/messages",
    "/chat/completions",
    "/responses",
    "/converse",
    "/converse-stream",
    ":generateContent",
    ":streamGenerateContent",
)
_NOT_THEIRS = "/threads/"
"""Messages of the Assistants API have such an address too, and are no requests to a model."""


class PackedBodyError(ValueError):
    """A compressed body that does not unpack, or not within its bound."""


def kind_of(body: bytes, url: str) -> ExchangeKind:
    """MODEL for the surfaces we read, MCP for JSON-RPC 2.0, else OTHER.

    What was sent to a model's address and is no JSON object counts as MODEL: its reader finds the damage.
    """
    if is_json_rpc(body):
        return ExchangeKind.MCP
    if _plainly_model(body, url):
        return ExchangeKind.MODEL
    if body.strip() and (recognise_surface(body, url) is not None or _is_damaged_request(body, url)):
        return ExchangeKind.MODEL
    return ExchangeKind.OTHER


def _is_damaged_request(body: bytes, url: str) -> bool:
    path = urlsplit(url).path.rstrip("/")
    if not path.endswith(_MODEL_PATHS) or _NOT_THEIRS in path:
        return False
    try:
        object_parts(body)
    except NotJsonError:
        return True
    return False


def _plainly_model(body: bytes, url: str) -> bool:
    """Whether the first key of a long body tells enough: reading all of it to be sure would cost a pass."""
    if len(body) < _LONG:
        return False
    path = urlsplit(url).path.rstrip("/")
    first = _FIRST_KEY.match(body)
    return first is not None and first[1] in _MODEL_KEYS and (not path or path.endswith(_MODEL_PATHS))


def address(text: str) -> str:
    """A recorded address, or nothing where a recording put something else (redacted, or damaged)."""
    try:
        urlsplit(text)
    except ValueError:
        return ""
    return text


def is_json_rpc(body: bytes) -> bool:
    """Whether a body is a JSON-RPC 2.0 message, or a batch of them."""
    head, tail = body[:_RPC_WINDOW], body[-_RPC_WINDOW:]
    # Few bodies hold the key at all, and a look for it alone costs a tenth.
    if not any(_KEY_OF_RPC in part and _RPC.search(part) for part in (head, tail)):
        return False
    try:
        return "jsonrpc" in object_parts(body)
    except NotJsonError:
        return body.lstrip()[:1] == b"["


def unpacked(body: bytes, headers: Headers) -> bytes:
    """A body as its receiver saw it: gzip and deflate undone where the header says so and the bytes are.

    Raises:
        PackedBodyError: It is damaged or larger than the bound.
    """
    encoding = dict(headers).get("content-encoding", "").strip().lower()
    if body[:2] == GZIP_MAGIC:
        return _inflate(body, 16 + zlib.MAX_WBITS)
    if encoding == "deflate" and body[:1] not in (b"{", b"["):
        return _inflate(body, zlib.MAX_WBITS if body[:1] == b"\x78" else -zlib.MAX_WBITS)
    if encoding in ("br", "zstd") and not _is_text(body):
        raise PackedBodyError(f"it is compressed as {encoding}, which is not unpacked")
    return body


def _inflate(body: bytes, window: int) -> bytes:
    unpacker = zlib.decompressobj(window)
    try:
        content = unpacker.decompress(body, MAX_BODY_UNPACKED)
    except zlib.error as error:
        raise PackedBodyError("its compression is damaged") from error
    if unpacker.unconsumed_tail:
        raise PackedBodyError(f"it unpacks to more than {MAX_BODY_UNPACKED // 1_048_576} MiB")
    if not unpacker.eof:
        raise PackedBodyError("its compression is cut off")
    return content


def _is_text(body: bytes) -> bool:
    try:
        body[:4096].decode()
    except UnicodeDecodeError as error:
        return error.start >= 4090
    return True


def started_of(interaction: Interaction) -> float | None:
    """When the request was sent: our own timing, else the response's `date` header, which is later."""
    start = interaction.timing.get("start")
    return instant(start) if start is not None else http_date(dict(interaction.response_headers))


def answered_of(interaction: Interaction) -> float | None:
    """When the first byte of the response came, by our own timing; None in other recordings."""
    start = instant(interaction.timing.get("start"))
    match interaction.timing.get("chunks"):
        case [[int() | float() as offset, int()], *_] if start is not None:
            return start + offset
        case _:
            return None


def instant(value: object) -> float | None:
    """Epoch seconds of a number or an RFC 3339 text (UTC when it names no zone); None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _finite(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _finite(value: float) -> float | None:
    """A number that a clock can show: within the years that dates have."""
    return float(value) if _EARLIEST <= value <= _LATEST else None


def http_date(headers: Mapping[str, str]) -> float | None:
    """Epoch seconds of a `date` header, None when there is none or it is redacted."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError, IndexError):
        return None
