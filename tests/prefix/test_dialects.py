"""How each surface's bodies become blocks: order, zones, kinds, names, headers, markers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import BlockKind, Fidelity, Labels, Marker, Surface, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request, recognise_surface

EPHEMERAL = {"type": "ephemeral"}


def read(body: dict[str, Any], **options: Any) -> PromptRequest:  # noqa: ANN401 - read_request's own options
    return read_request(json.dumps(body).encode(), **options)


def rows(request: PromptRequest) -> list[tuple[Any, ...]]:
    return [(one.zone, one.kind, one.path, one.role, one.name, one.call_id) for one in request.blocks]


TOOLS, SYSTEM, HISTORY = Zone.TOOLS, Zone.SYSTEM, Zone.HISTORY
TOOL, TEXT, CALL, RESULT = BlockKind.TOOL, BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT


def test_messages_render_tools_then_system_then_messages() -> None:
    request = read(
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "s"},
                        {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1.0}},
                        {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {}},
                        {"type": "web_search_tool_result", "tool_use_id": "t2", "content": []},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": [{"type": "image", "source": {}}],
                        },
                        {"type": "image", "source": {"type": "url", "url": "x"}},
                        {"type": "never_heard_of", "x": 1},
                    ],
                },
                {"role": "system", "content": "from now on"},
            ],
            "system": "be brief",
            "tools": [
                {"name": "look", "input_schema": {}},
                {"type": "web_search_20250305", "name": "web_search"},
            ],
            "model": "claude-x",
        }
    )
    assert request.surface is Surface.MESSAGES
    assert request.provider == "anthropic"
    assert rows(request) == [
        (TOOLS, TOOL, "$.tools[0]", None, "look", None),
        (TOOLS, TOOL, "$.tools[1]", None, "web_search", None),
        (SYSTEM, TEXT, "$.system", None, None, None),
        (HISTORY, TEXT, "$.messages[0]", "user", None, None),
        (HISTORY, BlockKind.REASONING, "$.messages[1].content[0]", "assistant", None, None),
        (HISTORY, CALL, "$.messages[1].content[1]", "assistant", "look", "t1"),
        (HISTORY, CALL, "$.messages[1].content[2]", "assistant", "web_search", "t2"),
        (HISTORY, RESULT, "$.messages[1].content[3]", "assistant", None, "t2"),
        (HISTORY, RESULT, "$.messages[2].content[0]", "user", None, "t1"),
        (HISTORY, BlockKind.IMAGE, "$.messages[2].content[1]", "user", None, None),
        (HISTORY, BlockKind.OTHER, "$.messages[2].content[2]", "user", None, None),
        (HISTORY, TEXT, "$.messages[3]", "system", None, None),
    ]
    assert [one.message for one in request.blocks] == [None] * 3 + [0, 1, 1, 1, 1, 2, 2, 2, 3]
    assert request.blocks[5].facts.content == b'{"type":"tool_use","name":"look","input":{"a":1.0}}'
    assert request.blocks[5].facts.header == b'{"id":"t1"}'
    assert request.blocks[5].label == "messages[1].content[1] tool_use look"
    assert request.blocks[1].label == "tools[1] web_search"


def test_chat_completions_render_tools_then_leading_system_messages_then_the_rest() -> None:
    request = read(
        {
            "model": "gpt",
            "messages": [
                {"role": "system", "content": "one"},
                {"role": "developer", "content": [{"type": "text", "text": "two"}]},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {}}],
                },
                {
                    "role": "assistant",
                    "content": "calling",
                    "reasoning_content": "because",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}},
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "done"},
                {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "too"}]},
                {"role": "system", "content": "later"},
            ],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        }
    )
    assert request.surface is Surface.CHAT_COMPLETIONS
    assert request.provider == "openai"
    assert rows(request) == [
        (TOOLS, TOOL, "$.tools[0]", None, "f", None),
        (SYSTEM, TEXT, "$.messages[0]", "system", None, None),
        (SYSTEM, TEXT, "$.messages[1].content[0]", "developer", None, None),
        (HISTORY, TEXT, "$.messages[2].content[0]", "user", None, None),
        (HISTORY, BlockKind.IMAGE, "$.messages[2].content[1]", "user", None, None),
        (HISTORY, BlockKind.REASONING, "$.messages[3].reasoning_content", "assistant", None, None),
        (HISTORY, TEXT, "$.messages[3]", "assistant", None, None),
        (HISTORY, CALL, "$.messages[3].tool_calls[0]", "assistant", "f", "c1"),
        (HISTORY, CALL, "$.messages[3].tool_calls[1]", "assistant", "g", "c2"),
        (HISTORY, RESULT, "$.messages[4]", "tool", None, "c1"),
        (HISTORY, RESULT, "$.messages[5].content[0]", "tool", None, "c2"),
        (HISTORY, TEXT, "$.messages[6]", "system", None, None),
    ]
    call = request.blocks[7]
    assert call.facts.content == b'{"type":"function","function":{"name":"f","arguments":"{}"}}'
    assert call.facts.header == b'{"id":"c1"}'
    assert (request.blocks[9].facts.content, request.blocks[9].facts.is_text) == (b"done", True)
    assert request.blocks[9].facts.header == b'{"role":"tool","tool_call_id":"c1"}'


def test_responses_render_tools_then_instructions_then_items() -> None:
    request = read(
        {
            "model": "gpt",
            "input": [
                {"role": "developer", "content": "tail"},
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "done"},
                {"type": "web_search_call", "id": "ws_1", "status": "completed"},
                {
                    "type": "message",
                    "id": "m1",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "ok"}],
                },
                {"type": "compaction", "id": "cmp", "encrypted_content": "y"},
                {"type": "item_reference", "id": "msg_9"},
                {"role": "developer", "content": "later"},
            ],
            "instructions": "be brief",
            "tools": [{"type": "function", "name": "f", "parameters": {}}, {"type": "web_search"}],
            "previous_response_id": "resp_1",
        }
    )
    assert request.surface is Surface.RESPONSES
    assert request.previous_response_id == "resp_1"
    assert rows(request) == [
        (TOOLS, TOOL, "$.tools[0]", None, "f", None),
        (TOOLS, TOOL, "$.tools[1]", None, "web_search", None),
        (SYSTEM, TEXT, "$.instructions", None, None, None),
        (SYSTEM, TEXT, "$.input[0]", "developer", None, None),
        (HISTORY, TEXT, "$.input[1].content[0]", "user", None, None),
        (HISTORY, BlockKind.IMAGE, "$.input[1].content[1]", "user", None, None),
        (HISTORY, BlockKind.REASONING, "$.input[2]", None, None, None),
        (HISTORY, CALL, "$.input[3]", None, "f", "c1"),
        (HISTORY, RESULT, "$.input[4]", None, None, "c1"),
        (HISTORY, CALL, "$.input[5]", None, None, None),
        (HISTORY, TEXT, "$.input[6].content[0]", "assistant", None, None),
        (HISTORY, BlockKind.COMPACTION, "$.input[7]", None, None, None),
        (HISTORY, BlockKind.OTHER, "$.input[8]", None, None, None),
        (HISTORY, TEXT, "$.input[9]", "developer", None, None),
    ]
    assert request.blocks[7].facts.content == b'{"type":"function_call","name":"f","arguments":"{}"}'
    assert request.blocks[7].facts.header == b'{"id":"fc_1","call_id":"c1"}'
    assert request.blocks[12].facts.content == b'{"type":"item_reference","id":"msg_9"}'


def test_an_input_string_is_one_user_text() -> None:
    request = read({"model": "gpt", "input": "hi"})
    assert rows(request) == [(HISTORY, TEXT, "$.input", "user", None, None)]
    assert request.blocks[0].facts.content == b"hi"


def test_everything_else_is_a_setting_in_compact_json() -> None:
    request = read(
        {"model": "m", "input": [], "reasoning": {"effort": "low"}, "store": False, "temperature": 1.0}
    )
    assert request.settings == {
        "model": b'"m"',
        "reasoning": b'{"effort":"low"}',
        "store": b"false",
        "temperature": b"1.0",
    }


def test_labels_put_blocks_or_whole_messages_into_other_zones() -> None:
    labels = Labels(zones={"$.messages[1]": Zone.TAIL, "$.messages[2].content[1]": Zone.TRANSIENT})
    parts = [{"type": "text", "text": "question"}, {"type": "text", "text": "10:01"}]
    body = {
        "messages": [
            {"role": "system", "content": "one"},
            {"role": "system", "content": [{"type": "text", "text": "memory"}]},
            {"role": "user", "content": parts},
        ]
    }
    assert [one.zone for one in read(body, labels=labels).blocks] == [
        SYSTEM,
        Zone.TAIL,
        HISTORY,
        Zone.TRANSIENT,
    ]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}),
        ({"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "a"}]}),
        ({"role": "user", "content": ""}, {"role": "user", "content": None}),
        ({"role": "user", "content": []}, {"role": "user"}),
        ({"role": "user", "content": "a"}, {"role": "user", "content": "a", "name": "b"}),
        ({"role": "assistant", "content": "a"}, {"role": "assistant", "content": "a", "tool_calls": []}),
        (
            {"role": "assistant", "content": "a"},
            {"role": "assistant", "content": "a", "reasoning_content": ""},
        ),
        (
            {"role": "tool", "tool_call_id": "1", "content": "a"},
            {"role": "tool", "tool_call_id": "2", "content": "a"},
        ),
    ],
)
def test_no_part_of_a_message_is_lost(left: dict[str, Any], right: dict[str, Any]) -> None:
    first, second = (read({"messages": [one]}, surface=Surface.CHAT_COMPLETIONS) for one in (left, right))
    assert first.blocks
    assert second.blocks
    assert [one.facts.digest for one in first.blocks] != [one.facts.digest for one in second.blocks]


def test_merged_messages_differ_from_separate_ones() -> None:
    part = {"type": "text", "text": "a"}
    apart = read({"messages": [{"role": "user", "content": [part]}, {"role": "user", "content": [part]}]})
    merged = read({"messages": [{"role": "user", "content": [part, part]}]})
    assert apart.content_bytes == merged.content_bytes
    assert [one.facts.digest for one in apart.blocks] != [one.facts.digest for one in merged.blocks]


def test_markers_stand_aside_wherever_they_stand() -> None:
    def body(marker: dict[str, Any]) -> dict[str, Any]:
        inner = {"type": "text", "text": "r", **marker}
        return {
            "tools": [{"name": "a", "input_schema": {}, **marker}, {"name": "b", "input_schema": {}}],
            "system": [{**marker, "type": "text", "text": "s"}],
            "messages": [
                {"role": "user", "content": [{"type": "text", **marker, "text": "q"}]},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": [inner]}],
                },
            ],
            **marker,
        }

    marked, plain = read(body({"cache_control": EPHEMERAL})), read(body({}))
    value = b'{"type":"ephemeral"}'
    assert marked.markers == (
        Marker("$", None, value),
        Marker("$.tools[0]", 0, value),
        Marker("$.system[0]", 2, value),
        Marker("$.messages[0].content[0]", 3, value),
        Marker("$.messages[1].content[0].content[0]", 4, value),
    )
    assert plain.markers == ()
    assert [one.facts for one in marked.blocks] == [one.facts for one in plain.blocks]
    assert marked.settings == plain.settings


def test_a_property_of_that_name_in_a_schema_is_no_marker() -> None:
    schema = {"type": "object", "properties": {"cache_control": {"type": "string"}}}
    request = read({"tools": [{"name": "a", "input_schema": schema}], "messages": []})
    assert request.markers == ()
    assert b"cache_control" in request.blocks[0].facts.content


def test_explicit_breakpoints_of_openai_and_cache_points_of_bedrock_are_markers() -> None:
    part = {"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}
    request = read({"input": [{"role": "user", "content": [part]}]})
    assert request.markers == (Marker("$.input[0].content[0]", 0, b'{"mode":"explicit"}'),)
    point = {"cachePoint": {"type": "default"}}
    first = read({"system": [{"cachePoint": {"type": "default"}}, {"text": "s"}], "messages": []})
    assert [(one.path, one.block) for one in first.markers] == [("$.system[0]", None)]
    bedrock = read(
        {"system": [{"text": "s"}, point], "messages": [{"role": "user", "content": [{"text": "q"}, point]}]}
    )
    assert [(one.kind, one.facts.content) for one in bedrock.blocks] == [(TEXT, b"s"), (TEXT, b"q")]
    assert [(one.path, one.block) for one in bedrock.markers] == [
        ("$.system[1]", 0),
        ("$.messages[0].content[1]", 1),
    ]


def test_the_number_of_a_message_counts_messages() -> None:
    request = read({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 2}] * 2})
    assert [one.message for one in request.blocks] == [0, 0, 1, 1]


def test_spans_are_the_objects_bytes() -> None:
    body = json.dumps(
        {
            "messages": [
                {"role": "user", "content": "é"},
                {"role": "user", "content": [{"type": "text", "text": "b"}]},
            ]
        }
    ).encode()
    first, second = read_request(body).blocks
    assert json.loads(body[slice(*first.span)]) == {"role": "user", "content": "é"}
    assert json.loads(body[slice(*second.span)]) == {"type": "text", "text": "b"}


KEYS = ("messages", "input", "tools", "system", "instructions")


def of_key(key: str) -> Surface:
    return Surface.RESPONSES if key in {"input", "instructions"} else Surface.MESSAGES


@pytest.mark.parametrize(
    "odd",
    [
        {"role": 5, "content": 7},
        {"content": [None, 1, "x", {}, []]},
        {"tool_calls": [1, {}]},
    ],
)
@pytest.mark.parametrize("key", KEYS)
def test_odd_shapes_are_read(odd: object, key: str) -> None:
    for value in ([odd], [], None):
        request = read({key: value}, surface=of_key(key))
        assert request.content_bytes == sum(len(one.facts.content) for one in request.blocks)


@pytest.mark.parametrize("impossible", [1, True, {}, [1], [None], [[]], [{"role": "user"}, 2]])
@pytest.mark.parametrize("key", KEYS)
def test_what_no_provider_takes_is_refused_by_its_key(impossible: object, key: str) -> None:
    # The second time, what goes on from a body that was read is looked at alone.
    for _ in range(2):
        with pytest.raises(UnreadableBodyError, match=key):
            read({key: impossible}, surface=of_key(key))
        read({key: [{"role": "user"}]}, surface=of_key(key))


@pytest.mark.parametrize(("key", "is_read"), list(zip(KEYS, (False, True, False, True, True), strict=True)))
def test_a_text_stands_only_where_providers_take_one(key: str, is_read: bool) -> None:
    for value in ("text", ["text"]):
        if is_read:
            assert read({key: value}, surface=of_key(key)).content_bytes == 4
        else:
            with pytest.raises(UnreadableBodyError, match="a text, where"):
                read({key: value}, surface=of_key(key))


@pytest.mark.parametrize(
    ("body", "url", "surface"),
    [
        ({"messages": []}, "https://api.anthropic.com/v1/messages?beta=true", Surface.MESSAGES),
        ({"messages": []}, "https://host/v1/chat/completions", Surface.CHAT_COMPLETIONS),
        ({"input": "x"}, "https://host/v1/responses", Surface.RESPONSES),
        ({"messages": [], "system": "x"}, "", Surface.MESSAGES),
        ({"messages": [], "anthropic_version": "x"}, "https://bedrock/model/x/invoke", Surface.MESSAGES),
        ({"messages": [], "tools": [{"name": "a", "input_schema": {}}]}, "", Surface.MESSAGES),
        ({"messages": [], "tools": [{"type": "function", "function": {}}]}, "", Surface.CHAT_COMPLETIONS),
        ({"messages": [], "stream_options": {}}, "", Surface.CHAT_COMPLETIONS),
        ({"messages": [], "model": "gpt"}, "", Surface.CHAT_COMPLETIONS),
        ({"messages": [], "model": "claude-x", "max_tokens": 1}, "", Surface.MESSAGES),
        ({"messages": [{"role": "user", "content": [{"type": "tool_use"}]}]}, "", Surface.MESSAGES),
        ({"input": "x", "model": "m"}, "", Surface.RESPONSES),
        ({"input": "x", "model": "m"}, "https://host/v1/embeddings", None),
        ({"messages": []}, "https://api.anthropic.com/v1/messages/count_tokens", None),
        ({"contents": []}, "", Surface.GENERATE_CONTENT),
        ({"contents": [], "ttl": "60s"}, "", None),
        ({"contents": []}, "https://host/v1beta/models/gemini-x:countTokens", None),
        ({"contents": []}, "https://host/v1beta/cachedContents", None),
        ({"input": "x", "model": "gemini"}, "https://host/v1beta/interactions", None),
        (
            {"contents": []},
            "https://host/models/g:streamGenerateContent?alt=sse",
            Surface.GENERATE_CONTENT,
        ),
        ({"messages": []}, "https://bedrock/model/x/converse", Surface.CONVERSE),
        ({"messages": []}, "https://bedrock/model/x/converse-stream", Surface.CONVERSE),
        (
            {"messages": [], "inferenceConfig": {}},
            "https://bedrock/model/nova/invoke",
            Surface.CONVERSE,
        ),
        ({"messages": [], "toolConfig": {"tools": []}}, "", Surface.CONVERSE),
        ({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, "REDACTED", Surface.CONVERSE),
        ({"messages": [{"content": "a"}, {"content": [{"text": "hi"}]}]}, "", Surface.CHAT_COMPLETIONS),
        ({"messages": [{"content": [{"text": "a"}, {"type": "text"}]}]}, "", Surface.CHAT_COMPLETIONS),
        ({"inputText": "hi"}, "https://bedrock/model/amazon.titan/invoke", None),
    ],
)
def test_surfaces_are_recognised(body: dict[str, Any], url: str, surface: Surface | None) -> None:
    raw = json.dumps(body, separators=(",", ":")).encode()
    assert recognise_surface(raw, url) is surface
    if surface is None:
        with pytest.raises(UnreadableBodyError, match="no request of Messages, Chat"):
            read_request(raw, url=url)
    else:
        assert read_request(raw, url=url).surface is surface


def test_keys_alone_are_enough_for_a_guess() -> None:
    assert recognise_surface(["messages", "system"]) is Surface.MESSAGES
    assert recognise_surface(["messages"]) is Surface.CHAT_COMPLETIONS
    assert recognise_surface(["input"]) is Surface.RESPONSES
    assert recognise_surface(["contents"]) is Surface.GENERATE_CONTENT
    assert recognise_surface(["messages", "inferenceConfig"]) is Surface.CONVERSE
    assert recognise_surface(["prompt"]) is None


def test_clouds_name_the_model_in_the_address() -> None:
    body = {"messages": [], "anthropic_version": "bedrock-2023-05-31"}
    address = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0/invoke"
    assert read(body, url=address).model == "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
    assert read({"messages": [], "model": "m"}, url=address).model == "m"
    assert read(body).model is None


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b'{"messages": [', b'{"messages": []} trailing'])
def test_no_request_is_one_clear_sentence(body: bytes) -> None:
    with pytest.raises(UnreadableBodyError) as refused:
        read_request(body, surface=Surface.MESSAGES)
    assert str(refused.value).startswith("the request body cannot be read")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (b'"\\ud800"', ("fallback_scanner", "lone_surrogate")),
        (b"NaN", ("fallback_scanner", "nan")),
        (b'"\xff"', ("invalid_utf8",)),
        (b"[" * 5000 + b"]" * 5000, ("fallback_scanner",)),
    ],
)
def test_bodies_that_strict_readers_refuse_are_read_and_flagged(text: bytes, flags: tuple[str, ...]) -> None:
    tail = b'{"role":"user","content":"end"}'
    body = b'{"model":"m","messages":[{"role":"user","content":' + text + b"}," + tail + b"]}"
    for _ in range(2):
        request = read_request(body)
        assert request.flags == flags
        assert request.blocks[-1].facts.content == b"end"
        assert body[slice(*request.blocks[-1].span)] == tail
    clean = read_request(body.replace(text, b'"x"'))
    assert clean.flags == ()


def test_duplicate_keys_and_byte_order_marks_are_read_and_flagged() -> None:
    old, new = (b'"messages":[{"role":"user","content":"%b"}]' % word for word in (b"old", b"new"))
    body = b"\xef\xbb\xbf{%b,%b}" % (old, new)
    request = read_request(body)
    assert [one.facts.content for one in request.blocks] == [b"new"]
    assert request.flags == ("bom", "duplicate_key", "fallback_scanner")
    assert body[slice(*request.blocks[0].span)] == b'{"role":"user","content":"new"}'
    twice = read_request(b'{"messages":[{"role":"user","content":"old","content":"new"}]}')
    assert [one.facts.content for one in twice.blocks] == [b"new"]
    assert twice.flags == ("duplicate_key", "fallback_scanner")


def test_a_request_without_its_body_says_the_same() -> None:
    request = read(
        {"model": "m", "input": "x", "tools": [{"type": "web_search"}]}, fidelity=Fidelity.CANONICAL
    )
    light = request.without_body()
    assert light.body == b""
    assert light.blocks == request.blocks
    assert (light.settings, light.markers, light.fidelity) == (
        request.settings,
        request.markers,
        request.fidelity,
    )
