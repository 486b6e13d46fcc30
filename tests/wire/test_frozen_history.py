"""What is kept of a conversation changes no byte and no label, however the conversation goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import Fragments, encode
from coldturn.reference.wire.model import (
    AssistantItem,
    HistoryItem,
    Prompt,
    SuffixItem,
    ToolCall,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)
from coldturn.reference.wire.requests.frozen import FrozenHistory, freezable

TOOL = ToolDefinition("look", "Looks.", b'{"type":"object"}')
BASE = Prompt("gpt-5.6", (TOOL,), "Be kind.", "tea", (), "<x>now</x>", 5)
SURFACES = {
    Surface.MESSAGES: "claude-opus-5",
    Surface.CHAT_COMPLETIONS: "gpt-5.6",
    Surface.RESPONSES: "gpt-5.5",
}

result = st.builds(
    ToolResultItem,
    st.sampled_from(["c1", "c2"]),
    st.sampled_from(["", "r", "long " * 9]),
    loads=st.sampled_from([None, None, TOOL]),
)
step = st.tuples(
    st.builds(AssistantItem, st.sampled_from(["", "a"]), st.just((ToolCall("c1", "look", "{}"),))),
    st.lists(result, min_size=1, max_size=3),
)
turn = st.tuples(st.sampled_from(["q", "other"]), st.lists(step, max_size=3), st.booleans())


def requests(turns: list[tuple[str, list[tuple[AssistantItem, list[ToolResultItem]]], bool]]) -> list[Prompt]:
    """The requests of a conversation, step by step; at each new turn some older results are shortened."""
    history: list[HistoryItem] = []
    made: list[Prompt] = []
    for text, steps, persisted in turns:
        flipped: set[int] = set()
        for index, item in enumerate(history):
            if isinstance(item, ToolResultItem) and len(item.text) > 20 and not item.elided:
                history[index] = replace(item, text="short", elided=True)
                flipped.add(index)
        user = len(history)
        history.append(UserItem(text))
        made.append(replace(BASE, history=tuple(history), newly_elided=frozenset(flipped), last_user=user))
        for answer, results in steps:
            history += [answer, *results, *([SuffixItem("kept")] if persisted else [])]
            made.append(replace(BASE, history=tuple(history), newly_elided=frozenset(flipped)))
        history.append(AssistantItem("Done."))
    return made


@settings(deadline=None, max_examples=60)
@given(st.lists(turn, min_size=1, max_size=5), st.sampled_from(list(SURFACES)), st.data())
def test_a_conversation_is_encoded_as_if_each_request_were_the_first(
    turns: list[tuple[str, list[tuple[AssistantItem, list[ToolResultItem]]], bool]],
    surface: Surface,
    data: st.DataObject,
) -> None:
    fragments = Fragments()
    for request in requests(turns):
        how = data.draw(st.sampled_from(["plain", "plain", "unmarked", "no tail", "suffix inside", "again"]))
        prompt = varied(replace(request, model=SURFACES[surface]), how)
        if how == "again":
            encode(prompt, surface, fragments)
        assert encode(prompt, surface, fragments) == encode(prompt, surface)


def varied(prompt: Prompt, how: str) -> Prompt:
    """The same request as another policy or host would make it."""
    if how == "suffix inside" and prompt.last_user is not None:
        inside = UserItem("q", suffix="<x>now</x>")
        history = (*prompt.history[: prompt.last_user], inside, *prompt.history[prompt.last_user + 1 :])
        return replace(prompt, history=history, suffix="")
    return replace(prompt, markers=how != "unmarked", tail="" if how == "no tail" else prompt.tail)


def test_a_breakpoint_that_comes_later_is_set_on_rows_that_were_kept() -> None:
    history = tuple(item for _ in range(4) for item in (UserItem("q"), AssistantItem("a")))
    prompt = replace(BASE, history=(*history, UserItem("last")), markers=False)
    fragments = Fragments()
    encode(prompt, Surface.CHAT_COMPLETIONS, fragments)
    marked = replace(prompt, markers=True)
    again = encode(marked, Surface.CHAT_COMPLETIONS, fragments)
    assert again == encode(marked, Surface.CHAT_COMPLETIONS)
    assert again.body.count(b"prompt_cache_breakpoint") > 1


@pytest.mark.parametrize("surface", list(SURFACES))
def test_paths_of_what_was_shortened_are_told_on_every_step_of_the_turn(surface: Surface) -> None:
    call = AssistantItem("", (ToolCall("c1", "look", "{}"),))
    history: list[HistoryItem] = [UserItem("q"), call, ToolResultItem("c1", "short", elided=True)]
    history += [AssistantItem("Done."), UserItem("next")]
    fragments = Fragments()
    for _ in range(5):
        prompt = replace(
            BASE, model=SURFACES[surface], history=tuple(history), newly_elided=frozenset({2}), last_user=4
        )
        encoded = encode(prompt, surface, fragments)
        assert encoded == encode(prompt, surface)
        assert len(encoded.labels.planned) == 1
        history += [call, ToolResultItem("c1", "r")]


def test_long_conversations_keep_few_pieces() -> None:
    fragments = Fragments()
    history: list[HistoryItem] = []
    for number in range(400):
        history += [UserItem(f"q{number}"), AssistantItem("a")]
        prompt = replace(BASE, history=tuple(history), markers=False)
        encode(prompt, Surface.CHAT_COMPLETIONS, fragments)
    (frozen,) = fragments.frozen.values()
    assert isinstance(frozen, FrozenHistory)
    assert len(frozen._chunks) <= 32
    assert sum(len(chunk.pieces) for chunk in frozen._chunks) < 80
    assert encode(prompt, Surface.CHAT_COMPLETIONS, fragments) == encode(prompt, Surface.CHAT_COMPLETIONS)


def test_an_empty_history_has_nothing_to_keep() -> None:
    assert freezable(BASE, frozenset()) == 0
