"""The field report that this project starts from, rebuilt from its facts.

An agent on the Responses API, 2026-05-26: between 04:39:04 and 05:01:36 its system prompt grew from 16,468 to
16,576 bytes, first at byte 11,922, by the catalogue lines of two tools that a tool search had promoted. Two
requests in between, at 05:00:51 and 05:01:22, have identical prompts. What the texts said is not known: these
are made up; sizes and places are the report's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import PromptRequest
from prefix.bodies import Assistant, Item, Result, Tool, User, encoded, request, tool
from prefix.bodies import body as make_body

BYTES_BEFORE = 16_468
BYTES_AFTER = 16_576
FIRST_DIFFERENCE = 11_922
SECTION = "## Tool Catalog"
PROMOTED = ("WebSearch", "Dispatch")

_LOADED = ("Bash", "Edit", "Glob", "Grep", "ListFiles", "ReadFile", "TodoWrite", "ToolSearch", "WriteFile")
_LINES = (
    "- WebSearch: when an answer needs the web of today\n"
    "- Dispatch: when a subtask can run on its own, unwatched\n"
)


def _filled(size: int, head: str, sentence: str) -> str:
    """`head`, then whole lines of `sentence`, then what is missing to exactly `size` bytes."""
    text = head
    while len(text) + len(sentence) < size - 1:
        text += sentence
    text += "x" * (size - len(text) - 1) + "\n"
    assert len(text.encode()) == size
    return text


def _catalogue() -> str:
    return f"{SECTION}\n\n" + "".join(f"- {name}: the usual way to do what it says\n" for name in _LOADED)


def system_prompt(*, promoted: bool) -> str:
    """The system prompt before or after the promotion: 16,468 or 16,576 bytes."""
    catalogue = _catalogue()
    front = _filled(
        FIRST_DIFFERENCE - len(catalogue),
        "# Role\n\nYou are the assistant of one workspace.\n\n## Working Rules\n\n",
        "Read before you write, and say what you could not verify.\n",
    )
    back = _filled(
        BYTES_BEFORE - FIRST_DIFFERENCE,
        "\n## Answering\n\n",
        "Answer in the language of the question, and keep it short.\n",
    )
    return front + catalogue + (_LINES if promoted else "") + back


def tools(*, promoted: bool) -> list[Tool]:
    """The tools array: the always-loaded ones, and behind them the promoted ones."""
    names = [*_LOADED, *(PROMOTED if promoted else ())]
    return [tool(name, f"{name}: the usual way to do what it says.") for name in names]


def _turn(number: int) -> list[Item]:
    return [
        User(f"Question {number}: what changed in the workspace?"),
        Assistant(f"Answer {number}: nothing."),
    ]


def _search_step() -> list[Item]:
    return [
        Assistant("", ("call_1", "ToolSearch", '{"query":"search the web, hand out work"}')),
        Result("call_1", "Loaded 2 tools: WebSearch, Dispatch"),
        Assistant("", ("call_2", "ListFiles", '{"path":"."}')),
        Result("call_2", "README.md"),
    ]


@dataclass(frozen=True)
class Step:
    """One request of the report."""

    started: datetime
    system: str
    tools: tuple[Tool, ...]
    history: tuple[Item, ...]

    def body(self, surface: Surface = Surface.RESPONSES) -> bytes:
        """Its bytes as we write them."""
        return encoded(make_body(surface, system=self.system, tools=self.tools, history=self.history))

    def request(self, surface: Surface = Surface.RESPONSES) -> PromptRequest:
        """Its body, read."""
        return request(surface, system=self.system, tools=self.tools, history=self.history)


def _step(clock: str, history: Sequence[Item], *, promoted: bool, in_array: bool) -> Step:
    return Step(
        started=datetime.fromisoformat(f"2026-05-26T{clock}").replace(tzinfo=UTC),
        system=system_prompt(promoted=promoted),
        tools=tuple(tools(promoted=promoted and in_array)),
        history=tuple(history),
    )


def four_steps(*, in_array: bool) -> tuple[Step, Step, Step, Step]:
    """The four requests of the report: steps 0 of three turns, and step 2 of the last of them.

    Args:
        in_array: Whether the promoted tools are appended to the tools array too.
    """
    second = [*_turn(1), User("Question 2: and in the documents?")]
    third = [*second, Assistant("Answer 2: nothing either."), User("Question 3: look it up on the web.")]
    rows = (
        ("04:39:04", [User("Question 1: what changed in the workspace?")], False),
        ("05:00:51", second, False),
        ("05:01:22", third, False),
        ("05:01:36", [*third, *_search_step()], True),
    )
    first, *rest = (_step(clock, items, promoted=new, in_array=in_array) for clock, items, new in rows)
    return first, rest[0], rest[1], rest[2]
