"""Many conversations of one agent at once: the index finds what a look at every earlier request finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.reference.prefix import lineage_index, lineage_search
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.lineage_node import Node
from coldturn.reference.prefix.request import PromptRequest, read_request

CANNED = ("Go on.", "The command ran without output.", "No such file.\n\nTry another one.\n\n")
RULES = "# Rules\n\n" + "\n\n".join(f"Rule {number}: be careful." for number in range(5))


@dataclass(frozen=True, slots=True)
class Step:
    """What one of the conversations does next."""

    talk: int
    kind: str
    text: str
    known: bool


STEPS = st.builds(
    Step,
    talk=st.integers(0, 3),
    kind=st.sampled_from(
        [
            "append",
            "append",
            "append",
            "retry",
            "given up",
            "fork",
            "rewrite",
            "drop",
            "clock",
            "by reference",
        ]
    ),
    text=st.sampled_from([*CANNED, "", "What is\n\nthere?"]),
    known=st.booleans(),
)


class Talks:
    """The conversations, and the requests that they send."""

    def __init__(self) -> None:
        self._said: list[list[str]] = [[], [], ["Same start."], ["Same start."]]
        self._minutes = [0, 0, 0, 0]
        self._count = 0

    def send(self, step: Step) -> PromptRequest:
        """Take a step; an empty text is one that nobody said before."""
        said = self._said[step.talk]
        self._count += 1
        text = step.text or f"Answer {self._count} of the model, which is not said by anybody else."
        sent = self._changed(step, said, text)
        if step.kind != "given up":
            self._said[step.talk] = sent
        body: dict[str, Any] = {
            "model": "m",
            "instructions": f"{RULES}\n\n10:0{self._minutes[step.talk]}",
            "input": [
                {"role": "assistant" if one.startswith("Answer") else "user", "content": one} for one in sent
            ],
        }
        if step.kind == "by reference":
            body["previous_response_id"] = f"r{step.talk}"
        return read_request(json.dumps(body).encode())

    def _changed(self, step: Step, said: list[str], text: str) -> list[str]:
        match step.kind:
            case "append" | "given up":
                return [*said, text]
            case "fork":
                return [*self._said[(step.talk + 1) % 4][:-1], text]
            case "rewrite":
                return [text, *said[1:]]
            case "drop":
                return said[: len(said) // 2]
            case "clock":
                self._minutes[step.talk] += 1
        return said


def _placements(steps: Sequence[Step], most: int, *, indexed: bool, few: int) -> list[tuple[Any, ...]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage_search, "MOST_LOOKS", 0 if indexed else 1 << 30)
        patch.setattr(lineage_index, "_FEW", few)
        lineages, talks = Lineages(most_leaves=most, most_inner=most), Talks()
        found = []
        for step in steps:
            placed = lineages.place(
                talks.send(step),
                response_id=f"r{step.talk}",
                conversation=f"c{step.talk}" if step.known else None,
            )
            found.append((placed.parent_index, placed.evicted, placed.lineage, placed.before is None))
        return found


@given(st.lists(STEPS, max_size=40), st.sampled_from([3, 6, 1000]), st.sampled_from([0, 1, 8]))
@settings(max_examples=150)
def test_the_index_changes_no_answer(steps: list[Step], most: int, few: int) -> None:
    """With sums of all changes only, with looks at the few that may be best, and as the two alternate."""
    plain = _placements(steps, most, indexed=False, few=few)
    assert _placements(steps, most, indexed=True, few=few) == plain


def test_few_are_looked_at_however_many_conversations_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    look = lineage_search.Search._measure

    def counted(search: lineage_search.Search, node: Node) -> int:
        looks.append(node.index)
        return look(search, node)

    monkeypatch.setattr(lineage_search.Search, "_measure", counted)
    conversations, turns = 60, 5
    lineages = Lineages()
    said = [[f"Task {number} of the agent."] for number in range(conversations)]
    for turn in range(turns):
        for number, texts in enumerate(said):
            body = {
                "model": "m",
                "instructions": RULES,
                "input": [{"role": "user", "content": t} for t in texts],
            }
            looks.clear()
            placed = lineages.place(read_request(json.dumps(body).encode()))
            if turn:
                assert placed.parent_index == (turn - 1) * conversations + number
                assert len(looks) <= 10, "of up to 300 requests"
            texts += [CANNED[turn % 3], f"Answer {number}.{turn} of the model."]


def test_the_index_holds_nothing_of_what_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage_search, "MOST_LOOKS", 0)
    lineages = Lineages(most_leaves=5, most_inner=5)
    for number in range(60):
        texts = ["Same start.", "Go on.", f"Answer {number}.\n\nSo it is.\n\nSo it is.\n\n"][: number + 1]
        body = {"model": "m", "instructions": RULES, "input": [{"role": "user", "content": t} for t in texts]}
        lineages.place(read_request(json.dumps(body | {"prompt_cache_key": f"{number}"}).encode()))
    (pool,) = lineages._store._pools.values()
    index = pool.index
    assert index is not None
    assert index._chains.keys() == pool.nodes.keys()
    assert sum(len(chain.members) for chain in set(index._chains.values())) == len(pool.nodes)
    assert sum(map(len, index._ending.values())) == len(pool.nodes)
    assert len(index._by_place) <= 12
    contents = {one for node in pool.nodes.values() for one in node.request.contents}
    assert index._said._elements.keys() == contents
    said = {one.digest for content in contents for facts in content.facts for one in facts.segments}
    assert index._said._segments.keys() == said
    for node in list(pool.nodes.values()):
        index.release(node)
    left = (index._said._elements, index._said._segments, index._known, index._tips, index._ending)
    assert not any(left)
