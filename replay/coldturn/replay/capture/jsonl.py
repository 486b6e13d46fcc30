"""Cassettes with one interaction a line, for long sessions: appended as they happen, safe for binary bodies.

The first line is the metadata, ``{"coldturn": {"version": 1, ...}}``; every other line is an interaction,
``{"request": {...}, "response": {...}}`` with vcrpy's keys. A body is text, null, or ``{"b64": "..."}``.
"""

from __future__ import annotations

import base64
import binascii
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.request import Request

from coldturn.replay.errors import BrokenRecordingError, RecordingWarning
from coldturn.traces.migrations import METADATA_KEY


def header_line(metadata: Mapping[str, Any]) -> bytes:
    """The first line of a file."""
    return orjson.dumps({METADATA_KEY: {}, **metadata}) + b"\n"


def interaction_line(request: Request, response: Mapping[str, Any]) -> bytes:
    """One interaction as a line."""
    asked = {
        "method": request.method,
        "uri": request.uri,
        "body": _to_json(request.body),
        "headers": {name: [value] for name, value in request.headers.items()},
    }
    body = response.get("body") or {}
    answered = {**response, "body": {**body, "string": _to_json(body.get("string"))}}
    return orjson.dumps({"request": asked, "response": answered}) + b"\n"


def iter_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line, from 0, with its object; a torn last line is dropped with a warning.

    Raises:
        BrokenRecordingError: Naming the first line that is no JSON object.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if not line.strip():
                continue
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                if not line.endswith(b"\n"):
                    text = f"{path}: the last line is torn and was dropped; the recording before it is whole"
                    warnings.warn(text, RecordingWarning, stacklevel=2)
                    return
                raise BrokenRecordingError(str(path), f"line {number + 1} is no JSON: {error}") from error
            if not isinstance(value, dict):
                raise BrokenRecordingError(str(path), f"line {number + 1} is no JSON object")
            yield number, value


class JsonlPersister:
    """A vcrpy persister for these files; pass it as a cassette's `persister`."""

    @classmethod
    def load_cassette(
        cls, cassette_path: str | Path, serializer: object
    ) -> tuple[list[Request], list[dict[str, Any]], dict[str, Any]]:
        """Read a whole file.

        Raises:
            CassetteNotFoundError: When there is no file, or an empty one: vcrpy records anew then.
            BrokenRecordingError: When a line is not what it should be.
        """
        del serializer
        path = Path(cassette_path)
        if not path.is_file() or not path.stat().st_size:
            raise CassetteNotFoundError
        requests: list[Request] = []
        responses: list[dict[str, Any]] = []
        metadata: dict[str, Any] = {}
        for number, value in iter_lines(path):
            if METADATA_KEY in value and "request" not in value:
                metadata = value
                continue
            request, response = _interaction(path, number, value)
            requests.append(request)
            responses.append(response)
        return requests, responses, metadata

    @staticmethod
    def save_cassette(
        cassette_path: str | Path, cassette_dict: Mapping[str, Any], serializer: object
    ) -> None:
        """Write a whole file, in the place of an older one only once it is complete."""
        del serializer
        path = Path(cassette_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        with partial.open("wb") as file:
            file.write(header_line(cassette_dict.get("metadata") or {}))
            file.writelines(
                interaction_line(request, response)
                for request, response in zip(
                    cassette_dict["requests"], cassette_dict["responses"], strict=True
                )
            )
        partial.replace(path)


def _interaction(path: Path, number: int, value: dict[str, Any]) -> tuple[Request, dict[str, Any]]:
    try:
        asked, answered = value["request"], value["response"]
        request = Request(asked["method"], asked["uri"], _to_bytes(asked["body"]), asked["headers"])
        answered["body"]["string"] = _to_bytes(answered["body"]["string"])
    except (KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise BrokenRecordingError(str(path), f"line {number + 1} is no interaction: {error!r}") from error
    return request, answered


def _to_json(body: bytes | str | None) -> str | dict[str, str] | None:
    if body is None or isinstance(body, str):
        return body
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(body).decode()}


def _to_bytes(value: str | dict[str, str] | None) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return base64.b64decode(value["b64"], validate=True)
    return value.encode()
