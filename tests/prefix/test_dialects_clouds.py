"""How bodies of Gemini and of Converse become blocks: order, zones, kinds, names, headers, markers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix import lineage_store
from coldturn.reference.prefix.blocks import element_named
from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.difference import first_difference
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.model import Block, BlockKind, Labels, Marker, Surface, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request

TOOLS, SYSTEM, HISTORY = Zone.TOOLS, Zone.SYSTEM, Zone.HISTORY
TOOL, TEXT, CALL, RESULT = BlockKind.TOOL, BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT
REASONING, IMAGE, OTHER = BlockKind.REASONING, BlockKind.IMAGE, BlockKind.OTHER

GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent"


def read(body: dict[str, Any], url: str = "") -> PromptRequest:
    return read_request(json.dumps(body).encode(), url=url)


def rows(request: PromptRequest) -> list[tuple[Any, ...]]:
    return [(one.zone, one.kind, one.path, one.role, one.name, one.call_id) for one in request.blocks]


def said(block: Block) -> Any:  # noqa: ANN401 - any JSON
    return block.facts.content.decode() if block.facts.is_text else json.loads(block.facts.content)


def gemini() -> dict[str, Any]:
    return {
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "aa"}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"text": "I look."},
                    {
                        "functionCall": {"id": "c1", "name": "look", "args": {"a": 1.0}},
                        "thoughtSignature": "c2ln",
                    },
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": {"found": 7}}}],
            },
            {
                "role": "user",
                "parts": [{"fileData": {"mimeType": "application/pdf", "fileUri": "x"}}, {"odd": 1}],
            },
        ],
        "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}, {"text": "be kind"}]},
        "tools": [
            {"functionDeclarations": [{"name": "look", "parameters": {}}, {"name": "leap"}]},
            {"googleSearch": {}},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"temperature": 1.0},
        "cachedContent": "cachedContents/abc",
    }


def test_gemini_renders_declarations_then_the_instruction_then_contents() -> None:
    request = read(gemini(), GEMINI)
    assert (request.surface, request.provider, request.model) == (
        Surface.GENERATE_CONTENT,
        "gcp.gemini",
        "gemini-3-pro",
    )
    assert rows(request) == [
        (TOOLS, TOOL, "$.tools[0].functionDeclarations[0]", None, "look", None),
        (TOOLS, TOOL, "$.tools[0].functionDeclarations[1]", None, "leap", None),
        (TOOLS, TOOL, "$.tools[1].googleSearch", None, "googleSearch", None),
        (SYSTEM, TEXT, "$.systemInstruction.parts[0]", None, None, None),
        (SYSTEM, TEXT, "$.systemInstruction.parts[1]", None, None, None),
        (HISTORY, TEXT, "$.contents[0].parts[0]", "user", None, None),
        (HISTORY, IMAGE, "$.contents[0].parts[1]", "user", None, None),
        (HISTORY, REASONING, "$.contents[1].parts[0]", "assistant", None, None),
        (HISTORY, TEXT, "$.contents[1].parts[1]", "assistant", None, None),
        (HISTORY, REASONING, "$.contents[1].parts[2].thoughtSignature", "assistant", None, None),
        (HISTORY, CALL, "$.contents[1].parts[2]", "assistant", "look", "c1"),
        (HISTORY, RESULT, "$.contents[2].parts[0]", "user", None, "c1"),
        (HISTORY, OTHER, "$.contents[3].parts[0]", "user", None, None),
        (HISTORY, OTHER, "$.contents[3].parts[1]", "user", None, None),
    ]
    assert [block.label for block in request.blocks][:6] == [
        "tools[0].functionDeclarations[0] look",
        "tools[0].functionDeclarations[1] leap",
        "tools[1].googleSearch googleSearch",
        "systemInstruction.parts[0]",
        "systemInstruction.parts[1]",
        "contents[0].parts[0] user",
    ]
    assert request.blocks[10].label == "contents[1].parts[2] functionCall look"
    assert dict(request.settings) == {
        "toolConfig": b'{"functionCallingConfig":{"mode":"AUTO"}}',
        "generationConfig": b'{"temperature":1.0}',
        "cachedContent": b'"cachedContents/abc"',
    }


def test_gemini_ids_and_signatures_are_no_content_of_the_call() -> None:
    blocks = read(gemini(), GEMINI).blocks
    assert said(blocks[2]) == {"googleSearch": {}}
    assert (said(blocks[7]), said(blocks[9])) == ("hm", "c2ln")
    assert said(blocks[10]) == {"functionCall": {"name": "look", "args": {"a": 1.0}}}
    assert blocks[10].facts.header == b'{"id":"c1"}'
    assert said(blocks[11]) == {"functionResponse": {"name": "look", "response": {"found": 7}}}
    assert blocks[7].facts.header == b'{"role":"model"}{"thought":true}'


def snake(value: Any) -> Any:  # noqa: ANN401 - any JSON
    names = {
        "systemInstruction": "system_instruction",
        "functionDeclarations": "function_declarations",
        "functionCall": "function_call",
        "functionResponse": "function_response",
        "thoughtSignature": "thought_signature",
        "inlineData": "inline_data",
        "fileData": "file_data",
        "mimeType": "mime_type",
    }
    if isinstance(value, dict):
        return {names.get(key, key): snake(inner) for key, inner in value.items()}
    return [snake(inner) for inner in value] if isinstance(value, list) else value


def test_gemini_is_read_in_both_spellings() -> None:
    camel, underscored = read(gemini()), read(snake(gemini()))
    assert underscored.surface is Surface.GENERATE_CONTENT

    def what(request: PromptRequest) -> list[tuple[Any, ...]]:
        return [(one.zone, one.kind, one.role, one.name, one.call_id) for one in request.blocks]

    assert what(camel) == what(underscored)
    assert underscored.blocks[0].path == "$.tools[0].function_declarations[0]"


def test_gemini_takes_one_object_where_a_list_belongs() -> None:
    body = {
        "contents": {"role": "user", "parts": {"text": "hi"}},
        "tools": {"functionDeclarations": {"name": "look"}},
    }
    assert rows(read(body)) == [
        (TOOLS, TOOL, "$.tools.functionDeclarations", None, "look", None),
        (HISTORY, TEXT, "$.contents.parts", "user", None, None),
    ]


def converse() -> dict[str, Any]:
    return {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "hi"},
                    {"image": {"format": "png", "source": {"bytes": "aa"}}},
                    {"document": {"format": "txt", "name": "d", "source": {"bytes": "aa"}}},
                    {"cachePoint": {"type": "default"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                    {"text": "I look."},
                    {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"a": 1.0}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "7"}], "status": "success"}},
                    {"cachePoint": {"type": "default", "ttl": "1h"}},
                ],
            },
        ],
        "system": [{"text": "be brief"}, {"cachePoint": {"type": "default"}}, {"guardContent": {"text": {}}}],
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "look", "inputSchema": {"json": {}}}},
                {"cachePoint": {"type": "default"}},
                {"systemTool": {"name": "nova_grounding"}},
            ],
            "toolChoice": {"auto": {}},
        },
        "inferenceConfig": {"maxTokens": 9},
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
    }


def test_converse_renders_tools_then_system_then_messages() -> None:
    request = read(
        converse(), "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse"
    )
    assert (request.surface, request.provider, request.model) == (
        Surface.CONVERSE,
        "aws.bedrock",
        "amazon.nova-lite-v1:0",
    )
    assert rows(request) == [
        (TOOLS, TOOL, "$.toolConfig.tools[0]", None, "look", None),
        (TOOLS, TOOL, "$.toolConfig.tools[2]", None, "nova_grounding", None),
        (SYSTEM, TEXT, "$.system[0]", None, None, None),
        (SYSTEM, OTHER, "$.system[2]", None, None, None),
        (HISTORY, TEXT, "$.messages[0].content[0]", "user", None, None),
        (HISTORY, IMAGE, "$.messages[0].content[1]", "user", None, None),
        (HISTORY, OTHER, "$.messages[0].content[2]", "user", None, None),
        (HISTORY, REASONING, "$.messages[1].content[0]", "assistant", None, None),
        (HISTORY, TEXT, "$.messages[1].content[1]", "assistant", None, None),
        (HISTORY, CALL, "$.messages[1].content[2]", "assistant", "look", "t1"),
        (HISTORY, RESULT, "$.messages[2].content[0]", "user", None, "t1"),
    ]
    assert request.blocks[0].label == "toolConfig.tools[0] look"
    assert request.blocks[9].label == "messages[1].content[2] toolUse look"
    assert said(request.blocks[9]) == {"toolUse": {"name": "look", "input": {"a": 1.0}}}
    assert request.blocks[9].facts.header == b'{"toolUseId":"t1"}'
    assert request.markers == (
        Marker("$.toolConfig.tools[1]", 0, b'{"type":"default"}'),
        Marker("$.system[1]", 2, b'{"type":"default"}'),
        Marker("$.messages[0].content[3]", 6, b'{"type":"default"}'),
        Marker("$.messages[2].content[1]", 10, b'{"type":"default","ttl":"1h"}'),
    )
    assert dict(request.settings) == {
        "toolConfig": b'{"toolChoice":{"auto":{}}}',
        "inferenceConfig": b'{"maxTokens":9}',
        "additionalModelRequestFields": b'{"thinking":{"type":"enabled"}}',
    }


def test_a_tool_choice_is_a_setting_and_moves_no_tool() -> None:
    one, other = converse(), converse()
    del other["toolConfig"]["toolChoice"]
    was, now = read(one), read(other)
    assert "toolConfig" not in now.settings
    assert first_difference(was, now) is None
    assert [block.facts for block in was.blocks] == [block.facts for block in now.blocks]


def test_a_moved_cache_point_is_no_difference() -> None:
    one, other = converse(), converse()
    other["messages"][0]["content"].pop()
    other["toolConfig"]["tools"].pop(1)
    assert first_difference(read(one), read(other)) is None


def test_places_are_in_the_bytes() -> None:
    for body in (gemini(), converse()):
        request = read(body)
        for block in request.blocks:
            start, end = block.span
            found = json.loads(request.body[start:end])
            where: Any = body
            steps = block.path.removeprefix("$.").replace("[", ".").replace("]", "").split(".")
            if steps[-1] == "googleSearch":
                steps.pop()
            for step in steps:
                where = where[int(step)] if step.isdigit() else where[step]
            assert found == where


def test_labels_name_elements_of_nested_lists() -> None:
    body = json.dumps(converse()).encode()
    labels = Labels(zones={"$.toolConfig.tools[0]": Zone.TAIL, "$.messages[2]": Zone.TRANSIENT})
    request = read_request(body, labels=labels)
    assert [one.path for one in request.blocks if one.zone is Zone.TAIL] == ["$.toolConfig.tools[0]"]
    assert request.lazy_blocks.within({Zone.TRANSIENT}) == [10]
    assert request.lazy_blocks.within({Zone.TAIL}) == [0]


@pytest.mark.parametrize("surface", [Surface.GENERATE_CONTENT, Surface.CONVERSE])
@pytest.mark.parametrize("value", [3, "text", [3]])
def test_what_no_provider_takes_is_refused(surface: Surface, value: object) -> None:
    key = "contents" if surface is Surface.GENERATE_CONTENT else "messages"
    with pytest.raises(UnreadableBodyError, match=key):
        read_request(json.dumps({key: value}).encode(), surface=surface)


NAMED = "arn%3Aaws%3Abedrock%3Aus%3A1%3Ainference-profile%2Fus.nova"


@pytest.mark.parametrize(
    ("url", "model"),
    [
        (f"https://host/model/{NAMED}/converse", "arn:aws:bedrock:us:1:inference-profile/us.nova"),
        ("https://host/model/us.amazon.nova-lite-v1:0/converse-stream", "us.amazon.nova-lite-v1:0"),
        ("https://host/v1beta/tunedModels/mine:generateContent", "mine"),
    ],
)
def test_the_address_names_the_model(url: str, model: str) -> None:
    key = "contents" if "Content" in url else "messages"
    assert read({key: []}, url).model == model


def test_a_converse_body_may_name_the_model() -> None:
    assert read({"messages": [], "modelId": "amazon.nova"}).model == "amazon.nova"


def test_a_conversation_or_an_explicit_cache_stands_in_front_of_what_was_sent() -> None:
    plain = read({"model": "m", "input": "x"})
    held = read({"model": "m", "input": "x", "conversation": {"id": "conv_1"}})
    resource = read(gemini())
    assert (plain.by_reference, plain.lacks_its_beginning) == (False, False)
    assert (held.by_reference, held.lacks_its_beginning) == (True, True)
    assert (resource.by_reference, resource.lacks_its_beginning) == (False, True)
    assert not read({"model": "m", "input": "x", "conversation": None}).by_reference


def test_within_a_conversation_only_tools_and_instructions_are_compared() -> None:
    def asked(text: str, instructions: str = "be brief") -> PromptRequest:
        body = {"model": "m", "conversation": "conv_1", "instructions": instructions, "input": text}
        return read(body)

    assert compare(asked("first"), asked("second")).stable
    assert not compare(asked("first"), asked("second", "be kind")).stable


def test_a_conversation_is_followed_though_its_requests_share_nothing() -> None:
    def asked(text: str, conversation: str | dict[str, str]) -> PromptRequest:
        return read({"model": "m", "conversation": conversation, "input": text})

    lineages = Lineages()
    places = [
        lineages.place(asked("first", "conv_1")),
        lineages.place(asked("elsewhere", "conv_2")),
        lineages.place(asked("second", {"id": "conv_1"})),
        lineages.place(asked("third", "conv_1")),
    ]
    assert [one.parent_index for one in places] == [None, None, 0, 2]


def conversation(text: str, name: str) -> PromptRequest:
    return read({"model": "m", "conversation": name, "input": text})


def test_of_many_conversations_the_latest_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage_store, "MOST_NAMES", 2)
    lineages = Lineages()
    names = ["a", "b", "a", "c", "a", "b"]
    places = [lineages.place(conversation(f"{at}", name)) for at, name in enumerate(names)]
    assert [one.parent_index for one in places] == [None, None, 0, None, 2, None]


def test_letting_an_older_request_go_forgets_no_conversation() -> None:
    lineages = Lineages(most_inner=0)
    places = [lineages.place(conversation(text, "a")) for text in ("first", "second", "third")]
    assert [(one.parent_index, one.evicted) for one in places] == [(None, False), (0, False), (1, False)]


def test_a_key_that_begins_like_another_is_another() -> None:
    groups = read(gemini()).groups
    assert element_named(groups, "$.contents[1].parts[0]") == 4
    assert element_named(groups, "$.systemInstruction.parts[1]") == 2
    assert element_named(groups, "$.toolsets[1]") is None
    assert element_named(groups, "$.contents[9]") is None


def test_of_a_repeated_key_the_last_one_counts() -> None:
    body = b'{"contents":[],"tools":[{"googleSearch":{"a":1},"googleSearch":{"a":2}}]}'
    [block] = read_request(body).blocks
    assert said(block) == {"googleSearch": {"a": 2}}
