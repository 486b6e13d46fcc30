"""The estimate by rule against what a real engine reports: not one token apart, on any request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from engine.conversations import OPERATIONS, conversation
from engine.server import Engine

from coldturn.analysis.entries.slots import SlotCache, SlotRules
from coldturn.reference.prefix.model import Surface

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


def test_there_are_200_conversations() -> None:
    assert len(CASES) * PER_CASE == 200


@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_what_the_engine_reports(case: str, engine_of: EngineOf) -> None:
    surfaces, slots, similarity = CASES[case]
    first = list(CASES).index(case) * PER_CASE
    engine = engine_of(slots=slots, similarity=similarity)
    cache = SlotCache(SlotRules(slots=slots, similarity=similarity))
    wrong, seen, used, some = [], Counter[str](), set[int](), 0
    for seed in range(first, first + PER_CASE):
        for number, sent in enumerate(conversation(seed, surfaces)):
            asked = engine.ask(sent.surface, sent.body)
            estimated = cache.observe(asked.rendered).read
            if estimated != asked.reads:
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
