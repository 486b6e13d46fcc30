from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.wire import Fragments, encode
from coldturn.reference.wire.model import (
    RENDERED_SURFACES,
    AssistantItem,
    HistoryItem,
    Prompt,
    SuffixItem,
    ToolCall,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)
from coldturn.reference.wire.requests.markers import takes_explicit_breakpoints

SCHEMA = b'{"type": "object", "properties":{"b":{"minimum":1.0},"a":{}}}'
TOOL = ToolDefinition("look", "Looks.", SCHEMA)
HISTORY: tuple[HistoryItem, ...] = (
    UserItem("Tidy up"),
    AssistantItem("Looking.", (ToolCall("call_1", "look", '{"a": 1}'), ToolCall("call_2", "look", "{}"))),
    ToolResultItem("call_1", "héllo\n"),
    ToolResultItem("call_2", "no such file", is_error=True),
)
PROMPT = Prompt(
    model="claude-opus-5",
    tools=(TOOL,),
    system="Be kind.",
    tail="Likes tea.",
    history=HISTORY,
    suffix="<system-reminder>Now</system-reminder>",
    max_output_tokens=64,
)
MODELS = {
    Surface.MESSAGES: "claude-opus-5",
    Surface.CHAT_COMPLETIONS: "gpt-5.6",
    Surface.RESPONSES: "openai/gpt-6.1-sol",
}


def decoded(prompt: Prompt, surface: Surface) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(encode(prompt, surface).body)
    return value


def markers(value: object, path: str = "$") -> list[str]:
    """Paths of objects that carry a breakpoint, in the body's order."""
    found: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("cache_control", "prompt_cache_breakpoint"):
                found.append(path)
            else:
                found += markers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += markers(item, f"{path}[{index}]")
    return found


def test_messages_bytes() -> None:
    encoded = encode(replace(PROMPT, markers=False), Surface.MESSAGES)
    assert encoded.body.decode() == (
        '{"model":"claude-opus-5","max_tokens":64,'
        '"tools":[{"name":"look","description":"Looks.","input_schema":' + SCHEMA.decode() + "}],"
        '"system":[{"type":"text","text":"Be kind."},{"type":"text","text":"Likes tea."}],'
        '"messages":[{"role":"user","content":[{"type":"text","text":"Tidy up"}]},'
        '{"role":"assistant","content":[{"type":"text","text":"Looking."},'
        '{"type":"tool_use","id":"call_1","name":"look","input":{"a":1}},'
        '{"type":"tool_use","id":"call_2","name":"look","input":{}}]},'
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"héllo\\n"},'
        '{"type":"tool_result","tool_use_id":"call_2","content":"no such file","is_error":true}]},'
        '{"role":"user","content":[{"type":"text","text":"<system-reminder>Now</system-reminder>"}]}]}'
    )
    assert encoded.labels.zones == {"$.system[1]": Zone.TAIL, "$.messages[3]": Zone.TRANSIENT}


def test_chat_completions_bytes() -> None:
    encoded = encode(replace(PROMPT, model="gpt-5.5"), Surface.CHAT_COMPLETIONS)
    assert encoded.body.decode() == (
        '{"model":"gpt-5.5","max_completion_tokens":64,'
        '"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":'
        + SCHEMA.decode()
        + "}}],"
        '"messages":[{"role":"system","content":[{"type":"text","text":"Be kind."}]},'
        '{"role":"system","content":[{"type":"text","text":"Likes tea."}]},'
        '{"role":"user","content":[{"type":"text","text":"Tidy up"}]},'
        '{"role":"assistant","content":"Looking.","tool_calls":['
        '{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\\"a\\": 1}"}},'
        '{"id":"call_2","type":"function","function":{"name":"look","arguments":"{}"}}]},'
        '{"role":"tool","tool_call_id":"call_1","content":"héllo\\n"},'
        '{"role":"tool","tool_call_id":"call_2","content":"no such file"},'
        '{"role":"user","content":[{"type":"text","text":"<system-reminder>Now</system-reminder>"}]}]}'
    )
    assert encoded.labels.zones == {"$.messages[1]": Zone.TAIL, "$.messages[6]": Zone.TRANSIENT}


