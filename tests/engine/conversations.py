"""Conversations made up at random: prompts in zones that change as those of agents do, and worse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias, get_args

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import (
    AssistantItem,
    HistoryItem,
    Prompt,
    ToolCall,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)

Operation: TypeAlias = Literal["append", "edit", "promote", "elide", "branch", "interleave"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

_WEIGHTS = (6, 2, 2, 2, 2, 3)
_WORDS = ("red", "fox", "a", "naïve", "漢字", "{", '"', "\\", "\n", "\t", "🙂", "<b>", "0", "tool", "don't")


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of a conversation, and what was done to the prompt before it."""

    operation: Operation | Literal["open"]
    surface: Surface
    body: bytes


def conversation(seed: int, surfaces: tuple[Surface, ...], requests: int = 8) -> Iterator[Sent]:
    """Make up a conversation of two threads that take turns; equal seeds make equal bytes.

    Args:
        seed: What chance depends on.
        surfaces: Formats that requests take, at random.
        requests: How many to make.
    """
    rng = Random(seed)  # noqa: S311 - repeatable, no secret
    first = _opening(rng)
    # A sub-agent with the same tools and instructions, or another agent.
    second = replace(first, history=(UserItem(_text(rng, 10)),)) if rng.random() < 0.5 else _opening(rng)
    threads = [[first], [second]]
    operation: Operation | Literal["open"] = "open"
    for _ in range(requests):
        surface = rng.choice(surfaces)
        yield Sent(operation, surface, encode(threads[0][-1], surface).body)
        operation = rng.choices(OPERATIONS, _WEIGHTS)[0]
        if operation == "interleave":
            threads.reverse()
        else:
            past = threads[0]
            before = rng.choice(past) if operation == "branch" else past[-1]
            past.append(_with_new_suffix(rng, _changed(rng, before, operation)))


def _opening(rng: Random) -> Prompt:
    return Prompt(
        model="tiny",
        tools=tuple(_tool(rng, number) for number in range(rng.randint(1, 3))),
        system=_text(rng, 60),
        tail=_text(rng, 10) if rng.random() < 0.5 else "",
        history=(UserItem(_text(rng, 10)),),
        suffix="",
        max_output_tokens=1,
    )


def _changed(rng: Random, prompt: Prompt, operation: Operation) -> Prompt:
    match operation:
        case "edit":
            return _edited(rng, prompt)
        case "promote":
            return replace(prompt, tools=(*prompt.tools, _tool(rng, len(prompt.tools))))
        case "elide":
            return _elided(rng, prompt)
        case _:
            return _appended(rng, prompt)


def _with_new_suffix(rng: Random, prompt: Prompt) -> Prompt:
    return replace(prompt, suffix=f"<now>{rng.randrange(10_000)}</now>") if rng.random() < 0.5 else prompt


def _appended(rng: Random, prompt: Prompt) -> Prompt:
    added: list[HistoryItem]
    if rng.random() < 0.4:
        added = [AssistantItem(_text(rng, 10)), UserItem(_text(rng, 20))]
    else:
        known = len(prompt.history)
        calls = tuple(_call(rng, prompt, f"call_{known}_{number}") for number in range(rng.choice((1, 1, 2))))
        added = [AssistantItem(rng.choice(("", _text(rng, 6))), calls)]
        added.extend(ToolResultItem(call.id, _text(rng, 80)) for call in calls)
    return replace(prompt, history=(*prompt.history, *added))


def _edited(rng: Random, prompt: Prompt) -> Prompt:
    match rng.choice(("system", "tail", "tools", "history")):
        case "system":
            return replace(prompt, system=_altered(rng, prompt.system))
        case "tail":
            return replace(prompt, tail=_altered(rng, prompt.tail))
        case "tools":
            tools = list(prompt.tools)
            at = rng.randrange(len(tools))
            tools[at] = replace(tools[at], description=_altered(rng, tools[at].description))
            return replace(prompt, tools=tuple(tools))
        case _:
            history = list(prompt.history)
            at = rng.randrange(len(history))
            history[at] = replace(history[at], text=_altered(rng, history[at].text))
            return replace(prompt, history=tuple(history))


def _elided(rng: Random, prompt: Prompt) -> Prompt:
    """Shorten a tool result, of which there may be none yet."""
    history = list(prompt.history)
    results = [(at, item) for at, item in enumerate(history) if isinstance(item, ToolResultItem)]
    if not results:
        return _appended(rng, prompt)
    at, item = rng.choice(results)
    history[at] = replace(item, text=f"{item.text[:20]}\n...\n{item.text[-20:]}", elided=True)
    return replace(prompt, history=tuple(history))


def _tool(rng: Random, number: int) -> ToolDefinition:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": _text(rng, 4)},
            "n": {"type": "integer", "minimum": rng.randrange(9)},
        },
        "required": ["path"],
    }
    data = json.dumps(schema, ensure_ascii=rng.random() < 0.5, separators=(",", ":"))
    return ToolDefinition(f"tool_{number}", _text(rng, 12), data.encode())


def _call(rng: Random, prompt: Prompt, call_id: str) -> ToolCall:
    arguments = json.dumps({"path": _text(rng, 3), "n": rng.randrange(100)}, ensure_ascii=False)
    return ToolCall(call_id, rng.choice(prompt.tools).name, arguments)


def _text(rng: Random, words: int) -> str:
    """Make a text of up to this many words, and at least one."""
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, words)))


def _altered(rng: Random, text: str) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(_WORDS) + text[at + rng.randint(0, 3) :]
