"""Cassettes: HTTP interactions, as vcrpy and coldturn write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO

from coldturn.traces.cassette_entries import entries
from coldturn.traces.classify import PackedBodyError, address, answered_of, kind_of, started_of, unpacked
from coldturn.traces.exchange import EntryError, Exchange, cache_headers
from coldturn.traces.formats.model import Format, Head, Layout, Read
from coldturn.traces.interaction import Interaction
from coldturn.traces.kinds import InputKind
from coldturn.traces.pieces import opening_members

_YAML_KEY = re.compile(rb"^(?:interactions|requests|responses):", re.MULTILINE)
_HELD = 65_536
_TEXT_KEYS = frozenset({"string", "base64_string", "b64", "encoding"})


def _is_yaml(head: Head) -> bool:
    return head.layout is Layout.TEXT and _YAML_KEY.search(head.text) is not None


def _is_recording(head: Head) -> bool:
    if head.layout not in (Layout.LINES, Layout.OBJECT):
        return False
    lines = head.layout is Layout.LINES and "response" in head.keys
    return _is_header(head) or (lines and _is_interaction(head))


def _is_json(head: Head) -> bool:
    if head.layout is not Layout.OBJECT:
        return False
    return "interactions" in head.keys or _is_interaction(head)


def _is_header(head: Head) -> bool:
    """Whether this is the first line of a recording of ours."""
    if {"request", "interactions"} & head.keys:
        return False
    return "coldturn" in head.keys or ("version" in head.keys and b'"coldturn"' in head.member("metadata"))


def _is_interaction(head: Head) -> bool:
    """Whether a `request` member is an HTTP request with its parts, rather than the body itself.

    A body that is a JSON object of its own is not a cassette's: those are text, or an object around it.
    """
    keys, answer = _members(head.member("request")), _members(head.member("response"))
    if not {"uri", "url"} & keys.keys() or "method" not in keys:
        return False
    return not any(_is_bare_json(one.get("body", b"")) for one in (keys, answer))


def _members(value: bytes) -> Mapping[str, bytes]:
    return opening_members(value, _HELD) if value[:1] == b"{" else {}


def _is_bare_json(body: bytes) -> bool:
    keys = _members(body).keys()
    return bool(keys) and _TEXT_KEYS.isdisjoint(keys)


def _read_as(kind: InputKind) -> Read:
    def read(stream: IO[bytes], name: str) -> Iterator[Exchange | EntryError]:
        for entry in entries(stream, name, kind):
            yield entry if isinstance(entry, EntryError) else exchange_of(entry, source=name)

    return read


def exchange_of(interaction: Interaction, *, source: str) -> Exchange | EntryError:
    """A cassette's interaction as an exchange, its bodies unpacked."""
    try:
        body = unpacked(interaction.request_body, interaction.request_headers)
        answer = interaction.response_body
        if answer is not None:
            answer = unpacked(answer, interaction.response_headers)
    except PackedBodyError as error:
        return EntryError(source, interaction.entry, f"a body cannot be read: {error}")
    headers = interaction.response_headers
    url = address(interaction.uri)
    return Exchange(
        source=source,
        entry=interaction.entry,
        kind=kind_of(body, url),
        method=interaction.method.upper(),
        url=url,
        request_body=body,
        response_body=answer,
        status=interaction.status,
        content_type=dict(headers).get("content-type", ""),
        started=started_of(interaction),
        fidelity=interaction.fidelity,
        headers=headers,
        answered=answered_of(interaction),
        request_headers=cache_headers(interaction.request_headers),
    )


FORMATS = (
    Format(InputKind.CASSETTE_YAML, "a cassette", _is_yaml, _read_as(InputKind.CASSETTE_YAML)),
    Format(InputKind.CASSETTE_JSON, "a cassette", _is_json, _read_as(InputKind.CASSETTE_JSON)),
    Format(InputKind.RECORDING, "a recording of ours", _is_recording, _read_as(InputKind.RECORDING)),
)
