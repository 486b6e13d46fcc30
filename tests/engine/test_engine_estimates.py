"""The estimate by rule against what a real engine reports: not one token apart, on any request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from coldturn.analysis.entries.slots import SlotCache, SlotRules
from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import AssistantItem, Prompt, ToolDefinition, UserItem
from engine.cases import ALL, CASES, CHAT, CONVERSATIONS, run_case
from engine.conversations import OPERATIONS, conversation
from engine.server import Engine

EngineOf = Callable[..., Engine]


def test_there_are_200_conversations() -> None:
    assert len(CASES) * CONVERSATIONS == 200


@pytest.mark.parametrize("name", CASES)
def test_the_estimate_is_what_the_engine_reports(name: str, engine_of: EngineOf) -> None:
    case = CASES[name]
    tally = run_case(name, engine_of(slots=case.slots, similarity=case.similarity))
    assert tally.wrong == []
    # What was asked was not trivial.
    assert set(tally.operations) == {"open", *OPERATIONS}
    assert tally.slots == set(range(case.slots))
    assert tally.partly > tally.requests / 2


@pytest.mark.parametrize("surface", ALL)
def test_the_whole_prompt_again_computes_its_last_token(surface: Surface, engine_of: EngineOf) -> None:
    engine = engine_of()
    (sent,) = conversation(1, (surface,), requests=1)
    assert engine.ask(surface, sent.body).reads == 0
    again = engine.ask(surface, sent.body)
    assert again.reads == len(again.rendered) - 1


@pytest.mark.parametrize("surface", ALL)
def test_an_answer_that_is_sent_back_is_read_but_for_its_last_token(
    surface: Surface, engine_of: EngineOf
) -> None:
    engine, cache = engine_of(), SlotCache(SlotRules())
    tool = ToolDefinition("look", "Looks.", b'{"type":"object"}')
    first = Prompt("tiny", (tool,), "Be brief.", "", (UserItem("Hello"),), "", max_output_tokens=9)
    asked = engine.ask(surface, encode(first, surface).body)
    answer = asked.reply.text
    assert (asked.reply.usage and asked.reply.usage.output_tokens) == len(answer.encode()) == 9
    cache.observe(asked.rendered, answer.encode()[:-1])
    second = replace(first, history=(*first.history, AssistantItem(answer), UserItem("And?")))
    then = engine.ask(surface, encode(second, surface).body)
    assert then.rendered.startswith(asked.rendered + answer.encode())
    assert then.reads == len(asked.rendered) + 8 == cache.observe(then.rendered).read


def test_the_text_that_a_slot_holds_is_the_template_of_the_request(engine_of: EngineOf) -> None:
    engine = engine_of()
    for seed in range(5):
        for sent in conversation(seed, (CHAT,)):
            assert engine.render(sent.body) == engine.ask(CHAT, sent.body).rendered
