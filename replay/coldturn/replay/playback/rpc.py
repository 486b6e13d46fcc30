"""JSON-RPC messages of MCP as they stand in recorded bodies, and what makes two of them the same call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)

VOLATILE_META = frozenset(
    {
        "progressToken",
        "traceparent",
        "tracestate",
        "baggage",
        # Who is asking: another version of the SDK asks the same.
        CLIENT_INFO_META_KEY,
        CLIENT_CAPABILITIES_META_KEY,
        PROTOCOL_VERSION_META_KEY,
        LOG_LEVEL_META_KEY,
    }
)
"""Keys of ``params._meta`` that differ between runs that ask for the same thing."""

HANDSHAKES = frozenset({"initialize", "server/discover"})
LISTEN = "subscriptions/listen"
_SUBJECTS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
}


@dataclass(frozen=True, slots=True)
class Rpc:
    """A client's message: a request (method and id), a notification (no id) or a response (no method)."""

    method: str | None
    id: str | int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    answer: object = None

    @property
    def is_request(self) -> bool:
        """Whether an answer is due."""
        return self.method is not None and self.id is not None

    @property
    def is_list(self) -> bool:
        """Whether it asks for a listing, whose answer holds until the next one."""
        return self.method is not None and self.method.endswith("/list")

    @property
    def progress_token(self) -> str | int | None:
        """The token under which progress is reported."""
        token = _meta(self.params).get("progressToken")
        return token if isinstance(token, str | int) else None


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """What must be equal for a recorded answer to be played.

    Attributes:
        server: Label or address.
        subject: Tool, prompt or resource that is asked for, or a listing's cursor.
        params: Canonical JSON of the parameters without ids, tokens and trace context.
    """

    server: str
    method: str
    subject: str
    params: str

    def __str__(self) -> str:
        arguments = self.params if len(self.params) <= 160 else self.params[:157] + "..."
        return " ".join(part for part in (self.method, self.subject, arguments) if part)


def parse_rpc(body: bytes) -> Rpc | None:
    """Read a body; None when it is no single JSON-RPC 2.0 message."""
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    method, request_id, params = message.get("method"), message.get("id"), message.get("params")
    return Rpc(
        method if isinstance(method, str) else None,
        request_id if isinstance(request_id, str | int) else None,
        params if isinstance(params, dict) else {},
        message.get("result", message.get("error")),
    )


def call_key(server: str, rpc: Rpc) -> CallKey:
    """The key of a client's message."""
    if rpc.method is None:
        return CallKey(server, "response", "", canonical(rpc.answer))
    if rpc.method in HANDSHAKES or rpc.method == LISTEN:
        return CallKey(server, rpc.method, "", "")
    params = stable_params(rpc.params)
    if rpc.method == "notifications/cancelled":
        params.pop("requestId", None)
    subject = params.get(_SUBJECTS.get(rpc.method, "cursor"), "")
    return CallKey(server, rpc.method, str(subject), canonical(params) if params else "")


def stable_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters without what differs between runs."""
    stable = {key: value for key, value in params.items() if key != "_meta"}
    if meta := {key: value for key, value in _meta(params).items() if key not in VOLATILE_META}:
        stable["_meta"] = meta
    return stable


def canonical(value: object) -> str:
    """JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def differences(asked: CallKey, recorded: CallKey, *, limit: int = 3) -> str:
    """What differs between two calls, in words, at most `limit` places."""
    if asked.server != recorded.server:
        return f"is of the server {recorded.server}"
    ours, theirs = dict(_leaves(_decoded(asked))), dict(_leaves(_decoded(recorded)))
    found = [
        f"{path} is {_short(theirs, path)} instead of {_short(ours, path)}"
        for path in sorted(ours.keys() | theirs.keys())
        if ours.get(path) != theirs.get(path)
    ]
    if not found:
        return "is the same call, which has been played already"
    more = len(found) - limit
    return ", ".join(found[:limit]) + (f" and {more} more" if more > 0 else "")


def likeness(asked: CallKey, recorded: CallKey) -> tuple[bool, bool, int]:
    """Sorts recorded calls by how like `asked` they are, the most alike first."""
    ours, theirs = dict(_leaves(_decoded(asked))), dict(_leaves(_decoded(recorded)))
    apart = sum(ours.get(path) != theirs.get(path) for path in ours.keys() | theirs.keys())
    return asked.server != recorded.server, asked.subject != recorded.subject, apart


def _decoded(key: CallKey) -> object:
    return json.loads(key.params) if key.params else {}


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, canonical(value)


def _short(leaves: Mapping[str, str], path: str) -> str:
    text = leaves.get(path, "missing")
    return text if len(text) <= 60 else text[:57] + "..."


def _meta(params: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}