def test_responses_bytes() -> None:
    encoded = encode(replace(PROMPT, model="gpt-5.5", settings={"temperature": 0.5}), Surface.RESPONSES)
    assert encoded.body.decode() == (
        '{"model":"gpt-5.5","max_output_tokens":64,"temperature":0.5,"store":false,'
        '"tools":[{"type":"function","name":"look","description":"Looks.","parameters":'
        + SCHEMA.decode()
        + ',"strict":false}],"instructions":"Be kind.",'
        '"input":[{"type":"message","role":"developer",'
        '"content":[{"type":"input_text","text":"Likes tea."}]},'
        '{"type":"message","role":"user","content":[{"type":"input_text","text":"Tidy up"}]},'
        '{"type":"message","role":"assistant","content":"Looking."},'
        '{"type":"function_call","call_id":"call_1","name":"look","arguments":"{\\"a\\": 1}"},'
        '{"type":"function_call","call_id":"call_2","name":"look","arguments":"{}"},'
        '{"type":"function_call_output","call_id":"call_1","output":"héllo\\n"},'
        '{"type":"function_call_output","call_id":"call_2","output":"no such file"},'
        '{"type":"message","role":"user","content":'
        '[{"type":"input_text","text":"<system-reminder>Now</system-reminder>"}]}]}'
    )
    assert encoded.labels.zones == {"$.input[0]": Zone.TAIL, "$.input[7]": Zone.TRANSIENT}


@pytest.mark.requirement("ZONE-6")
def test_markers_stand_where_they_are_needed_most() -> None:
    assert markers(decoded(PROMPT, Surface.MESSAGES)) == [
        "$.tools[0]",
        "$.system[0]",
        "$.system[1]",
        "$.messages[2].content[1]",
    ]
    chat = decoded(replace(PROMPT, model="gpt-5.6"), Surface.CHAT_COMPLETIONS)
    assert markers(chat) == [
        "$.messages[0].content[0]",
        "$.messages[1].content[0]",
        "$.messages[2].content[0]",  # where the previous request ended
        "$.messages[5].content[0]",
    ]
    assert chat["prompt_cache_options"] == {"mode": "explicit"}
    responses = decoded(replace(PROMPT, model="gpt-5.6-sol"), Surface.RESPONSES)
    assert markers(responses) == [
        "$.input[0].content[0]",
        "$.input[1].content[0]",
        "$.input[6].output[0]",
    ]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-5.5", False),
        ("gpt-5", False),
        ("gpt-4o", False),
        ("gpt-5.6-sol", True),
        ("openai/gpt-5.6-sol", True),
        ("gpt-6", True),
        ("gpt-5.10", True),
        ("openai/gpt-oss-120b", False),
        ("llama", False),
    ],
)
def test_explicit_breakpoints_are_for_gpt_5_6_and_later(model: str, expected: bool) -> None:
    assert takes_explicit_breakpoints(model) is expected


texts = st.text(max_size=6)
calls = st.lists(
    st.builds(ToolCall, id=st.sampled_from(["c1", "c2"]), name=st.just("f"), arguments=st.just("{}"))
)
items = st.one_of(
    st.builds(UserItem, texts),
    st.builds(AssistantItem, texts, calls.map(tuple)),
    st.builds(ToolResultItem, st.sampled_from(["c1", "c2"]), texts, st.booleans()),
    st.builds(SuffixItem, texts),
)
prompts = st.builds(
    Prompt,
    model=st.sampled_from(["gpt-5.6", "claude-opus-5"]),
    tools=st.sampled_from([(), (TOOL,), (TOOL, replace(TOOL, name="defer", deferred=True))]),
    system=texts,
    tail=texts,
    history=st.lists(items, max_size=8).map(tuple),
    suffix=texts,
    max_output_tokens=st.just(8),
)


def transient_first(prompt: Prompt, suffix_in_last_user: str) -> Prompt:
    """Move the suffix into the last user message, if there is one."""
    history = list(prompt.history)
    for index in reversed(range(len(history))):
        item = history[index]
        if isinstance(item, UserItem):
            history[index] = replace(item, suffix=suffix_in_last_user)
            return replace(prompt, history=tuple(history), suffix="")
    return prompt


