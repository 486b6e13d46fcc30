"""Amazon Bedrock's log of model invocations, as it lies in S3 and in CloudWatch: a JSON object on each line.

Bodies are those of Converse or InvokeModel, written afresh by the service. Those beyond 100 KB lie in files
of their own, so that such a call is numbers only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO
from urllib.parse import quote

from coldturn.reference.prefix.model import Fidelity, Surface
from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import instant, kind_of
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.sessions import loose, members_of, text_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import Line, document, lines
from coldturn.traces.pieces import holds_lines
from coldturn.traces.slices import NotJsonError, array_parts, object_parts
from coldturn.traces.usage_reply import Counts, counts, usage_reply

_SCHEMA = b'"ModelInvocationLog"'
_THROTTLED, _REFUSED = 429, 400


def _recognise(head: Head) -> bool:
    shapes = (Layout.OBJECT, Layout.LINES)
    return head.layout in shapes and any(one.get("schemaType") == _SCHEMA for one in head.objects)


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every invocation, in the order of the log."""
    records = Records(name)
    if not holds_lines(stream):
        try:
            yield from _records(object_parts(document(stream, name)), 0, records, name)
        except NotJsonError as error:
            raise UnreadableJsonError(name, str(error)) from error
        return
    for entry, line in enumerate(lines(stream)):
        try:
            yield from _records(_members(line), entry, records, name)
        except NotJsonError as error:
            end = "" if line.complete else " (the file ends there without a line feed)"
            yield EntryError(name, entry, f"line {line.number}: {error}{end}", torn=not line.complete)


def _members(line: Line) -> dict[str, bytes]:
    if line.too_long:
        raise NotJsonError("it is too long to be held")
    return object_parts(line.content)


def _records(told: Mapping[str, bytes], entry: int, records: Records, name: str) -> Iterator[Record]:
    given, answer = members_of(told.get("input")), members_of(told.get("output"))
    body = given.get("inputBodyJson", b"")
    usage = counts(
        loose(given.get("inputTokenCount")),
        loose(given.get("cacheReadInputTokenCount")),
        loose(given.get("cacheWriteInputTokenCount")),
        loose(answer.get("outputTokenCount")),
        excludes_cache=True,
    )
    model = text_of(told.get("modelId")) or ""
    started = instant(loose(told.get("timestamp")))
    if body[:1] != b"{":
        call = Observed(entry=entry, model=model, provider="aws.bedrock", usage=usage, started=started)
        yield from records.of(call)
        return
    url = _address(told, model)
    reply, content_type = _reply(answer.get("outputBodyJson", b""), recognise_surface(body, url), usage)
    yield Exchange(
        source=name,
        entry=entry,
        kind=kind_of(body, url),
        method="POST",
        url=url,
        request_body=body,
        response_body=reply,
        status=_status(text_of(told.get("errorCode"))),
        content_type=content_type,
        started=started,
        fidelity=Fidelity.CANONICAL,
        undated=started is None and "timestamp" in told,
    )


def _address(told: Mapping[str, bytes], model: str) -> str:
    """Where the call went: the log names the region, the operation and the model."""
    operation = "converse" if (text_of(told.get("operation")) or "").startswith("Converse") else "invoke"
    region = text_of(told.get("region"))
    host = (
        f"bedrock-runtime.{quote(region, errors='replace')}.amazonaws.com"
        if region
        else "bedrock-runtime.amazonaws.com"
    )
    return f"https://{host}/model/{quote(model or '-', safe=':', errors='replace')}/{operation}"


def _reply(answer: bytes, surface: Surface | None, usage: Counts) -> tuple[bytes | None, str]:
    """The answer, where it is logged whole: an object, or a stream's events of Claude; else its counts."""
    if answer[:1] == b"{" and b'"usage"' in answer:
        return answer, "application/json"
    if answer[:1] == b"[" and surface is Surface.MESSAGES:
        return b"".join(b"data: " + one + b"\n\n" for one in _events(answer)), "text/event-stream"
    reply = usage_reply(surface, usage) if surface is not None and usage.known else None
    return reply, "application/json"


def _events(answer: bytes) -> Iterator[bytes]:
    for one in array_parts(answer):
        yield one.replace(b"\n", b" ").replace(b"\r", b" ")


def _status(error: str | None) -> int:
    if not error:
        return 200
    return _THROTTLED if "Throttling" in error else _REFUSED


FORMATS = (Format(InputKind.BEDROCK_LOG, "Bedrock's log of model invocations", _recognise, read),)
