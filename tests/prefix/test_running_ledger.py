"""The ledger of a growing conversation: what hashing from the start gives, at the price of what is new."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.reference.prefix.ledger import LedgerState, ledger_of
from coldturn.reference.prefix.model import Block, Labels, Surface, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.prefix.running_ledger import RunningLedger
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import (
    RENDERED_SURFACES,
    AssistantItem,
    HistoryItem,
    Prompt,
    ToolCall,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)


def prompt(texts: list[str], *, tools: int = 1, tail: str = "tea", suffix: str = "<x>now</x>") -> Prompt:
    history: list[HistoryItem] = []
    for number, text in enumerate(texts):
        history += [
            UserItem(text),
            AssistantItem("", (ToolCall(f"c{number}", "look", "{}"),)),
            ToolResultItem(f"c{number}", text),
        ]
    return Prompt(
        model="claude-opus-5",
        tools=tuple(ToolDefinition(f"t{n}", "", b'{"type":"object"}') for n in range(tools)),
        system="Be kind.",
        tail=tail,
        history=tuple(history),
        suffix=suffix,
        max_output_tokens=5,
    )


def read(one: Prompt, surface: Surface) -> PromptRequest:
    encoded = encode(one, surface)
    return read_request(encoded.body, surface=surface, labels=encoded.labels)


prompts = st.builds(
    prompt,
    st.lists(st.sampled_from(["a", "b", "c" * 50]), max_size=8),
    tools=st.integers(0, 2),
    tail=st.sampled_from(["", "tea", "coffee"]),
    suffix=st.sampled_from(["", "<x>now</x>", "<x>then</x>"]),
)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(prompts, st.sampled_from(list(RENDERED_SURFACES))), min_size=1, max_size=8))
def test_it_is_what_hashing_from_the_start_gives(requests: list[tuple[Prompt, Surface]]) -> None:
    running = RunningLedger()
    for one, surface in requests:
        request = read(one, surface)
        assert running.of(request) == ledger_of(read(one, surface))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(["", "one", "two"]), min_size=2, max_size=12),
    st.sampled_from(list(RENDERED_SURFACES)),
    st.booleans(),
)
def test_so_it_is_for_a_conversation_that_grows_and_is_rewritten_now_and_then(
    texts: list[str], surface: Surface, moving: bool
) -> None:
    running = RunningLedger()
    for end in range(1, len(texts) + 1):
        said = [*texts[:end]]
        if moving and end % 4 == 0:
            said[0] = f"rewritten {end}"
        request = read(prompt(said, suffix=f"<x>{end}</x>"), surface)
        assert running.of(request) == ledger_of(request)


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_the_zone_of_a_block_that_changes_its_label_is_seen(surface: Surface) -> None:
    body = encode(prompt(["a", "b"], suffix=""), surface).body
    running = RunningLedger()
    key = "input" if surface is Surface.RESPONSES else "messages"
    for zones in (
        {},
        {f"$.{key}[1]": Zone.TRANSIENT},
        {f"$.{key}[2]": Zone.TAIL},
        {"$.nowhere[9]": Zone.TAIL},
    ):
        request = read_request(body, surface=surface, labels=Labels(zones=zones))
        assert running.of(request) == ledger_of(request)


def test_a_list_that_becomes_a_string_is_another_shape() -> None:
    running = RunningLedger()
    for system in ([{"type": "text", "text": "one"}], "one", [{"type": "text", "text": "one"}]):
        body = json.dumps({"system": system, "messages": [{"role": "user", "content": "hi"}]}).encode()
        request = read_request(body, surface=Surface.MESSAGES)
        assert running.of(request) == ledger_of(request)


def test_the_same_tools_under_another_key_are_named_by_it() -> None:
    running = RunningLedger()
    for key in ("tools", "functions", "tools"):
        body = {key: [{"name": "look", "parameters": {}}], "messages": [{"role": "user", "content": "hi"}]}
        request = read_request(json.dumps(body).encode(), surface=Surface.CHAT_COMPLETIONS)
        assert running.of(request) == ledger_of(request)
        assert running.of(request).segments[0].key.startswith(f"{key}[0]")


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_a_step_meets_only_what_is_new(surface: Surface, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[int] = []
    original = LedgerState.add

    def counted(state: LedgerState, blocks: list[Block]) -> object:
        blocks = list(blocks)
        met.append(len(blocks))
        return original(state, blocks)

    monkeypatch.setattr(LedgerState, "add", counted)
    running = RunningLedger()
    for end in range(1, 60):
        met.clear()
        running.of(read(replace(prompt(["x"] * end), suffix=f"<x>{end}</x>"), surface))
        assert end == 1 or sum(met) <= 5, "three new items and a suffix"