@pytest.mark.requirement("ZONE-6")
@given(prompts, st.sampled_from(list(RENDERED_SURFACES)), st.booleans())
def test_no_marker_stands_on_or_behind_zone_4_and_none_is_a_fifth(
    prompt: Prompt, surface: Surface, last_user: bool
) -> None:
    if last_user:
        prompt = transient_first(prompt, "<context>now</context>")
    encoded = encode(prompt, surface)
    body = encoded.body
    found = markers(json.loads(body))
    assert len(found) <= 4
    assert encode(replace(prompt, markers=False), surface).labels == encoded.labels
    transient = [path for path, zone in encoded.labels.zones.items() if zone is Zone.TRANSIENT]
    assert len(transient) <= 1
    order = all_paths(json.loads(body))
    for path in transient:
        behind = order[order.index(path) :]
        assert not set(found) & set(behind)


def all_paths(value: object, path: str = "$") -> list[str]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += all_paths(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += all_paths(item, f"{path}[{index}]")
    return found


@given(prompts, st.lists(items, min_size=1, max_size=4), st.sampled_from(list(RENDERED_SURFACES)))
def test_a_longer_history_keeps_every_byte_of_the_shorter_one(
    prompt: Prompt, more: list[HistoryItem], surface: Surface
) -> None:
    before = replace(
        prompt, suffix="", markers=False, history=(UserItem("go"), *prompt.history, AssistantItem("a"))
    )
    after = replace(before, history=(*before.history, *more))
    shorter = encode(before, surface).body
    assert encode(after, surface).body.startswith(shorter.removesuffix(b"]}"))


@given(st.lists(prompts, min_size=1, max_size=4), st.sampled_from(list(RENDERED_SURFACES)))
def test_remembered_fragments_change_no_byte(sequence: list[Prompt], surface: Surface) -> None:
    fragments = Fragments()
    for prompt in sequence:
        assert encode(prompt, surface, fragments) == encode(prompt, surface)


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_a_step_serialises_only_what_is_new(surface: Surface) -> None:
    history = tuple(item for index in range(200) for item in (UserItem(f"q{index}"), *HISTORY))
    prompt = replace(PROMPT, history=history, model=MODELS[surface])
    fragments = Fragments()
    encode(prompt, surface, fragments)
    before = fragments.made
    encode(replace(prompt, history=(*history, AssistantItem("Done."), UserItem("Next"))), surface, fragments)
    assert fragments.made - before == 2


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_planned_paths_name_the_results_whose_rendering_flipped(surface: Surface) -> None:
    encoded = encode(replace(PROMPT, newly_elided=frozenset({3}), deferred=frozenset({"late"})), surface)
    (path,) = encoded.labels.planned
    assert (
        path
        == {
            Surface.MESSAGES: "$.messages[2].content[1]",
            Surface.CHAT_COMPLETIONS: "$.messages[5]",
            Surface.RESPONSES: "$.input[6]",
        }[surface]
    )
    assert encoded.labels.deferred == {"late"}


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_last_user_suffix_is_a_block_behind_the_text(surface: Surface) -> None:
    encoded = encode(replace(PROMPT, history=(UserItem("Go", "<context>x</context>"),), suffix=""), surface)
    (path,) = [path for path, zone in encoded.labels.zones.items() if zone is Zone.TRANSIENT]
    assert path.endswith(".content[1]")
    name = "input" if surface is Surface.RESPONSES else "messages"
    content = json.loads(encoded.body)[name][-1]["content"]
    assert [part["text"] for part in content] == ["Go", "<context>x</context>"]


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_texts_are_sent_as_they_are(surface: Surface) -> None:
    odd = "e\u0301 \r\n\u2028 \ud83d \U0001f600 \x00"
    prompt = replace(PROMPT, system=odd, history=(UserItem(odd), AssistantItem(odd)), tail="", suffix="")
    body = encode(prompt, surface).body
    rows = json.loads(body)["input" if surface is Surface.RESPONSES else "messages"]
    user = next(row for row in rows if row["role"] == "user")
    assert user["content"][0]["text"] == odd


def test_arguments_that_are_no_object_are_handed_on_as_text() -> None:
    for arguments in ("{broken", "[1]", ""):
        history = (
            UserItem("x"),
            AssistantItem("", (ToolCall("c", "f", arguments),)),
            ToolResultItem("c", "bad"),
        )
        body = decoded(replace(PROMPT, history=history), Surface.MESSAGES)
        assert body["messages"][1]["content"][0]["input"] == {"unreadable_arguments": arguments}
        responses = decoded(replace(PROMPT, history=history), Surface.RESPONSES)
        assert responses["input"][2]["arguments"] == arguments
