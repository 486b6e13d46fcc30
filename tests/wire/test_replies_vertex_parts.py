"""Arguments of function calls that Vertex streams in parts: joined, or refused where they do not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.errors import UnreadableReplyError
from coldturn.reference.wire.model import ToolCall


def part(path: str, **value: object) -> dict[str, object]:
    return {"jsonPath": path, **value}


def stream(*calls: dict[str, Any]) -> bytes:
    said = [{"candidates": [{"content": {"parts": [{"functionCall": call}]}}]} for call in calls]
    said.append({"usageMetadata": {"promptTokenCount": 9}})  # type: ignore[dict-item]
    return b"".join(b"data: %b\r\n\r\n" % json.dumps(one).encode() for one in said)


def calls_of(*calls: dict[str, Any]) -> tuple[ToolCall, ...]:
    return decode_reply(Surface.GENERATE_CONTENT, stream(*calls), "text/event-stream").calls


def begun(*parts: dict[str, object], **more: object) -> dict[str, object]:
    return {"name": "look", "partialArgs": list(parts), "willContinue": True, **more}


def joined(*parts: dict[str, object]) -> str:
    (call,) = calls_of(begun(*parts), {})
    return call.arguments


def test_a_streamed_call_is_one_call() -> None:
    """As the API's description has it: name, parts of a text, an empty call at the end."""
    calls = calls_of(
        {"name": "get_weather", "id": "c1", "willContinue": True},
        {"partialArgs": [part("$.place", stringValue="Bos", willContinue=True)], "willContinue": True},
        {"partialArgs": [part("$.place", stringValue="ton", willContinue=True)], "willContinue": True},
        {"partialArgs": [part("$.place", stringValue=", MA")], "willContinue": True},
        {
            "partialArgs": [part("$.days", numberValue=3), part("$.now", boolValue=False)],
            "willContinue": True,
        },
        {},
        {"name": "leap", "args": {"far": 1.0}},
        {"name": "stop"},
    )
    assert calls == (
        ToolCall("c1", "get_weather", '{"place":"Boston, MA","days":3,"now":false}'),
        ToolCall("", "leap", '{"far":1.0}'),
        ToolCall("", "stop", "{}"),
    )


def test_two_streamed_calls_do_not_mix() -> None:
    """The last part of a call may itself say that nothing follows; an empty call then says nothing."""
    calls = calls_of(
        begun(part("$.a", stringValue="x"), willContinue=None),
        {},
        begun(part("$.a", stringValue="y"), id="c2"),
        {"name": "look", "id": "c2", "partialArgs": [part("$.a", stringValue="z")]},
    )
    assert calls == (ToolCall("", "look", '{"a":"x"}'), ToolCall("c2", "look", '{"a":"yz"}'))


@pytest.mark.parametrize(
    ("parts", "arguments"),
    [
        (
            [part("$.a.b[0].c", numberValue=1), part("$.a.b[1].c", numberValue=2)],
            '{"a":{"b":[{"c":1},{"c":2}]}}',
        ),
        ([part("$['a b']", stringValue="x"), part('$["q\\"."]', boolValue=True)], '{"a b":"x","q\\".":true}'),
        ([part("$['it\\'s \"so\"']", stringValue="x")], '{"it\'s \\"so\\"":"x"}'),
        ([part("$.n", nullValue="NULL_VALUE"), part("$.m", nullValue=None)], '{"n":null,"m":null}'),
        ([part("$.é-1", stringValue='"\n')], '{"é-1":"\\"\\n"}'),
        ([part("$.a", stringValue=""), part("$.b[0]", stringValue="x")], '{"a":"","b":["x"]}'),
        ([part("$.a", willContinue=True)], "{}"),
        ([{"json_path": "$.a", "string_value": "x", "null_value": None, "number_value": None}], '{"a":"x"}'),
        ([{"json_path": "$.a", "null_value": "NULL_VALUE"}], '{"a":null}'),
    ],
)
def test_paths_and_values(parts: list[dict[str, object]], arguments: str) -> None:
    assert joined(*parts) == arguments


def test_numbers_keep_their_digits() -> None:
    body = stream(begun(part("$.n", numberValue=7)), {}).replace(
        b'"numberValue": 7', b'"numberValue": 1.50e+2'
    )
    (call,) = decode_reply(Surface.GENERATE_CONTENT, body).calls
    assert call.arguments == '{"n":1.50e+2}'


@pytest.mark.parametrize(
    "parts",
    [
        [part("", stringValue="x")],
        [part("$", stringValue="x")],
        [part("a", stringValue="x")],
        [part("$.a[*]", stringValue="x")],
        [part("$..a", stringValue="x")],
        [part("$.a[0", stringValue="x")],
        [part("$['\\q']", stringValue="x")],
        [part("$" + ".a" * 101, stringValue="x")],
        [part("$[0]", stringValue="x")],
        [part("$.a[1]", stringValue="x")],
        [part("$.a", numberValue=1), part("$.a", numberValue=1)],
        [part("$.a", numberValue=1), part("$.a", stringValue="x")],
        [part("$.a", stringValue="x"), part("$.a", boolValue=True)],
        [part("$.a", stringValue="x"), part("$.a.b", boolValue=True)],
        [part("$.a[0]", stringValue="x"), part("$.a.b", boolValue=True)],
        [part("$.a", stringValue="x", numberValue=1)],
        [part("$.a", numberValue="NaN")],
        [part("$.a", boolValue=0)],
        [part("$.a", stringValue=["x"])],
        [{"stringValue": "x"}],
    ],
)
def test_parts_that_do_not_fit_are_no_reply(parts: list[dict[str, object]]) -> None:
    with pytest.raises(UnreadableReplyError, match="in parts"):
        joined(*parts)


@pytest.mark.parametrize(
    "calls",
    [
        [{"partialArgs": [part("$.a", stringValue="x")], "willContinue": True}],
        [{"willContinue": True}],
        [begun(part("$.a", stringValue="x")), begun(part("$.a", stringValue="y"))],
        [begun(part("$.a", stringValue="x")), {"name": "leap", "args": {}}],
        [begun(part("$.a", stringValue="x")), {"args": {"a": "y"}}],
    ],
)
def test_calls_that_do_not_follow_are_no_reply(calls: list[dict[str, Any]]) -> None:
    with pytest.raises(UnreadableReplyError):
        calls_of(*calls)


def test_a_call_within_which_a_stream_ends_is_not_taken_for_whole() -> None:
    (call,) = calls_of(begun(part("$.a", stringValue="x", willContinue=True)))
    assert call.arguments == '{"a":"x"'


def test_a_call_that_begins_open_may_bring_its_arguments_whole() -> None:
    (call,) = calls_of({"name": "look", "willContinue": True}, {"args": {"a": 1}})
    assert call.arguments == '{"a":1}'
    (none,) = calls_of({"name": "look", "willContinue": True}, {})
    assert none.arguments == "{}"
