"""Layouts: built on recent ones or from nothing they are the same; what counts, and what is in the key."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.exchanges import CHAT, OPENAI, exchange, rows, words
from coldturn.analysis.estimates.layout_maker import MOST_RECENT, LayoutMaker
from coldturn.analysis.estimates.registry import shipped
from coldturn.reference.prefix.model import Labels, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request

RULES = shipped().named("anthropic-messages").parameters_for("claude-sonnet-4-5")

texts = st.sampled_from(["a", "b" * 40, "# Head\n\none\n\n# Tail\n\ntwo", "line\n" * 900, ""])
parts = st.one_of(
    texts.map(lambda text: {"type": "text", "text": text}),
    st.integers(0, 2).map(lambda n: {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"n": n}}),
    st.integers(0, 2).map(lambda n: {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"r{n}"}),
    st.integers(0, 2).map(lambda n: {"type": "thinking", "thinking": f"hm {n}", "signature": "s"}),
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 9_000}}),
)
tools = st.builds(
    lambda name, deferred: {
        "name": name,
        "input_schema": {},
        **({"defer_loading": True} if deferred else {}),
    },
    st.sampled_from("xyz"),
    st.booleans(),
)
messages = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant"]),
    st.lists(parts, min_size=1, max_size=3),
)
bodies = st.fixed_dictionaries(
    {"model": st.just("m"), "max_tokens": st.just(1), "messages": st.lists(messages, max_size=5)},
    optional={
        "tools": st.lists(tools, max_size=3),
        "system": st.lists(texts.map(lambda text: {"type": "text", "text": text}), max_size=2),
        "tool_choice": st.sampled_from([{"type": "any"}, {"type": "auto"}]),
        "speed": st.just("fast"),
    },
)


def _read(body: dict[str, Any], labels: Labels | None = None) -> PromptRequest:
    url = "https://api.anthropic.com/v1/messages"
    return read_request(json.dumps(body).encode(), url=url, labels=labels or Labels())


def _grown(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each body, and behind it one that goes on with the messages of the body before."""
    found = []
    for before, body in zip([log[0], *log], log, strict=False):
        found += [body, {**before, "messages": [*before["messages"], *body["messages"]]}]
    return found


@settings(deadline=None)
@given(log=st.lists(bodies, min_size=1, max_size=2 * MOST_RECENT))
def test_building_on_recent_requests_changes_nothing(log: list[dict[str, Any]]) -> None:
    maker = LayoutMaker(RULES)
    for request in map(_read, _grown(log)):
        assert maker.make(request) == LayoutMaker(RULES).make(request)


@settings(deadline=None)
@given(body=bodies)
def test_a_layout_covers_the_request(body: dict[str, Any]) -> None:
    request = _read(body)
    found = LayoutMaker(RULES.model_copy(update={"strips_thinking": False})).make(request)
    counted = [block for block in request.blocks if b"defer_loading" not in block.facts.content]
    assert [(unit.kind, unit.role, unit.message, unit.zone, unit.facts) for unit in found.units] == [
        (block.kind, block.role, block.message, block.zone, block.facts) for block in counted
    ]
    assert [request.blocks[index or 0].facts for index in found.indices] == [
        unit.facts for unit in found.units
    ]
    content = b"".join(found.segment(index)[1] for index in range(len(found.links)))
    assert content == b"".join(block.facts.content for block in counted)


def test_the_runtimes_labels_decide_on_zones() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    labels = Labels(zones={"$.messages[1]": Zone.TRANSIENT})
    zones = [unit.zone for unit in LayoutMaker(RULES).make(_read(body, labels)).units]
    assert zones == [Zone.HISTORY, Zone.TRANSIENT]


def test_who_says_it_is_part_of_the_key() -> None:
    def chat(role: str, tail: str) -> dict[str, Any]:
        first = {"role": "user", "content": words(1_500)}
        return {"model": "gpt-5", "messages": [first, {"role": role, "content": words(1_500, "abc") + tail}]}

    same, other, tail = (
        chat("user", "x" * 4_000),
        chat("assistant", "x" * 4_000),
        chat("assistant", "y" * 4_000),
    )
    ceilings = [
        [row.ceiling_estimated for row in rows([exchange(body, CHAT) for body in pair])]
        for pair in ((same, same), (same, other), (same, tail))
    ]
    assert ceilings == [[0, 4_000], [0, 1_500], [0, 1_500]]


def test_what_ends_inside_a_text_is_not_read_under_other_settings() -> None:
    def body(effort: str, tail: str) -> dict[str, Any]:
        item = {"role": "user", "content": words(3_000) + tail}
        return {"model": "gpt-5", "input": [item], "reasoning": {"effort": effort}}

    def read(*log: dict[str, Any]) -> list[int | None]:
        return [row.read_estimated for row in rows([exchange(one, OPENAI) for one in log])]

    assert read(body("low", "x" * 4_000), body("low", "y" * 4_000)) == [0, 2_944]
    assert read(body("low", "x" * 4_000), body("high", "y" * 4_000)) == [0, 0]
