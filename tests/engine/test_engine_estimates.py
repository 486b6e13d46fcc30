"""The estimate by rule against what a real engine reports: not one token apart, on any request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from coldturn.analysis.entries.request import CacheRequest, Simulator, chained
from coldturn.analysis.entries.slots import SlotCache, SlotRules
from coldturn.analysis.registry import shipped, with_parameters
from coldturn.analysis.simulate import simulator
from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import AssistantItem, Prompt, ToolDefinition, UserItem
from engine.conversations import OPERATIONS, conversation
from engine.server import Engine

EngineOf = Callable[..., Engine]

CHAT, RESPONSES, MESSAGES = Surface.CHAT_COMPLETIONS, Surface.RESPONSES, Surface.MESSAGES
ALL = (CHAT, RESPONSES, MESSAGES)
PER_CASE = 20

CASES: dict[str, tuple[tuple[Surface, ...], int, float]] = {
    "chat_completions, one slot": ((CHAT,), 1, 0.1),
    "responses, one slot": ((RESPONSES,), 1, 0.1),
    "messages, one slot": ((MESSAGES,), 1, 0.1),
    "all surfaces, one slot": (ALL, 1, 0.1),
    "chat_completions, four slots": ((CHAT,), 4, 0.1),
    "responses, four slots": ((RESPONSES,), 4, 0.1),
    "messages, four slots": ((MESSAGES,), 4, 0.1),
    "all surfaces, two slots": (ALL, 2, 0.1),
    "all surfaces, four slots, half alike": (ALL, 4, 0.5),
    "all surfaces, three slots, least recently used": (ALL, 3, 0.0),
}


class Estimates:
    """Two ways to the same figure: the rules of the registry over prefix keys, and slots of tokens."""

    def __init__(self, slots: int, similarity: float) -> None:
        rules = shipped().named("llama.cpp")
        settings = {"slots": str(slots), "similarity": str(similarity)}
        self._rules: Simulator = simulator(rules, with_parameters(rules.parameters, settings))
        self._tokens = SlotCache(SlotRules(slots=slots, similarity=similarity))

    def observe(self, rendered: bytes) -> tuple[int, int]:
        keys, ends = chained(rendered, [1] * len(rendered))
        return self._rules.observe(CacheRequest(keys, ends)).read, self._tokens.observe(rendered).read


def test_there_are_200_conversations() -> None:
    assert len(CASES) * PER_CASE == 200


@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_what_the_engine_reports(case: str, engine_of: EngineOf) -> None:
    surfaces, slots, similarity = CASES[case]
    first = list(CASES).index(case) * PER_CASE
    engine = engine_of(slots=slots, similarity=similarity)
    estimates = Estimates(slots, similarity)
    wrong, seen, used, some = [], Counter[str](), set[int](), 0
    for seed in range(first, first + PER_CASE):
        for number, sent in enumerate(conversation(seed, surfaces)):
            asked = engine.ask(sent.surface, sent.body)
            estimated = estimates.observe(asked.rendered)
            if estimated != (asked.reads, asked.reads):
                wrong.append((seed, number, sent.operation, estimated, asked.reads, asked.slot))
            seen[sent.operation] += 1
            used.add(asked.slot)
            some += 0 < asked.reads < len(asked.rendered) - 1
    assert wrong == []
    # What was asked was not trivial.
    assert set(seen) == {"open", *OPERATIONS}
    assert used == set(range(slots))
    assert some > seen.total() / 2


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
