"""Secrets are blotted out where they would be written down, at equal length so that offsets stay true.

Two kinds are known: exact values (of environment variables that a person names, and credentials that pass in
headers), in the forms in which bodies and addresses spell them, and values that look like the key of a
well-known service. A key's name never counts: ``input_tokens`` and ``progressToken`` are no secrets.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from vcr.request import Request

from coldturn.reference.prefix.key_shapes import KEY_SHAPES
from coldturn.reference.prefix.secrets import keys_in
from coldturn.replay.errors import SecretVariableError

SHORTEST_SECRET = 8
"""Shorter values are placeholders such as ``none``, and stand in ordinary text."""

SHORTEST_LEARNT = 16
"""A credential in a header that is shorter is no key; local servers are given ones such as ``dummy``."""

CREDENTIALS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "x-auth-token"}
)
"""Headers whose value is a secret by itself."""

_BLOT = b"*"
_ODD = "surrogateescape"
"""How the environment's bytes that are no UTF-8 are spelt in text."""

_SHAPE_NAMES = frozenset(shape.name for shape in KEY_SHAPES)

# Pieces of streamed text: the strings of these fields, in events of all surfaces.
_PIECE = re.compile(
    rb'"(text|partial_json|thinking|content|reasoning|reasoning_content|refusal|delta|arguments|input)"'
    rb'\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)"'
)
_PLACE = re.compile(rb'"(?:index|output_index|content_index)"\s*:\s*\d+')

logger = logging.getLogger(__name__)


class Redaction:
    """Replaces secrets by as many asterisks.

    Attributes:
        counts: How many values of each kind were replaced.
    """

    def __init__(self, secrets: Iterable[str] = (), *, shapes: bool = True) -> None:
        """Know some secrets.

        Args:
            secrets: Exact values; those of fewer than `SHORTEST_SECRET` characters are no secrets.
            shapes: Also replace what looks like a key of a well-known service.
        """
        self.counts: Counter[str] = Counter()
        self._shapes = shapes
        self._forms: dict[bytes, str] = {}
        for secret in secrets:
            self.add(secret)

    @classmethod
    def of_variables(
        cls, names: Iterable[str], environment: Mapping[str, str], *, shapes: bool = True
    ) -> Redaction:
        """Take exact values from environment variables.

        Raises:
            SecretVariableError: One is not set, or too short to be told from ordinary text.
        """
        redaction = cls(shapes=shapes)
        for name in names:
            value = environment.get(name, "")
            if len(value) < SHORTEST_SECRET:
                raise SecretVariableError(name, set_=bool(value), shortest=SHORTEST_SECRET)
            redaction.add(value, name)
        return redaction

    def add(self, secret: str, kind: str = "secret") -> None:
        """Know one more value; `kind` is what it is counted as."""
        if len(secret) < SHORTEST_SECRET:
            return
        forms = self._forms | {form: self._forms.get(form, kind) for form in spellings(secret)}
        # Longest first: a secret may begin with another one.
        self._forms = dict(sorted(forms.items(), key=lambda item: -len(item[0])))

    def learn(self, headers: Iterable[tuple[str, str]]) -> None:
        """Know the credentials of a request, so that an answer that repeats one is cleaned."""
        for name, value in headers:
            if name.lower() in CREDENTIALS:
                credential = value.rpartition(" ")[2]
                if len(credential) >= SHORTEST_LEARNT and credential.encode() not in self._forms:
                    self.add(credential, "credential")

    def masked(self, data: bytes) -> bytes:
        """Give `data` without secrets, as long as it was."""
        for form, kind in self._forms.items():
            if found := data.count(form):
                self._count(kind, found)
                data = data.replace(form, _BLOT * len(form))
        return self._without_shapes(data) if self._shapes else data

    def masked_text(self, text: str) -> str:
        """Give `text` without secrets."""
        return self.masked(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def masked_body(self, body: bytes) -> bytes:
        """Give a body without secrets, also where events of a stream hold a secret in pieces."""
        body = self.masked(body)
        if not (b"data:" in body and (b"delta" in body or b"choices" in body)):
            return body
        whole = bytearray(body)
        for pieces in _streams(body):
            text = b"".join(body[start:end] for start, end in pieces)
            cleaned, position = self.masked(text), 0
            if cleaned != text:
                for start, end in pieces:
                    whole[start:end] = cleaned[position : position + end - start]
                    position += end - start
        return bytes(whole)

    def masked_request(self, request: Request) -> Request:
        """Give a request whose address, headers and body are clean."""
        body = request.body
        return Request(
            request.method,
            self.masked_text(request.uri),
            self.masked_body(body) if isinstance(body, bytes) else body,
            {name: self.masked_text(value) for name, value in request.headers.items()},
        )

    def masked_response(self, response: Mapping[str, Any]) -> dict[str, Any]:
        """Give a response whose headers and body are clean."""
        body = dict(response["body"])
        if isinstance(body.get("string"), bytes):
            body["string"] = self.masked_body(body["string"])
        headers = {name: list(map(self.masked_text, values)) for name, values in response["headers"].items()}
        return {**response, "headers": headers, "body": body}

    def _without_shapes(self, data: bytes) -> bytes:
        whole: bytearray | None = None
        for kind, start, end in keys_in(data):
            self._count(kind, 1)
            whole = bytearray(data) if whole is None else whole
            whole[start:end] = _BLOT * (end - start)
        return data if whole is None else bytes(whole)

    def _count(self, kind: str, number: int) -> None:
        if kind in _SHAPE_NAMES and kind not in self.counts:
            logger.warning("what looks like a key was masked in the recording: %s", kind)
        self.counts[kind] += number


def spellings(secret: str) -> frozenset[bytes]:
    """How a value may stand in bodies and addresses: plain, JSON-escaped (twice too), URL-encoded."""
    urls = {quote(secret, safe=safe, errors=_ODD) for safe in ("", "/")}
    urls.add(quote_plus(secret, errors=_ODD))
    texts = {secret, *urls, *(re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), url) for url in urls)}
    for _ in range(2):
        for text in tuple(texts):
            escaped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
            texts |= escaped | {one.replace("/", "\\/") for one in escaped}
    return frozenset(text.encode("utf-8", _ODD) for text in texts)


def _streams(body: bytes) -> Iterator[list[tuple[int, int]]]:
    """Yield the places of the pieces of each text that a stream of events gives bit by bit."""
    texts: dict[tuple[bytes, ...], list[tuple[int, int]]] = {}
    start = 0
    for line in body.splitlines(keepends=True):
        if line.startswith(b"data:"):
            place = tuple(_PLACE.findall(line))
            for piece in _PIECE.finditer(line):
                begin, end = piece.span(2)
                texts.setdefault((piece[1], *place), []).append((start + begin, start + end))
        start += len(line)
    return (pieces for pieces in texts.values() if len(pieces) > 1)
