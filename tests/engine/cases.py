"""200 generated conversations in ten settings of the engine: each request is estimated, then asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from coldturn.analysis.entries.request import CacheRequest, Simulator, chained
from coldturn.analysis.entries.slots import SlotCache, SlotRules
from coldturn.analysis.estimates.registry import shipped, with_parameters
from coldturn.analysis.estimates.simulate import simulator
from coldturn.reference.prefix.model import Surface
from engine.conversations import conversation
from engine.rendering import rendered
from engine.server import Engine

CHAT, RESPONSES, MESSAGES = Surface.CHAT_COMPLETIONS, Surface.RESPONSES, Surface.MESSAGES
ALL = (CHAT, RESPONSES, MESSAGES)
CONVERSATIONS = 20
"""In each case."""


@dataclass(frozen=True, slots=True)
class Case:
    """A setting of the engine, and the formats of the requests that it gets."""

    surfaces: tuple[Surface, ...]
    slots: int
    similarity: float = 0.1


CASES: dict[str, Case] = {
    "chat_completions, one slot": Case((CHAT,), 1),
    "responses, one slot": Case((RESPONSES,), 1),
    "messages, one slot": Case((MESSAGES,), 1),
    "all surfaces, one slot": Case(ALL, 1),
    "chat_completions, four slots": Case((CHAT,), 4),
    "responses, four slots": Case((RESPONSES,), 4),
    "messages, four slots": Case((MESSAGES,), 4),
    "all surfaces, two slots": Case(ALL, 2),
    "all surfaces, four slots, half alike": Case(ALL, 4, 0.5),
    "all surfaces, three slots, least recently used": Case(ALL, 3, 0.0),
}


@dataclass(slots=True)
class Tally:
    """What came of a case.

    Attributes:
        wrong: Requests whose estimates are not what the engine reported: where in the conversation, both
            estimates, the report.
        operations: How often each was done.
        slots: Those that served.
        partly: Requests that read something, and not everything.
        input_tokens: Reported, of all requests; `read_tokens` likewise.
    """

    requests: int = 0
    wrong: list[tuple[int, int, str, tuple[int, int], int]] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)
    slots: set[int] = field(default_factory=set)
    partly: int = 0
    input_tokens: int = 0
    read_tokens: int = 0


class Estimates:
    """Two ways to the same figure: the registry's rules over prefix keys, and slots of tokens."""

    def __init__(self, slots: int = 1, similarity: float = 0.1) -> None:
        rules = shipped().named("llama.cpp")
        settings = {"slots": str(slots), "similarity": str(similarity)}
        self._rules: Simulator = simulator(rules, with_parameters(rules.parameters, settings))
        self._tokens = SlotCache(SlotRules(slots=slots, similarity=similarity))

    def observe(self, rendered: bytes) -> tuple[int, int]:
        """Estimate what a prompt reads, of which every byte is a token."""
        keys, ends = chained(rendered, [1] * len(rendered))
        return self._rules.observe(CacheRequest(keys, ends)).read, self._tokens.observe(rendered).read


def run_case(name: str, engine: Engine) -> Tally:
    """Have the case's conversations, one after the other, with an engine that was just started.

    An estimate is made of the request's bytes alone, before the engine sees them.
    """
    case, tally = CASES[name], Tally()
    first = list(CASES).index(name) * CONVERSATIONS
    estimates = Estimates(case.slots, case.similarity)
    for seed in range(first, first + CONVERSATIONS):
        for number, sent in enumerate(conversation(seed, case.surfaces)):
            prompt = rendered(sent.surface, sent.body)
            estimated = estimates.observe(prompt)
            asked = engine.ask(sent.surface, sent.body)
            assert asked.rendered == prompt, f"conversation {seed}, request {number}"
            if estimated != (asked.reads, asked.reads):
                tally.wrong.append((seed, number, sent.operation, estimated, asked.reads))
            tally.requests += 1
            tally.operations[sent.operation] += 1
            tally.slots.add(asked.slot)
            tally.partly += 0 < asked.reads < len(asked.rendered) - 1
            tally.input_tokens += len(asked.rendered)
            tally.read_tokens += asked.reads
    return tally
