"""What the Python libraries of Anthropic and OpenAI log at the level of debugging (``ANTHROPIC_LOG=debug``).

Before each request stands a line with its options as Python writes a dict, the body under ``json_data``;
behind it its address, and the status and headers of the answer. Answers, so usage, are not logged, and times
are the date of the answer: those of the lines name no zone. OpenAI's library logs no bodies since its
version 3. Source: the base clients of anthropic 2.14 and openai 2.20 and 3.57.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any, TypeAlias

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.classify import address, http_date, kind_of
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import Line, lines
from coldturn.traces.slices import NotJsonError, to_json

Json: TypeAlias = Any

_OPTIONS = b"Request options: {'"
_DICT = _OPTIONS.index(b"{")
_SENDING = re.compile(rb"Sending HTTP Request: \w+ (?P<url>https?://\S+)")
_ANSWER = re.compile(rb'HTTP Response: \w+ (?:\S+ )?"?(?P<status>\d{3})\b')
_DATE = re.compile(rb"'date': '(?P<date>[^']{1,64})'")
_CLIENT = re.compile(rb"(?:anthropic|openai)\._base_client")
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[{}\[\]()]""", re.DOTALL)
_KEYS = {"'json_data'": "json_data", "'extra_json'": "extra_json", "'url'": "url"}
_VALUE = re.compile(r"\s*:\s*")
_DEPTH = 90
"""Levels that Python's own parser takes with a margin."""
_OPENING, _CLOSING = "{[(", "}])"


def _recognise(head: Head) -> bool:
    return head.layout is Layout.TEXT and (_OPTIONS in head.text or _CLIENT.search(head.text) is not None)


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each request that a body was logged of, in the order in which they were made.

    Raises:
        NoRequestsError: None was.
    """
    calls = _Calls()
    told = errors = seen = 0
    for line in lines(stream):
        seen += 1
        try:
            found = list(calls.take(line, name, told + len(calls.open)))
        except NotJsonError as error:
            errors += 1
            yield EntryError(name, told + len(calls.open), f"line {line.number}: {error}")
            continue
        told += len(found)
        yield from found
    told += len(calls.open)
    yield from calls.open
    if not told and not errors:
        what = f"{seen} line{'s'[: seen != 1]} of a library's log without the body of a request"
        raise NoRequestsError(name, [f"{what}; openai logs none since its version 3"])


@dataclass(slots=True)
class _Calls:
    """The requests that wait for their answers.

    Attributes:
        open: In their order.
        mixed: How many of them were under way at the same time as another: which answer is whose is not told.
    """

    open: list[Exchange] = field(default_factory=list)
    mixed: int = 0

    def take(self, line: Line, name: str, entry: int) -> Iterator[Exchange]:
        """The next line; a request once its answer has come.

        Raises:
            NotJsonError: Its options cannot be read.
        """
        content = line.content
        if _OPTIONS in content:
            call = _request(line, name, entry)
            if call is not None:
                self.open.append(call)
                self.mixed = len(self.open) if len(self.open) > 1 else self.mixed
            return
        if not self.open:
            return
        alone = len(self.open) == 1 and not self.mixed
        sending, answer = _SENDING.search(content), _ANSWER.search(content)
        if sending is not None and alone:
            url = address(sending["url"].decode("utf-8", "replace"))
            self.open[0] = replace(self.open[0], url=url)
        elif answer is not None:
            call = self.open.pop(0)
            self.mixed = max(0, self.mixed - 1)
            yield _answered(call, content, int(answer["status"])) if alone else call


def _answered(call: Exchange, content: bytes, status: int) -> Exchange:
    date = _DATE.search(content)
    headers = {} if date is None else {"date": date["date"].decode("utf-8", "replace")}
    return replace(call, status=status, started=http_date(headers))


def _request(line: Line, name: str, entry: int) -> Exchange | None:
    """The request of a line with options; None for one without a body, such as a list of models."""
    if line.too_long:
        raise NotJsonError("it is too long to be held")
    text = line.content[line.content.index(_OPTIONS) + _DICT :]
    try:
        options = _members(text.decode())
    except UnicodeDecodeError as error:
        raise NotJsonError("it is no UTF-8") from error
    body, url = options.get("json_data"), options.get("url")
    if not isinstance(body, dict):
        return None
    more = options.get("extra_json")
    try:
        sent = to_json({**body, **more} if isinstance(more, dict) else body)
    except TypeError as error:
        raise NotJsonError("its body holds what JSON has not") from error
    path = url if isinstance(url, str) else ""
    return Exchange(
        source=name,
        entry=entry,
        kind=kind_of(sent, path),
        method="POST",
        url=address(path),
        request_body=sent,
        response_body=None,
        status=None,
        content_type="application/json",
        started=None,
        fidelity=Fidelity.CANONICAL,
    )


def _members(text: str) -> dict[str, Json]:
    """The members that are needed of a dict as Python writes it; others may hold what is no literal.

    Raises:
        NotJsonError: It breaks off, or one of them is no literal.
    """
    found: dict[str, Json] = {}
    depth = 0
    key, begins = "", 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in _OPENING:
            depth += 1
            if depth > _DEPTH:
                raise NotJsonError("it is nested too deeply")
        elif sign in _CLOSING:
            depth -= 1
        if not depth:
            return found
        if key and depth == 1:
            found[key] = _literal(text[begins : token.end()])
            key = ""
        elif depth == 1 and sign in _KEYS and (value := _VALUE.match(text, token.end())) is not None:
            key, begins = _KEYS[sign], value.end()
            key = key if text[begins : begins + 1] in ("{", "'", '"') else ""
    raise NotJsonError("it breaks off inside its options")


def _literal(text: str) -> Json:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise NotJsonError("its options hold something that Python writes as no value") from error


FORMATS = (Format(InputKind.SDK_LOG, "a client library's debug log", _recognise, read),)
